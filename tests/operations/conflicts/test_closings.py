"""Questions whether a task is done or a statement was withdrawn: of one scope, by any author, once for each, and never decided alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from slowwave.operations.conflicts.closings import closing_conflicts
from slowwave.operations.conflicts.decide import decide, read_sides
from slowwave.operations.conflicts.find import conflicts_of_memories, ended_statements, find_conflicts
from slowwave.operations.conflicts.rows import Tally
from slowwave.operations.planners.resolve_conflicts import resolve_conflicts
from slowwave.plans.items import Decision
from slowwave.plans.questions import Conflict, question
from slowwave.store.settings import Settings
from tests.operations.conflicts.test_frames import memory, world
from tests.snapshots import TAKEN_AT, make_inputs, uid

TASK, DONE = "TODO: renew the certificate of the shop.", "The certificate of the shop was renewed on Tuesday."
PIN, BACK = "We pinned the solver to 5.4 for the annealing job.", "The pin was taken back; 6.1 handles it."
BESIDE = f"{TASK[6:]} The shop sells bread and butter."


def found(*memories: dict[str, object]) -> Sequence[Conflict]:
    return closing_conflicts(world(*memories), Tally())


def test_a_task_that_another_author_calls_done_is_asked_about() -> None:
    """The later memory stays and the task ends, whatever the order of their ids, and no other rule finds them."""
    for memories, task in (
        ((memory(TASK), memory(DONE, 3, author="Otto")), "m0"),
        ((memory(DONE, 3), memory(TASK)), "m1"),
    ):
        snapshot = world(*memories)
        (conflict,) = conflicts_of_memories(snapshot, Settings(), Tally())
        assert (conflict.reason, conflict.doubtful, conflict.pattern) == ("done", True, "memories: closing")
        (item,) = resolve_conflicts(make_inputs(snapshot)).items
        assert (item.decision, [row.id for row in item.mutation.rows]) == (Decision.REVIEW, [uid(task)])
        asked = question(item)
        assert (asked.code, asked.sentence.startswith("Is this task done?")) == ("which_is_right", True)


@pytest.mark.parametrize("policy", ["evidence_weighted", "keep_newest"])
def test_a_task_that_reads_as_news_as_well_is_asked_about_as_a_task(policy: str) -> None:
    memories = (
        memory("We need to replace the impeller of the pump."),
        memory("The impeller of the pump was replaced.", 3),
    )
    snapshot = world(*memories)
    settings = Settings(operations={"resolve_conflicts": {"policy": policy}})
    (item,) = resolve_conflicts(replace(make_inputs(snapshot), settings=settings)).items
    assert (item.is_question, item.evidence["reason"]) == (True, "done")


def test_a_task_and_what_was_done_elsewhere_are_no_two_values() -> None:
    memories = memory("TODO: fix the leak in cabin 3."), memory("The leak in cabin 4 is fixed.", 3)
    assert conflicts_of_memories(world(*memories), Settings(), Tally()) == []


@pytest.mark.parametrize("policy", ["evidence_weighted", "keep_newest", "source_precedence"])
def test_no_policy_and_no_relation_decides_whether_a_task_is_done(policy: str) -> None:
    one, other = memory(TASK, importance=0.1), memory("The certificate of the shop is renewed.", 3, importance=0.1)
    snapshot = world(one, other)
    (conflict,) = closing_conflicts(snapshot, Tally())
    chosen = Settings(operations={"resolve_conflicts": {"low_importance": 0.3, "newest_wins": ["frames", "renew"]}})
    decision = decide(policy, conflict, read_sides(snapshot, [conflict], chosen))
    assert (decision.sure, decision.winner == "a") == (False, conflict.b == uid("m0"))


def test_two_judges_are_not_asked_whether_a_task_is_done() -> None:
    """A person is, although no judge is at hand for other conflicts."""
    inputs = make_inputs(world(memory(TASK), memory(DONE, 3)))
    judged = replace(inputs, settings=Settings(operations={"resolve_conflicts": {"policy": "two_judges"}}))
    (item,) = resolve_conflicts(judged).items
    assert item.is_question


@pytest.mark.parametrize(
    "later",
    [
        memory(DONE, -3),
        memory(DONE, 3, scope="another"),
        memory(DONE, 3, kind="summary"),
        memory(DONE, 3, kind="episodic", author="assistant"),
    ],
)
def test_an_earlier_statement_another_scope_a_summary_and_a_turn_of_a_program_close_nothing(
    later: dict[str, object],
) -> None:
    assert not found(memory(TASK), later)


def test_a_deed_of_a_year_before_the_task_closes_nothing() -> None:
    year = TAKEN_AT.year
    tree = memory("Prune the pear tree.", 1)
    assert not found(tree, memory(f"The pear tree was pruned in {year - 2}.", 3))
    assert found(tree, memory(f"The pear tree was pruned in {year}.", 3))


def test_a_task_is_asked_about_once_with_the_clause_that_has_most_of_its_words() -> None:
    (conflict,) = found(memory(TASK), memory(DONE, 2), memory("The certificate was renewed.", 4))
    assert {conflict.a, conflict.b} == {uid("m0"), uid("m1")}


def test_a_word_of_many_texts_weighs_less_than_a_rare_one() -> None:
    """The clause lacks one of two words: the common one in the first scope, the rare one in the second."""
    often = [memory(f"Gate {n} is grey.", n % 9) for n in range(90)]
    assert found(memory("Repair the hinge of the gate."), memory("The hinge is fixed.", 20), *often)
    often = [memory(f"Hinge {n} is grey.", n % 9) for n in range(90)]
    assert not found(memory("Repair the hinge of the gate."), memory("The hinge is fixed.", 20), *often)


def test_a_task_in_a_longer_memory_gets_a_note_instead() -> None:
    snapshot = world(memory(BESIDE), memory(DONE, 3))
    assert not find_conflicts(snapshot, Settings()).conflicts
    (ended,) = ended_statements(snapshot)
    assert (ended.holds, ended.pattern, ended.said) == (True, "closing", DONE)
    assert closing_conflicts(snapshot, Tally(), longer=True)


@pytest.mark.parametrize("policy", ["evidence_weighted", "keep_newest", "source_precedence"])
def test_a_withdrawn_decision_is_asked_about_whatever_the_policy(policy: str) -> None:
    """The question is which of both is right, not whether a task is done."""
    snapshot = world(memory(PIN, importance=0.1), memory(BACK, 3, author="Otto", importance=0.1))
    (conflict,) = conflicts_of_memories(snapshot, Settings(), Tally())
    assert (conflict.reason, conflict.doubtful, conflict.pattern) == ("polarity", True, "memories: closing")
    chosen = Settings(operations={"resolve_conflicts": {"policy": policy, "low_importance": 0.3}})
    (item,) = resolve_conflicts(replace(make_inputs(snapshot), settings=chosen)).items
    assert item.decision == Decision.REVIEW
    assert "task" not in question(item).sentence


def test_a_reassigned_task_has_another_holder_and_is_not_done() -> None:
    (conflict,) = found(memory("TODO (Igor): write the rota."), memory("The rota has been reassigned to Rosa.", 3))
    assert conflict.reason == "object"


def test_a_cancelled_task_is_asked_about_once_as_done() -> None:
    (conflict,) = found(memory("TODO: inspect the crane."), memory("The inspection of the crane was cancelled.", 3))
    assert conflict.reason == "done"


@pytest.mark.parametrize("later", [memory(BACK, -3), memory(BACK, 3, scope="another"), memory(BACK, 3, kind="summary")])
def test_an_earlier_statement_another_scope_and_a_summary_withdraw_nothing(later: dict[str, object]) -> None:
    assert not found(memory(PIN), later)


def test_a_withdrawal_that_fits_many_statements_is_about_none() -> None:
    """With several, the latest is meant."""
    freezes = [memory(f"The freeze of line {n} is strict.", n) for n in range(4)]
    (conflict,) = found(*freezes[:3], memory("The freeze was lifted.", 9))
    assert {conflict.a, conflict.b} == {uid("m2"), uid("m3")}
    assert not found(*freezes, memory("The freeze was lifted.", 9))
    mention = memory("We shipped the lamps before the freeze.", 5)
    assert not found(*freezes[:3], mention, memory("The freeze was lifted.", 9))


def test_a_statement_is_asked_about_with_the_last_of_several_withdrawals() -> None:
    (conflict,) = found(memory(PIN), memory(BACK, 3), memory("We took the pin back.", 5))
    assert {conflict.a, conflict.b} == {uid("m0"), uid("m2")}
