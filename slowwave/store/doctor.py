"""Find problems of a database and their remedies: rights, and values that a night cannot read; compute digests."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import ARRAY, DateTime, Double, Table
from sqlalchemy.dialects.postgresql import JSONB

from slowwave.errors import NoAnswer, StoreError
from slowwave.models.embedding_models import INSTALL_MINILM, MINILM_MODEL, STATIC_MODEL, minilm_is_installed
from slowwave.store.connect import OTHER_STORE, Store
from slowwave.store.logins import ROLES, SET_IS_GRANTED, Connection, excess, lacking, unsafe_definers
from slowwave.store.migrate import MAKE_UTF8, other_encoding, pending_migrations
from slowwave.store.namespaces import unknown_namespace
from slowwave.store.settings import Settings
from slowwave.store.tables import DERIVED_COLUMNS, EXPORTED, VECTORS, metadata, namespaces

# Values that PostgreSQL stores and a night cannot read: infinite instants and numbers, deeply nested JSON, lists of a million ids.
#
# One constraint per table of memory refuses them, ``NOT VALID``, so that existing rows do not stop a migration. When a
# night reads such rows, or rows of connected stores, it detects them by the same conditions.

CHECKED: Final = tuple(table for table in EXPORTED if table.name not in ("corpora", "recall_events"))
"""The tables with a constraint. Only Slowwave writes ``corpora``, and new partitions of ``recall_events`` are created without one."""

MOST_LEVELS: Final = 100
"""Maximum nesting depth of a JSON value. Python's parser supports about a thousand levels."""

MOST_MEMBERS: Final = 100_000
"""Maximum number of members of a list: that many ids are 4 MB of text in one row."""

LEAST_COUNT: Final = -1_000_000
"""Minimum value of a counter. Counters are written as differences, so an undo can temporarily leave one below zero, but none comes near
this."""

REASONS: Final = {
    "instant": "is outside the years 1 to 9999",
    "number": "is not a finite number",
    "count": f"is below {LEAST_COUNT:,}",
    "json": f"is nested deeper than {MOST_LEVELS} levels or holds a number of more than 300 digits",
    "list": f"has more than {MOST_MEMBERS:,} members",
}
"""Kind of value → the fault of an unreadable one, to follow the name of its column."""

_CONDITIONS: Final = {
    "instant": "{0} >= '0001-01-01 00:00:00+00' AND {0} < '10000-01-01 00:00:00+00'",
    "number": "{0} > '-Infinity'::double precision AND {0} < 'Infinity'::double precision",  # NaN is greater than both
    "count": f"{{0}} >= {LEAST_COUNT}",
    "json": f"NOT jsonb_path_exists({{0}}, '$.**{{{{{MOST_LEVELS}}}}}') AND NOT jsonb_path_exists({{0}}, "
    "'$.** ? (@.type() == \"number\") ? (@ > 1e300 || @ < -1e300)')",
    "list": f"cardinality({{0}}) <= {MOST_MEMBERS}",
}


def condition(kind: str, value: str) -> str:
    """Return SQL that is false if ``value`` cannot be read, and true or null otherwise.

    ``kind`` is one of ``REASONS``.
    """
    return _CONDITIONS[kind].format(value)


def checked_columns(table: Table) -> dict[str, str]:
    """Return the columns of a table of memory that may hold such values, each with its kind."""
    kinds = ((DateTime, "instant"), (Double, "number"), (JSONB, "json"), (ARRAY, "list"))
    found = {
        column.name: "count"
        if column.name.endswith("_count")
        else next((kind for known, kind in kinds if isinstance(column.type, known)), "")
        for column in table.columns
        if column.name not in DERIVED_COLUMNS
    }
    return {name: kind for name, kind in found.items() if kind}


def constraint_name(table: str) -> str:
    """Return the name of the constraint of a table of memory."""
    return f"{table}_rows_are_readable"


def constraint(table: Table) -> str:
    """Return the condition of a table's constraint: every column can be read."""
    return " AND ".join(f"({condition(kind, name)})" for name, kind in checked_columns(table).items())


def readable(table: Table, name: str, value: str) -> str:
    """Return the SQL of a column's value, with the nearest readable value in place of one that cannot be read.

    A nullable instant is moved to the year 1 or 9999, so that what has ended stays ended. Other values get the column's default.
    """
    kind, column = checked_columns(table)[name], table.c[name]
    default = str(getattr(column.server_default, "arg", "")) if column.server_default is not None else "now()"
    if kind == "instant" and column.nullable:
        instead = f"CASE WHEN {value} < now() THEN timestamptz '0001-01-02 00:00:00+00' ELSE timestamptz '9999-12-30 00:00:00+00' END"
    else:
        instead = default if default == "now()" else f"'{default}'"
    return f"CASE WHEN ({condition(kind, value)}) IS FALSE THEN {instead} ELSE {value} END"


def repair(table: Table) -> str:
    """Return the UPDATE that makes the rows of a table readable; see ``readable``."""
    changes = ", ".join(f"{name} = {readable(table, name, name)}" for name in checked_columns(table))
    return f"UPDATE memory.{table.name} SET {changes} WHERE ({constraint(table)}) IS FALSE"


# Problems of a database, each with a description and a remedy.

OLDEST_POSTGRES: Final = 150000
OLDEST_PGVECTOR: Final = (0, 7)
_FEW: Final = 3
_LISTED: Final = 10

_PGVECTOR: Final = """
SELECT (SELECT 1 FROM pg_available_extensions WHERE name = 'vector'), (SELECT extversion FROM pg_extension WHERE extname = 'vector')
"""
_UNINDEXED: Final = """
SELECT DISTINCT m.model FROM memory.vector_models m CROSS JOIN unnest(%s::text[]) AS t (described)
WHERE memory.indexed_as(m.dimensions) IS NOT NULL
AND to_regclass(format('memory.%%I', memory.vector_index(t.described, m.model))) IS NULL ORDER BY m.model
"""
_UNVALIDATED: Final = """
SELECT c.conrelid::regclass::text, quote_ident(c.conname), '(' || pg_get_expr(c.conbin, c.conrelid) || ')' FROM pg_constraint c
WHERE c.contype = 'c' AND NOT c.convalidated AND c.coninhcount = 0 AND c.connamespace IN ('memory'::regnamespace, 'night'::regnamespace)
ORDER BY 1, 2
"""
_IS_APPEND_ONLY: Final = "SELECT 1 FROM pg_trigger WHERE tgrelid = %s::regclass AND tgname = 'append_only'"
_MAY_READ: Final = """
SELECT bool_and(has_table_privilege(%(group)s, t, 'SELECT') AND has_schema_privilege(%(group)s, split_part(t, '.', 1), 'USAGE'))
FROM unnest(ARRAY['memory.namespaces', %(of_nights)s]) AS t
"""
_QUOTED_LOGIN: Final = "SELECT quote_ident(%s)"
_STORE_ID: Final = "SELECT id FROM night.store"
_SUPERUSER: Final = "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One finding and its remedy.

    ``problem`` is False for advice that blocks nothing; ``remedy`` is empty for a finding that needs none; ``statements`` is SQL that the
    remedy asks to run unchanged.
    """

    finding: str
    remedy: str
    problem: bool = True
    statements: tuple[str, ...] = ()


def diagnose(store: Store) -> list[Diagnosis]:
    """Return everything that keeps this version from working with a database, worst first; empty if there is nothing."""
    try:
        with store.connect("owner") as connection:
            found = [*_server(connection), *_schema(store, connection)]
            if not any(d.problem for d in found):
                found += [*_logins(store, connection), *_rights(connection), *_replica(store, connection)]
    except NoAnswer as problem:
        return [Diagnosis(problem.finding, problem.remedy)]
    except StoreError as problem:
        return [Diagnosis(str(problem), "Start the server, or set SLOWWAVE_DATABASE_URL to one that runs.")]
    found += _embedder()
    if not store.embedded and "applier" not in store.logins:
        found.append(
            Diagnosis(
                "One login reads, plans, approves and applies: roles are taken by SET ROLE, so their separation is advisory.",
                "Give apply a login of its own in SLOWWAVE_APPLY_DATABASE_URL, a member of slowwave_applier.",
                problem=False,
            )
        )
    return found


def _replica(store: Store, connection: Connection) -> list[Diagnosis]:
    """Return a finding if snapshots cannot be read from the replica that is set."""
    place = store.read_from()
    if place is store:
        return []
    try:
        with place.connect("reader") as replica:
            found = replica.execute(_STORE_ID).fetchone()
    except NoAnswer as problem:
        return [Diagnosis(problem.finding, problem.remedy)]
    except StoreError as problem:
        return [Diagnosis(str(problem), "")]
    except psycopg.errors.UndefinedTable:
        found = None
    return [] if found == connection.execute(_STORE_ID).fetchone() else [Diagnosis(*OTHER_STORE)]


def _embedder() -> list[Diagnosis]:
    """Return a finding if the MiniLM model is not installed: a problem if it is set, else advice, as the static model is used."""
    if minilm_is_installed():
        return []
    settings = Settings.for_namespace({})
    if settings.embedding_model == MINILM_MODEL:
        return [
            Diagnosis(
                f"The embedding model {MINILM_MODEL} is set and not installed: nothing is embedded, and searches compare words alone.",
                f"{INSTALL_MINILM}, or set SLOWWAVE_EMBEDDING_MODEL to {STATIC_MODEL}.",
            )
        ]
    if settings.embedding_model == STATIC_MODEL and "embedding_model" not in settings.model_fields_set:
        return [
            Diagnosis(
                f"New namespaces are embedded by {STATIC_MODEL}, as {MINILM_MODEL} is not installed: searches by meaning find less.",
                f"{INSTALL_MINILM}; existing namespaces keep their model.",
                problem=False,
            )
        ]
    return []


def _server(connection: Connection) -> list[Diagnosis]:
    found: list[Diagnosis] = []
    version = connection.info.server_version
    if version < OLDEST_POSTGRES:
        found.append(
            Diagnosis(
                f"PostgreSQL {version // 10000} is too old: 15 is the oldest that has what the migrations use.",
                "Upgrade the server, or point SLOWWAVE_DATABASE_URL at another one.",
            )
        )
    if encoding := other_encoding(connection):
        found.append(Diagnosis(f"The database is encoded in {encoding}, so it cannot hold every text.", MAKE_UTF8))
    row = connection.execute(_PGVECTOR).fetchone()
    available, created = row or (None, None)
    if not available:
        found.append(
            Diagnosis("The server has no pgvector.", "Install pgvector on the server (package postgresql-NN-pgvector).")
        )
    elif not created:
        found.append(
            Diagnosis(
                "pgvector is not created in this database.",
                "Run CREATE EXTENSION vector as a superuser, then `slowwave migrate`.",
            )
        )
    elif tuple(int(n) for n in re.findall(r"\d+", str(created))[:2]) < OLDEST_PGVECTOR:
        found.append(
            Diagnosis(
                f"pgvector {created} is too old: 0.7 is the oldest with HNSW on half vectors.",
                "Upgrade the package on the server, then run ALTER EXTENSION vector UPDATE.",
            )
        )
    return found


def _span(names: Sequence[str]) -> str:
    """Format names in order; if there are more than a few, only the first, the last and the number."""
    return ", ".join(names) if len(names) <= _FEW else f"{names[0]} to {names[-1]}, {len(names)} of them"


def _schema(store: Store, connection: Connection) -> list[Diagnosis]:
    found: list[Diagnosis] = []
    try:
        pending = pending_migrations(store)
    except StoreError as problem:
        if problem.statements:
            remedy = "Use the login that is named, or let an administrator run this."
            return [Diagnosis(problem.said, remedy, statements=problem.statements)]
        return [Diagnosis(str(problem), "Install a version that has this migration; the finding says which one.")]
    if pending:
        found.append(
            Diagnosis(f"Migrations are pending: {_span(pending)}.", "Run `slowwave migrate` as the database's owner.")
        )
    if not pending:
        found += [*_unindexed(connection), *_unvalidated(connection)]
    if statements := lacking(connection):
        found.append(
            Diagnosis(
                "The login of SLOWWAVE_DATABASE_URL lacks roles, or may not take them.",
                "Run `slowwave migrate`; where that is refused, let an administrator run these statements first.",
                statements=tuple(statements),
            )
        )
    return found


def _unindexed(connection: Connection) -> list[Diagnosis]:
    """Return advice for registered models without a search index.

    The applier may register models, but only the owner may create an index.
    """
    found = connection.execute(_UNINDEXED, (list(VECTORS),))
    return [
        Diagnosis(
            f"Vectors of the model {model} have no search index, so a search in the database compares all of them.",
            "Run `slowwave migrate` as the database's owner: it builds what is missing.",
            problem=False,
        )
        for (model,) in found
    ]


def _unvalidated(connection: Connection) -> list[Diagnosis]:
    """Return findings for constraints that are not validated, because older rows may break them.

    New rows are checked; the rows from before have not been.
    """
    found: list[Diagnosis] = []
    for table, name, condition in connection.execute(_UNVALIDATED).fetchall():
        query = f"SELECT * FROM {table} WHERE NOT {condition}"
        row = connection.execute(f"SELECT count(*) FROM ({query}) broken".encode()).fetchone()
        broken = int(str(row[0])) if row else 0
        validate = f"ALTER TABLE {table} VALIDATE CONSTRAINT {name}"
        if broken and name == constraint_name(str(table).removeprefix("memory.")):
            found.append(_unreadable(connection, str(table), query, broken, validate))
            continue
        found.append(
            Diagnosis(
                f"{broken:,} rows of {table} are older than the constraint {name} and break it, so they cannot be changed as they are: "
                f"{query}."
                if broken
                else f"The constraint {name} of {table} is not validated, and no row breaks it.",
                f"{'Put these rows right, then let' if broken else 'Let'} the owner of the store run this statement.",
                problem=False,
                statements=(validate,),
            )
        )
    return found


def _unreadable(connection: Connection, table: str, query: str, broken: int, validate: str) -> Diagnosis:
    """Name rows that nights leave out, with the statements that make them readable."""
    ids = [
        str(id_)
        for (id_,) in connection.execute(f"SELECT id FROM ({query}) broken ORDER BY id LIMIT {_LISTED}".encode())
    ]
    more = f" and {broken - len(ids):,} more" if broken > len(ids) else ""
    change = [repair(metadata.tables[table])]
    if connection.execute(_IS_APPEND_ONLY, (table,)).fetchone():  # its trigger would refuse the repair
        change = [f"ALTER TABLE {table} {how} TRIGGER append_only" for how in ("DISABLE", "ENABLE")]
        change.insert(1, repair(metadata.tables[table]))
    return Diagnosis(
        f"{broken:,} rows of {table} hold values that no night can read (infinite or far instants, numbers that are not finite, deep JSON, "
        f"lists that are too long), break the constraint {constraint_name(table.removeprefix('memory.'))}, and are left out of nights: "
        f"{', '.join(ids)}{more}.",
        "Set the values that you know. Then let the owner of the store run these statements: they replace what is left by the nearest "
        "readable value, or by the column's default.",
        problem=False,
        statements=(*change, validate),
    )


def _logins(store: Store, owner: Connection) -> list[Diagnosis]:
    """Check that each role can read its tables, with the login that the store would use for it."""
    found: list[Diagnosis] = []
    for role in ROLES:
        group = f"slowwave_{role}"
        readable = ("ALL TABLES IN SCHEMA memory, night",)
        of_nights = "night.runs"
        if role == "server":
            readable = ("ALL TABLES IN SCHEMA memory", "night.plans, night.plan_items")
            of_nights = "night.plans"
        try:
            with store.connect(role) as connection:
                for table in ("memory.namespaces", of_nights):
                    connection.execute(f"SELECT 1 FROM {table} LIMIT 1".encode())
        except (StoreError, psycopg.Error) as problem:
            message = str(problem).splitlines()[0]
            may = owner.execute(_MAY_READ, {"group": group, "of_nights": of_nights}).fetchone()
            if may is None or not may[0]:
                remedy = "Let the owner of the tables run these statements."
                statements = (
                    f"GRANT USAGE ON SCHEMA memory, night TO {group}",
                    *(f"GRANT SELECT ON {tables} TO {group}" for tables in readable),
                )
            elif role in store.logins and not isinstance(problem, StoreError):
                remedy = "Let an administrator make its login a member of the role."
                statements = (_membership(owner, group, str(conninfo_to_dict(store.logins[role]).get("user", ""))),)
            else:
                remedy, statements = "Let its login in: look at the address and at the server's log.", ()
            found.append(Diagnosis(f"The role {group} cannot work: {message}", remedy, statements=statements))
    return found


def _membership(connection: Connection, group: str, login: str) -> str:
    options = " WITH INHERIT TRUE" if connection.info.server_version >= SET_IS_GRANTED else ""
    row = connection.execute(_QUOTED_LOGIN, (login,)).fetchone()
    return f"GRANT {group} TO {row[0] if row else login}{options}"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _rights(connection: Connection) -> list[Diagnosis]:
    """Return findings about rights that go beyond what the store needs."""
    found = [
        Diagnosis(
            f"The function {signature} runs with its owner's rights and is open to abuse: {', '.join(reasons)}.",
            "Let the owner of the store run this statement."
            if signature.startswith(("memory.", "night."))
            else "It is none of ours: let its owner look at it, REVOKE EXECUTE on it FROM PUBLIC and fix its search_path.",
            problem=signature.startswith(("memory.", "night.")),
            statements=(f"SELECT night.as_definer({_literal(signature)})",)
            if signature.startswith(("memory.", "night."))
            else (),
        )
        for signature, reasons in unsafe_definers(connection).items()
    ]
    if statements := excess(connection):
        found.append(
            Diagnosis(
                "Everyone who may connect may make temporary tables or other objects here, which nobody but imports and apply needs.",
                "Run `slowwave migrate` as the database's owner, or let an administrator run these statements.",
                problem=False,
                statements=tuple(statements),
            )
        )
    row = connection.execute(_SUPERUSER).fetchone()
    if row and row[0]:
        found.append(
            Diagnosis(
                "The login of SLOWWAVE_DATABASE_URL is a superuser.",
                "Let a plain login own the database and the schemas memory and night; docs/install.md says how one is made.",
                problem=False,
            )
        )
    return found


# Digest: one hash of the contents of a namespace's memory tables; equal digests mean equal memory. The log of recalls is no memory: each
# search adds to it, and no undo removes it. It is hashed as if it were empty, so that digests of namespaces without a recall are those of
# earlier versions.

NO_MEMORY: Final = frozenset({"recall_events"})
"""Tables that a digest leaves out."""

_TABLES = [
    namespaces,
    *EXPORTED,
    *(metadata.tables[f"memory.{t}"] for t in ("entity_vectors", "chunk_vectors", "memory_vectors")),
]

_EMPTY: Final = hashlib.sha256(b"").hexdigest()
_NAMESPACE_ID: Final = "SELECT id FROM memory.namespaces WHERE slug = %s"


def digest(store: Store, namespace: str) -> str:
    """Return the SHA-256 of all memory tables of a namespace.

    The log of recalls and the columns content_version and updated_at are left out.
    """
    total = hashlib.sha256()
    with store.connect("reader") as connection, connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        found = connection.execute(_NAMESPACE_ID, (namespace,)).fetchone()
        if found is None:
            raise unknown_namespace(connection, namespace)
        for table in _TABLES:
            row = None if table.name in NO_MEMORY else connection.execute(_query(table).encode(), found).fetchone()
            total.update(f"{table.name}:{row[0] if row else _EMPTY}\n".encode())
    return total.hexdigest()


def _query(table: Table) -> str:
    columns = ", ".join(f"t.{c.name}" for c in table.c if c.name not in DERIVED_COLUMNS)
    order = ", ".join(f"t.{c.name}" for c in table.primary_key)
    scope = "t.id" if table is namespaces else "t.namespace_id"
    return (
        f"SELECT encode(sha256(convert_to(coalesce(string_agg(md5(ROW({columns})::text), '' ORDER BY {order}), ''), 'UTF8')), 'hex') "
        f"FROM memory.{table.name} t WHERE {scope} = %s"
    )
