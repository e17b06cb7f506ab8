"""Sentences that mention what a later memory says is over: nothing of them ends, and what was told later is known beside them."""

from __future__ import annotations

import pytest

from slowwave.operations.conflicts.find import ended_statements
from slowwave.operations.conflicts.rows import CROWD
from tests.operations.conflicts.test_memories import world
from tests.operations.conflicts.test_news import said

MOVED = "Mara moved from Oslo to Bergen."


def mentioned(*memories: dict[str, object]) -> list[tuple[str, str]]:
    """Sentences that hold, and what was told later."""
    return [(e.sentence, e.said) for e in ended_statements(world(*memories)) if e.holds]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Mara rang me up from Oslo.", MOVED),
        ("It was late. Next week I fly to Oslo to see Mara.", MOVED),
        ("My sister phoned from the train to Oslo.", "My sister left Oslo for good."),
        ("Mara was at the Globex fair all day.", "Mara no longer works for Globex."),
        (
            "The Tuxford sent us the papers for the wedding.",
            "Good news: our wedding is at the Mill now instead of the Tuxford.",
        ),
        ("Bruno fell off his horse at the polo match.", "Bruno gave up polo for chess."),
    ],
)
def test_what_mentions_it_of_the_same_person_or_matter_is_found(earlier: str, later: str) -> None:
    sentence = earlier.removeprefix("It was late. ")
    assert mentioned(said("a", earlier), said("b", later, 9)) == [(sentence, later)]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Jonas rang me up from Oslo.", MOVED),
        ("Mara and Jonas rang me up from Oslo.", MOVED),
        ("The trains to Oslo are late.", MOVED),
        ("Did Mara ring you up from Oslo?", MOVED),
        ("Mara left Oslo for good.", MOVED),
        ("My brother was at the gym.", "I quit the gym."),
        ("The gym smells of paint.", "I quit the gym."),
        ("Mara rang me up from Oslo (told before 2026-02-11).", MOVED),
    ],
)
def test_what_speaks_of_another_or_says_it_itself_is_left(earlier: str, later: str) -> None:
    assert mentioned(said("a", earlier), said("b", later, 9)) == []


def test_what_was_told_since_and_for_others_is_left() -> None:
    """What is told after the change may be so again."""
    rang = "Mara rang me up from Oslo."
    assert mentioned(said("a", rang, 12), said("b", MOVED, 9)) == []
    for more in ({"scope": "two"}, {"author": "ben"}, {"sensitivity": "health"}):
        assert mentioned(said("a", rang), said("b", MOVED, 9, **more)) == [], more
    crowd = [said(f"a{n}", f"Mara rang me up from Oslo on day {n}.") for n in range(CROWD + 1)]
    assert mentioned(*crowd, said("z", MOVED, 9)) == []


def test_an_object_that_is_replaced_is_looked_for_as_well() -> None:
    """The statement that Mara works for Globex now does not name Acme."""
    memories = (
        said("a", "Mara works for Acme."),
        said("b", "Mara was at the Acme fair all day.", 2),
        said("c", "Mara joined Globex.", 9),
    )
    expected = [("Mara was at the Acme fair all day.", "Mara joined Globex.")]
    assert mentioned(*memories) == expected
