"""Clusters: complete linkage, strongest first."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.matching.clusters import grow


def test_a_chain_of_two_hundred_near_pairs_never_becomes_one_cluster() -> None:
    """Each link is strong, neighbours of neighbours do not agree: nothing larger than a pair comes out."""
    i = np.arange(199)
    grown = grow(200, i, i + 1, lambda a, b: np.abs(a - b) <= 1)
    assert np.bincount(grown.label).max() == 2
    assert grown.joined.sum() + grown.refused.sum() == 199


def test_everything_that_agrees_becomes_one_cluster() -> None:
    """A star of edges is enough when all pairs hold; every row gets the smallest label."""
    grown = grow(6, np.zeros(4, np.int64), np.array([4, 1, 2, 3]), lambda a, _: np.ones(len(a), bool))
    assert grown.label.tolist() == [0, 0, 0, 0, 0, 5]
    assert grown.joined.all()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_rounds_give_what_one_edge_at_a_time_gives(data: st.DataObject) -> None:
    """Working in rounds is for speed only."""
    n = data.draw(st.integers(2, 12))
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n)]
    edges = data.draw(st.lists(st.sampled_from(pairs), unique=True))
    good = set(edges) | set(data.draw(st.lists(st.sampled_from(pairs))))
    i = np.array([a for a, _ in edges], np.int64)
    j = np.array([b for _, b in edges], np.int64)
    grown = grow(n, i, j, lambda a, b: np.array([p in good for p in zip(a.tolist(), b.tolist(), strict=True)], bool))

    clusters = [{k} for k in range(n)]
    for a, b in edges:
        one, other = (next(c for c in clusters if k in c) for k in (a, b))
        if one is not other and all((min(p, q), max(p, q)) in good for p in one for q in other):
            clusters.remove(other)
            one |= other
    assert {frozenset(np.flatnonzero(grown.label == k).tolist()) for k in set(grown.label.tolist())} == set(
        map(frozenset, clusters)
    )
