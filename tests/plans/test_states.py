"""What a plan is called follows from its items: never "approved" when something waits, was done, or was undone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from slowwave.plans.states import STATES, items_text, shown_state

SOON, PAST = datetime.now(UTC) + timedelta(days=1), datetime.now(UTC) - timedelta(days=1)


@pytest.mark.parametrize(
    ("state", "items", "shown"),
    [
        ("awaiting_approval", {"pending": 3}, "awaiting_approval"),
        ("awaiting_approval", {"pending": 1, "rejected": 2}, "awaiting_approval"),
        ("awaiting_approval", {"rejected": 2, "deferred": 1}, "rejected"),
        ("approved", {"approved": 3, "deferred": 1}, "approved"),
        ("approved", {"approved": 10, "pending": 990}, "partly_approved"),
        ("approved", {"approved": 1, "applied": 9}, "approved"),
        ("approved", {"applied": 10, "pending": 990}, "partly_applied"),
        ("approved", {"applied": 10, "rejected": 2, "skipped_stale": 1}, "applied"),
        ("approved", {"skipped_stale": 1}, "applied"),
        ("approved", {"applied": 10, "failed": 1}, "partly_applied"),
        ("approved", {"failed": 2, "skipped_stale": 1}, "failed"),
        ("approved", {"failed": 2, "pending": 1}, "failed"),
        ("approved", {"undone": 10}, "undone"),
        ("approved", {"undone": 10, "skipped_stale": 2, "pending": 1}, "undone"),
        ("approved", {"undone": 1, "applied": 9}, "partly_undone"),
        ("approved", {}, "approved"),
        ("superseded", {"applied": 1, "pending": 2}, "superseded"),
        ("empty", {}, "empty"),
    ],
)
def test_a_plan_is_called_what_it_is(state: str, items: dict[str, int], shown: str) -> None:
    """The ledger's state, told more exactly."""
    assert shown_state(state, items, SOON) == shown
    assert shown in STATES


def test_a_plan_past_its_time_is_expired_before_anybody_marks_it() -> None:
    """As the gate says it."""
    assert shown_state("awaiting_approval", {"pending": 3}, PAST) == "expired"


def test_items_are_told_in_the_order_in_which_they_are_decided() -> None:
    """What waits comes first."""
    assert items_text({"applied": 10, "pending": 990, "failed": 0}) == "990 pending, 10 applied"
    assert (
        items_text({"pending": 229, "deferred": 11}, 26)
        == "203 decided and 26 questions pending, 11 left for a later night"
    )
    assert items_text({"pending": 1}, 1) == "1 question pending"
    assert items_text({}) == items_text(None) == "no items"
