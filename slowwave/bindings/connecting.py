"""Connecting a store: its tables are looked at, it is noted as one to be read, its namespaces are entered. No row of it changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import psycopg

from slowwave.bindings.binding import Binding, BoundTable
from slowwave.bindings.changes import note_changes_of
from slowwave.bindings.checks import Passed, diagnose_store, missing_grants, passed
from slowwave.bindings.connected import (
    TABLE,
    ConnectedStore,
    connected_stores,
    disconnect,
    enter_namespaces,
    namespaces_of,
    register,
    slug_of,
)
from slowwave.bindings.files import built_in_text, read_binding
from slowwave.bindings.fingerprint import structure_of, there, version_of
from slowwave.bindings.fit import misfits
from slowwave.errors import BindingError
from slowwave.store.connect import Connection, Store
from slowwave.store.doctor import Diagnosis
from slowwave.store.namespaces import refuse_reserved

_TAKEN: Final = """
SELECT 1 FROM memory.namespaces n WHERE n.slug = %s
AND NOT EXISTS (SELECT 1 FROM night.store_namespaces k WHERE k.namespace_id = n.id AND k.store = %s)
"""
_WRITTEN: Final = "SELECT 1 FROM night.stores WHERE name = %s AND writing AND disconnected_at IS NULL"


@dataclass(frozen=True, slots=True)
class Connected:
    """A store as it was found. ``version`` is the known one whose tables it has, empty where it is none. ``grants`` are statements without
    which nothing can be read; then there are no ``rows`` yet, and no namespaces. ``was_written``: plans could be applied to it before."""

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
    """Connect a store of one of our bindings, or of a person's own (``own_text``), to be read.

    With ``grant`` the owner's login gives ``slowwave_reader`` what it lacks, where it may. The same name connects the store anew and keeps
    its namespaces. Raises ``BindingError`` for a binding that cannot be, and for tables that are not there.
    """
    given = dict(parameters or {})
    binding = read_binding(own_text or built_in_text(kind), given, name=file_name or f"The binding {kind}")
    name = _safe(name or binding.store)
    with store.connect("owner") as connection:
        _refuse_missing(binding, [bound for bound in binding.tables.values() if not there(connection, bound)])
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
    """Read a store no more. Its rows, and what nights found in them, stay as they are."""
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
    """A store that is one namespace would have none where somebody else's has its name."""
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
    """The tables that hold a binding's rows; those that only add to such a row may be shared."""
    return {(bound.schema, bound.table) for bound in binding.tables.values() if bound.parent is None}


def _refuse_missing(binding: Binding, gone: Sequence[BoundTable]) -> None:
    if gone:
        names = ", ".join(f"{bound.schema}.{bound.table}" for bound in gone)
        raise BindingError(
            f"{binding.title} would lie in {names}, and this database has no such table. Look at the address and at the names that "
            "you gave; nothing was connected."
        )
