"""``set_state`` and ``set_attributes``: plain columns of one row take a new value."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from slowwave.mutations.cells import Cell, Guard, Value, Write
from slowwave.mutations.mutation import Mutation, Row, check
from slowwave.mutations.rows import columns_by_id
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
    wanted = {c for row in values.values() for c in row}
    columns = sorted(wanted | set(rests_on))
    ids, seen = columns_by_id(snapshot, table, values.keys(), ("external_id", "invalidated_at", *columns))
    stay = [{"invalidated_at": at} for at in seen["invalidated_at"]]
    writes: list[list[Write]] = [[] for _ in ids]
    for column in columns:
        for id_, before, write, stays in zip(ids, seen[column], writes, stay, strict=True):
            if column in wanted and before != (after := values[id_].get(column, before)):
                write.append(Write(Cell(table, id_, column), "set", before, after))
            elif column in rests_on or column in values[id_]:
                stays[column] = before
    mutations: list[Mutation] = []
    for id_, external, written, stays in zip(ids, seen["external_id"], writes, stay, strict=True):
        row = Row(id_, None if external is None else str(external))
        guard = Guard.on(table, id_, stays, stays)
        mutation = Mutation(kind, table, writes=tuple(written), guards=(guard,), rows=(row,))
        check(mutation)
        mutations.append(mutation)
    return mutations
