"""Simulation: the change that items would make, made on a snapshot's Arrow tables.

It is the same algebra as ``statements``, on columns in memory. ``now`` becomes the instant of the snapshot: what an item
stamps is compared as null or not null. Staleness cannot occur: items are simulated on the snapshot that they were planned on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.errors import SnapshotError
from slowwave.mutations.cells import Value, Write, canonical, inserted_id, table_of
from slowwave.mutations.mutation import Identified
from slowwave.mutations.vectors import decode
from slowwave.snapshots.snapshot import Snapshot, Vectors
from slowwave.store.tables import VECTORS


def simulate(snapshot: Snapshot, items: Iterable[Identified]) -> Snapshot:
    """The snapshot after the items. Cost: one pass over each touched column."""
    writes: dict[tuple[str, str], list[tuple[str, Write]]] = defaultdict(list)
    rows: dict[str, list[dict[str, object]]] = defaultdict(list)
    vectors: dict[str, dict[str, np.ndarray]] = defaultdict(dict)
    gone: dict[str, list[str]] = defaultdict(list)
    stamp = canonical(snapshot.taken_at)
    for item in items:
        item_id, mutation = item.id, item.mutation
        for write in mutation.writes:
            if write.cell.table in VECTORS:
                vectors[write.cell.table][write.cell.row] = decode(str(write.value))
            else:
                writes[write.cell.table, write.cell.column].append((item_id, write))
        for n, insert in enumerate(mutation.inserts):
            row, values = insert.named(item_id)
            if insert.table in VECTORS:
                vectors[insert.table][row] = decode(str(values["vector"]))
            else:
                rows[insert.table].append(inserted_row(item_id, n, insert.table, values) | {"recorded_at": stamp})
        for delete in mutation.deletes:
            gone[delete.table].append(delete.row)
    tables = dict(snapshot.tables)
    for (table, column), changes in writes.items():
        tables[table] = _write_column(tables[table], column, changes, stamp)
    for table, added in rows.items():
        tables[table] = _append(tables[table], added)
    for table in gone.keys() - VECTORS.keys():
        tables[table] = _without(tables[table], gone[table])
    after = {name: _write_vectors(v, vectors[name]) if name in vectors else v for name, v in snapshot.vectors.items()}
    for table in gone.keys() & VECTORS.keys():
        after[table] = _without_vectors(after[table], gone[table])
    return replace(snapshot, tables=tables, vectors=after)


def inserted_row(item_id: str, n: int, table: str, values: Mapping[str, Value]) -> dict[str, object]:
    """The n-th row that an item inserts, before the database's own defaults."""
    by = {"recorded_by": item_id} if "recorded_by" in table_of(table).c else {}
    return {"id": inserted_id(item_id, n), **by, **values}


def _write_column(table: pa.Table, column: str, changes: Sequence[tuple[str, Write]], stamp: Value) -> pa.Table:
    field = table.schema.field(column)
    positions = pc.index_in(
        pa.array([w.cell.row for _, w in changes], pa.string()), value_set=table["id"].combine_chunks()
    )
    if positions.null_count:
        raise SnapshotError(f"A plan writes {column} of a row that its snapshot does not hold: plan the night again.")
    old = table[column].combine_chunks()
    places = positions.to_pylist()
    touched = dict(zip(places, old.take(positions).to_pylist(), strict=True))
    for position, (item_id, write) in zip(places, changes, strict=True):
        match write.action:
            case "add":
                touched[position] += write.value
            case "now":
                touched[position] = _native(stamp, field.type)
            case "item":
                touched[position] = item_id
            case "row":
                touched[position] = inserted_id(item_id, int(str(write.value)))
            case "set":
                touched[position] = _native(write.value, field.type)
    order = np.arange(len(old))
    order[list(touched)] = len(old) + np.arange(len(touched))
    values = pa.concat_arrays([old, pa.array(list(touched.values()), field.type)]).take(pa.array(order))
    return table.set_column(table.schema.get_field_index(column), field, values)


def _append(table: pa.Table, rows: Sequence[Mapping[str, object]]) -> pa.Table:
    columns = [pa.array([_native(row.get(f.name), f.type) for row in rows], f.type) for f in table.schema]
    return pa.concat_tables([table, pa.table(columns, schema=table.schema)]).sort_by("id").combine_chunks()


def _without(table: pa.Table, ids: Sequence[str]) -> pa.Table:
    kept = pc.invert(pc.is_in(table["id"], value_set=pa.array(ids, pa.string())))
    return table.filter(kept).combine_chunks()


def _without_vectors(vectors: Vectors, ids: Sequence[str]) -> Vectors:
    kept = pc.invert(pc.is_in(vectors.ids, value_set=pa.array(ids, pa.string())))
    return replace(vectors, ids=vectors.ids.filter(kept), matrix=vectors.matrix[kept.to_numpy(zero_copy_only=False)])


def _write_vectors(vectors: Vectors, changes: Mapping[str, np.ndarray]) -> Vectors:
    known = vectors.rows_of(pa.array(list(changes), pa.string()))
    matrix = np.array(vectors.matrix) if len(vectors) else np.empty((0, len(next(iter(changes.values())))), np.float32)
    new: dict[str, np.ndarray] = {}
    for position, (id_, vector) in zip(known, changes.items(), strict=True):
        if position < 0:
            new[id_] = vector
        else:
            matrix[position] = vector
    if not new:
        return replace(vectors, matrix=matrix)
    ids = [*vectors.ids.to_pylist(), *new]
    order = np.argsort(np.array(ids))
    return Vectors(
        vectors.model, pa.array([ids[i] for i in order], pa.string()), np.vstack([matrix, *new.values()])[order]
    )


def _native(value: object, kind: pa.DataType) -> object:
    """A plan's value as Arrow takes it."""
    if value is not None and pa.types.is_timestamp(kind):
        return datetime.fromisoformat(str(value))
    return list(value) if isinstance(value, tuple) else value
