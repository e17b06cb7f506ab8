"""``purge_rows``: retired rows are deleted, with all that is a part of them. No other mutation deletes.

The item holds every row whole, as the plan saw it, and the journal keeps the row as it was found, so that undo puts it back exactly:
versions, vectors and promotions of a memory with it, and what other retired rows said of it (``superseded_by``, ``merged_into``),
which is cleared. What else names the row at apply, the plan has not seen, and the item is stale.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import pyarrow as pa

from slowwave.errors import DreamForbiddenOpError
from slowwave.mutations.cells import Cell, Delete, Write, row_columns
from slowwave.mutations.mutation import Mutation, Row
from slowwave.mutations.rows import Fields, rows_by_id, rows_where
from slowwave.mutations.vectors import encode
from slowwave.snapshots.snapshot import Snapshot

FLOOR_DAYS: Final = 7
"""Nothing that was retired less than these days ago is ever purged, whatever a setting says."""

POINTER: Final[Mapping[str, str]] = {"memory_facts": "superseded_by", "memories": "merged_into"}
"""Table → the column by which one of its rows names another."""

_PARTS: Final[Mapping[str, tuple[str, ...]]] = {"memories": ("memory_versions", "promotions")}
_VECTORS: Final[Mapping[str, str]] = {"memories": "memory_vectors"}


def purge_rows(
    snapshot: Snapshot, table: str, groups: Sequence[Sequence[str]], *, retention_days: int
) -> list[Mutation]:
    """One mutation a group of rows that go together, in the order given.

    Raises ``DreamForbiddenOpError`` when the retention is under the floor, and for a row that was invalidated within it. Cost: one
    pass over the table and over those of its parts. Vectors of another model than the snapshot's are not seen: their memory's item is
    stale at apply.
    """
    check_retention(retention_days)
    wanted = {id_ for group in groups for id_ in group}
    columns = row_columns(table)
    rows = rows_by_id(snapshot, table, wanted, columns)
    _refuse_recent(rows, snapshot.taken_at - timedelta(days=retention_days), table)
    parts, pointers = _parts(snapshot, table, wanted), _pointers(snapshot, table, wanted)
    mutations: list[Mutation] = []
    for group in groups:
        going, together = sorted(group), set(group)
        deletes = [Delete(table, id_, "", {c: rows[id_][c] for c in columns}) for id_ in going]
        mutations.append(
            Mutation(
                "purge_rows",
                table,
                writes=tuple(w for id_ in going for w in pointers[id_] if w.cell.row not in together),
                rows=tuple(Row(id_, _external(rows[id_])) for id_ in going),
                deletes=(*deletes, *(part for id_ in going for part in parts[id_])),
            )
        )
    return mutations


def check_retention(days: object) -> None:
    """Refuse a retention that is no whole number of days or lies under the floor."""
    if not isinstance(days, int) or isinstance(days, bool) or days < FLOOR_DAYS:
        raise DreamForbiddenOpError(
            f"Purging after {days!r} days is forbidden: what is retired stays for {FLOOR_DAYS} days at least. Set "
            f"SLOWWAVE_OPERATIONS__PURGE_EXPIRED__RETENTION_DAYS to {FLOOR_DAYS} or more; nothing was planned."
        )


def _refuse_recent(rows: Mapping[str, Fields], cutoff: datetime, table: str) -> None:
    for id_, seen in sorted(rows.items()):
        at = seen["invalidated_at"]
        if at is not None and datetime.fromisoformat(str(at)) >= cutoff:
            raise DreamForbiddenOpError(
                f"Row {id_} of {table} was invalidated on {str(at)[:10]}, within the retention: it may not be purged yet."
            )


def _parts(snapshot: Snapshot, table: str, ids: Iterable[str]) -> dict[str, list[Delete]]:
    """Row → the deletes of what is a part of it."""
    found: dict[str, list[Delete]] = defaultdict(list)
    for part in _PARTS.get(table, ()):
        columns = row_columns(part)
        for row in rows_where(snapshot, part, "memory_id", set(ids), columns):
            found[str(row["memory_id"])].append(Delete(part, str(row["id"]), "", {c: row[c] for c in columns}))
    if name := _VECTORS.get(table):
        vectors = snapshot.vectors[name]
        asked = sorted(ids)
        for id_, place in zip(asked, vectors.rows_of(pa.array(asked, pa.string())).tolist(), strict=True):
            if place >= 0:
                found[id_].append(Delete(name, id_, vectors.model, {"vector": encode(vectors.matrix[place])}))
    return found


def _pointers(snapshot: Snapshot, table: str, ids: Iterable[str]) -> dict[str, list[Write]]:
    """Row → the writes that clear what other rows of its table say of it."""
    found: dict[str, list[Write]] = defaultdict(list)
    if column := POINTER.get(table):
        for row in rows_where(snapshot, table, column, set(ids), ()):
            found[str(row[column])].append(Write(Cell(table, str(row["id"]), column), "set", row[column]))
    return found


def _external(row: Fields) -> str | None:
    external = row.get("external_id")
    return None if external is None else str(external)
