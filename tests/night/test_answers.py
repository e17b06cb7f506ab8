"""Answers in the words of a question: each of them is kept, signed, applied and undone; one that differs from the item amends it."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from slowwave.errors import Refused
from slowwave.night.answers import answer, answer_many, answers_of, note_answer
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.plans.conflicts import list_conflicts, resolve_conflict
from slowwave.plans.ledger import StoredPlan, heading_of, read_plan
from slowwave.plans.outcome import find_outcome
from slowwave.plans.review.card import card
from slowwave.plans.review.drafts import (
    NewDraft,
    read_drafts,
    read_session,
    reconsider,
    save_drafts,
    undo_last,
    withdraw,
)
from slowwave.plans.review.queue import queue
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.surfaces.api.plan import NightPlan
from slowwave.surfaces.api.plan import plan as plan_of
from tests.memories import ago, ask, remember
from tests.permitting import approve
from tests.snapshots import uid

pytestmark = pytest.mark.slow

LIVE = "SELECT object FROM memory.memory_facts WHERE invalidated_at IS NULL AND is_active ORDER BY object"
LIVING = """
SELECT v.content FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id
WHERE m.valid_to IS NULL AND m.invalidated_at IS NULL
"""
OPS = "contradictions,resolve_conflicts"


def test_a_task_is_asked_about_under_its_own_heading_with_two_answers_and_ends_with_done(store: Store) -> None:
    """Both texts are right, so no answer ends the later one, and the reason is the rule's."""
    texts = [("task", "TODO: paint the gate.", 30), ("report", "The gate was painted.", 3)]
    every = {"kind": "semantic", "author": "user", "source": "import"}
    remember(
        store,
        "acme",
        memories=[
            {"id": n, **every, "current_version_id": f"{n} text", "valid_from": ago(d), "recorded_at": ago(d)}
            for n, _, d in texts
        ],
        memory_versions=[{"id": f"{n} text", "memory_id": n, "ordinal": 1, "content": text} for n, text, _ in texts],
    )
    night = run_night(store, "acme", ops=OPS, force=True)
    assert night.plan is not None
    with store.connect("reader") as connection:
        plan = read_plan(connection, night.plan.plan_hash)
    (item,) = plan.items
    assert {heading_of(item), card(store, plan, item).label} == {"Is this task done?"}
    assert [group.label for group in queue(plan, {}).groups] == ["Is this task done?"]
    assert [(a.name, a.label) for a in answers_of(item)] == [("this", "It is done"), ("both", "It is not done")]
    outcome = find_outcome(item.item, {}, item.status)
    assert outcome is not None
    assert "because the later of the two seems to say that the task of the earlier one is done" in outcome.sentence()
    assert "true since" not in outcome.sentence()
    with pytest.raises(Refused, match="no answer"):
        answer(store, plan, item.id, "other", by="mara")
    answer(store, plan, item.id, "this", by="mara")
    assert [row.id for row in item.item.mutation.rows] == [uid("task")]


def test_undo_names_the_later_run_that_keeps_an_old_value_from_coming_back(store: Store) -> None:
    """A merge made a start earlier, and an answer ended the row before the start that it had."""
    every = {"kind": "semantic", "author": "user", "source": "import", "subject": "club"}
    newest = {"operations": {"resolve_conflicts": {"policy": "keep_newest"}}}

    def told(rows: list[tuple[str, str, int]]) -> None:
        remember(
            store,
            "acme",
            newest,
            memories=[
                {"id": n, **every, "current_version_id": f"{n} text", "valid_from": ago(d), "importance": 1 / d}
                for n, _, d in rows
            ],
            memory_versions=[{"id": f"{n} text", "memory_id": n, "ordinal": 1, "content": text} for n, text, _ in rows],
        )

    def asked(ops: str) -> NightPlan:
        night = run_night(store, "acme", ops=ops, force=True)
        assert night.plan is not None
        return NightPlan("acme", night.plan.plan_hash, store)

    told([(name, "The treasurer of the club is Ada Lind.", days) for name, days in (("again", 10), ("first", 60))])
    merge = apply_approval(
        store, approve(store, "acme", asked("dedupe_memories").hash, approver="mara", force=True, note="a test").id
    ).run_id
    told([("late", "The treasurer of the club is Otto Berg.", 30)])
    plan = asked(OPS)
    plan.answer(plan.questions[0], "this", "mara")
    (later,) = applied(store, plan)
    with pytest.raises(Refused, match=f"run {later} changed memories"):
        undo_run(store, merge)
    assert [undo_run(store, run) is not None for run in (later, merge)] == [True, True]


def towns(store: Store, *names: str, slug: str = "acme") -> NightPlan:
    """The plan of a night over facts of one person who lives in each of the towns; nothing says which fact is right."""
    facts = [
        {
            "id": name,
            "subject": "Mara",
            "predicate": "lives in",
            "object": name,
            "valid_from": ago(30),
            "confidence": 0.8,
        }
        for name in names
    ]
    remember(store, slug, {"operations": {"resolve_conflicts": {"policy": "evidence_weighted"}}}, memory_facts=facts)
    night = run_night(store, slug, ops=OPS, force=True)
    assert night.plan is not None
    return NightPlan(slug, night.plan.plan_hash, store)


def sides(plan: NightPlan) -> tuple[str, str]:
    """The town that the question of a plan would keep, and the one that it would end."""
    with plan.store.connect("reader") as connection:
        (stored,) = [s for s in read_plan(connection, plan.hash).items if s.status == "pending"]
    winner, loser = (str(stored.item.evidence[side]).removeprefix("Mara lives in ") for side in ("winner", "loser"))
    return winner, loser


def applied(store: Store, plan: NightPlan, by: str = "mara") -> list[str]:
    """Sign all answers of a session and apply what was approved; returns the runs."""
    return [apply_approval(store, s.approval_id).run_id for s in plan.sign(by) if s.approval_id]


@pytest.mark.parametrize(
    ("name", "left"),
    [("this", "winner"), ("other", "loser"), ("both", "winner loser"), ("neither", "")],
)
def test_answer_about_two_sides_leaves_what_it_says_and_is_not_asked_again(store: Store, name: str, left: str) -> None:
    """The four answers: what is live after apply, no question in the next night, and the memory as it was after undo (F5)."""
    plan = towns(store, "Porto", "Lisbon")
    before, named = digest(store, "acme"), dict[str, str](zip(("winner", "loser"), sides(plan), strict=True))
    assert list(plan.answers(plan.questions[0])) == ["this", "other", "both", "neither"]
    plan.answer(plan.questions[0], name, "mara")
    runs = applied(store, plan)
    assert ask(store, LIVE) == [(town,) for town in sorted(named[side] for side in left.split())]
    assert run_night(store, "acme", ops=OPS, force=True).new_items == 0
    for run in reversed(runs):
        undo_run(store, run)
    assert digest(store, "acme") == before


@pytest.mark.parametrize(
    ("name", "left"), [("this", "winner winner"), ("other", "loser"), ("neither", ""), ("both", "winner winner loser")]
)
def test_merge_of_equal_rows_waits_for_the_question_about_one_of_them(store: Store, name: str, left: str) -> None:
    """Every answer holds for both equal rows, and only rows that an answer leaves are merged in the next night."""
    facts = [
        {"id": f"{town} {n}", "subject": "Mara", "predicate": "lives in", "object": town, "valid_from": ago(days)}
        for town, times, days in (("Porto", 2, 30), ("Lisbon", 1, 31))
        for n in range(times)
    ]
    remember(
        store,
        "acme",
        {"operations": {"resolve_conflicts": {"policy": "evidence_weighted"}}},
        memory_facts=facts,
    )
    before = digest(store, "acme")
    night = run_night(store, "acme", ops=f"{OPS},dedupe_facts", force=True)
    assert night.plan is not None
    plan = NightPlan("acme", night.plan.plan_hash, store)
    with store.connect("reader") as connection:
        stored = {s.status: s for s in read_plan(connection, plan.hash).items}
    assert {status: s.operation for status, s in stored.items()} == {
        "pending": "resolve_conflicts",
        "deferred": "dedupe_facts",
    }
    assert stored["deferred"].reason.startswith(f"Question {stored['pending'].id} of this plan asks")
    named = {"winner": "Porto", "loser": "Lisbon"}
    plan.answer(plan.questions[0], name, "mara")
    runs = applied(store, plan)
    assert ask(store, LIVE) == [(town,) for town in sorted(named[side] for side in left.split())]
    again = run_night(store, "acme", ops=f"{OPS},dedupe_facts", force=True).plan
    assert [i.operation for i in again.items if not i.is_question] == ["dedupe_facts"] * left.count("winner winner")  # type: ignore[union-attr]
    for run in reversed(runs):
        undo_run(store, run)
    assert digest(store, "acme") == before


@pytest.mark.parametrize("name", ["both", "no"])
def test_pair_whose_sides_both_stay_is_not_asked_when_the_weights_are_swapped(store: Store, name: str) -> None:
    """The side that would end gets a source, so it would stay now: the rejection is about the two rows, whichever of them would end."""
    plan = towns(store, "Porto", "Lisbon")
    winner, loser = sides(plan)
    plan.answer(plan.questions[0], name, "mara")
    applied(store, plan)
    remember(
        store,
        "acme",
        documents=[{"id": "d", "title": "A letter", "content": "A letter from Mara."}],
        chunks=[{"id": "c", "document_id": "d", "ordinal": 1, "content": "A letter from Mara."}],
    )
    ask(store, "UPDATE memory.memory_facts SET source_chunk_ids = ARRAY[%s]::uuid[] WHERE object = %s", uid("c"), loser)
    night = run_night(store, "acme", ops=OPS, force=True)
    assert night.new_items == 0
    reconsider(store, "acme", [plan.items[0].id], withdrawn_by="mara", reason="Ask again.")
    again = run_night(store, "acme", ops=OPS, force=True).plan
    assert again is not None
    assert sides(NightPlan("acme", again.plan_hash, store)) == (loser, winner)


def test_question_that_was_answered_otherwise_is_asked_again_once_it_is_reconsidered(store: Store) -> None:
    """The undo of the amended item counts as a rejection of the pair; to reconsider the question withdraws both."""
    plan = towns(store, "Porto", "Lisbon")
    plan.answer(plan.questions[0], "other", "mara")
    for run in reversed(applied(store, plan)):
        undo_run(store, run)
    assert run_night(store, "acme", ops=OPS, force=True).new_items == 0
    assert reconsider(store, "acme", [plan.items[0].id], withdrawn_by="mara", reason="Ask again.").withdrawn == 2
    assert run_night(store, "acme", ops=OPS, force=True).new_items == 1


def test_ruling_on_two_sides_is_followed_after_an_answer_that_both_stay(store: Store) -> None:
    """A person who rules on the conflict later has changed their mind: the next night proposes what they ruled."""
    plan = towns(store, "Porto", "Lisbon")
    winner, loser = sides(plan)
    plan.answer(plan.questions[0], "both", "mara")
    applied(store, plan)
    (conflict,) = list_conflicts(store, "acme")
    verdict = "a" if loser in conflict.a else "b"
    resolve_conflict(store, "acme", conflict.id, verdict=verdict, by="mara")
    ruled = run_night(store, "acme", ops=OPS, force=True).plan
    assert ruled is not None
    assert sides(NightPlan("acme", ruled.plan_hash, store)) == (loser, winner)


def test_ruling_after_an_undo_is_followed_until_it_is_undone_again(store: Store) -> None:
    """The ruling is newer than the undo, so only the item that follows it returns; the next undo is newer than the ruling."""
    plan = towns(store, "Porto", "Lisbon")
    winner, loser = sides(plan)
    plan.answer(plan.questions[0], "other", "mara")
    for run in reversed(applied(store, plan)):
        undo_run(store, run)
    assert run_night(store, "acme", ops=OPS, force=True).new_items == 0
    (conflict,) = list_conflicts(store, "acme")
    for right, by in ((winner, "jon"), (loser, "mara")):
        verdict = "a" if right in conflict.a else "b"
        resolve_conflict(store, "acme", conflict.id, verdict=verdict, by=by)
        withdrawn = "SELECT item_id, withdrawn_by FROM night.withdrawals JOIN night.rejections r ON r.id = rejection_id"
        assert len(ask(store, f"{withdrawn} WHERE withdrawn_by = %s", by)) == 1, "the other side stays rejected"
    ruled = run_night(store, "acme", ops=OPS, force=True).plan
    assert ruled is not None
    again = NightPlan("acme", ruled.plan_hash, store)
    assert sides(again) == (loser, winner)
    signed = approve(store, "acme", again.hash, approver="mara", force=True, note="as ruled")
    undo_run(store, apply_approval(store, signed.id).run_id)
    assert run_night(store, "acme", ops=OPS, force=True).new_items == 0


def test_answer_that_is_changed_drops_the_item_that_it_made(store: Store) -> None:
    """From the other one to both, and back by undo: only the answer that stands is signed."""
    plan = towns(store, "Porto", "Lisbon")
    winner, _ = sides(plan)
    made = plan.answer(plan.questions[0], "other", "mara").amended
    assert made
    assert [s.plan.plan_hash for s in read_session(store, "acme", plan.hash)] == [plan.hash, made.plan_hash]
    assert [s.plan.plan_hash for s in read_session(store, "acme", made.plan_hash)] == [plan.hash, made.plan_hash]
    plan.answer(plan.questions[0], "this", "mara")
    assert [s.plan.plan_hash for s in read_session(store, "acme", plan.hash)] == [plan.hash]
    applied(store, plan)
    assert ask(store, LIVE) == [(winner,)]
    assert ask(store, "SELECT state FROM night.plans WHERE plan_hash = %s", made.plan_hash) == [("rejected",)]


def test_answer_taken_back_takes_its_item_with_it(store: Store) -> None:
    """Undo of the last answer withdraws the amended plan; the question is open again."""
    plan = towns(store, "Porto", "Lisbon")
    made = plan.answer(plan.questions[0], "neither", "mara").amended
    assert made
    assert undo_last(store, "acme", plan.hash, reviewer="mara") == (made.of,)
    assert read_drafts(store, "acme", plan.hash) == {}
    assert ask(store, "SELECT state FROM night.plans WHERE plan_hash = %s", made.plan_hash) == [("rejected",)]


def test_answer_that_a_question_does_not_offer_is_refused(store: Store) -> None:
    """Nothing is kept, and the message names the answers that there are."""
    plan = towns(store, "Porto", "Lisbon")
    with pytest.raises(Refused, match="one of this, other, both, neither, yes, no, skip"):
        plan.answer(plan.questions[0], "same", "mara")
    assert read_drafts(store, "acme", plan.hash) == {}


def test_answer_other_name_merges_and_keeps_the_name_of_the_other_row(store: Store) -> None:
    """A merge that asks has three answers; the third keeps the name that the item would drop (F6)."""
    from tests.surfaces.review_page.planted import plant

    sealed = plant(store, asked=1, decided=0, archived=0)
    plan = plan_of("harbor", plan_hash=sealed.plan_hash, store=store)
    before = digest(store, "harbor")
    (question,) = plan.questions
    assert list(plan.answers(question)) == ["same", "different", "other_name"]
    kept, other = sealed.items[0].evidence["names"]  # type: ignore[misc]
    plan.answer(question, "other_name", "mara")
    (run,) = applied(store, plan)
    live = "SELECT name FROM memory.entities WHERE invalidated_at IS NULL"
    assert ask(store, live) == [(other,)] != [(kept,)]
    undo_run(store, run)
    assert digest(store, "harbor") == before


@pytest.mark.parametrize("answers", [("this",), ("other",), ("neither", "this"), ("both",)])
def test_cluster_of_four_statements_is_settled_in_one_session(store: Store, answers: tuple[str, ...]) -> None:
    """Six contradicting pairs: two or three are asked, the others follow when these are answered, until nothing contradicts (J17)."""
    plan = towns(store, "Porto", "Lisbon", "Faro", "Braga")
    before = digest(store, "acme")
    assert (len(plan.questions) + plan.counts["deferred"], len(plan.questions) < 4) == (6, True)
    plans, given = [plan], 0
    while plans:
        current = plans.pop(0)
        for question in current.questions:
            if question.id in read_drafts(store, "acme", current.hash):
                continue  # settled by an earlier answer, which ended the side that would stay
            done = current.answer(question, answers[given % len(answers)], "mara")
            given += 1
            assert done.problem == ""
            plans += [plan_of("acme", plan_hash=made, store=store) for made in done.follow_ups]
    session = read_session(store, "acme", plan.hash)
    for one in session:  # law 4: within a plan no item writes what another one writes or rests on
        items = [s.item for s in one.plan.items if s.status == "pending"]
        for n, item in enumerate(items):
            for other in items[n + 1 :]:
                assert item.writes().isdisjoint(other.writes() | other.guards())
                assert other.writes().isdisjoint(item.guards())
    runs = applied(store, plan)
    live = [town for (town,) in ask(store, LIVE)]
    assert len(live) in {"this": (1,), "other": (1,), "neither": (0, 1), "both": (4,)}[answers[0]]
    assert run_night(store, "acme", ops=OPS, force=True).new_items == 0, "no question is left for another night"
    for run in reversed(runs):
        undo_run(store, run)
    assert digest(store, "acme") == before


def test_a_question_that_an_answer_settled_names_that_answer(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other answer may need a row that the earlier one ends: then no change since the plan explains the refusal."""
    plan = towns(store, "Porto", "Lisbon", "Faro", "Braga")
    first, second = plan.questions[:2]
    note = f"Settled by the answer to item {first.id[:8]}."
    save_drafts(store, "acme", plan.hash, [NewDraft(second.id, "no", note)], reviewer="mara")

    def changed(*_: object, **__: object) -> None:
        raise Refused(
            "A row of it says something else since the plan was made: run the night again. Nothing was changed."
        )

    monkeypatch.setattr("slowwave.night.answers.answer_otherwise", changed)
    with pytest.raises(Refused, match=f"Settled by the answer to item {first.id[:8]}.*change that answer first"):
        plan.answer(second, "other", "mara")
    with pytest.raises(Refused, match="run the night again"):
        plan.answer(first, "other", "mara")


def test_answer_changed_after_questions_followed_withdraws_them(store: Store) -> None:
    """What followed from another answer is not signed; it follows anew."""
    plan = towns(store, "Porto", "Lisbon", "Faro", "Braga")
    questions = plan.questions
    following = [made for question in questions for made in plan.answer(question, "both", "mara").follow_ups]
    again = plan.answer(questions[-1], "this", "mara").follow_ups
    assert following
    session = [s.plan.plan_hash for s in read_session(store, "acme", plan.hash)]
    assert session == [plan.hash, *again]
    state = "SELECT DISTINCT state FROM night.plans WHERE plan_hash = ANY(%s)"
    assert ask(store, state, following) == [("rejected",)]


def test_withdrawn_plan_is_rejected_although_questions_of_it_are_deferred(store: Store) -> None:
    """A follow-up plan defers the questions that share a row with its own: a changed answer withdraws it all the same."""
    plan = towns(store, "Porto", "Lisbon", "Faro", "Braga")
    assert plan.counts["deferred"]
    with store.connect("approver") as connection, connection.transaction():
        withdraw(connection, plan.hash, "An answer was changed.")
    assert ask(store, "SELECT state FROM night.plans WHERE plan_hash = %s", plan.hash) == [("rejected",)]


def test_answer_other_is_applied_although_the_plan_rewords_the_row_that_it_ends(store: Store) -> None:
    """A decided item that writes the row is left pending: applied first, it would make the answer stale."""
    rows = [("old", "I live in Oslo.", 9), ("new", "I moved to Trondheim yesterday.", 5)]
    remember(
        store,
        "acme",
        memories=[
            {
                **{
                    "id": name,
                    "kind": "semantic",
                    "author": "user",
                    "source": "import",
                    "current_version_id": f"{name} text",
                },
                **{"valid_from": ago(days), "recorded_at": ago(days)},
            }
            for name, _, days in rows
        ],
        memory_versions=[
            {"id": f"{name} text", "memory_id": name, "content": text, "recorded_at": ago(days)}
            for name, text, days in rows
        ],
    )
    night = run_night(store, "acme", ops="contradictions,resolve_conflicts,absolutize_dates", force=True)
    assert night.plan is not None
    plan = plan_of("acme", plan_hash=night.plan.plan_hash, store=store)
    (question,) = plan.questions
    assert [item.operation for item in plan.items if item.decision != "review"] == ["absolutize_dates"]
    plan.answer(question, "other", "mara")
    signed = [s for s in plan.sign("mara", include_decided=True) if s.approval_id]
    counts = [apply_approval(store, s.approval_id).counts for s in signed]
    assert [count["applied"] for count in counts] == [1]
    assert ask(store, LIVING) == [("I live in Oslo.",)]


def test_many_answers_at_once_seal_the_questions_that_follow(store: Store) -> None:
    """A no to all open questions of a plan frees what was deferred for them, as single answers do (J17)."""
    plan = towns(store, "Porto", "Lisbon", "Faro", "Braga")
    asked = [NewDraft(question.id, "no") for question in plan.questions]
    done = answer_many(store, stored_plan(plan), asked, by="mara")
    assert done.problem == ""
    followed = [plan_of("acme", plan_hash=made, store=store) for made in done.follow_ups]
    assert sum(len(one.questions) for one in followed) > 0
    assert [s.plan.plan_hash for s in read_session(store, "acme", plan.hash)] == [plan.hash, *done.follow_ups]


def test_note_on_an_answer_changes_neither_the_answer_nor_what_came_of_it(store: Store) -> None:
    """The amended item, the questions that it settled and the plans that follow stay, also if another reviewer answered last."""
    plan = towns(store, "Porto", "Lisbon", "Faro", "Braga")
    question = plan.questions[0]
    made = plan.answer(question, "other", "mara")
    assert made.amended
    before = {s.plan.plan_hash: (s.covers.digest, s.plan.state) for s in read_session(store, "acme", plan.hash)}
    note_answer(store, stored_plan(plan), question.id, "I asked her.", by="mara")
    for id_, settled in read_drafts(store, "acme", plan.hash).items():
        note_answer(store, stored_plan(plan), id_, "And more.", by="mara")
        assert read_drafts(store, "acme", plan.hash)[id_].verdict == settled.verdict
    after = {s.plan.plan_hash: (s.covers.digest, s.plan.state) for s in read_session(store, "acme", plan.hash)}
    assert (after, len(after) > 1) == (before, True)
    draft = read_drafts(store, "acme", plan.hash)[question.id]
    assert (draft.verdict, draft.note, draft.amended) == ("no", "And more.", made.amended.plan_hash)
    plan.answer(question, "this", "mara")
    settled = [d for d in read_drafts(store, "acme", plan.hash).values() if d.note.startswith("Settled by")]
    assert settled == []


def test_note_of_one_reviewer_does_not_take_the_answer_of_another(store: Store) -> None:
    """Mara said yes and noor no after her: a note of mara stays with her yes. A question without an answer takes no note."""
    plan = towns(store, "Porto", "Lisbon", "Faro", "Braga")
    one, two, *_ = (question.id for question in plan.questions)
    plan.answer(one, "yes", "mara")
    plan.answer(one, "no", "noor")
    note_answer(store, stored_plan(plan), one, "She told me.", by="mara")
    given = "SELECT reviewer, verdict, note FROM night.review_drafts WHERE item_id = %s ORDER BY id"
    assert ask(store, given, one)[-1] == ("mara", "yes", "She told me.")
    with pytest.raises(Refused, match="no answer"):
        note_answer(store, stored_plan(plan), two, "Perhaps.", by="mara")


def test_answer_costs_as_many_statements_however_many_were_given(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The session is read neither for the first answer nor for the last: it has nothing that follows."""
    from tests.surfaces.review_page.planted import plant

    sealed = plant(store, asked=40)
    plan = plan_of("harbor", plan_hash=sealed.plan_hash, store=store)
    asked, questions = [0], plan.questions
    original = psycopg.Cursor.execute

    def counted(cursor: Any, *arguments: Any, **named: Any) -> Any:
        asked[-1] += 1
        return original(cursor, *arguments, **named)

    stored, (first, *rest) = stored_plan(plan), questions
    answer(store, stored, first.id, "yes", by="mara")  # opens the connection that the others use again
    monkeypatch.setattr(psycopg.Cursor, "execute", counted)
    monkeypatch.setattr("slowwave.night.answers.read_session", lambda *_: pytest.fail("the session was read"))
    for question in rest:
        asked.append(0)
        answer(store, stored, question.id, "yes", by="mara")
    assert len(set(asked[1:])) == 1
    assert asked[1] <= 13


def stored_plan(plan: NightPlan) -> StoredPlan:
    """The plan as the ledger holds it."""
    with plan.store.connect("reader") as connection:
        return read_plan(connection, plan.hash)


WORDS = """
SELECT v.content, m.invalidated_at IS NULL FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id
WHERE m.kind = 'semantic'
"""


def plan_of_derived(store: Store, text: str) -> NightPlan:
    """The plan of a night over a memory that was derived from a turn of a user."""
    turn = "I drive 40 km to work, and I never eat mussels."
    row = {"author": "", "session_id": "s1", "valid_from": ago(3), "source_chunk_ids": ["c"]}
    remember(
        store,
        "acme",
        documents=[{"id": "d", "external_id": "import:s1", "valid_from": ago(3)}],
        chunks=[{"id": "c", "external_id": "t", "document_id": "d", "content": turn}],
        memories=[
            {"id": "t", "external_id": "t", "kind": "episodic", "current_version_id": "tv", **row, "author": "user"},
            {"id": "m", "external_id": "m", "kind": "semantic", "current_version_id": "mv", **row},
        ],
        memory_versions=[
            {"id": "tv", "memory_id": "t", "content": turn},
            {"id": "mv", "memory_id": "m", "content": text},
        ],
    )
    night = run_night(store, "acme", ops=OPS, force=True)
    assert night.plan is not None
    return NightPlan("acme", night.plan.plan_hash, store)


@pytest.mark.parametrize(
    ("text", "name", "left"),
    [
        ("The user drives 60 km to work.", "source", ("The user drives 40 km to work.", True)),
        ("The user drives 60 km to work.", "kept", ("The user drives 60 km to work.", True)),
        ("The user drives 60 km to work.", "ended", ("The user drives 60 km to work.", False)),
        ("The user eats mussels.", "yes", ("The user eats mussels.", False)),
        ("The user eats mussels.", "no", ("The user eats mussels.", True)),
    ],
)
def test_answer_about_a_source_leaves_what_it_says_and_is_not_asked_again(
    store: Store, text: str, name: str, left: tuple[str, bool]
) -> None:
    plan = plan_of_derived(store, text)
    before, offered = digest(store, "acme"), plan.answers(plan.questions[0])
    assert list(offered) == (["source", "kept", "ended"] if "60" in text else [])
    assert "“The user drives 40 km to work.”" in offered.get("source", "“The user drives 40 km to work.”")
    plan.answer(plan.questions[0], name, "mara")
    runs = applied(store, plan)
    assert ask(store, WORDS) == [left]
    assert run_night(store, "acme", ops=OPS, force=True).new_items == 0
    for run in reversed(runs):
        undo_run(store, run)
    assert digest(store, "acme") == before


def test_answer_that_ends_a_memory_is_refused_when_its_text_changed(store: Store) -> None:
    plan = plan_of_derived(store, "The user drives 60 km to work.")
    remember(
        store,
        "acme",
        memory_versions=[{"id": "w", "memory_id": "m", "ordinal": 2, "content": "The user walks to work."}],
    )
    with store.connect("owner") as connection:
        connection.execute("UPDATE memory.memories SET current_version_id = %s WHERE external_id = 'm'", (uid("w"),))
    with pytest.raises(Refused, match="says something else since the plan was made"):
        plan.answer(plan.questions[0], "ended", "mara")
