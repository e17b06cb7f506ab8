"""What agents say by day, by the login of a server: a namespace that knows its vectors' model, another beside it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from slowwave.search.request import settings_of
from slowwave.store.connect import Store
from slowwave.surfaces.api.memory import Memory
from slowwave.wiki.claims.remember import remember
from slowwave.wiki.claims.request import RememberRequest, RememberResponse
from tests.memories import ask

NOW = datetime(2026, 5, 1, 9, tzinfo=UTC)
MODES = ("hybrid", "bm25", "vector", "recall", "exact")


def tell(
    store: Store, content: str, subject: str = "", namespace: str = "acme", token: str = "", **more: Any
) -> RememberResponse:
    """Say something as an agent does; ``now`` is when, ``role`` by which login."""
    role, now = more.pop("role", "server"), more.pop("now", None)
    request = RememberRequest(content=content, subject=subject, **more)
    with store.connect(role) as connection:
        settings = settings_of(connection, namespace)
        clock = {} if now is None else {"now": lambda: now}
        return remember(connection, namespace, request, settings, token=token, **clock)


def shown(store: Store, words: str, mode: str = "hybrid", namespace: str = "acme", **more: Any) -> str:
    """All that a search shows."""
    found = Memory(namespace, store).search(words, mode=mode, corpus="all", **more)
    return "\n".join(f"{r.path} {r.title} {r.snippet}" for r in found.results)


def held(store: Store) -> list[tuple[object, ...]]:
    """How many rows each table that a statement touches has, and what stands in them, without counters."""
    tables = (
        "corpora",
        "documents",
        "chunks",
        "chunk_vectors",
        "entities",
        "entity_aliases",
        "entity_vectors",
        "memories",
        "memory_versions",
    )
    parts = [
        f"SELECT '{table}', count(*)::text, coalesce(sum(hashtextextended(t::text, 0)), 0)::text FROM memory.{table} t"
        for table in (*tables, "memory_vectors", "claim_events", "search_texts")
    ]
    return ask(store, " UNION ALL ".join(parts) + " ORDER BY 1")
