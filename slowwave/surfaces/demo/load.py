"""A loader of the demo namespaces into a store, with vectors of the given model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
import psycopg

from slowwave.models.embedder import Embedder
from slowwave.store import tables
from slowwave.store.load import analyse, load_rows
from slowwave.surfaces.demo.generator import DemoNamespace, generate
from slowwave.surfaces.demo.world import NAMESPACES

Texts = Mapping[str, tuple[list[str], list[str]]]
"""Vectors table → (ids, texts), row by row."""

_NAMESPACE: Final = "SELECT 1 FROM memory.namespaces WHERE slug = %s"
_REGISTER_MODEL: Final = "SELECT memory.register_vector_model(%s, %s)"
_ENSURE_PARTITIONS: Final = "SELECT memory.ensure_recall_partitions(%s, %s)"


def load_demo(
    connection: psycopg.Connection[Any],
    embedder: Embedder,
    *,
    now: datetime | None = None,
    progress: Callable[[str], None] | None = None,
) -> dict[str, int]:
    """Load every demo namespace that does not exist yet; return the rows added per table (empty if none were).

    ``now`` is the reference of all instants (timezone-aware; by default the start of today in UTC). An existing namespace is left
    unchanged, even if it was modified. Each namespace is one transaction. ``progress`` is called with one line per step. Needs the
    owner's connection. Raises ``EmbeddingError`` before anything of that namespace is written.
    """
    now = now or datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    say = progress or (lambda _: None)
    added: Counter[str] = Counter()
    for slug in NAMESPACES:
        if connection.execute(_NAMESPACE, (slug,)).fetchone():
            say(f"{slug}: already there, left as it is")
            continue
        demo = generate(slug, now)
        demo.rows["namespaces"][0]["settings"]["embedding_model"] = embedder.model
        texts = texts_to_embed(demo)
        say(f"{slug}: embedding {sum(len(ids) for ids, _ in texts.values()):,} texts with {embedder.model}")
        vectors = {name: embedder.embed(lines) for name, (_, lines) in texts.items()}
        rows = _load(connection, demo, embedder, texts, vectors)
        say(f"{slug}: {rows.total():,} rows loaded")
        added += rows
    analyse(connection, added)
    return dict(added)


def texts_to_embed(demo: DemoNamespace) -> Texts:
    """Return the ids and texts to embed, by vector table.

    The text is ``name (type): description`` for entities, the content for live chunks, and the current text for memories.
    """
    content = {row["id"]: row["content"] for row in demo.rows["memory_versions"]}
    entities = {
        row["id"]: f"{row['name']} ({row['entity_type']}): {row['description']}" for row in demo.rows["entities"]
    }
    chunks = {row["id"]: row["content"] for row in demo.rows["chunks"] if row["invalidated_at"] is None}
    memories = {row["id"]: content[row["current_version_id"]] for row in demo.rows["memories"]}
    named = {"entity_vectors": entities, "chunk_vectors": chunks, "memory_vectors": memories}
    return {table: ([*texts], [*texts.values()]) for table, texts in named.items()}


def _load(
    connection: psycopg.Connection[Any],
    demo: DemoNamespace,
    embedder: Embedder,
    texts: Texts,
    vectors: Mapping[str, np.ndarray],
) -> Counter[str]:
    """Load all rows of one namespace in one transaction."""
    added: Counter[str] = Counter()
    with connection.transaction():
        connection.execute(_REGISTER_MODEL, (embedder.model, embedder.dimensions))
        recalled = [row["occurred_at"] for row in demo.rows["recall_events"]]
        connection.execute(_ENSURE_PARTITIONS, (min(recalled), max(recalled)))
        for name, rows in demo.rows.items():
            added[name] += load_rows(connection, tables.metadata.tables[f"memory.{name}"], rows)
        namespace = demo.rows["namespaces"][0]["id"]
        for name, (ids, _) in texts.items():
            rows = _vector_rows(namespace, embedder.model, ids, vectors[name])
            added[name] += load_rows(connection, tables.metadata.tables[f"memory.{name}"], rows)
    return added


def _vector_rows(namespace: str, model: str, ids: list[str], matrix: np.ndarray) -> Iterator[Mapping[str, object]]:
    for row, vector in zip(ids, matrix, strict=True):
        yield {"id": row, "model": model, "namespace_id": namespace, "vector": vector}
