"""Policies: what a memory weighs against another; what a plan makes of it is tested with the planner."""

from __future__ import annotations

from datetime import timedelta

import pytest

from slowwave.operations.conflicts.decide import ConflictRows, decide, memory_score, why_this_side
from slowwave.plans.questions import Conflict
from tests.snapshots import TAKEN_AT


def test_memories_score_as_mnemo_says() -> None:
    """0.3 reliability + 0.2 recency + 0.2 reads + 0.2 importance + 0.1 similarity, with a half-life of a week."""
    row = {"source": "tool", "valid_from": TAKEN_AT, "recorded_at": TAKEN_AT, "access_count": 5, "importance": 0.5}
    assert memory_score(row, 10, 0.9, TAKEN_AT) == pytest.approx(0.27 + 0.2 + 0.1 + 0.1 + 0.09)
    aged = row | {"source": "import", "valid_from": TAKEN_AT - timedelta(days=7), "access_count": 0}
    assert memory_score(aged, 0, 0.0, TAKEN_AT) == pytest.approx(0.09 + 0.1 + 0.0 + 0.1)
    assert memory_score(row | {"source": "?", "valid_from": None}, 5, 1.0, TAKEN_AT) == pytest.approx(
        0.15 + 0.2 + 0.2 + 0.2
    )


def sides_of(first: dict[str, object], second: dict[str, object]) -> tuple[Conflict, ConflictRows]:
    """Two memories in conflict, with the columns that policies read."""
    shared = {
        **{"source": "import", "valid_from": None, "recorded_at": TAKEN_AT, "access_count": 0, "importance": 0.5},
        **{"pinned": False, "visibility": "public", "sensitivity": "normal"},
    }
    rows = {("memories", id_): {**shared, **row} for id_, row in (("1", first), ("2", second))}
    conflict = Conflict("memories", "1", "2", "object", "s", {"similarity": 0.9, "rule": "texts"})
    return conflict, ConflictRows(rows, {}, {}, TAKEN_AT, (), 0.0)


@pytest.mark.parametrize(
    ("first", "second", "winner", "side"),
    [
        (
            {"text": "We deploy on Tuesdays."},
            {"text": "We deploy on Thursdays now, no longer on Tuesdays."},
            "b",
            "something has changed",
        ),
        (
            {"text": "The office closes at 19:00 since September."},
            {"text": "The office closes at 18:00."},
            "a",
            "something has changed",
        ),
        (
            {"text": "Diesel is bought from Silo."},
            {"text": "Diesel is no longer bought from Silo."},
            "b",
            "something has changed",
        ),
        (
            {"text": "Kite ships in April."},
            {"text": "Kite ships in June."},
            "a",
            "nothing says which of the two is later",
        ),
        (
            {"text": "Kite ships in April.", "valid_from": TAKEN_AT - timedelta(days=3)},
            {"text": "Kite ships in June now.", "valid_from": TAKEN_AT - timedelta(days=9)},
            "a",
            f"because it is true since {TAKEN_AT - timedelta(days=3):%Y-%m-%d}, the other",
        ),
        (
            {"text": "Kite ships in April.", "valid_from": TAKEN_AT - timedelta(days=3)},
            {"text": "Kite ships in June.", "valid_from": TAKEN_AT - timedelta(days=9), "pinned": True},
            "b",
            "because it is pinned",
        ),
        (
            {"text": "Kite ships in April.", "valid_from": TAKEN_AT - timedelta(days=9), "importance": 1.0},
            {"text": "Kite ships in June.", "valid_from": TAKEN_AT - timedelta(days=3)},
            "a",
            "because the evidence for it is stronger, although it is older",
        ),
    ],
    ids=["now and no longer", "since", "no longer", "no dates", "dates before words", "pinned", "older and weightier"],
)
def test_side_that_stays_follows_dates_then_words_of_change_and_says_why(
    first: dict[str, object], second: dict[str, object], winner: str, side: str
) -> None:
    conflict, sides = sides_of(first, second)
    decision = decide("evidence_weighted", conflict, sides)
    assert (decision.winner, decision.sure) == (winner, False)
    assert side in why_this_side(conflict, decision, sides)
