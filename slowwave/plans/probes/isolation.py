"""The isolation probe (a plan names no row outside its namespace), and the chains of merged rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final, cast

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.changes.cells import CLAIMS, RELATIONSHIPS, TOLD, VIRTUAL, Value, inserted_id
from slowwave.changes.mutation import ERASURES, NOT_IN_SNAPSHOTS, erased
from slowwave.plans.items import Item
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.tables import VECTORS

# Isolation: a plan names no row outside its namespace.
#
# A snapshot holds all rows of one namespace, live or not, so a row that a plan names and the snapshot lacks is foreign. The probe checks
# the rows that mutations are about, write, guard, delete and insert, and the rows to which written and inserted values refer. Values that
# a plan only *saw* are not checked: a provenance array may hold ids of missing rows, and cleaning it is allowed.

_REFERENCES: Final[Mapping[str, str]] = {
    "source_chunk_ids": "chunks",
    "source_document_ids": "documents",
    "document_id": "documents",
    "entity_id": "entities",
    "source_entity_id": "entities",
    "target_entity_id": "entities",
    "member_ids": "entities",
    "memory_id": "memories",
    "current_version_id": "memory_versions",
    "superseded_by": "memory_facts",
    "corpus_id": "corpora",
    "version_of": "documents",
    "target_document_id": "documents",
    "claim_id": "memories",
    "other_id": "memories",
    "evidence_id": "documents",
    RELATIONSHIPS: "relationships",
    CLAIMS: "memories",
    TOLD: "memory_versions",
}
"""Column → the table that its values name; ``merged_into`` names its own table."""


@dataclass(frozen=True, slots=True, order=True)
class ForeignRow:
    """A row that an item names and the namespace does not have."""

    item: str
    table: str
    row: str


@dataclass(frozen=True, slots=True)
class IsolationProbe:
    """The result of the isolation probe.

    ``cells`` is the number of cells that items write, guard, insert or delete; ``foreign`` are the rows they name outside the namespace,
    sorted.
    """

    cells: int
    foreign: tuple[ForeignRow, ...]

    @property
    def passed(self) -> bool:
        """Return whether every row belongs to the namespace."""
        return not self.foreign

    def to_json(self) -> dict[str, object]:
        """Return the form that plans store and show."""
        return {"cells": self.cells, "foreign": [asdict(f) for f in self.foreign], "passed": self.passed}

    def sentence(self) -> str:
        """Return a sentence for an operator."""
        if self.passed:
            return f"All {self.cells:,} changed values are in this namespace."
        items = len({f.item for f in self.foreign})
        return (
            f"{items:,} items name {len(self.foreign):,} rows of another namespace ({self.cells:,} changed values checked): "
            "the plan must not be approved. Run the night again; if it happens again, the planner is at fault."
        )


def isolation_probe(snapshot: Snapshot, items: Sequence[Item]) -> IsolationProbe:
    """Look up every row that ``items`` name, table by table.

    Rows that the plan itself inserts belong to the namespace.
    """
    cells = 0
    named: dict[str, set[str]] = defaultdict(set)
    for item in items:
        mutation = item.mutation
        cells += (
            len(mutation.writes)
            + sum(len(g.columns) for g in mutation.guards)
            + sum(len(i.values) for i in mutation.inserts)
        )
        cells += sum(len(d.seen) for d in mutation.deletes)
        for table, row in _rows(item):
            named[VECTORS.get(table, table)].add(row)
    missing = {(table, row) for table, rows in named.items() for row in _missing(snapshot, table, rows)}
    if missing:  # rows that the plan itself inserts do not count
        missing -= {
            (insert.table, insert.row or inserted_id(item.id, n))
            for item in items
            for n, insert in enumerate(item.mutation.inserts)
            if insert.table not in VECTORS
        }
    foreign = {
        ForeignRow(item.id, VECTORS.get(table, table), row)
        for item in (items if missing else ())
        for table, row in _rows(item)
        if (VECTORS.get(table, table), row) in missing
    }
    return IsolationProbe(cells, tuple(sorted(foreign)))


def _rows(item: Item) -> Iterator[tuple[str, str]]:
    """Yield (table, row) of everything that an item names, with repetitions."""
    mutation = item.mutation
    if mutation.table == ERASURES:
        yield from (named for named in erased(mutation) if named[0] not in NOT_IN_SNAPSHOTS)
    else:
        yield from ((mutation.table, row) for row in mutation.row_ids())
    for write in mutation.writes:
        yield write.cell.table, write.cell.row
        if write.action != "row":
            yield from _referred(write.cell.table, write.cell.column, write.value)
    for guard in mutation.guards:
        yield guard.table, guard.row
        for column in VIRTUAL.intersection(guard.columns):
            yield from _referred(guard.table, column, guard.seen[guard.columns.index(column)])
    for delete in mutation.deletes:
        yield delete.table, delete.row
    for insert in mutation.inserts:
        if insert.row:
            yield insert.table, insert.row
        for column, value in insert.values.items():
            yield from _referred(insert.table, column, value)


def _referred(table: str, column: str, value: Value) -> Iterator[tuple[str, str]]:
    target = table if column == "merged_into" else _REFERENCES.get(column)
    if target is not None and value is not None:
        for id_ in value if isinstance(value, tuple) else (str(value),):
            yield target, id_


def _missing(snapshot: Snapshot, table: str, rows: Iterable[str]) -> list[str]:
    asked = pa.array(list(rows), pa.string())
    if table not in snapshot.tables:
        return asked.to_pylist()
    return asked.filter(pc.invert(pc.is_in(asked, value_set=snapshot.table(table)["id"].combine_chunks()))).to_pylist()


# The successors of rows: the chains of merges in a snapshot, and the winners of contradictions.

MERGED: Final = ("entities", "memories", "memory_facts")
"""Tables whose rows are merged."""


def merged_into(snapshot: Snapshot, tables: Iterable[str] = MERGED) -> dict[str, str]:
    """Return merged row of the tables → the row that absorbed it.

    A fact that was replaced has ended and was not merged, so it is left out.
    """
    into: dict[str, str] = {}
    for name in tables:
        rows = snapshot.table(name)
        if name == "memory_facts":
            merged = pc.and_(pc.is_valid(rows["invalidated_at"]), pc.is_null(rows["valid_to"]))
            rows = rows.filter(merged).select(["id", "superseded_by"])
        else:
            rows = rows.select(["id", "merged_into"])
        rows = rows.filter(pc.is_valid(rows[1]))
        into.update(zip(rows[0].to_pylist(), rows[1].to_pylist(), strict=True))
    return into


def won_against(items: Iterable[Item]) -> dict[str, str]:
    """Return memory that ``items`` retire because another one contradicts it → that other memory, which must stay live."""
    won: dict[str, str] = {}
    for item in items:
        mutation = item.mutation
        if mutation.kind == "invalidate_rows" and mutation.table == "memories":
            losers = mutation.row_ids()
            stands = sorted({g.row for g in mutation.guards if "invalidated_at" in g.columns} - {*losers})
            won.update((loser, stands[0]) for loser in losers if stands)
    return won


def succeeded_by(items: Iterable[Item]) -> dict[str, str]:
    """Return the part of ``won_against`` where a later memory states that the earlier one is over or has changed."""
    return won_against(i for i in items if _replaces(i))


def _replaces(item: Item) -> bool:
    conflict = item.evidence.get("conflict")
    return isinstance(conflict, Mapping) and bool(cast("Mapping[str, object]", conflict).get("replaces"))


def chain(id_: str, into: Mapping[str, str]) -> list[str]:
    """Return a row and the rows that replace it, its survivor last.

    A circle, which no merge makes, ends before it would close.
    """
    found = [id_]
    while (next_ := into.get(found[-1])) is not None and next_ not in found:
        found.append(next_)
    return found
