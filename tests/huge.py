"""A namespace whose candidate searches are large enough for tiles: entities with variants, and notes that repeat others."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa

from benchmarks.generate import fill, make
from slowwave.store.connect import Store

NAME = "huge"
NOW = datetime(2026, 11, 1, tzinfo=UTC)


def load_huge(store: Store, size: int = 3_000) -> None:
    """Fill a namespace with ``size`` entities and as many notes, all with vectors."""
    made = make(size, now=NOW, slug=NAME)
    kept = ("documents", "chunks", "entities", "memories", "memory_versions", "recall_events")
    tables = {name: made.tables[name] for name in kept}
    memories = tables["memories"]
    for column, value in (("kind", "note"), ("subject", "")):
        memories = memories.set_column(memories.column_names.index(column), column, pa.repeat(value, size))
    tables["memories"] = memories
    vectors = {name: made.vectors[name] for name in ("entity_vectors", "memory_vectors")}
    fill(store, replace(made, tables=tables, vectors=vectors))


def items_of(store: Store) -> list[tuple[object, ...]]:
    """The items of the newest plan of the namespace, whatever its snapshot is."""
    with store.connect("reader") as connection:
        return connection.execute(
            "SELECT item_id::text, operation, decision FROM night.plan_items WHERE plan_hash = "
            "(SELECT p.plan_hash FROM night.plans p JOIN memory.namespaces n ON n.id = p.namespace_id WHERE n.slug = %s "
            "ORDER BY p.recorded_at DESC LIMIT 1) ORDER BY 1",
            (NAME,),
        ).fetchall()
