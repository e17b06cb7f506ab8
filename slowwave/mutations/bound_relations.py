"""The relations of a store that is not ours, made of its binding: physical tables by ``schema.table``, and ``night.overlay``.

A cell's key is the JSON of the row's native key, a list of texts. Its column is a bound column's name; where that lies under a path of a
``json`` column, which has no equality and loses its spacing when it is patched, the cell is the whole physical column, ``/`` and its name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from slowwave.bindings.binding import Binding, BoundColumn, BoundTable, KeyColumn
from slowwave.bindings.row_ids import row_id_sql
from slowwave.errors import Refused
from slowwave.mutations.catalogue import (
    Catalogue,
    Child,
    Field,
    Relation,
    Taken,
    own_relation,
    quoted_name,
    quoted_text,
)
from slowwave.mutations.cells import sql_type
from slowwave.mutations.change import OVERLAY
from slowwave.mutations.change_limits import change_fault, name_of
from slowwave.store.connect import Connection

RETIRED: Final = "#retired"
"""The cell that tells whether a row is one that its store no longer shows, where no bound column lies there."""

APART: Final = "#apart"
"""With a number, the same of what rows differ by that are never one."""

Rows = Mapping[str, Mapping[str, str]]
"""Bound table → physical column that makes up a row → its type. Generated columns are none of them."""

_COLUMNS: Final = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum
"""
_ISO_NOW: Final = """to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')"""


def row_types(connection: Connection, binding: Binding) -> Rows:
    """The columns of a store's tables as they are now."""
    return {
        name: {str(c): str(kind) for c, kind in connection.execute(_COLUMNS, (bound.schema, bound.table))}
        for name, bound in binding.tables.items()
    }


def bound_catalogue(binding: Binding, native: str | None, rows: Rows) -> Catalogue:
    """What the items of a namespace of the store may touch; ``native`` is what the namespace is called there, None the whole store.

    Tables of ``memory`` that the binding does not speak of are those of the namespace, as ever.
    """
    relations = {name_of(bound): _relation(binding, bound, n, rows) for n, bound in enumerate(binding.tables.values())}
    relations[OVERLAY] = _overlay()
    bound_here = {*binding.tables, *(("memory_versions", "memory_vectors") if "memories" in binding.tables else ())}

    def relation(name: str) -> Relation:
        if name in relations:
            return relations[name]
        if name in bound_here or "." in name:
            raise Refused(
                f"No mutation may touch {name[:64]}: in a namespace of {binding.title} that is none of its tables."
            )
        return own_relation(name)

    return Catalogue(relation, {"native": native}, partial(change_fault, binding))


def cell_of(bound: BoundTable, name: str) -> str:
    """The column of the cell in which a bound column lies, or what tells whether the row is retired, or by what rows differ: what lies in
    one place is one cell, by whatever name it is asked for.
    """
    column = _columns(bound)[name]
    if column.path and column.json == "json":
        return f"/{column.column}"
    return next(n for n, c in _columns(bound).items() if (c.column, c.path) == (column.column, column.path))


def _columns(bound: BoundTable) -> dict[str, BoundColumn]:
    retired = {RETIRED: bound.retired.column} if bound.retired else {}
    return {**bound.columns, **retired, **{f"{APART}{n}": column for n, column in enumerate(bound.apart)}}


def key_json(native: tuple[str, ...]) -> str:
    """A native key as cells hold it."""
    return json.dumps(native, ensure_ascii=False, separators=(",", ":"))


def scope_of(binding: Binding, bound: BoundTable) -> str:
    """The condition by which a row ``t`` is the namespace's: its own column's, or that of the row to which it belongs. A row that is not
    read is nobody's."""
    if bound.parent is None:
        return " AND ".join([_inside(bound.namespace, "t"), *(_held("t", pair) for pair in bound.only)])
    if bound.namespace is not None:
        return _inside(bound.namespace, "t")
    parent = binding.tables[bound.parent.table]
    same = " AND ".join(f"t.{quoted_name(own)} = p.{quoted_name(theirs)}" for own, theirs in bound.parent.columns)
    return f"EXISTS (SELECT 1 FROM {_sql(parent)} p WHERE {same} AND {_inside(parent.namespace, 'p')})"


def _inside(namespace: BoundColumn | None, alias: str) -> str:
    if namespace is None:
        return "true"
    column = f"{alias}.{quoted_name(namespace.column)}"
    if not namespace.path:
        return f"{column}::text = %(native)s"
    path = ", ".join(map(quoted_text, namespace.path))
    return f"({column} #>> ARRAY[{path}]::text[]) = %(native)s"


def _held(alias: str, pair: tuple[str, tuple[str, ...]]) -> str:
    """That a column holds one of some texts."""
    return f"{alias}.{quoted_name(pair[0])}::text IN ({', '.join(map(quoted_text, pair[1]))})"


def _relation(binding: Binding, bound: BoundTable, rank: int, rows: Rows) -> Relation:
    row = rows[bound.name]
    if missing := sorted({*(k.column for k in bound.key), *(c.column for c in bound.columns.values())} - row.keys()):
        raise Refused(
            f"{name_of(bound)} has no column {missing[0]!r} that can be written, as its binding says. Nothing was done."
        )
    return Relation(
        name=name_of(bound),
        sql=_sql(bound),
        key=tuple(_key(k, n) for n, k in enumerate(bound.key)),
        scope=scope_of(binding, bound),
        fields=partial(_field, bound, row),
        rank=1_000 + rank,
        row=row,
        settled=tuple(c for c in row if c not in bound.volatile),
        children=tuple(_child(bound, child) for child in binding.children(bound.name)),
        takes=tuple(_taken(binding, bound, binding.tables[name]) for name in bound.takes),
        source=_source(binding, bound, rank, rows),
    )


def _key(key: KeyColumn, n: int) -> tuple[str, str]:
    """A column of a key over a row ``t``, and over a row of a batch."""
    own, other = f"t.{quoted_name(key.column)}", f"{{}}.key::jsonb ->> {n}"
    return (f"coalesce({own}::text, '')", f"coalesce({other}, '')") if key.nullable else (own, f"({other})::{key.type}")


def _source(binding: Binding, bound: BoundTable, rank: int, rows: Rows) -> Relation | None:
    """The relation whose rows move into this one."""
    owner = binding.owner(bound)
    return (
        _relation(binding, owner, rank, rows) if owner.retire.by == "move" and owner.retire.to == bound.name else None
    )


def _taken(binding: Binding, parent: BoundTable, taken: BoundTable) -> Taken:
    assert taken.parent is not None  # noqa: S101 - that is what makes it one
    ways: list[tuple[tuple[str, str], ...]] = []
    parents: list[str] = []
    for way in (taken.parent.columns, *taken.parent.also):
        own = {theirs: mine for mine, theirs in way}
        ways.append(tuple((f"t.{quoted_name(own[k.column])}", own[k.column]) for k in parent.key))
        named = replace(parent, key=tuple(replace(k, column=own[k.column]) for k in parent.key))
        parents.append(f"({row_id_sql(binding, named, 't').as_string(None)})")
    return Taken(
        name_of(taken),
        _sql(taken),
        scope_of(binding, taken),
        tuple(ways),
        tuple(parents),
        f"({row_id_sql(binding, taken, 't').as_string(None)})",
        f"array_to_json(ARRAY[{', '.join(f't.{quoted_name(k.column)}::text' for k in taken.key)}])::text",
    )


def _field(bound: BoundTable, row: Mapping[str, str], name: str) -> Field:
    columns = _columns(bound)
    if name.startswith("/") and name[1:] in {c.column for c in columns.values() if c.json == "json" and c.path}:
        return Field(name[1:], row[name[1:]])
    column = columns.get(name)
    if column is None or cell_of(bound, name) != name:
        raise Refused(f"No mutation may write {name_of(bound)}.{name[:64]}: its binding has no such cell.")
    if column.path:
        return Field(column.column, "jsonb", column.path, now=f"to_jsonb({_ISO_NOW})::text")
    return Field(column.column, row[column.column], now=_ISO_NOW if column.type == "text" else "now()::text")


def _child(parent: BoundTable, child: BoundTable) -> Child:
    assert child.parent is not None  # noqa: S101 - that is what makes it a child
    own = {theirs: mine for mine, theirs in child.parent.columns}
    return Child(
        name_of(child),
        _sql(child),
        tuple(f"x.{quoted_name(own[k.column])}" for k in parent.key),
        tuple(f"x.{quoted_name(k.column)}" for k in child.key),
    )


def _overlay() -> Relation:
    row = {"namespace_id": "uuid", "table_name": "text", "row_id": "uuid", "cells": "jsonb"}
    return Relation(
        name=OVERLAY,
        sql=OVERLAY,
        key=(
            ("t.namespace_id", "%(namespace)s::uuid"),
            ("t.table_name", "{}.key"),
            ("t.row_id", "{}.row_id"),
        ),
        scope="true",
        fields=_overlay_field,
        rank=2_000,
        row=row,
        settled=tuple(row),
        sparse="cells",
    )


def _overlay_field(name: str) -> Field:
    sql_type("memories", name)  # a column of the catalogue
    return Field("cells", "jsonb", (name,), now="to_jsonb(now())::text")


def _sql(bound: BoundTable) -> str:
    return f"{quoted_name(bound.schema)}.{quoted_name(bound.table)}"
