"""Blocks: rows that share a key, and the pairs inside them.

Members stand block after block. Where a key is about one side ("J. Smith" against every Smith with a J), *leading* members come
first, and a pair needs one of them. Pairs are packed as i·n + j with i < j, sorted and unique.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

_CHUNK: Final = 4_000_000  # pairs made at a time


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """``rows`` (m,) of the members; for each block where it starts, its ``size`` and how many members lead (b,)."""

    rows: Ints
    start: Ints
    size: Ints
    leading: Ints

    def __len__(self) -> int:
        return len(self.start)

    @classmethod
    def of(cls, rows: Ints, codes: Ints, leads: Flags | None = None) -> Blocks:
        """Rows (m,) with the codes of their blocks (m,) → blocks of two and more rows; all members lead unless given."""
        if not len(rows):
            return cls(rows, rows, rows, rows)
        n = int(rows.max()) + 1
        if int(codes.max()) * 2 * n >= 1 << 62:
            codes = np.unique(codes, return_inverse=True)[1]
        follows = np.zeros(len(rows), np.int64) if leads is None else (~leads).astype(np.int64)
        packed = np.sort((codes * n + rows) * 2 + follows)
        packed = packed[fresh(packed >> 1)]  # who leads and follows leads
        member, follows = packed >> 1, packed & 1
        if leads is not None:
            packed = np.sort((member // n * 2 + follows) * n + member % n)
            member, follows = packed // (2 * n) * n + packed % n, packed // n & 1
        codes, rows = member // n, member % n
        start = np.flatnonzero(fresh(codes))
        size = np.diff(np.append(start, len(codes)))
        leading = size - np.add.reduceat(follows, start)
        return cls(rows, start, size, leading).take((size > 1) & (leading > 0))

    @property
    def pairs(self) -> Ints:
        """Pairs in each block."""
        return self.leading * self.size - self.leading * (self.leading + 1) // 2

    def take(self, kept: Flags) -> Blocks:
        """Some of the blocks."""
        size = self.size[kept]
        return Blocks(self.rows[np.repeat(kept, self.size)], np.cumsum(size) - size, size, self.leading[kept])

    def touching(self, focus: Flags) -> Blocks:
        """The blocks with a row of the focus (n,)."""
        return self.take(np.add.reduceat(focus[self.rows], self.start) > 0) if len(self) else self

    def within(self, budget: float) -> tuple[Blocks, Blocks]:
        """The smallest blocks that have no more than ``budget`` pairs together, and the rest."""
        kept = affordable(self.pairs, budget)
        return self.take(kept), self.take(~kept)

    def all_pairs(self, n: int, focus: Flags | None = None) -> Ints:
        """All pairs of rows below n; with ``focus`` (n,) those with a row of it."""
        place = np.arange(len(self.rows)) - np.repeat(self.start, self.size)
        leads = place < np.repeat(self.leading, self.size)
        size, start = np.repeat(self.size, self.size), np.repeat(self.start, self.size)
        if focus is None:
            first, partners = np.arange(len(self.rows)) + 1, np.where(leads, size - place - 1, 0)
        else:
            meets = np.where(leads, size, np.repeat(self.leading, self.size))
            first, partners = start, np.where(focus[self.rows], meets, 0)
        total = np.concatenate([[0], np.cumsum(partners)])
        cuts = np.searchsorted(total, np.arange(0, int(total[-1]) + _CHUNK, _CHUNK))
        found = [np.empty(0, np.int64)]
        for low, high in pairwise(np.unique(np.append(cuts, len(partners)))):
            count = partners[low:high]
            which, place = ranges(first[low:high], count)
            found.append(packed_pairs(self.rows[low + which], self.rows[place], n))
        return unique(np.concatenate(found)) if len(found) > 2 else found[-1]


def affordable(costs: Ints, budget: float) -> Flags:
    """The cheapest things that cost no more than ``budget`` together."""
    order = np.argsort(costs, kind="stable")
    kept = np.zeros(len(costs), bool)
    kept[order[: np.searchsorted(np.cumsum(costs[order]), budget, side="right")]] = True
    return kept


def ranges(first: Ints, count: Ints) -> tuple[Ints, Ints]:
    """(which, place): the places ``first``, ``first`` + 1, … of every range, ``count`` of them."""
    which = np.repeat(np.arange(len(count)), count)
    return which, np.arange(len(which)) + np.repeat(first - np.cumsum(count) + count, count)


def packed_pairs(i: Ints, j: Ints, n: int) -> Ints:
    """Pairs as i·n + j with i < j, sorted and unique; a row with itself is no pair."""
    apart = i != j
    i, j = i[apart], j[apart]
    return unique(np.minimum(i, j) * n + np.maximum(i, j))


def unique(values: Ints) -> Ints:
    """Sorted distinct values; much faster here than ``numpy.unique``, which hashes."""
    values = np.sort(values)
    return values[fresh(values)]


def fresh(ordered: Ints) -> Flags:
    """Which values differ from the one before."""
    return np.r_[True, ordered[1:] != ordered[:-1]] if len(ordered) else np.zeros(0, bool)
