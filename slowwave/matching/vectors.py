"""All pairs of vectors with a cosine at or above a threshold, exactly.

Rows are rotated onto their principal axes. The first k coordinates and, as one more, the norm of the rest give by
Cauchy–Schwarz an upper bound of every cosine in one small matrix product. The few pairs whose bound reaches the threshold are
bounded again, each alone, with 62 more coordinates, and what is left gets its full product. So no pair is missed and none is
invented. k comes from a cost model over a sample of rows; below some 8k rows, or where no k pays, tiles are multiplied in full.
Tiles run beside each other with one BLAS thread each, which on shared cores is faster than threads inside BLAS.

Choosing which rows to compare belongs to ``slowwave.matching.candidates``.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from slowwave.matching.blas import one_thread

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Pairs = tuple[Ints, Ints, Floats]

PLAIN_ROWS: Final = 8_192
"""Below this the sample and the rotation cost more than they save."""

_HEIGHT, _WIDTH = 1_024, 2_064  # of a tile; a row of 2,048 would put a whole column on the same few cache lines
_CHUNK: Final = 1_024  # rows gathered at a time: they stay in the cache
_SLACK: Final = np.float32(2e-5)  # float32 rounding of a bound or a product
_UNIT: Final = 5e-7  # how far from 1 the length of a unit row may be
_REST: Final = np.float32(3e-6)  # added to a squared rest, so that rounding never makes it too small
_PREFIXES: Final = (16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128)
_MORE: Final = 62  # coordinates of the second bound
_LONGEST: Final = 64  # a longer prefix goes without the second bound: both tables would take too much memory
_SAMPLE: Final = 1_024
# In multiply-adds of a matrix product: what a tile's element costs beside its product, a second bound, a verified coordinate.
_ELEMENT, _SECOND, _COORDINATE = 10.0, 3_000.0, 100.0


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Unit vectors read where they lie: ``numbers`` picks rows of ``matrix`` and ``scale`` makes them unit; None: nothing to do."""

    matrix: NDArray[np.floating]
    numbers: Ints | None = None
    scale: Floats | None = None

    def __len__(self) -> int:
        return len(self.matrix if self.numbers is None else self.numbers)

    def block(self, start: int, stop: int) -> Floats:
        """Rows ``start`` to ``stop`` (s, d): a view where nothing is to be done."""
        at = slice(start, stop)
        return self._scaled(self.matrix[at] if self.numbers is None else self.matrix[self.numbers[at]], at)

    def take(self, places: Ints) -> Floats:
        """The rows at ``places`` (p, d)."""
        numbers = places if self.numbers is None else self.numbers[places]
        return self._scaled(self.matrix.take(numbers, axis=0), places)

    def _scaled(self, rows: NDArray[np.floating], at: slice | Ints) -> Floats:
        found = np.asarray(rows, np.float32)
        return found if self.scale is None else found * self.scale[at, None]


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """``bounds`` (n, k + 1): prefix and norm of the rest; ``more`` (n, m + 2): m coordinates that follow, the norm of what they
    leave, and again that of the first rest. None where they do not pay."""

    rows: _Rows
    threshold: np.float32
    bounds: Floats | None = None
    more: Floats | None = None


def unit_rows(matrix: NDArray[np.floating]) -> tuple[Floats, Ints]:
    """(n, d) → unit rows in float32 and their row numbers; rows that are zero or not finite have no direction.

    Returns the matrix itself, not a copy, when every row already is of unit length.
    """
    found = np.asarray(matrix, np.float32)
    if len(found) <= _CHUNK:  # thousands of calls have a few unit rows
        norms = np.sqrt(np.einsum("ij,ij->i", found, found))
        if np.abs(norms - 1).max(initial=0) < _UNIT:
            return found, np.arange(len(found))
    rows, kept = _directions(found, None)
    if rows.numbers is None and rows.scale is None:
        return rows.block(0, len(rows)), kept
    out = np.empty((len(rows), matrix.shape[1]), np.float32)
    for start in range(0, len(rows), _CHUNK):
        out[start : start + _CHUNK] = rows.block(start, start + _CHUNK)
    return out, kept


def pairs_above(
    matrix: NDArray[np.floating], threshold: float, rows: Ints | None = None, workers: int | None = None
) -> Pairs:
    """All i < j whose rows of (n, d) have a cosine ≥ ``threshold`` (> 0), sorted by (i, j), with the cosines (float32).

    With ``rows`` (m,), row numbers, only those rows are compared, and i and j are places in ``rows``. Rows need not be of unit
    length; the matrix may be a memory map and is never copied as a whole. Rows that are zero or not finite have no pairs. The
    answer is the same for any number of ``workers`` (default: one a core).

    Time grows with n² · k. Memory beyond the matrix grows with n · (k + 65) floats, at most 516 bytes a row, and is some 12 MB
    a worker and 32 bytes a pair.
    """
    source, kept = _directions(matrix, rows)
    tops = range(0, len(source), _HEIGHT)
    with one_thread():
        search = _prepare(source, np.float32(threshold))
        if len(tops) < 2:  # a pool takes longer to start than one product
            parts = [_stripe(search, top) for top in tops]
        else:
            with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
                parts = list(pool.map(lambda top: _stripe(search, top), tops))
    total = sum(len(i) for i, _, _ in parts)
    found = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total, np.float32)
    while parts:  # each stripe is let go once it is copied
        i, j, score = parts.pop()
        at = slice(total - len(i), total)
        found[0][at], found[1][at], found[2][at] = kept[i], kept[j], score
        total -= len(i)
    return found


def cosines(rows: NDArray[np.floating], i: Ints, j: Ints) -> Floats:
    """Cosines (p,) of pairs of unit rows, each summed alone so that it does not depend on the other pairs."""
    return _cosines(_Rows(rows), i, j)


def share_above(matrix: NDArray[np.floating], threshold: float, sample: int = 1_024, rows: Ints | None = None) -> float:
    """Share of pairs with cosine ≥ ``threshold`` in an even sample of rows: says beforehand what ``pairs_above`` would return."""
    size = len(matrix if rows is None else rows)
    picked = np.linspace(0, size - 1, min(sample, size)).astype(np.int64)
    units, _ = unit_rows(matrix[picked if rows is None else rows[picked]])
    n = len(units)
    return 0.0 if n < 2 else float((np.count_nonzero(units @ units.T >= threshold) - n) / (n * (n - 1)))


def _directions(matrix: NDArray[np.floating], rows: Ints | None) -> tuple[_Rows, Ints]:
    """The rows that have a direction, and their places."""
    if rows is not None and len(rows) and bool(np.all(np.diff(rows) == 1)):
        matrix, rows = matrix[rows[0] : rows[-1] + 1], None
    every = _Rows(matrix, rows)
    norms = np.empty(len(every), np.float32)
    for start in range(0, len(every), _CHUNK):
        part = every.block(start, start + _CHUNK)
        norms[start : start + _CHUNK] = np.sqrt(np.einsum("ij,ij->i", part, part))
    kept = np.flatnonzero(np.isfinite(norms) & (norms > 1e-12)).astype(np.int64)
    norms = norms[kept]
    if len(kept) < len(every):
        rows = kept if rows is None else rows[kept]
    return _Rows(matrix, rows, None if bool(np.all(np.abs(norms - 1) < _UNIT)) else np.reciprocal(norms)), kept


def _prepare(rows: _Rows, threshold: np.float32) -> _Search:
    """Choose the prefix by the cost model on a sample and rotate; the full rows where nothing pays."""
    n = len(rows)
    if n < max(PLAIN_ROWS, 2):
        return _Search(_Rows(rows.block(0, n)), threshold)
    sample = rows.take(np.linspace(0, n - 1, min(n, 8 * _SAMPLE)).astype(np.int64))
    _, vectors = np.linalg.eigh((sample.T @ sample).astype(np.float64))
    axes = np.ascontiguousarray(vectors[:, ::-1], np.float32)
    k, m = _cheapest(sample[:: max(1, len(sample) // _SAMPLE)] @ axes, threshold)
    if not k:
        return _Search(rows, threshold)
    bounds = np.empty((n, k + 1), np.float32)
    more = np.empty((n, m + 2), np.float32) if m else None
    for start in range(0, n, _CHUNK):
        at = slice(start, start + _CHUNK)
        rotated = rows.block(start, start + _CHUNK) @ axes[:, : k + m]
        rest = _rest(rotated[:, :k])
        bounds[at, :k], bounds[at, k] = rotated[:, :k], rest
        if more is not None:
            more[at, :m], more[at, m], more[at, m + 1] = rotated[:, k:], _rest(rotated), rest
    return _Search(rows, threshold, bounds, more)


def _cheapest(rotated: Floats, threshold: np.float32) -> tuple[int, int]:
    """The cheapest (prefix, coordinates of the second bound) for rows like these (s, d); (0, 0): multiply in full."""
    s, d = rotated.shape

    def survivors(k: int) -> float:
        bounds = np.concatenate([rotated[:, :k], _rest(rotated[:, :k])[:, None]], axis=1)
        return max(0, np.count_nonzero(bounds @ bounds.T >= threshold) - s) / (s * (s - 1))

    best, least = (0, 0), d + _ELEMENT
    for k in (k for k in _PREFIXES if 2 * k < d):
        once = k + 1 + _ELEMENT
        if once >= least:
            break
        share = survivors(k)
        if (cost := once + share * d * _COORDINATE) < least:
            best, least = (k, 0), cost
        m, twice = min(_MORE, d - k - 1), once + share * _SECOND
        if k <= _LONGEST and twice < least and (cost := twice + survivors(k + m) * d * _COORDINATE) < least:
            best, least = (k, m), cost
    return best


def _rest(prefix: Floats) -> Floats:
    """(n, k) coordinates of unit rows → (n,) norms of what is left out, never too small."""
    return np.sqrt(np.maximum(0, 1 - np.einsum("ij,ij->i", prefix, prefix)) + _REST)


def _stripe(search: _Search, top: int) -> tuple[NDArray[np.int32], NDArray[np.int32], Floats]:
    """The pairs whose first row is one of a tile's height from ``top`` on, sorted."""
    n = len(search.rows)
    buffers = _Buffers.of(min(_HEIGHT, n - top) * min(_WIDTH, n - top))
    found = [_tile(search, top, left, buffers) for left in range(top, n, _WIDTH)]
    i, j, score = (np.concatenate(c) for c in zip(*found, strict=True))
    order = np.lexsort((j, i))
    return i[order].astype(np.int32), j[order].astype(np.int32), score[order]


def _tile(search: _Search, top: int, left: int, buffers: _Buffers) -> Pairs:
    """The pairs of one tile."""
    rows, threshold = search.rows, search.threshold
    bottom, right = min(top + _HEIGHT, len(rows)), min(left + _WIDTH, len(rows))
    d = rows.matrix.shape[1]
    full = (bottom - top) * (right - left) * d

    def multiplied(a: Floats, b: Floats) -> Pairs:
        hits, products = buffers.multiply(a, b, threshold - _SLACK)
        i = hits // len(b)
        j = hits - i * len(b) + left
        i += top
        if left == top:
            upper = j > i
            hits, i, j = hits[upper], i[upper], j[upper]
        return i, j, products[hits]

    if search.bounds is not None:
        i, j, bound = multiplied(search.bounds[top:bottom], search.bounds[left:right])
        if search.more is not None and len(i) * _SECOND < full:
            kept = bound + buffers.correct(search.more, i, j) >= threshold - _SLACK
            i, j = i[kept], j[kept]
        if len(i) * d * _COORDINATE < full:
            return _true(i, j, _cosines(rows, i, j), threshold)
    i, j, score = multiplied(rows.block(top, bottom), rows.block(left, right))
    near = np.flatnonzero(score < threshold + _SLACK)  # another tile may round the same product otherwise
    score[near] = _cosines(rows, i[near], j[near])
    return _true(i, j, score, threshold)


def _true(i: Ints, j: Ints, score: Floats, threshold: np.float32) -> Pairs:
    true = score >= threshold
    return i[true], j[true], score[true]


def _cosines(rows: _Rows, i: Ints, j: Ints) -> Floats:
    out = np.empty(len(i), np.float32)
    for start in range(0, len(i), _CHUNK):
        part = slice(start, start + _CHUNK)
        out[part] = np.einsum("ij,ij->i", rows.take(i[part]), rows.take(j[part]))
    return out


@dataclass(frozen=True, slots=True, eq=False)
class _Buffers:
    """What the tiles of a stripe write into again and again: the system gives new memory slowly."""

    products: Floats
    marks: NDArray[np.bool_]
    left: Floats
    right: Floats

    @classmethod
    def of(cls, size: int) -> _Buffers:
        """For tiles of up to ``size`` elements."""
        left, right = np.empty((2, _CHUNK, _MORE + 2), np.float32)
        return cls(np.empty(size, np.float32), np.empty(size + 8, bool), left, right)

    def multiply(self, a: Floats, b: Floats, limit: np.float32) -> tuple[Ints, Floats]:
        """Where the flat products of all rows of a and b are ≥ ``limit``, in order, and the products."""
        size = len(a) * len(b)
        products, marks = self.products[:size], self.marks[: -(-size // 8) * 8]
        np.matmul(a, b.T, out=products.reshape(len(a), len(b)))
        np.greater_equal(products, limit, out=marks[:size])
        marks[size:] = False
        eights = np.flatnonzero(marks.view(np.uint64) != 0)  # marks are few: most are skipped eight at a time
        at = np.flatnonzero(marks.reshape(-1, 8).take(eights, axis=0))
        return eights[at >> 3] * 8 + (at & 7), products

    def correct(self, more: Floats, i: Ints, j: Ints) -> Floats:
        """What more coordinates take off the bounds of pairs (p,)."""
        out, m = np.empty(len(i), np.float32), more.shape[1]
        for start in range(0, len(i), _CHUNK):
            part = slice(start, start + _CHUNK)
            size = len(i[part])
            left = more.take(i[part], 0, self.left[:size, :m], "clip")
            right = more.take(j[part], 0, self.right[:size, :m], "clip")
            left[:, -1] *= -1
            out[part] = np.einsum("ij,ij->i", left, right)
        return out
