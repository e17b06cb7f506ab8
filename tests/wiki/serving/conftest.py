"""Two namespaces, one of which must never be seen from the other."""

from __future__ import annotations

import pytest

from slowwave.store.connect import Store
from tests.memories import ask, remember
from tests.wiki.recall.test_wake_rows import put_document

MARKER = "zqxplanted"


@pytest.fixture
def anyio_backend() -> str:
    """Tests that are coroutines run as the server does."""
    return "asyncio"


@pytest.fixture
def acme(store: Store) -> Store:
    """``acme`` knows its user; ``rival`` has a document of the same path that holds the marker, and a memory beside it."""
    remember(store, "acme")
    put_document(store, "core/user.md", "Mara likes tea.")
    remember(
        store,
        "rival",
        corpora=[{"id": "theirs", "root": "/theirs", "profile": "dory"}],
        documents=[
            {
                "id": "d",
                "corpus_id": "theirs",
                "path": "core/user.md",
                "content": f"{MARKER} likes tea.",
                "title": MARKER,
            }
        ],
    )
    assert ask(store, "SELECT count(*) FROM memory.documents") == [(2,)]
    return store
