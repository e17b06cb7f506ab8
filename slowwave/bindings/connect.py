"""Connect a store to read it, detect changes that its clients make, and return the texts of its memories for display."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import psycopg
from psycopg import sql

from slowwave.bindings.binding import Binding, BoundTable
from slowwave.bindings.checks import Passed, diagnose_store, misfits, missing_grants, passed
from slowwave.bindings.files import built_in_text, read_binding
from slowwave.bindings.rendering import Scope, held_sql, joined_sql, retired_sql, select_rows, text_of
from slowwave.bindings.stores import (
    TABLE,
    ConnectedStore,
    connected_names,
    connected_store,
    connected_stores,
    disconnect,
    enter_namespaces,
    namespaces_of,
    reading,
    register,
    slug_of,
    store_named,
    structure_of,
    there,
    version_of,
)
from slowwave.errors import BindingError, StoreError
from slowwave.store.connect import Store
from slowwave.store.doctor import Diagnosis
from slowwave.store.logins import Connection
from slowwave.store.namespaces import refuse_reserved
from slowwave.store.tables import metadata

# Detect changed rows of a connected store without a trigger in its tables: compare a sign of each namespace's rows with the last one.
#
# For each bound table, a sign contains the number of rows, the number of rows that are not retired, and the exclusive or of their hashes,
# without the columns that mere reading changes. A new sign is recorded like a change of our tables, so the checks whether a night is due
# work as usual.

_COLUMNS: Final = """
SELECT a.attname, CASE WHEN t.typname IN ('vector', 'halfvec') THEN ARRAY[h.nspname, p.proname]::text[] END
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid JOIN pg_proc p ON p.oid = t.typsend JOIN pg_namespace h ON h.oid = p.pronamespace
  JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_ID: Final = """
SELECT n.id::text FROM memory.namespaces n JOIN night.store_namespaces s ON s.namespace_id = n.id WHERE n.slug = %s
"""
_KNOWN: Final = "SELECT namespace_id::text, native FROM night.store_namespaces WHERE store = %s"
_ROWS: Final = """
SELECT n.slug, k.store, coalesce(substring(k.sign FROM '=(\\d{1,15})[.]')::bigint, 0)
FROM night.store_namespaces k JOIN memory.namespaces n ON n.id = k.namespace_id JOIN night.stores s ON s.name = k.store
WHERE k.native IS NOT NULL AND s.disconnected_at IS NULL AND n.slug = ANY(%s) ORDER BY k.store, n.slug
"""
_NOTE_SIGNS: Final = "SELECT night.note_signs(%s, %s::uuid[], %s)"


def noted_rows(store: Store, namespaces: Sequence[str]) -> list[tuple[str, str, int]]:
    """Return (namespace, store, rows) for namespaces that share a connected store with others.

    ``rows`` is the number of rows of its first table when its changes were last checked.
    """
    with store.connect("reader") as connection:
        found = connection.execute(_ROWS, (list(namespaces),)).fetchall()
    return [(str(slug), str(name), int(str(rows))) for slug, name, rows in found]


def note_changes(store: Store) -> int:
    """Enter new namespaces of every connected store and note those whose rows changed; return the number of both.

    Two passes over each table, regardless of the number of namespaces. A store that cannot be read is skipped: its own nights report why.
    """
    with store.connect("reader") as connection:
        names = connected_names(connection)
    found = 0
    for name in names:
        with suppress(BindingError, StoreError, psycopg.Error):
            with store.connect("reader") as connection:
                of = store_named(connection, name)
            found += enter_namespaces(store, of) + note_changes_of(store, of)
    return found


def note_changes_of(store: Store, of: ConnectedStore) -> int:
    """Note which namespaces of one store changed; return their number.

    One pass over each of its tables.
    """
    return _note(store, of, None)


def note_change(store: Store, namespace: str) -> None:
    """Note whether one namespace changed, given by its name.

    Do nothing for a namespace of Slowwave's own memory, or one that does not exist.
    """
    with store.connect("reader") as connection:
        row = connection.execute(_ID, (namespace,)).fetchone()
        found = connected_store(connection, str(row[0])) if row else None
    if found is not None:
        _note(store, *found)


def _note(store: Store, of: ConnectedStore, scope: Scope | None) -> int:
    with store.connect("reader") as connection, reading(of):
        signs = _signs(connection, of, scope)
        rows = connection.execute(_KNOWN, (of.name,)).fetchall()
    known = {_name(native): str(id_) for id_, native in rows}
    wanted = [scope.namespace_id] if scope else list(known.values())
    by_id = {known[native]: sign for native, sign in signs.items() if native in known}
    with store.connect("planner") as connection:
        noted = connection.execute(
            _NOTE_SIGNS, (of.name, wanted, [by_id.get(id_, "none") for id_ in wanted])
        ).fetchone()
    return int(str(noted[0])) if noted else 0


def _signs(connection: Connection, of: ConnectedStore, scope: Scope | None) -> dict[str | None, str]:
    """Return the sign of the rows and of the binding of each namespace, by the name of the namespace in the store."""
    read_by = repr((of.kind, sorted(of.parameters.items()), of.own_text, of.embedding_model))
    digest = hashlib.sha256(read_by.encode()).hexdigest()[:16]
    signs: dict[str | None, str] = {}
    for bound in of.binding.tables.values():
        if bound.parent and bound not in of.binding.children(bound.parent.table):
            continue  # rows that are taken along depend on other rows, and an archive holds retired ones
        columns = connection.execute(_COLUMNS, (bound.schema, bound.table)).fetchall()
        for native, sign in connection.execute(_sign(of, bound, columns, scope)).fetchall():
            signs[_name(native)] = f"{signs.get(_name(native), f'binding={digest};')}{bound.name}={sign};"
    return signs


def _sign(
    of: ConnectedStore, bound: BoundTable, columns: Iterable[Sequence[object]], scope: Scope | None
) -> sql.Composed:
    rows = of.binding.tables[bound.parent.table] if bound.parent else bound
    alias = "c" if bound.parent else "t"
    native = text_of(rows.namespace, "t") if rows.namespace else sql.SQL("NULL::text")
    cells = [_cell(alias, str(column), send) for column, send in columns if column not in bound.volatile]
    inside = (
        sql.SQL("{} = {}").format(native, sql.Literal(scope.native)) if scope and not scope.whole else sql.SQL("true")
    )
    if rows.namespace is None and rows.only:  # other rows of the table are in other namespaces
        inside = sql.SQL(" AND ").join([held_sql("t", pair) for pair in rows.only])
    return sql.SQL(
        "SELECT {native}, count(*) || '.' || count(*) FILTER (WHERE NOT {retired}) || '.' || "
        "bit_xor(hashtextextended(ROW({cells})::text, 0)) FROM {source} WHERE {inside} GROUP BY 1"
    ).format(
        native=native,
        retired=retired_sql(rows, "t"),
        cells=sql.SQL(", ").join(cells),
        source=joined_sql(rows, bound),
        inside=inside,
    )


def _cell(alias: str, column: str, send: object) -> sql.Composable:
    """Return the SQL of a column for the sign; a vector is hashed in its binary form, which is far cheaper than its text."""
    name = sql.Identifier(alias, column)
    return sql.SQL("md5({}({}))").format(sql.Identifier(*map(str, send)), name) if isinstance(send, list) else name


def _name(native: object) -> str | None:
    return None if native is None else str(native)


# Connecting a store: check its tables, record it as readable, and enter its namespaces. No row of it changes.

_TAKEN: Final = """
SELECT 1 FROM memory.namespaces n WHERE n.slug = %s
AND NOT EXISTS (SELECT 1 FROM night.store_namespaces k WHERE k.namespace_id = n.id AND k.store = %s)
"""
_WRITTEN: Final = "SELECT 1 FROM night.stores WHERE name = %s AND writing AND disconnected_at IS NULL"


_WITHOUT_VECTORS: Final = {"langgraph": "langgraph_plain"}
"""Binding → the binding of a store that its client set up without a table of vectors."""


@dataclass(frozen=True, slots=True)
class Connected:
    """A store as it was found when it was connected.

    ``version`` is the known version whose tables it has, empty if it is none. ``grants`` are statements without which nothing can be
    read; if there are any, ``rows`` is None and no new namespace is entered. ``was_written`` states that plans could be applied to it
    before.
    """

    store: ConnectedStore
    version: str
    grants: tuple[str, ...]
    rows: Passed | None
    namespaces: int
    new_namespaces: int
    found: tuple[Diagnosis, ...]
    was_written: bool = False


def connect_store(
    store: Store,
    kind: str,
    *,
    parameters: Mapping[str, str] | None = None,
    own_text: str = "",
    file_name: str = "",
    name: str = "",
    embedding_model: str = "",
    grant: bool = False,
) -> Connected:
    """Connect a store to read it, with a built-in binding or the user's own (``own_text``).

    With ``grant`` the owner's login grants ``slowwave_reader`` the missing rights, if it may. The same name connects the store anew and
    keeps its namespaces. A store of LangGraph without an index has a binding of its own. Raises ``BindingError`` for an invalid binding,
    and for tables that do not exist or do not fit it.
    """
    given = dict(parameters or {})
    binding = read_binding(own_text or built_in_text(kind), given, name=file_name or f"The binding {kind}")
    name = _safe(name or binding.store)
    with store.connect("owner") as connection:
        missing = [table for table, bound in binding.tables.items() if not there(connection, bound)]
        if not own_text and kind in _WITHOUT_VECTORS and missing == ["vectors"]:
            kind, missing = _WITHOUT_VECTORS[kind], []
            given.pop("field", None)
            binding = read_binding(built_in_text(kind), given, name=f"The binding {kind}")
        _refuse_missing(binding, [binding.tables[table] for table in missing])
        if wrong := misfits(connection, binding):
            raise BindingError(
                f"{' '.join(wrong)} Correct the binding, or the names that you gave; nothing was connected."
            )
        _refuse_taken(connection, name, binding)
        _refuse_connected(connection, name, binding, given)
        structure = structure_of(connection, binding)
        of = ConnectedStore(
            name, TABLE if own_text else kind, binding, given, structure, embedding_model, own_text=own_text
        )
        with connection.transaction():
            was_written = connection.execute(_WRITTEN, (name,)).fetchone() is not None
            register(connection, of)
            grants = missing_grants(connection, binding)
            if grant:
                with suppress(psycopg.errors.InsufficientPrivilege), connection.transaction():
                    for statement in grants:
                        connection.execute(statement.encode())
                grants = missing_grants(connection, binding)
        version = version_of(structure, binding)
        if grants:
            known = namespaces_of(connection, name)
            return Connected(of, version, tuple(grants), None, known, 0, (), was_written)
    added = enter_namespaces(store, of)
    note_changes_of(store, of)
    with store.connect("reader") as reader:
        rows, known = passed(reader, of), namespaces_of(reader, name)
    with store.connect("owner") as connection:
        found = diagnose_store(store, connection, of)
    return Connected(of, version, (), rows, known, added, tuple(found), was_written)


def disconnect_store(store: Store, name: str) -> None:
    """Disconnect a store, so that it is no longer read; its rows, and what nights found in them, stay as they are."""
    with store.connect("owner") as connection:
        disconnect(connection, name)


def _safe(name: str) -> str:
    if (
        not name.replace("_", "").isalnum()
        or not name.isascii()
        or name != name.lower()
        or len(name) > 31
        or not name[0].isalpha()
    ):
        raise BindingError(
            f"A store's name is of lower-case letters, digits and _, and {name[:40]!r} is not. Nothing was connected."
        )
    if name == "memory":
        raise BindingError("memory is our own, and connected always. Choose another name.")
    refuse_reserved(name)
    return name


def _refuse_taken(connection: Connection, name: str, binding: Binding) -> None:
    """Refuse a store that is one namespace if the name of that namespace is taken by another one."""
    slug = slug_of(name, None)
    whole = any(bound.parent is None and bound.namespace is None for bound in binding.tables.values())
    if whole and connection.execute(_TAKEN, (slug, name)).fetchone():
        raise BindingError(
            f"There is a namespace {slug} already, which is not of this store. Give the store a name by --name; nothing was connected."
        )


def _refuse_connected(connection: Connection, name: str, binding: Binding, given: Mapping[str, str]) -> None:
    """Refuse a table whose rows are read under another store's name: two namespaces would plan changes of the same rows."""
    if "root" in given:  # files, which are copied to tables that all of them share
        return
    tables = _tables(binding)
    for other in connected_stores(connection):
        if other.name != name and "root" not in other.parameters and (shared := tables & _tables(other.binding)):
            schema, table = min(shared)
            raise BindingError(
                f"{schema}.{table} is connected already, as {other.name}, and a table can be connected once: its rows would be in two "
                f"namespaces. To connect it anew, give --name {other.name}, or first run `slowwave connect remove {other.name}`. "
                "Nothing was connected."
            )


def _tables(binding: Binding) -> set[tuple[str, str]]:
    """Return the tables that hold a binding's rows; child tables may be shared."""
    return {(bound.schema, bound.table) for bound in binding.tables.values() if bound.parent is None}


def _refuse_missing(binding: Binding, gone: Sequence[BoundTable]) -> None:
    if gone:
        names = ", ".join(f"{bound.schema}.{bound.table}" for bound in gone)
        raise BindingError(
            f"{binding.title} would lie in {names}, and this database has no such table. Look at the address and at the names that "
            "you gave; nothing was connected."
        )


# Texts of memories of a connected store by id, for people who review a plan.

_SAID: Final = """
SELECT m.id::text, v.content FROM ({memories}) m JOIN ({versions}) v ON v.id = m.current_version_id
WHERE m.id = ANY({ids}::uuid[]) AND m.invalidated_at IS NULL AND m.state <> 'quarantined'
"""


def texts_of(connection: Connection, namespace_id: str, ids: Collection[str]) -> dict[str, str]:
    """Return row → text for live memories in a namespace of a connected store; empty for Slowwave's own memory.

    The texts are untrusted. Raises ``StoreError`` if the store cannot be read. Cost: two passes over the namespace's rows.
    """
    if not ids or (found := connected_store(connection, namespace_id)) is None:
        return {}
    of, scope = found
    memories, versions = (
        select_rows(of.binding, metadata.tables[f"memory.{table}"], scope) for table in ("memories", "memory_versions")
    )
    statement = sql.SQL(_SAID).format(memories=memories, versions=versions, ids=sql.Literal(sorted(ids)))
    with reading(of):
        return {str(id_): str(text) for id_, text in connection.execute(statement) if text}
