"""Policies: what a memory weighs against another; what a plan makes of it is tested with the planner."""

from __future__ import annotations

from datetime import timedelta

import pytest

from slowwave.operations.conflicts.decide import memory_score
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
