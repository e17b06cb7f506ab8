"""Whether a table has what a binding names in it: asked before a store is connected, so that a wrong name is told at once.

Whether what is there is read and written well belongs to ``slowwave.bindings.checks``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from slowwave.bindings.binding import Binding, BoundColumn, BoundTable
from slowwave.store.connect import Connection

_COLUMNS: Final = """
SELECT a.attname, format_type(a.atttypid, NULL) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_UNIQUE: Final = """
SELECT 1 FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND i.indisunique AND i.indpred IS NULL
  AND (SELECT array_agg(a.attname::text ORDER BY a.attname::text COLLATE "C") FROM pg_attribute a WHERE a.attrelid = c.oid
    AND (a.attnum = ANY (i.indkey::int2[]) OR EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = i.indexrelid
      AND d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = c.oid
      AND d.refobjsubid = a.attnum))) = %s::text[]
"""
"""Of columns and of what is made of columns (coalesce of one that may be null): rows that differ in that differ in the columns."""
_SAME: Final = {
    "character varying": "text",
    "character": "text",
    "timestamp with time zone": "timestamptz",
    "timestamp without time zone": "timestamp",
}
_NARROWER: Final = {"vector": "halfvec"}
"""What is read and written as the other: a half vector takes the values of a vector, rounded as its client rounds them."""
_SHOWN: Final = 12


def misfits(connection: Connection, binding: Binding) -> list[str]:
    """What a binding names and its tables do not have, a sentence each: columns, their types where they decide, and a unique key."""
    return [said for bound in binding.tables.values() for said in _of(connection, bound)]


def _of(connection: Connection, bound: BoundTable) -> Iterator[str]:
    place = f"{bound.schema}.{bound.table}"
    types = {str(name): str(kind) for name, kind in connection.execute(_COLUMNS, (bound.schema, bound.table))}
    if gone := [name for name in dict.fromkeys(_named(bound)) if name not in types]:
        has = ", ".join([*types][:_SHOWN]) + (" …" if len(types) > _SHOWN else "")
        yield f"{place} has no column {', '.join(name[:63] for name in gone)}; it has {has}."
        return
    for key in bound.key:
        kind = types[key.column]
        if _SAME.get(kind, kind) != key.type:
            yield f"The key {key.column} of {place} is {kind}, and the binding says {key.type}."
    for column in _bound(bound):
        kind = types[column.column]
        if column.path and kind != column.json:
            yield f"{column.column} of {place} is {kind}, and the binding reads it as {column.json}."
        elif column.type in ("vector", "halfvec") and kind not in (column.type, _NARROWER.get(column.type)):
            yield f"{column.column} of {place} is {kind}, and the binding says {column.type}."
    own = sorted(key.column for key in bound.key)
    if connection.execute(_UNIQUE, (bound.schema, bound.table, own)).fetchone() is None:
        yield f"No unique index of {place} is of {', '.join(own)} alone, so that key does not tell its rows apart."


def _bound(bound: BoundTable) -> Iterator[BoundColumn]:
    yield from bound.columns.values()
    yield from bound.apart
    if bound.namespace is not None:
        yield bound.namespace
    if bound.retired is not None:
        yield bound.retired.column


def _named(bound: BoundTable) -> Iterator[str]:
    yield from (key.column for key in bound.key)
    yield from (column.column for column in _bound(bound))
    yield from (name for name, _ in bound.only)
    yield from bound.volatile
    yield from (own for own, _ in (bound.parent.columns if bound.parent else ()))
