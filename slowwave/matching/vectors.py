"""Search for near vectors: all pairs above a cosine and the nearest rows of each row, exactly and in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise
from threading import Lock
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from slowwave.matching.tiles import CandidateSearch, Run, SelectedRows, in_threads, join

# Limit BLAS to one thread while products run in parallel or are too small for threads.
#
# Finding the loaded libraries takes longer than multiplying a small block, so it is done once per process. A search that multiplies many
# blocks enters ``one_thread`` around them all; entering it again inside costs a microsecond.

_LOCK: Final = Lock()
_held: list[Any] = []
"""The active limits, one for each running search; the first set the libraries' limit."""


@contextmanager
def one_thread() -> Generator[None]:
    """Use one thread for every product of this process, until the last caller has left the context."""
    with _LOCK:
        _held.append(_held[0] if _held else _controller().limit(limits=1))
    try:
        yield
    finally:
        with _LOCK:
            limit = _held.pop()
            if not _held:
                limit.restore_original_limits()


@cache
def _controller() -> Any:
    """Return the controller of the BLAS libraries of this process; the library of NumPy is loaded by the first product."""
    return ThreadpoolController().select(user_api="blas")


# All pairs of vectors with a cosine at or above a threshold, exactly.
#
# Rows are rotated onto their principal axes. The first k coordinates and, as one more, the norm of the rest give by Cauchy–Schwarz an upper
# bound of every cosine in one small matrix product. The few pairs whose bound reaches the threshold are bounded again, individually, with
# 62 more coordinates, and the full product is computed for the rest. So no pair is missed or wrong. k results from a cost model over a
# sample of rows; below about 8,000 rows, or if no k saves time, tiles are multiplied in full. Tiles run in parallel with one BLAS thread
# each, which on shared cores is faster than threads inside BLAS.

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Pairs = tuple[Ints, Ints, Floats]

PLAIN_ROWS: Final = 8_192
"""Number of rows below which the sample and the rotation take longer than they save."""

_HEIGHT, _WIDTH = 1_024, 2_064  # of a tile; a row of 2,048 would put a whole column on the same few cache lines
_CHUNK: Final = 1_024  # rows gathered at a time: they stay in the cache
_SLACK: Final = np.float32(2e-5)  # float32 rounding of a bound or a product
_UNIT: Final = 5e-7  # allowed deviation of the length of a unit row from 1
_REST: Final = np.float32(3e-6)  # added to a squared rest, so that rounding never makes it too small
_PREFIXES: Final = (16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128)
_MORE: Final = 62  # coordinates of the second bound
_LONGEST: Final = 64  # a longer prefix has no second bound, because both tables would take too much memory
_SAMPLE: Final = 1_024
# Costs in multiply-adds of a matrix product: an element of a tile in addition to its product, a second bound, a verified coordinate.
_ELEMENT, _SECOND, _COORDINATE = 10.0, 3_000.0, 100.0


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Unit vectors that are read in place.

    ``numbers`` selects rows of ``matrix`` and ``scale`` makes them unit; None means that nothing is to be done.
    """

    matrix: NDArray[np.floating]
    numbers: Ints | None = None
    scale: Floats | None = None

    def __len__(self) -> int:
        return len(self.matrix if self.numbers is None else self.numbers)

    def block(self, start: int, stop: int) -> Floats:
        """Return rows ``start`` to ``stop`` (s, d), as a view if nothing is to be done."""
        at = slice(start, stop)
        return self._scaled(self.matrix[at] if self.numbers is None else self.matrix[self.numbers[at]], at)

    def take(self, places: Ints) -> Floats:
        """Return the rows at ``places`` (p, d)."""
        numbers = places if self.numbers is None else self.numbers[places]
        return self._scaled(self.matrix.take(numbers, axis=0), places)

    def _scaled(self, rows: NDArray[np.floating], at: slice | Ints) -> Floats:
        found = np.asarray(rows, np.float32)
        return found if self.scale is None else found * self.scale[at, None]


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """The tables of a search for similar pairs.

    ``bounds`` (n, k + 1) holds a prefix of each row and the norm of the rest. ``more`` (n, m + 2) holds the m coordinates that follow,
    the norm of what remains after them, and once more the norm of the first rest. Both are None if they do not pay off.
    """

    rows: _Rows
    threshold: np.float32
    bounds: Floats | None = None
    more: Floats | None = None


def unit_rows(matrix: NDArray[np.floating]) -> tuple[Floats, Ints]:
    """Return the unit rows of (n, d) in float32 and their row numbers.

    Rows that are zero or not finite have no direction and are left out. Returns the matrix itself, not a copy, if every row already has
    unit length.
    """
    found = np.asarray(matrix, np.float32)
    if len(found) <= _CHUNK:  # thousands of calls have only a few unit rows
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
    matrix: NDArray[np.floating],
    threshold: float,
    rows: Ints | None = None,
    workers: int | None = None,
    run: Run | None = None,
) -> Pairs:
    """Find all i < j whose rows of (n, d) have a cosine ≥ ``threshold`` (> 0), sorted by (i, j), with cosines (float32).

    With ``rows`` (m,), row numbers, only those rows are compared, and i and j are positions in ``rows``. Rows need not be of unit length.
    The matrix may be a memory map and is never copied as a whole. Rows that are zero or not finite have no pairs. The result is the same
    for any number of ``workers`` (default: one per core), and for any other ``run`` (``slowwave.matching.tiles``).

    Time grows with n² · k. Memory beyond the matrix grows with n · (k + 65) floats, at most 516 bytes a row, and is about 12 MB per
    worker and 32 bytes per pair.
    """
    of = [SelectedRows(matrix, rows), np.array([threshold])]
    i, j, score = (run or partial(in_threads, threads=workers))(of, lambda: vector_search(matrix, threshold, rows))
    return i.astype(np.int64), j.astype(np.int64), score


def vector_search(matrix: NDArray[np.floating], threshold: float, rows: Ints | None = None) -> CandidateSearch:
    """Prepare the search of ``pairs_above``; a piece is a stripe of rows. The result has positions in int32."""
    source, kept = _directions(matrix, rows)
    with one_thread():
        search = _prepare(source, np.float32(threshold))
    given = {"kept": kept.astype(np.int32), "threshold": np.array([threshold], np.float32)}
    optional = {"scale": search.rows.scale, "bounds": search.bounds, "more": search.more}
    found = {name: table for name, table in optional.items() if table is not None}
    tops = np.arange(0, len(source), _HEIGHT)
    return CandidateSearch(
        "vectors",
        {"rows": SelectedRows(search.rows.matrix, search.rows.numbers), **given, **found},
        (len(source) - tops).astype(np.float64),
    )


def find_stripes(tables: Mapping[str, Any], pieces: range, threads: int) -> tuple[NDArray[Any], ...]:
    """Find the pairs of consecutive stripes of a ``vector_search``: positions i and j (int32) and cosines, sorted."""
    rows, kept = tables["rows"], tables["kept"]
    source = _Rows(rows.matrix, rows.numbers) if isinstance(rows, SelectedRows) else _Rows(rows)
    source = replace(source, scale=tables.get("scale"))
    search = _Search(source, tables["threshold"][0], tables.get("bounds"), tables.get("more"))
    tops = [piece * _HEIGHT for piece in pieces]
    empty = np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32)
    with one_thread():
        if len(tops) < 2 or threads == 1:  # a pool takes longer to start than one product
            parts = [_stripe(search, top) for top in tops]
        else:
            with ThreadPoolExecutor(threads) as pool:
                parts = list(pool.map(lambda top: _stripe(search, top), tops))
    i, j, score = join([empty, *parts])
    return kept[i], kept[j], score


def cosines(rows: NDArray[np.floating], i: Ints, j: Ints) -> Floats:
    """Return the cosines (p,) of pairs of unit rows, each summed alone so that it does not depend on the other pairs."""
    return _cosines(_Rows(rows), i, j)


def share_above(matrix: NDArray[np.floating], threshold: float, sample: int = 1_024, rows: Ints | None = None) -> float:
    """Return the share of pairs with cosine ≥ ``threshold`` in an even sample of rows, to estimate ``pairs_above``."""
    size = len(matrix if rows is None else rows)
    picked = np.linspace(0, size - 1, min(sample, size)).astype(np.int64)
    units, _ = unit_rows(matrix[picked if rows is None else rows[picked]])
    n = len(units)
    return 0.0 if n < 2 else float((np.count_nonzero(units @ units.T >= threshold) - n) / (n * (n - 1)))


def _directions(matrix: NDArray[np.floating], rows: Ints | None) -> tuple[_Rows, Ints]:
    """Return the rows that have a direction, and their positions."""
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
    """Choose the prefix by the cost model on a sample and rotate the rows, or keep full rows if no prefix pays."""
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
    """Return the cheapest (prefix, coordinates of the second bound) for rows like these (s, d).

    (0, 0) means that full products are cheapest.
    """
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
    """Return the norms (n,) of the remainders of unit rows with (n, k) coordinates, never too small."""
    return np.sqrt(np.maximum(0, 1 - np.einsum("ij,ij->i", prefix, prefix)) + _REST)


def _stripe(search: _Search, top: int) -> tuple[NDArray[np.int32], NDArray[np.int32], Floats]:
    """Find the pairs whose first row is in the stripe that begins at ``top`` and has the height of a tile, sorted."""
    n = len(search.rows)
    buffers = _Buffers.allocate(min(_HEIGHT, n - top) * min(_WIDTH, n - top))
    found = [_tile(search, top, left, buffers) for left in range(top, n, _WIDTH)]
    i, j, score = (np.concatenate(c) for c in zip(*found, strict=True))
    order = np.lexsort((j, i))
    return i[order].astype(np.int32), j[order].astype(np.int32), score[order]


def _tile(search: _Search, top: int, left: int, buffers: _Buffers) -> Pairs:
    """Find the pairs of one tile."""
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
    near = np.flatnonzero(score < threshold + _SLACK)  # another tile may round the same product differently
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
    """Buffers that the tiles of a stripe reuse, because allocating new memory is slow."""

    products: Floats
    marks: NDArray[np.bool_]
    left: Floats
    right: Floats

    @classmethod
    def allocate(cls, size: int) -> _Buffers:
        """Allocate buffers for tiles of up to ``size`` elements."""
        left, right = np.empty((2, _CHUNK, _MORE + 2), np.float32)
        return cls(np.empty(size, np.float32), np.empty(size + 8, bool), left, right)

    def multiply(self, a: Floats, b: Floats, limit: np.float32) -> tuple[Ints, Floats]:
        """Return the positions, in order, where the flat products of all rows of a and b are ≥ ``limit``, and the products."""
        size = len(a) * len(b)
        products, marks = self.products[:size], self.marks[: -(-size // 8) * 8]
        np.matmul(a, b.T, out=products.reshape(len(a), len(b)))
        np.greater_equal(products, limit, out=marks[:size])
        marks[size:] = False
        eights = np.flatnonzero(marks.view(np.uint64) != 0)  # marks are rare, so most are skipped eight at a time
        at = np.flatnonzero(marks.reshape(-1, 8).take(eights, axis=0))
        return eights[at >> 3] * 8 + (at & 7), products

    def correct(self, more: Floats, i: Ints, j: Ints) -> Floats:
        """Return how much more coordinates reduce the bounds of pairs (p,)."""
        out, m = np.empty(len(i), np.float32), more.shape[1]
        for start in range(0, len(i), _CHUNK):
            part = slice(start, start + _CHUNK)
            size = len(i[part])
            left = more.take(i[part], 0, self.left[:size, :m], "clip")
            right = more.take(j[part], 0, self.right[:size, :m], "clip")
            left[:, -1] *= -1
            out[part] = np.einsum("ij,ij->i", left, right)
        return out


# The nearest rows of every row: exact, above a minimum cosine, in bounded memory for any number of near rows.
#
# If few pairs reach the minimum, the search above finds them all. If there would be too many, tiles are multiplied in full and each row
# keeps the best so far.

FEW: Final = 2_000_000
"""Expected number of pairs up to which all of them are held in memory, about 120 bytes each."""

_HEIGHT_NEIGHBOURS, _WIDTH_NEIGHBOURS = 1_024, 2_048  # of a tile
_GRID: Final = 100_000.0  # cosines are ranked in steps of 1e-5, which float32 products of tiles do not blur
_SMALL: Final = 1_024  # rows of a block that is multiplied at once
_HELD: Final = 8_192  # rows of such blocks that are loaded at a time
_CROWDED: Final = 8  # a tile is partitioned if this many times k of its rows reach a row's limit


def neighbours(
    matrix: NDArray[np.floating], k: int, floor: float, rows: Ints | None = None, workers: int | None = None
) -> tuple[Ints, Ints, Floats]:
    """Find for every row i of (n, d) its ``k`` rows j of the greatest cosine ≥ ``floor`` (> 0): (i, j, cosine), (p,) each.

    The result is sorted by i, nearest first. Equal cosines (to 1e-5) are ordered by the smaller j. With ``rows`` (m,), only those rows
    are compared, and i and j are positions in ``rows``. Rows that are zero or not finite have no neighbours. Time grows with n² · d, or,
    if few pairs are near, with n² and a share of d. Memory beyond the matrix: 16 bytes · n · k, and either 120 bytes for each of about
    ``FEW`` pairs or 80 MB per worker; rows that are not of unit length are copied.
    """
    if k < 1 or not matrix.size:
        return _none()
    n = len(matrix if rows is None else rows)
    possible = n * (n - 1) / 2
    if possible <= FEW or share_above(matrix, floor, rows=rows) * possible <= FEW:
        a, b, score = pairs_above(matrix, floor, rows, workers)
        return _ranked(np.concatenate([a, b]), np.concatenate([b, a]), np.concatenate([score, score]), k)
    units, kept = unit_rows(matrix if rows is None else matrix[rows])
    best = _Best.allocate(len(units), k, floor)
    tiles = [
        (t, left) for t in range(0, len(units), _HEIGHT_NEIGHBOURS) for left in range(t, len(units), _WIDTH_NEIGHBOURS)
    ]
    with one_thread(), ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        for _ in pool.map(lambda tile: best.meet(units, *tile), tiles):
            pass
    i, j = best.pairs()
    score = cosines(units, i, j)
    near = score >= np.float32(floor)
    return _ranked(kept[i[near]], kept[j[near]], score[near], k)


def neighbours_within(
    matrix: NDArray[np.floating], k: int, floor: float, rows: Ints, block: Ints
) -> tuple[Ints, Ints, Floats]:
    """Find the ``neighbours`` of ``rows`` (m,) within each block, numbered by ``block`` (m,).

    The positions i and j are those in ``rows``. Small blocks are multiplied one after the other on one thread. Time: about 20 µs per
    block, and that of the products.
    """
    order = np.argsort(block, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(block[order])) + 1)
    found = [_none()]
    small: list[Ints] = []
    held = 0
    with one_thread():
        for part in parts:
            if len(part) > _SMALL:
                i, j, cosine = neighbours(matrix, k, floor, rows[part])
                found.append((part[i], part[j], cosine))
            elif len(part) > 1:
                small.append(part)
                held += len(part)
                if held >= _HELD:
                    found.append(_small(matrix, k, floor, rows, small))
                    small, held = [], 0
        if small:
            found.append(_small(matrix, k, floor, rows, small))
    i, j, cosine = (np.concatenate(column) for column in zip(*found, strict=True))
    return i, j, cosine


def _small(
    matrix: NDArray[np.floating], k: int, floor: float, rows: Ints, parts: Sequence[Ints]
) -> tuple[Ints, Ints, Floats]:
    """Find the neighbours within each of several small blocks."""
    places = np.concatenate(parts)
    units, kept = unit_rows(matrix[rows[places]])
    ends = np.searchsorted(kept, np.cumsum([0, *map(len, parts)]))
    pairs = [_none()[:2]]
    for start, end in pairwise(ends.tolist()):
        part = units[start:end]
        i, j = np.nonzero(part @ part.T >= floor - _SLACK)
        upper = i < j
        pairs.append((i[upper] + start, j[upper] + start))
    i, j = (np.concatenate(column) for column in zip(*pairs, strict=True))
    score = cosines(units, i, j)
    near = score >= np.float32(floor)
    i, j, score = places[kept[i[near]]], places[kept[j[near]]], score[near]
    return _ranked(np.concatenate([i, j]), np.concatenate([j, i]), np.concatenate([score, score]), k)


def pairs_of(i: Ints, j: Ints, cosine: Floats) -> tuple[Ints, Ints, Floats]:
    """Return neighbours as pairs i < j, each once, sorted."""
    low, high = np.minimum(i, j), np.maximum(i, j)
    order = np.lexsort((high, low))
    low, high, cosine = low[order], high[order], cosine[order]
    new = np.ones(len(low), bool)
    new[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    return low[new], high[new], cosine[new]


@dataclass(frozen=True, slots=True, eq=False)
class _Best:
    """The best rows found for each row.

    ``place`` (n, k) holds their positions, -1 for none, and ``step`` (n, k) their cosines on the grid, worst last.
    """

    place: Ints
    step: Ints
    floor: float
    lock: Lock

    @classmethod
    def allocate(cls, n: int, k: int, floor: float) -> _Best:
        return cls(np.full((n, k), -1), np.full((n, k), -1), floor - float(_SLACK), Lock())

    def meet(self, units: Floats, top: int, left: int) -> None:
        """Compare the rows of a tile with those to the right of it; on the diagonal, compare each pair once."""
        products = units[top : top + _HEIGHT_NEIGHBOURS] @ units[left : left + _WIDTH_NEIGHBOURS].T
        if top == left:
            products[np.tril_indices(len(products), 0, products.shape[1])] = -2
        self._take(products, top, left, turned=False)
        self._take(products, left, top, turned=True)

    def _take(self, products: Floats, top: int, left: int, *, turned: bool) -> None:
        """Update rows from ``top`` on with rows from ``left`` on; ``turned`` if they are the columns of the products."""
        k, (width, height) = self.place.shape[1], products.shape if turned else products.shape[::-1]
        limits = self._limits(top, height, left)
        flat = _marked(products >= (limits if turned else limits[:, None]))
        one, two = np.divmod(flat, products.shape[1])
        at, other = (two, one) if turned else (one, two)
        if len(at) > _CROWDED * k * height and width > k:
            at, other, step = _crowd(products.T if turned else products, limits, k)
        else:
            step = np.rint(products.ravel()[flat] * np.float32(_GRID)).astype(np.int64)
        if not len(at):
            return
        seen = np.unique(at)
        with self.lock:
            mine = np.concatenate([at, np.repeat(seen, k)])
            place = np.concatenate([other + left, self.place[top + seen].ravel()])
            step = np.concatenate([step, self.step[top + seen].ravel()])
            order = np.lexsort((place, -step, mine))
            rank = np.arange(len(order)) - np.searchsorted(mine[order], mine[order])
            good = order[rank < k]
            self.place[top + seen] = place[good].reshape(-1, k)
            self.step[top + seen] = step[good].reshape(-1, k)

    def _limits(self, top: int, height: int, left: int) -> Floats:
        """Return (height,): the cosines below which a row from ``left`` on changes nothing.

        Of equal cosines the smaller position is kept.
        """
        with self.lock:
            place, step = self.place[top : top + height, -1], self.step[top : top + height, -1].copy()
            first = (place >= 0) & (place < left)
        return np.maximum((step + np.where(first, 0.4, -0.6)) / _GRID, self.floor).astype(np.float32)

    def pairs(self) -> tuple[Ints, Ints]:
        held = self.place >= 0
        return np.nonzero(held)[0].astype(np.int64), self.place[held]


def _marked(marks: NDArray[np.bool_]) -> Ints:
    """Return the flat positions of the marks, which are few: most are skipped eight at a time."""
    flat = marks.ravel()
    if len(flat) % 8:
        return np.flatnonzero(flat)
    eights = np.flatnonzero(flat.view(np.uint64))
    at = np.flatnonzero(flat.reshape(-1, 8)[eights])
    return eights[at >> 3] * 8 + (at & 7)


def _crowd(products: Floats, limits: Floats, k: int) -> tuple[Ints, Ints, Ints]:
    """Return (row, column, step) of the k best of each row of a tile that reach its limit.

    Of equal ones those further left are returned.
    """
    width = products.shape[1]
    step = np.rint(products * np.float32(_GRID)).astype(np.int64)
    packed = np.partition(step * width + np.arange(width - 1, -1, -1), -k, axis=1)[:, -k:]
    at = np.repeat(np.arange(len(products)), k)
    step, other = (packed // width).ravel(), (width - 1 - packed % width).ravel()
    near = products[at, other] >= limits[at]
    return at[near], other[near], step[near]


def _ranked(i: Ints, j: Ints, cosine: Floats, k: int) -> tuple[Ints, Ints, Floats]:
    step = np.rint(cosine * _GRID).astype(np.int64)
    order = np.lexsort((j, -step, i))
    i, j, cosine = i[order], j[order], cosine[order]
    near = np.arange(len(i)) - np.searchsorted(i, i) < k
    return i[near], j[near], cosine[near]


def _none() -> tuple[Ints, Ints, Floats]:
    return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)
