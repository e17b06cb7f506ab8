"""A review in the terminal: a line an answer, over a pipe as well, and nothing counts before it is signed."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable

import pytest

from slowwave.bindings.connect import connect_store
from slowwave.bindings.stores import let_write
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.plans.review.drafts import NewDraft, read_drafts, save_drafts
from slowwave.plans.review.groups import form_of
from slowwave.store.connect import Store
from slowwave.surfaces.cli import plan_review, session
from slowwave.wiki.forget import plan_forgetting
from tests.bindings.clients import run_as_owner
from tests.bindings.test_connected import MADE, NOTES
from tests.memories import ago, ask, remember
from tests.night.test_amended_items import people, waiting
from tests.night.test_answers import LIVE, OPS, towns
from tests.permitting import approve
from tests.plans.review.reviews import Review, asking, asking_alike, captains
from tests.surfaces.cli.conftest import Run
from tests.surfaces.review_page.planted import plant
from tests.toy import key

Answer = Callable[..., str]


@pytest.fixture
def review(store: Store) -> Review:
    return asking(store)


@pytest.fixture
def answer(run: Run, review: Review, monkeypatch: pytest.MonkeyPatch) -> Answer:
    """Review the plan with these lines on standard input; what is printed."""

    def answered(*lines: str, by: str = "mara") -> str:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        code, text, problem = run("plans", "review", review.slug, "--by", by, "--sort", "probability")
        assert code == 0, problem
        return text

    return answered


def drafted(review: Review) -> dict[str, tuple[str, str]]:
    found = read_drafts(review.store, review.slug, review.hash)
    return {item: (draft.verdict, draft.note) for item, draft in found.items()}


@pytest.mark.parametrize("connected", [False, True])
def test_question_about_a_secret_quotes_the_memory_redacted(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch, *, connected: bool
) -> None:
    """In the terminal and by ``why``, in our own tables and in a connected one: ids alone say nothing about it."""
    text = f"The staging login is api_key = {key()} as of today."
    if connected:
        run_as_owner(store, MADE, "ALTER TABLE notes ADD closed timestamptz")
        run_as_owner(store, f"INSERT INTO notes (owner, body) VALUES ('anna', '{text}')")
        ends = 'retire = { by = "columns", now = ["invalidated_at"] }\n[tables.memories.columns]\n'
        ends += 'invalidated_at = { at = "closed", type = "timestamptz" }\n'
        connect_store(store, "table", own_text=NOTES.replace("[tables.memories.columns]\n", ends), grant=True)
        let_write(store, "notes", grant=True)
    else:
        remember(
            store,
            "notes-anna",
            memories=[{"id": "m", "kind": "semantic", "current_version_id": "v"}],
            memory_versions=[{"id": "v", "memory_id": "m", "content": text}],
        )
    monkeypatch.setenv("SLOWWAVE_OPERATIONS__REDACT_OR_QUARANTINE__POLICY", "block")
    plan = run_night(store, "notes-anna", ops="redact_or_quarantine", force=True).plan
    assert plan is not None
    monkeypatch.setattr("sys.stdin", io.StringIO("q\n"))
    card = run("plans", "review", "notes-anna", "--by", "mara")[1]
    shown = run("why", "notes-anna", plan.items[0].id)[1]
    found = json.loads(run("why", "notes-anna", plan.items[0].id, "--json")[1])["text"]
    assert key() not in card + shown + found
    for printed in (card, shown, found):
        assert re.search(r"The staging login is api_key = \[redacted.*\] as of today\.", " ".join(printed.split()))


def test_card_counts_the_evidence_that_it_leaves_out(store: Store, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    slug = asking_alike(store, 3).slug
    for most, counted in ((4, False), (0, True)):
        monkeypatch.setattr(plan_review, "_STEPS", most)
        monkeypatch.setattr("sys.stdin", io.StringIO("q\n"))
        text = run("plans", "review", slug, "--by", "mara")[1]
        assert ("and 1 weaker piece of evidence" in text) == counted


def test_answers_are_kept_and_signed_with_one_command(answer: Answer, review: Review, run: Run) -> None:
    """From the likeliest: yes, no with a reason, skip; the printed command signs, and the approval is applied."""
    likeliest = [i.id for i in sorted(review.plan.items, key=lambda i: -i.probability) if i.decision == "review"]
    text = answer("y", "n two people", "s", "q")
    assert drafted(review) == dict(zip(likeliest, [("yes", ""), ("no", "two people"), ("skip", "")], strict=False))
    assert text.count("Same thing?") == min(4, len(likeliest))
    assert set(review.statuses().values()) == {"pending"}
    (command,) = re.findall(r"^  slowwave (plans review .* --sign)$", text, re.MULTILINE)
    code, told, _ = run(*command.split(), "--json")
    assert code == 0
    signed = json.loads(told)
    assert (signed["approved"], signed["rejected"]) == (1 + len(review.decided), 1)
    code, told, _ = run("apply", review.slug)
    assert code == 0
    assert review.statuses()[likeliest[0]] == "applied"
    left = sum(review.statuses()[item] == "pending" for item in likeliest)
    ask_again = f"plans review {review.slug} {review.hash[:12]} --by YOUR-NAME"
    assert re.search(rf"{left} questions? (is|are) still pending\. To answer:\n  slowwave {ask_again}", told), told


def test_the_end_of_the_input_leaves_and_the_next_time_goes_on(answer: Answer, review: Review) -> None:
    answer("y")
    answer("y")
    assert [verdict for verdict, _ in drafted(review).values()] == ["yes", "yes"]
    assert "1 same" in answer("u", "q")
    text = answer(*["s"] * len(review.asked))
    assert "No question is open." in text


def test_all_of_a_kind_are_answered_after_a_sample(answer: Answer, review: Review) -> None:
    """And taken back at once; whoever does not say yes or no to it answers none."""
    text = answer("a 0.5", "?", "a 0.5", "y", "q")
    assert "No question was answered." in text
    wanted = {i.id for i in review.plan.items if i.decision == "review" and i.probability >= 0.5}
    assert set(drafted(review)) == wanted
    answer("u", "q")
    assert drafted(review) == {}
    assert "is no probability" in answer("a much", "q")


def test_what_looks_decided_is_drafted_after_a_sample_and_taken_back(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only drafts, each with what it was decided by; nothing of them counts before a signature, and one key takes them all back."""
    review = asking_alike(store, 12)

    def answered(*lines: str) -> str:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        code, text, problem = run("plans", "review", review.slug, "--by", "mara")
        assert code == 0, problem
        return text

    assert "No question looks decided yet" in answered("d", "q")
    own = answered(*["y"] * 6, "d", "n", "q")
    assert "No question was answered." in own
    assert len(drafted(review)) == 6
    found = json.loads(run("plans", "review", review.slug, "--by", "mara", "--json")[1])
    (group,) = found["look_decided"]
    decided = set(group["items"])
    assert decided < set(review.asked) - set(drafted(review))
    assert len(decided) == 12, "two for each answer"
    text = answered("d", "y", "d", "u", "n two of them", "q")
    assert "12 look decided, yes: only one name says “windows”; 6 were answered so." in text.replace("\n", " ")
    assert len(re.findall(r"\b[0-9a-f]{8} \d+\.\d % ", " ".join(text.split()))) == 10
    assert "Undid 12 answers." in text
    assert {verdict for verdict, _ in drafted(review).values()} == {"yes", "no"}
    assert len(drafted(review)) == 7
    answered("u", "d", "y", "q")
    assert {id_ for id_, draft in drafted(review).items() if draft == ("yes", group["note"])} == decided
    assert set(review.statuses().values()) == {"pending"}


def test_group_of_one_form_is_checked_and_answered_in_the_words_of_the_page(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unfinished check answers nothing; a finished one lets ``--sign`` approve more than the cap allows unchecked."""
    plan = captains(store, 14, ties=1, settings={"blast_radius_share": 0.02, "blast_radius_rows": 5})

    def answered(*lines: str) -> str:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        code, text, problem = run("plans", "review", "acme", "--by", "mara")
        assert code == 0, problem
        return " ".join(text.split())

    asks = "14 statements of the form “the captain of … is” have a later value. Do the later ones hold?"
    tie = [s.id for s in plan.items if not (form := form_of(s)) or not form.is_group]
    save_drafts(store, "acme", plan.plan_hash, [NewDraft(id_, "skip") for id_ in tie], reviewer="mara")
    text = answered("a", "c", "y", "y", "q", "q")
    assert (text.count(asks), "The check was not finished. No question was answered." in text) == (3, True)
    assert "counter-example:" in text
    assert {draft.verdict for draft in read_drafts(store, "acme", plan.plan_hash).values()} == {"skip"}
    text = answered("a", "c", *["y"] * 10, "y", "q")
    assert "10 of 10: " in text
    assert "Answered 14." in text
    assert 'newest_wins=["the captain of … is"]' in text
    code, signed, problem = run("plans", "review", "acme", "--by", "mara", "--sign", "--json")
    assert (code, problem) == (0, "")
    assert json.loads(signed)["approved"] == 14


def test_group_of_several_relations_is_answered_as_checked(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = captains(store, 12, posts=("captain", "owner"))
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in ("a", "c", *["n"] * 10, "e", "q"))))
    code, text, problem = run("plans", "review", "acme", "--by", "mara")
    assert code == 0, problem
    assert "Answered each relation as checked." in " ".join(text.split())
    drafts = read_drafts(store, "acme", plan.plan_hash)
    assert {s.id: "no" for s in plan.items} == {id_: draft.verdict for id_, draft in drafts.items()}


def test_questions_beyond_those_of_a_night_are_asked_on_demand(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    captains(store, 0, ties=4, settings={"questions_per_night": 2})

    def answered(*lines: str, every: bool = False) -> str:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        text = run("plans", "review", "acme", "--by", "mara", *(["--all"] if every else []))[1]
        return " ".join(text.split())

    text = answered("s", "s", "m", "q")
    assert "The questions of this night are answered. 2 more wait: m asks them too." in text
    assert text.count("Which of the two is right?") == 3
    assert "u r m / ? q >" in text
    assert "more wait" not in answered("q", every=True)
    assert len(json.loads(run("plans", "review", "acme", "--by", "mara", "--json")[1])["groups"][0]["items"]) == 4


def test_question_that_nothing_decides_names_no_side_and_is_counted_by_its_answers(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows have the heads of the review page, and the answers are counted as on it."""
    plan = captains(store, 0, ties=4)
    monkeypatch.setattr("sys.stdin", io.StringIO("1\n2\nb\nb\nq\n"))
    text = run("plans", "review", "acme", "--by", "mara")[1]
    assert len(re.findall("this one +the other one", text)) == 4
    assert not re.search("stays +ends", text)
    assert "0 yes, 0 no, 0 skipped, 2 both stay, 1 the other one, 1 this one, 0 open." in text
    shown = run("why", "acme", plan.items[0].id)[1]
    assert re.search("this one +the other one", shown)


def test_when_nothing_is_open_the_last_answer_can_be_taken_back(answer: Answer, review: Review) -> None:
    text = answer(*["y"] * len(review.asked), "u", "q")
    assert "No question is open." in text
    assert "Undid 1 answer." in text
    assert len(drafted(review)) == len(review.asked) - 1


def test_words_narrow_what_is_asked_and_help_lists_the_keys(answer: Answer, review: Review) -> None:
    text = answer("?", "/ no such words", "/", "y", "q")
    assert "undo your last answer" in text
    assert "/ shows all again" in text
    assert len(drafted(review)) == 1


def test_an_item_that_somebody_decided_meanwhile_does_not_end_the_review(
    answer: Answer, review: Review, monkeypatch: pytest.MonkeyPatch
) -> None:
    likeliest = max((i for i in review.plan.items if i.decision == "review"), key=lambda i: i.probability)

    class Meanwhile(io.StringIO):
        def readline(self, *size: int) -> str:  # type: ignore[override]
            ask(review.store, f"UPDATE night.plan_items SET status = 'rejected' WHERE item_id = '{likeliest.id}'")
            return super().readline(*size)

    monkeypatch.setattr(io, "StringIO", Meanwhile)
    assert f"Item {likeliest.id} of plan {review.hash[:12]} is rejected already" in answer("y", "q")


def test_the_questions_are_data(run: Run, review: Review) -> None:
    code, text, _ = run("plans", "review", review.slug, "--by", "mara", "--json")
    found = json.loads(text)
    assert code == 0
    assert [(g["code"], {i["id"] for i in g["items"]}) for g in found["groups"]] == [("same", set(review.asked))]
    assert found["counts"]["open"] == len(review.asked)


def test_without_a_name_or_with_an_order_there_is_not_nothing_is_asked(run: Run, review: Review) -> None:
    assert f"review {review.slug} --by" in run("plans", "review", review.slug)[2]
    assert "is none of" in run("plans", "review", review.slug, "--by", "mara", "--sort", "age")[2]


def test_at_80_columns_no_line_of_a_card_is_longer_and_ids_are_whole(
    answer: Answer, review: Review, monkeypatch: pytest.MonkeyPatch
) -> None:
    for console in (session.out, session.err):
        monkeypatch.setattr(console, "_width", 80)
        monkeypatch.setattr(console, "_force_terminal", True)
    text = re.sub(r"\x1b\[[0-9;]*m", "", answer("a 0.1", "n", "q"))
    long = [line for line in text.splitlines() if len(line) > 80 and "--sign" not in line]
    assert long == []
    assert any(item in text for item in review.asked), "an id is whole on its line"


def test_a_rejection_is_withdrawn(run: Run, answer: Answer, review: Review) -> None:
    answer("n", "q")
    assert run("plans", "review", review.slug, "--by", "mara", "--sign", "--drafts-only")[0] == 0
    (gone,) = (item for item, status in review.statuses().items() if status == "rejected")
    code, text, _ = run("plans", "reconsider", review.slug, gone, "--by", "jon", "--reason", "one person", "--json")
    assert code == 0
    assert json.loads(text)["items"] == [gone]


def test_a_merge_is_split_and_a_text_edited_in_the_terminal(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refusals keep the review going; the signature covers the edited text and names the plan of the split by a command that works."""
    people(store)

    def answered(*lines: str) -> str:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        code, text, problem = run("plans", "review", "acme", "--by", "mara", waiting(store).plan_hash)
        assert code == 0, problem
        return text

    asked = answered("x", "x 9", "e We met.", "x 2 2", "x 2", "e", "e We met in Porto.", "q")
    assert [word in asked for word in ("Name columns from 1 to 4", "proposes no text", "Give the words")] == [True] * 3
    made = re.findall(r"^  slowwave (plans review acme \w{12} --by mara)$", asked, re.MULTILINE)
    assert len(made) == 1
    drafts = read_drafts(store, "acme", waiting(store).plan_hash)
    assert [(d.verdict, d.amended[:12] in asked) for d in drafts.values()] == [("no", True)] * 2
    code, text, _ = run(*made[0].split(), "--json")
    (group,) = json.loads(text)["groups"]
    assert (code, group["code"]) == (0, "same")
    code, text, _ = run(*made[0].split(), "--sign")
    assert (code, "made by your answers: 1 approved, 0 rejected" in text) == (0, True)
    assert f"1 question is open in plan {made[0].split()[3]}, made by your answers:\n  slowwave {made[0]}\n" in text
    assert "acme       approved, not applied  1 question, 1 to apply" in run("status", "acme")[1]
    assert "1 question is still pending" in run("apply", "acme")[1]


def test_nothing_to_approve_prints_no_command_that_is_refused(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    people(store)
    monkeypatch.setattr("sys.stdin", io.StringIO("x 4\nq\n"))
    _, asked, _ = run("plans", "review", "acme", "--by", "mara", waiting(store).plan_hash)
    (made,) = re.findall(r"plans review acme (\w{12}) --by mara\n", asked.split("Approve it")[0])
    assert run("plans", "review", "acme", made, "--by", "mara", "--sign")[0] == 0
    monkeypatch.setattr("sys.stdin", io.StringIO("q\n"))
    _, asked, _ = run("plans", "review", "acme", made, "--by", "mara")
    assert "--sign\n" not in asked
    assert f"Answer a question first:\n  slowwave plans review acme {made} --by mara\n" in asked
    code, _, problem = run("plans", "review", "acme", made, "--by", "mara", "--sign")
    assert (code, f"plans review acme {made} --by" in problem) == (2, True)


def test_cluster_of_four_statements_is_settled_in_one_session_of_the_terminal(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys of their own answer two sides; the questions that follow are asked next, and one --sign covers all plans (J17)."""
    plan = towns(store, "Porto", "Lisbon", "Faro", "Braga")
    lines = "b\n" * len(plan.questions) + "2\n" + "1\n" * 5 + "q\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    code, text, problem = run("plans", "review", "acme", "--by", "mara", plan.hash)
    assert code == 0, problem
    assert "2: The other one: “Mara lives in" in text
    assert "These questions follow from your answers" in text
    (command,) = re.findall(r"^  slowwave (plans review .* --sign)$", text, re.MULTILINE)
    code, text, problem = run(*command.split())
    assert (code, "made by your answers" in text) == (0, True), problem
    assert "Nothing is pending in acme. When its next night runs:" in run("apply", "acme")[1]
    assert len(ask(store, LIVE)) < 4
    assert run_night(store, "acme", ops=OPS, force=True).new_items == 0


def test_prompt_lists_the_keys_of_its_question_and_refuses_others(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two sides offer 1 2 b 0; a merge of two offers 1 2 3 and neither b, 0, x nor e; with nothing open no answer is offered."""
    towns(store, "Porto", "Lisbon")
    monkeypatch.setattr("sys.stdin", io.StringIO("3\nb\nq\n"))
    text = run("plans", "review", "acme", "--by", "mara")[1]
    prompts = re.findall(r"^(\S.*) > $", text, re.MULTILINE)
    assert prompts == ["1 2 b 0 y n s a u r / ? q"] * 2 + ["u r / ? q"]
    assert "3 is no answer to this question. Press one of 1 2 b 0 y n s. Nothing was kept." in text
    plant(store, asked=1, decided=0, archived=0)
    monkeypatch.setattr("sys.stdin", io.StringIO("b\nq\n"))
    text = run("plans", "review", "harbor", "--by", "mara")[1]
    assert "\n1 2 3 y n s a u r / ? q > \n" in text
    assert read_drafts(store, "harbor", json.loads(run("plans", "show", "harbor", "--json")[1])["plan_hash"]) == {}


def test_answer_to_all_alike_asks_the_questions_that_follow(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``a`` seals them as a single answer does, and the terminal goes on with them."""
    plan = towns(store, "Porto", "Lisbon", "Faro", "Braga")
    monkeypatch.setattr("sys.stdin", io.StringIO("a 0\nn\nq\n"))
    text = run("plans", "review", "acme", "--by", "mara")[1]
    assert f"Answered {len(plan.questions)}." in text
    assert "These questions follow from your answers" in text


def test_undo_does_not_offer_a_run_that_erased_rows(store: Store, run: Run) -> None:
    plan = towns(store, "Porto", "Lisbon")
    signed = approve(store, "acme", plan.hash, approver="mara", include_review=True)
    applied = apply_approval(store, signed.id).run_id
    remember(
        store,
        "acme",
        memories=[{"id": "m", "kind": "observation", "current_version_id": "v", "valid_from": ago(9)}],
        memory_versions=[{"id": "v", "memory_id": "m", "ordinal": 1, "content": "Wilhelmina rang."}],
    )
    erasing = plan_forgetting(store, "acme", "match", "Wilhelmina").plan_hash
    apply_approval(store, approve(store, "acme", erasing, approver="mara", force=True, note="Asked for.").id)
    text = run("undo", applied)[1]
    assert ("undid 1 item" in text, "still applied" in text) == (True, False)


def test_undo_names_the_run_that_is_still_applied_until_memory_is_restored(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One apply makes a run for the plan and one for the amended answer; the undo of one names the other, and both restore the digest."""
    towns(store, "Porto", "Lisbon")
    remember(
        store,
        "acme",
        memories=[
            {"id": "m", "kind": "observation", "session_id": "s", "current_version_id": "v", "valid_from": ago(9)}
        ],
        memory_versions=[{"id": "v", "memory_id": "m", "ordinal": 1, "content": "I moved to Trondheim yesterday."}],
    )
    ops = f"{OPS},relative_dates,absolutize_dates"
    plan = run_night(store, "acme", ops=ops, force=True).plan
    assert plan is not None
    assert {i.operation for i in plan.items} == {"resolve_conflicts", "absolutize_dates"}
    before = run("namespace", "digest", "acme")[1]
    monkeypatch.setattr("sys.stdin", io.StringIO("2\nq\n"))
    run("plans", "review", "acme", "--by", "mara")
    assert run("plans", "review", "acme", "--by", "mara", "--sign")[0] == 0
    text = run("apply", "acme")[1]
    first, second = re.findall(r"^Run (\S+) completed", text, re.MULTILINE)
    assert re.findall(r"^  slowwave undo (\S+)$", text, re.MULTILINE) == [second, first]
    text = run("undo", second)[1]
    assert re.findall(r"^  slowwave undo (\S+)$", text, re.MULTILINE) == [first]
    assert run("namespace", "digest", "acme")[1] != before
    assert json.loads(run("undo", second, "--json")[1])["still_applied"] == first
    assert "slowwave undo" not in run("undo", first)[1]
    assert run("namespace", "digest", "acme")[1] == before


@pytest.mark.parametrize("command", ["plans approve", "plans reject", "plans review", "switch apply off", "review"])
def test_placeholder_of_a_printed_command_is_nobody_s_name(store: Store, run: Run, command: str) -> None:
    """It would stand in the ledger as the person who approved."""
    slug = asking_alike(store, 3).slug
    words = command.split() if command.startswith("switch") else [*command.split(), slug]
    code, _, err = run(*words, "--by", "YOUR-NAME")
    assert (code, "write your own after --by" in " ".join(err.split())) == (2, True)
    assert ask(store, "SELECT count(*) FROM night.approvals") == [(0,)]
