"""Snapshots of several namespaces of one connected store, read at once: a table of thousands of users is read in pieces of many users, not
once for each.

Each snapshot is what ``slowwave.snapshots.export`` reads of its namespace alone, at the same instant as the others. How many are read at
once is for whoever asks: all of their rows are in memory.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import psycopg
import pyarrow as pa

from slowwave.bindings.binding import Binding
from slowwave.bindings.connected import reading, store_named
from slowwave.bindings.rendering import Scopes, select_dimensions
from slowwave.errors import SnapshotError
from slowwave.snapshots.export import NAMESPACE, read_rows, read_vectors, unchecked_tables, without_unreadable
from slowwave.snapshots.schema import SNAPSHOT_TABLES
from slowwave.snapshots.snapshot import Snapshot, Vectors
from slowwave.store.connect import Connection, Store
from slowwave.store.tables import VECTORS

_WHOSE = """
SELECT n.id::text, n.slug, k.native, n.read_only, n.settings, now(), (SELECT count(*) FROM memory.changes c WHERE c.namespace_id = n.id)
FROM memory.namespaces n JOIN night.store_namespaces k ON k.namespace_id = n.id
WHERE k.store = %s AND n.slug = ANY(%s) AND k.native IS NOT NULL ORDER BY n.id
"""
_REGISTERED = "SELECT dimensions FROM memory.vector_models WHERE model = %s"


def export_snapshots(store: Store, name: str, namespaces: Sequence[str]) -> dict[str, Snapshot]:
    """Namespaces of the connected store ``name`` as they are now, by their names here; one that is not its is left out."""
    with store.connect("reader") as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        with connection.transaction():
            return _read(connection, name, namespaces)


def _read(connection: Connection, name: str, namespaces: Sequence[str]) -> dict[str, Snapshot]:
    of = store_named(connection, name)
    found = connection.execute(_WHOSE, (name, list(namespaces))).fetchall()
    scopes = Scopes(tuple(str(row[0]) for row in found), tuple(str(row[2]) for row in found))
    with reading(of):
        unchecked = unchecked_tables(connection, of.binding)
        tables = {
            name: _apart(read_rows(connection, of.binding, scopes, table, checked=name in unchecked), scopes)
            for name, table in SNAPSHOT_TABLES.items()
        }
        vectors = {table: _vectors(connection, of.binding, scopes, table, of.model) for table in VECTORS}
    made: dict[str, Snapshot] = {}
    for id_, slug, _, read_only, settings, taken_at, counter in found:
        if not isinstance(taken_at, datetime) or not isinstance(settings, dict):
            raise SnapshotError("The namespaces table does not hold what this version expects: run `slowwave doctor`.")
        at, own = taken_at.astimezone(UTC), str(id_)
        readable, left_out = without_unreadable({table: parts[own] for table, parts in tables.items()})
        made[str(slug)] = Snapshot(
            namespace_id=own,
            namespace=str(slug),
            snapshot_id=f"{at:%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:8]}",
            taken_at=at,
            change_counter=int(str(counter)),
            read_only=bool(read_only),
            settings=settings,
            tables=readable,
            vectors={table: parts[own] for table, parts in vectors.items()},
            left_out=left_out,
        )
    return made


def _apart(rows: pa.Table, scopes: Scopes) -> dict[str, pa.Table]:
    """Rows that are sorted by namespace, those of each without that column."""
    own = rows.remove_column(0)
    nothing = own.schema.empty_table()
    return {
        id_: own.slice(start, end - start) if end > start else nothing
        for id_, start, end in _runs(rows[NAMESPACE], scopes)
    }


def _runs(namespaces: pa.Array | pa.ChunkedArray, scopes: Scopes) -> list[tuple[str, int, int]]:
    """(namespace, first row, row after its last) of each."""
    there = namespaces.to_numpy(zero_copy_only=False).astype(np.str_) if len(namespaces) else np.empty(0, "<U36")
    ids = np.array(scopes.namespace_ids, np.str_)
    starts, ends = np.searchsorted(there, ids, "left").tolist(), np.searchsorted(there, ids, "right").tolist()
    return list(zip(scopes.namespace_ids, starts, ends, strict=True))


def _vectors(connection: Connection, binding: Binding, scopes: Scopes, table: str, model: str) -> dict[str, Vectors]:
    """The vectors of each namespace, of its commonest length."""
    counting = select_dimensions(binding, table, scopes)
    if counting is not None:
        lengths = {str(id_): int(str(many)) for id_, many in connection.execute(counting).fetchall()}
    else:
        row = connection.execute(_REGISTERED, (model,)).fetchone()
        lengths = dict.fromkeys(scopes.namespace_ids, int(str(row[0]))) if row else {}
    made = dict.fromkeys(scopes.namespace_ids, Vectors.empty(model))
    native = dict(zip(scopes.namespace_ids, scopes.natives, strict=True))
    for length in set(lengths.values()):
        some = tuple(id_ for id_, of in lengths.items() if of == length)
        part = Scopes(some, tuple(native[id_] for id_ in some))
        whose, ids, matrix = read_vectors(connection, binding, part, table, model, length)
        made |= {id_: Vectors(model, ids[start:end], matrix[start:end]) for id_, start, end in _runs(whose, part)}
    return made
