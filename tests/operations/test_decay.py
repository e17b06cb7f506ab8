"""Decay: how long a stage lasts, from when it counts, and who is exempt."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest

from slowwave.operations.scoring import DAY, multipliers, next_stage, reason, schedule
from slowwave.snapshots.memories import active_memories
from slowwave.snapshots.rows import exemptions
from slowwave.store.settings import Settings
from tests.snapshots import TAKEN_AT, make_snapshot, uid

Row = dict[str, object]
BEGAN = TAKEN_AT - timedelta(days=400)


def due_after(row: Row | None = None, *versions: Row, settings: Settings | None = None) -> float | None:
    """Days from ``BEGAN`` until a memory is due; None for never."""
    memory = {"id": uid("m"), "kind": "semantic", "valid_from": BEGAN, "current_version_id": uid("v"), **(row or {})}
    first = {"id": uid("v"), "memory_id": uid("m"), "content": "x", "recorded_at": BEGAN}
    snapshot = make_snapshot(
        memories=[memory], memory_versions=[first, *({"memory_id": uid("m"), "content": "y", **v} for v in versions)]
    )
    due = int(schedule(snapshot, active_memories(snapshot), settings or Settings()).due[0])
    return None if due == np.iinfo(np.int64).max else (due - int(BEGAN.timestamp() * 1_000_000)) / DAY


def after(days: float) -> datetime:
    return BEGAN + timedelta(days=days)


@pytest.mark.parametrize(("stage", "days"), [("full", 7), ("compressed", 30), ("summary", 90), ("essence", 365)])
def test_days_of_the_stages(stage: str, days: int) -> None:
    """Plugged.in's schedule: 7, 30, 90 and 365 days; a forgotten memory is never due."""
    assert due_after({"stage": stage}) == days
    assert due_after({"stage": "forgotten"}) is None
    assert due_after({"stage": "who knows"}) is None
    assert due_after({"current_version_id": None}) is None


def test_the_golden_value_of_entering_essence() -> None:
    """Reinforced 6 times, read 21 times, success 0.2: 365 × 2 × 3 × 0.5 = 1,095 days."""
    row = {"reinforcement_count": 6, "access_count": 21, "attributes": {"success": 0.2}, "stage": "essence"}
    assert due_after(row) == 1095


@pytest.mark.parametrize(
    ("reinforced", "read", "success", "factor"),
    [
        *((5, 20, 0.3, 1.0), (6, 20, 0.3, 2.0), (5, 21, 0.3, 3.0), (5, 20, 0.29, 0.5)),
        *((6, 21, 0.2, 3.0), (0, 0, float("nan"), 1.0), (6, 21, 0.9, 6.0)),
    ],
)
def test_multipliers(reinforced: int, read: int, success: float, factor: float) -> None:
    """More than 5, more than 20, below 0.3; an unknown success is no failure. Range 0.5 to 6."""
    assert multipliers(np.array([reinforced]), np.array([read]), np.array([success])).tolist() == [factor]


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"pinned": True}, "pinned"),
        ({"attributes": {"shock": True}}, "shock"),
        ({"ring": "shocks"}, "shock"),
        ({"kind": "procedural"}, "procedural"),
        ({"ring": "procedures"}, "procedural"),
    ],
)
def test_pinned_memories_shocks_and_procedures_never_decay(row: Row, why: str) -> None:
    """Plugged.in exempts shocks only; a person's pin and a procedure count as much here."""
    assert due_after(row) is None
    snapshot = make_snapshot(memories=[{"id": uid("m"), "kind": "semantic", **row}])
    assert {k: int(v.sum()) for k, v in exemptions(snapshot).items() if v.any()} == {why: 1}


@pytest.mark.parametrize("shock", [False, 0, "yes", None])
def test_only_true_is_a_shock(shock: object) -> None:
    """An agent's free-form attribute exempts nothing by accident."""
    assert due_after({"attributes": {"shock": shock, "success": "low"}}) == 7


def test_a_stage_begins_with_its_version() -> None:
    """Shortened on day 100, so the next stage comes 30 days later; a corrected date in between moves nothing."""
    told = {"id": uid("c"), "reason": reason("compressed"), "recorded_at": after(100)}
    dated = {"id": uid("d"), "reason": "absolutize_dates", "recorded_at": after(110)}
    assert due_after({"stage": "compressed", "current_version_id": uid("c")}, told) == 130
    assert due_after({"stage": "compressed", "current_version_id": uid("d")}, told, dated) == 130


def test_a_full_memory_counts_from_when_it_was_true_whatever_was_reworded() -> None:
    """Without a start it counts from when it was recorded."""
    dated = {"id": uid("d"), "reason": "absolutize_dates", "recorded_at": after(110)}
    assert due_after({"current_version_id": uid("d")}, dated) == 7
    assert due_after({"valid_from": None, "recorded_at": after(3)}) == 10


def test_consolidated_rows_decay() -> None:
    """Story 9. A summary takes over the earliest start of its sources, and begins to decay when it was written, not before."""
    first = {"id": uid("s"), "reason": "consolidation", "recorded_at": after(50)}
    assert due_after({"kind": "summary", "current_version_id": uid("s")}, first) == 57


def test_days_are_settings_and_a_stage_without_days_lasts() -> None:
    """Zero days switch a stage's end off."""
    settings = Settings(operations={"decay_transition": {"days": {"full": 3, "compressed": 0}}})
    assert due_after(settings=settings) == 3
    assert due_after({"stage": "compressed"}, settings=settings) is None
    assert due_after({"stage": "summary"}, settings=settings) is None


def test_stages_follow_each_other() -> None:
    """The last one is no stage to leave."""
    assert [next_stage(s) for s in ("full", "compressed", "summary", "essence")] == [
        *("compressed", "summary", "essence", "forgotten")
    ]
