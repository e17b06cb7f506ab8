"""Pairs of memories at any time: copies behind their leader, texts of the same figures, and the nearest only where too many are near."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from slowwave.operations.planners import dedupe_memories
from slowwave.operations.planners import dedupe_memories as memory_pairs
from slowwave.operations.planners.dedupe_memories import at_any_time
from slowwave.text.forms import figures_of
from tests.snapshots import make_snapshot, uid


def pairs(
    texts: Sequence[str], degrees: Sequence[float], threshold: float = 0.9
) -> tuple[set[tuple[int, int]], dict[str, int]]:
    """Who may take whom; the rank is the place."""
    table = make_snapshot(memories=[{"id": uid(k), "kind": "semantic"} for k in range(len(texts))]).table("memories")
    angles = np.radians(np.asarray(degrees, float))
    matrix = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    n = np.arange(len(texts))
    numbers: dict[str, int] = {}
    i, j, cosine = at_any_time(table, texts, n, matrix, n, threshold, numbers)
    found = list(zip(i.tolist(), j.tolist(), strict=True))
    assert len(found) == len(set(found))
    assert (cosine >= min(threshold, math.cos(math.radians(26)))).all()
    return set(found), numbers


def test_copies_follow_their_leader_to_whatever_it_is_near() -> None:
    """1 and 3 say what 0 says, 2 is near it: each leader may take the other with all its copies, and no copy takes anybody."""
    found, numbers = pairs(["tea is hot", "Tea is hot.", "the tea is hot", "tea is hot!"], [0, 90, 10, 180])
    assert found == {(0, 1), (0, 3), (0, 2), (2, 0), (2, 1), (2, 3)}
    assert (numbers["copies"], numbers["near pairs"]) == (2, 1)


def test_other_figures_are_another_block() -> None:
    """However near: a template with ten thousand numbers is no crowd."""
    assert pairs([f"order {k} was sent" for k in range(50)], [0] * 50)[0] == set()


def test_a_text_of_one_long_word_is_read_once() -> None:
    """Tried from each of its letters, one of 100,000 held a night up for half a minute, and this one would for a day."""
    assert figures_of("x" * 5_000_000) == ""
    assert figures_of("1" * 5_000_000).count("1") == 5_000_000


@pytest.mark.parametrize("few", [dedupe_memories.FEW, -1])
def test_a_crowded_block_keeps_the_nearest(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred texts within 10°: all pairs, or the nearest of each, which the numbers tell."""
    monkeypatch.setattr(memory_pairs, "FEW", few)
    texts = [f"{'abcdefghij'[k // 10]}{'abcdefghij'[k % 10]} tea" for k in range(100)]
    found, numbers = pairs(texts, np.linspace(0, 10, 100).tolist())
    assert numbers["blocks with the nearest only"] == (few < 0)
    assert len(found) == 9_900 if few > 0 else 100 * dedupe_memories.NEAREST <= len(found) < 9_900
