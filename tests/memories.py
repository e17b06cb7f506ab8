"""A namespace in the real store from a few rows, for tests that tell a story about memory."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

import numpy as np

from slowwave.store.connect import Store
from slowwave.store.load import load_rows
from slowwave.store.tables import metadata
from tests.snapshots import uid

MODEL = "fast-use-v3"
NOW = datetime.now(UTC).replace(microsecond=0)
_ORDER = (
    *(
        "corpora",
        "documents",
        "chunks",
        "entities",
        "entity_aliases",
        "links",
        "relationships",
        "memory_facts",
        "memories",
        "memory_versions",
    ),
    *("recall_events", "promotions", "pages", "communities", "entity_vectors", "chunk_vectors", "memory_vectors"),
)


def ago(days: float) -> datetime:
    """An instant that many days before now."""
    return NOW - timedelta(days=days)


def recalls_of_nothing(slug: str, days: float) -> list[dict[str, Any]]:
    """Rows of recall events that found nothing, the first so many days ago and the last now: recalls are logged in this namespace."""
    return [{"id": f"{slug} recall {n}", "query": "anything", "occurred_at": ago(d)} for n, d in enumerate((days, 0))]


def remember(
    store: Store, slug: str, settings: Mapping[str, object] | None = None, **tables: Sequence[Mapping[str, Any]]
) -> str:
    """Write rows as an agent would; returns the namespace's id. A row's ``id`` is a name, as are ids that it refers to.

    A namespace that is there gets the rows besides. Vectors are lists of numbers.
    """
    namespace = uid(slug)
    with store.connect("owner") as connection, connection.transaction():
        connection.execute(
            "INSERT INTO memory.namespaces (id, slug, settings) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
            (namespace, slug, json.dumps({"blast_radius_share": 1.0, **(settings or {})})),
        )
        for name in _ORDER:
            every = {"namespace_id": namespace} | ({"model": MODEL} if name.endswith("_vectors") else {})
            full = (every | {k: _value(k, v) for k, v in row.items()} for row in tables.get(name, ()))
            for (_, width), rows in groupby(full, lambda row: (tuple(row), len(row.get("vector", ())))):
                if width:
                    connection.execute("SELECT memory.register_vector_model(%s, %s)", (MODEL, width))
                load_rows(connection, metadata.tables[f"memory.{name}"], rows)
    return namespace


def ask(store: Store, query: str, *parameters: object) -> list[tuple[object, ...]]:
    """Rows of a query, by the owner."""
    with store.connect("owner") as connection:
        cursor = connection.execute(query.encode(), parameters)
        return cursor.fetchall() if cursor.description else []


def behind_triggers(store: Store, query: str, *parameters: object) -> None:
    """Run a statement that triggers refuse, as a server's administrator could."""
    with store.connect("owner") as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(query.encode(), parameters)


def unit(*numbers: float, width: int = 512) -> list[float]:
    """A unit vector that begins with these numbers."""
    vector = np.zeros(width)
    vector[: len(numbers)] = numbers
    return (vector / np.linalg.norm(vector)).tolist()


def _value(column: str, value: Any) -> Any:
    if column == "id" or (column.endswith("_id") and column not in ("external_id", "session_id")):
        return uid(value)
    if column == "vector":
        return np.asarray(value, np.float32)
    return [uid(v) for v in value] if column.endswith("_ids") else value
