"""Connected stores: their rows in the ledger, the fingerprint of their structure, and whether plans may write to them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from slowwave.bindings.binding import Binding, BoundTable
from slowwave.bindings.files import built_in_text, read_binding
from slowwave.bindings.rendering import Scope, in_scope_sql, text_of
from slowwave.errors import BindingError, Refused, StoreError
from slowwave.store.connect import Store
from slowwave.store.logins import Connection

# Connected stores, as in ``night.stores`` and ``night.store_namespaces``: the stores, and the namespaces of their rows.
#
# Nothing here writes into a store. Namespaces are entered when they first appear, all new ones of a store in one statement.

TABLE: Final = "table"
"""The kind of a store that a user's file describes."""

_STORES: Final = """
SELECT name, kind, binding, parameters, fingerprint, embedding_model, writing FROM night.stores
WHERE disconnected_at IS NULL ORDER BY name
"""
_STORE: Final = """
SELECT name, kind, binding, parameters, fingerprint, embedding_model, writing FROM night.stores
WHERE name = %s AND disconnected_at IS NULL
"""
_NAMES: Final = "SELECT name FROM night.stores WHERE disconnected_at IS NULL ORDER BY name"
_OF_NAMESPACE: Final = """
SELECT n.native, n.store, s.kind, s.binding, s.parameters, s.fingerprint, s.embedding_model, s.writing, s.name IS NULL
FROM night.store_namespaces n LEFT JOIN night.stores s ON s.name = n.store AND s.disconnected_at IS NULL WHERE n.namespace_id = %s
"""
_REGISTER: Final = """
INSERT INTO night.stores (name, kind, binding, parameters, fingerprint, embedding_model, namespace_settings)
VALUES (%s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (name) DO UPDATE SET kind = excluded.kind, binding = excluded.binding, parameters = excluded.parameters,
  fingerprint = excluded.fingerprint, embedding_model = excluded.embedding_model, namespace_settings = excluded.namespace_settings,
  writing = false, recorded_at = now(), disconnected_at = NULL
"""
_DISCONNECT: Final = (
    "UPDATE night.stores SET disconnected_at = now(), writing = false WHERE name = %s AND disconnected_at IS NULL"
)
_COUNTED: Final = "SELECT count(*) FROM night.store_namespaces WHERE store = %s"
_ADD_NAMESPACES: Final = "SELECT night.add_store_namespaces(%s, %s, %s)"
_LONGEST_SLUG: Final = 60


@dataclass(frozen=True, slots=True)
class ConnectedStore:
    """A connected store with its name here.

    ``fingerprint`` is bound table → lines of its structure when it was connected. ``embedding_model`` is the name under which its vectors
    are compared. ``writing`` states whether a user allowed plans to be applied to it.
    """

    name: str
    kind: str
    binding: Binding
    parameters: Mapping[str, str] = field(default_factory=dict)
    fingerprint: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    embedding_model: str = ""
    writing: bool = False
    own_text: str = ""

    @property
    def model(self) -> str:
        """Return the name of the model of its vectors; a name of its own if the model is unknown."""
        return self.embedding_model or f"of-{self.name}"


def connected_stores(connection: Connection) -> list[ConnectedStore]:
    """Return all connected stores, by name.

    Raises ``BindingError`` if the file of one is not a binding of this version.
    """
    return [_store(*row) for row in connection.execute(_STORES).fetchall()]


def connected_store(connection: Connection, namespace_id: str) -> tuple[ConnectedStore, Scope] | None:
    """Return the store of a namespace and the namespace's scope in it; None for a namespace of Slowwave's own memory.

    Raises ``StoreError`` if the store is disconnected: its rows must no longer be read.
    """
    found = connection.execute(_OF_NAMESPACE, (namespace_id,)).fetchone()
    if found is None:
        return None
    native, name, *of, gone = found
    if gone:
        raise _disconnected(str(name))
    return _store(name, *of), Scope(namespace_id, "" if native is None else str(native), whole=native is None)


def connected_names(connection: Connection) -> list[str]:
    """Return the names of the connected stores, whether their bindings can be read or not."""
    return [str(name) for (name,) in connection.execute(_NAMES)]


def store_named(connection: Connection, name: str) -> ConnectedStore:
    """Return one store by name.

    Raises ``StoreError`` if it is not connected, ``BindingError`` if its file is not a binding of this version.
    """
    row = connection.execute(_STORE, (name,)).fetchone()
    if row is None:
        raise _disconnected(name)
    return _store(*row)


def _disconnected(name: str) -> StoreError:
    return StoreError(
        f"The store {name} is disconnected, so its rows are not read. `slowwave connect list` says what is connected."
    )


def register(connection: Connection, store: ConnectedStore) -> None:
    """Record a store as connected, read-only; one of the same name is replaced, and its namespaces stay.

    Its row holds the settings of the namespaces that nights will enter: the operations that the binding turns off. A night's login cannot
    change the row, so it cannot choose them.
    """
    settings = {"operations": {operation: {"enabled": False} for operation in store.binding.off}}
    fingerprint = {table: list(lines) for table, lines in store.fingerprint.items()}
    connection.execute(
        _REGISTER,
        (
            store.name,
            store.kind,
            store.own_text,
            Jsonb(dict(store.parameters)),
            Jsonb(fingerprint),
            store.embedding_model,
            Jsonb(settings),
        ),
    )


def disconnect(connection: Connection, name: str) -> None:
    """Mark a store as disconnected, so that it is no longer read; nothing in it changes, and what nights found stays.

    Raises ``BindingError`` for a name that is not connected.
    """
    if connection.execute(_DISCONNECT, (name,)).rowcount != 1:
        raise BindingError(f"No store {name[:60]!r} is connected. `slowwave connect list` lists those that are.")


def namespaces_of(connection: Connection, name: str) -> int:
    """Return the number of known namespaces of a store."""
    found = connection.execute(_COUNTED, (name,)).fetchone()
    return int(str(found[0])) if found else 0


def enter_namespaces(store: Store, of: ConnectedStore) -> int:
    """Enter the namespaces of a store that are not known yet; return their number.

    One pass over each of its tables.
    """
    rows = [bound for bound in of.binding.tables.values() if bound.parent is None]
    with store.connect("reader") as connection, reading(of):
        found = {
            str(native) for bound in rows if bound.namespace for (native,) in connection.execute(_unknown(of, bound))
        }
    natives: list[str | None] = [*sorted(found)]
    if any(bound.namespace is None for bound in rows):
        natives = [None]
    slugs = [slug_of(of.name, native) for native in natives]
    with store.connect("planner") as connection:
        added = connection.execute(_ADD_NAMESPACES, (of.name, natives, slugs)).fetchone()
    return int(str(added[0])) if added else 0


def slug_of(store: str, native: str | None) -> str:
    """Return the name of a namespace here, made of the store's name and its own.

    If its own name had to be changed to be safe and plain, a hash of it is appended.
    """
    if native is None:
        return store.replace("_", "-")
    plain = re.sub(r"[^a-z0-9.]+|[.]{2,}", "-", native.lower()).strip("-.")[:_LONGEST_SLUG].rstrip("-.")
    name = "-".join(part for part in (store.replace("_", "-"), plain) if part)
    if plain == native:
        return name
    return f"{name}-{hashlib.sha256(native.encode()).hexdigest()[:10]}"


class reading:  # noqa: N801 - it is used as a statement
    """Context that turns PostgreSQL's errors about a store that differs from its binding into a ``StoreError``."""

    def __init__(self, store: ConnectedStore) -> None:
        self._name = store.name

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        why = next((sentence for error, sentence in _REASONS if isinstance(problem, error)), "")
        if why:
            raise StoreError(
                f"The store {self._name} cannot be read: {why}. `slowwave doctor` says which, and what to do."
            ) from None


_REASONS: Final = (
    (psycopg.errors.InsufficientPrivilege, "slowwave_reader lacks a right on its tables"),
    (psycopg.errors.UndefinedTable, "a table that it had is gone"),
    (psycopg.errors.UndefinedColumn, "a column that it had is gone"),
    (psycopg.errors.InvalidSchemaName, "a schema that it had is gone"),
    (psycopg.errors.DatatypeMismatch, "a column has another type than its binding says"),
    (psycopg.errors.UndefinedFunction, "a column has another type than its binding says"),
    (psycopg.errors.InvalidTextRepresentation, "a column has another type than its binding says"),
)


def _unknown(of: ConnectedStore, bound: BoundTable) -> sql.Composed:
    assert bound.namespace is not None  # noqa: S101 - whoever asks has looked
    native = text_of(bound.namespace, "t")
    return sql.SQL(
        "SELECT DISTINCT {native} FROM {table} AS t WHERE {standing} AND {native} IS NOT NULL AND NOT EXISTS "
        "(SELECT 1 FROM night.store_namespaces k WHERE k.store = {store} AND k.native = {native})"
    ).format(
        native=native,
        table=sql.Identifier(bound.schema, bound.table),
        standing=in_scope_sql(bound, Scope("", whole=True)),
        store=sql.Literal(of.name),
    )


def _store(
    name: object, kind: object, text: object, parameters: object, fingerprint: object, model: object, writing: object
) -> ConnectedStore:
    given = {str(k): str(v) for k, v in parameters.items()} if isinstance(parameters, dict) else {}
    lines = fingerprint if isinstance(fingerprint, dict) else {}
    own = str(text)
    return ConnectedStore(
        str(name),
        str(kind),
        read_binding(own or built_in_text(str(kind)), given, name=f"The binding of {name}"),
        given,
        {str(table): tuple(str(line) for line in found) for table, found in lines.items()},
        str(model),
        bool(writing),
        own,
    )


# The structure of a store's tables, as comparable lines: columns, keys, checks, and other rules for writing rows.
#
# Names of constraints and lengths of types are left out: they differ between installations and have no effect.

Structure = dict[str, tuple[str, ...]]
"""Bound table → its lines, sorted; a missing table has none."""

# A cast to regclass would take USAGE on the schema.
_OID: Final = """
(SELECT t.oid FROM pg_class t JOIN pg_namespace s ON s.oid = t.relnamespace WHERE s.nspname = {schema} AND t.relname = {table})
"""
_COLUMNS: Final = """
SELECT a.attname || ' ' || format_type(a.atttypid, NULL) || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END
  || CASE WHEN a.attgenerated <> '' THEN ' generated' ELSE '' END || CASE WHEN a.attidentity = 'a' THEN ' identity' ELSE '' END
FROM pg_attribute a WHERE a.attrelid = {table} AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL
SELECT CASE WHEN i.indisprimary THEN 'primary key (' ELSE 'unique (' END
  || (SELECT string_agg(pg_get_indexdef(i.indexrelid, k, true), ', ' ORDER BY k) FROM generate_series(1, i.indnkeyatts) AS k) || ')'
  || coalesce(' where ' || pg_get_expr(i.indpred, i.indrelid), '')
FROM pg_index i WHERE i.indrelid = {table} AND i.indisunique
UNION ALL
SELECT 'check ' || pg_get_expr(c.conbin, c.conrelid) FROM pg_constraint c WHERE c.conrelid = {table} AND c.contype = 'c'
"""
_FOREIGN: Final = """
SELECT (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY k.n) FROM unnest(c.conkey) WITH ORDINALITY AS k (num, n)
    JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.num),
  n.nspname, f.relname,
  (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY k.n) FROM unnest(c.confkey) WITH ORDINALITY AS k (num, n)
    JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.num),
  c.confdeltype::text, c.confupdtype::text
FROM pg_constraint c JOIN pg_class f ON f.oid = c.confrelid JOIN pg_namespace n ON n.oid = f.relnamespace
WHERE c.conrelid = {table} AND c.contype = 'f'
"""
_THERE: Final = """
SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND c.relkind IN ('r', 'p')
"""
_ACTIONS: Final = {"c": "cascade", "n": "set null", "d": "set default", "r": "restrict"}


def there(connection: Connection, bound: BoundTable) -> bool:
    """Return whether the table exists, even if the login may not use its schema."""
    found = connection.execute(_THERE, (bound.schema, bound.table)).fetchone()
    return found is not None


def structure_of(connection: Connection, binding: Binding) -> Structure:
    """Return the structure lines of every bound table.

    PostgreSQL's catalogue is open to all: the login needs no right on the tables or their schema.
    """
    names = {(bound.schema, bound.table): name for name, bound in binding.tables.items()}
    return {
        name: _lines(connection, bound, names) if there(connection, bound) else ()
        for name, bound in binding.tables.items()
    }


def differences(
    found: Mapping[str, tuple[str, ...]], known: Mapping[str, tuple[str, ...]], binding: Binding
) -> list[str]:
    """Return a phrase for each line that only one of two structures has; empty if they are equal.

    Tables have their physical names.
    """
    phrases: list[str] = []
    for name in sorted(found.keys() | known.keys()):
        table = binding.tables[name].table if name in binding.tables else name
        here, expected = set(found.get(name, ())), set(known.get(name, ()))
        phrases += [f"{table} has {line}, which is new" for line in sorted(here - expected)]
        phrases += [f"{table} lacks {line}" for line in sorted(expected - here)]
    return phrases


def version_of(found: Mapping[str, tuple[str, ...]], binding: Binding) -> str:
    """Return the known version that has these tables; empty if there is none."""
    return next((known.version for known in binding.known if not differences(found, known.tables, binding)), "")


def nearest(found: Mapping[str, tuple[str, ...]], binding: Binding) -> tuple[str, list[str]]:
    """Return the known version that differs least from these tables, and the differences; an empty name if none is known."""
    candidates = [(known.version, differences(found, known.tables, binding)) for known in binding.known]
    return min(candidates, key=lambda one: len(one[1]), default=("", []))


def _lines(connection: Connection, bound: BoundTable, names: Mapping[tuple[str, str], str]) -> tuple[str, ...]:
    table = sql.SQL(_OID).format(schema=sql.Literal(bound.schema), table=sql.Literal(bound.table))
    lines = [str(line) for (line,) in connection.execute(sql.SQL(_COLUMNS).format(table=table))]
    for own, schema, name, theirs, delete, update in connection.execute(sql.SQL(_FOREIGN).format(table=table)):
        to = names.get((str(schema), str(name)), f"{schema}.{name}")
        line = f"foreign key ({own}) references {to} ({theirs})"
        line += f" on delete {_ACTIONS[str(delete)]}" if str(delete) in _ACTIONS else ""
        lines.append(line + (f" on update {_ACTIONS[str(update)]}" if str(update) in _ACTIONS else ""))
    return tuple(sorted(lines))


# Checks before writing: whether a night's plan for a namespace can be applied to the store of its rows.
#
# A store is connected for reading. A person allows plans to be applied to it in a separate step. Even then nothing is written to tables
# that differ from those that were connected, or that change more than the plan shows: by triggers, row security, or dependent rows
# elsewhere.

_SHOWN: Final = 5

_LET: Final = "UPDATE night.stores SET writing = %s WHERE name = %s AND disconnected_at IS NULL"
_DUE: Final = """
INSERT INTO memory.changes (namespace_id, table_name) SELECT namespace_id, store FROM night.store_namespaces WHERE store = %s
"""
"""SQL: what was only reported so far can be planned now, so the next night of each namespace is due even if its rows did not change."""

_GUARDED: Final = """
SELECT ARRAY(SELECT t.tgname::text FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal ORDER BY 1),
  c.relrowsecurity AND NOT (SELECT rolbypassrls OR rolsuper FROM pg_roles WHERE rolname = current_user)
    AND NOT (pg_has_role(current_user, c.relowner, 'USAGE') AND NOT c.relforcerowsecurity),
  ARRAY(SELECT n2.nspname || '.' || r.relname FROM pg_constraint k JOIN pg_class r ON r.oid = k.conrelid
    JOIN pg_namespace n2 ON n2.oid = r.relnamespace WHERE k.confrelid = c.oid AND k.contype = 'f' AND k.confdeltype <> 'a' ORDER BY 1)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s
"""
_RIGHTS: Final = """
SELECT has_schema_privilege('slowwave_applier', n.oid, 'USAGE'),
  ARRAY(SELECT p FROM unnest(%s::text[]) p WHERE NOT has_table_privilege('slowwave_applier', c.oid, p))
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s
"""


def why_not_writable(connection: Connection, namespace_id: str, unfit: dict[str, str] | None = None) -> str:
    """Return a sentence with the reason why no plan can be made for a namespace; empty if plans can be applied.

    Plans can always be applied to Slowwave's own memory. ``unfit`` keeps the result of ``why_unfit`` for each store while the nights of
    several namespaces check it one after another; an apply checks for itself.
    """
    found = connected_store(connection, namespace_id)
    if found is None:
        return ""
    of = found[0]
    if not of.writing:
        return only_read(of.name)
    known = {} if unfit is None else unfit
    if of.name not in known:
        known[of.name] = why_unfit(connection, of)
    return known[of.name]


def only_read(name: str) -> str:
    """Return the sentence about a store to which nobody allowed plans to be applied, with the command that allows it."""
    return (
        f"The store {name} is connected to be read: nights audit it and say what they would propose, and no plan is made. "
        f"`slowwave connect write {name}` lets plans be made and, once they are approved, applied."
    )


def why_unfit(connection: Connection, of: ConnectedStore) -> str:
    """Return a sentence with the reason why a store's tables cannot be written or restored; empty if there is none.

    A few look-ups in PostgreSQL's catalogue, none in the tables.
    """
    if of.binding.read_only:
        return of.binding.read_only
    now = structure_of(connection, of.binding)
    if changed := differences(now, of.fingerprint, of.binding):
        return (
            f"The tables of the store {of.name} are no longer as they were when it was connected: {_few(changed)}. Nothing is written "
            "to them. Look whether the binding still fits, and connect the store again."
        )
    if of.binding.known and not version_of(now, of.binding):
        version, how = nearest(now, of.binding)
        return (
            f"The tables of the store {of.name} are of no version that is known; against {version}: {_few(how)}. Nothing is written to "
            "them; audits go on."
        )
    for bound in of.binding.tables.values():
        columns = {c.column for c in bound.columns.values()}
        if made := [line for line in now[bound.name] if line.endswith(" generated") and line.split(" ")[0] in columns]:
            return (
                f"{bound.schema}.{bound.table}.{made[0].split(' ')[0]} is generated from other columns, so nothing is written to its rows; "
                "audits go on."
            )
        row = connection.execute(_GUARDED, (bound.schema, bound.table)).fetchone()
        triggers, secured, referring = row or ([], False, [])
        if isinstance(triggers, list) and triggers:
            return (
                f"{bound.schema}.{bound.table} has triggers that the binding does not know: {_few([*map(str, triggers)])}. They would "
                "change what a plan writes, so nothing is written to it; audits go on."
            )
        if secured:
            return (
                f"Row security of {bound.schema}.{bound.table} decides what a login sees of it, so nothing is written to it by one that it "
                "holds for. Give slowwave_applier BYPASSRLS, or let the table be read and no more."
            )
        own = {f"{one.schema}.{one.table}" for one in of.binding.tables.values()}
        if isinstance(referring, list) and _deletes(of.binding, bound) and (other := {*map(str, referring)} - own):
            return (
                f"Rows of {min(other)} go or change with those of {bound.schema}.{bound.table}, and the binding does not speak of them. "
                "What a delete takes along could not be put back, so nothing is written; audits go on."
            )
    return ""


def writing_grants(owner: Connection, binding: Binding) -> list[str]:
    """Return the GRANT statements that slowwave_applier needs for the writes that the binding declares."""
    statements: list[str] = []
    for bound in (one for one in binding.tables.values() if not one.read_only):
        wanted = ["SELECT", "UPDATE", *(["INSERT", "DELETE"] if _deletes(binding, bound) else [])]
        row = owner.execute(_RIGHTS, (wanted, bound.schema, bound.table)).fetchone()
        usage, lacking = row or (True, [])
        if not usage:
            on = sql.Identifier(bound.schema).as_string(owner)
            statements.append(f"GRANT USAGE ON SCHEMA {on} TO slowwave_applier")
        if isinstance(lacking, list) and lacking:
            on = sql.Identifier(bound.schema, bound.table).as_string(owner)
            statements.append(f"GRANT {', '.join(map(str, lacking))} ON {on} TO slowwave_applier")
    return list(dict.fromkeys(statements))


def let_write(store: Store, name: str, *, grant: bool = False) -> list[str]:
    """Allow plans to be applied to a connected store; return the GRANT statements that are still missing.

    If any is missing, nothing is allowed yet. With ``grant`` the owner's login runs them, if it may. Raises ``Refused`` with the reason
    if nothing may be written to its tables.
    """
    with store.connect("owner") as connection, connection.transaction():
        of = _named(connection, name)
        if why := why_unfit(connection, of):
            raise Refused(why)
        missing = writing_grants(connection, of.binding)
        if grant:
            with suppress(psycopg.errors.InsufficientPrivilege), connection.transaction():
                for statement in missing:
                    connection.execute(statement.encode())
            missing = writing_grants(connection, of.binding)
        if not missing:
            connection.execute(_LET, (True, name))
            if not of.writing:
                connection.execute(_DUE, (name,))
    with store.connect("applier") as connection:
        if not missing and (why := why_unfit(connection, of)):  # the rows that row security hides depend on the role
            _stop(store, name)
            raise Refused(why)
    return missing


def stop_writing(store: Store, name: str) -> None:
    """Allow no more plans to be applied to a store; it is still read."""
    with store.connect("owner") as connection:
        _named(connection, name)
    _stop(store, name)


def _stop(store: Store, name: str) -> None:
    with store.connect("owner") as connection:
        connection.execute(_LET, (False, name))


def _named(connection: Connection, name: str) -> ConnectedStore:
    if row := connection.execute(_STORE, (name,)).fetchone():
        return _store(*row)
    raise BindingError(f"No store {name[:60]!r} is connected. `slowwave connect list` lists those that are.")


def _deletes(binding: Binding, bound: BoundTable) -> bool:
    """Return whether rows of a table may be deleted."""
    return binding.owner(bound).retire.removes


def _few(said: list[str]) -> str:
    more = f", and {len(said) - _SHOWN:,} more" if len(said) > _SHOWN else ""
    return ", ".join(line[:120] for line in said[:_SHOWN]) + more
