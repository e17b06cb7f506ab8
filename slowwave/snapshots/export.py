"""The export of namespaces from PostgreSQL to Arrow in one transaction, with one COPY for each table."""

from __future__ import annotations

import ctypes.util
import hashlib
import io
import time
import uuid
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from threading import Lock
from typing import Any, Final, LiteralString

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
from psycopg import sql
from sqlalchemy import Table

from slowwave.bindings.binding import Binding, memory_binding
from slowwave.bindings.rendering import UNREADABLE, Scope, Scopes, select_dimensions, select_rows, select_vectors
from slowwave.bindings.stores import connected_store, reading, store_named
from slowwave.errors import SnapshotError, StoreError
from slowwave.snapshots.files import let_go
from slowwave.snapshots.snapshot import SNAPSHOT_TABLES, Snapshot, UnreadableRow, Vectors, arrow_schema
from slowwave.store.connect import OTHER_STORE, Store
from slowwave.store.doctor import CHECKED, NO_MEMORY, checked_columns, digest
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id, unknown_namespace
from slowwave.store.tables import EXPORTED, VECTORS

# Export of a namespace from PostgreSQL: one REPEATABLE READ transaction, one COPY per table, directly into Arrow.
#
# ``slowwave.bindings`` defines where the rows are, in our schema or in the tables of a connected store.
#
# Rows come as CSV into ``pyarrow.csv`` (with the types of ``slowwave.snapshots.snapshot``), vectors as binary COPY, whose fixed-width rows
# NumPy reads in place. No cell becomes a Python object.

_COPY_HEADER = 19
_BLOCK: Final = 1 << 24
_HASHED: Final = 10_000  # rows that a digest reads at once
_LARGEST_BLOCK: Final = (1 << 31) - 1

_UNCHECKED: Final = """
SELECT t.name FROM unnest(%s::text[]) AS t (name) WHERE NOT EXISTS (SELECT 1 FROM pg_constraint c
  WHERE c.conrelid = format('memory.%%I', t.name)::regclass AND c.conname = t.name || '_rows_are_readable' AND c.convalidated)
"""

NAMESPACE = "namespace_id"
"""The first column of an export of several namespaces."""

_NAMESPACE_ROW: Final = """
SELECT id::text, read_only, settings, now(), (SELECT count(*) FROM memory.changes c WHERE c.namespace_id = n.id)
FROM memory.namespaces n WHERE slug = %s
"""

_DECISIONS = """
SELECT whose.namespace_id, made.* FROM unnest({ids}::uuid[]) AS whose (namespace_id), LATERAL (
SELECT id, operation, decision, status, mutation -> 'keep' ->> 'id' AS keep_id, recorded_at,
  (SELECT jsonb_agg(jsonb_build_array(cell -> 1, name, seen))  -- cells as slowwave.changes.cells stores them
   FROM (SELECT g, g -> 3, g ->> 3, g -> 4 FROM jsonb_array_elements(mutation -> 'guards') AS g
         UNION ALL SELECT w, w -> 3, w ->> 3, w -> 5 FROM jsonb_array_elements(mutation -> 'writes') AS w) AS c (cell, of, col, value),
     jsonb_each(CASE jsonb_typeof(of) WHEN 'object' THEN of ELSE jsonb_build_object(col, value) END) AS e (name, seen)
   WHERE cell ->> 0 = 'entities' AND name IN ('name', 'entity_type', 'attributes')) AS seen
FROM (
  SELECT DISTINCT ON (i.item_id) i.item_id AS id, i.operation, i.decision, i.status, i.mutation, p.recorded_at
  FROM night.plan_items i JOIN night.plans p USING (plan_hash)
  WHERE i.namespace_id = whose.namespace_id AND i.status IN ('applied', 'rejected', 'undone') AND i.mutation ->> 'kind' = 'merge_rows'
  AND (i.status = 'applied' OR (i.plan_hash, i.item_id) NOT IN (SELECT r.plan_hash, r.item_id FROM night.rejections r
    JOIN night.withdrawals w ON w.rejection_id = r.id
    WHERE r.namespace_id = whose.namespace_id AND r.plan_hash IS NOT NULL AND r.item_id IS NOT NULL))
  ORDER BY i.item_id, p.recorded_at DESC
) decided
ORDER BY recorded_at DESC, id LIMIT 10000
) AS made
"""

_LEDGER: Final[Mapping[str, LiteralString]] = {
    "decisions": _DECISIONS,
    "rejections": "SELECT * FROM {table} r WHERE namespace_id = ANY({ids}::uuid[]) "
    "AND NOT EXISTS (SELECT 1 FROM night.withdrawals w WHERE w.rejection_id = r.id)",
}
"""Filters of the ledger's tables; of all other tables every row of the namespaces is exported."""


def export_snapshot(store: Store, namespace: str, *, model: str = "") -> Snapshot:
    """Return a snapshot of the namespace as it is now.

    ``model`` is the preferred vector model if the settings of the namespace name none. Connects as the role reader. Raises ``Refused``
    for an unknown namespace.
    """
    with _one_instant(store) as (connection, at):
        return read_snapshot(connection, namespace, model=model, at=at)


# Snapshots from a replica, which may be behind the database that nights write to.
#
# A night needs everything that was committed before it read: applied plans, decisions, settings. So the database is asked for its next
# transaction id, and the replica is read in a snapshot in which a transaction with that id or a later one has ended. Its commit is in the
# log after all of those. The snapshot carries the instant at which the id was taken, by the clock of the database.

REPLICA_SECONDS: Final = 30.0
"""How long a snapshot waits for a replica that is behind."""

_POLL_SECONDS: Final = 0.05

_MARK: Final = "SELECT pg_current_xact_id()::text, now(), (SELECT id::text FROM night.store)"
_SEEN: Final = "SELECT pg_snapshot_xmax(pg_current_snapshot()) > %s::xid8, (SELECT id::text FROM night.store)"


@contextmanager
def _one_instant(store: Store) -> Generator[tuple[Connection, datetime | None]]:
    """Open a transaction that reads the store at one instant, from the replica if there is one.

    Yield its connection, and the instant that a snapshot from a replica carries. Raises ``StoreError`` if the replica is of another store,
    stays behind for ``REPLICA_SECONDS``, or cancels the read.
    """
    place, xid, at, store_id = store.read_from(), "", None, None
    if place is not store:
        with store.connect("reader") as connection:
            ((xid, at, store_id),) = connection.execute(_MARK).fetchall()
    deadline = time.monotonic() + REPLICA_SECONDS
    with place.connect("reader") as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        while True:
            with connection.transaction():
                if place is store:
                    yield connection, None
                    return
                try:
                    ((seen, found),) = connection.execute(_SEEN, (xid,)).fetchall()
                except psycopg.errors.UndefinedTable:
                    seen, found = False, None
                if found != store_id:
                    raise StoreError(" ".join(OTHER_STORE))
                if seen:
                    assert isinstance(at, datetime)  # noqa: S101 - the type of now()
                    try:
                        yield connection, at.astimezone(UTC)
                    except psycopg.OperationalError as problem:
                        raise StoreError(
                            f"The replica at {place.address()} ended the read of a snapshot ({type(problem).__name__}). If changes that it "
                            "had to apply were in the way: set hot_standby_feedback = on there, or a longer max_standby_streaming_delay."
                        ) from problem
                    return
            if time.monotonic() > deadline:
                raise StoreError(
                    f"The replica at {place.address()} has been behind the store for {REPLICA_SECONDS:.0f} s, so no snapshot was read. "
                    f"Let it catch up, or unset {place.variable}: snapshots are then read from the store itself."
                )
            time.sleep(_POLL_SECONDS)


def read_snapshot(connection: Connection, namespace: str, *, model: str = "", at: datetime | None = None) -> Snapshot:
    """Read a snapshot as ``export_snapshot`` does, on a connection whose transaction the caller holds.

    It carries the instant ``at``, by default that of the transaction.
    """
    found = connection.execute(_NAMESPACE_ROW, (namespace,)).fetchone()
    if found is None:
        raise unknown_namespace(connection, namespace)
    id_, read_only, settings, taken_at, counter = found
    if not isinstance(taken_at, datetime) or not isinstance(settings, dict):
        raise SnapshotError("The namespaces table does not hold what this version expects: run `slowwave doctor`.")
    namespace_id, taken_at = str(id_), at or taken_at.astimezone(UTC)
    connected = connected_store(connection, namespace_id)
    if connected is None:
        binding, scope = memory_binding(), Scope(namespace_id)
        model = _current_model(connection, namespace_id, str(settings.get("embedding_model") or model))
        tables, vectors, left_out = _read(connection, binding, scope, model)
    else:
        of, scope = connected
        model = of.model
        with reading(of):
            tables, vectors, left_out = _read(connection, of.binding, scope, model)
    return Snapshot(
        namespace_id=namespace_id,
        namespace=namespace,
        snapshot_id=f"{taken_at:%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:8]}",
        taken_at=taken_at,
        change_counter=int(str(counter)),
        read_only=bool(read_only),
        settings=settings,
        tables=tables,
        vectors=vectors,
        left_out=left_out,
    )


def _read(
    connection: Connection, binding: Binding, scope: Scope, model: str
) -> tuple[dict[str, pa.Table], dict[str, Vectors], tuple[UnreadableRow, ...]]:
    """Read all tables and vectors of a namespace, from the places in its binding, and the rows that no night can read."""
    unchecked = unchecked_tables(connection, binding)
    read = {n: read_rows(connection, binding, scope, t, checked=n in unchecked) for n, t in SNAPSHOT_TABLES.items()}
    tables, left_out = without_unreadable(read)
    return tables, {name: _vectors(connection, binding, scope, name, model) for name in VECTORS}, left_out


def _current_model(connection: Connection, namespace_id: str, preferred: str) -> str:
    """Return the preferred model if the namespace has vectors of it or no vectors at all, else the model of most vectors.

    A model need not be registered: the first vectors that are applied register it.
    """
    counted = sql.SQL(" UNION ALL ").join(
        sql.SQL("SELECT model, count(*) AS n FROM {} WHERE namespace_id = {} GROUP BY model").format(
            sql.Identifier("memory", table), sql.Literal(namespace_id)
        )
        for table in VECTORS
    )
    found = connection.execute(
        sql.SQL(
            "SELECT model FROM ({}) counted GROUP BY model ORDER BY model = {} DESC, sum(n) DESC, model LIMIT 1"
        ).format(counted, sql.Literal(preferred))
    ).fetchone()
    return str(found[0]) if found else preferred


def unchecked_tables(connection: Connection, binding: Binding) -> frozenset[str]:
    """Return the tables that may hold rows which no night can read.

    These are the tables of a connected store, and Slowwave's own tables with rows older than their constraint.
    """
    ours = frozenset(
        str(name) for (name,) in connection.execute(_UNCHECKED, ([*(t.name for t in CHECKED), "recall_events"],))
    )
    return ours | frozenset(binding.tables if binding.overlay else ())


def without_unreadable(read: Mapping[str, pa.Table]) -> tuple[dict[str, pa.Table], tuple[UnreadableRow, ...]]:
    """Remove the column ``UNREADABLE`` from tables, and return the rows in which it is set.

    Unreadable recall events are dropped: nothing refers to them, and an invented instant would count as a recall.
    """
    tables, left_out = dict(read), list[UnreadableRow]()
    for name, rows in read.items():
        if UNREADABLE not in rows.column_names:
            continue
        tables[name] = rows.drop_columns([UNREADABLE])
        if rows[UNREADABLE].null_count == rows.num_rows:
            continue
        odd = rows.filter(pc.is_valid(rows[UNREADABLE])).select(["id", UNREADABLE])
        kinds = checked_columns(SNAPSHOT_TABLES[name])
        left_out += [
            UnreadableRow(name, str(row["id"]), str(row[UNREADABLE]), kinds.get(str(row[UNREADABLE]), "instant"))
            for row in odd.to_pylist()
        ]
        if name == "recall_events":
            tables[name] = tables[name].filter(pc.is_null(rows[UNREADABLE]))
    return tables, tuple(left_out)


def read_rows(
    connection: Connection, binding: Binding, scope: Scope | Scopes, table: Table, *, checked: bool = False
) -> pa.Table:
    """Read the rows of a table, by id.

    For several namespaces, ``namespace_id`` is the first column, and rows are sorted by it and by id. With ``checked`` the last column is
    ``UNREADABLE``, see ``slowwave.bindings.rendering.select_rows``.
    """
    schema = arrow_schema(table)
    if several := isinstance(scope, Scopes):
        schema = schema.insert(0, pa.field(NAMESPACE, pa.string()))
    if checked:
        schema = schema.append(pa.field(UNREADABLE, pa.string()))
    if table.schema == "memory":
        rows = select_rows(binding, table, scope, checked=checked)
    else:  # the parts of the ledger about the namespace
        rows = sql.SQL(_LEDGER.get(table.name, "SELECT * FROM {table} WHERE namespace_id = ANY({ids}::uuid[])")).format(
            table=sql.Identifier(str(table.schema), table.name), ids=sql.Literal([*_ids(scope)])
        )
    statement = sql.SQL("COPY (SELECT {} FROM ({}) AS found ORDER BY {}id) TO STDOUT (FORMAT csv)").format(
        sql.SQL(", ").join(_expression(f) for f in schema), rows, sql.SQL("namespace_id, " if several else "")
    )
    text = _copy(connection, statement)
    if not text.getbuffer().nbytes:
        return schema.empty_table()
    read = _from_csv(text, schema)
    columns = [_from_wire(read[f.name].combine_chunks(), f.type) for f in schema]
    return pa.table(columns, schema=schema)


def _from_csv(text: io.BytesIO, schema: pa.Schema) -> pa.Table:
    """Parse rows in blocks, or all at once if a row does not fit into two blocks."""
    for size in (_BLOCK, min(text.getbuffer().nbytes + 1, _LARGEST_BLOCK)):
        text.seek(0)
        try:
            return pacsv.read_csv(
                text,
                read_options=pacsv.ReadOptions(column_names=schema.names, block_size=size),
                parse_options=pacsv.ParseOptions(newlines_in_values=True),
                convert_options=pacsv.ConvertOptions(
                    column_types={f.name: _wire_type(f.type) for f in schema},
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                    true_values=["t"],
                    false_values=["f"],
                ),
            )
        except pa.ArrowInvalid as problem:
            if "straddl" not in str(problem) or size > _BLOCK:
                raise
    raise SnapshotError("A row of memory is larger than 2 GB. Split it, and run the night again.")


def _ids(scope: Scope | Scopes) -> tuple[str, ...]:
    return scope.namespace_ids if isinstance(scope, Scopes) else (scope.namespace_id,)


def _expression(field: pa.Field) -> sql.Composable:
    name = sql.Identifier(field.name)
    if pa.types.is_timestamp(field.type):
        return sql.SQL("(extract(epoch FROM {}) * 1000000)::bigint").format(name)
    if pa.types.is_list(field.type):
        return sql.SQL("nullif(array_to_string({}, ','), '')").format(name)
    return name


def _wire_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.int64()
    return pa.string() if pa.types.is_list(kind) else kind


def _from_wire(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_list(kind):
        commas = pc.fill_null(pc.add(pc.count_substring(column, ","), 1), 0).to_numpy(zero_copy_only=False)
        offsets = np.concatenate([[0], np.cumsum(commas)]).astype(np.int32)
        values = pc.list_flatten(pc.split_pattern(column, ",")).cast(kind.value_type)
        return pa.ListArray.from_arrays(pa.array(offsets), values).cast(kind)
    return column.cast(kind)


def _vectors(connection: Connection, binding: Binding, scope: Scope, table: str, model: str) -> Vectors:
    counting = select_dimensions(binding, table, scope) or sql.SQL(
        "SELECT dimensions FROM memory.vector_models WHERE model = {}"
    ).format(sql.Literal(model))
    found = connection.execute(counting).fetchone()
    if found is None:
        return Vectors.empty(model)
    _, ids, matrix = read_vectors(connection, binding, scope, table, model, int(str(found[0])))
    return Vectors(model, ids, matrix)


def read_vectors(
    connection: Connection, binding: Binding, scope: Scope | Scopes, table: str, model: str, dimensions: int
) -> tuple[pa.Array, pa.Array, np.ndarray]:
    """Read the vectors with ``dimensions`` dimensions, by id: namespaces, ids, and (n, d) float32.

    The namespaces are filled only if ``scope`` holds several; the vectors are then sorted by namespace first.
    """
    several = isinstance(scope, Scopes)
    chosen = select_vectors(binding, table, scope, model, dimensions)
    order = sql.SQL("namespace_id, " if several else "")
    raw = _copy(connection, sql.SQL("COPY ({} ORDER BY {}id) TO STDOUT (FORMAT binary)").format(chosen, order))
    whose = [("whose_size", ">i4"), ("whose", "V16")] if several else []
    head = [
        ("fields", ">i2"),
        *whose,
        ("id_size", ">i4"),
        ("id", "V16"),
        ("size", ">i4"),
        ("dimensions", ">i2"),
        ("unused", ">i2"),
    ]
    row = np.dtype([*head, ("vector", ">f4", (dimensions,))])
    body = raw.getbuffer()[_COPY_HEADER:-2]
    if len(body) % row.itemsize:
        raise SnapshotError(_odd_vectors(table, model, dimensions))
    rows = np.frombuffer(body, dtype=row)
    if (rows["id_size"] != 16).any() or (rows["dimensions"] != dimensions).any():
        raise SnapshotError(_odd_vectors(table, model, dimensions))
    namespaces = _uuids(rows["whose"]) if several else pa.array([], pa.string())
    return namespaces, _uuids(rows["id"]), np.ascontiguousarray(rows["vector"], dtype=np.float32)


def _uuids(column: np.ndarray) -> pa.Array:
    """Format (n,) values of 16 bytes as UUIDs of 36 characters."""
    hexes = column.tobytes().hex()
    return pa.array(
        [
            f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"
            for h in (hexes[i : i + 32] for i in range(0, len(hexes), 32))
        ],
        pa.string(),
    )


def _odd_vectors(table: str, model: str, dimensions: int) -> str:
    return (
        f"memory.{table} holds vectors of {model} that have not {dimensions} dimensions as registered, so they cannot be "
        "compared. Delete them and embed those rows again."
    )


def _copy(connection: Connection, statement: sql.Composed) -> io.BytesIO:
    buffer = io.BytesIO()
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for block in copy:
            buffer.write(block)
    buffer.seek(0)
    return buffer


# Snapshots of several namespaces of one connected store, exported at once: a table with thousands of users is read in parts of many users,
# not once for each.
#
# Each snapshot equals the one that a separate export would give, at the same instant as the others. The caller chooses how many are
# exported at once; all of their rows are in memory.

_WHOSE = """
SELECT n.id::text, n.slug, k.native, n.read_only, n.settings, now(), (SELECT count(*) FROM memory.changes c WHERE c.namespace_id = n.id)
FROM memory.namespaces n JOIN night.store_namespaces k ON k.namespace_id = n.id
WHERE k.store = %s AND n.slug = ANY(%s) AND k.native IS NOT NULL ORDER BY n.id
"""
_REGISTERED = "SELECT dimensions FROM memory.vector_models WHERE model = %s"


def export_snapshots(store: Store, name: str, namespaces: Sequence[str]) -> dict[str, Snapshot]:
    """Return snapshots of namespaces of the connected store ``name`` by their names here; other namespaces are left out."""
    with _one_instant(store) as (connection, at):
        return _read_namespaces(connection, name, namespaces, at)


def _read_namespaces(
    connection: Connection, name: str, namespaces: Sequence[str], instant: datetime | None
) -> dict[str, Snapshot]:
    of = store_named(connection, name)
    found = connection.execute(_WHOSE, (name, list(namespaces))).fetchall()
    scopes = Scopes(tuple(str(row[0]) for row in found), tuple(str(row[2]) for row in found))
    with reading(of):
        unchecked = unchecked_tables(connection, of.binding)
        tables = {
            name: _apart(read_rows(connection, of.binding, scopes, table, checked=name in unchecked), scopes)
            for name, table in SNAPSHOT_TABLES.items()
        }
        vectors = {table: _vectors_by_namespace(connection, of.binding, scopes, table, of.model) for table in VECTORS}
    made: dict[str, Snapshot] = {}
    for id_, slug, _, read_only, settings, taken_at, counter in found:
        if not isinstance(taken_at, datetime) or not isinstance(settings, dict):
            raise SnapshotError("The namespaces table does not hold what this version expects: run `slowwave doctor`.")
        at, own = instant or taken_at.astimezone(UTC), str(id_)
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
    """Split rows that are sorted by namespace into the rows of each namespace, without that column."""
    own = rows.remove_column(0)
    nothing = own.schema.empty_table()
    return {
        id_: own.slice(start, end - start) if end > start else nothing
        for id_, start, end in _runs(rows[NAMESPACE], scopes)
    }


def _runs(namespaces: pa.Array | pa.ChunkedArray, scopes: Scopes) -> list[tuple[str, int, int]]:
    """Return (namespace, first row, row after its last) for each namespace."""
    there = namespaces.to_numpy(zero_copy_only=False).astype(np.str_) if len(namespaces) else np.empty(0, "<U36")
    ids = np.array(scopes.namespace_ids, np.str_)
    starts, ends = np.searchsorted(there, ids, "left").tolist(), np.searchsorted(there, ids, "right").tolist()
    return list(zip(scopes.namespace_ids, starts, ends, strict=True))


def _vectors_by_namespace(
    connection: Connection, binding: Binding, scopes: Scopes, table: str, model: str
) -> dict[str, Vectors]:
    """Return the vectors of each namespace, those of its commonest length."""
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


# Memory that the process holds without using it.
#
# Allocators keep freed memory. It is returned to the system between the steps of a night, so the peak of a night is that of its largest
# step and not the sum of all; that takes milliseconds. Arrow's pool returns little, so a night allocates with the C library's allocator.
# Options that only the whole program can set are set at its start (``slowwave.store.connect``).

_LOCK: Final = Lock()
SELDOM: Final = 0.25
"""Minimum number of seconds between two releases."""

_released = -SELDOM
_inside: list[pa.MemoryPool] = []
"""For each active context, the pool that the last one to end restores."""


def release() -> None:
    """Release free memory, and the pages of snapshots, which are read again when needed.

    It does nothing if it ran less than a quarter of a second ago: the steps of a small namespace free little, and each run takes a
    millisecond.
    """
    global _released
    now = time.monotonic()
    if now - _released < SELDOM:
        return
    _released = now
    let_go()
    pa.default_memory_pool().release_unused()
    if trim := _trim():
        trim(0)


@contextmanager
def tight_memory() -> Generator[None]:
    """Let Arrow allocate from the C library, if ``release`` can trim it, until the last caller has left the context."""
    with _LOCK:
        before = _inside[0] if _inside else pa.default_memory_pool()
        _inside.append(before)
        if _trim():
            pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        with _LOCK:
            _inside.pop()
            if not _inside:
                pa.set_memory_pool(before)


@cache
def _trim() -> Any:
    """Return glibc's ``malloc_trim``, or None for other C libraries, which do not need it."""
    try:
        return ctypes.CDLL(ctypes.util.find_library("c")).malloc_trim
    except (AttributeError, OSError):
        return None


def memory_digest(store: Store, namespace: str) -> str:
    """Return one hash of all rows of a namespace: those of Slowwave's own tables, and those of its connected store.

    Equal digests mean equal memory; the log of recalls does not count. Rows of a connected store are hashed as a snapshot reads them, so
    columns that the binding does not name do not count. Raises ``Refused`` for an unknown namespace. Cost: a snapshot of a connected
    namespace.
    """
    own = digest(store, namespace)
    with store.connect("reader") as connection:
        if connected_store(connection, namespace_id(connection, namespace)) is None:
            return own
    snapshot = export_snapshot(store, namespace)
    total = hashlib.sha256(own.encode())
    for name in sorted({table.name for table in EXPORTED} - NO_MEMORY):
        table = snapshot.table(name)
        for n, column in enumerate(table.schema):  # a store without such a column gives the instant of the reading
            if pa.types.is_timestamp(column.type):
                read = pc.fill_null(pc.equal(table[n], pa.scalar(snapshot.taken_at, column.type)), False)
                table = table.set_column(n, column, pc.if_else(read, pa.scalar(None, column.type), table[n]))
        for batch in table.to_batches(max_chunksize=_HASHED):
            total.update(f"{name}:{batch.to_pylist()}\n".encode("utf-8", "surrogatepass"))
    for name, vectors in sorted(snapshot.vectors.items()):
        total.update(f"{name}:{vectors.model}:{vectors.ids.to_pylist()}".encode())
        total.update(np.ascontiguousarray(vectors.matrix).tobytes())
    return total.hexdigest()
