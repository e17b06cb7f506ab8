"""Memories that say what is over, and the earlier ones that end with it."""

from __future__ import annotations

import pytest

from slowwave.operations.conflicts.endings import ending_conflicts
from slowwave.operations.conflicts.rows import CROWD, Tally
from slowwave.plans.questions import Conflict
from tests.operations.conflicts.test_memories import world
from tests.operations.conflicts.test_news import decided, said
from tests.snapshots import uid

HAD, SOLD = "I drive a Fiat Panda.", "I sold the Fiat Panda and bought a Kia Niro."


def ended(*memories: dict[str, object]) -> list[Conflict]:
    return list(ending_conflicts(world(*memories), Tally()))


@pytest.mark.usefixtures("every_rule_decides")
def test_what_is_over_ends_the_statements_before_it() -> None:
    """All of them, in whatever words and kinds; what came after stands."""
    earlier = (said("a", HAD), said("b", "My car is a Fiat Panda.", 3, kind="semantic"))
    found = ended(*earlier, said("c", SOLD, 9), said("d", "I drive a Fiat Panda again.", 12))
    assert {frozenset((c.a, c.b)) for c in found} == {frozenset((uid(e), uid("c"))) for e in "ab"}
    assert [(winner, d.sure) for winner, d in decided(*earlier, said("c", SOLD, 9))] == [(uid("c"), True)] * 2


def test_what_is_said_again_afterwards_holds() -> None:
    """A statement that several memories make counts with the last of them."""
    assert ended(said("a", HAD), said("c", SOLD, 9), said("d", HAD, 12)) == []


def test_a_value_with_marks_within_is_found() -> None:
    """A time of day is looked up by a part of it."""
    (conflict,) = ended(said("a", "My alarm rings at 6:15."), said("b", "My alarm rings at 7:05 now, not at 6:15.", 5))
    assert {conflict.a, conflict.b} == {uid("a"), uid("b")}


def test_only_of_one_scope_and_author_and_not_of_programs() -> None:
    """Another user's car, and what a program says of itself."""
    assert ended(said("a", HAD, author="ann"), said("b", SOLD, 5, author="ben")) == []
    assert ended(said("a", HAD, scope="one"), said("b", SOLD, 5, scope="two")) == []
    assert ended(said("a", HAD, author="assistant"), said("b", SOLD, 5, author="assistant")) == []
    assert len(ended(said("a", HAD, author="ann"), said("b", SOLD, 5, author="ann"))) == 1


def test_a_value_of_a_crowd_is_no_case() -> None:
    """A log names one thing in every line."""
    lines = [said(f"log {n}", f"I drive a Fiat Panda with the number {n}.") for n in range(CROWD + 1)]
    assert len(ended(*lines[1:], said("z", SOLD, 5))) == CROWD
    assert ended(*lines, said("z", SOLD, 5)) == []


def test_what_is_looked_at_is_counted() -> None:
    """Nothing is over where nobody says so."""
    tally = Tally()
    assert ending_conflicts(world(said("a", HAD)), tally) == []
    assert tally.numbers == {"values that are over": 0}


def test_what_is_over_for_one_thing_ends_nothing_of_another() -> None:
    """Both name the value and the region, but the later one is about another service."""
    region = said("a", "The hosting region of the mail relay is Montreal.", kind="semantic")
    assert ended(region, said("b", "The mail relay is no longer hosted in Montreal.", 5, kind="semantic"))
    assert not ended(region, said("b", "The export worker is no longer hosted in Montreal.", 5, kind="semantic"))
