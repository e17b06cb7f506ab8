"""``filter_references``: provenance arrays lose the ids that name nothing live; order and repeats of the rest are kept.

A reference dead at the snapshot stays dead for the plan; an id added since is seen as a change of the array, and the item is stale.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from slowwave.mutations.cells import Cell, Guard, Write
from slowwave.mutations.kinds import KINDS
from slowwave.mutations.mutation import Mutation, Row
from slowwave.mutations.rows import as_ids, live_ids, rows_by_id
from slowwave.snapshots.snapshot import Snapshot

_NAMES: Final = {"source_chunk_ids": "chunks", "source_document_ids": "documents"}


def filter_references(snapshot: Snapshot, table: str, ids: Collection[str]) -> list[Mutation]:
    """One mutation a row, in id order, for the rows of ``ids`` that hold a dead reference."""
    columns = sorted(KINDS["filter_references"].writes[table])
    live = {c: live_ids(snapshot, _NAMES[c]) for c in columns}
    mutations: list[Mutation] = []
    for id_, seen in sorted(rows_by_id(snapshot, table, ids, ("external_id", "invalidated_at", *columns)).items()):
        writes = [
            Write(Cell(table, id_, c), "set", seen[c], after)
            for c in columns
            if (after := tuple(i for i in as_ids(seen[c]) if i in live[c])) != as_ids(seen[c])
        ]
        if writes:
            external = seen["external_id"]
            mutations.append(
                Mutation(
                    "filter_references",
                    table,
                    writes=tuple(writes),
                    guards=(Guard.on(table, id_, seen, ("invalidated_at",)),),
                    rows=(Row(id_, None if external is None else str(external)),),
                )
            )
    return mutations
