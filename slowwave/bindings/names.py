"""What memories of a connected store say, by their ids: for people who are shown a plan."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from psycopg import sql

from slowwave.bindings.connected import connected_store, reading
from slowwave.bindings.rendering import select_rows
from slowwave.store.connect import Connection
from slowwave.store.tables import metadata

_SAID: Final = """
SELECT m.id::text, v.content FROM ({memories}) m JOIN ({versions}) v ON v.id = m.current_version_id
WHERE m.id = ANY({ids}::uuid[]) AND m.invalidated_at IS NULL AND m.state <> 'quarantined'
"""


def texts_of(connection: Connection, namespace_id: str, ids: Collection[str]) -> dict[str, str]:
    """Row → what it says, of live memories of a store's namespace; nothing for a namespace of our own memory. The texts are untrusted.

    Raises ``StoreError`` where the store cannot be read. Cost: two passes over the namespace's rows.
    """
    if not ids or (found := connected_store(connection, namespace_id)) is None:
        return {}
    of, scope = found
    memories, versions = (
        select_rows(of.binding, metadata.tables[f"memory.{table}"], scope) for table in ("memories", "memory_versions")
    )
    statement = sql.SQL(_SAID).format(memories=memories, versions=versions, ids=sql.Literal(sorted(ids)))
    with reading(of):
        return {str(id_): str(text) for id_, text in connection.execute(statement) if text}
