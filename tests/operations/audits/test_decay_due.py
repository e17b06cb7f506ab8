"""Decay due: how many memories leave their stage tonight, and soon."""

from __future__ import annotations

from datetime import timedelta

from slowwave.operations import AUDITS
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

decay_due = AUDITS["decay_due"]

Row = dict[str, object]


def memory(name: str, days: float, **more: object) -> Row:
    row = {"id": uid(name), "kind": "semantic", "valid_from": TAKEN_AT - timedelta(days=days)}
    return {**row, "current_version_id": uid(f"text of {name}"), **more}


def test_due_now_and_soon_by_stage() -> None:
    """Seven days for a full text; one of five days is due within a week, one of a minute within a month."""
    snapshot = make_snapshot(
        memories=[
            *(memory("old", 7), memory("young", 5), memory("new", 0.001), memory("pin", 99, pinned=True)),
            memory("essence", 99, stage="essence", recorded_at=TAKEN_AT - timedelta(days=400)),
            memory("gone", 99, state="archived"),
        ]
    )
    report = decay_due(make_inputs(snapshot))
    expected = {
        **{"live memories": 5, "pinned": 1, "full due": 1, "essence due": 1, "due": 2},
        **{"due within 7 days": 4, "due within 30 days": 4, "tokens of those due": 0},
    }
    assert {k: report.numbers[k] for k in expected} == expected
    assert report.headline == "2 of 5 live memories are due for their next stage."
    assert [row["stage"] for row in report.table] == ["full", "essence"]
    (plot,) = report.plots
    assert (list(plot.labels), list(plot.values)) == (["full → compressed", "essence → forgotten"], [1.0, 1.0])
    assert "1 pinned" in report.findings[0].message


def test_a_night_without_any_says_when_the_first_comes() -> None:
    """A zero with its denominator and the days that are left."""
    report = decay_due(make_inputs(make_snapshot(memories=[memory("young", 5.5)])))
    assert report.headline == "0 of 1 live memories are due for their next stage; the first will be in 2 days."
    assert report.plots == ()
    assert decay_due(make_inputs(make_snapshot())).headline == "0 of 0 live memories are due for their next stage."
