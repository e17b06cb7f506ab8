"""``rename_type``: rows of one type become rows of another; nothing else about them changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from slowwave.mutations.cells import Cell, Guard, Write
from slowwave.mutations.mutation import Mutation, Row
from slowwave.mutations.rows import rows_by_id
from slowwave.snapshots.snapshot import Snapshot

TYPES: Final[Mapping[str, str]] = {"entities": "entity_type", "relationships": "relationship_type"}
"""Table → the column that holds its rows' type."""

_GUARDS: Final = {"entities": ("name", "invalidated_at", "valid_to"), "relationships": ("invalidated_at", "valid_to")}


def rename_type(
    snapshot: Snapshot, table: Literal["entities", "relationships"], types: Mapping[str, str]
) -> list[Mutation]:
    """One mutation a row that changes, in id order: row id → new type. Guarded are what it is called and that it is live."""
    column, guarded = TYPES[table], _GUARDS[table]
    mutations: list[Mutation] = []
    for id_, seen in sorted(rows_by_id(snapshot, table, types.keys(), ("external_id", column, *guarded)).items()):
        if seen[column] == types[id_]:
            continue
        external = seen["external_id"]
        mutations.append(
            Mutation(
                "rename_type",
                table,
                writes=(Write(Cell(table, id_, column), "set", seen[column], types[id_]),),
                guards=(Guard.on(table, id_, seen, guarded),),
                rows=(Row(id_, None if external is None else str(external)),),
            )
        )
    return mutations
