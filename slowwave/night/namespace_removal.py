"""Removing a namespace: it is deleted if it never had a plan, else its nights end and its history stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from psycopg import sql
from sqlalchemy import Table

from slowwave.config.settings import Settings
from slowwave.errors import Refused, SettingsError
from slowwave.plans.commands import argument
from slowwave.snapshots.files import database_base, remove_snapshot
from slowwave.store.connect import Connection, Store
from slowwave.store.tables import metadata

_LEDGER: Final = frozenset(
    ("memory.changes", "night.findings", "night.runs", "night.snapshots", "night.store_namespaces", "night.llm_usage")
)
"""Tables whose rows tell of nights alone. They are removed with a namespace that has no other rows."""

_NAMESPACE: Final = "SELECT id::text, settings FROM memory.namespaces WHERE slug = %s FOR UPDATE"
_CONNECTED: Final = """
SELECT s.name FROM night.store_namespaces k JOIN night.stores s ON s.name = k.store
WHERE k.namespace_id = %s AND s.disconnected_at IS NULL
"""
_UNUSED: Final = """
SELECT n.slug FROM night.store_namespaces k JOIN memory.namespaces n ON n.id = k.namespace_id WHERE k.store = %s
AND NOT EXISTS (SELECT 1 FROM night.plans p WHERE p.namespace_id = n.id) ORDER BY n.slug
"""
_SNAPSHOTS: Final = "SELECT location, id FROM night.snapshots WHERE namespace_id = %s AND deleted_at IS NULL"
_LIVE: Final = """
SELECT (SELECT count(*) FROM memory.memories WHERE namespace_id = %(id)s AND invalidated_at IS NULL)
  + (SELECT count(*) FROM memory.documents WHERE namespace_id = %(id)s AND invalidated_at IS NULL)
  + (SELECT count(*) FROM memory.entities WHERE namespace_id = %(id)s AND invalidated_at IS NULL)
  + (SELECT count(*) FROM memory.memory_facts WHERE namespace_id = %(id)s AND invalidated_at IS NULL)
"""
_END_NIGHTS: Final = "UPDATE memory.namespaces SET settings = settings || '{\"enabled\": false}' WHERE id = %s"
_DELETE: Final = "DELETE FROM memory.namespaces WHERE id = %s"


@dataclass(frozen=True, slots=True)
class Removal:
    """What became of a namespace. ``kept`` counts the rows that stay, by table; it is empty if the namespace was ``deleted``."""

    namespace: str
    deleted: bool
    kept: dict[str, int]
    retention_days: int
    undo_retention_days: int

    def to_json(self) -> dict[str, object]:
        """As ``slowwave namespace remove --json`` shows it."""
        return {
            "namespace": self.namespace,
            "deleted": self.deleted,
            "kept": self.kept,
            "retention_days": self.retention_days,
            "undo_retention_days": self.undo_retention_days,
        }


def remove_namespace(store: Store, namespace: str) -> Removal:
    """Delete a namespace that has no memory and no plan; end the nights of one that has a history, which stays.

    It takes the owner's login. Raises ``Refused`` for an unknown namespace, for one of a connected store, whose rows are not ours, and
    for one that holds live memory.
    """
    with store.connect("owner") as connection, connection.transaction():
        row = connection.execute(_NAMESPACE, (namespace,)).fetchone()
        if row is None:
            raise Refused(f"There is no namespace {namespace!r}. `slowwave namespaces` lists those there are.")
        namespace_id, own = str(row[0]), row[1]
        if connected := connection.execute(_CONNECTED, (namespace_id,)).fetchone():
            raise Refused(
                f"{namespace} belongs to the connected store {connected[0]}, which would add it again. Remove the store first: "
                f"`slowwave connect remove {connected[0]}`. Nothing was removed."
            )
        live = connection.execute(_LIVE, {"id": namespace_id}).fetchone()
        if live and live[0]:
            raise Refused(
                f"{namespace} holds {int(str(live[0])):,} live rows of memory, and removing a namespace deletes none. To end its nights "
                f"alone: `slowwave namespace set {argument(namespace)} enabled=false`. Nothing was removed."
            )
        try:
            settings = Settings.for_namespace(own if isinstance(own, dict) else {})
        except SettingsError:  # an invalid setting is no reason to keep a namespace
            settings = Settings.for_namespace({})
        counts = _row_counts(connection, namespace_id)
        kept = {name: n for name, n in counts.items() if n and name not in _LEDGER}
        if not kept:
            snapshots = connection.execute(_SNAPSHOTS, (namespace_id,)).fetchall()
            for table in _tables():
                if counts[_name(table)]:
                    connection.execute(
                        sql.SQL("DELETE FROM {} WHERE namespace_id = %s").format(_identifier(table)), (namespace_id,)
                    )
            connection.execute(_DELETE, (namespace_id,))
            base = database_base(store)
            for location, snapshot_id in snapshots:
                remove_snapshot(str(location), namespace, str(snapshot_id), base)
        else:
            connection.execute(_END_NIGHTS, (namespace_id,))
    return Removal(namespace, not kept, kept, settings.retention_days, settings.undo_retention_days)


def remove_unplanned(store: Store, connected: str) -> list[str]:
    """Delete the namespaces of a disconnected store for which no night ever made a plan; return their names."""
    with store.connect("owner") as connection:
        names = [str(name) for (name,) in connection.execute(_UNUSED, (connected,))]
    return [name for name in names if remove_namespace(store, name).deleted]


def _tables() -> list[Table]:
    """Every table with rows of namespaces, those that refer to others first."""
    return [table for table in reversed(metadata.sorted_tables) if "namespace_id" in table.columns]


def _row_counts(connection: Connection, namespace_id: str) -> dict[str, int]:
    """Table → how many rows of the namespace it has, in one statement."""
    counts = sql.SQL(", ").join(
        sql.SQL("(SELECT count(*) FROM {} WHERE namespace_id = {})").format(
            _identifier(table), sql.Literal(namespace_id)
        )
        for table in _tables()
    )
    row: Any = connection.execute(sql.SQL("SELECT {}").format(counts)).fetchone()
    return {_name(table): int(n) for table, n in zip(_tables(), row, strict=True)}


def _identifier(table: Table) -> sql.Identifier:
    return sql.Identifier(str(table.schema), table.name)


def _name(table: Table) -> str:
    return f"{table.schema}.{table.name}"
