"""``set_vector``: rows get the vector of the namespace's current model, whether they had one or not."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from slowwave.errors import Refused
from slowwave.mutations.cells import Cell, Guard, Insert, Write
from slowwave.mutations.mutation import Mutation, Row
from slowwave.mutations.rows import rows_by_id
from slowwave.mutations.vectors import encode
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.tables import VECTORS


def set_vector(snapshot: Snapshot, table: str, vectors: Mapping[str, np.ndarray]) -> list[Mutation]:
    """One mutation a row that it changes, in id order; ``table`` is a vectors table and ``vectors`` maps ids to (d,) float32."""
    current = snapshot.vectors[table]
    if not current.model:
        raise Refused(
            f"No vector model is named for {snapshot.namespace}, so no vector can be set. Set SLOWWAVE_EMBEDDING_MODEL."
        )
    ids = sorted(vectors)
    positions = current.rows_of(pa.array(ids, pa.string()))
    described = VECTORS[table]
    spoken = ("speaker",) if table == "chunk_vectors" else ()
    seen = rows_by_id(snapshot, described, ids, ("external_id", "invalidated_at", *spoken))
    mutations: list[Mutation] = []
    for id_, position in zip(ids, positions, strict=True):
        after = encode(vectors[id_])
        external = seen[id_]["external_id"]
        writes: tuple[Write, ...] = ()
        inserts: tuple[Insert, ...] = ()
        if position < 0:
            speaker = {"speaker": seen[id_]["speaker"]} if seen[id_].get("speaker") else {}
            inserts = (Insert(table, {"vector": after, **speaker}, id_, current.model),)
        else:
            if (before := encode(current.matrix[position])) == after:
                continue
            writes = (Write(Cell(table, id_, "vector", current.model), "set", before, after),)
        mutations.append(
            Mutation(
                "set_vector",
                table,
                writes=writes,
                inserts=inserts,
                guards=(Guard.on(described, id_, seen[id_], ("invalidated_at",)),),
                rows=(Row(id_, None if external is None else str(external)),),
            )
        )
    return mutations
