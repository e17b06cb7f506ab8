"""Stores that are connected, as ``night.stores`` and ``night.store_namespaces`` hold them: which they are, and whose rows are whose.

Nothing here writes into a store. Namespaces are entered as they are seen, all new ones of a store in one statement.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from slowwave.bindings.binding import Binding, BoundTable
from slowwave.bindings.files import built_in_text, read_binding
from slowwave.bindings.rendering import Scope, in_scope_sql, text_of
from slowwave.errors import BindingError, StoreError
from slowwave.store.connect import Connection, Store

TABLE: Final = "table"
"""The kind of a store that a person's own file describes."""

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
    """A store by its name here. ``fingerprint`` is bound table → lines of its structure when it was connected; ``embedding_model`` the
    name under which its vectors are compared; ``writing`` whether a person let plans be applied to it."""

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
        """The name of its vectors' model; one of its own where nobody said which it is."""
        return self.embedding_model or f"of-{self.name}"


def connected_stores(connection: Connection) -> list[ConnectedStore]:
    """Every store that is connected, by name. Raises ``BindingError`` for one whose file is no binding of this version."""
    return [_store(*row) for row in connection.execute(_STORES).fetchall()]


def connected_store(connection: Connection, namespace_id: str) -> tuple[ConnectedStore, Scope] | None:
    """The store that a namespace is of, and which of it; None for a namespace of our own memory.

    A namespace whose store is disconnected raises ``StoreError``: its rows are not to be read any more.
    """
    found = connection.execute(_OF_NAMESPACE, (namespace_id,)).fetchone()
    if found is None:
        return None
    native, name, *of, gone = found
    if gone:
        raise _disconnected(str(name))
    return _store(name, *of), Scope(namespace_id, "" if native is None else str(native), whole=native is None)


def connected_names(connection: Connection) -> list[str]:
    """The names of the stores that are connected, whether their bindings can be read or not."""
    return [str(name) for (name,) in connection.execute(_NAMES)]


def store_named(connection: Connection, name: str) -> ConnectedStore:
    """One store. Raises ``StoreError`` where it is not connected, ``BindingError`` where its file is no binding of this version."""
    row = connection.execute(_STORE, (name,)).fetchone()
    if row is None:
        raise _disconnected(name)
    return _store(*row)


def _disconnected(name: str) -> StoreError:
    return StoreError(
        f"The store {name} is disconnected, so its rows are not read. `slowwave connect list` says what is connected."
    )


def register(connection: Connection, store: ConnectedStore) -> None:
    """Note a store as connected, read-only; one of that name is replaced, and its namespaces stay.

    Its row holds the settings of the namespaces that nights will enter: the binding's operations that are off. A night's login cannot
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
    """Read a store no more. Nothing of it is changed, and what nights found stays. Another name is refused."""
    if connection.execute(_DISCONNECT, (name,)).rowcount != 1:
        raise BindingError(f"No store {name[:60]!r} is connected. `slowwave connect list` lists those that are.")


def namespaces_of(connection: Connection, name: str) -> int:
    """How many namespaces of a store are known."""
    found = connection.execute(_COUNTED, (name,)).fetchone()
    return int(str(found[0])) if found else 0


def enter_namespaces(store: Store, of: ConnectedStore) -> int:
    """Enter what a store has by now and is not known yet; returns how many are new. One pass over each of its tables."""
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
    """A namespace's name here: the store's and its own, with the hash of the latter where it had to be changed to be safe and plain."""
    if native is None:
        return store.replace("_", "-")
    plain = re.sub(r"[^a-z0-9.]+|[.]{2,}", "-", native.lower()).strip("-.")[:_LONGEST_SLUG].rstrip("-.")
    name = "-".join(part for part in (store.replace("_", "-"), plain) if part)
    if plain == native:
        return name
    return f"{name}-{hashlib.sha256(native.encode()).hexdigest()[:10]}"


class reading:  # noqa: N801 - it is used as a statement
    """Turns what PostgreSQL says of a store that is not as its binding says into a sentence."""

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
