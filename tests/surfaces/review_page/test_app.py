"""The review page on a real store: a morning of a person, and what memory text and other people's forms cannot do to it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from slowwave.bindings.stores import let_write
from slowwave.errors import Refused
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.plans.gate import set_rule
from slowwave.plans.review.drafts import NewDraft, read_drafts, save_drafts
from slowwave.plans.review.groups import form_of
from slowwave.sources.following import connect_folder
from slowwave.store.configured_models import embedder_for
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from slowwave.surfaces.api.plan import plan as plan_of
from slowwave.surfaces.review_page.app import review_app
from slowwave.surfaces.review_page.desk import Desk
from slowwave.surfaces.review_page.guard import Entrance, entrance_of
from tests.memories import ask
from tests.night.test_answers import LIVE, sides, towns
from tests.plans.review.reviews import captains, courtesies
from tests.surfaces.review_page.conftest import ORIGIN, Browser, form_token
from tests.surfaces.review_page.planted import LONG, REORDERED, SCRIPT, SLUG, plant

pytestmark = pytest.mark.slow

DRAFTS = "SELECT item_id::text, verdict, note, reviewer FROM night.review_drafts ORDER BY id"


class Tags(HTMLParser):
    """The elements of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]

    def items(self) -> list[str]:
        return [str(a["data-item"]) for a in self.all("a") if "data-item" in a]


def post(browser: Browser, path: str, **fields: Any) -> Any:
    """A form of ours, as a browser sends it."""
    html = browser.get(path if path.endswith("/sign") else path.rpartition("/")[0]).text
    shown = [("shown", str(a["value"])) for a in Tags(html).all("input") if a.get("name") == "shown"]
    fields = {"form_token": form_token(html), **dict(shown), **fields}
    return browser.post(path, data=fields, headers={"origin": ORIGIN})


def plain(html: str) -> str:
    """The text of a page."""
    return " ".join(re.sub(r"<[^>]+>", "", html).split())


def say(browser: Browser, plan: str, **verdicts: str) -> Any:
    """Verdicts, as the page's script sends them."""
    token = form_token(browser.get(f"/plans/{plan}").text)
    drafts = [{"item": item, "verdict": verdict, "note": ""} for item, verdict in verdicts.items()]
    return browser.post(
        f"/plans/{plan}/drafts", json={"drafts": drafts}, headers={"origin": ORIGIN, "x-form-token": token}
    )


def test_from_the_link_to_an_undo_without_a_script(store: Store, browser: Browser) -> None:
    """A plan is read, answered, signed once, applied and taken back, by links and forms alone."""
    plan = plant(store)
    before = ask(store, "SELECT id, name, invalidated_at FROM memory.entities ORDER BY id")
    home = browser.get("/")
    assert (home.status_code, home.headers["location"]) == (303, f"{browser.address}/plans/{plan.plan_hash}")
    shown = browser.get(f"/plans/{plan.plan_hash}")
    asked = {i.id for i in plan.items if i.decision == "review"}
    items = Tags(shown.text).items()
    assert set(items) == asked
    assert all(
        word in shown.text
        for word in ("harbor", plan.plan_hash[:12], "Same thing?", "Your answers", "stay apart", "signed for the crane")
    )

    yes, no, skipped = items[:3]
    answered = post(
        browser, f"/plans/{plan.plan_hash}/drafts", item=yes, verdict="yes", note="", query="risk=high&evil=1"
    )
    assert answered.headers["location"] == f"{browser.address}/plans/{plan.plan_hash}?risk=high"
    post(browser, f"/plans/{plan.plan_hash}/drafts", item=no, verdict="no", note="Two people.")
    post(browser, f"/plans/{plan.plan_hash}/drafts", item=skipped, verdict="skip", note="")
    assert ask(store, DRAFTS) == [
        (yes, "yes", "", "mara"),
        (no, "no", "Two people.", "mara"),
        (skipped, "skip", "", "mara"),
    ]
    assert ask(store, "SELECT count(*) FROM night.approvals") == [(0,)], "a draft changes nothing"

    signing = browser.get(f"/plans/{plan.plan_hash}/sign")
    assert "Two people." in signing.text
    signed = post(
        browser, f"/plans/{plan.plan_hash}/sign", include_decided="yes", note="as agreed", approver="somebody"
    )
    assert signed.status_code == 303
    approval = ask(store, "SELECT id::text, approver, channel, note, cardinality(item_ids) FROM night.approvals")
    assert [row[1:] for row in approval] == [("mara", "review", "as agreed", 1 + 6)]
    assert ask(store, "SELECT rejected_by, reason FROM night.rejections") == [("mara", "Two people.")]

    post(browser, f"/plans/{plan.plan_hash}/apply", approval=approval[0][0])
    assert ask(store, "SELECT (counts ->> 'applied')::int FROM night.applied") == [(7,)]
    after = browser.get(f"/plans/{plan.plan_hash}/signed").text
    assert "7 applied" in after
    assert "7 changes are in memory now" in after
    assert re.search(r'href="[^"]*/plans/[0-9a-f]{64}">Answer them</a>', after), "the next thing to do is a link"
    assert ask(store, "SELECT count(*) FROM memory.entities WHERE invalidated_at IS NOT NULL") == [(7,)]
    post(browser, f"/plans/{plan.plan_hash}/take-back", approval=approval[0][0])
    assert ask(store, "SELECT id, name, invalidated_at FROM memory.entities ORDER BY id") == before
    assert "Nothing of it is in memory now" in browser.get(f"/plans/{plan.plan_hash}/signed").text


def test_signed_page_lists_applies_and_undoes_the_plans_made_from_answers_too(store: Store, browser: Browser) -> None:
    """The answer "the other one" is a second plan; the page names both approvals, and its buttons treat both alike."""
    plan = towns(store, "Porto", "Lisbon")
    path, before = f"/plans/{plan.hash}", ask(store, LIVE)
    first = plan.questions[0].id
    say(browser, plan.hash, **{first: "other"})
    (amended,) = ask(store, "SELECT DISTINCT amended FROM night.review_drafts WHERE amended IS NOT NULL")[0]
    queue = " ".join(browser.get(path).text.split())
    made = queue.partition(f"Plan {amended[:12]}</a>")[2].partition("</li>")[0]
    assert f"“Mara lives in {sides(plan)[0]}” ends" in made, "what the answer made, not what was proposed"
    post(browser, f"{path}/sign", include_decided="yes")
    approvals = ask(store, "SELECT id::text, plan_hash FROM night.approvals ORDER BY recorded_at")
    assert amended in {hash_ for _, hash_ in approvals}
    for named in (plan.hash, amended):
        shown = browser.get(f"/plans/{named}/signed").text
        fields = [str(a["value"]) for a in Tags(shown).all("input") if a.get("name") == "approval"]
        assert fields == [id_ for id_, _ in approvals]
        assert f"plan {amended[:12]}" in shown
        assert "stays" in shown
        assert "rejected and will not" not in shown, "the answer is no rejection"
    post(browser, f"{path}/apply", approval=fields)
    assert ask(store, "SELECT count(*) FROM night.applied") == [(len(approvals),)]
    assert ask(store, LIVE) != before
    done = browser.get(f"{path}/signed").text
    assert ("Apply now" in done, "Undo" in done) == (False, True)
    post(browser, f"{path}/take-back", approval=fields[::-1])
    assert ask(store, LIVE) == before


def test_page_says_what_is_done_if_one_of_two_undos_is_refused(
    store: Store, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers *this* and *the other one* make two approvals. The button goes on later."""
    plan = captains(store, 2)
    path, live = f"/plans/{plan.plan_hash}", "SELECT id FROM memory.memories WHERE invalidated_at IS NULL ORDER BY id"
    before = ask(store, live)
    for stored, answer in zip(plan.items, ("this", "other"), strict=True):
        assert say(browser, plan.plan_hash, **{stored.id: answer}).status_code == 200
    assert post(browser, f"{path}/sign").status_code == 303
    fields = [str(id_) for (id_,) in ask(store, "SELECT id::text FROM night.approvals ORDER BY recorded_at")]
    post(browser, f"{path}/apply", approval=fields)
    begun: list[str] = []

    def undo_first(store: Store, run: str, *, namespace: str) -> None:
        begun.append(run)
        if len(begun) > 1:
            raise Refused("A line was changed.")
        undo_run(store, run, namespace=namespace)

    with monkeypatch.context() as broken:
        broken.setattr("slowwave.surfaces.review_page.app.undo_run", undo_first)
        stopped = post(browser, f"{path}/take-back", approval=fields[::-1])
    assert (stopped.status_code, "Only a part was done" in stopped.text) == (409, True)
    assert "1 of 2 approvals are undone, the others are not: A line was changed." in plain(stopped.text)
    post(browser, f"{path}/take-back", approval=fields[::-1])
    assert ask(store, live) == before


def test_sign_page_lists_each_item_it_approves_and_leaves_out_with_its_changes(store: Store, browser: Browser) -> None:
    """The page lists 260 decided items by kind in parts, the answers, and the open questions. Its box is not checked (F4, F13)."""
    plan = plant(store, decided=260)
    path = f"/plans/{plan.plan_hash}/sign"
    asked = [i.id for i in plan.items if i.decision == "review"]
    say(browser, plan.plan_hash, **{asked[0]: "yes", asked[1]: "no", asked[2]: "skip"})
    html = browser.get(path).text
    tags = Tags(html)
    (box,) = [a for a in tags.all("input") if a.get("name") == "include_decided"]
    assert "checked" not in box
    listed: dict[str, set[str]] = {}
    for line in tags.all("li"):
        if "data-covered" in line:
            listed.setdefault(str(line["data-covered"]), set()).add(str(line["data-of"]))
    assert listed == {
        "yes": {asked[0]},
        "no": {asked[1]},
        "left": set(asked[2:]),
        "decided": {i.id for i in plan.items if i.decision != "review"},
    }
    assert re.search(r"dedupe_entities · merge · low risk(</bdi>)? · 101–200 of 260", html)
    assert "Approving them answers no question: 13 questions stay open." in html
    assert html.count('<div class="lines">') == len(plan.items), "each item is listed with its changes"
    assert "260 items that need no answer" in html
    assert post(browser, path).status_code == 303
    assert ask(store, "SELECT cardinality(item_ids) FROM night.approvals") == [(1,)]


def test_sign_page_refuses_when_answers_changed_after_it_was_shown(store: Store, browser: Browser) -> None:
    """A colleague's yes that the page did not list is not approved by it; without the list's name nothing is."""
    plan = plant(store)
    path = f"/plans/{plan.plan_hash}/sign"
    one, two, *_ = [i.id for i in plan.items if i.decision == "review"]
    say(browser, plan.plan_hash, **{one: "yes"})
    (shown,) = [a["value"] for a in Tags(browser.get(path).text).all("input") if a.get("name") == "shown"]
    save_drafts(store, SLUG, plan.plan_hash, [NewDraft(two, "yes")], reviewer="otto")
    for known in (str(shown), ""):
        refused = post(browser, path, shown=known)
        assert (refused.status_code, "changed since this page was shown" in refused.text) == (409, True)
    assert ask(store, "SELECT count(*) FROM night.approvals") == [(0,)]
    assert post(browser, path).status_code == 303
    assert ask(store, "SELECT cardinality(item_ids) FROM night.approvals") == [(2,)]


def test_verdicts_of_the_script_are_kept_and_taken_back(store: Store, browser: Browser) -> None:
    """Several at once, all or none; undo says again what was said before."""
    plan = plant(store)
    one, two, *_ = Tags(browser.get(f"/plans/{plan.plan_hash}").text).items()
    assert say(browser, plan.plan_hash, **{one: "yes", two: "no"}).json() == {"saved": 2}
    assert say(browser, plan.plan_hash, **{one: "no"}).json() == {"saved": 1}
    told = browser.get(f"/plans/{plan.plan_hash}/drafts").json()
    assert {item: d["verdict"] for item, d in told["drafts"].items()} == {one: "no", two: "no"}
    assert told["counts"] == {"open": 13, "yes": 0, "no": 2, "skip": 0}
    token = form_token(browser.get(f"/plans/{plan.plan_hash}").text)
    back = [
        browser.post(f"/plans/{plan.plan_hash}/undo", json={}, headers={"origin": ORIGIN, "x-form-token": token}).json()
        for _ in range(3)
    ]
    verdicts = [{item: d["verdict"] for item, d in answer["drafts"].items()} for answer in back]
    assert verdicts == [{one: "yes"}, {one: "open", two: "open"}, {}]
    wrong = say(browser, plan.plan_hash, **{one: "perhaps"})
    assert (wrong.status_code, "yes, no, skip" in wrong.text) == (409, True)
    assert say(browser, plan.plan_hash, **{one: "yes", "no-id": "yes"}).status_code == 409
    assert browser.get(f"/plans/{plan.plan_hash}/drafts").json()["drafts"] == {}


def known_by(html: str) -> str:
    """Return the digest of the questions that a page shows."""
    (found,) = re.findall(r'name="known_by" value="([0-9a-f]{32})"', html)
    return str(found)


def test_all_of_a_kind_are_answered_after_a_sample_of_ten(store: Store, browser: Browser) -> None:
    """Those that were counted on the page, and no others: who answers meanwhile is not overruled."""
    plan = plant(store, asked=30)
    chances = {i.id: i.probability for i in plan.items if i.decision == "review" and i.operation == "dedupe_entities"}
    item = min(chances, key=lambda id_: abs(chances[id_] - 0.6))
    alike = [id_ for id_, p in chances.items() if p >= chances[item]]
    shown = browser.get(f"/plans/{plan.plan_hash}/alike?item={item}")
    assert f"Yes: all {len(alike)}" in shown.text
    assert len(re.findall(r"<li><fieldset>", shown.text)) == 10
    token = form_token(shown.text)
    fields = {
        "form_token": token,
        "item": item,
        "at_least": chances[item],
        "known_by": known_by(shown.text),
        "verdict": "yes",
        "note": "",
    }
    say(browser, plan.plan_hash, **{alike[-1]: "no"})
    stale = browser.post(f"/plans/{plan.plan_hash}/alike", data=fields, headers={"origin": ORIGIN})
    assert (stale.status_code, "meanwhile" in stale.text) == (409, True)
    assert len(ask(store, DRAFTS)) == 1
    fields["known_by"] = known_by(browser.get(f"/plans/{plan.plan_hash}/alike?item={item}").text)
    assert browser.post(f"/plans/{plan.plan_hash}/alike", data=fields, headers={"origin": ORIGIN}).status_code == 303
    said = {item: verdict for item, verdict, _, _ in ask(store, DRAFTS)}
    assert said == dict.fromkeys(alike, "yes") | {alike[-1]: "no"}
    for wrong in ("2", "-0.1", "nan", "x"):
        assert browser.get(f"/plans/{plan.plan_hash}/alike?item={item}&at_least={wrong}").status_code == 409


def test_group_of_one_form_is_answered_after_its_sample_was_checked(store: Store, browser: Browser) -> None:
    """The card leads to the group; a partly checked sample, a forged one and a stale page answer nothing."""
    plan = captains(store, 14, ties=1, settings={"blast_radius_share": 0.02, "blast_radius_rows": 5})
    path = f"/plans/{plan.plan_hash}"
    group = next(s for s in plan.items if (form := form_of(s)) and form.is_group)
    asks = "14 statements of the form “the captain of … is” have a later value. Do the later ones hold?"
    question = plain(browser.get(f"{path}/items/{group.id}").text)
    assert asks in question
    assert "Both give a value of the relation “the captain of … is”" in question
    shown = browser.get(f"{path}/alike?item={group.id}").text
    assert asks in plain(shown)
    assert "no date says which is later" in plain(shown)
    assert "newest_wins=[&#34;the captain of … is&#34;]" in shown
    sample = sorted(set(re.findall(r'name="check-([0-9a-f-]{36})"', shown)))
    assert len(sample) == 10
    fields = {"item": group.id, "at_least": "0", "known_by": known_by(shown), "verdict": "yes"}
    outside = next(s.id for s in plan.items if s.id not in sample)
    for wrong in (
        {f"check-{sample[0]}": "yes"},
        {f"check-{id_}": "yes" for id_ in (*sample[1:], outside)},
        {f"check-{id_}": "perhaps" for id_ in sample},
        {f"check-{id_}": "yes" for id_ in sample} | {"known_by": "0" * 32},
    ):
        assert post(browser, f"{path}/alike", **(fields | wrong)).status_code == 409
    assert ask(store, "SELECT 1 FROM night.review_drafts") == []
    assert post(browser, f"{path}/alike", **fields).status_code == 303
    unchecked = plain(browser.get(f"{path}/sign").text)
    assert "14 of these answers were given for a group whose sample nobody checked" in unchecked
    assert "Beyond the cap" in post(browser, f"{path}/sign").text
    assert post(browser, f"{path}/undo").status_code == 303
    shown = browser.get(f"{path}/alike?item={group.id}").text
    done = post(browser, f"{path}/alike", **(fields | {f"check-{id_}": "yes" for id_ in sample}))
    assert done.status_code == 303
    assert "whose sample nobody checked" not in plain(browser.get(f"{path}/sign").text)
    assert post(browser, f"{path}/sign").status_code == 303
    assert ask(store, "SELECT cardinality(item_ids), forced FROM night.approvals") == [(14, False)]


def test_group_of_several_relations_is_answered_as_its_sample_was(store: Store, browser: Browser) -> None:
    """The page offers it for several relations, and only after the check."""
    plan = captains(store, 12, posts=("captain", "owner"))
    path, item = f"/plans/{plan.plan_hash}", plan.items[0].id
    shown = browser.get(f"{path}/alike?item={item}").text
    assert "12 statements of 2 relations, such as" in plain(shown)
    assert "Each relation gets the answer that its checked questions have." in plain(shown)
    sample = sorted(set(re.findall(r'name="check-([0-9a-f-]{36})"', shown)))
    assert len(sample) == 10
    owners = {s.id for s in plan.items if "owner" in s.evidence}
    fields = {"item": item, "at_least": "0", "known_by": known_by(shown), "verdict": "each"}
    assert post(browser, f"{path}/alike", **fields).status_code == 409
    checks = {f"check-{id_}": "no" if id_ in owners else "yes" for id_ in sample}
    assert post(browser, f"{path}/alike", **(fields | checks)).status_code == 303
    given = {id_: verdict for id_, verdict, _, _ in ask(store, DRAFTS)}
    assert given == {s.id: "no" if s.id in owners else "yes" for s in plan.items}


def test_page_lists_the_questions_of_a_night_and_the_rest_on_demand(store: Store, browser: Browser) -> None:
    """The setting says how many; a link, a search and the address of a question lead to the others."""
    plan = captains(store, 5, ties=4, settings={"questions_per_night": 2})
    path = f"/plans/{plan.plan_hash}"

    def listed(address: str) -> set[str]:
        return {str(a["data-item"]) for a in Tags(browser.get(address).text).all("a") if "data-item" in a}

    shown = browser.get(path).text
    first = listed(path)
    assert len(first) == 2
    assert "5 of one form" in plain(shown)
    assert "7 more questions wait: list every question" in plain(shown)
    assert f'/plans/{plan.plan_hash}?all=1"' in shown
    everything = {s.id for s in plan.items}
    assert listed(f"{path}?all=1") == listed(f"{path}?text=captain") == everything
    hidden = min(everything - first)
    assert f'name="item" value="{hidden}"' in browser.get(f"{path}?item={hidden}").text


def test_heading_of_a_card_is_the_question_and_the_reason_follows(store: Store, browser: Browser) -> None:
    courtesies(store, 1)
    night = run_night(store, "acme", ops="archive_small_talk")
    assert night.plan is not None
    (item,) = night.plan.items
    card = browser.get(f"/plans/{night.plan.plan_hash}/items/{item.id}").text
    assert plain(re.findall(r'<h2 id="asked">(.*?)</h2>', card)[0]) == "Should searches stop returning this?"
    (why,) = re.findall(r'<p class="lead">(.*?)</p>', card)
    assert "16 of 33 measured cases: too few to decide without you." in plain(why)
    assert "No search would find" in plain(card)


def test_answer_to_all_of_a_kind_seals_the_questions_that_follow_and_a_note_changes_none(
    store: Store, browser: Browser
) -> None:
    """*All like this* leads to the follow-up plan as single answers do; a note on one of the answers withdraws nothing."""
    plan = towns(store, "Porto", "Lisbon", "Faro", "Braga")
    shown = browser.get(f"/plans/{plan.hash}/alike?item={plan.questions[0].id}&at_least=0")
    token = form_token(shown.text)
    fields = {"form_token": token, "item": plan.questions[0].id, "at_least": 0, "known_by": known_by(shown.text)}
    fields |= {"verdict": "no", "note": ""}
    answered = browser.post(f"/plans/{plan.hash}/alike", data=fields, headers={"origin": ORIGIN})
    assert answered.status_code == 303
    follows = "SELECT plan_hash, state FROM night.plans WHERE plan_hash <> %s"
    made = ask(store, follows, plan.hash)
    assert [state for _, state in made] == ["awaiting_approval"]
    drafts = [{"item": plan.questions[0].id, "verdict": "note", "note": "I asked."}]
    told = browser.post(
        f"/plans/{plan.hash}/drafts", json={"drafts": drafts}, headers={"origin": ORIGIN, "x-form-token": token}
    )
    assert (told.status_code, ask(store, follows, plan.hash)) == (200, made)
    assert ask(store, DRAFTS)[-1] == (plan.questions[0].id, "no", "I asked.", "mara")


def test_filters_leave_what_fits_and_a_page_holds_so_many(
    store: Store, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By question, operation, risk, verdict and words; the rest is on the next page."""
    monkeypatch.setattr("slowwave.surfaces.review_page.plan_pages.PAGE", 8)
    plan = plant(store)
    path = f"/plans/{plan.plan_hash}"

    def listed(query: str) -> list[str]:
        return Tags(browser.get(f"{path}?{query}").text).items()

    assert len(listed("question=change")) == len(listed("operation=archive_stale")) == 3
    assert len(listed("risk=high")) == 6
    assert len(listed("text=mara+reyes")) == 1
    assert listed("state=yes") == []
    first, second = listed(""), listed("page=2")
    assert (len(first), len(second), set(first) & set(second)) == (8, 7, set())
    assert listed("page=99") == second
    assert listed("page=0&sort=nothing&risk=") == first
    assert len(set(listed("sort=probability"))) == 8
    say(browser, plan.plan_hash, **{first[0]: "yes"})
    assert listed("state=yes") == [first[0]]


def test_what_memory_says_is_text_wherever_it_is_shown(store: Store, browser: Browser) -> None:
    """A planted script, a name that reads backwards, and a megabyte: in the queue, a card, a sample, and on the page that signs."""
    plan = plant(store, hostile=True)
    path = f"/plans/{plan.plan_hash}"
    items = [i.id for i in plan.items if i.decision == "review"]
    say(browser, plan.plan_hash, **dict.fromkeys(items[:12], "no"))
    pages = [browser.get(f"{path}?item={items[0]}"), browser.get(f"{path}/sign")]
    pages += [browser.get(f"{path}/items/{item}") for item in items]
    post(browser, f"{path}/undo")
    pages.append(browser.get(f"{path}/alike?item={items[0]}&at_least=0"))
    pages.append(browser.get(f"{path}?text=%22%3E{SCRIPT}&item={SCRIPT}"))
    whole = "".join(answer.text for answer in pages)
    assert all(answer.status_code == 200 for answer in pages)
    for answer in pages:
        tags = Tags(answer.text)
        assert all(script.get("src") == "/static/review.js" for script in tags.all("script"))
        assert not tags.all("style")
        assert not [
            name for _, attributes in tags.found for name in attributes if name.startswith("on") or name == "style"
        ]
        assert len(answer.text) < 200_000
    assert "&lt;script&gt;" in whole
    assert "\u202e" in REORDERED
    assert not re.search("[\u202a-\u202e]", whole)
    assert "sreyer" in whole, "the name is shown, without what would turn it round"
    assert "… the rest of the text" in whole


def test_plans_of_other_namespaces_are_not_there(store: Store, entrance: Entrance) -> None:
    """Where one is served: not in the list, not by its hash, not for a form."""
    theirs = plant(store, slug="rival")
    ours = plant(store)
    with Browser(review_app(store, entrance, SLUG), base_url=ORIGIN, follow_redirects=False) as browser:
        browser.get(entrance.link())
        assert browser.get("/").headers["location"] == f"{browser.address}/plans/{ours.plan_hash}"
        token = form_token(browser.get(f"/plans/{ours.plan_hash}").text)
        for path in (
            "",
            "/drafts",
            "/sign",
            "/signed",
            f"/items/{theirs.items[0].id}",
            f"/alike?item={theirs.items[0].id}",
        ):
            assert browser.get(f"/plans/{theirs.plan_hash}{path}").status_code == 409
        for path in ("drafts", "undo", "alike", "sign", "apply", "take-back"):
            refused = browser.post(
                f"/plans/{theirs.plan_hash}/{path}",
                data={"form_token": token, "item": theirs.items[0].id, "verdict": "yes"},
                headers={"origin": ORIGIN},
            )
            assert refused.status_code == 409
    assert ask(store, DRAFTS) == []
    with pytest.raises(Refused):
        Desk(store, "nobody")
    with Browser(review_app(store, entrance), base_url=ORIGIN, follow_redirects=False) as browser:
        browser.get(entrance.link())
        both = browser.get("/").text
        assert theirs.plan_hash in both
        assert ours.plan_hash in both


def test_a_failed_probe_takes_force_and_a_note(store: Store, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked when a probe failed and not before; without a note nothing is signed."""
    from slowwave.plans.gate import Judgement

    plan = plant(store)
    monkeypatch.setattr(
        "slowwave.plans.gate.judge", lambda *_, **__: Judgement(("Recall falls by 0.2.",), {"of": "items"})
    )
    path = f"/plans/{plan.plan_hash}/sign"
    assert 'name="force"' not in browser.get(path).text
    failed = post(browser, path, include_decided="yes")
    assert (failed.status_code, "Recall falls by 0.2." in failed.text, 'name="force"' in failed.text) == (
        409,
        True,
        True,
    )
    again = post(browser, path, include_decided="yes", force="yes", note=" ")
    assert (again.status_code, 'name="force"' in again.text, "takes a note" in again.text) == (409, True, True)
    assert ask(store, "SELECT count(*) FROM night.approvals") == [(0,)]
    assert post(browser, path, include_decided="yes", force="yes", note="It is right.").status_code == 303
    assert ask(store, "SELECT forced, note FROM night.approvals") == [(True, "It is right.")]


def test_nothing_to_sign_is_said_and_an_approval_of_elsewhere_is_not_applied(store: Store, browser: Browser) -> None:
    """A form names an approval of its own plan."""
    plan, theirs = plant(store), plant(store, slug="rival")
    refused = post(browser, f"/plans/{plan.plan_hash}/sign")
    assert (refused.status_code, "Nothing was signed" in refused.text) == (409, True)
    assert post(browser, f"/plans/{theirs.plan_hash}/sign", include_decided="yes").status_code == 303
    (approval,) = ask(store, "SELECT id::text FROM night.approvals")
    for named in (approval[0], "nothing"):
        assert post(browser, f"/plans/{plan.plan_hash}/apply", approval=named).status_code == 409
        assert post(browser, f"/plans/{plan.plan_hash}/take-back", approval=named).status_code == 409
    assert post(browser, f"/plans/{theirs.plan_hash}/take-back", approval=approval[0]).status_code == 409
    assert post(browser, f"/plans/{theirs.plan_hash}/apply", approval="nothing").status_code == 409
    assert ask(store, "SELECT count(*) FROM night.applied") == [(0,)]


def test_a_verdict_costs_as_many_statements_with_a_thousand_questions_as_with_ten(
    store: Store, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so do the page of the queue and a card: nothing is asked per row, and nothing is judged."""
    import psycopg

    monkeypatch.setattr("slowwave.plans.gate.judge", lambda *_: pytest.fail("a verdict was judged"))
    small, large = plant(store, asked=10, slug="small"), plant(store, asked=300, slug="large")
    asked: list[str] = []
    original = psycopg.Cursor.execute

    def counted(cursor: Any, query: Any, *arguments: Any, **named: Any) -> Any:
        asked.append(str(query))
        return original(cursor, query, *arguments, **named)

    def cost(plan: str) -> list[int]:
        """Statements of the page, of a card and of a verdict, once the plan was looked at."""
        html = browser.get(f"/plans/{plan}").text
        token, item = form_token(html), Tags(html).items()[0]
        body = {"drafts": [{"item": item, "verdict": "yes", "note": ""}]}
        found: list[int] = []
        for request in (
            lambda: browser.get(f"/plans/{plan}"),
            lambda: browser.get(f"/plans/{plan}/items/{item}"),
            lambda: browser.post(f"/plans/{plan}/drafts", json=body, headers={"origin": ORIGIN, "x-form-token": token}),
        ):
            asked.clear()
            assert request().status_code == 200
            found.append(len(asked))
        return found

    monkeypatch.setattr(psycopg.Cursor, "execute", counted)
    assert cost(small.plan_hash) == cost(large.plan_hash)


def test_pages_can_be_read_and_used_without_seeing_them(store: Store, browser: Browser) -> None:
    """Landmarks, one heading of the first rank, a label for every field and a name for every button."""
    plan = plant(store)
    post(browser, f"/plans/{plan.plan_hash}/sign", include_decided="yes")
    item = plan.items[0].id
    for path in ("", "/sign", "/signed", f"/alike?item={next(i.id for i in plan.items if i.decision == 'review')}"):
        html = browser.get(f"/plans/{plan.plan_hash}{path}").text
        tags = Tags(html)
        assert tags.all("html")[0]["lang"] == "en"
        assert len(tags.all("main")) == len(tags.all("h1")) == len(tags.all("title")) == 1
        assert tags.all("header")
        ids = [str(a["id"]) for _, a in tags.found if "id" in a]
        assert len(ids) == len(set(ids)), path
        labelled = {a.get("for") for a in tags.all("label")}
        for field in (*tags.all("input"), *tags.all("select"), *tags.all("progress")):
            if field.get("type") != "hidden":
                wrapped = re.search(
                    r"<label[^>]*>(?:(?!</label>).)*name=\"" + str(field.get("name")) + '"', html, re.DOTALL
                )
                assert field.get("id") in labelled or wrapped, field
        for references in (a[name] for _, a in tags.found for name in ("aria-labelledby",) if name in a):
            assert references in ids
        assert not [a for a in tags.all("a") if not a.get("href")]
        assert any(a.get("class") == "skip" for a in tags.all("a"))
    main = browser.get(f"/plans/{plan.plan_hash}?item={item}").text
    assert 'aria-live="polite"' in main
    assert all(f'aria-keyshortcuts="{key}"' in main for key in "ynsua?")


def test_a_text_of_a_megabyte_is_cut_on_the_card_and_read_piece_by_piece(store: Store, browser: Browser) -> None:
    """The link leads on from where the card stops, to the end, and back; a piece that is not there is said."""
    plan = plant(store, hostile=True)
    path = f"/plans/{plan.plan_hash}"
    item = next(i.id for i in plan.items if LONG[:40] in str(i.mutation.to_json()))
    card = browser.get(f"{path}/items/{item}").text
    assert len(card) < 60_000
    (more, *_) = [str(a["href"]) for a in Tags(card).all("a") if "/text?" in str(a.get("href"))]
    read, links = 0, [more]
    for _ in range(60):
        piece = browser.get(links[-1])
        assert piece.status_code == 200
        assert len(piece.text) < 40_000
        read += piece.text.count("a very long note")
        after = [
            a["href"] for a in Tags(piece.text).all("a") if f"begin={4_000 + 20_000 * len(links)}" in str(a["href"])
        ]
        if not after:
            break
        links.append(str(after[0]))
    assert len(links) == -(-(len(LONG) - 4_000) // 20_000)
    assert read >= 62_000
    gone = browser.get(more.replace("begin=4000", "begin=9000000"))
    assert (gone.status_code, "ends before that" in gone.text) == (409, True)


def test_where_two_have_to_sign_the_page_says_so_and_lets_somebody_else(store: Store, browser: Browser) -> None:
    """Mara signs, sees that one more is needed and no way to apply; otto's first page leads to it, and he signs as well."""
    plan = plant(store)
    set_rule(store, "harbor", signatures=2, set_by="root")
    path = f"/plans/{plan.plan_hash}"
    assert "2 people have to sign" in browser.get(f"{path}/sign").text
    assert post(browser, f"{path}/sign", include_decided="yes").status_code == 303
    hers = browser.get(f"{path}/signed").text
    assert ("Signed by mara, one more signature needed" in hers, "Apply now" in hers) == (True, False)
    (approval,) = ask(store, "SELECT id::text FROM night.approvals")
    assert post(browser, f"{path}/apply", approval=approval[0]).status_code == 409
    assert post(browser, f"{path}/countersign").status_code == 409
    others = entrance_of("127.0.0.1", 4600, reviewer="otto")
    with Browser(review_app(store, others), base_url=ORIGIN, follow_redirects=False) as otto:
        otto.get(others.link())
        plant(store, slug="rival")
        assert f'href="{otto.address}{path}/signed"' in otto.get("/").text
        assert "Sign as well, as otto" in otto.get(f"{path}/signed").text
        assert post(otto, f"{path}/countersign", note="seen").status_code == 303
        assert post(otto, f"{path}/apply", approval=approval[0]).status_code == 303
    assert "approved by mara, otto" in browser.get(f"{path}/signed").text
    assert ask(store, "SELECT signed_by, channel, note FROM night.countersignatures") == [("otto", "review", "seen")]


def test_drafts_name_another_plan_of_the_session_that_has_an_open_question(store: Store, browser: Browser) -> None:
    """The page leads there once nothing is open here, whichever answer made that plan."""
    plan = towns(store, "Porto", "Lisbon", "Faro", "Braga")

    def following(of: str) -> str:
        return str(browser.get(f"/plans/{of}/drafts").json()["next"])

    assert following(plan.hash) == "", "questions are open here"
    made = [one for question in plan.questions for one in plan.answer(question, "both", "mara").follow_ups]
    assert following(plan.hash) == made[0]
    while one := following(plan.hash):
        later = plan_of("acme", plan_hash=one, store=store)
        later.answer(next(q for q in later.questions if q.id not in read_drafts(store, "acme", one)), "this", "mara")
    queue = browser.get(f"/plans/{plan.hash}").text
    assert following(plan.hash) == ""
    assert '<span data-count="open">0</span> open' in " ".join(queue.split()), "an answered question is no longer open"
    asked = post(browser, f"/plans/{plan.hash}/follow")
    assert asked.headers["location"].endswith(f"/plans/{plan.hash}?nothing_follows=1")
    assert "No question follows from the answers so far" in browser.get(asked.headers["location"]).text


def test_answers_about_lines_of_a_folder_say_that_what_ends_leaves_its_file(
    store: Store, browser: Browser, tmp_path: Path
) -> None:
    root = tmp_path / "notes"
    root.mkdir()
    (root / "office.md").write_text("# Office\n\n- The office is in Graz.\n- The office is in Wels.\n")
    connect_folder(store, root, embedder_for(Settings.for_namespace({})))
    let_write(store, "notes")
    night = run_night(store, "notes", force=True)
    assert night.plan is not None
    (question,) = [item for item in night.plan.items if item.is_question]
    card = " ".join(browser.get(f"/plans/{night.plan.plan_hash}/items/{question.id}").text.split())
    answers = card.partition('id="answers"')[2].partition("</section>")[0]
    assert answers.count("What ends leaves its file, and no search returns it.") == 3
    assert "stays on record" not in answers
