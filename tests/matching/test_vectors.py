"""Exact pairs: the bound must lose nothing and invent nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.matching import vectors
from slowwave.matching.vectors import pairs_above, share_above


def brute_force(matrix: np.ndarray, threshold: float) -> dict[tuple[int, int], float]:
    """All pairs in float64, one by one in the definition's own words."""
    wide = matrix.astype(np.float64)
    norms = np.linalg.norm(wide, axis=1)
    found = {}
    for i, j in zip(*np.triu_indices(len(wide), 1), strict=True):
        if norms[i] and norms[j] and (c := float(wide[i] @ wide[j] / norms[i] / norms[j])) >= threshold:
            found[int(i), int(j)] = c
    return found


def crowded(rows: int, dimensions: int, seed: int) -> np.ndarray:
    """Rows with a falling spectrum, near copies and zero rows: cosines of every size."""
    random = np.random.default_rng(seed)
    matrix = random.standard_normal((rows, dimensions)).astype(np.float32) / np.arange(1, dimensions + 1) ** 0.7
    copies = random.integers(0, rows, rows // 3)
    matrix[: len(copies)] = matrix[copies] + 0.2 * random.random() * matrix[: len(copies)]
    matrix[random.integers(0, rows, 2)] = 0
    return matrix.astype(np.float32)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), rows=st.integers(0, 90), threshold=st.sampled_from([0.3, 0.78, 0.9, 0.999]))
@pytest.mark.parametrize("prefix", [False, True])
def test_the_same_pairs_as_brute_force(prefix: bool, seed: int, rows: int, threshold: float) -> None:
    """Both ways of working give every pair at the threshold, sorted, but for those within float rounding of it."""
    matrix = crowded(rows, 60, seed) if rows >= 6 else np.ones((rows, 60), np.float32)
    before, vectors.PLAIN_ROWS = vectors.PLAIN_ROWS, 0 if prefix and rows > 1 else vectors.PLAIN_ROWS
    try:
        i, j, score = pairs_above(matrix, threshold)
    finally:
        vectors.PLAIN_ROWS = before
    got = {(int(a), int(b)): float(s) for a, b, s in zip(i, j, score, strict=True)}
    assert list(got) == sorted(got)
    wanted = brute_force(matrix, threshold - 1e-6)
    assert got.keys() <= wanted.keys()
    assert {pair for pair, c in wanted.items() if c >= threshold + 1e-6} <= got.keys()
    assert all(abs(wanted[pair] - s) < 1e-5 for pair, s in got.items())


def test_many_tiles_and_the_bound_agree_with_one_plain_product() -> None:
    """Three thousand rows cross tile borders in both directions; the bound finds the same pairs as the plain product."""
    matrix = crowded(3_000, 128, 1)
    plain = pairs_above(matrix, 0.9)
    before, vectors.PLAIN_ROWS = vectors.PLAIN_ROWS, 0
    try:
        bounded = pairs_above(matrix, 0.9, workers=2)
    finally:
        vectors.PLAIN_ROWS = before
    unit = matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
    whole = np.argwhere(np.triu(unit @ unit.T >= 0.9, 1))
    sure = {(int(a), int(b)) for a, b in whole if abs(float(unit[a] @ unit[b]) - 0.9) > 1e-5}
    for i, j, _ in (plain, bounded):
        got = set(zip(i.tolist(), j.tolist(), strict=True))
        assert sure <= got
        assert len(got ^ {(int(a), int(b)) for a, b in whole}) <= len(whole) - len(sure)
    assert len(sure) > 500


def test_rows_without_direction_have_no_pairs() -> None:
    """Zero and non-finite vectors are no evidence of anything."""
    matrix = np.array([[0, 0], [1, 0], [np.nan, 1], [2, 0], [0, 0]], np.float32)
    i, j, score = pairs_above(matrix, 0.9)
    assert (i.tolist(), j.tolist(), score.tolist()) == ([1], [3], [1.0])


def test_the_share_says_beforehand_how_many_pairs_there_are() -> None:
    """Identical rows are all pairs, orthogonal ones none."""
    assert share_above(np.ones((50, 4), np.float32), 0.9) == 1
    assert share_above(np.eye(50, dtype=np.float32), 0.9) == 0
