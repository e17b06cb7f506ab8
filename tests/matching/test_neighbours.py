"""Neighbours: the same as sorting all cosines, whichever way they are found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.matching import vectors as module
from slowwave.matching.vectors import neighbours, neighbours_within, pairs_of


def reference(matrix: np.ndarray, k: int, floor: float) -> list[tuple[int, int]]:
    """All cosines, sorted: nearest first, of equals (to 1e-5) the smaller row."""
    with np.errstate(all="ignore"):
        units = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    products = np.nan_to_num(units @ units.T, nan=-2.0)
    found: list[tuple[int, int]] = []
    for i, row in enumerate(products):
        steps = np.rint(row * np.float32(1e5)).astype(int)
        order = sorted((j for j in range(len(row)) if j != i and row[j] >= floor), key=lambda j: (-steps[j], j))
        found += [(i, j) for j in order[:k]]
    return found


@pytest.fixture(params=["few", "many"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of finding them, with tiles small enough to have several."""
    if request.param == "many":
        monkeypatch.setattr(module, "FEW", -1)
        monkeypatch.setattr(module, "_HEIGHT_NEIGHBOURS", 16)
        monkeypatch.setattr(module, "_WIDTH_NEIGHBOURS", 24)
    return str(request.param)


@pytest.mark.parametrize("workers", [1, 3])
def test_neighbours_are_those_of_all_cosines(way: str, workers: int) -> None:
    """Exact, nearest first, with real similarities; the number of workers changes nothing."""
    rng = np.random.default_rng(5)
    matrix = (rng.standard_normal((120, 16)) + 1.2).astype(np.float32)
    i, j, cosine = neighbours(matrix, 3, 0.6, workers=workers)
    assert list(zip(i.tolist(), j.tolist(), strict=True)) == reference(matrix, 3, 0.6)
    units = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    assert np.allclose(cosine, (units[i] * units[j]).sum(axis=1), atol=1e-6)


def test_copies_go_by_their_place(way: str) -> None:
    """Of a hundred equal rows each has the first others as neighbours, whatever tile they lie in."""
    i, j, cosine = neighbours(np.ones((100, 4), np.float32), 2, 0.9)
    assert j.reshape(-1, 2).tolist() == [[1, 2], [0, 2], *([[0, 1]] * 98)]
    assert np.allclose(cosine, 1)
    assert len(np.unique(i)) == 100


def test_rows_without_direction_have_none(way: str) -> None:
    """Zero and not finite; and ``rows`` confines the search, with places in it."""
    matrix = np.array([[1, 0], [0, 0], [1, 0.1], [np.nan, 1], [1, 0.2]], np.float32)
    i, j, _ = neighbours(matrix, 1, 0.5)
    assert list(zip(i.tolist(), j.tolist(), strict=True)) == [(0, 2), (2, 4), (4, 2)]
    i, j, _ = neighbours(matrix, 1, 0.5, np.array([4, 3, 0]))
    assert list(zip(i.tolist(), j.tolist(), strict=True)) == [(0, 2), (2, 0)]


def test_nothing_has_no_neighbours() -> None:
    """No rows, no columns, none wanted."""
    for matrix, k in ((np.empty((0, 0), np.float32), 3), (np.empty((0, 8), np.float32), 3), (np.ones((3, 2)), 0)):
        assert [len(c) for c in neighbours(matrix, k, 0.5)] == [0, 0, 0]


@settings(max_examples=40, deadline=None)
@given(
    st.integers(2, 60), st.integers(1, 6), st.sampled_from([0.1, 0.5, 0.75, 0.95]), st.integers(0, 99), st.floats(0, 3)
)
def test_both_ways_give_one_answer(n: int, k: int, floor: float, seed: int, shift: float) -> None:
    """Few near pairs or many: the same rows."""
    matrix = (np.random.default_rng(seed).standard_normal((n, 6)) + shift).astype(np.float32)
    few, tile = module.FEW, (module._HEIGHT_NEIGHBOURS, module._WIDTH_NEIGHBOURS)
    one = neighbours(matrix, k, floor)
    try:
        module.FEW, module._HEIGHT_NEIGHBOURS, module._WIDTH_NEIGHBOURS = -1, 8, 16  # type: ignore[misc]
        other = neighbours(matrix, k, floor)
    finally:
        module.FEW, (module._HEIGHT_NEIGHBOURS, module._WIDTH_NEIGHBOURS) = few, tile  # type: ignore[misc]
    assert np.array_equal(one[0], other[0])
    assert np.allclose(one[2], other[2], atol=2e-5)


def test_pairs_stand_once() -> None:
    """A pair that comes from both its ends is one."""
    i, j, cosine = pairs_of(np.array([2, 0, 1]), np.array([0, 2, 0]), np.array([0.9, 0.9, 0.8], np.float32))
    assert (i.tolist(), j.tolist(), cosine.round(1).tolist()) == ([0, 0], [1, 2], [np.float32(0.8), np.float32(0.9)])


@pytest.mark.parametrize(("small", "held"), [(1_024, 8_192), (9, 30), (0, 1)], ids=["one product", "parts", "searches"])
def test_within_blocks_they_are_those_of_each_block(monkeypatch: pytest.MonkeyPatch, small: int, held: int) -> None:
    """Whichever way a block is looked through; rows without direction and blocks of one row have none."""
    monkeypatch.setattr(module, "_SMALL", small)
    monkeypatch.setattr(module, "_HELD", held)
    rng = np.random.default_rng(7)
    matrix = (rng.standard_normal((90, 8)) + 1).astype(np.float32)
    matrix[5], matrix[6], matrix[11] = 0, np.nan, matrix[12]
    rows, block = rng.permutation(90)[:80], rng.integers(0, 9, 80)
    block[3] = 99
    i, j, cosine = neighbours_within(matrix, 2, 0.5, rows, block)
    expected: list[tuple[int, int]] = []
    for number in np.unique(block):
        part = np.flatnonzero(block == number)
        expected += [(int(part[a]), int(part[b])) for a, b in reference(matrix[rows[part]], 2, 0.5)]
    assert sorted(zip(i.tolist(), j.tolist(), strict=True)) == sorted(expected)
    assert len(expected) > 100
    units = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    assert np.allclose(cosine, (units[rows[i]] * units[rows[j]]).sum(axis=1), atol=1e-6)
