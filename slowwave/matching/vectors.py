"""All pairs of vectors with a cosine at or above a threshold, exactly.

Rows are rotated onto their principal axes; the first k coordinates and the norm of the rest, as one more coordinate, give by
Cauchy–Schwarz an upper bound of every cosine in one small matrix product. Only pairs whose bound reaches the threshold get
their full product. So no pair is missed and none is invented. k comes from a cost model over a sample of rows; below some 16k
rows, or where no k pays, tiles are multiplied in full. Tiles run beside each other with one BLAS thread each, which on shared
cores is faster than threads inside BLAS.

Choosing which rows to compare belongs to ``slowwave.matching.candidates``.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Pairs = tuple[Ints, Ints, Floats]

PLAIN_ROWS: Final = 16_384
"""Below this the sample and the rotation cost more than they save."""

_SLACK: Final = 2e-5  # float32 rounding of the bound
_DENSE: Final = 0.02  # a tile with more survivors is multiplied in full
_CHUNK: Final = 4_096  # gathered rows at a time: larger chunks cost memory and save no time
_PREFIXES: Final = (24, 32, 48, 64, 96, 128)
# Seconds per multiply-add, per tile element and per verified coordinate; only their ratios matter.
_MULTIPLY, _ELEMENT, _COORDINATE = 8.4e-12, 3.2e-10, 3.1e-9


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """Unit ``rows`` (n, d) and what is multiplied for them: ``bounds`` (n, k + 1), or the rows themselves."""

    rows: Floats
    bounds: Floats
    threshold: np.float32
    height: int
    width: int

    @property
    def plain(self) -> bool:
        return self.bounds is self.rows


def unit_rows(matrix: NDArray[np.floating]) -> tuple[Floats, Ints]:
    """(n, d) → unit rows in float32 and their row numbers; rows that are zero or not finite have no direction.

    Returns the matrix itself, not a copy, when every row already is of unit length.
    """
    rows = np.asarray(matrix, np.float32)
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    kept = np.flatnonzero(np.isfinite(norms) & (norms > 1e-12)).astype(np.int64)
    if len(kept) == len(rows) and bool(np.all(np.abs(norms - 1) < 1e-6)):
        return rows, kept
    return rows[kept] / norms[kept, None], kept


def pairs_above(matrix: NDArray[np.floating], threshold: float, workers: int | None = None) -> Pairs:
    """All i < j whose rows of (n, d) have a cosine ≥ ``threshold`` (> 0), sorted by (i, j), with the cosines (float32).

    Time grows with n² · k; memory beyond the matrix is n · (k + 1) floats, one tile a worker and the pairs.
    """
    rows, kept = unit_rows(matrix)
    search = _prepare(rows, threshold)
    n = len(rows)
    tiles = [(i, j) for i in range(0, n, search.height) for j in range(i - i % search.width, n, search.width)]
    workers = min(workers or os.cpu_count() or 1, len(tiles))

    def work(worker: int) -> list[Pairs]:
        buffer = np.empty(min(search.height, n) * min(search.width, n), np.float32)
        return [_tile(search, i, j, buffer) for i, j in tiles[worker::workers]]

    if workers <= 1:
        parts = work(0) if tiles else []
    else:
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(workers) as pool:
            parts = [pairs for result in pool.map(work, range(workers)) for pairs in result]
    i, j, score = (np.concatenate(c) for c in zip(_NOTHING, *parts, strict=True))
    order = np.lexsort((j, i))
    return kept[i[order]], kept[j[order]], score[order]


def cosines(rows: NDArray[np.floating], i: Ints, j: Ints) -> Floats:
    """Cosines (p,) of pairs of unit rows, each summed alone so that it does not depend on the other pairs."""
    out = np.empty(len(i), np.float32)
    for start in range(0, len(i), _CHUNK):
        part = slice(start, start + _CHUNK)
        out[part] = np.einsum("ij,ij->i", rows[i[part]], rows[j[part]])
    return out


def share_above(matrix: NDArray[np.floating], threshold: float, sample: int = 1_024) -> float:
    """Share of pairs with cosine ≥ ``threshold`` in an even sample of rows: says beforehand what ``pairs_above`` would return."""
    picked = np.linspace(0, len(matrix) - 1, min(sample, len(matrix))).astype(np.int64)
    rows, _ = unit_rows(matrix[picked])
    n = len(rows)
    return 0.0 if n < 2 else float((np.count_nonzero(rows @ rows.T >= threshold) - n) / (n * (n - 1)))


_NOTHING: Final[Pairs] = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))


def _prepare(rows: Floats, threshold: float) -> _Search:
    """Choose the prefix by the cost model on 1,024 rows and rotate; the full rows where nothing pays."""
    plain = _Search(rows, rows, np.float32(threshold), 1_024, 2_048)
    n, d = rows.shape if rows.ndim == 2 else (0, 0)
    if n < PLAIN_ROWS:
        return plain
    sample = rows[np.linspace(0, n - 1, min(n, 8_192)).astype(np.int64)]
    _, axes = np.linalg.eigh((sample.T @ sample).astype(np.float64))
    axes = np.ascontiguousarray(axes[:, ::-1], np.float32)
    rotated = sample[:: max(1, len(sample) // 1_024)] @ axes
    pairs = len(rotated) * (len(rotated) - 1)
    best, cost = 0, d * _MULTIPLY + _ELEMENT / 2
    for k in (k for k in _PREFIXES if k < d // 2):
        bounds = _with_rest(rotated[:, :k])
        survivors = max(0.0, (np.count_nonzero(bounds @ bounds.T >= threshold) - len(bounds)) / pairs)
        if (c := (k + 1) * _MULTIPLY + _ELEMENT + survivors * d * _COORDINATE) < cost:
            best, cost = k, c
    if not best:
        return plain
    bounds = np.empty((n, best + 1), np.float32)
    for start in range(0, n, _CHUNK):
        bounds[start : start + _CHUNK] = _with_rest(rows[start : start + _CHUNK] @ axes[:, :best])
    return _Search(rows, bounds, np.float32(threshold), 512, 1_024)


def _with_rest(prefix: Floats) -> Floats:
    """(n, k) coordinates of unit rows → (n, k + 1) with the norm of what is left out."""
    rest = np.sqrt(np.maximum(0, 1 - np.einsum("ij,ij->i", prefix, prefix)))
    return np.concatenate([prefix, rest[:, None]], axis=1)


def _tile(search: _Search, top: int, left: int, buffer: Floats) -> Pairs:
    """The pairs of one tile; ``buffer`` holds its products."""
    rows, threshold = search.rows, search.threshold
    down, across = slice(top, top + search.height), slice(left, left + search.width)
    height, width = len(rows[down]), len(rows[across])
    products = buffer[: height * width].reshape(height, width)
    np.matmul(search.bounds[down], search.bounds[across].T, out=products)
    exact = search.plain
    hits = np.flatnonzero(products.ravel() >= (threshold if exact else threshold - np.float32(_SLACK)))
    if not exact and len(hits) > _DENSE * height * width:
        np.matmul(rows[down], rows[across].T, out=products)
        hits, exact = np.flatnonzero(products.ravel() >= threshold), True
    i, j = hits // width + top, hits % width + left
    upper = j > i
    i, j = i[upper], j[upper]
    if exact:
        return i, j, products.ravel()[hits[upper]]
    score = cosines(rows, i, j)
    true = score >= threshold
    return i[true], j[true], score[true]
