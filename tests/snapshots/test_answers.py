"""The last answer about the same tables of a snapshot is kept with it."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import pyarrow as pa

from slowwave.operations.conflicts.find import find_conflicts
from slowwave.snapshots.memories import active_memories
from slowwave.snapshots.snapshot import LastAnswers
from slowwave.store.settings import Settings
from tests.snapshots import make_inputs, make_snapshot, uid


def test_an_answer_holds_for_the_very_tables_and_the_same_question() -> None:
    """An equal table is another one; and no table is kept alive by it."""
    last, asked = LastAnswers(), iter(range(10))
    table, equal = pa.table({"a": [1]}), pa.table({"a": [1]})
    answers = [
        last.find_once("next", tables, question, lambda: next(asked))
        for tables, question in (
            *((([table]), 1), ([table], 1), ([equal], 1), ([equal], 2), ([equal, table], 2), ([equal, table], 2)),
        )
    ]
    assert answers == [0, 0, 1, 2, 3, 3]
    held = pa.table({"a": [2]})
    assert last.find_once("next", [held], 1, lambda: next(asked)) == 4
    del held
    gc.collect()
    assert last.find_once("next", [pa.table({"a": [2]})], 1, lambda: next(asked)) == 5


def test_a_night_finds_conflicts_once() -> None:
    """The audit and the planner ask the same; other settings and another instant are another question."""
    snapshot, settings = make_snapshot(), Settings()
    found = find_conflicts(snapshot, settings)
    assert find_conflicts(snapshot, settings) is found
    assert find_conflicts(snapshot, Settings(operations={"neighbour_graph": {"top_k": 7}})) is not found
    found = find_conflicts(snapshot, settings)
    later = replace(snapshot, taken_at=snapshot.taken_at.replace(year=2030))
    assert find_conflicts(later, settings) is not found


def test_an_answer_goes_with_the_first_of_its_tables() -> None:
    """It may be as large as they are, and a process that runs nights runs for weeks."""
    last, tables = LastAnswers(), [pa.table({"a": [1]}), pa.table({"a": [2]})]
    answer = weakref.ref(last.find_once("both", tables, None, lambda: pa.table({"a": [1, 2]})))
    gc.collect()
    assert answer() is not None
    tables.pop()
    gc.collect()
    assert answer() is None


def test_active_memories_are_gathered_once_for_a_snapshot() -> None:
    """All audits and planners of a night read them; another instant, or another table, is another question."""
    snapshot = make_snapshot(
        memories=[{"id": uid("told"), "state": "active"}, {"id": uid("gone"), "state": "archived"}]
    )
    active = active_memories(snapshot)
    assert active["id"].to_pylist() == [uid("told")]
    assert active_memories(make_inputs(snapshot).only(("memories", "memory_versions"), ()).snapshot) is active
    assert active_memories(replace(snapshot, read_only=True)) is active
    later = replace(snapshot, taken_at=snapshot.taken_at.replace(year=2030))
    assert active_memories(later) is not active
    memories = snapshot.table("memories")
    changed = replace(snapshot, tables={**snapshot.tables, "memories": memories.slice(0, 0)})
    assert len(active_memories(changed)) == 0
