"""Clusters: around cores, strongest first."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.matching.clusters import CORE, QUORUM, ambiguous_rows, grow, once


def never(a: np.ndarray, _: np.ndarray) -> np.ndarray:
    return np.zeros(len(a), bool)


def always(a: np.ndarray, _: np.ndarray) -> np.ndarray:
    return np.ones(len(a), bool)


def test_a_chain_of_two_hundred_near_pairs_never_becomes_one_cluster() -> None:
    """Each link is strong, neighbours of neighbours do not agree: nothing larger than a pair comes out."""
    i = np.arange(199)
    grown = grow(200, i, i + 1, never, lambda a, b: np.abs(a - b) <= 1)
    assert np.bincount(grown.label).max() == 2
    assert grown.joined.sum() + grown.refused.sum() == 199


def test_a_chain_whose_links_reach_further_stays_short() -> None:
    """Even when rows agree with the next five, the core keeps the far ones out."""
    i = np.arange(199)
    grown = grow(200, i, i + 1, never, lambda a, b: np.abs(a - b) <= 5)
    assert np.bincount(grown.label).max() <= 12


def test_everything_that_agrees_becomes_one_cluster() -> None:
    """A star of edges is enough when all pairs hold; every row gets the smallest label."""
    grown = grow(6, np.zeros(4, np.int64), np.array([4, 1, 2, 3]), never, always)
    assert grown.label.tolist() == [0, 0, 0, 0, 0, 5]
    assert grown.joined.all()


def test_one_forbidden_pair_keeps_two_large_clusters_apart() -> None:
    """Law 9: it does not have to be a pair of the cores."""
    i = np.r_[np.arange(19), np.arange(20, 39), 0]
    j = np.r_[np.arange(1, 20), np.arange(21, 40), 20]
    grown = grow(40, i, j, lambda a, b: (a == 19) & (b == 39), always)
    assert sorted(np.unique(grown.label, return_counts=True)[1].tolist()) == [20, 20]
    assert grown.refused.tolist() == [False] * 38 + [True]


def test_a_row_between_two_clusters_is_torn() -> None:
    """Row 2 suits (0, 1) and (3, 4) almost alike, and those two do not agree with each other: nobody can tell where it belongs."""
    i, j = np.array([0, 3, 1, 2]), np.array([1, 4, 2, 3])
    odds = np.array([9.0, 9.0, 6.0, 5.0])
    grown = grow(5, i, j, never, lambda a, b: ~((a < 2) & (b > 2)))
    assert grown.label.tolist() == [0, 0, 0, 3, 3]
    assert ambiguous_rows(grown, i, j, odds, 3.0).tolist() == [False, False, True, False, False]
    assert not ambiguous_rows(grown, i, j, odds, 0.5).any()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_rounds_give_what_one_edge_at_a_time_gives(data: st.DataObject) -> None:
    """Working in rounds is for speed only."""
    n = data.draw(st.integers(2, 12))
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n)]
    edges = data.draw(st.lists(st.sampled_from(pairs), unique=True))
    good = set(edges) | set(data.draw(st.lists(st.sampled_from(pairs))))
    bad = set(data.draw(st.lists(st.sampled_from(pairs), max_size=3))) - set(edges)
    i = np.array([a for a, _ in edges], np.int64)
    j = np.array([b for _, b in edges], np.int64)

    def says(which: set[tuple[int, int]]):
        return lambda a, b: np.array([p in which for p in zip(a.tolist(), b.tolist(), strict=True)], bool)

    grown = grow(n, i, j, says(bad), says(good))

    clusters = [[k] for k in range(n)]
    cores = {k: [k] for k in range(n)}
    refused: set[int] = set()
    for at, (a, b) in enumerate(edges):
        one, other = sorted((next(c for c in clusters if k in c) for k in (a, b)), key=min)
        if one is other or at in refused:
            continue
        across = [(min(p, q), max(p, q)) for p in cores[min(one)] for q in cores[min(other)]]
        agree = sum(p in good for p in across) / len(across) >= QUORUM - 1e-9
        if agree and not any((min(p, q), max(p, q)) in bad for p in one for q in other):
            left, right = cores[min(one)], cores[min(other)]
            turns = [
                ((k + 1) / len(c), side, m)
                for side, (c, r) in enumerate(((one, left), (other, right)))
                for k, m in enumerate(r)
            ]
            cores[min(one)] = [m for _, _, m in sorted(turns, key=lambda t: t[:2])][:CORE]
            clusters.remove(other)
            one += other
        else:
            refused |= {
                e
                for e, (x, y) in enumerate(edges)
                if {x in one, y in one} == {True, False} and (x in other or y in other)
            }
    assert {frozenset(np.flatnonzero(grown.label == k).tolist()) for k in set(grown.label.tolist())} == set(
        map(frozenset, clusters)
    )


def test_groups_that_are_joined_already_grow_as_one() -> None:
    """Rows 1 and 3 are one by an answer, whatever agrees. What may not stand beside either of them stays out."""
    start = np.array([0, 1, 2, 1, 4])
    ends = np.array([1, 3, 3]), np.array([2, 4, 4])
    grown = grow(5, *ends, never, always, start)
    assert grown.label.tolist() == [0, 1, 1, 1, 1]
    grown = grow(5, *ends, lambda a, b: (a == 2) & (b == 3), always, start)
    assert grown.label.tolist() == [0, 1, 2, 1, 1]
    assert grown.refused.tolist() == [True, False, False]
    many = grow(10, np.array([0]), np.array([9]), never, always, np.r_[np.zeros(9, np.int64), 9])
    assert many.label.tolist() == [0] * 10


def test_what_is_not_sure_takes_all_of_three_pairs_across_the_cores() -> None:
    """A cluster of three and a row: two of three pairs are enough for a sure edge, a likely one needs all; a lone pair is never enough."""
    start, ends = np.array([0, 0, 0, 3, 4]), (np.array([0, 3]), np.array([3, 4]))

    def two(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return ~((a == 1) & (b == 3))

    assert grow(5, *ends, never, two, start).label.tolist() == [0, 0, 0, 0, 0]
    assert grow(5, *ends, never, two, start, 3).label.tolist() == [0, 0, 0, 3, 4]
    assert grow(5, *ends, never, always, start, 3).label.tolist() == [0, 0, 0, 0, 0]
    assert grow(5, *ends, never, always, start, 4).label.tolist() == [0, 0, 0, 3, 4]


def test_a_row_that_many_of_its_cluster_suit_is_not_torn_by_one_outside() -> None:
    """Eight rows say where row 0 belongs, one says otherwise with as much weight; of two against one nobody can tell."""
    for own, torn in ((8, False), (1, True)):
        i = np.zeros(own + 1, np.int64)
        j = np.arange(1, own + 2)
        odds = np.full(own + 1, 5.0)
        grown = grow(own + 2, i, j, lambda a, b, last=own + 1: (b == last) & (a > 0), always)
        assert grown.refused.tolist() == [False] * own + [True]
        assert bool(ambiguous_rows(grown, i, j, odds, 2.0)[0]) is torn


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=30), max_size=6), st.integers(0, 40)
)
def test_a_pair_is_asked_about_once_and_answered_the_same(calls: list[list[tuple[int, int]]], most: int) -> None:
    """Also of pairs that stand twice in a call; what there is no room for is asked about again."""
    asked: list[tuple[int, int]] = []

    def near(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        asked.extend(zip(a.tolist(), b.tolist(), strict=True))
        return np.abs(a - b) % 3 == 1

    all_, some = once(near, 20), once(near, 20, most)
    for pairs in calls:
        i, j = (np.array([pair[k] for pair in pairs], np.int64) for k in (0, 1))
        expected = (np.abs(i - j) % 3 == 1).tolist()
        assert all_(i, j).tolist() == expected
        before = len(asked)
        assert some(i, j).tolist() == expected
        del asked[before:]
    assert len(asked) == len(set(asked)) == len({pair for pairs in calls for pair in pairs})
