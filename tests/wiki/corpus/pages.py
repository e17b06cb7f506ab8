"""Pages that tests write by day, by a login that owns memory."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from slowwave.search.request import SearchRequest, settings_of
from slowwave.search.search import search_on
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from slowwave.wiki.corpus.page_write import purge, write
from slowwave.wiki.corpus.requests import PurgeRequest, PurgeResponse, WriteRequest, WriteResponse
from tests.memories import ask

MAY = datetime(2026, 5, 4, 9, tzinfo=UTC)
IDEA: dict[str, Any] = {"title": "Tides", "type": "idea"}
PATH = "ideas/tides.md"
MODES = ("bm25", "vector", "hybrid", "recall", "exact")


def put(
    store: Store,
    kind: str = "create",
    target: str = PATH,
    content: str = "The spring tide is at six.",
    *,
    settings: dict[str, Any] | None = None,
    follow: bool = False,
    now: datetime = MAY,
    namespace: str = "acme",
    **asked: Any,
) -> WriteResponse:
    """Write a page; a new one is an idea unless ``frontmatter`` says otherwise."""
    fields = asked.pop("frontmatter", IDEA if kind == "create" else {})
    request = WriteRequest(kind=kind, target=target, content=content, frontmatter=fields, **asked)  # type: ignore[arg-type]
    chosen = Settings(**(settings or {}))
    with store.connect("owner") as connection:
        return write(
            connection,
            namespace,
            request,
            chosen,
            follow=follow,
            now=lambda: now,
        )


def drop(
    store: Store, target: str = PATH, *, follow: bool = False, namespace: str = "acme", **asked: Any
) -> PurgeResponse:
    """Purge a page."""
    with store.connect("owner") as connection:
        settings = settings_of(connection, namespace)
        return purge(connection, namespace, PurgeRequest(target=target, **asked), settings, follow=follow)


def found(store: Store, query: str, **asked: Any) -> dict[str, list[str]]:
    """Mode → paths that each mode of search finds, in every corpus and whether retired or not."""
    with store.connect("server") as connection:
        return {
            mode: [
                r.path
                for r in search_on(
                    connection, "acme", SearchRequest(**{"query": query, "mode": mode, "corpus": "all"} | asked)
                ).results
            ]
            for mode in MODES
        }


def text_of(store: Store, path: str = PATH) -> str:
    """What a live page says."""
    ((text,),) = ask(store, "SELECT content FROM memory.documents WHERE path = %s AND invalidated_at IS NULL", path)
    return str(text)


def held(store: Store) -> list[tuple[object, ...]]:
    """All that stands of pages, live or not, their passages, vectors, links and what is searched."""
    return ask(
        store,
        "SELECT 'd', id::text, path, content, invalidated_at, metadata::text FROM memory.documents "
        "UNION ALL SELECT 'c', id::text, document_id::text, content, invalidated_at, '' FROM memory.chunks "
        "UNION ALL SELECT 'v', id::text, model, vector::text, NULL, '' FROM memory.chunk_vectors "
        "UNION ALL SELECT 'l', id::text, target, target_document_id::text, invalidated_at, '' FROM memory.links "
        "UNION ALL SELECT 't', id::text, kind, live::text, NULL, '' FROM memory.search_texts "
        "UNION ALL SELECT 'f', corpus_id::text, path, was_hash, NULL, '' FROM memory.pending_files "
        "UNION ALL SELECT 'k', id::text, root, '', NULL, '' FROM memory.corpora ORDER BY 1, 2, 3",
    )
