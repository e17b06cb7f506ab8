"""Whether the rows of a store changed, found out without a trigger in its tables: a sign of each namespace's rows, compared with the last.

A sign is, of each bound table, how many rows there are, how many of them stand, and the exclusive or of their hashes, with the columns left
out that mere reading moves. Another sign is noted like a change of our own tables, so all that asks whether a night is due goes on as ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

import psycopg
from psycopg import sql

from slowwave.bindings.binding import BoundTable
from slowwave.bindings.connected import (
    ConnectedStore,
    connected_names,
    connected_store,
    enter_namespaces,
    reading,
    store_named,
)
from slowwave.bindings.rendering import Scope, held_sql, joined_sql, retired_sql, text_of
from slowwave.errors import BindingError, StoreError
from slowwave.store.connect import Connection, Store

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
    """(namespace, store, rows of its first table when it was looked at last) of those that share a connected store with others."""
    with store.connect("reader") as connection:
        found = connection.execute(_ROWS, (list(namespaces),)).fetchall()
    return [(str(slug), str(name), int(str(rows))) for slug, name, rows in found]


def note_changes(store: Store) -> int:
    """Look at every connected store: enter namespaces that are new, note those whose rows changed; returns how many of both there were.

    Two passes over each table, whatever the number of namespaces. A store that cannot be read is passed over: its own nights say why.
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
    """Note which namespaces of one store changed; returns how many. One pass over each of its tables."""
    return _note(store, of, None)


def note_change(store: Store, namespace: str) -> None:
    """The same for one namespace alone, by its name; nothing for one of our own memory, or one that is not there."""
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
    """Namespace as its store calls it → the sign of its rows."""
    signs: dict[str | None, str] = {}
    for bound in of.binding.tables.values():
        if bound.parent and bound not in of.binding.children(bound.parent.table):
            continue  # what is only taken along is made of the rows, and an archive holds what is none any more
        columns = connection.execute(_COLUMNS, (bound.schema, bound.table)).fetchall()
        for native, sign in connection.execute(_sign(of, bound, columns, scope)).fetchall():
            signs[_name(native)] = f"{signs.get(_name(native), '')}{bound.name}={sign};"
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
    if rows.namespace is None and rows.only:  # other rows of the table are of other namespaces
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
    """A column, or what a vector is sent as, which costs far less to make than its text."""
    name = sql.Identifier(alias, column)
    return sql.SQL("md5({}({}))").format(sql.Identifier(*map(str, send)), name) if isinstance(send, list) else name


def _name(native: object) -> str | None:
    return None if native is None else str(native)
