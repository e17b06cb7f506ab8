"""Columns as codes: what the comparisons of edges and facts are made of. Values become numbers, groups runs of equal numbers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from rapidfuzz import fuzz, process

from slowwave.conflicts.conflict import SAID, Conflict, said_hash, seen_hash
from slowwave.mutations.cells import canonical
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.contradictions import Kind, find
from slowwave.texts.keys import keys

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

Found = list[tuple[int, int, str, dict[str, object]]]
"""Two statements, the reason why they are in conflict, and evidence."""

WINDOW: Final = 8
"""Statements of one group that are compared each with each; in a larger group each meets the seven after it in order."""

CROWD: Final = 64
"""A group of more statements is a log and no case of one against another: it is left out, and counted."""

ALIKE: Final = 85.0
"""Ratio (rapidfuzz) of two names from which they may be spellings of one."""

_NEVER: Final = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class StatementRows:
    """Statements of one table: ``first`` (n,) is the row with the smallest id that makes it, ``behind`` gives the others.

    ``of`` (m,) is the statement of each of the table's live rows; ``begins`` and ``ends`` (n,) span the valid times of all of them, in
    microseconds, an unknown one being open.
    """

    table: pa.Table
    of: Ints
    first: Ints
    begins: Ints
    ends: Ints

    @classmethod
    def fold(cls, table: pa.Table, key: Ints) -> StatementRows:
        """Rows (m,) of one key are one statement. ``table`` is in id order."""
        _, first, of = np.unique(key, return_index=True, return_inverse=True)
        count = len(first)
        begins, ends = np.full(count, _NEVER), np.full(count, -_NEVER)
        np.minimum.at(begins, of, _instants(table["valid_from"], -_NEVER))
        np.maximum.at(ends, of, _instants(table["valid_to"], _NEVER))
        return cls(table, of.astype(np.int64), first.astype(np.int64), begins, ends)

    def __len__(self) -> int:
        return len(self.first)

    def overlap(self, i: Ints, j: Ints) -> Bools:
        """(p,): the valid times of two statements overlap, or are unknown."""
        return np.maximum(self.begins[i], self.begins[j]) < np.minimum(self.ends[i], self.ends[j])

    def last(self) -> Ints:
        """(n,): when the latest row that makes a statement began to hold, else was recorded, in microseconds."""
        since = pc.coalesce(self.table["valid_from"], self.table["recorded_at"])
        latest = np.full(len(self), -_NEVER)
        np.maximum.at(latest, self.of, _instants(since, 0))
        return latest

    def texts(self, column: str, statements: Ints) -> list[str]:
        """A column of the statements' first rows; null is empty."""
        found = self.table[column].take(pa.array(self.first[statements]))
        return pc.fill_null(found, "").to_pylist()


@dataclass(slots=True)
class Tally:
    """What was looked at and what each gate left out."""

    numbers: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, count: int) -> None:
        """Add to a number, which is shown even when it is 0."""
        self.numbers[name] = self.numbers.get(name, 0) + count


def codes(column: pa.Array | pa.ChunkedArray) -> tuple[Ints, pa.Array]:
    """A column as numbers (n,) and its distinct values; null is a value."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    encoded = pc.dictionary_encode(array, null_encoding="encode")
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), encoded.dictionary


def pack(*columns: Ints) -> Ints:
    """Columns of codes (n,) as one code: equal where all are."""
    packed = columns[0]
    for column in columns[1:]:
        high, width = int(packed.max(initial=0)) + 1, int(column.max(initial=0)) + 1
        if high * width >= 2**62:
            _, packed = np.unique(packed, return_inverse=True)
            packed = packed.astype(np.int64)
        packed = packed * width + column
    return packed


def pairs_within(group: Ints, order: Ints) -> tuple[Ints, Ints, int]:
    """Pairs of positions that share a group, and how many pairs were left out.

    Each with each in groups of up to ``WINDOW``; in larger ones each position with the seven that follow it by ``order``; none in groups
    of more than ``CROWD``. So a group of b costs 7·b pairs at most.
    """
    _, inverse, sizes = np.unique(group, return_inverse=True, return_counts=True)
    every = int((sizes * (sizes - 1) // 2).sum())
    arranged = np.lexsort((order, group))
    arranged = arranged[sizes[inverse[arranged]] <= CROWD]
    sorted_group = group[arranged]
    left: list[Ints] = []
    right: list[Ints] = []
    for step in range(1, WINDOW):
        same = np.flatnonzero(sorted_group[step:] == sorted_group[:-step])
        left.append(arranged[same])
        right.append(arranged[same + step])
    i, j = np.concatenate(left), np.concatenate(right)
    return np.minimum(i, j), np.maximum(i, j), every - len(i)


def conflicts_of(rows: StatementRows, name: str, found: Found) -> list[Conflict]:
    """Statements (i, j) with reason and evidence as conflicts of their rows; the first of several about one pair stays."""
    if not found:
        return []
    statements = np.unique(np.array([(i, j) for i, j, _, _ in found], np.int64).ravel())
    members = np.flatnonzero(np.isin(rows.of, statements))
    behind: dict[int, list[str]] = {}
    first = rows.first[rows.of[members]]
    ids = rows.table["id"].take(pa.array(members)).to_pylist()
    for statement, row, lead, id_ in zip(rows.of[members].tolist(), members.tolist(), first.tolist(), ids, strict=True):
        if row != lead:
            behind.setdefault(statement, []).append(id_)
    wanted = rows.table.select(["id", *SAID[name]]).take(pa.array(rows.first[statements]))
    said = {
        statement: (str(row["id"]), said_hash(name, {k: canonical(v) for k, v in row.items()}))
        for statement, row in zip(statements.tolist(), wanted.to_pylist(), strict=True)
    }
    made: dict[tuple[str, str], Conflict] = {}
    for i, j, reason, evidence in found:
        (a, said_a), (b, said_b) = said[i], said[j]
        if a > b:
            a, b, said_a, said_b, i, j = b, a, said_b, said_a, j, i
        if (a, b) not in made:
            made[a, b] = Conflict(
                *(name, a, b, reason, seen_hash((said_a, said_b))),
                evidence={**evidence, "said": {"a": said_a, "b": said_b}},
                also_a=tuple(behind.get(i, ())),
                also_b=tuple(behind.get(j, ())),
            )
    return sorted(made.values(), key=lambda c: (c.a, c.b))


def kinds(a: Sequence[str], b: Sequence[str]) -> list[Kind | None]:
    """In what each pair of texts contradicts itself, each distinct pair looked at once."""
    pairs = [(x, y) if x <= y else (y, x) for x, y in zip(a, b, strict=True)]
    distinct = list(dict.fromkeys(pairs))
    known = dict(zip(distinct, find(distinct), strict=True))
    return [known[p] for p in pairs]


def alike(a: Sequence[str], b: Sequence[str]) -> Bools:
    """(p,): two names may be spellings of one thing, or one says more of it ("Porto", "Porto, Portugal"). In columns, by rapidfuzz."""
    if not len(a):
        return np.zeros(0, np.bool_)
    one, two = (keys(pa.array(x, pa.string())).to_pylist() for x in (a, b))
    near = process.cpdist(one, two, scorer=fuzz.ratio, score_cutoff=ALIKE, dtype=np.float32) >= ALIKE
    within = [x <= y or y <= x for x, y in ((set(p.split()), set(q.split())) for p, q in zip(one, two, strict=True))]
    return near | np.array(within, np.bool_)


def live_rows(snapshot: Snapshot, name: str) -> pa.Table:
    """Live rows in id order, in one piece."""
    return snapshot.live(name).combine_chunks()


def among(column: pa.ChunkedArray, values: Collection[str]) -> Bools:
    """(n,): whether a text is one of some."""
    return pc.is_in(column, value_set=pa.array(sorted(values), pa.string())).to_numpy(zero_copy_only=False).astype(bool)


def _instants(column: pa.ChunkedArray, unknown: int) -> Ints:
    return pc.fill_null(pc.cast(column, pa.int64()), unknown).to_numpy().astype(np.int64)
