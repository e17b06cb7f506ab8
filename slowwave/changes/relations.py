"""Tables of Slowwave and of connected stores, as the statements of apply and undo use them, and what may change there."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Final

from slowwave.bindings.binding import Binding, BoundColumn, BoundTable, KeyColumn, row_id_of, row_id_sql
from slowwave.changes.cells import OVERLAY, ROW, Change, column_of, is_counter, sql_type, table_of
from slowwave.changes.mutation import Identified, Mutation
from slowwave.errors import Refused
from slowwave.store.logins import Connection
from slowwave.store.tables import DERIVED_COLUMNS, VECTORS, metadata

# Relations: the properties of a table that the statements of apply and undo need, for our tables and for those of connected stores.
#
# Those of ``memory`` come from the catalogue of columns (``slowwave.store.tables``), those of a connected store from its binding. A cell of
# a relation is identified by the relation's name, the id of the row and the column. If a relation has a native key, the cell's ``key``
# holds it: the text of a PostgreSQL array of its key columns, in their order.


@dataclass(frozen=True, slots=True)
class Field:
    """A cell: the physical column, the path inside it if it is JSON, and the type to which the literal of a value is cast.

    ``now`` is the SQL text of the time of the transaction.
    """

    column: str
    type: str
    path: tuple[str, ...] = ()
    counter: bool = False
    now: str = "now()::text"

    @property
    def value(self) -> str:
        """Return the SQL of the value that a row ``t`` holds in this cell."""
        column = f"t.{quoted_name(self.column)}"
        return f"({column} #> {quoted_path(self.path)})" if self.path else column

    @property
    def vector(self) -> bool:
        """Return whether plans encode the value of this cell as a vector."""
        return self.type.split("(")[0].rpartition(".")[2] in ("vector", "halfvec")


@dataclass(frozen=True, slots=True)
class Child:
    """A relation whose rows are deleted with the row that they name.

    The expressions in ``parent_key`` over ``x`` are the key of the parent.
    """

    name: str
    sql: str
    parent_key: tuple[str, ...]
    own_key: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Taken:
    """A relation whose rows are deleted, unplanned, with any row that they name.

    ``ways`` lists the ways in which a row may name a parent: the SQL over ``t`` of the parent's key, each with its physical column.
    ``parents`` are the ids of the parent in each way. ``row_id`` and ``key`` are SQL over ``t`` of the row's own id and key in the
    journal.
    """

    name: str
    sql: str
    scope: str
    ways: tuple[tuple[tuple[str, str], ...], ...]
    parents: tuple[str, ...]
    row_id: str
    key: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A table as statements use it.

    - ``sql`` is its name in a statement.
    - ``key`` pairs expressions over a row ``t`` with those over a row ``{}`` of a batch.
    - ``scope`` is the condition that a row ``t`` belongs to the namespace.
    - ``row`` holds the columns of a row of a connected store with their types; None for tables of Slowwave.
    - ``settled`` are the columns that the hash of a row covers.
    - ``sparse`` names a JSON column; a row exists only while that column is not empty.
    - ``source`` is the relation from which rows move here: a new row copies the columns of the same names from the row with the same key,
      which is deleted there.
    """

    name: str
    sql: str
    key: tuple[tuple[str, str], ...]
    scope: str
    fields: Callable[[str], Field]
    rank: int
    row: Mapping[str, str] | None = None
    settled: tuple[str, ...] = ()
    children: tuple[Child, ...] = ()
    sparse: str = ""
    takes: tuple[Taken, ...] = ()
    source: Relation | None = None

    @property
    def order(self) -> str:
        """Return the SQL of the order in which rows are locked."""
        return ", ".join(own for own, _ in self.key)

    @property
    def absent(self) -> str:
        """Return the SQL condition that an outer join found no row."""
        return f"{self.key[0][0]} IS NULL"

    def same_key(self, alias: str) -> str:
        """Return the SQL that joins a batch row with the row of the same key, in any namespace."""
        return " AND ".join(f"{own} = {other.format(alias)}" for own, other in self.key)

    def match(self, alias: str) -> str:
        """Return the SQL that joins a batch row with the row of the same key, inside the namespace."""
        return f"{self.same_key(alias)} AND {self.scope}"

    def differs(self, column: str, text: str) -> str:
        """Return the SQL condition that a row ``t`` holds another value than the SQL expression ``text``."""
        cell = self.fields(column)
        if self.row is None:
            return f"{cell.value} IS DISTINCT FROM {text}::{cell.type}"
        return f"{cell.value}::text IS DISTINCT FROM ({text}::{cell.type})::text"  # the type json has no equality

    def stamp(self, columns: Iterable[str], col: str, item: str, value: str, action: str) -> str:
        """Return the SQL of the text that a write puts into a cell."""
        instants = {self.fields(c).now: c for c in columns}
        now = next(iter(instants), "now()::text")
        if len(instants) > 1:
            cases = " ".join(f"WHEN {quoted_text(c)} THEN {self.fields(c).now}" for c in sorted(columns))
            now = f"CASE {col} {cases} END"
        by = f"{item}::text" if self.row is None else f"to_jsonb({item})::text"
        return f"CASE {action} WHEN 'now' THEN {now} WHEN 'item' THEN {by} ELSE {value} END"

    def image(self, alias: str, columns: Iterable[str] | None = None) -> str:
        """Return the SQL of a row as the journal stores it: JSON without columns that triggers maintain.

        For a connected store, each column is stored as PostgreSQL's text of it.
        """
        if self.row is None:
            derived = "".join(f" - '{c}'" for c in DERIVED_COLUMNS if c in table_of(self.name).c)
            return f"(to_jsonb({alias}.*){derived})::text"
        names = list(self.row if columns is None else columns)
        parts = [names[n : n + 40] for n in range(0, len(names), 40)]  # a function takes at most a hundred arguments
        objects = (
            "jsonb_build_object(" + ", ".join(f"{quoted_text(c)}, {alias}.{quoted_name(c)}::text" for c in part) + ")"
            for part in parts
        )
        return f"({' || '.join(objects)})::text"

    def row_hash(self, alias: str) -> str:
        """Return the SQL of the hash of a row of a connected store, over its ``settled`` columns."""
        return sha256_of(self.image(alias, self.settled))

    def image_hash(self, body: str) -> str:
        """Return the SQL of the same hash, computed from an image instead of a row."""
        loose = [c for c in self.row or () if c not in self.settled]
        return sha256_of(f"({body}{''.join(f' - {quoted_text(c)}' for c in loose)})::text")


def _no_change(mutation: Mutation) -> str:
    return "It would change a store that this namespace is not of." if mutation.physical else ""


def _explain_all(connection: Connection, items: Sequence[Identified]) -> Mapping[str, str]:
    """Return no faults: items of Slowwave's own memory have no physical part."""
    return {}


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The relations that the items of a namespace may touch, by name, and the parameters of their scopes.

    ``fault`` returns a sentence if a mutation changes a connected store in a way that it may not, else an empty text. ``unexplained``
    returns the items whose physical change does not follow from their own cells, each with a sentence; it is called with their rows
    locked.
    """

    relation: Callable[[str], Relation]
    parameters: Mapping[str, object] = field(default_factory=dict)
    fault: Callable[[Mutation], str] = _no_change
    unexplained: Callable[[Connection, Sequence[Identified]], Mapping[str, str]] = _explain_all

    def check(self, mutation: Mutation) -> None:
        """Refuse a mutation whose physical change is not allowed in this store."""
        if why := self.fault(mutation):
            raise Refused(why)

    def parents_first(self, tables: Iterable[str]) -> list[str]:
        """Return the tables in an order in which rows may be inserted; rows may be deleted in the reverse order."""
        return sorted(tables, key=lambda table: self.relation(table).rank)


@cache
def own_relation(name: str) -> Relation:
    """Return the relation of a table of ``memory``.

    Raises ``Refused`` for any other table.
    """
    if f"memory.{name}" not in metadata.tables:
        raise Refused(f"No mutation may touch {name[:64]}: the catalogue has no such table.")
    table = table_of(name)
    model = (("t.model", "{}.key"),) if name in VECTORS else ()
    ranks = {t.fullname: n for n, t in enumerate(metadata.sorted_tables)}
    return Relation(
        name=name,
        sql=table.fullname,
        key=(("t.id", "{}.row_id"), *model),
        scope="t.namespace_id = %(namespace)s",
        fields=lambda column: _own_field(name, column),
        rank=ranks[table.fullname],
    )


@cache
def _own_field(table: str, column: str) -> Field:
    column_of(table, column)
    return Field(column, sql_type(table, column), counter=is_counter(table, column))


OWN: Final = Catalogue(own_relation)
"""The catalogue of our tables."""


def quoted_name(name: str) -> str:
    """Quote an identifier for a statement.

    Raises ``Refused`` for an identifier that is not allowed in a statement with parameters.
    """
    _refuse_odd(name)
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """Quote a text constant for a statement.

    Raises ``Refused`` as ``quoted_name``.
    """
    _refuse_odd(text)
    return "'" + text.replace("'", "''") + "'"


def quoted_path(path: Iterable[str]) -> str:
    """Return the SQL of a path inside a JSON column."""
    return f"ARRAY[{', '.join(map(quoted_text, path))}]::text[]"


def sha256_of(text: str) -> str:
    """Return the SQL of the SHA-256 of a text as the journal stores it; null if the text is null."""
    return f"encode(sha256(convert_to({text}, 'UTF8')), 'hex')"


def _refuse_odd(name: str) -> None:
    if not name or "%" in name or "{" in name or "}" in name or "\\" in name or not name.isprintable():
        raise Refused(
            f"{name[:64]!r} cannot name a table or a column here: it is empty, or has a character that is not printed, a brace, "
            "a backslash or a percent sign."
        )


# Limits of a change in a connected store: it may touch cells that the binding declares, of the rows that its mutation names.
#
# They are checked at sealing and again before the change is applied, like the limits of mutations: a forged plan item reaches no other
# table, column or row.


def name_of(bound: BoundTable) -> str:
    """Return the name of a bound table in cells and in the journal."""
    return f"{bound.schema}.{bound.table}"


def retired_rows(mutation: Mutation) -> frozenset[str]:
    """Return the rows that leave their store: those that end, and memories that are quarantined.

    The store's own client must no longer find quarantined memories.
    """
    return frozenset(
        w.cell.row
        for w in mutation.writes
        if (w.cell.column == "invalidated_at" and (w.action == "now" or w.value is not None))
        or (w.cell.table, w.cell.column, w.value) == ("memories", "state", "quarantined")
    )


def change_fault(binding: Binding, mutation: Mutation) -> str:
    """Return a sentence about the first part of a mutation's physical change that is not allowed; empty if there is none."""
    change = mutation.physical
    if change is None:
        return ""
    tables = {name_of(bound): bound for bound in binding.tables.values()}
    named = {*mutation.row_ids()}
    retired = retired_rows(mutation)
    for table, row, key in sorted({(w.cell.table, w.cell.row, w.cell.key) for w in change.writes}):
        if table == OVERLAY:
            if key not in binding.tables or row not in named:
                return f"It would note something about row {row} of {key[:64]}, which it is not about."
        elif table not in tables:
            return f"It would write {table[:64]}, which is no table of {binding.title}."
        elif fault := _fault(binding, tables[table], row, key, named):
            return fault
    for write in change.writes:
        if write.action not in ("set", "now") and (write.cell.table, write.action) != (OVERLAY, "item"):
            return (
                f"It would write {write.cell.table}.{write.cell.column} in a way that no change of {binding.title} has."
            )
    return _delete_fault(binding, change, tables, retired) or _insert_fault(binding, change, tables, retired)


def _delete_fault(binding: Binding, change: Change, tables: dict[str, BoundTable], retired: Collection[str]) -> str:
    for delete in change.deletes:
        bound = tables.get(delete.table)
        if bound is None:
            return f"It would delete from {delete.table[:64]}, which is no table of {binding.title}."
        owner = binding.owner(bound)
        goes = owner.retire.removes and (owner is bound or bound.name in owner.cascades)
        if not goes or set(delete.seen) != {ROW}:
            return f"It would delete row {delete.row} of {delete.table}, which is not how that store retires one."
        if fault := _fault(binding, bound, delete.row, delete.key, retired):
            return fault
    return ""


def _insert_fault(binding: Binding, change: Change, tables: dict[str, BoundTable], retired: Collection[str]) -> str:
    """Return a fault for an insert that does not move a row into the store's archive; empty if there is none."""
    leaving = {(d.table, d.key) for d in change.deletes}
    for insert in change.inserts:
        bound = tables.get(insert.table)
        owner = binding.owner(bound) if bound else None
        if bound is None or owner is None or owner.retire.by != "move" or owner.retire.to != bound.name:
            return f"It would add a row to {insert.table[:64]}, and nothing is added there."
        named = (*(c for c, _ in bound.defaults), *(s.column for s in bound.stamps), *(g.column for g in bound.gathers))
        filled = {bound.columns[c].column for c in named}
        if insert.refs or not filled.issuperset((*insert.values, *insert.stamped)):
            return f"It would fill columns of {insert.table} that are copied from the row that moves there."
        if (name_of(owner), insert.key) not in leaving:
            return f"It would add row {insert.row} to {insert.table}, and no such row leaves {name_of(owner)}."
        if fault := _fault(binding, bound, insert.row, insert.key, retired):
            return fault
    return ""


def _fault(binding: Binding, bound: BoundTable, row: str, key: str, named: Collection[str]) -> str:
    """Return a fault if a row's id is not derived from its key, or it belongs to none of ``named``; else an empty text."""
    found: object = json.loads(key) if key.startswith("[") else None
    native = tuple(map(str, found)) if isinstance(found, list) else ()
    if len(native) != len(bound.key) or row_id_of(binding, bound, native) != row:
        return f"Row {row} of {name_of(bound)} is not the one that its key names."
    if bound.parent:
        owner = owner_of(binding, bound, native)
        if owner is None:  # ``slowwave.plans.lowering`` determines the owner of the row
            return ""
        row = owner
    return "" if row in named else f"It would change row {row} of {name_of(bound)}, which it is not about."


def owner_of(binding: Binding, bound: BoundTable, native: tuple[str, ...]) -> str | None:
    """Return the id of the row to which a row of a child table belongs, or None if its native key does not name that row."""
    if bound.parent is None:
        return None
    parent = binding.tables[bound.parent.table]
    mine = dict(zip((k.column for k in bound.key), native, strict=True))
    theirs = {their: mine.get(own) for own, their in bound.parent.columns}
    keys = [key for k in parent.key if (key := theirs.get(k.column)) is not None]
    return row_id_of(binding, parent, tuple(keys)) if len(keys) == len(parent.key) else None


# Relations of a connected store, built from its binding: physical tables as ``schema.table``, and ``night.overlay``.
#
# A cell's key is the JSON of the row's native key, a list of texts. Its column is the name of a bound column. If that is under a path of a
# ``json`` column, which has no equality and loses its spacing when it is patched, the cell is the whole physical column, named ``/`` and
# its name.

RETIRED: Final = "#retired"
"""The cell that shows whether the store hides a row, if no bound column shows it."""

APART: Final = "#apart"
"""With a number, the cell of a column in which rows differ that are never merged."""

Rows = Mapping[str, Mapping[str, str]]
"""Bound table → physical column of a row → its type. Generated columns are excluded."""

_COLUMNS: Final = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum
"""
_ISO_NOW: Final = """to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')"""


def row_types(connection: Connection, binding: Binding) -> Rows:
    """Return the current columns of a store's tables with their types."""
    return {
        name: {str(c): str(kind) for c, kind in connection.execute(_COLUMNS, (bound.schema, bound.table))}
        for name, bound in binding.tables.items()
    }


def bound_catalogue(binding: Binding, native: str | None, rows: Rows) -> Catalogue:
    """Build the catalogue of what the items of a namespace of the store may touch.

    ``native`` is the name of the namespace in the store, None for the whole store. Tables of ``memory`` that the binding does not cover
    are those of the namespace, as usual.
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
    """Return the column of the cell that holds a bound column, the mark of retired rows, or a value that keeps rows apart.

    Names that refer to the same physical place share one cell.
    """
    column = _columns(bound)[name]
    if column.path and column.json == "json":
        return f"/{column.column}"
    return next(n for n, c in _columns(bound).items() if (c.column, c.path) == (column.column, column.path))


def _columns(bound: BoundTable) -> dict[str, BoundColumn]:
    retired = {RETIRED: bound.retired.column} if bound.retired else {}
    return {**bound.columns, **retired, **{f"{APART}{n}": column for n, column in enumerate(bound.apart)}}


def key_json(native: tuple[str, ...]) -> str:
    """Return a native key as cells store it."""
    return json.dumps(native, ensure_ascii=False, separators=(",", ":"))


def scope_of(binding: Binding, bound: BoundTable) -> str:
    """Return the SQL condition that a row ``t`` belongs to the namespace, by its own column or by that of its parent row.

    Rows that are not read belong to no namespace.
    """
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
    """Return the SQL condition that a column holds one of some texts."""
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
    """Return the SQL of a key column over a row ``t``, and over a row of a batch."""
    own, other = f"t.{quoted_name(key.column)}", f"{{}}.key::jsonb ->> {n}"
    return (f"coalesce({own}::text, '')", f"coalesce({other}, '')") if key.nullable else (own, f"({other})::{key.type}")


def _source(binding: Binding, bound: BoundTable, rank: int, rows: Rows) -> Relation | None:
    """Return the relation whose rows move into this one, or None."""
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
