"""The gate of writing: whether what a night plans in a namespace can be applied to where its rows lie.

A store is connected to be read. A person lets plans be applied to it in a step of its own, and even then nothing is written to tables that
are not those that were connected, or that do more with a row than the plan shows: triggers, row security, rows elsewhere that would go
along.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from psycopg import sql

from slowwave.bindings.binding import Binding, BoundTable
from slowwave.bindings.connected import ConnectedStore, connected_store, connected_stores
from slowwave.bindings.fingerprint import differences, nearest, structure_of, version_of
from slowwave.errors import BindingError, Refused
from slowwave.store.connect import Connection, Store

_SHOWN: Final = 5

_LET: Final = "UPDATE night.stores SET writing = %s WHERE name = %s AND disconnected_at IS NULL"
_DUE: Final = """
INSERT INTO memory.changes (namespace_id, table_name) SELECT namespace_id, store FROM night.store_namespaces WHERE store = %s
"""
"""What was only said is to be planned, so the next night of each of its namespaces is due, whether its rows changed or not."""

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

_LOOKED_AT: Final[ContextVar[dict[str, str] | None]] = ContextVar("looked_at", default=None)
"""Store → why nothing may be written to it, where the nights of several namespaces ask one after another."""


def why_not_writable(connection: Connection, namespace_id: str) -> str:
    """Why nothing may be sealed for a namespace, as a sentence; empty where plans can be applied, as in our own memory."""
    found = connected_store(connection, namespace_id)
    if found is None:
        return ""
    of = found[0]
    if not of.writing:
        return (
            f"The store {of.name} is connected to be read: nights audit it and say what they would propose, and no plan is made. "
            f"`slowwave connect write {of.name}` lets plans be made and, once they are approved, applied."
        )
    known = _LOOKED_AT.get()
    if known is None:
        return why_unfit(connection, of)
    if of.name not in known:
        known[of.name] = why_unfit(connection, of)
    return known[of.name]


@contextmanager
def each_store_once() -> Generator[None]:
    """Look once at the structure of a store's tables for plans that are made until this ends. An apply looks for itself."""
    token = _LOOKED_AT.set({})
    try:
        yield
    finally:
        _LOOKED_AT.reset(token)


def why_unfit(connection: Connection, of: ConnectedStore) -> str:
    """What of a store's tables keeps anything from being written to them, or from being taken back; empty where nothing does.

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
    """The GRANT statements without which the role that applies plans cannot do what the binding declares."""
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
    """Let plans be applied to a connected store; returns the GRANT statements that are still missing, with which nothing is let yet.

    ``grant`` gives them by the owner's login. Raises ``Refused`` with the reason where nothing may be written to its tables.
    """
    with store.connect("owner") as connection, connection.transaction():
        of = _named(connection, name)
        if why := why_unfit(connection, of):
            raise Refused(why)
        missing = writing_grants(connection, of.binding)
        if grant:
            for statement in missing:
                connection.execute(statement.encode())
            missing = writing_grants(connection, of.binding)
        if not missing:
            connection.execute(_LET, (True, name))
            if not of.writing:
                connection.execute(_DUE, (name,))
    with store.connect("applier") as connection:
        if not missing and (why := why_unfit(connection, of)):  # what row security hides depends on who looks
            _stop(store, name)
            raise Refused(why)
    return missing


def stop_writing(store: Store, name: str) -> None:
    """Let no plan be applied to a store any more; it is read as before."""
    with store.connect("owner") as connection:
        _named(connection, name)
    _stop(store, name)


def _stop(store: Store, name: str) -> None:
    with store.connect("owner") as connection:
        connection.execute(_LET, (False, name))


def _named(connection: Connection, name: str) -> ConnectedStore:
    for of in connected_stores(connection):
        if of.name == name:
            return of
    raise BindingError(f"No store {name[:60]!r} is connected. `slowwave connect list` lists those that are.")


def _deletes(binding: Binding, bound: BoundTable) -> bool:
    """Whether rows of a table are ever deleted."""
    return binding.owner(bound).retire.removes


def _few(said: list[str]) -> str:
    more = f", and {len(said) - _SHOWN:,} more" if len(said) > _SHOWN else ""
    return ", ".join(line[:120] for line in said[:_SHOWN]) + more
