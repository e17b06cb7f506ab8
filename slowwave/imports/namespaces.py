"""The namespace that an import writes to: found, or added when its first rows are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

import psycopg

from slowwave.config.embedding_models import OFFLINE_MODELS
from slowwave.config.settings import Settings
from slowwave.errors import ImportRefused, StoreError
from slowwave.language.embedder import Embedder, embedder_for
from slowwave.store import tables
from slowwave.store.load import load_rows
from slowwave.store.namespaces import refuse_reserved

NAMESPACES: Final = uuid5(NAMESPACE_URL, "slowwave:namespace")
"""A namespace's id is ``uuid5(NAMESPACES, slug)``."""

_READ_ONLY: Final = "SELECT slug FROM memory.namespaces WHERE slug = ANY(%s) AND read_only ORDER BY slug"
_LOCK_NAMESPACE: Final = "SELECT id::text, read_only FROM memory.namespaces WHERE slug = %s FOR NO KEY UPDATE"
_NAMESPACE_SETTINGS: Final = "SELECT settings FROM memory.namespaces WHERE slug = %s"
_NAMESPACE_ID: Final = "SELECT id::text FROM memory.namespaces WHERE slug = %s"


def namespace_id(slug: str) -> str:
    """The id that a namespace gets when an import creates it."""
    return str(uuid5(NAMESPACES, slug))


def refuse_read_only(connection: psycopg.Connection[Any], slugs: Iterable[str]) -> None:
    """Refuse before anything is written to any of them."""
    with connection.transaction():
        rows = connection.execute(_READ_ONLY, [list(slugs)]).fetchall()
    if rows:
        raise ImportRefused(
            f"Read-only: {', '.join(slug for (slug,) in rows)}. Nothing was imported. "
            "Choose another namespace, or make it writable first."
        )


def claim(connection: psycopg.Connection[Any], slug: str, added: Counter[str], model: str) -> str:
    """The namespace's id; its row is made if absent and kept locked, so that imports into it take turns.

    A new one keeps the model that its first vectors are of, whatever the default is later. That of an endpoint is the variables' to say.
    """
    refuse_reserved(slug)
    settings = {"embedding_model": model} if model in OFFLINE_MODELS else {}
    row = {"id": namespace_id(slug), "slug": slug, "settings": settings}
    if made := load_rows(connection, tables.namespaces, [row]):
        added["namespaces"] += made
    found = connection.execute(_LOCK_NAMESPACE, [slug]).fetchone()
    if found is None:
        raise StoreError(f"The namespace {slug} was removed while it was being imported. Run the import again.")
    if found[1]:
        raise ImportRefused(f"Read-only: {slug}. Nothing was imported into it. Make it writable first.")
    return str(found[0])


def namespace_embedder(connection: psycopg.Connection[Any], slug: str, usual: Embedder) -> Embedder:
    """The embedder of a namespace's own model; ``usual`` where that is its model, or none is said, or there is no such namespace."""
    with connection.transaction():
        row = connection.execute(_NAMESPACE_SETTINGS, [slug]).fetchone()
    own = row[0].get("embedding_model") if row else None
    return usual if row is None or own in (None, usual.model) else embedder_for(Settings.for_namespace(row[0]))


def found_id(connection: psycopg.Connection[Any], slug: str) -> str:
    """The namespace's id, or the one that it will get."""
    found = connection.execute(_NAMESPACE_ID, [slug]).fetchone()
    return str(found[0]) if found else namespace_id(slug)
