"""Simulation: make the changes of items on the Arrow tables of a snapshot.

It is the same algebra as the statements of ``slowwave.changes.sql``, on columns in memory. ``now`` becomes the time of the snapshot: what
an item stamps is only compared as null or not null. Items cannot be stale, because they are simulated on the snapshot that they were
planned on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from mmap import mmap
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.changes.cells import SHARED, Value, Write, canonical, decode, inserted_id, table_of
from slowwave.changes.mutation import ERASURES, Identified, erased
from slowwave.errors import SnapshotError
from slowwave.snapshots.snapshot import Snapshot, Vectors
from slowwave.store.tables import VECTORS

_LINKED: Final = frozenset({"documents", "links"})


def simulate(snapshot: Snapshot, items: Iterable[Identified]) -> Snapshot:
    """Return the snapshot after the items; items with the same id count once.

    Cost: one pass over each touched column.
    """
    return _made(snapshot, items, None)


def simulate_anew(
    snapshot: Snapshot, items: Sequence[Identified], after: Snapshot, done: Sequence[Identified]
) -> Snapshot:
    """Return what ``simulate`` returns for ``items``, reusing ``after``, the result for ``done``.

    Tables are taken from ``after`` unless an item that is in only one of the two lists touches them. Items with the same id are equal.
    """
    now, then = ({item.id for item in some} for some in (items, done))
    differing = [i for i in items if i.id not in then] + [i for i in done if i.id not in now]
    tables = frozenset(table for item in differing for table in _tables(item))
    if tables & _LINKED:  # links refer to the pages that are added
        tables |= _LINKED
    made = _made(snapshot, items, tables)
    return replace(
        after,
        tables={name: made.tables[name] if name in tables else table for name, table in after.tables.items()},
        vectors={name: made.vectors[name] if name in tables else v for name, v in after.vectors.items()},
    )


def _tables(item: Identified) -> Iterator[str]:
    yield from (write.cell.table for write in item.mutation.writes)
    yield from (insert.table for insert in item.mutation.inserts)
    yield from (delete.table for delete in item.mutation.deletes)
    yield from (part for table, _ in erased(item.mutation) for part in _with_vectors(table))


def _with_vectors(table: str) -> tuple[str, ...]:
    """Return a table and the table of its vectors, if it has one."""
    return table, *(vectors for vectors, of in VECTORS.items() if of == table)


def _made(snapshot: Snapshot, items: Iterable[Identified], only: Collection[str] | None) -> Snapshot:
    """Return the snapshot with the items applied, in all tables or only in those of ``only``."""
    writes: dict[str, dict[str, list[tuple[str, Write]]]] = defaultdict(lambda: defaultdict(list))
    rows: dict[str, list[dict[str, object]]] = defaultdict(list)
    vectors: dict[str, dict[str, np.ndarray]] = defaultdict(dict)
    gone: dict[str, list[str]] = defaultdict(list)
    stamp = canonical(snapshot.taken_at)
    for item_id, mutation in {item.id: item.mutation for item in items}.items():
        for write in mutation.writes:
            cell = write.cell
            if only is not None and cell.table not in only:
                continue
            if cell.table in VECTORS:
                vectors[cell.table][cell.row] = decode(str(write.value))
            else:
                writes[cell.table][cell.column].append((item_id, write))
        for table, row in erased(mutation):
            for part in _with_vectors(table):
                if part in (*snapshot.tables, *snapshot.vectors) and (only is None or part in only):
                    gone[part].append(row)
        for n, insert in enumerate(mutation.inserts):
            if insert.table == ERASURES:
                continue
            if only is not None and insert.table not in only:
                continue
            row, values = insert.named(item_id)
            if insert.table in VECTORS:
                vectors[insert.table][row] = decode(str(values["vector"]))
            else:
                made = inserted_row(item_id, n, insert.table, values, row) | dict.fromkeys(insert.stamped, stamp)
                rows[insert.table].append({"recorded_at": stamp} | made)
        for delete in mutation.deletes:
            if only is None or delete.table in only:
                gone[delete.table].append(delete.row)
    tables = dict(snapshot.tables)
    for table, columns in writes.items():
        tables[table] = _write_columns(tables[table], columns, stamp)
    for table, added in rows.items():
        tables[table] = _append(tables[table], _once(tables[table], added) if table in SHARED else added)
    if rows.keys() & _LINKED:
        tables["links"] = _meaning_awaited(
            tables["links"], tables["documents"], {r["id"] for t in _LINKED for r in rows[t]}
        )
    for table in gone.keys() - VECTORS.keys():
        tables[table] = _without(tables[table], gone[table])
    after = {name: _write_vectors(v, vectors[name]) if name in vectors else v for name, v in snapshot.vectors.items()}
    for table in gone.keys() & VECTORS.keys():
        after[table] = _without_vectors(after[table], gone[table])
    return replace(snapshot, tables=tables, vectors=after)


def inserted_row(item_id: str, n: int, table: str, values: Mapping[str, Value], row: str) -> dict[str, object]:
    """Return the n-th row that an item inserts, before the database's defaults; ``row`` is its id if the plan gives one."""
    by = {"recorded_by": item_id} if "recorded_by" in table_of(table).c else {}
    return {"id": row or inserted_id(item_id, n), **by, **values}


def _write_columns(table: pa.Table, columns: Mapping[str, Sequence[tuple[str, Write]]], stamp: Value) -> pa.Table:
    rows = list(dict.fromkeys(write.cell.row for changes in columns.values() for _, write in changes))
    places = pc.index_in(pa.array(rows, pa.string()), value_set=table["id"].combine_chunks())
    if places.null_count:
        raise SnapshotError(
            f"A plan writes {', '.join(sorted(columns))} of a row that its snapshot does not hold: plan the night again."
        )
    at = dict(zip(rows, places.to_pylist(), strict=True))
    for column, changes in columns.items():
        field = table.schema.field(column)
        values = _written(table[column].combine_chunks(), field.type, changes, at, stamp)
        table = table.set_column(table.schema.get_field_index(column), field, values)
    return table


def _written(
    old: pa.Array, kind: pa.DataType, changes: Sequence[tuple[str, Write]], at: Mapping[str, int], stamp: Value
) -> pa.Array:
    """Return a column with the changes applied; ``at`` maps rows to their positions."""
    touched: dict[int, Any] = {}
    if any(write.action == "add" for _, write in changes):
        places = [at[write.cell.row] for _, write in changes]
        touched = dict(zip(places, old.take(pa.array(places)).to_pylist(), strict=True))
    now = _native(stamp, kind)
    for item_id, write in changes:
        position = at[write.cell.row]
        match write.action:
            case "add":
                touched[position] += write.value
            case "now":
                touched[position] = now
            case "item":
                touched[position] = item_id
            case "row":
                touched[position] = inserted_id(item_id, int(str(write.value)))
            case "set":
                touched[position] = _native(write.value, kind)
    order = np.arange(len(old))
    order[list(touched)] = len(old) + np.arange(len(touched))
    return pa.concat_arrays([old, pa.array(list(touched.values()), kind)]).take(pa.array(order))


def _meaning_awaited(links: pa.Table, documents: pa.Table, brought: Collection[object]) -> pa.Table:
    """Set the target of links to the page that they await, if it exists and the page or the link is among ``brought``."""
    waiting = pc.and_(pc.is_valid(links["awaited_id"]), pc.is_null(links["target_document_id"]))
    waiting = pc.and_(waiting, pc.is_null(links["invalidated_at"]))
    some = pa.array(sorted(map(str, brought)), pa.string())
    waiting = pc.and_(
        waiting, pc.or_(pc.is_in(links["awaited_id"], value_set=some), pc.is_in(links["id"], value_set=some))
    )
    live = pc.and_(pc.is_null(documents["invalidated_at"]), pc.is_null(documents["version_of"]))
    there = documents.filter(live)["id"].combine_chunks()
    met = pc.and_(waiting, pc.is_in(links["awaited_id"], value_set=there))
    column = pc.if_else(met, links["awaited_id"], links["target_document_id"])
    return links.set_column(links.schema.get_field_index("target_document_id"), "target_document_id", column)


def _append(table: pa.Table, rows: Sequence[Mapping[str, object]]) -> pa.Table:
    columns = [pa.array([_native(row.get(f.name), f.type) for row in rows], f.type) for f in table.schema]
    return pa.concat_tables([table, pa.table(columns, schema=table.schema)]).sort_by("id").combine_chunks()


def _once(table: pa.Table, rows: Sequence[Mapping[str, object]]) -> list[Mapping[str, object]]:
    """Return the shared rows that are not in the table yet, each once."""
    there = set(table["id"].to_pylist())
    return [row for id_, row in {str(row["id"]): row for row in rows}.items() if id_ not in there]


def _without(table: pa.Table, ids: Sequence[str]) -> pa.Table:
    kept = pc.invert(pc.is_in(table["id"], value_set=pa.array(ids, pa.string())))
    return table.filter(kept).combine_chunks()


def _without_vectors(vectors: Vectors, ids: Sequence[str]) -> Vectors:
    kept = pc.invert(pc.is_in(vectors.ids, value_set=pa.array(ids, pa.string())))
    return replace(vectors, ids=vectors.ids.filter(kept), matrix=vectors.matrix[kept.to_numpy(zero_copy_only=False)])


def _write_vectors(vectors: Vectors, changes: Mapping[str, np.ndarray]) -> Vectors:
    known = vectors.rows_of(pa.array(list(changes), pa.string()))
    matrix = _own(vectors.matrix) if len(vectors) else np.empty((0, len(next(iter(changes.values())))), np.float32)
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


def _own(matrix: np.ndarray) -> np.ndarray:
    """Return a copy of the matrix to write to.

    A copy of a memory-mapped file is copy-on-write, so that only pages that are written take memory.
    """
    if isinstance(matrix, np.memmap) and isinstance(matrix.base, mmap) and isinstance(matrix.filename, (str, Path)):
        with suppress(OSError):  # retention has removed the file
            return np.memmap(matrix.filename, matrix.dtype, "c", matrix.offset, matrix.shape)
    return np.array(matrix)


def _native(value: object, kind: pa.DataType) -> object:
    """Convert a plan's value to the form that Arrow takes."""
    if value is not None and pa.types.is_timestamp(kind):
        return datetime.fromisoformat(str(value))
    return list(value) if isinstance(value, tuple) else value
