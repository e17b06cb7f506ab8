"""What was asked last of the same tables is not worked out again."""

from __future__ import annotations

import gc
from dataclasses import replace

import pyarrow as pa

from slowwave.config.settings import Settings
from slowwave.conflicts.find import find_conflicts
from slowwave.conflicts.last import Last
from tests.snapshots import make_snapshot


def test_an_answer_holds_for_the_very_tables_and_the_same_question() -> None:
    """An equal table is another one; and no table is kept alive by it."""
    last, asked = Last[int](), iter(range(10))
    table, equal = pa.table({"a": [1]}), pa.table({"a": [1]})
    answers = [
        last.of(tables, question, lambda: next(asked))
        for tables, question in (
            *((([table]), 1), ([table], 1), ([equal], 1), ([equal], 2), ([equal, table], 2), ([equal, table], 2)),
        )
    ]
    assert answers == [0, 0, 1, 2, 3, 3]
    held = pa.table({"a": [2]})
    assert last.of([held], 1, lambda: next(asked)) == 4
    del held
    gc.collect()
    assert last.of([pa.table({"a": [2]})], 1, lambda: next(asked)) == 5


def test_a_night_finds_conflicts_once() -> None:
    """The audit and the planner ask the same; other settings and another instant are another question."""
    snapshot, settings = make_snapshot(), Settings()
    found = find_conflicts(snapshot, settings)
    assert find_conflicts(snapshot, settings) is found
    assert find_conflicts(snapshot, Settings(neighbour_top_k=7)) is not found
    found = find_conflicts(snapshot, settings)
    later = replace(snapshot, taken_at=snapshot.taken_at.replace(year=2030))
    assert find_conflicts(later, settings) is not found
