"""Conflicts of denials and preferences: of one speaker, one question for each, and never decided alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

import pytest

from slowwave.operations.conflicts.decide import decide, read_sides
from slowwave.operations.conflicts.denials import opposed_conflicts
from slowwave.operations.conflicts.find import ended_statements, find_conflicts
from slowwave.operations.conflicts.rows import Tally
from slowwave.operations.planners.mark_ended_statements import mark_ended_statements
from slowwave.operations.planners.resolve_conflicts import resolve_conflicts
from slowwave.plans.items import Decision
from slowwave.plans.questions import Conflict
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings
from tests.operations.conflicts.test_frames import memory as plain_memory
from tests.operations.conflicts.test_frames import world
from tests.snapshots import TAKEN_AT, make_inputs, uid

NEVER, DONE = "I have never visited the old mill.", "I visited the old mill in May, so when is it open?"


def memory(text: str, day: int = 0, **more: object) -> dict[str, object]:
    return plain_memory(text, day, **{"author": "user", "kind": "episodic", **more})


def found(*memories: dict[str, object]) -> Sequence[Conflict]:
    return opposed_conflicts(world(*memories), Tally())


@pytest.mark.parametrize(("one", "other"), [(NEVER, DONE), (DONE, NEVER)])
def test_a_denial_is_asked_about_whichever_came_first(one: str, other: str) -> None:
    (conflict,) = found(memory(one), memory(other, 3), memory("I fed the cat."))
    assert {conflict.a, conflict.b} == {uid("m0"), uid("m1")}
    assert (conflict.reason, conflict.doubtful, conflict.pattern) == ("polarity", True, "memories: denial")


def test_a_denial_is_asked_about_once_with_the_clause_that_has_most_of_its_words() -> None:
    near = "I visited the mill of my uncle."
    (conflict,) = found(memory(NEVER), memory(near, 1), memory(DONE, 2), memory("I like the old mill.", 3))
    assert {conflict.a, conflict.b} == {uid("m0"), uid("m2")}


def test_a_word_of_many_texts_weighs_less_than_a_rare_one() -> None:
    """With equal weights the clause would have two of three words; the rare one is missing."""
    often = [memory(f"I checked the gate in yard {n}.", n % 9) for n in range(90)]
    assert not found(memory("I have never painted the gate of the yard."), *often)
    assert found(memory("I have never painted the gate of the yard."), memory("I painted the gate.", 2), *often)


def test_a_preference_that_turned_round_is_asked_about() -> None:
    (conflict,) = found(
        memory("The user likes rowing.", author="agent"), memory("I hate rowing, what else is there?", 3)
    )
    assert (conflict.reason, conflict.doubtful, conflict.pattern) == ("polarity", True, "memories: preference")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I hate camping.", "I love camping in the mountains."),
        ("I love tea.", "I can't stand green tea."),
        ("I love working from home.", "I don't enjoy working from home, so which office is near?"),
    ],
)
def test_an_object_that_contains_the_other_is_asked_about(one: str, other: str) -> None:
    assert found(memory(one), memory(other, 3))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I like tea.", "I hate coffee."),
        ("I like green tea.", "I hate black tea."),
        ("I like apples.", "I hate apple pie."),
        ("I like tea.", "I love tea."),
        ("The user likes tea.", "Mara hates tea."),
        ("I like coffee.", "I hate coffee with milk."),
    ],
)
def test_other_objects_and_holders_are_no_conflict(one: str, other: str) -> None:
    assert not found(memory(one), memory(other, 3))


@pytest.mark.parametrize("more", [{"author": "Mara"}, {"author": "assistant"}, {"scope": "work"}])
@pytest.mark.parametrize(("one", "other"), [(NEVER, DONE), ("I like tea.", "I hate tea.")])
def test_other_speakers_and_scopes_are_not_compared(more: dict[str, object], one: str, other: str) -> None:
    assert found(memory(one), memory(other, 3))
    assert not found(memory(one), memory(other, 3, **more))


@pytest.mark.parametrize("importance", [0.1, 0.8])
@pytest.mark.parametrize("policy", ["evidence_weighted", "keep_newest"])
@pytest.mark.parametrize(("one", "other"), [(NEVER, DONE), ("I like tea.", "I hate tea.")])
def test_nothing_decides_such_a_conflict_alone(importance: float, policy: str, one: str, other: str) -> None:
    snapshot = world(memory(one, importance=importance), memory(other, 3, importance=importance))
    (conflict,) = find_conflicts(snapshot, Settings()).conflicts
    limit = Settings(operations={"resolve_conflicts": {"low_importance": 0.3}})
    assert not decide(policy, conflict, read_sides(snapshot, [conflict], limit)).sure


def test_the_planner_asks_about_it() -> None:
    (item,) = resolve_conflicts(make_inputs(world(memory(NEVER), memory(DONE, 3)))).items
    assert (item.decision, item.evidence["reason"]) == (Decision.REVIEW, "polarity")


LONG = f"The gate is red. {NEVER} What is in it?"


def marks(snapshot: Snapshot) -> list[Mapping[str, object]]:
    proposal = mark_ended_statements(make_inputs(snapshot))
    assert all(item.decision == Decision.REVIEW for item in proposal.items)
    return [item.evidence for item in proposal.items]


def test_a_memory_that_states_something_else_keeps_it_and_gets_a_note() -> None:
    snapshot = world(memory(LONG), memory(DONE, 3))
    assert not find_conflicts(snapshot, Settings()).conflicts
    (evidence,) = marks(snapshot)
    assert str(evidence["after"]).startswith(f"The gate is red. {NEVER[:-1]} (")
    assert "What is in it?" in str(evidence["after"])


def test_a_sentence_with_such_a_note_is_left_alone() -> None:
    noted = LONG.replace("mill.", "mill (later, on 2025-12-04: “I visited the old mill in May”).")
    assert not ended_statements(world(memory(noted), memory(DONE, 3)))


def test_statements_that_held_one_after_the_other_are_no_conflict() -> None:
    until = TAKEN_AT + timedelta(days=5)
    assert found(memory(NEVER, valid_to=until), memory(DONE, 60))
    assert not found(memory(NEVER, valid_to=until), memory(DONE, 60, valid_from=until))


@pytest.mark.parametrize(("one", "other"), [(NEVER, DONE), ("I like tea.", "I hate tea.")])
def test_the_first_person_of_a_program_is_nobody(one: str, other: str) -> None:
    assert not found(memory(one, author="assistant"), memory(other, 3, author="assistant"))


def test_summaries_are_not_compared() -> None:
    assert not found(memory(NEVER), memory(DONE, 3, kind="summary"))
