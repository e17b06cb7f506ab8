"""``invalidate_rows``: rows leave the live set in system time, and in world time when the world has changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from slowwave.mutations.cells import Cell, Guard, Write
from slowwave.mutations.kinds import KINDS
from slowwave.mutations.mutation import Mutation, Row
from slowwave.mutations.rows import Fields, rows_by_id
from slowwave.snapshots.snapshot import Snapshot

NOW: Final = "now"
"""A row ends in the world when it is applied; an instant of the snapshot would make another item of it every night."""


def invalidate_rows(snapshot: Snapshot, table: str, valid_to: Mapping[str, str | None]) -> Mutation:
    """Invalidate the rows named by ``valid_to``'s keys; its values end them in the world (ISO 8601, UTC, or ``NOW``), or leave that
    open.
    """
    writes: list[Write] = []
    guards: list[Guard] = []
    rows: list[Row] = []
    for id_, seen in sorted(_seen(snapshot, table, valid_to, ()).items()):
        ends, stay = _cells(table, id_, seen, valid_to[id_])
        writes += ends
        guards += [Guard.on(table, id_, seen, stay)] if stay else []
        rows.append(_row(id_, seen))
    return Mutation("invalidate_rows", table, writes=tuple(writes), guards=tuple(guards), rows=tuple(rows))


def invalidate_each(
    snapshot: Snapshot, table: str, valid_to: Mapping[str, str | None], guarded: Sequence[str] = ()
) -> dict[str, Mutation]:
    """Row → a mutation that invalidates it alone, and that rests on its ``guarded`` columns as well. One pass over the table."""
    mutations: dict[str, Mutation] = {}
    for id_, seen in sorted(_seen(snapshot, table, valid_to, guarded).items()):
        writes, stay = _cells(table, id_, seen, valid_to[id_])
        guards = (Guard.on(table, id_, seen, on),) if (on := (*stay, *guarded)) else ()
        mutations[id_] = Mutation(
            "invalidate_rows", table, writes=tuple(writes), guards=guards, rows=(_row(id_, seen),)
        )
    return mutations


def _seen(snapshot: Snapshot, table: str, valid_to: Mapping[str, str | None], more: Sequence[str]) -> dict[str, Fields]:
    columns = ["invalidated_at", "invalidated_by", *more]
    columns += [c for c, there in (("valid_to", _worldly(table)), ("external_id", _named(snapshot, table))) if there]
    return rows_by_id(snapshot, table, valid_to.keys(), columns)


def _cells(table: str, id_: str, seen: Fields, end: str | None) -> tuple[list[Write], tuple[str, ...]]:
    """What is written, and the columns that have to stay."""
    writes = [
        Write(Cell(table, id_, "invalidated_at"), "now", seen["invalidated_at"]),
        Write(Cell(table, id_, "invalidated_by"), "item", seen["invalidated_by"]),
    ]
    if not _worldly(table):
        return writes, ()
    cell = Cell(table, id_, "valid_to")
    if end is None:
        return writes, ("valid_to",)
    now = Write(cell, "now", seen["valid_to"])
    return [*writes, now if end == NOW else Write(cell, "set", seen["valid_to"], end)], ()


def _worldly(table: str) -> bool:
    return "valid_to" in KINDS["invalidate_rows"].writes[table]


def _named(snapshot: Snapshot, table: str) -> bool:
    return "external_id" in snapshot.table(table).column_names


def _row(id_: str, seen: Fields) -> Row:
    external = seen.get("external_id")
    return Row(id_, None if external is None else str(external))
