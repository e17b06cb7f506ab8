"""Before and after: what two commits were measured at stands side by side, and only what both have."""

from __future__ import annotations

from importlib.metadata import distributions
from pathlib import Path

from benchmarks.before import _declare_entry_points, parts
from benchmarks.speed import Figures
from benchmarks.steps import Measured


def figures(cpu: float, spent: dict[str, list[float]], *more: str) -> Figures:
    night = Measured(2 * cpu, cpu, 400.0, {"spent": spent})
    return Figures((1_000,), {step: {1_000: night} for step in ("whole night", *more)})


def test_steps_of_both_commits_are_beside_each_other() -> None:
    before = figures(8.0, {"snapshot": [2.0, 1.5], "census": [0.2, 0.1]}, "seal")
    after = figures(2.0, {"snapshot": [1.0, 0.5], "orphans": [0.2, 0.1]}, "simulate")
    steps, night = parts(before, after)
    assert steps.rows == [["whole night", "16.00", "4.00", "8.00", "2.00", "400", "400", "0.25"]]
    assert night.rows == [["snapshot", "1.50", "0.50"], ["census", "0.10", ""], ["orphans", "", "0.10"]]


def test_earlier_checkout_declares_its_own_entry_points(tmp_path: Path) -> None:
    """Processes in the checkout find them before those of the installed version, whose modules it does not have."""
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "slowwave"\n[project.entry-points."slowwave.operations"]\nhabits = "slowwave.habits"\n'
    )
    _declare_entry_points(tmp_path)
    (found,) = distributions(name="slowwave", path=[str(tmp_path)])
    assert [(point.name, point.value) for point in found.entry_points] == [("habits", "slowwave.habits")]
