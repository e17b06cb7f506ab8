"""``invalidate_rows``: rows leave the live set in system time, and in world time when the world has changed."""

from __future__ import annotations

from collections.abc import Mapping

from slowwave.mutations.cells import Cell, Guard, Write
from slowwave.mutations.mutation import KINDS, Mutation, Row
from slowwave.mutations.rows import rows_by_id
from slowwave.snapshot import Snapshot


def invalidate_rows(snapshot: Snapshot, table: str, valid_to: Mapping[str, str | None]) -> Mutation:
    """Invalidate the rows named by ``valid_to``'s keys; its values end them in the world (ISO 8601, UTC), or leave that open."""
    world = "valid_to" in KINDS["invalidate_rows"].writes[table]
    columns = ("invalidated_at", "invalidated_by", *(("valid_to",) if world else ()))
    has_external = "external_id" in snapshot.table(table).column_names
    found = rows_by_id(snapshot, table, valid_to.keys(), (*columns, *(("external_id",) if has_external else ())))
    writes: list[Write] = []
    guards: list[Guard] = []
    for id_, seen in sorted(found.items()):
        writes.append(Write(Cell(table, id_, "invalidated_at"), "now", seen["invalidated_at"]))
        writes.append(Write(Cell(table, id_, "invalidated_by"), "item", seen["invalidated_by"]))
        if world:
            if (end := valid_to[id_]) is None:
                guards.append(Guard(Cell(table, id_, "valid_to"), seen["valid_to"]))
            else:
                writes.append(Write(Cell(table, id_, "valid_to"), "set", seen["valid_to"], end))
    rows = tuple(
        Row(i, str(s["external_id"]) if s.get("external_id") is not None else None) for i, s in sorted(found.items())
    )
    return Mutation("invalidate_rows", table, writes=tuple(writes), guards=tuple(guards), rows=rows)
