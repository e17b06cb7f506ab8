"""Exact pairs: the bounds must lose nothing and invent nothing, whatever they are given and however they work."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.matching import vectors
from slowwave.matching.vectors import cosines, pairs_above, share_above, unit_rows

Found = dict[tuple[int, int], float]

THRESHOLDS = st.sampled_from([0.05, 0.3, 0.6, 0.78, 0.9, 0.999])


def brute_force(matrix: np.ndarray, threshold: float) -> Found:
    """All pairs in float64, one by one in the definition's own words."""
    wide = matrix.astype(np.float64)
    norms = np.linalg.norm(wide, axis=1)
    fit = np.isfinite(norms) & (norms > 0)
    return {
        (int(i), int(j)): c
        for i, j in zip(*np.triu_indices(len(wide), 1), strict=True)
        if fit[i] and fit[j] and (c := float(wide[i] @ wide[j] / norms[i] / norms[j])) >= threshold
    }


def as_found(pairs: vectors.Pairs) -> Found:
    i, j, score = (column.tolist() for column in pairs)
    return {(a, b): c for a, b, c in zip(i, j, score, strict=True)}


def assert_exact(matrix: np.ndarray, threshold: float, pairs: vectors.Pairs) -> None:
    """Sorted, each once, and those of the brute force but for what lies within 1e-6 of the threshold."""
    got, wanted = as_found(pairs), brute_force(matrix, threshold - 1e-6)
    assert list(got) == sorted(got)
    assert len(got) == len(pairs[0])
    assert got.keys() <= wanted.keys()
    assert {pair for pair, c in wanted.items() if c >= threshold + 1e-6} <= got.keys()
    assert all(abs(wanted[pair] - score) < 1e-5 for pair, score in got.items())


@contextmanager
def bounded(prefix: int, more: int, dense: bool = False) -> Iterator[None]:
    """Every search by bounds over so many axes, in tiles of a few rows; ``dense``: what survives them is multiplied in full."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "PLAIN_ROWS", 0)
        patch.setattr(vectors, "_cheapest", lambda *_: (prefix, more))
        patch.setattr(vectors, "_HEIGHT", 7)
        patch.setattr(vectors, "_WIDTH", 13)
        patch.setattr(vectors, "_CHUNK", 5)
        if not dense:
            patch.setattr(vectors, "_SECOND", 0.0)
            patch.setattr(vectors, "_COORDINATE", 0.0)
        yield


def crowded(rows: int, dimensions: int, seed: int) -> np.ndarray:
    """Rows of any length with a falling spectrum; among them copies, opposites, near copies, and rows without direction."""
    random = np.random.default_rng(seed)
    matrix = random.standard_normal((rows, dimensions)) / np.arange(1, dimensions + 1) ** 0.7
    matrix[: rows // 2] += matrix[:1]

    def some(share: int) -> np.ndarray:
        return random.permutation(rows)[: rows // share]

    matrix[some(8)] = matrix[some(8)]
    matrix[some(8)] = -matrix[some(8)]
    near = some(4)
    matrix[near] = matrix[some(4)] + random.choice([1e-4, 0.05, 0.3]) * matrix[near]
    matrix *= np.exp(random.normal(0, random.choice([0, 2]), (rows, 1)))
    matrix[some(15)] = 0
    matrix[some(20), 0] = np.nan
    matrix[some(20), -1] = np.inf
    return matrix


@settings(deadline=None)
@given(
    seed=st.integers(0, 1_000_000),
    rows=st.integers(0, 60),
    threshold=THRESHOLDS,
    axes=st.tuples(st.integers(1, 15), st.integers(1, 8)) | st.tuples(st.integers(1, 15), st.just(0)) | st.none(),
    dense=st.booleans(),
    workers=st.integers(1, 3),
    dtype=st.sampled_from(["<f4", ">f4", "<f8", "<f2"]),
)
def test_the_same_pairs_as_brute_force(
    seed: int, rows: int, threshold: float, axes: tuple[int, int] | None, dense: bool, workers: int, dtype: str
) -> None:
    """However many axes the bounds have, and in full, every pair is found and no other."""
    matrix = crowded(rows, 24, seed).astype(dtype)
    if axes is None:
        pairs = pairs_above(matrix, threshold, workers=workers)
    else:
        with bounded(*axes, dense=dense):
            pairs = pairs_above(matrix, threshold, workers=workers)
    assert_exact(matrix, threshold, pairs)


@settings(deadline=None)
@given(
    seed=st.integers(0, 1_000_000),
    threshold=THRESHOLDS,
    prefix=st.booleans(),
    part=st.sampled_from(["any", "slice", "none", "again"]),
)
def test_rows_given_by_their_numbers(seed: int, threshold: float, prefix: bool, part: str, tmp_path: Path) -> None:
    """Some rows of a mapped file, in any order, are compared as if they were a matrix of their own; places count, not numbers."""
    random = np.random.default_rng(seed)
    np.save(tmp_path / "matrix.npy", crowded(50, 24, seed).astype(np.float32))
    matrix = np.load(tmp_path / "matrix.npy", mmap_mode="r")
    rows = {
        "any": random.permutation(50)[:33],
        "slice": np.arange(9, 44),
        "none": np.empty(0, np.int64),
        "again": random.integers(0, 50, 40),
    }[part]
    if prefix:
        with bounded(6, 4):
            pairs = pairs_above(matrix, threshold, rows)
    else:
        pairs = pairs_above(matrix, threshold, rows)
    assert_exact(np.asarray(matrix)[rows], threshold, pairs)


def test_many_tiles_and_the_bounds_agree_with_one_plain_product(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five thousand rows cross tile borders in both directions; a prefix is chosen and finds the same pairs as the plain product."""
    random = np.random.default_rng(1)
    matrix = random.standard_normal((5_000, 128)) / np.arange(1, 129) ** 0.7
    matrix[:1_500] = matrix[random.integers(1_500, 5_000, 1_500)] + 0.2 * random.random((1_500, 1)) * matrix[:1_500]
    plain = pairs_above(matrix, 0.9)
    monkeypatch.setattr(vectors, "PLAIN_ROWS", 0)
    searched = vectors._prepare(vectors._directions(matrix, None)[0], np.float32(0.9))
    assert searched.bounds is not None
    assert searched.more is not None
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    whole = np.argwhere(np.triu(unit @ unit.T >= 0.9, 1))
    edge = {(int(a), int(b)) for a, b in whole if float(unit[a] @ unit[b]) < 0.9 + 1e-6}
    assert len(whole) > 1_000
    for found in (plain, pairs_above(matrix, 0.9)):
        assert as_found(found).keys() ^ {(int(a), int(b)) for a, b in whole} <= edge


@pytest.mark.parametrize("prefix", [False, True])
def test_workers_and_the_order_of_rows_change_nothing(prefix: bool) -> None:
    """Pairs exactly at the threshold are decided alike by any number of workers and wherever their rows lie."""
    random = np.random.default_rng(3)
    corners = np.array([[3, 4, 0, 0], [4, 3, 0, 0], [0, 0, 5, 0], [4, 0, 3, 0], [0, 3, 0, 4], [1, 2, 2, 4]], np.float32)
    matrix = np.pad(np.tile(corners, (40, 1)), ((0, 0), (0, 20))) * random.integers(1, 9, (240, 1)).astype(np.float32)
    order = random.permutation(240)
    for threshold in (0.48, 0.64, 0.8, 0.96):
        with bounded(3, 5) if prefix else bounded(0, 0):
            one, three = (pairs_above(matrix, threshold, workers=w) for w in (1, 3))
            shuffled = pairs_above(matrix[order], threshold)
        for a, b in zip(one, three, strict=True):
            np.testing.assert_array_equal(a, b)
        back = {(min(order[a], order[b]), max(order[a], order[b])) for a, b in as_found(shuffled)}
        assert back == as_found(one).keys()
        assert len(back) > 100


def test_a_bound_is_never_too_small_for_a_row_that_lies_in_the_prefix() -> None:
    """Of a row that is all but inside the first axes, 1 - |p|² is rounding; times the other row's rest it could hide a pair."""
    half = np.random.default_rng(5).standard_normal((200, 4))
    half /= np.linalg.norm(half, axis=1, keepdims=True)
    inside = np.pad(np.concatenate([half, -half]), ((0, 0), (0, 8)))
    outside = 0.93 * inside
    inside[:, 4], outside[:, 4] = 3e-4, np.sqrt(1 - 0.93**2)
    matrix, threshold = np.concatenate([inside, outside]), 0.93 + 6e-5
    with bounded(4, 0):
        found = as_found(pairs_above(matrix, threshold))
    wanted = brute_force(matrix, threshold + 1e-6)
    assert {(i, i + 400) for i in range(400)} <= wanted.keys() <= found.keys()


def test_the_second_bound_lies_between_the_cosine_and_the_first() -> None:
    """More axes can only bring a bound nearer to the cosine."""
    matrix = np.random.default_rng(8).standard_normal((300, 48)) / np.arange(1, 49) ** 0.7
    i, j = np.triu_indices(300, 1)
    with bounded(8, 16):
        search = vectors._prepare(vectors._directions(matrix, None)[0], np.float32(0.5))
        assert search.bounds is not None
        assert search.more is not None
        first = np.einsum("ij,ij->i", search.bounds[i], search.bounds[j])
        second = first + vectors._Buffers.allocate(1).correct(search.more, i, j)
    units, _ = unit_rows(matrix)
    cosine = cosines(units, i, j)
    assert np.all(cosine <= second + 1e-5)
    assert np.all(second <= first + 1e-5)
    assert np.mean(first - second) > 0.05


def test_rows_without_direction_have_no_pairs() -> None:
    """Zero and non-finite vectors are no evidence of anything."""
    matrix = np.array([[0, 0], [1, 0], [np.nan, 1], [2, 0], [0, 0], [np.inf, 0]], np.float32)
    i, j, score = pairs_above(matrix, 0.9)
    assert (i.tolist(), j.tolist(), score.tolist()) == ([1], [3], [1.0])


@pytest.mark.slow
@pytest.mark.parametrize("rows", [None, np.random.default_rng(0).permutation(40_000)])
def test_the_matrix_is_not_copied(rows: np.ndarray | None) -> None:
    """Neither for rows of other lengths nor for rows in another order is there a second copy of the vectors at any moment."""
    random = np.random.default_rng(2)
    matrix = random.standard_normal((40_000, 384), np.float32) / np.arange(1, 385, dtype=np.float32)
    matrix[20_000] = 3 * matrix[10_000]
    tracemalloc.start()
    i, j, _ = pairs_above(matrix, 0.97, rows, workers=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    found = {frozenset(pair) for pair in zip(*((i, j) if rows is None else (rows[i], rows[j])), strict=True)}
    assert frozenset((10_000, 20_000)) in found
    assert peak < 0.9 * matrix.nbytes


def test_unit_rows_are_the_matrix_itself_where_nothing_is_to_be_done(tmp_path: Path) -> None:
    """A mapped matrix of unit rows stays mapped; any other becomes unit rows and the numbers of those that have a direction."""
    matrix, kept = unit_rows(np.random.default_rng(4).standard_normal((3_000, 64), np.float32))
    np.testing.assert_allclose(np.linalg.norm(matrix, axis=1), 1, atol=1e-6)
    assert len(kept) == 3_000
    np.save(tmp_path / "matrix.npy", matrix)
    mapped = np.load(tmp_path / "matrix.npy", mmap_mode="r")
    same, _ = unit_rows(mapped)
    assert np.shares_memory(same, mapped)
    units, kept = unit_rows(np.array([[0, 0], [3, 4], [np.nan, 1], [0, -2]]))
    assert kept.tolist() == [1, 3]
    np.testing.assert_allclose(units, [[0.6, 0.8], [0, -1]], atol=1e-7)


def test_a_cosine_does_not_depend_on_the_other_pairs() -> None:
    """Asked alone or among thousands, a pair's cosine is the same to the last bit."""
    matrix, _ = unit_rows(np.random.default_rng(6).standard_normal((500, 384), np.float32))
    i, j = np.random.default_rng(7).integers(0, 500, (2, 5_000))
    together = cosines(matrix, i, j)
    alone = [cosines(matrix, i[k : k + 1], j[k : k + 1])[0] for k in range(0, 5_000, 97)]
    np.testing.assert_array_equal(together[::97], alone)


def test_the_share_says_beforehand_how_many_pairs_there_are() -> None:
    """Identical rows are all pairs, orthogonal ones none; of rows given by their numbers only those count."""
    assert share_above(np.ones((50, 4), np.float32), 0.9) == 1
    assert share_above(np.eye(50, dtype=np.float32), 0.9) == 0
    both = np.concatenate([np.eye(50, dtype=np.float32), np.ones((50, 50), np.float32)])
    assert share_above(both, 0.9, rows=np.arange(99, 49, -1)) == 1
    assert share_above(both, 0.9, rows=np.arange(50)) == 0
