"""``set_state`` and ``set_attributes``: plain columns of one row take a new value."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from slowwave.mutations.cells import Cell, Guard, Value, Write
from slowwave.mutations.mutation import Mutation, Row, check
from slowwave.mutations.rows import rows_by_id
from slowwave.snapshots.snapshot import Snapshot


def set_columns(
    snapshot: Snapshot,
    kind: Literal["set_state", "set_attributes"],
    table: str,
    values: Mapping[str, Mapping[str, Value]],
    rests_on: Collection[str] = (),
) -> list[Mutation]:
    """One mutation a row, in id order: row id → column → value. Columns that already hold the value are only guarded, and so are those
    that the change ``rests_on``."""
    columns = sorted({c for row in values.values() for c in row} | set(rests_on))
    found = rows_by_id(snapshot, table, values.keys(), ("external_id", "invalidated_at", *columns))
    mutations: list[Mutation] = []
    for id_, seen in sorted(found.items()):
        wanted = values[id_]
        writes: list[Write] = []
        guards = [Guard(Cell(table, id_, "invalidated_at"), seen["invalidated_at"])]
        for column in columns:
            if column in wanted and seen[column] != wanted[column]:
                writes.append(Write(Cell(table, id_, column), "set", seen[column], wanted[column]))
            elif column in wanted or column in rests_on:
                guards.append(Guard(Cell(table, id_, column), seen[column]))
        external = seen["external_id"]
        row = Row(id_, None if external is None else str(external))
        mutation = Mutation(kind, table, writes=tuple(writes), guards=tuple(guards), rows=(row,))
        check(mutation)
        mutations.append(mutation)
    return mutations
