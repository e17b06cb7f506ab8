"""Blocks of rows that share a key, n-grams of names, and rows as sparse tf-idf vectors with their near pairs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial as fixed
from itertools import groupby, pairwise
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from slowwave.matching.tiles import CandidateSearch, join

# Blocks: rows that share a key, and the pairs inside them.
#
# The members of a block are stored consecutively. If a key is about one side ("J. Smith" against every Smith with a J), *leading* members
# come first, and a pair needs one of them. Pairs are packed as i·n + j with i < j, sorted and unique.

_CHUNK_BLOCKS: Final = 4_000_000  # pairs made at a time


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Blocks of rows.

    ``rows`` (m,) are the members. For each block, ``start`` is its first member, ``size`` its size and ``leading`` the number of members
    that lead (b,).
    """

    rows: Ints
    start: Ints
    size: Ints
    leading: Ints

    def __len__(self) -> int:
        return len(self.start)

    @classmethod
    def from_codes(cls, rows: Ints, codes: Ints, leads: Flags | None = None) -> Blocks:
        """Build blocks of two or more rows from rows (m,) and the codes of their blocks (m,); all lead unless ``leads`` is given."""
        if not len(rows):
            return cls(rows, rows, rows, rows)
        n = int(rows.max()) + 1
        if int(codes.max()) * 2 * n >= 1 << 62:
            codes = np.unique(codes, return_inverse=True)[1]
        follows = np.zeros(len(rows), np.int64) if leads is None else (~leads).astype(np.int64)
        packed = np.sort((codes * n + rows) * 2 + follows)
        packed = packed[fresh(packed >> 1)]  # a row may be both a leading and a following member
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
        """Return the number of pairs in each block."""
        return self.leading * self.size - self.leading * (self.leading + 1) // 2

    def take(self, kept: Flags) -> Blocks:
        """Return the flagged blocks."""
        size = self.size[kept]
        return Blocks(self.rows[np.repeat(kept, self.size)], np.cumsum(size) - size, size, self.leading[kept])

    def touching(self, focus: Flags) -> Blocks:
        """Return the blocks that hold a row of the focus (n,)."""
        return self.take(np.add.reduceat(focus[self.rows], self.start) > 0) if len(self) else self

    def within(self, budget: float) -> tuple[Blocks, Blocks]:
        """Split the blocks into the smallest ones, with at most ``budget`` pairs in total, and the rest."""
        kept = affordable(self.pairs, budget)
        return self.take(kept), self.take(~kept)

    def all_pairs(self, n: int, focus: Flags | None = None) -> Ints:
        """Return all pairs of rows below n.

        With ``focus`` (n,), only the pairs with a row of the focus.
        """
        place = np.arange(len(self.rows)) - np.repeat(self.start, self.size)
        leads = place < np.repeat(self.leading, self.size)
        size, start = np.repeat(self.size, self.size), np.repeat(self.start, self.size)
        if focus is None:
            first, partners = np.arange(len(self.rows)) + 1, np.where(leads, size - place - 1, 0)
        else:
            meets = np.where(leads, size, np.repeat(self.leading, self.size))
            first, partners = start, np.where(focus[self.rows], meets, 0)
        total = np.concatenate([[0], np.cumsum(partners)])
        cuts = np.searchsorted(total, np.arange(0, int(total[-1]) + _CHUNK_BLOCKS, _CHUNK_BLOCKS))
        found = [np.empty(0, np.int64)]
        for low, high in pairwise(np.unique(np.append(cuts, len(partners)))):
            count = partners[low:high]
            which, place = ranges(first[low:high], count)
            found.append(packed_pairs(self.rows[low + which], self.rows[place], n))
        return unique(np.concatenate(found)) if len(found) > 2 else found[-1]


def affordable(costs: Ints, budget: float) -> Flags:
    """Flag the cheapest items whose total cost is at most ``budget``."""
    order = np.argsort(costs, kind="stable")
    kept = np.zeros(len(costs), bool)
    kept[order[: np.searchsorted(np.cumsum(costs[order]), budget, side="right")]] = True
    return kept


def ranges(first: Ints, count: Ints) -> tuple[Ints, Ints]:
    """Return (which, place): the places ``first``, ``first`` + 1, … of every range, ``count`` of them."""
    which = np.repeat(np.arange(len(count)), count)
    return which, np.arange(len(which)) + np.repeat(first - np.cumsum(count) + count, count)


def packed_pairs(i: Ints, j: Ints, n: int) -> Ints:
    """Return pairs as i·n + j with i < j, sorted and unique, without pairs of a row with itself."""
    apart = i != j
    i, j = i[apart], j[apart]
    return unique(np.minimum(i, j) * n + np.maximum(i, j))


def unique(values: Ints) -> Ints:
    """Return the sorted distinct values; much faster here than ``numpy.unique``, which hashes."""
    values = np.sort(values)
    return values[fresh(values)]


def fresh(ordered: Ints) -> Flags:
    """Flag the values that differ from the one before."""
    return np.r_[True, ordered[1:] != ordered[:-1]] if len(ordered) else np.zeros(0, bool)


# Rows as tf-idf unit vectors of sparse features, and the pairs of rows that are near each other.
#
# A feature is a word or a group of letters within one entity type. Joins multiply sparse matrices, so their cost is counted in
# multiply-adds: a row of the query meets every row of each posting list of its features. ``work`` limits that for every row: its rarest
# features come first, and those that no longer fit are left out of the product. By Cauchy-Schwarz the omitted features still give a bound
# of the cosine. ``slowwave.matching.candidates`` chooses the features.

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Reals = NDArray[np.float32]
_T = TypeVar("_T")
_R = TypeVar("_R")
Read = Callable[[int, int], tuple[Ints, Ints]]
"""Rows from ``low`` to ``high`` (exclusive) → (rows, tokens), one entry for every occurrence of a token in a row."""

_WORKERS: Final = os.cpu_count() or 1
_CHUNK: Final = 1_024  # rows multiplied at a time
_PRODUCTS: Final = 2_000_000  # sums of a chunk
_READ: Final = 16_384  # rows parsed at a time
_SPANS: Final = 12  # parts of rows that share an index of the rows after them; pairs within a part are multiplied twice
_SPAN: Final = 2_048  # minimum number of rows of a part
_BUCKETS: Final = 1 << 24  # more features than that share numbers by hashing
_NONZEROS: Final = 24_000_000  # entries of a matrix: large populations keep the rarest features of each row
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_SLACK: Final = 1e-5  # rounding of sums in float32
_FREQUENT: Final = 256  # number of features that a bound covers before they are multiplied
_REACHED: Final = 40  # pairs per row within that bound from which on full products are cheaper than one sum per pair
_SHARE: Final = 0.8  # share of the required cosine that the rarest features alone must reach


@dataclass(frozen=True, slots=True, eq=False)
class TfIdfRows:
    """Tf-idf rows: an (n, features) float32 matrix of unit rows of types ``kind`` (n,).

    Features are numbered from the rarest up, and ``frequency`` is the number of rows with each feature. Features of a single row are left
    out, though they count towards the length of the row.
    """

    kind: Ints
    matrix: Any
    frequency: Ints

    @classmethod
    def from_reader(cls, kind: Ints, read: Read, tokens: int) -> TfIdfRows:
        """Read the rows twice, the first time to count.

        ``kind`` (n,) is the type of each row, ``tokens`` the number of different tokens.
        """
        source = _Source(kind, read, tokens, int(kind.max(initial=0)) + 1)
        frequency, weight = source.weigh()
        several = np.flatnonzero(frequency > 1)
        order = several[np.argsort(frequency[several], kind="stable")]
        place = np.full(len(frequency), -1, np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        frequency = frequency[order].astype(np.int64)
        longest = max(16, _NONZEROS // max(len(kind), 1))

        def weighed(low: int) -> tuple[Ints, NDArray[np.int32], Reals]:
            rows, features, times = source.entries(low)
            size = min(_READ, len(kind) - low)
            data = np.sqrt(times).astype(np.float32) * weight[features]
            data /= np.sqrt(np.bincount(rows, data * data, size))[rows].astype(np.float32)
            column = place[features]
            shared = column >= 0
            rows, column, data = rows[shared], column[shared], data[shared]
            by_rarity = np.argsort((rows << 32) | column, kind="stable")
            rarest = np.arange(len(rows)) - np.searchsorted(rows, rows) < longest
            at = by_rarity[rarest]
            return np.bincount(rows[rarest], minlength=size), column[at], data[at]

        parts = list(_each(weighed, source.starts))
        ends = np.cumsum(np.concatenate([np.zeros(1, np.int64), *(p[0] for p in parts)]))
        indices = np.concatenate([np.empty(0, np.int32), *(p[1] for p in parts)])
        data = np.concatenate([np.empty(0, np.float32), *(p[2] for p in parts)])
        ends = ends.astype(np.int32 if len(data) < 1 << 31 else np.int64)
        return cls(kind, sparse.csr_matrix((data, indices, ends), shape=(len(kind), len(order))), frequency)

    def take(self, rows: Ints) -> TfIdfRows:
        """Return some of the rows, with the weights learnt from all rows."""
        return self if len(rows) == len(self.kind) else TfIdfRows(self.kind[rows], self.matrix[rows], self.frequency)

    def cosines(self, i: Ints, j: Ints) -> Reals:
        """Return the cosines (p,) of pairs of rows."""
        return _dots(self.matrix, i, self.matrix, j)

    def near(self, cosine: float, work: float, most: int, focus: Flags | None = None) -> tuple[Ints, Ints, int]:
        """Find pairs i, j with a cosine ≥ ``cosine``, and count the rows that have more than ``most``.

        For every row, at most the ``most`` nearest of the rows after it are returned. With ``focus`` (n,), the nearest of all rows are
        returned for the rows of the focus. If no row costs more than ``work`` multiply-adds, no other pair is missed. Otherwise a pair
        that agrees only in its most frequent features may be missed.
        """
        search = self.near_search(cosine, work, most, focus)
        i, j, cut = search.find(range(len(search.cost)), _WORKERS)
        return i, j, int(cut.sum())

    def near_search(self, cosine: float, work: float, most: int, focus: Flags | None = None) -> CandidateSearch:
        """Prepare the search of ``near``; a piece is some rows, and its result i, j and the number of rows with more."""
        query, kept, lost = self._rarest(work)
        least = _least(kept, lost, cosine)
        rare, rest, heavy = self._split_frequent(query, least)
        tables = {
            **_columns("matrix", self.matrix),
            **_columns("query", query),
            **_columns("rare", rare),
            **{
                "least": least,
                "rest": rest,
                "heavy": heavy,
                "kind": self.kind,
                "features": np.array(self.matrix.shape[1:]),
            },
            **{"cosine": np.array([cosine]), "size": np.array([self._rows_of_piece(work)]), "most": np.array([most])},
            **({} if focus is None else {"focus": focus}),
        }
        n = len(self.kind)
        cost = [len(rows) * (n - first) for rows, first in _pieces(n, self._rows_of_piece(work), focus)]
        return CandidateSearch("near", tables, np.array(cost, np.float64))

    def nearest(
        self, k: int, floor: float, work: float, focus: Flags | None = None, *, crowd: int = 0, alike: float = 1.0
    ) -> tuple[Ints, Ints]:
        """Find pairs (i, j): for every row i (of ``focus``) the k rows j with the highest cosine of at least ``floor``.

        In addition up to ``crowd`` rows with a cosine ≥ ``alike``. Only the features that fit into ``work`` multiply-adds are used. A
        pair may be found from both of its rows.
        """
        search = self.nearest_search(k, floor, work, focus, crowd=crowd, alike=alike)
        i, j = search.find(range(len(search.cost)), _WORKERS)
        return i, j

    def nearest_search(
        self, k: int, floor: float, work: float, focus: Flags | None = None, *, crowd: int = 0, alike: float = 1.0
    ) -> CandidateSearch:
        """Prepare the search of ``nearest``; a piece is some rows, and its result i and j."""
        query, _, _ = self._rarest(work)
        rows = np.arange(len(self.kind)) if focus is None else np.flatnonzero(focus)
        size = self._rows_of_piece(work)
        tables = {
            **_columns("query", query),
            **_columns("index", self.matrix.T.tocsr()),
            **{"kind": self.kind, "rows": rows, "features": np.array(self.matrix.shape[1:]), "size": np.array([size])},
            **{"k": np.array([k]), "floor": np.array([floor]), "crowd": np.array([crowd]), "alike": np.array([alike])},
        }
        return CandidateSearch("nearest", tables, np.ones(-(-len(rows) // size)))

    def _rarest(self, work: float) -> tuple[Any, Reals, Reals]:
        """Return the rows reduced to their rarest features, up to a cost of ``work``, with the squared lengths kept and lost."""
        matrix = self.matrix
        sizes = np.diff(matrix.indptr)
        cost = np.concatenate([[0], np.cumsum(self.frequency[matrix.indices])])
        fits = cost[1:] - np.repeat(cost[matrix.indptr[:-1]], sizes) <= work
        ends = np.concatenate([[0], np.cumsum(fits)])[matrix.indptr].astype(matrix.indptr.dtype)
        query = sparse.csr_matrix((matrix.data[fits], matrix.indices[fits], ends), shape=matrix.shape)
        kept, whole = (np.asarray(m.multiply(m).sum(axis=1), np.float32).ravel() for m in (query, matrix))
        return query, kept, np.maximum(whole - kept, 0)

    def _split_frequent(self, query: Any, least: Reals) -> tuple[Any, Reals, Reals]:
        """Remove the most frequent features, which cause most of the cost, from the query.

        Rows that could reach ``least`` by these features alone keep them. Also returns the length that each row of the query lost, and
        the length of each row of the matrix in these features.
        """
        frequent = np.arange(self.matrix.shape[1]) >= self.matrix.shape[1] - _FREQUENT

        def length(matrix: Any) -> Reals:
            return np.sqrt(np.asarray(matrix.multiply(matrix) @ frequent.astype(np.float32), np.float32)).ravel()

        heavy, rest = length(self.matrix), length(query)
        rest[rest * heavy.max(initial=0) >= least - 2 * _SLACK] = 0
        left = ~frequent[query.indices] | np.repeat(rest == 0, np.diff(query.indptr))
        ends = np.concatenate([[0], np.cumsum(left)])[query.indptr].astype(query.indptr.dtype)
        rare = sparse.csr_matrix((query.data[left], query.indices[left], ends), shape=query.shape)
        return rare, rest, heavy

    def _rows_of_piece(self, work: float) -> int:
        """Return the number of rows whose products fit into a chunk."""
        return int(np.clip(_PRODUCTS // max(min(work, self.matrix.shape[0]), 1), 16, _CHUNK))


def find_near(tables: Mapping[str, Any], pieces: range, threads: int) -> tuple[Ints, Ints, Ints]:
    """Find the pairs of consecutive pieces of a ``near_search``: i, j (p,), and for each piece how many rows have more."""
    kind, least, rest, heavy = tables["kind"], tables["least"], tables["rest"], tables["heavy"]
    cosine, most, size = float(tables["cosine"][0]), int(tables["most"][0]), int(tables["size"][0])
    n, features, focus = len(kind), int(tables["features"][0]), tables.get("focus")
    matrix, query, rare = (_matrix(tables, name, (n, features)) for name in ("matrix", "query", "rare"))

    def pairs(rows: Ints, index: Any, first: int) -> tuple[Ints, Ints, Ints]:
        at, j = _within_reach(rare[rows], index, least[rows] - _SLACK, rest[rows], heavy[first:])
        if len(at) > _REACHED * len(rows):
            at, j, partial = _product(query, rows, index, least[rows])
        else:
            partial = _dots(query, rows[at], matrix, j + first)
        j += first
        new = (j > rows[at] if focus is None else j != rows[at]) & (kind[j] == kind[rows[at]])
        good = new & (partial >= least[rows[at]])
        at, j, _ = _best(at[good], j[good], partial[good], 2 * most)
        true = _dots(matrix, rows[at], matrix, j)
        good = true >= cosine - _SLACK
        at, j, cut = _best(at[good], j[good], true[good], most)
        return rows[at], j, np.array([cut])

    empty = np.empty(0, np.int64)
    found: list[tuple[Any, ...]] = [(empty, empty, empty)]
    asked = list(_pieces(n, size, focus))[pieces.start : pieces.stop]
    for first, group in groupby(asked, key=lambda piece: piece[1]):
        index = matrix[first:].T.tocsr()
        found += _each(fixed(pairs, index=index, first=first), [rows for rows, _ in group], threads)
    i, j, cut = join(found)
    return i, j, cut


def find_nearest(tables: Mapping[str, Any], pieces: range, threads: int) -> tuple[Ints, Ints]:
    """Find the pairs i, j (p,) of consecutive pieces of a ``nearest_search``."""
    kind, size, k, crowd = tables["kind"], *(int(tables[name][0]) for name in ("size", "k", "crowd"))
    features, floor, alike = int(tables["features"][0]), np.float32(tables["floor"][0]), float(tables["alike"][0])
    query = _matrix(tables, "query", (len(kind), features))
    index = _matrix(tables, "index", (features, len(kind)))

    def pairs(rows: Ints) -> tuple[Ints, Ints]:
        at, j, partial = _product(query, rows, index, np.full(len(rows), floor, np.float32))
        other = (j != rows[at]) & (kind[j] == kind[rows[at]])
        at, j, partial = at[other], j[other], partial[other]
        near = partial >= alike
        some = [_best(at, j, partial, k), _best(at[near], j[near], partial[near], crowd)]
        return np.concatenate([rows[at] for at, _, _ in some]), np.concatenate([j for _, j, _ in some])

    empty = np.empty(0, np.int64)
    asked = [tables["rows"][piece * size : (piece + 1) * size] for piece in pieces]
    i, j = join([(empty, empty), *_each(pairs, asked, threads)])
    return i, j


def _columns(name: str, matrix: Any) -> dict[str, NDArray[Any]]:
    """Return the arrays of a sparse matrix under names of their own; ``_matrix`` makes it of them again."""
    return {f"{name}_data": matrix.data, f"{name}_indices": matrix.indices, f"{name}_ends": matrix.indptr}


def _matrix(tables: Mapping[str, Any], name: str, shape: tuple[int, int]) -> Any:
    parts = tables[f"{name}_data"], tables[f"{name}_indices"], tables[f"{name}_ends"]
    return sparse.csr_matrix(parts, shape=shape, copy=False)


@dataclass(frozen=True, slots=True, eq=False)
class _Source:
    """A source of rows: ``kind`` (n,) below ``kinds``, tokens below ``tokens``."""

    kind: Ints
    read: Read
    tokens: int
    kinds: int

    @property
    def starts(self) -> range:
        """Return the first row of each part."""
        return range(0, len(self.kind), _READ)

    def entries(self, low: int) -> tuple[Ints, Ints, Ints]:
        """Return (row from ``low`` on, feature, count) of the part that begins at ``low``, in the order of rows."""
        rows, token = self.read(low, min(low + _READ, len(self.kind)))
        feature = token * self.kinds + self.kind[rows]  # a separate feature for each type
        if self.tokens * self.kinds > _BUCKETS:
            feature = ((feature.astype(np.uint64) * _MIX) >> np.uint64(40)).astype(np.int64)
        packed = np.sort(((rows - low) << 24) | feature)
        first = np.flatnonzero(fresh(packed))
        packed, times = packed[first], np.diff(np.append(first, len(packed)))
        return packed >> 24, packed & (_BUCKETS - 1), times

    def weigh(self) -> tuple[NDArray[np.int32], Reals]:
        """Return for each feature the number of rows that hold it, and ln(1 + rows of the type / that number)."""
        size = min(self.tokens * self.kinds, _BUCKETS)
        frequency, of_type = np.zeros(size, np.int32), np.zeros(size, np.int32)
        members = np.bincount(self.kind, minlength=self.kinds)
        for low, (rows, features, _) in zip(self.starts, _each(self.entries, self.starts), strict=True):
            np.add.at(frequency, features, np.int32(1))
            of_type[features] = members[self.kind[rows + low]]
        return frequency, np.log1p(np.divide(of_type, np.maximum(frequency, 1), dtype=np.float32))


def _least(kept: Reals, lost: Reals, cosine: float) -> Reals:
    """Return the sum that the rarest features of a row must reach so that all features may reach ``cosine``.

    It is the larger of two values: the Cauchy-Schwarz bound kept + rest·sin ≥ cosine, solved for the part that is kept, and a share of
    the sum that the kept features would have if agreement were equal in all features.
    """
    whole = np.sqrt(kept + lost)
    angle = np.arctan2(np.sqrt(lost), np.sqrt(kept)) + np.arccos(np.minimum(cosine / np.maximum(whole, 1e-6), 1))
    bound = np.sqrt(kept) * np.cos(np.minimum(angle, np.pi / 2))
    share = _SHARE * cosine * kept / np.maximum(kept + lost, 1e-6)
    return np.where(whole < cosine - _SLACK, np.inf, np.maximum(bound, share) - _SLACK).astype(np.float32)


def _product(query: Any, rows: Ints, index: Any, least: Reals) -> tuple[Ints, Ints, Reals]:
    """Return (place in ``rows``, column, sum) of the rows of a query times an index.

    Only sums that are positive and reach ``least`` are returned.
    """
    part = (query[rows] @ index).tocsr()
    hits = np.flatnonzero(part.data >= max(least.min(initial=np.inf), _SLACK))  # few of many entries
    at = np.searchsorted(part.indptr, hits, side="right") - 1
    good = part.data[hits] >= least[at]
    at, hits = at[good], hits[good]
    return at, part.indices[hits].astype(np.int64), part.data[hits]


def _within_reach(part: Any, index: Any, least: Reals, rest: Reals, heavy: Reals) -> tuple[Ints, Ints]:
    """Find the (row, column) entries of a part (m, features) of a query times an index that may reach ``least`` (m,).

    By Cauchy-Schwarz, the features left out of the part add at most the product of ``rest`` (m,) and ``heavy`` (columns,).
    """
    sums = (part @ index).tocsr()
    bound = heavy[sums.indices]
    sizes = np.diff(sums.indptr)
    bound *= np.repeat(rest, sizes)
    bound += sums.data
    hits = np.flatnonzero(bound >= np.repeat(least, sizes))
    return np.searchsorted(sums.indptr, hits, side="right") - 1, sums.indices[hits].astype(np.int64)


def _dots(a: Any, i: Ints, b: Any, j: Ints) -> Reals:
    """Return the products (p,) of rows i of one matrix with rows j of another."""
    return np.asarray(a[i].multiply(b[j]).sum(axis=1), np.float32).ravel()


def _best(at: Ints, j: Ints, score: Reals, most: int) -> tuple[Ints, Ints, int]:
    """Return for each ``at`` the ``most`` j with the highest scores (≤ 1), and how many ``at`` have more.

    Of equal scores the lower j comes first.
    """
    distance = ((1 - np.clip(score, 0, 1)) * 0xFFFF).astype(np.int64)
    packed = np.sort((at << 48) | (distance << 32) | j)
    at = packed >> 48
    rank = np.arange(len(at)) - np.searchsorted(at, at)
    near = rank < most
    return at[near], packed[near] & 0xFFFFFFFF, int(np.count_nonzero(rank == most))


def _pieces(n: int, size: int, focus: Flags | None) -> Iterator[tuple[Ints, int]]:
    """Yield up to ``size`` rows, and the first row of those that they are joined with, which is equal for many pieces.

    Each pair is compared once. Rows of a focus are joined with all rows.
    """
    span = max(_SPAN, -(-n // _SPANS))
    spans = [(np.arange(low, min(low + span, n)), low) for low in range(0, n, span)]
    for rows, first in spans if focus is None else [(np.flatnonzero(focus), 0)]:
        for k in range(0, len(rows), size):
            yield rows[k : k + size], first


def _each(work: Callable[[_T], _R], items: Iterable[_T], threads: int = _WORKERS) -> Iterator[_R]:
    if threads == 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(work, items)


# Character n-grams of names: their trigrams, and the names with one letter left out, as numbers.
#
# Two names that differ by one inserted, lost, changed or swapped letter share a form with one letter left out (the deletion neighbourhood
# of SymSpell; Mor and Fraenkel 1982). This finds spelling mistakes among any number of names.

_STEP: Final = 0x9E3779B97F4A7C15  # odd, so that it has an inverse modulo 2^64
_BACK: Final = pow(_STEP, -1, 1 << 64)


@dataclass(frozen=True, slots=True, eq=False)
class CharacterNgrams:
    """The characters of n texts as numbers below ``alphabet``; ``ends`` (n + 1,) are the boundaries of the texts."""

    codes: NDArray[np.int32]
    ends: Ints
    alphabet: int

    @classmethod
    def from_texts(cls, texts: NDArray[np.object_]) -> CharacterNgrams:
        """Assign numbers to the letters of ``texts`` in Unicode order."""
        points = np.frombuffer("".join(texts.tolist()).encode("utf-32-le", "surrogatepass"), np.uint32)
        seen = np.zeros(0x110000, bool)
        seen[points] = True
        number = np.cumsum(seen, dtype=np.int32) - 1
        ends = np.concatenate([[0], np.cumsum([len(t) for t in texts])]).astype(np.int64)
        return cls(number[points], ends, int(seen.sum()))

    def triples(self, low: int, high: int) -> tuple[Ints, Ints]:
        """Return (text, trigram) for texts from ``low`` to ``high`` (exclusive); trigrams are below alphabet³."""
        codes = self.codes[self.ends[low] : self.ends[high]].astype(np.int64)
        owner = np.repeat(np.arange(low, high), np.diff(self.ends[low : high + 1]))
        groups = (codes[:-2] * self.alphabet + codes[1:-1]) * self.alphabet + codes[2:]
        whole = owner[:-2] == owner[2:]
        return owner[:-2][whole], groups[whole]

    def deletions(self, low: int, high: int) -> tuple[Ints, NDArray[np.uint64]]:
        """Return (text, hash) for texts from ``low`` to ``high`` (exclusive), each whole and with each of its letters left out."""
        codes = self.codes[self.ends[low] : self.ends[high]].astype(np.uint64)
        size = np.diff(self.ends[low : high + 1])
        owner = np.repeat(np.arange(high - low), size)
        start = self.ends[low:high] - self.ends[low]
        powers = np.cumprod(np.full(int(size.max(initial=0)) + 1, _STEP, np.uint64))
        letters = (codes + np.uint64(1)) * np.uint64(0xBF58476D1CE4E5B9)
        letters ^= letters >> np.uint64(31)
        terms = letters * powers[np.arange(len(codes)) - start[owner]]
        total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms)])
        before = total[:-1] - total[start][owner]  # sum of the letters before each letter
        whole = total[start + size] - total[start]
        without = before + (whole[owner] - before - terms) * np.uint64(_BACK)
        return np.concatenate([np.arange(low, high), owner + low]), np.concatenate([whole, without])
