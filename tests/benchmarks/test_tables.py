"""The tables of the benchmarks: every figure where a reader looks for it, and a verdict for what was expected."""

from __future__ import annotations

from benchmarks.operations import REFERRED, UNAPPLIED, planned
from benchmarks.operations import applied as applied_planners
from benchmarks.speed import PROBES, Figures
from benchmarks.steps import STEPS, Measured
from benchmarks.tables import STEP_BY_STEP, markdown, parts
from slowwave.operations import AUDITS, PLANNERS

SIZES = (10_000, 50_000)


def figures(*, wall: float = 1.0, items: int = 4_000) -> Figures:
    """Figures as a run has them, every step with the same seconds and every apply with the same items."""
    steps = ["fill", "export", "reference: COPY to nowhere", "SQL models", "pagerank", "unchanged night"]
    steps += [f"audit {name}" for name in AUDITS] + [f"planner {name}" for name in PLANNERS]
    steps += [f"probe {name}" for name in PROBES] + ["whole night", "night by default"]
    kinds = (*REFERRED, *applied_planners())
    steps += [f"{what} {kind}" for kind in kinds for what in ("apply", "undo")]
    facts = {
        "planted": {"weak edges": 3_000},
        "counts": {"dedupe_entities": {"merge": 7, "review": 2}},
        "spent": {"snapshot": [2.5, 1.0], "plan": [4.0, 3.5]},
        "items": items,
        "exact": True,
    }
    applied = facts | {"counts": {"applied": items}}
    return Figures(
        SIZES,
        {
            step: {size: Measured(wall, wall, 400.0, dict(applied if "apply" in step else facts)) for size in SIZES}
            for step in steps
        },
        {"cores": "2"},
    )


def test_every_operation_has_a_step_and_every_apply_a_rate() -> None:
    """A new planner is measured without anybody thinking of it."""
    found = {part.title: part for part in parts(figures())}
    steps = {row[0] for row in found["Steps"].rows}
    assert {f"audit {name}" for name in AUDITS} | {f"planner {name}" for name in PLANNERS} <= steps
    rates = {row[0]: row[1:] for row in found["Applies"].rows}
    assert rates["gc_references"] == ["4,000", "4,000", "4,000"] * 2
    assert set(PLANNERS) - set(planned()) <= {*REFERRED, *applied_planners(), *UNAPPLIED}
    assert {"whole_night", "apply", "undo", "probe"} <= set(STEPS)


def test_the_night_is_told_step_by_step() -> None:
    """Where the seconds go, at each size."""
    found = {part.title: part for part in parts(figures())}
    assert found["The night with every operation, step by step"].rows == [
        ["snapshot", "2.50", "1.00", "2.50", "1.00"],
        ["plan", "4.00", "3.50", "4.00", "3.50"],
    ]
    assert "dedupe_entities: 7 merge, 2 review" in found["Steps"].says


def test_khora_stands_beside_what_does_the_same() -> None:
    """Its seconds and ours, ours alone and with the reading that a night does once; no figure where it has none."""
    rows = {row[0]: row for row in next(p for p in parts(figures()) if p.title == "Beside khora").rows}
    assert rows["audit schema_drift"][1:] == ["schema_drift_report", "2.18, 1.00 (3.00)", "25.6, 1.00 (3.00)"]
    assert rows["planner recompute_centroids"][3] == ""
    assert rows["apply gc_references"][3] == "187.4 (14,983 items), 1.00 (4,000 items)"


def test_what_was_expected_is_met_or_not() -> None:
    """Slow applies and slow nights say so in bold."""
    for given, verdict in ((figures(), "met"), (figures(wall=50.0), "**not met**")):
        rows = {row[0]: row for row in parts(given)[-1].rows}
        assert rows["The whole night with every operation: snapshot to sealed plan"][3] == verdict
        assert rows["Rate of apply gc_references"][3] == verdict
        assert not any("with_vectors" in name for name in rows)
    page = markdown(figures())
    assert "Injected defects at 50,000: 3,000 weak edges." in page
    assert STEP_BY_STEP not in page
    assert "## Beside khora" in page
