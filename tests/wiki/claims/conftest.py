"""Namespaces that are told something."""

from __future__ import annotations

import pytest

from slowwave.store.connect import Store
from tests.memories import MODEL, ask, remember


@pytest.fixture
def acme(store: Store) -> Store:
    """``acme`` and ``rival`` remember nothing yet; the store knows the model of their vectors."""
    remember(store, "acme")
    remember(store, "rival")
    ask(store, "SELECT memory.register_vector_model(%s, 512)", MODEL)
    ask(
        store,
        "UPDATE memory.namespaces SET settings = settings || jsonb_build_object('embedding_model', %s::text)",
        MODEL,
    )
    return store
