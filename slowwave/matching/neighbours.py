"""The nearest rows of every row: exact, from the floor up, in bounded memory however many rows are near each other.

Where few pairs reach the floor they all come from ``slowwave.matching.vectors``; where that would be too many, tiles are multiplied in
full and each row keeps the best that it has seen. What neighbours are good for belongs to the callers.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from threading import Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray

from slowwave.matching.blas import one_thread
from slowwave.matching.vectors import cosines, pairs_above, share_above, unit_rows

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

FEW: Final = 2_000_000
"""Expected pairs up to which all of them are held: some 120 bytes each."""

_HEIGHT, _WIDTH = 1_024, 2_048  # of a tile
_GRID: Final = 100_000.0  # cosines are ranked in steps of 1e-5, which float32 products of tiles do not blur
_SLACK: Final = np.float32(2e-5)
_SMALL: Final = 1_024  # rows of a block that is multiplied as a whole
_HELD: Final = 8_192  # rows of such blocks that are read at a time
_CROWDED: Final = 8  # times k rows of a tile that reach a row's limit, from which the tile is partitioned


def neighbours(
    matrix: NDArray[np.floating], k: int, floor: float, rows: Ints | None = None, workers: int | None = None
) -> tuple[Ints, Ints, Floats]:
    """(n, d) vectors → (i, j, cosine), (p,) each: for every row i its ``k`` rows j of the greatest cosine ≥ ``floor`` (> 0), nearest first.

    Sorted by i. Equal cosines (to 1e-5) go by the smaller j. With ``rows`` (m,) only those rows are compared, and i and j are places in
    ``rows``. Rows that are zero or not finite have none. Time grows with n² · d; where few pairs are near, with n² and a share of d.
    Memory beyond the matrix: 16 bytes · n · k, and either 120 bytes for each of some ``FEW`` pairs or 80 MB a worker; rows that are not
    of unit length are copied.
    """
    if k < 1 or not matrix.size:
        return _none()
    n = len(matrix if rows is None else rows)
    possible = n * (n - 1) / 2
    if possible <= FEW or share_above(matrix, floor, rows=rows) * possible <= FEW:
        a, b, score = pairs_above(matrix, floor, rows, workers)
        return _ranked(np.concatenate([a, b]), np.concatenate([b, a]), np.concatenate([score, score]), k)
    units, kept = unit_rows(matrix if rows is None else matrix[rows])
    best = _Best.of(len(units), k, floor)
    tiles = [(t, left) for t in range(0, len(units), _HEIGHT) for left in range(t, len(units), _WIDTH)]
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
    """``neighbours`` of ``rows`` (m,) within each block, whose number ``block`` (m,) says; i and j are places in ``rows``.

    Small blocks are multiplied one after the other on one thread. Time: some 20 µs a block, and that of the products.
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
    """The neighbours within each of some small blocks."""
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
    """Neighbours as pairs i < j, each once, sorted."""
    low, high = np.minimum(i, j), np.maximum(i, j)
    order = np.lexsort((high, low))
    low, high, cosine = low[order], high[order], cosine[order]
    new = np.ones(len(low), bool)
    new[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    return low[new], high[new], cosine[new]


@dataclass(frozen=True, slots=True, eq=False)
class _Best:
    """The best rows seen of each row: ``place`` (n, k), -1 where none, and ``step`` (n, k), their cosines on the grid, worst last."""

    place: Ints
    step: Ints
    floor: float
    lock: Lock

    @classmethod
    def of(cls, n: int, k: int, floor: float) -> _Best:
        return cls(np.full((n, k), -1), np.full((n, k), -1), floor - float(_SLACK), Lock())

    def meet(self, units: Floats, top: int, left: int) -> None:
        """Compare the rows of a tile with those to the right of it; where it lies on the diagonal, each pair once."""
        products = units[top : top + _HEIGHT] @ units[left : left + _WIDTH].T
        if top == left:
            products[np.tril_indices(len(products), 0, products.shape[1])] = -2
        self._take(products, top, left, turned=False)
        self._take(products, left, top, turned=True)

    def _take(self, products: Floats, top: int, left: int, *, turned: bool) -> None:
        """Rows from ``top`` on see rows from ``left`` on; ``turned`` when they are the columns of the products."""
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
        """(height,): cosines below which a row from ``left`` on changes nothing; of equals the smaller place stays."""
        with self.lock:
            place, step = self.place[top : top + height, -1], self.step[top : top + height, -1].copy()
            first = (place >= 0) & (place < left)
        return np.maximum((step + np.where(first, 0.4, -0.6)) / _GRID, self.floor).astype(np.float32)

    def pairs(self) -> tuple[Ints, Ints]:
        held = self.place >= 0
        return np.nonzero(held)[0].astype(np.int64), self.place[held]


def _marked(marks: NDArray[np.bool_]) -> Ints:
    """Flat places of the marks, which are few: most are skipped eight at a time."""
    flat = marks.ravel()
    if len(flat) % 8:
        return np.flatnonzero(flat)
    eights = np.flatnonzero(flat.view(np.uint64))
    at = np.flatnonzero(flat.reshape(-1, 8)[eights])
    return eights[at >> 3] * 8 + (at & 7)


def _crowd(products: Floats, limits: Floats, k: int) -> tuple[Ints, Ints, Ints]:
    """(row, column, step) of the k best of each row of a tile from its limit up, of equals those further left."""
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
