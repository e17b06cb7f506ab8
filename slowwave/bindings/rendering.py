"""SELECT statements with the names of Slowwave's tables, made from a binding: the source of every snapshot.

Identifiers are quoted, values are literals. A value that does not fit the catalogue becomes null, and then the catalogue's default: a
date that is invalid or outside the years 1 to 9999, a number that is text. Rows without a text are left out of ``memories``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from psycopg import sql
from sqlalchemy import Column, Table

from slowwave.bindings.binding import (
    Binding,
    BoundColumn,
    BoundTable,
    key_text_sql,
    memory_binding,
    row_id_sql,
    type_of,
)
from slowwave.store.doctor import MOST_MEMBERS, checked_columns, condition, readable
from slowwave.store.tables import DERIVED_COLUMNS, VECTORS

UNREADABLE: Final = "unreadable"
"""The column that ``select_rows`` adds if a row may hold a value that no night can read: the name of that value's column, else null."""

_LARGEST: Final = {"bigint": 9e15, "double precision": 1e300}
"""Numeric types → a bound above all valid values."""

_TYPES: Final = {
    "text": sql.SQL("text"),
    "uuid": sql.SQL("uuid"),
    "jsonb": sql.SQL("jsonb"),
    "timestamptz": sql.SQL("timestamptz"),
    "boolean": sql.SQL("boolean"),
    "bigint": sql.SQL("bigint"),
    "double precision": sql.SQL("double precision"),
    "uuid[]": sql.SQL("uuid[]"),
    "text[]": sql.SQL("text[]"),
    "double precision[]": sql.SQL("double precision[]"),
}
"""Types of the catalogue."""

_UUID: Final = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"


@dataclass(frozen=True, slots=True)
class Scope:
    """One namespace: its id here, and its name in its store; ``whole`` if the store is one namespace."""

    namespace_id: str
    native: str = ""
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Scopes:
    """Several namespaces of one store, none of them the whole of it: their ids here, and their names in the store."""

    namespace_ids: tuple[str, ...]
    natives: tuple[str, ...]


def select_rows(binding: Binding, table: Table, scope: Scope | Scopes, *, checked: bool = False) -> sql.Composed:
    """Return the SELECT of a logical table, with all catalogue columns except ``namespace_id`` and those of triggers.

    For several namespaces ``namespace_id`` is the first column. With ``checked`` the last column is ``UNREADABLE``, and values that no
    night can read are replaced by the nearest readable ones (``slowwave.store.doctor``). Tables that the binding does not hold are read
    from ``memory``, which also has the pages and corpora of a connected store's namespaces.
    """
    if bound := binding.tables.get(table.name):
        if binding.overlay:
            return _bound_rows(binding, bound, table, scope, checked=checked)
        return _own_rows(bound, table, scope, checked=checked)
    if table.name == "memory_versions" and (bound := binding.tables.get("memories")):
        return _versions(binding, bound, scope, checked=checked)
    return select_rows(memory_binding(), table, scope, checked=checked)


def select_vectors(binding: Binding, table: str, scope: Scope | Scopes, model: str, dimensions: int) -> sql.Composed:
    """Return the SELECT of ``id`` and ``vector`` of a vectors table.

    Rows are those of one model or, in a connected store, those with as many dimensions. For several namespaces ``namespace_id`` is the
    first column.
    """
    found = binding.vector_of(VECTORS[table]) if binding.overlay else None
    if found is None:
        own = memory_binding().tables[table]
        return sql.SQL("SELECT {}t.id, t.vector FROM {} AS t WHERE {} AND t.model = {}").format(
            _whose(scope, "t"), _name(own), _inside(own, scope), sql.Literal(model)
        )
    holder, column = found
    rows = binding.tables[VECTORS[table]]
    vector = _vector(holder, column, rows)
    found_first = sql.SQL("SELECT {}{} AS id, {} AS vector FROM {} WHERE {} OFFSET 0").format(
        _whose(scope, "k"),
        row_id_sql(binding, rows, "t"),
        vector,
        _placed(rows, scope, holder),
        _in_scope(rows, scope, holder),
    )  # without OFFSET 0 the length of each vector of the table is checked, and long ones are loaded for that
    return sql.SQL("SELECT * FROM ({}) AS v WHERE vector_dims(v.vector) = {}").format(
        found_first, sql.Literal(dimensions)
    )


def select_dimensions(binding: Binding, table: str, scope: Scope | Scopes) -> sql.Composed | None:
    """Return the SELECT of the most frequent vector length of a logical table, or None.

    It is None for Slowwave's own memory and for a store without vectors. For several namespaces it selects ``namespace_id`` and length
    for each.
    """
    found = binding.vector_of(VECTORS[table]) if binding.overlay else None
    if found is None:
        return None
    holder, column = found
    rows = binding.tables[VECTORS[table]]
    source, standing = _placed(rows, scope, holder), _in_scope(rows, scope, holder)
    vector = _vector(holder, column, rows)
    if isinstance(scope, Scopes):
        return sql.SQL(
            "SELECT DISTINCT ON (1) k.namespace_id::text, vector_dims({vector}) FROM {source} WHERE {standing} "
            "AND {vector} IS NOT NULL GROUP BY 1, 2 ORDER BY 1, count(*) DESC, 2"
        ).format(vector=vector, source=source, standing=standing)
    return sql.SQL(
        "SELECT vector_dims({vector}) FROM {source} WHERE {standing} AND {vector} IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1"
    ).format(vector=vector, source=source, standing=standing)


def text_of(column: BoundColumn, alias: str) -> sql.Composable:
    """Return the SQL of a bound column's value as text."""
    name = sql.Identifier(alias, column.column)
    if not column.path:
        return sql.SQL("{}::text").format(name)
    if len(column.path) == 1:  # in the form that clients use, so that their indexes on the expression apply
        return sql.SQL("({} ->> {})").format(name, sql.Literal(column.path[0]))
    return sql.SQL("({} #>> {})").format(name, sql.Literal(list(column.path)))


def instant_of(column: BoundColumn, alias: str) -> sql.Composable:
    """Return the SQL of a bound column's value as an instant, null if it is none."""
    if column.path or column.type not in ("timestamptz", "timestamp", "date"):
        return sql.SQL("night.instant_of({})").format(text_of(column, alias))
    name = sql.Identifier(alias, column.column)
    return sql.SQL("CASE WHEN {0} >= '0001-01-01' AND {0} < '10000-01-01' THEN {0}::timestamptz END").format(name)


def _own_rows(bound: BoundTable, table: Table, scope: Scope | Scopes, *, checked: bool) -> sql.Composed:
    kinds = checked_columns(table) if checked else {}
    found: list[sql.Composable] = [
        sql.SQL("{} AS {}").format(_sql(readable(table, c.name, f"t.{c.name}")), sql.Identifier(c.name))
        if c.name in kinds
        else sql.Identifier("t", c.name)
        for c in _columns(table)
    ]
    if checked:
        found.append(_unreadable([(name, condition(kind, f"t.{name}")) for name, kind in kinds.items()]))
    columns = sql.SQL(", ").join(found)
    return sql.SQL("SELECT {}{} FROM {} AS t WHERE {}").format(
        _whose(scope, "t"), columns, _name(bound), _inside(bound, scope)
    )


def _sql(written: str) -> sql.SQL:
    """Wrap SQL that was made only of names and types of the catalogue."""
    return sql.SQL(written)  # pyright: ignore[reportArgumentType] - it is no literal, and holds nothing from outside


def _unreadable(conditions: Sequence[tuple[str, str]]) -> sql.Composable:
    """Return the SQL of the first column whose condition is false, named ``UNREADABLE``."""
    if not conditions:
        return sql.SQL("NULL::text AS {}").format(sql.Identifier(UNREADABLE))
    cases = [
        sql.SQL("WHEN ({}) IS FALSE THEN {}").format(_sql(tested), sql.Literal(name)) for name, tested in conditions
    ]
    return sql.SQL("CASE {} END AS {}").format(sql.SQL(" ").join(cases), sql.Identifier(UNREADABLE))


_CHECKED_TYPES: Final = {
    **dict.fromkeys(("timestamptz", "timestamp", "date"), "instant"),
    **dict.fromkeys(("real", "double precision"), "number"),
    **dict.fromkeys(("json", "jsonb"), "json"),
    **dict.fromkeys(("uuid[]", "text[]", "double precision[]"), "list"),
}
"""Type of a bound column → kind of its values (``slowwave.store.doctor``)."""


def _unreadable_bound(bound: BoundTable) -> sql.Composable:
    """Return the SQL of the first column of a connected store's row ``t`` that no night can read.

    An infinite ``valid_to`` counts as readable: it means that there is no end.
    """
    found: list[tuple[str, str]] = []
    for name, column in bound.columns.items():
        kind = _CHECKED_TYPES.get(column.type)
        if kind is None or (column.path and kind != "json"):  # text under a path with an invalid value is read as null
            continue
        value = sql.Identifier("t", column.column).as_string()
        if column.path:
            value = f"({value} #> {sql.Literal(list(column.path)).as_string()})"
        tested = condition(kind, f"{value}::jsonb" if kind == "json" else value)
        found.append(
            (name, f"{value} = 'infinity' OR {tested}" if name == "valid_to" and kind == "instant" else tested)
        )
    return _unreadable(found)


def _bound_rows(
    binding: Binding, bound: BoundTable, table: Table, scope: Scope | Scopes, *, checked: bool
) -> sql.Composed:
    columns: list[sql.Composable] = [
        sql.SQL("{} AS {}").format(_logical(binding, bound, column), sql.Identifier(column.name))
        for column in _columns(table)
    ]
    if checked:
        columns.append(_unreadable_bound(bound))
    return sql.SQL(
        "SELECT {whose}{columns} FROM {source} LEFT JOIN night.overlay AS o ON o.namespace_id = {namespace} AND o.table_name = {name} "
        "AND o.row_id = {id} WHERE {standing}"
    ).format(
        whose=_whose(scope, "k"),
        columns=sql.SQL(", ").join(columns),
        source=_placed(bound, scope, bound),
        namespace=sql.SQL("k.namespace_id") if isinstance(scope, Scopes) else sql.Literal(scope.namespace_id),
        name=sql.Literal(bound.name),
        id=row_id_sql(binding, bound, "t"),
        standing=_in_scope(bound, scope, bound),
    )


def _versions(binding: Binding, bound: BoundTable, scope: Scope | Scopes, *, checked: bool) -> sql.Composed:
    """Return the SELECT of the memories' texts, each as the only version of its memory."""
    return sql.SQL(
        "SELECT {whose}{version} AS id, {id} AS memory_id, 1 AS ordinal, {content} AS content, 'import' AS reason, "
        "{recorded} AS recorded_at, NULL::uuid AS recorded_by{unreadable} FROM {source} WHERE {standing}"
    ).format(
        unreadable=sql.SQL(", NULL::text AS {}").format(sql.Identifier(UNREADABLE)) if checked else sql.SQL(""),
        whose=_whose(scope, "k"),
        version=_version_id(binding, bound),
        id=row_id_sql(binding, bound, "t"),
        content=text_of(bound.columns["content"], "t"),
        recorded=_recorded(bound),
        source=_placed(bound, scope, bound),
        standing=_in_scope(bound, scope, bound),
    )


def _logical(binding: Binding, bound: BoundTable, column: Column[Any]) -> sql.Composable:
    """Return the SQL of one catalogue column: bound, computed, constant, or in the overlay with the catalogue's default."""
    made = _made(binding, bound, column.name)
    if made is not None:
        return made
    kind = type_of(column)
    if column.name in bound.constants:
        return sql.SQL("{}::{}").format(sql.Literal(bound.constants[column.name]), _TYPES[kind])
    default = _default(column)
    if kind == "text" and not column.nullable and column.server_default is None:
        default = sql.SQL("''")  # a store may lack a column that the catalogue requires in every row
    if to := bound.columns.get(column.name):
        return sql.SQL("coalesce({}, {})").format(_valued(to, kind, "t", column), default)
    stored = BoundColumn("cells", (column.name,), kind, "jsonb")
    if column.name == "valid_from" and (since := _written_once(bound)):
        default = since
    return sql.SQL("coalesce({}, {})").format(_valued(stored, kind, "o", column), default)


def _made(binding: Binding, bound: BoundTable, name: str) -> sql.Composable | None:
    if name == "id":
        return row_id_sql(binding, bound, "t")
    if name == "external_id" and name not in bound.columns:
        return key_text_sql(bound, "t")
    if name == "current_version_id":
        return _version_id(binding, bound)
    if name == "recorded_at":
        return _recorded(bound)
    if name == "kind" and name not in bound.columns and name not in bound.constants:
        return sql.SQL("'semantic'::text")
    if name == "scope" and bound.apart and name not in bound.columns:
        parts = sql.SQL(", ").join(text_of(column, "t") for column in bound.apart)
        return sql.SQL("CASE WHEN coalesce({0}) IS NULL THEN '' ELSE jsonb_build_array({0})::text END").format(parts)
    if name == "invalidated_at" and bound.retired:
        return sql.SQL("CASE WHEN {} THEN {} END").format(retired_sql(bound, "t"), _retired_at(bound))
    return None


def retired_sql(bound: BoundTable, alias: str) -> sql.Composable:
    """Return the SQL condition that a store no longer shows a row; never null."""
    if bound.retired is None:
        return sql.SQL("false")
    column, test = bound.retired.column, bound.retired.test
    if test == "set":
        return sql.SQL("{} IS NOT NULL").format(text_of(column, alias))
    if test == "true":
        return sql.SQL("coalesce({} = 'true', false)").format(text_of(column, alias))
    passed = "{} < date_trunc('day', now())" if column.type == "date" else "{} <= now()"
    return sql.SQL("coalesce({}, false)").format(sql.SQL(passed).format(instant_of(column, alias)))


def row_conditions(bound: BoundTable) -> tuple[sql.Composable, sql.Composable, sql.Composable]:
    """Return the SQL, over a row ``t``, of whether it is retired, whether it is read at all, and its namespace."""
    native = text_of(bound.namespace, "t") if bound.namespace else sql.SQL("NULL::text")
    return retired_sql(bound, "t"), in_scope_sql(bound, Scope("", whole=True)), native


def _retired_at(bound: BoundTable) -> sql.Composable:
    assert bound.retired is not None  # noqa: S101 - whoever asks has looked
    if bound.retired.test == "true":
        return sql.SQL("coalesce((o.cells ->> 'invalidated_at')::timestamptz, {})").format(_recorded(bound))
    return sql.SQL("coalesce({}, {})").format(instant_of(bound.retired.column, "t"), _recorded(bound))


def _recorded(bound: BoundTable) -> sql.Composable:
    column = bound.columns.get("recorded_at")
    return sql.SQL("coalesce({}, now())").format(instant_of(column, "t")) if column else sql.SQL("now()")


def _written_once(bound: BoundTable) -> sql.Composable | None:
    """Return the SQL of the time when a row was written, null if it was written again later.

    A "yesterday" in its text then refers to an unknown day.
    """
    made, again = bound.columns.get("recorded_at"), bound.columns.get("updated_at")
    if made is None or again is None:
        return None
    return sql.SQL("CASE WHEN coalesce({again} - {made} < interval '1 second', true) THEN {made} END").format(
        made=instant_of(made, "t"), again=instant_of(again, "t")
    )


def _version_id(binding: Binding, bound: BoundTable) -> sql.Composable:
    """Return the SQL of the version's id, derived from the memory's id and its text: equal ids mean equal texts."""
    return sql.SQL("md5({}::text || ':' || {})::uuid").format(
        row_id_sql(binding, bound, "t"), text_of(bound.columns["content"], "t")
    )


def _valued(column: BoundColumn, kind: str, alias: str, to: Column[Any]) -> sql.Composable:
    """Return the SQL of a column's value in the catalogue's type, null if it does not fit."""
    text, name = text_of(column, alias), sql.Identifier(alias, column.column)
    if kind == "text":
        return text
    if kind == "timestamptz":
        return instant_of(column, alias)
    if kind == "uuid":
        return sql.SQL("CASE WHEN {0} ~ {1} THEN ({0})::uuid END").format(text, sql.Literal(_UUID))
    if kind == "boolean":
        return sql.SQL("CASE WHEN {0} IN ('true', 'false') THEN ({0})::boolean END").format(text)
    json = (
        sql.SQL("({} #> {})::jsonb").format(name, sql.Literal(list(column.path)))
        if column.path
        else sql.SQL("to_jsonb({})").format(name)
    )
    if kind in _LARGEST:
        number = sql.SQL("CASE WHEN abs(({0})::numeric) < {1} THEN ({0})::numeric::{2} END").format(
            text, sql.Literal(_LARGEST[kind]), _TYPES[kind]
        )
        return sql.SQL("CASE WHEN jsonb_typeof({}) = 'number' THEN {} END").format(json, number)
    if kind == "jsonb":
        shape = "array" if _written_default(to) == "[]" else "object"
        return sql.SQL("CASE WHEN jsonb_typeof({0}) = {1} AND ({2}) THEN {0} END").format(
            json, sql.Literal(shape), _sql(condition("json", json.as_string()))
        )
    members = sql.SQL("CASE WHEN {1} THEN ARRAY(SELECT jsonb_array_elements_text({0}))").format(json, _is_short(json))
    if kind != "uuid[]":
        return sql.SQL("{}::{} END").format(members, _TYPES[kind])
    return sql.SQL(
        "CASE WHEN {2} THEN ARRAY(SELECT e::uuid FROM jsonb_array_elements_text({0}) AS e WHERE e ~ {1}) END"
    ).format(json, sql.Literal(_UUID), _is_short(json))


def _is_short(json: sql.Composable) -> sql.Composable:
    """Return the SQL condition that a JSON value is a list that a night can read."""
    return sql.SQL("CASE WHEN jsonb_typeof({0}) = 'array' THEN jsonb_array_length({0}) <= {1} ELSE false END").format(
        json, sql.Literal(MOST_MEMBERS)
    )


def _default(column: Column[Any]) -> sql.Composable:
    """Return the SQL of the catalogue's default, null if there is none."""
    written = _written_default(column)
    return (
        sql.SQL("now()")
        if written == "now()"
        else sql.SQL("{}::{}").format(sql.Literal(written), _TYPES[type_of(column)])
    )


def _written_default(column: Column[Any]) -> str | None:
    default: Any = column.server_default
    return None if default is None else str(default.arg)


def _columns(table: Table) -> list[Column[Any]]:
    return [c for c in table.c if c.name not in DERIVED_COLUMNS and c.name != "namespace_id"]


def _name(bound: BoundTable) -> sql.Composable:
    return sql.Identifier(bound.schema, bound.table)


def _inside(bound: BoundTable, scope: Scope | Scopes) -> sql.Composable:
    """Return the SQL condition that a row of Slowwave's own tables is in the namespace, or in one of them."""
    if isinstance(scope, Scopes):
        return sql.SQL("t.namespace_id = ANY({}::uuid[])").format(sql.Literal(list(scope.namespace_ids)))
    return sql.SQL("t.namespace_id = {}").format(sql.Literal(scope.namespace_id))


def _whose(scope: Scope | Scopes, alias: str) -> sql.Composable:
    """Return the SQL of the first column for several namespaces; empty for one."""
    return sql.SQL("{}, ").format(sql.Identifier(alias, "namespace_id")) if isinstance(scope, Scopes) else sql.SQL("")


def _placed(rows: BoundTable, scope: Scope | Scopes, holder: BoundTable) -> sql.Composable:
    """Return ``joined_sql``, joined with the namespace of each row as ``k`` if there are several."""
    source = joined_sql(rows, holder)
    if not isinstance(scope, Scopes):
        return source
    assert rows.namespace is not None  # noqa: S101 - a store that is one namespace has no others
    return sql.SQL("{} JOIN unnest({}::uuid[], {}::text[]) AS k (namespace_id, native) ON k.native = {}").format(
        source,
        sql.Literal(list(scope.namespace_ids)),
        sql.Literal(list(scope.natives)),
        text_of(rows.namespace, "t"),
    )


def _in_scope(rows: BoundTable, scope: Scope | Scopes, holder: BoundTable) -> sql.Composable:
    """Return ``in_scope_sql``; for several namespaces without the namespace, which ``_placed`` determines."""
    return in_scope_sql(rows, Scope("", whole=True) if isinstance(scope, Scopes) else scope, holder)


def in_scope_sql(bound: BoundTable, scope: Scope, child: BoundTable | None = None) -> sql.Composable:
    """Return the SQL condition that a row belongs to the namespace and is read at all."""
    parts: list[sql.Composable] = []
    if bound.namespace is not None and not scope.whole:
        parts.append(sql.SQL("{} = {}").format(text_of(bound.namespace, "t"), sql.Literal(scope.native)))
    parts += [held_sql("t", pair) for pair in bound.only]
    if content := bound.columns.get("content"):
        parts.append(sql.SQL("{} <> ''").format(text_of(content, "t")))
        if content.path:
            name = sql.Identifier("t", content.column)
            parts.append(
                sql.SQL("jsonb_typeof(({} #> {})::jsonb) = 'string'").format(name, sql.Literal(list(content.path)))
            )
    if child is not None and child is not bound:
        parts += [held_sql("c", pair) for pair in child.only]
    return sql.SQL(" AND ").join(parts) if parts else sql.SQL("true")


def held_sql(alias: str, pair: tuple[str, tuple[str, ...]]) -> sql.Composable:
    """Return the SQL condition that a column holds one of some texts, as ``only`` declares it."""
    texts = sql.SQL(", ").join(map(sql.Literal, pair[1]))
    return sql.SQL("{}::text IN ({})").format(sql.Identifier(alias, pair[0]), texts)


def joined_sql(rows: BoundTable, holder: BoundTable) -> sql.Composable:
    """Return the SQL of a table as ``t``, joined with its child ``holder`` as ``c`` if that is one."""
    if holder.parent is None:
        return sql.SQL("{} AS t").format(_name(rows))
    same = sql.SQL(" AND ").join(
        sql.SQL("{} = {}").format(sql.Identifier("c", own), sql.Identifier("t", there))
        for own, there in holder.parent.columns
    )
    return sql.SQL("{} AS t JOIN {} AS c ON {}").format(_name(rows), _name(holder), same)


def _vector(holder: BoundTable, column: BoundColumn, rows: BoundTable) -> sql.Composable:
    return sql.SQL("{}::vector").format(sql.Identifier("t" if holder is rows else "c", column.column))
