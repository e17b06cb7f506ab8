"""How right bulk drafts are, and the threshold that other sets choose."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import look_decided, worlds
from benchmarks.look_decided import AT, Drafted


def test_the_least_threshold_with_the_precision_is_chosen_and_none_where_none_has_it() -> None:
    first = dict.fromkeys(AT, (99, 100)) | {AT[0]: (90, 100), AT[1]: (195, 200)}
    assert look_decided.chosen([first]) == AT[1]
    assert look_decided.chosen([first, {AT[0]: (0, 0), AT[1]: (0, 90)} | dict.fromkeys(AT[2:], (0, 0))]) == AT[2]
    assert look_decided.chosen([dict.fromkeys(AT, (1, 2))]) is None
    assert look_decided.chosen([]) is None


def test_a_set_is_judged_by_what_the_others_choose() -> None:
    """One on which every threshold is right is read at the one that another set needs."""
    good: dict[float, Drafted] = dict.fromkeys(AT, (10, 10))
    needs = {at: (8, 10) if at < AT[3] else (10, 10) for at in AT}
    rows = look_decided.part({"good": good, "needs": needs}).rows
    assert [row[-1] for row in rows] == [f"10 of 10 at {AT[3]}", f"8 of 10 at {AT[0]}", "18 of 20"]
    assert rows[2][1:-1] == ["18 of 20"] * 3 + ["20 of 20"] * 3


@pytest.mark.slow
def test_a_set_is_reviewed_at_every_threshold(tmp_path: Path) -> None:
    worlds.write(worlds.make("software", 0.2), tmp_path / "world-software.csv")
    found = look_decided.drafted(tmp_path / "world-software.csv", 40, 300)
    assert tuple(found) == AT
    assert all(0 <= right <= drafts for right, drafts in found.values())
    assert found[AT[0]][1] >= found[AT[-1]][1]
