"""The benchmark of answers end to end on a small world: asked, learnt, counted, shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import answers, worlds
from benchmarks.quality import Counted

pytestmark = pytest.mark.slow


def test_answers_are_asked_of_the_gold_and_merges_counted(tmp_path: Path) -> None:
    """A hundred and sixty restaurants: twenty answers bring the balance over that of the cosine, and the tables say so."""
    worlds.write(worlds.make("restaurants", 0.4), tmp_path / "world-restaurants.csv")
    found = answers.simulate(tmp_path / "world-restaurants.csv", (0, 20))
    before, after = found.merges["f1"]
    assert (before.f1 or 0) < found.reference < (after.f1 or 0)
    assert 0 < found.yes < 1
    best, sure, asking = answers.parts([found])
    assert best.rows[0][0] == "world-restaurants *"
    assert "**" not in best.rows[0][2]
    assert "**" in best.rows[0][3]
    assert len(sure.rows[0]) == 4
    assert sure.rows[0][2].startswith("1 / ")
    assert asking.rows[0][1] == f"{found.yes:.2f}"


def test_nothing_merged_is_shown_as_such() -> None:
    made = answers.Simulated("x", {"f1": [Counted(0, 0, 5)], "precision": [Counted(0, 0, 5)]}, 0.5, 0.0, 0.0, 0.0)
    assert answers.parts([made])[0].rows == [["x", ".500", "– / .000 / .000"]]
