"""The audit of relevance: how worth is spread, and its denominators."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta

from slowwave.operations import AUDITS
from slowwave.plans.report import Report
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

relevance = AUDITS["relevance"]

OLD = TAKEN_AT - timedelta(days=400)


def test_numbers_groups_and_plot_agree() -> None:
    """Four old memories and a new one, of which one is pinned; an archived one is not looked at."""
    snapshot = make_snapshot(
        memories=[
            {"id": uid("a"), "kind": "episodic", "valid_from": OLD},
            {"id": uid("b"), "kind": "episodic", "valid_from": OLD, "pinned": True},
            {"id": uid("c"), "kind": "episodic", "valid_from": TAKEN_AT},
            {"id": uid("d"), "kind": "semantic", "ring": "longterm", "valid_from": OLD, "access_count": 2},
            {"id": uid("e"), "kind": "procedural", "valid_from": OLD},
            {"id": uid("f"), "kind": "episodic", "valid_from": OLD, "state": "archived"},
        ]
    )
    report = relevance(make_inputs(snapshot))
    assert report.headline == "2 of 5 active memories are below an effective importance of 0.2; 2 do not fade."
    assert dict(report.numbers) == {
        "active memories": 5,
        "exempt as pinned": 1,
        "exempt as shock": 0,
        "exempt as procedural": 1,
        "exempt as instructions": 0,
        "below the effective importance": 2,
        "below the relevance": 2,
        "never read": 4,
        "without a chance to be recalled": 3,
        "groups": 3,
    }
    assert [f.message for f in report.findings] == [
        "3 of 5 active memories had no chance to be recalled yet: recalls were not logged for 168 hours after they arrived. Their worth is "
        "counted from their dates alone, and `archive_stale` leaves them in recall."
    ]
    assert [(g["kind"], g["ring"], g["memories"], g["exempt"]) for g in report.table] == [
        ("episodic", "working", 3, 1),
        ("procedural", "working", 1, 1),
        ("semantic", "longterm", 1, 0),
    ]
    assert report.table[0]["importance p50"] == 0.5
    (plot,) = report.plots
    assert (sum(plot.values), len(plot.labels), plot.labels[0]) == (5, 10, "0.0 to 0.1")
    assert json.loads(json.dumps(dict(report.details))) == {"groups": list(map(dict, report.table))}


def test_an_empty_namespace_says_how_much_was_looked_at() -> None:
    """A zero with its denominator."""
    report = relevance(make_inputs(make_snapshot()))
    assert report.headline.startswith("0 of 0 active memories")
    assert (report.table, report.plots) == ((), ())


def test_a_hostile_kind_stays_text(rendered: Callable[[Report], str]) -> None:
    """Kinds and rings come from agents."""
    hostile = {"id": uid("x"), "kind": "<b>|![x](http://evil.example/a.png)", "ring": "<img>"}
    html = rendered(relevance(make_inputs(make_snapshot(memories=[hostile]))))
    assert not any(tag in html for tag in ("<b>", "<img"))
