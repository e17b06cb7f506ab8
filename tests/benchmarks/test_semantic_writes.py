"""What is measured of semantic writes is what it says: the same rows, told and inserted."""

from __future__ import annotations

import pytest

from benchmarks.semantic_writes import BLOCK, measure, statements
from slowwave.store.connect import Store
from tests.memories import ask

TABLES = ("documents", "memories", "memory_vectors", "search_texts")
COUNTS = ", ".join(f"(SELECT count(*) FROM memory.{table} t WHERE t.namespace_id = n.id)" for table in TABLES)
ROWS = f"SELECT {COUNTS} FROM memory.namespaces n ORDER BY n.slug"


def test_statements_are_told_again_now_and_then() -> None:
    """The same for the same seed."""
    found = statements(500, 20)
    assert found == statements(500, 20)
    assert 20 < len(found) - len(set(found)) < 120
    assert len({subject for subject, _ in found}) == 20


@pytest.mark.slow
def test_both_sides_write_the_same_rows(store: Store) -> None:
    """In blocks that alternate; each statement is timed once on either side."""
    count = BLOCK + 5
    found = measure(store, count, 4)
    assert (len(found.told), len(found.inserted), len(found.embedded)) == (count, count, count)
    inserted, told = ask(store, ROWS)
    assert inserted == told
    assert found.ratio > 1
