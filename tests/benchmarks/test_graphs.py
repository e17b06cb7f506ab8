"""The benchmark of graphs: what it plants is there, what it counts is right, and its page says what is missing."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.graphs import EDGES, GROUP, MIXING, Case, Figures, adjusted_rand, markdown, planted


def test_the_planted_graph_is_what_the_page_says() -> None:
    """Five edges a node, a fifth of them anywhere, the same every time."""
    group, source, target = planted(4_000)
    assert (len(group), len(source)) == (4_000, EDGES * 4_000)
    assert np.bincount(group).mean() == GROUP
    assert np.mean(group[source] == group[target]) == pytest.approx(1 - MIXING, abs=0.02)
    np.testing.assert_array_equal(planted(4_000)[2], target)


def test_adjusted_rand_of_known_partitions() -> None:
    """Equal but for the names of labels, half apart (counted by hand), unrelated."""
    a = np.array([0, 0, 0, 1, 1, 1])
    assert adjusted_rand(a, 1 - a) == 1.0
    assert adjusted_rand(a, np.array([0, 0, 1, 1, 2, 2])) == pytest.approx((2 - 1.2) / (4.5 - 1.2))
    random = np.random.default_rng(0)
    assert abs(adjusted_rand(random.integers(0, 9, 5_000), random.integers(0, 9, 5_000))) < 0.01


def test_the_page_tells_what_was_met_and_what_was_not() -> None:
    """A figure that misses its goal is not left out."""
    plain = {"wall": 2.0, "cpu": 2.5, "start_mb": 100.0, "peak_mb": 200.0}
    slow = plain | {"wall": 99.0, "cpu": 41.0}
    cases = (
        Case(1_000_000, 5_000_000, "PageRank", "integers", **plain, difference=1e-9),
        Case(1_000_000, 5_000_000, "communities", "integers", **slow, quality=0.8, agreement=0.5),
    )
    page = markdown(Figures(cases, {1_000_000: 0.79}, {"cores": "2"}))
    assert "| PageRank: a million nodes, five million edges | under 3 s | 2.0 s (2.5 s CPU) | met |" in page
    assert (
        "| communities: a million nodes, five million edges | under 40 s | 99.0 s (41.0 s CPU) | **not met** |" in page
    )
