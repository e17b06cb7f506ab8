"""Find what keeps a connected store from being read or written as its binding states, with remedies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import psycopg
from psycopg import sql

from slowwave.bindings.binding import Binding, BoundColumn, BoundTable, Derived
from slowwave.bindings.rendering import Scope, held_sql, in_scope_sql, joined_sql, row_conditions, text_of
from slowwave.bindings.stores import (
    TABLE,
    ConnectedStore,
    connected_names,
    differences,
    nearest,
    reading,
    store_named,
    structure_of,
    there,
    version_of,
    why_unfit,
    writing_grants,
)
from slowwave.errors import EmbeddingError, SettingsError, SlowwaveError
from slowwave.store.configured_models import embedder_for
from slowwave.store.connect import Store
from slowwave.store.doctor import Diagnosis
from slowwave.store.logins import Connection
from slowwave.store.settings import Settings
from slowwave.text.tokens import counted

# Problems that prevent reading or writing a connected store as its binding declares, each with its remedy, for ``connect`` and ``doctor``.
#
# Nothing here repairs or writes. Names from the store (triggers, columns) are quoted as data.

SAME_COSINE: Final = 0.999
"""Minimum cosine of a stored vector and the embedder's current vector of its text."""

_SAMPLES: Final = 3
_SHOWN: Final = 5

_RIGHTS: Final = """
SELECT has_schema_privilege('slowwave_reader', n.oid, 'USAGE'), has_table_privilege('slowwave_reader', c.oid, 'SELECT'), c.relrowsecurity,
  ARRAY(SELECT t.tgname::text FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal ORDER BY 1)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s
"""

_WORDS: Final = """
SELECT a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
  AND a.atttypid = 'pg_catalog.tsvector'::regtype AND a.attname <> ALL (%s) ORDER BY 1
"""


@dataclass(frozen=True, slots=True)
class Passed:
    """The number of rows of a store that are read, and of those that are not, by reason."""

    rows: int
    retired: int
    without_text: int
    without_namespace: int


def diagnose_stores(store: Store) -> list[Diagnosis]:
    """Check every connected store, as ``diagnose`` checks the database."""
    found: list[Diagnosis] = []
    with store.connect("owner") as connection:
        for name in connected_names(connection):
            try:
                found += diagnose_store(store, connection, store_named(connection, name))
            except SlowwaveError as problem:  # the other stores are checked all the same
                found.append(Diagnosis(str(problem), "Correct its file and connect it again."))
    return found


def diagnose_store(store: Store, owner: Connection, of: ConnectedStore) -> list[Diagnosis]:
    """Check one store: its tables, rights, structure, triggers, row security, and the columns derived from its texts."""
    if gone := [b for b in of.binding.tables.values() if not there(owner, b)]:
        names = ", ".join(f"{b.schema}.{b.table}" for b in gone)
        return [
            Diagnosis(
                f"The store {of.name} is bound to tables that are not here: {names}.",
                f"Connect it with the names that they have, or `slowwave connect remove {of.name}`.",
            )
        ]
    found = [*_rights(store, owner, of), *_structure(owner, of), *_retiring(of)]
    if of.writing:
        found += _lacking(owner, of)
        if not any(diagnosis.problem for diagnosis in found):
            found += _unfit(store, of)
    if any(diagnosis.problem for diagnosis in found):
        return found
    try:
        return [*found, *recipes(store, of)]
    except SlowwaveError as problem:
        return [*found, Diagnosis(str(problem), "Put that right, or connect the store again.")]


def missing_grants(owner: Connection, binding: Binding) -> list[str]:
    """Return the GRANT statements that slowwave_reader needs to read a store."""
    statements: list[str] = []
    for bound in binding.tables.values():
        row = owner.execute(_RIGHTS, (bound.schema, bound.table)).fetchone()
        usage, select = (row[0], row[1]) if row else (True, True)
        if not usage:
            statements.append(
                _grant(owner, "GRANT USAGE ON SCHEMA {} TO slowwave_reader", sql.Identifier(bound.schema))
            )
        if not select:
            statements.append(
                _grant(owner, "GRANT SELECT ON {} TO slowwave_reader", sql.Identifier(bound.schema, bound.table))
            )
    return list(dict.fromkeys(statements))


def passed(connection: Connection, of: ConnectedStore) -> Passed:
    """Count the rows of the store's memories that are read; one pass over the table."""
    bound = of.binding.tables["memories"]
    given, standing, native = row_conditions(bound)
    with reading(of):
        row = connection.execute(
            sql.SQL(
                "SELECT count(*) FILTER (WHERE {standing}), count(*) FILTER (WHERE {standing} AND {retired}), "
                "count(*) FILTER (WHERE ({standing}) IS NOT TRUE), count(*) FILTER (WHERE {standing} AND {native} IS NULL) "
                "FROM {table} AS t WHERE {asked}"
            ).format(
                standing=standing,
                retired=given,
                native=native,
                table=sql.Identifier(bound.schema, bound.table),
                asked=sql.SQL(" AND ").join([sql.SQL("true"), *(held_sql("t", pair) for pair in bound.only)]),
            )
        ).fetchone()
    rows, retired, without_text, without = (int(str(n)) for n in row) if row else (0, 0, 0, 0)
    return Passed(rows - (without if bound.namespace else 0), retired, without_text, without if bound.namespace else 0)


def recipes(store: Store, of: ConnectedStore) -> list[Diagnosis]:
    """Check on existing rows that columns derived from a text follow it as the binding states, as rewriting a text requires."""
    found: list[Diagnosis] = []
    for bound in of.binding.tables.values():
        with store.connect("reader") as connection:
            filled = _filled_by_client(connection, bound)
        if filled:
            found.append(
                Diagnosis(f"Texts of the store {of.name} are not rewritten: {filled}", _REMEDIES["copy"], problem=False)
            )
        for derived in bound.derived:
            with store.connect("reader") as connection, reading(of):
                why = (
                    _embedding(connection, of, bound)
                    if derived.by == "embedding"
                    else _copied(connection, of, bound, derived)
                )
            if why:
                found.append(
                    Diagnosis(
                        f"Texts of the store {of.name} are not rewritten: {why}", _REMEDIES[derived.by], problem=False
                    )
                )
    return found


_REMEDIES: Final = {
    "embedding": "Name the model that the store's client uses with --embedding-model, and let SLOWWAVE_EMBEDDING_ENDPOINT and "
    "SLOWWAVE_EMBEDDING_MODEL lead to it. Audits go on without.",
    "md5": "Audits go on, and what only retires rows may.",
    "copy": "The client derives it otherwise, by a model of language perhaps. Audits go on, and what only retires rows may.",
}


def _rights(store: Store, owner: Connection, of: ConnectedStore) -> list[Diagnosis]:
    found: list[Diagnosis] = []
    if statements := missing_grants(owner, of.binding):
        found.append(
            Diagnosis(
                f"The store {of.name} cannot be read: slowwave_reader lacks rights on its tables.",
                "Let their owner run these statements.",
                statements=tuple(statements),
            )
        )
    for bound in of.binding.tables.values():
        row: Any = owner.execute(_RIGHTS, (bound.schema, bound.table)).fetchone()
        if row and row[3]:
            found.append(
                Diagnosis(
                    f"{bound.schema}.{bound.table} has triggers that the binding does not know: {_few(row[3])}. They would change what a "
                    "plan writes, so nothing is written to it; audits go on.",
                    f"Let whoever made them say whether they can go{f', or {_let_none(of)}' if of.writing else ''}.",
                    problem=of.writing,
                )
            )
        if row and row[2] and not statements and (hidden := _hidden(store, owner, bound)):
            found.append(
                Diagnosis(
                    hidden,
                    "Let the table's owner give it a policy that shows all rows.",
                    statements=(
                        _grant(
                            owner,
                            "CREATE POLICY slowwave_reads ON {} FOR SELECT TO slowwave_reader USING (true)",
                            sql.Identifier(bound.schema, bound.table),
                        ),
                    ),
                )
            )
    return found


def _lacking(owner: Connection, of: ConnectedStore) -> list[Diagnosis]:
    """Return a finding with the missing rights of slowwave_applier, for a store that plans may write to."""
    statements = writing_grants(owner, of.binding)
    if not statements:
        return []
    return [
        Diagnosis(
            f"Plans cannot be applied to the store {of.name}: slowwave_applier lacks rights on its tables.",
            f"Let their owner run these statements, or {_let_none(of)}.",
            statements=tuple(statements),
        )
    ]


def _unfit(store: Store, of: ConnectedStore) -> list[Diagnosis]:
    """Return a finding about anything else that keeps plans from being applied to such a store."""
    with store.connect("applier") as connection:  # the rows that row security hides depend on the role
        why = why_unfit(connection, of)
    return [Diagnosis(why, f"Put that right, or {_let_none(of)}.")] if why else []


def _let_none(of: ConnectedStore) -> str:
    return f"let no plan be applied: `slowwave connect write {of.name} --off`"


def _retiring(of: ConnectedStore) -> list[Diagnosis]:
    """Return a finding if a user's own binding has no way to retire a memory, which is what most plans do."""
    bound = of.binding.tables["memories"]
    retire = bound.retire
    if of.kind != TABLE or of.binding.read_only or bound.read_only or retire.by != "nothing" or retire.why_not:
        return []
    return [
        Diagnosis(
            f"The file of the store {of.name} names no way to retire a row, so no plan takes a duplicate or a secret out of it.",
            "Say `retire` in its table, as docs/stores-table.md does, and connect it again.",
            problem=False,
        )
    ]


def hidden_rows(store: Store, of: ConnectedStore) -> list[str]:
    """Return a sentence for each table of which row security hides rows from nights.

    Rows of a table without row security are not counted.
    """
    with store.connect("owner") as owner:
        found = [(b, owner.execute(_RIGHTS, (b.schema, b.table)).fetchone()) for b in of.binding.tables.values()]
        return [sentence for b, row in found if row and all(row[:3]) and (sentence := _hidden(store, owner, b))]


def _hidden(store: Store, owner: Connection, bound: BoundTable) -> str:
    """Return a sentence with the number of rows that the owner's login sees and the reader does not; empty if there are none."""
    count = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(bound.schema, bound.table))
    with store.connect("reader") as connection:
        seen = connection.execute(count).fetchone()
    try:
        there_are = owner.execute(count).fetchone()
    except psycopg.errors.InsufficientPrivilege:
        return ""
    hidden = int(str(there_are[0])) - int(str(seen[0])) if seen and there_are else 0
    return (
        f"Row security of {bound.schema}.{bound.table} hides {counted(hidden, 'row')} from slowwave_reader, so nights judge by a part."
        if hidden > 0
        else ""
    )


def _structure(owner: Connection, of: ConnectedStore) -> list[Diagnosis]:
    """Check that the tables are as when the store was connected, and as a known version creates them."""
    now = structure_of(owner, of.binding)
    if changed := differences(now, of.fingerprint, of.binding):
        return [
            Diagnosis(
                f"The tables of the store {of.name} are no longer as they were when it was connected: {_few(changed)}. Nothing is "
                "written to them; audits go on where they still can be read.",
                "Look whether the binding still fits, and connect the store again.",
            )
        ]
    if of.binding.known and not version_of(now, of.binding):
        version, how = nearest(now, of.binding)
        return [
            Diagnosis(
                f"The tables of the store {of.name} are of no version that is known; against {version}: {_few(how)}. Nothing is written to "
                "them; audits go on.",
                "Use a version of Slowwave that knows them, or a binding of your own.",
                problem=of.writing,
            )
        ]
    return []


def _filled_by_client(connection: Connection, bound: BoundTable) -> str:
    """Return a sentence if the client itself fills a column of search words, which no generated column updates; else empty."""
    if "content" not in bound.columns:
        return ""
    known = [column.column for column in bound.columns.values()]
    row = connection.execute(_WORDS, (bound.schema, bound.table, known)).fetchone()
    return (
        f"the client itself fills {bound.table}.{str(row[0])[:64]} with the words of a text, in a way that nothing tells."
        if row
        else ""
    )


def _copied(connection: Connection, of: ConnectedStore, bound: BoundTable, derived: Derived) -> str:
    """Return a sentence if a derived column does not match its text in some rows; empty if it does in all that have it."""
    text, column = text_of(bound.columns[derived.of], "t"), text_of(bound.columns[derived.column], "t")
    expected = sql.SQL("md5({})").format(text) if derived.by == "md5" else text
    row = connection.execute(
        sql.SQL(
            "SELECT count(*), count(*) FILTER (WHERE {column} <> {expected}) FROM {table} AS t WHERE {standing} AND {column} IS NOT NULL"
        ).format(
            column=column,
            expected=expected,
            table=sql.Identifier(bound.schema, bound.table),
            standing=in_scope_sql(bound, Scope("", whole=True)),
        )
    ).fetchone()
    rows, others = (int(str(n)) for n in row) if row else (0, 0)
    return f"{derived.column} is another than its binding says in {others:,} of {rows:,} rows." if others else ""


def _embedding(connection: Connection, of: ConnectedStore, bound: BoundTable) -> str:
    """Return a sentence if the embedder of the settings is not the store's; empty if it reproduces stored vectors."""
    found = of.binding.vector_of(bound.name)
    if found is None:
        return ""
    if not of.embedding_model:
        return "nobody said which model its vectors are of."
    holder, column = found
    vector = sql.Identifier("t" if holder is bound else "c", column.column)
    samples = connection.execute(
        sql.SQL(
            "SELECT {text}, {vector}::real[] FROM {source} WHERE {standing} AND {vector} IS NOT NULL ORDER BY md5({text}) LIMIT {n}"
        ).format(
            text=text_of(bound.columns["content"], "t"),
            vector=vector,
            source=joined_sql(bound, holder),
            standing=in_scope_sql(bound, Scope("", whole=True), holder),
            n=sql.Literal(_SAMPLES),
        )
    ).fetchall()
    if not samples:
        return "it has no vector yet that could be compared."
    try:
        embedder = embedder_for(Settings.for_namespace({}))
        if embedder.model != of.embedding_model:
            return f"its vectors are of {of.embedding_model}, and SLOWWAVE_EMBEDDING_MODEL is {embedder.model}."
        made = embedder.embed([str(text) for text, _ in samples])
    except (EmbeddingError, SettingsError) as problem:
        return f"the embedder does not answer. {problem}"
    stored: list[Any] = [values for _, values in samples]
    if any(len(values) != made.shape[1] for values in stored):
        return f"its vectors have {len(stored[0])} dimensions, and those of {embedder.model} have {made.shape[1]}."
    matrix = np.asarray(stored, np.float64)
    lengths = np.maximum(np.linalg.norm(matrix, axis=1), np.finfo(np.float64).tiny)
    least = float((np.einsum("nd,nd->n", matrix, made.astype(np.float64)) / lengths).min())
    if least >= SAME_COSINE:
        return ""
    return f"{embedder.model} gives other vectors than are stored (cosine {least:.3f}, and {SAME_COSINE} is asked of {len(samples)} rows)."


def _few(said: list[str]) -> str:
    more = f", and {len(said) - _SHOWN:,} more" if len(said) > _SHOWN else ""
    return ", ".join(line[:120] for line in said[:_SHOWN]) + more


def _grant(owner: Connection, statement: str, name: sql.Identifier) -> str:
    return statement.format(name.as_string(owner))


# Whether a table has the columns, types and keys that a binding names, checked before a store is connected so that wrong names are reported
# at once.

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
"""SQL: unique indexes of columns, or of expressions of columns (coalesce of one that may be null). Rows that differ in an expression
differ in its columns."""
_SAME: Final = {
    "character varying": "text",
    "character": "text",
    "timestamp with time zone": "timestamptz",
    "timestamp without time zone": "timestamp",
}
_NARROWER: Final = {"vector": "halfvec"}
"""Type → the type that may replace it: a half vector accepts the values of a vector, rounded as its client rounds them."""
_SHOWN_FIT: Final = 12


def misfits(connection: Connection, binding: Binding) -> list[str]:
    """Return a sentence for each column, type or unique key that a binding names and its tables do not have.

    Types are only checked where they matter.
    """
    return [misfit for bound in binding.tables.values() for misfit in _of(connection, bound)]


def _of(connection: Connection, bound: BoundTable) -> Iterator[str]:
    place = f"{bound.schema}.{bound.table}"
    types = {str(name): str(kind) for name, kind in connection.execute(_COLUMNS, (bound.schema, bound.table))}
    if gone := [name for name in dict.fromkeys(_named(bound)) if name not in types]:
        has = ", ".join([*types][:_SHOWN_FIT]) + (" …" if len(types) > _SHOWN_FIT else "")
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
        elif {column.type, _SAME.get(kind)} == {"timestamp", "timestamptz"} and not column.path:
            yield f"{column.column} of {place} is {_SAME[kind]}, and the binding says {column.type}."
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
