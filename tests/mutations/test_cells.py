"""What a mutation's decision rests on, beside its guards: rows that it counts on or points at must be there."""

from __future__ import annotations

from slowwave.mutations.cells import Cell, Guard, Insert, Write, guarded
from tests.snapshots import uid

TARGET, ROW = uid("target"), uid("row")


def test_a_written_pointer_rests_on_the_row_that_it_names() -> None:
    """A pointer may have its own table's rows as targets, or another's. What an item inserts itself is nobody else's to keep."""
    into = Write(Cell("entities", ROW, "merged_into"), "set", None, TARGET)
    version = Write(Cell("memories", ROW, "current_version_id"), "set", None, TARGET)
    inserted = Write(Cell("memories", ROW, "current_version_id"), "row", None, 0)
    text = Write(Cell("entities", ROW, "name"), "set", "a", TARGET)
    assert guarded([], [into, version]) == {Cell("entities", TARGET, ""), Cell("memory_versions", TARGET, "")}
    assert guarded([], [inserted, text]) == set()


def test_a_counter_rests_on_its_row_and_a_guard_on_its_cell() -> None:
    """An added amount needs no value, and a row to add to; an inserted row needs those that it names."""
    adds = Write(Cell("entities", ROW, "mention_count"), "add", None, 3)
    guard = Guard(Cell("entities", TARGET, "name"), "Mara")
    insert = Insert("memory_versions", {"memory_id": TARGET, "content": "x"})
    assert guarded([guard], [adds], [insert]) == {
        Cell("entities", ROW, ""),
        Cell("entities", TARGET, "name"),
        Cell("memories", TARGET, ""),
    }
