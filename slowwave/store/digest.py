"""One hash of everything that a namespace's memory tables hold: equal digests, equal memory."""

from __future__ import annotations

import hashlib
from typing import Final

from sqlalchemy import Table

from slowwave.errors import Refused
from slowwave.store.connect import Store
from slowwave.store.tables import DERIVED_COLUMNS, EXPORTED, metadata, namespaces

_TABLES = [
    namespaces,
    *EXPORTED,
    *(metadata.tables[f"memory.{t}"] for t in ("entity_vectors", "chunk_vectors", "memory_vectors")),
]

_NAMESPACE_ID: Final = "SELECT id FROM memory.namespaces WHERE slug = %s"


def digest(store: Store, namespace: str) -> str:
    """SHA-256 over every column but content_version and updated_at of every memory table of the namespace."""
    total = hashlib.sha256()
    with store.connect("reader") as connection, connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        found = connection.execute(_NAMESPACE_ID, (namespace,)).fetchone()
        if found is None:
            raise Refused(f"There is no namespace {namespace!r}. `slowwave namespaces` lists those there are.")
        for table in _TABLES:
            row = connection.execute(_query(table).encode(), found).fetchone()
            total.update(f"{table.name}:{row[0] if row else ''}\n".encode())
    return total.hexdigest()


def _query(table: Table) -> str:
    columns = ", ".join(f"t.{c.name}" for c in table.c if c.name not in DERIVED_COLUMNS)
    order = ", ".join(f"t.{c.name}" for c in table.primary_key)
    scope = "t.id" if table is namespaces else "t.namespace_id"
    return (
        f"SELECT encode(sha256(convert_to(coalesce(string_agg(md5(ROW({columns})::text), '' ORDER BY {order}), ''), 'UTF8')), 'hex') "
        f"FROM memory.{table.name} t WHERE {scope} = %s"
    )
