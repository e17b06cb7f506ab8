"""The review page in a real browser: a plan is reviewed by keyboard alone, signed once, applied once, and taken back exactly.

``SLOWWAVE_SCREENSHOTS=folder`` keeps pictures of it, light and dark, wide and narrow.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.plans.gate import set_rule
from slowwave.plans.policies import QuestionKind, accept_policy
from slowwave.plans.review.drafts import NewDraft, save_drafts
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from slowwave.surfaces.api.memory import Memory
from slowwave.surfaces.review_page.app import review_app
from slowwave.surfaces.review_page.guard import Entrance, entrance_of
from slowwave.wiki.serving.http_app import listener
from tests.permitting import approve

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route


from tests.e2e.test_gate import CHROMIUM, FLAGS, SCHEMES, picture
from tests.memories import ask
from tests.night.test_amended_items import people, waiting
from tests.night.test_answers import LIVE, OPS, towns
from tests.plans.review.reviews import asking_alike, asking_of_a_kind, captains
from tests.plans.review.test_rules import answer, likeliest
from tests.surfaces.review_page.planted import SLUG, plant
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.browser]

MERGES, ARCHIVES, DECIDED = 170, 30, 800
A_NIGHT = Settings().questions_per_night

WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
COLOUR_RULES = ["color-contrast", "link-in-text-block"]
"""The rules of axe among those that compare colours."""


@pytest.fixture(scope="module")
def started() -> Iterator[Browser]:
    """A browser of the system: to start one costs more than most of what is done in it."""
    from playwright.sync_api import expect, sync_playwright

    if CHROMIUM is None:
        reason = "No Chromium on PATH: `make chromium` installs one."
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    expect.set_options(timeout=240_000)  # a loaded machine saves 170 verdicts in its own time
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def entrance(store: Store) -> Iterator[Entrance]:
    """A review page that listens, for mara."""
    with listener("127.0.0.1", 0) as bound:
        made = entrance_of("127.0.0.1", int(bound.getsockname()[1]), reviewer="mara")
        server = uvicorn.Server(uvicorn.Config(review_app(store, made), log_config=None, access_log=False, ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            until(lambda: server.started)
            yield made
        finally:
            server.should_exit = True
            thread.join(60)


@pytest.fixture
def chromium(started: Browser, entrance: Entrance) -> Iterator[Browser]:
    """That browser; what a test opened in it is closed before the page's server ends, as each failed request of a page fails its test."""
    yield started
    for context in started.contexts:
        context.close()


def opened(browser: Browser, entrance: Entrance, **context: Any) -> Page:
    """A page that came in by a link, and that fails the test where its script does or its policy is broken."""
    page = browser.new_context(**context).new_page()
    page.on("pageerror", lambda problem: pytest.fail(f"a script failed: {problem}"))
    page.on("console", lambda message: message.type == "error" and pytest.fail(f"the console says {message.text}"))
    page.goto(entrance.link())
    page.wait_for_url(re.compile("/plans/"))
    assert "token" not in page.url
    return page


def press(page: Page, key: str) -> None:
    """Press a key once the page's script listens: a page that is still loading shows its text before that."""
    page.wait_for_load_state()
    page.keyboard.press(key)


def test_an_address_from_elsewhere_leads_below_the_session(store: Store, chromium: Browser, entrance: Entrance) -> None:
    """In a browser that came in: a link to a plan as Dagster has it, the first page, a used link. In another: nowhere."""
    from playwright.sync_api import expect

    plan = plant(store)
    page = opened(chromium, entrance)
    below = page.url.partition("/plans/")[0]
    at = f"/plans/{plan.plan_hash}"
    used = entrance.link()
    tab = page.context.new_page()
    for address in (f"{entrance.origins[0]}{at}", f"{entrance.origins[0]}/", used, used):
        tab.goto(address)
        tab.wait_for_url(lambda url: "/s/" in url and url.endswith(at))
        if address == used:
            below = tab.url.partition("/plans/")[0]  # of the session that this link began
        assert tab.url == f"{below}{at}"
        tab.goto("about:blank")
    stranger = chromium.new_context().new_page()
    for address in (f"{entrance.origins[0]}{at}", f"{below}{at}", used):
        stranger.goto(address)
        expect(stranger.get_by_text("You are not known here")).to_be_visible()
        assert stranger.url == address


@pytest.mark.timeout(900)
def test_a_thousand_items_are_reviewed_by_keyboard_signed_once_and_taken_back(
    store: Store, chromium: Browser, entrance: Entrance, capsys: pytest.CaptureFixture[str]
) -> None:
    """200 questions, a key each and a few more, those beyond a night's on demand; one approval, one run, and the memory as it was."""
    from playwright.sync_api import expect

    plan = plant(store, asked=MERGES, decided=DECIDED, archived=ARCHIVES)
    before = ask(store, "SELECT id, name, description, invalidated_at FROM memory.entities ORDER BY id")
    page = opened(chromium, entrance, viewport={"width": 1280, "height": 800})
    keys = 0

    def counted_press(key: str) -> None:
        nonlocal keys
        keys += 1
        press(page, key)

    begun = datetime.now(UTC)
    answers = "yynys"
    asked = MERGES + ARCHIVES
    for n in range(asked - ARCHIVES):
        counted_press(answers[n % len(answers)])
        if n == 9:  # the first ten are on their way to the server
            later = page.get_by_role("link", name=f"{asked - A_NIGHT} more questions wait")
            later.focus()
            counted_press("Enter")
            page.wait_for_url(re.compile("all=1"))
            expect(page.locator("[data-count=open]").first).to_have_text(str(asked - 10))
    counted_press("n")  # a slip
    counted_press("u")
    expect(page.locator("#told")).to_contain_text("Taken back")
    counted_press("a")  # the rest of its kind at once, with a sample first
    expect(page.get_by_role("heading", name="All of this kind")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Yes: all ")).focus()
    counted_press("Enter")
    expect(page.locator("[data-count=open]").first).to_have_text("0")
    page.get_by_role("link", name="Sign…").focus()
    counted_press("Enter")
    expect(page.locator("[data-covered=decided]")).to_have_count(DECIDED)
    box = page.get_by_role("checkbox", name=f"Also approve the {DECIDED} items that need no answer")
    expect(box).not_to_be_checked()
    part = page.locator("summary").filter(has_text=f"101–200 of {DECIDED}")
    part.focus()
    counted_press("Enter")
    expect(page.locator("[data-covered=decided]").nth(150)).to_be_visible()
    box.focus()
    counted_press("Space")
    page.get_by_role("button", name="Sign plan").focus()
    counted_press("Enter")
    expect(page.get_by_role("heading", name="What was signed")).to_be_visible()
    signed = datetime.now(UTC)
    page.get_by_role("button", name="Apply now").focus()
    counted_press("Enter")
    undo = page.get_by_role("button", name="Undo this run")
    expect(undo).to_be_visible()
    applied = datetime.now(UTC)

    said = [answers[n % len(answers)] for n in range(MERGES)]
    yes, no = said.count("y") + ARCHIVES, said.count("n")
    assert ask(store, "SELECT approver, cardinality(item_ids) FROM night.approvals") == [("mara", yes + DECIDED)]
    assert ask(store, "SELECT count(*) FROM night.rejections") == [(no,)]
    assert ask(store, "SELECT count(*) FROM night.runs WHERE mode = 'apply'") == [(1,)]
    assert ask(store, "SELECT (counts ->> 'applied')::int FROM night.applied") == [(yes + DECIDED,)]
    left = "SELECT count(*) FROM night.plan_items WHERE plan_hash = %s AND status = 'pending'"
    assert ask(store, left, plan.plan_hash) == [(said.count("s"),)]

    undo.focus()
    counted_press("Enter")
    expect(page.get_by_text("Nothing of it is in memory now")).to_be_visible()
    assert ask(store, "SELECT id, name, description, invalidated_at FROM memory.entities ORDER BY id") == before
    with capsys.disabled():
        print(
            f"\nreview page: {len(plan.items):,} items, {asked} questions, {keys} keys; "
            f"review and signature {(signed - begun).total_seconds():.1f} s, apply {(applied - signed).total_seconds():.1f} s"
        )


def test_what_looks_decided_is_offered_as_soon_as_it_does(store: Store, chromium: Browser, entrance: Entrance) -> None:
    """After six answers the page offers the rest of their kind; `d` and a button answer it, and one `u` takes it back."""
    from playwright.sync_api import expect

    asking_alike(store, 20)
    page = opened(chromium, entrance)
    offer = page.locator("#decided")
    expect(offer).to_be_hidden()
    press(page, "d")
    expect(page.locator("#told")).to_have_text("Nothing looks decided yet.")
    for _ in range(6):
        press(page, "y")
    expect(offer).to_have_text(re.compile("^12 look decided"))
    press(page, "d")
    expect(page.get_by_role("heading", name="12 look decided: yes")).to_be_visible()
    page.get_by_role("button", name="Yes to all 12").focus()
    press(page, "Enter")
    expect(page.locator("[data-answers=same]")).to_have_text("18")
    expect(offer).to_be_hidden()
    press(page, "u")
    expect(page.locator("[data-answers=same]")).to_have_text("6")
    until(lambda: ask(store, "SELECT count(*) FROM night.review_drafts WHERE verdict = 'none'") == [(12,)])


def test_group_of_one_form_is_checked_and_answered_by_keyboard_at_400_px(
    store: Store, chromium: Browser, entrance: Entrance
) -> None:
    """`a` leads from the card to the group, Tab and Space check its sample of ten, Enter answers all, and one `u` undoes that answer."""
    from axe_playwright_python.base import AXE_SCRIPT
    from playwright.sync_api import expect

    captains(store, 14, ties=1)
    page = opened(chromium, entrance, viewport={"width": 400, "height": 800})
    asks = "14 statements of the form “the captain of … is” have a later value. Do the later ones hold?"

    def readable(name: str) -> None:
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        page.evaluate(AXE_SCRIPT)
        options = {"resultTypes": ["violations"], "runOnly": WCAG}
        assert page.evaluate("options => axe.run(options).then(found => found.violations)", options) == [], name
        picture(page, f"{name}-400")

    expect(page.locator("#card #group-of")).to_have_text(asks)
    readable("group-card")
    press(page, "a")
    expect(page.get_by_role("heading", name=asks)).to_be_visible()
    expect(page.get_by_text("no date says which is later")).to_be_visible()
    readable("group")
    checks = page.locator("ol.checks fieldset")
    expect(checks).to_have_count(10)
    done = 0
    for _ in range(60):
        press(page, "Tab")
        kind, name = page.evaluate("[document.activeElement.type ?? '', document.activeElement.textContent.trim()]")
        if kind == "radio":
            press(page, "Space")
            done += 1
        if name.startswith("The later ones hold: all 14"):
            break
    assert done == 10
    press(page, "Enter")
    page.wait_for_url(re.compile(r"/plans/[0-9a-f]+$"))
    answers = "SELECT together, count(*) FROM (SELECT count(*) AS together FROM night.review_drafts GROUP BY recorded_at) t GROUP BY 1"
    assert sorted(ask(store, answers)) == [(1, 10), (14, 1)]
    expect(page.locator("[data-count=open]").first).to_have_text("1")
    press(page, "u")
    expect(page.locator("[data-count=open]").first).to_have_text("5")


def test_answer_to_a_tie_keeps_its_name_and_the_sign_page_waits_until_it_is_saved(
    store: Store, chromium: Browser, entrance: Entrance
) -> None:
    """A tie proposes no side; "The other one" is neither yes nor no, and a click on Sign waits for it, at 400 px as well."""
    from playwright.sync_api import expect

    towns(store, "Porto", "Lisbon")
    page = opened(chromium, entrance, viewport={"width": 400, "height": 800})
    card = page.locator("#card")
    expect(card).to_contain_text("Nothing says which of the two is later")
    for absent in ("Proposal", "probability", "If yes", "evidence_weighted"):
        expect(card).not_to_contain_text(absent)
    expect(page.locator("#answer .say-yes:visible, #answer .say-no:visible")).to_have_count(0)
    buttons = page.locator("#answer button[name=verdict]:visible")
    wide = buttons.evaluate_all(
        "all => all.filter(one => one.scrollWidth > one.clientWidth).map(one => one.textContent)"
    )
    assert wide == [], "labels fit into their buttons"
    row = page.locator("#queue a[data-item]")
    expect(row.locator(".title")).to_have_text(re.compile("^Mara lives in “(Porto|Lisbon)” / “(Porto|Lisbon)”$"))

    def slow(route: Route) -> None:
        page.wait_for_timeout(1_500)
        route.continue_()

    page.route(re.compile("/drafts$"), slow)
    press(page, "2")
    page.get_by_role("link", name="Sign…").click()
    expect(page.locator("#told")).to_contain_text("being saved")
    expect(page.get_by_role("heading", name="Sign your answers")).to_be_visible(timeout=60_000)
    expect(page.get_by_text("Your answers: 1 the other one.")).to_be_visible()
    expect(page.locator("[data-covered=no]")).to_have_count(0)
    expect(page.locator("[data-covered=yes]")).to_have_count(1)
    page.unroute_all(behavior="wait")  # a delayed request must not outlive the page
    page.get_by_role("link", name="Back to the questions").click()
    page.wait_for_load_state()
    for _ in range(2):  # as the server says it, and after an undo and the same answer
        expect(row).to_have_attribute("data-sign", "answered")
        expect(row.locator(".state")).to_contain_text("the other one")
        expect(page.locator("[data-answers='the other one']")).to_have_text("1")
        expect(page.locator("[data-answers=no]")).to_have_text("0")
        expect(page.locator("#answer button[value=other]")).to_have_attribute("aria-pressed", "true")
        press(page, "u")
        expect(row).to_have_attribute("data-sign", "open")
        press(page, "2")


@pytest.mark.timeout(600)
def test_cluster_of_four_statements_is_settled_in_one_session_of_the_page(
    store: Store, chromium: Browser, entrance: Entrance
) -> None:
    """Keys b, 2 and 1 answer; the page leads to the questions that follow, and one signature covers all plans (F5, J17)."""
    from playwright.sync_api import expect

    plan = towns(store, "Porto", "Lisbon", "Faro", "Braga")
    page = opened(chromium, entrance)
    buttons = page.locator("#answer button[name=verdict]:visible")
    expect(buttons).to_have_text(["This one 1", "The other one 2", "Both stay b", "Both end 0", "Skip s"])
    expect(page.locator("#session [data-follows]")).to_have_count(plan.counts["deferred"])
    for _ in plan.questions:
        press(page, "b")
    page.wait_for_url(lambda url: plan.hash not in url, timeout=240_000)
    press(page, "2")

    def settle() -> None:
        """Wait until answers are saved, and until the page that it may have led to has its whole list of questions."""
        expect(page.locator("[data-plan]:not([aria-busy=true])")).to_be_visible()
        page.wait_for_load_state()

    settle()
    assert len(ask(store, "SELECT 1 FROM night.review_drafts WHERE amended IS NOT NULL")) == 1
    while page.locator("#queue a[data-verdict=open]").count():
        press(page, "1")
        press(page, "1")  # while the answer is saved or the page moves: it never answers the same question again
        settle()
    page.get_by_role("link", name="Sign…").click()
    expect(page.get_by_text("more plan")).to_be_visible()
    page.get_by_role("button", name="Sign plan").click()
    expect(page.get_by_role("heading", name="What was signed")).to_be_visible()
    approvals = ask(store, "SELECT id::text FROM night.open_approvals ORDER BY recorded_at")
    assert approvals
    for (approval,) in approvals:
        apply_approval(store, approval)
    assert len(ask(store, LIVE)) < 4
    assert run_night(store, "acme", ops=OPS, force=True).new_items == 0


def test_two_people_review_one_plan_in_two_browsers(store: Store, chromium: Browser, entrance: Entrance) -> None:
    """What one said is there when the other comes back to the page, and a script in a name runs in neither."""
    from playwright.sync_api import expect

    plant(store, hostile=True)
    first, second = opened(chromium, entrance), opened(chromium, entrance)
    press(first, "y")
    expect(first.locator("#told")).to_contain_text("same. Next")
    until(lambda: len(ask(store, "SELECT 1 FROM night.review_drafts")) == 1)
    second.evaluate("dispatchEvent(new Event('focus'))")
    expect(second.locator("[data-answers=same]")).to_have_text("1")
    expect(second.locator("#told")).to_have_text("Answered meanwhile: same, mara.")
    press(second, "j")
    press(second, "n")
    expect(second.locator("#queue a[aria-current]")).to_be_focused()
    expect(second.locator("[data-count=open]").first).to_have_text("13")
    until(lambda: len(ask(store, "SELECT 1 FROM night.review_drafts")) == 2)
    for page in (first, second):
        for _ in range(14):
            press(page, "j")
        assert page.title() == "harbor · Slowwave"
        page.context.close()


def test_what_is_typed_is_no_verdict_and_single_keys_can_be_turned_off(
    store: Store, chromium: Browser, entrance: Entrance
) -> None:
    """A person searches, writes a note, reads the keys, and turns them off."""
    from playwright.sync_api import expect

    plant(store)
    page = opened(chromium, entrance)
    press(page, "/")
    page.keyboard.type("yuki ny")
    expect(page.locator("#search")).to_have_value("yuki ny")
    rows = page.locator("#queue a[data-item]:visible")
    expect(rows).to_have_count(0)
    press(page, "Escape")
    expect(rows).to_have_count(15)
    page.locator("#note").focus()
    page.keyboard.type("yes, nobody else")
    press(page, "Enter")
    press(page, "n")
    until(lambda: ask(store, "SELECT verdict, note FROM night.review_drafts") == [("no", "yes, nobody else")])
    expect(page.locator("#note")).to_have_value("")
    press(page, "?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_be_visible()
    press(page, "y")
    dialog.get_by_role("checkbox").uncheck()
    dialog.get_by_role("button", name="Close").click()
    press(page, "y")
    page.get_by_role("button", name="Skip").click()
    until(lambda: ask(store, "SELECT verdict FROM night.review_drafts ORDER BY id") == [("no",), ("skip",)])


def test_it_can_be_read_at_every_width_and_by_its_contrast(store: Store, chromium: Browser, entrance: Entrance) -> None:
    """Nothing is wider than the window, axe finds no failure of WCAG 2.2 AA, and every control can be seen to be chosen."""
    from axe_playwright_python.base import AXE_SCRIPT

    plan = plant(store)
    page = opened(chromium, entrance, reduced_motion="reduce")  # colours are read when they have come to rest
    below = page.url.partition("/plans/")[0]  # the session's address
    item = next(i.id for i in plan.items if i.decision == "review")
    like = asking_alike(store, 20)
    save_drafts(store, like.slug, like.hash, [NewDraft(id_, "yes") for id_ in like.asked[:6]], reviewer="mara")
    kind = asking_of_a_kind(store, 10)
    answer(kind, likeliest(kind)[-8:])
    same = QuestionKind("dedupe_entities", "The names are the same", ("The values of email are equal",), "")
    accept_policy(store, kind.stored(), same, answered=41, agreed=41, least=0.9, per_night=11, accepted_by="mara")
    set_rule(store, like.slug, signatures=2, set_by="root")
    approve(store, like.slug, like.hash, approver="otto", items=[like.asked[-1]], force=True, note="as seen")
    people(store)
    (people_plan,) = ask(
        store,
        "SELECT p.plan_hash FROM night.plans p JOIN memory.namespaces n ON n.id = p.namespace_id WHERE n.slug = 'acme'",
    )
    shown = {
        "plans": "",
        "review": f"{plan.plan_hash}",
        "sign": f"{plan.plan_hash}/sign",
        "alike": f"{plan.plan_hash}/alike?item={item}",
        "signed": f"{plan.plan_hash}/signed",
        "decided": f"{like.hash}/decided",
        "offer": f"{like.hash}",
        "rules": f"{kind.hash}/rules",
        "half-signed": f"{like.hash}/signed",
        **{s.operation: f"{people_plan[0]}/amend?item={s.id}" for s in waiting(store, str(people_plan[0])).items},
    }
    for name, path in shown.items():
        page.set_viewport_size({"width": 360, "height": 800})
        page.goto(f"{below}/{f'plans/{path}' if path else ''}")
        page.evaluate(AXE_SCRIPT)
        for width in (360, 768, 1280, 1600):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (name, width)
            for scheme in SCHEMES:
                page.emulate_media(color_scheme=scheme)
                if width <= 1280:  # the style sheet knows no wider window
                    # Its dark part gives other values to colours and changes nothing else.
                    failed = page.evaluate(
                        "options => axe.run(options).then(found => found.violations)",
                        {"resultTypes": ["violations"], "runOnly": WCAG if scheme == "light" else COLOUR_RULES},
                    )
                    assert failed == [], f"{name} at {width}, {scheme}: {failed}"
                picture(page, f"{name}-{scheme}-{width}")
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        page.goto(f"{below}/plans/{plan.plan_hash}")
        seen: list[str] = []
        for _ in range(12):
            press(page, "Tab")
            name, outline = page.evaluate(
                "[document.activeElement.id, getComputedStyle(document.activeElement).outlineStyle]"
            )
            seen.append(name)
            assert outline == "solid", f"nobody sees that {name or 'an element'} has the focus"
        assert "search" in seen


def test_memory_is_searched_and_a_claim_changed_by_keyboard(
    store: Store, chromium: Browser, entrance: Entrance
) -> None:
    """From the plan to the memory pages, a search, a row, a proposal and its plan; no page fails axe or is wider than the window."""
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import expect

    plant(store, hostile=True)
    memory = Memory(SLUG, store)
    memory.remember("Wilhelmina drinks tea.", "Wilhelmina", scope="person", kind="preference")
    memory.remember("Wilhelmina drinks coffee.", "Wilhelmina", kind="preference", action="replace")
    page = opened(chromium, entrance, viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    page.get_by_role("link", name="Memory", exact=True).focus()
    press(page, "Enter")
    page.wait_for_url(re.compile(f"/memory/{SLUG}$"))
    shown = {
        "memory": page.url,
        "memory-entities": f"{page.url}?list=entities&state=all",
        "memory-none": f"{page.url}?text=xyzzyq",
    }
    press(page, "Tab")
    press(page, "Enter")  # the link that skips the header
    page.get_by_role("searchbox", name="Search").focus()
    page.keyboard.type("what does Wilhelmina drink")
    press(page, "Enter")
    page.wait_for_url(re.compile("text="))
    shown["memory-search"] = page.url
    found = page.locator("#rows a").filter(has_text="Wilhelmina drinks coffee.").first
    found.focus()
    press(page, "Enter")
    page.wait_for_url(re.compile("/memories/"))
    shown["memory-row"] = page.url
    expect(page.get_by_role("heading", name="History")).to_be_visible()
    statement = page.get_by_role("textbox", name="Statement")
    statement.focus()
    press(page, "ControlOrMeta+a")
    page.keyboard.type("Wilhelmina drinks water.")
    press(page, "Tab")
    press(page, "Tab")
    press(page, "Enter")
    page.wait_for_url(re.compile("/plans/.*/sign$"), timeout=240_000)
    expect(page.get_by_text("Wilhelmina drinks water.").first).to_be_visible()
    assert len(ask(store, "SELECT 1 FROM memory.memories WHERE kind = 'claim'")) == 2, (
        "nothing is written before the plan is applied"
    )
    for width in (400, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        for name, address in shown.items():
            page.goto(address)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (name, width)
            assert page.title() != "owned"
            for scheme in SCHEMES:
                page.emulate_media(color_scheme=scheme)
                report = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]})
                assert report.violations_count == 0, f"{name} at {width}, {scheme}: {report.generate_report()}"
                picture(page, f"{name}-{scheme}-{width}")
