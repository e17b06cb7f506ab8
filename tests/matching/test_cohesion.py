"""Cohesive groups: every two members are near, chains do not carry, and no group grows beyond its size."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.matching.match import cohesive_groups


def groups(degrees: list[float], floor: float, most: int = 50) -> list[list[int]]:
    """Rows that point into these directions, and all of their pairs from the floor up."""
    matrix = np.array([(math.cos(math.radians(d)), math.sin(math.radians(d))) for d in degrees], np.float32)
    cosine = matrix @ matrix.T
    i, j = np.nonzero(np.triu(cosine >= floor, 1))
    return cohesive_groups(matrix, i, j, cosine[i, j], floor, most)


def test_a_chain_is_no_group() -> None:
    """a~b~c with a≁c: the nearer two go together, the third stays alone (Plugged.in's union-find takes all)."""
    assert groups([0, 20, 45], floor=0.9) == [[0, 1]]
    assert groups([0, 10, 20], floor=0.9) == [[0, 1, 2]]


def test_groups_join_only_as_wholes() -> None:
    """Two tight pairs whose far ends are too far apart stay two."""
    assert groups([0, 5, 22, 27], floor=0.9) == [[0, 1], [2, 3]]


def test_no_group_is_larger_than_asked() -> None:
    """A crowd of equals is cut into groups."""
    found = groups([0.0] * 7, floor=0.9, most=3)
    assert [len(g) for g in found] == [3, 3]


def test_pairs_need_not_be_complete() -> None:
    """What nearest neighbours leave out is looked up."""
    matrix = np.eye(2, dtype=np.float32)[[0, 0, 0, 1]]
    i, j = np.array([0, 1]), np.array([1, 2])
    assert cohesive_groups(matrix, i, j, np.ones(2, np.float32), 0.9) == [[0, 1, 2]]
    assert cohesive_groups(matrix, i[:0], j[:0], np.empty(0, np.float32), 0.9) == []


@given(st.lists(st.floats(0, 90), min_size=1, max_size=25), st.floats(0.7, 0.99))
def test_every_two_members_have_the_floor_and_nobody_stands_twice(degrees: list[float], floor: float) -> None:
    """Whatever the rows."""
    found = groups(degrees, floor)
    members = [m for g in found for m in g]
    assert len(members) == len(set(members))
    for group in found:
        assert len(group) > 1
        for a in group:
            for b in group:
                assert math.cos(math.radians(degrees[a] - degrees[b])) >= floor - 1e-5


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_pairs_does_not_matter(seed: int) -> None:
    """So that a night can be replayed."""
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(30, 4)).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    cosine = matrix @ matrix.T
    i, j = np.nonzero(np.triu(cosine >= 0.7, 1))
    mixed = rng.permutation(len(i))
    assert cohesive_groups(matrix, i, j, cosine[i, j], 0.7) == cohesive_groups(
        matrix, i[mixed], j[mixed], cosine[i, j][mixed], 0.7
    )
