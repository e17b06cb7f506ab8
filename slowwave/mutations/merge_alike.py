"""``merge_rows`` of rows that say the same: one row absorbs others and takes what they add.

What the survivor takes and how absorbed rows are retired belongs to ``merge_facts`` and ``merge_memories``; merges of entities, whose
relationships follow them, to ``merge_rows``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from slowwave.errors import Refused
from slowwave.mutations.cells import Cell, Guard, Value, Write
from slowwave.mutations.mutation import Mutation, Row
from slowwave.mutations.rows import Fields, as_ids, rows_by_id
from slowwave.snapshots.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Alike:
    """Rows that say the same: ``keep`` absorbs ``absorb``."""

    keep: str
    absorb: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of a table of such rows: those that ``say`` it, those that are ``merged``, and those that tell whether a row is live.

    ``active`` is the column, and its value, of rows that may be merged beside ``invalidated_at``; ``counters`` are moved to the survivor,
    ``retired`` are set on absorbed rows, None standing for the survivor's id.
    """

    table: str
    noun: str
    says: tuple[str, ...]
    merged: tuple[str, ...]
    alive: tuple[str, ...]
    active: tuple[str, Value]
    retired: Mapping[str, Value]
    counters: tuple[str, ...] = ()


def merge_alike(
    snapshot: Snapshot,
    columns: Columns,
    merges: Sequence[Alike],
    survivor: Callable[[Sequence[Fields]], Mapping[str, Value]],
) -> list[Mutation]:
    """Spell out merges, in the order given; ``survivor`` gives the merged cells of some rows, the one that is kept first.

    Groups are disjoint; rows are live and active; both are held to. Cost: one pass over the table, whatever the number of merges.
    """
    members = [m for merge in merges for m in (merge.keep, *merge.absorb)]
    if len(members) != len(set(members)):
        raise Refused(
            f"A {columns.noun} stands in two merges of one plan: groups must be disjoint. Join them or drop one."
        )
    wanted = ("external_id", "invalidated_by", *columns.counters, *columns.says, *columns.merged, *columns.alive)
    rows = rows_by_id(snapshot, columns.table, set(members), wanted)
    state, active = columns.active
    for id_ in members:
        if rows[id_]["invalidated_at"] is not None or rows[id_][state] != active:
            raise Refused(f"{columns.noun.capitalize()} {id_} is already retired; a merge takes live rows only.")
    return [_one(columns, merge, rows, survivor) for merge in merges]


def _one(
    columns: Columns,
    merge: Alike,
    rows: Mapping[str, Fields],
    survivor: Callable[[Sequence[Fields]], Mapping[str, Value]],
) -> Mutation:
    if not merge.absorb:
        raise Refused(f"The merge into {merge.keep} absorbs nothing.")
    table, keep, absorb = columns.table, rows[merge.keep], sorted(merge.absorb)
    after = survivor([keep, *(rows[a] for a in absorb)])
    writes = [Write(Cell(table, merge.keep, c), "set", keep[c], v) for c, v in after.items() if v != keep[c]]
    changed = {w.cell.column for w in writes}
    kept = (*columns.says, *(c for c in columns.merged if c not in changed), *columns.alive)
    guards = [Guard.on(table, merge.keep, keep, kept)]
    for column in columns.counters:
        if total := sum(int(str(rows[a][column])) for a in absorb):
            writes.append(Write(Cell(table, merge.keep, column), "add", None, total))
    for a in absorb:
        writes += _retired(columns, a, rows[a], merge.keep)
        guards.append(Guard.on(table, a, rows[a], (*columns.says, *columns.merged, "valid_to")))
    return Mutation(
        "merge_rows",
        table,
        writes=tuple(sorted(writes, key=lambda w: (w.cell.row, w.cell.column))),
        guards=tuple(sorted(guards, key=lambda g: g.row)),
        keep=_row(merge.keep, keep),
        absorb=tuple(_row(a, rows[a]) for a in absorb),
    )


def _retired(columns: Columns, id_: str, seen: Fields, keep: str) -> list[Write]:
    def cell(column: str) -> Cell:
        return Cell(columns.table, id_, column)

    return [
        *(Write(cell(c), "add", None, -amount) for c in columns.counters if (amount := int(str(seen[c])))),
        *(Write(cell(c), "set", seen[c], keep if v is None else v) for c, v in columns.retired.items()),
        Write(cell("invalidated_at"), "now", seen["invalidated_at"]),
        Write(cell("invalidated_by"), "item", seen["invalidated_by"]),
    ]


def _row(id_: str, fields: Fields) -> Row:
    external = fields["external_id"]
    return Row(id_, None if external is None else str(external))


def united(rows: Sequence[Fields], column: str, standing: frozenset[str]) -> tuple[str, ...]:
    """The ids of a column of all rows that still stand, each once."""
    return tuple(dict.fromkeys(i for row in rows for i in as_ids(row[column]) if i in standing))


def greatest(rows: Sequence[Fields], column: str) -> float:
    """The greatest number of a column."""
    return max(float(str(row[column])) for row in rows)


def earliest_start(rows: Sequence[Fields]) -> str | None:
    """The earliest ``valid_from``; a row without one holds since ever."""
    starts = [row["valid_from"] for row in rows]
    return None if None in starts else min(map(str, starts))
