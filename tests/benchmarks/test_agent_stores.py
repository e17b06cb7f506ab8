"""The benchmark of agents' stores measures what it says."""

from __future__ import annotations

from benchmarks.agent_stores import StoreFigures, compared, sentences
from slowwave.store.connect import Store
from tests.memories import ask


def test_both_stores_take_the_same_items(store: Store) -> None:
    """Each figure is of something that took time, and both hold as many items in the end."""
    texts = sentences(30)
    assert len(set(texts)) == 30
    for figures in compared(store, 30):
        assert all(getattr(figures, name) > 0 for name in StoreFigures.__slots__)
    held = [ask(store, f"SELECT count(*) FROM {table}") for table in ("public.store", "memory.memories")]
    assert held == [[(61,)], [(61,)]]
