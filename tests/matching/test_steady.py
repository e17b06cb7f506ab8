"""Steady communities: noise moves no boundary, news do, and a second look changes nothing."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from slowwave.matching.graphs import communities, modularity, steady
from tests.matching.planted import planted_partition


def sets(labels: np.ndarray, least: int = 1) -> set[frozenset[int]]:
    found: dict[int, set[int]] = {}
    for node, label in enumerate(labels.tolist()):
        found.setdefault(label, set()).add(node)
    return {frozenset(s) for s in found.values() if len(s) >= least}


def remembered(labels: np.ndarray, least: int) -> np.ndarray:
    """What the next night knows: the communities that are large enough for a summary."""
    sizes = np.bincount(labels)
    return np.where(sizes[labels] >= least, labels, -1)


def cliques(*groups: range) -> tuple[np.ndarray, np.ndarray]:
    pairs = [(a, b) for g in groups for a in g for b in g if a < b]
    return np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])


def test_communities_that_mix_do_not_change_with_a_few_edges() -> None:
    """Leiden alone gives back a few of a hundred; kept are nearly all, at the same modularity."""
    group, a, b = planted_partition(100, 50, 8, 0.3, 1)
    nodes, weight = np.arange(len(group)), np.ones(len(a))
    before = communities(nodes, a, b)
    stays = np.random.default_rng(0).random(len(a)) >= 0.005
    found = communities(nodes, a[stays], b[stays])
    after = steady(found, before, a[stays], b[stays], weight[stays])
    assert len(sets(before, 5) & sets(found, 5)) < len(sets(before, 5)) / 2
    assert len(sets(before, 5) & sets(after, 5)) > len(sets(before, 5)) * 0.9
    gain = modularity(found, a[stays], b[stays], weight[stays]) - modularity(after, a[stays], b[stays], weight[stays])
    assert gain < 0.001


def test_a_new_node_joins_and_a_lost_one_leaves() -> None:
    """A change of members is a change."""
    a, b = cliques(range(6), range(6, 13))
    before = np.array([0] * 6 + [1] * 6 + [-1])
    after = steady(communities(np.arange(13), a, b), before, a, b, np.ones(len(a)))
    assert sets(after) == {frozenset(range(6)), frozenset(range(6, 13))}
    without = (a != 0) & (b != 0)
    after = steady(
        communities(np.arange(13), a[without], b[without]), after, a[without], b[without], np.ones(without.sum())
    )
    assert sets(after) == {frozenset([0]), frozenset(range(1, 6)), frozenset(range(6, 13))}


def test_a_community_that_falls_apart_is_two() -> None:
    """However little modularity gains by it in a large graph: what does not hang together is no community."""
    groups = [range(n, n + 12) for n in range(0, 2_400, 12)]
    a, b = cliques(range(6), range(6, 12), *groups[1:])
    before = np.repeat(np.arange(200), 12)
    after = steady(communities(np.arange(2_400), a, b), before, a, b, np.ones(len(a)), least=5)
    assert {frozenset(range(6)), frozenset(range(6, 12))} <= sets(after)
    assert len(sets(after)) == 201


def test_a_better_boundary_moves() -> None:
    """Somebody who left for the other group, and two groups that became one."""
    a, b = cliques(range(6), range(6, 12))
    wrong = np.array([0] * 5 + [1] * 7)
    assert (
        len(sets(steady(communities(np.arange(12), a, b), wrong, a, b, np.ones(len(a)))) & {frozenset(range(6))}) == 1
    )
    a, b = cliques(range(12), range(12, 24))
    parts = np.repeat([0, 1, 2, 3], 6)
    assert len(sets(steady(communities(np.arange(24), a, b), parts, a, b, np.ones(len(a))))) == 2


@given(st.integers(0, 10**6), st.integers(2, 6), st.floats(0, 0.6))
def test_a_second_look_changes_nothing(seed: int, least: int, mixing: float) -> None:
    """Whatever came before, and though small communities are forgotten in between."""
    generator = np.random.default_rng(seed)
    group, a, b = planted_partition(8, 6, 4, mixing, seed)
    n, weight = len(group) + 3, generator.random(len(a)).round(1)
    found = communities(np.arange(n), a, b, weight)
    before = np.where(generator.random(n) < 0.3, generator.integers(-1, 6, n), np.concatenate([group, [-1] * 3]))
    first = steady(found, before, a, b, weight, least=least)
    second = steady(found, remembered(first, least), a, b, weight, least=least)
    assert sets(first, least) == sets(second, least)
    assert sets(first) == sets(second)


def test_a_first_night_has_nothing_to_keep() -> None:
    """And an empty graph neither."""
    found = np.array([3, 3, 1, 0])
    none = np.empty(0, np.int64)
    assert steady(found, np.full(4, -1), none, none, np.empty(0)).tolist() == [0, 0, 1, 2]
    assert steady(none, none, none, none, np.empty(0)).shape == (0,)
