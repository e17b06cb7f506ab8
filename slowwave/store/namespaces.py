"""Namespaces of the store: their names and ids, and the settings of each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from slowwave.errors import Refused, UnknownName
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.text.tokens import suggest_name

if TYPE_CHECKING:
    from slowwave.store.settings import Settings


RESERVED_NAMES: Final = frozenset(("ALL", "show", "set", "remove"))
"""``slowwave night ALL`` means every namespace, and the others are commands of the group ``namespace``."""

FIRST_NAMESPACE: Final = (
    "`slowwave demo`, `slowwave import messages FILE`, `slowwave corpus add NAMESPACE FOLDER` and `slowwave connect mem0`, or another "
    "store, create namespaces."
)
"""The remedy if a store has no namespace."""

_ID: Final = "SELECT id::text FROM memory.namespaces WHERE slug = %s"
_SETTINGS: Final = "SELECT settings FROM memory.namespaces WHERE slug = %s"
_ALL: Final = "SELECT slug FROM memory.namespaces ORDER BY slug"
_CONNECTED: Final = """
SELECT n.slug, k.store FROM memory.namespaces n JOIN night.store_namespaces k ON k.namespace_id = n.id
WHERE n.slug = ANY(%s) ORDER BY n.slug LIMIT 1
"""


_ADDED: Final = (
    "its memories lie in that store's own tables, and what is added here would be read by nobody. Nothing was stored. Let the store's "
    "client add it, or choose another namespace."
)


def refuse_connected(connection: Connection, namespaces: Iterable[str], why: str = _ADDED) -> None:
    """Refuse to add memory to a namespace of a connected store, whose memories are only read from that store's tables.

    ``why`` replaces the reason for other refusals.
    """
    with connection.transaction():
        row = connection.execute(_CONNECTED, (list(namespaces),)).fetchone()
    if row:
        raise Refused(f"{row[0]} is a namespace of the connected store {row[1]}: {why}")


def refuse_reserved(namespace: str) -> None:
    """Refuse a new namespace whose name is a word that commands use themselves."""
    if namespace in RESERVED_NAMES:
        raise Refused(
            f"A namespace cannot be called {namespace!r}: commands use the words {', '.join(sorted(RESERVED_NAMES))}. "
            "Choose another name; nothing was written."
        )


def namespace_id(connection: Connection, namespace: str) -> str:
    """Return the id of a namespace by its name.

    Raises ``UnknownName`` for an unknown one.
    """
    found = connection.execute(_ID, (namespace,)).fetchone()
    if found is None:
        raise unknown_namespace(connection, namespace)
    return str(found[0])


def unknown_namespace(connection: Connection, namespace: str) -> UnknownName:
    """Return the refusal of an unknown namespace, with the nearest known name, or with the commands that create the first one."""
    known = [str(slug) for (slug,) in connection.execute(_ALL)]
    if not known:
        return UnknownName(f"There is no namespace {namespace[:64]!r}, and no other one yet. {FIRST_NAMESPACE}")
    near = suggest_name(namespace[:64], known)
    return UnknownName(f"There is no namespace {namespace[:64]!r}.{near} `slowwave namespace list` lists all of them.")


def store_of(connection: Connection, namespace: str) -> str:
    """Return the name of the connected store that a namespace belongs to; empty for Slowwave's own memory."""
    row = connection.execute(_CONNECTED, ([namespace],)).fetchone()
    return str(row[1]) if row else ""


def namespace_settings(connection: Connection, namespace: str) -> Settings:
    """Return the settings of a namespace: the environment's, overlaid by its own."""
    from slowwave.store.settings import Settings  # loads pydantic, which listing namespaces does not need

    row = connection.execute(_SETTINGS, (namespace,)).fetchone()
    return Settings.for_namespace(row[0] if row and isinstance(row[0], dict) else {})


def namespaces(store: Store) -> list[str]:
    """Return the names of all namespaces, sorted."""
    with store.connect("reader") as connection:
        return [str(s) for (s,) in connection.execute(_ALL)]
