"""What a mutation's decision rests on, beside its guards: rows that it counts on or points at must be there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slowwave.changes.cells import Cell, Delete, Guard, Insert, Value, Write, canonical_json, guarded, value_json
from slowwave.changes.mutation import Mutation, Row
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
    guard = Guard("entities", TARGET, ("name",), ("Mara",))
    insert = Insert("memory_versions", {"memory_id": TARGET, "content": "x"})
    assert guarded([guard], [adds], [insert]) == {
        Cell("entities", ROW, ""),
        Cell("entities", TARGET, "name"),
        Cell("memories", TARGET, ""),
    }


def test_the_canonical_json_of_a_mutation_is_that_of_any_value() -> None:
    """Written piece by piece, it is what the encoder makes of the same value, whatever a cell holds."""
    odd = 'a "quoted"\\ line\n\x07 é \u2028'
    held: list[Value] = [None, True, False, 7, -1.5e-9, 1e22, "", odd, (), (odd, ROW)]
    cells = [Cell("entities", ROW, f"c{n}", odd) for n in range(len(held))]
    insert = Insert("memory_versions", {"z": 1, odd: "b", "a": None}, refs={"memory_id": 0})
    whole = Mutation(
        "merge_rows",
        odd,
        writes=tuple(Write(cell, "set", value, value) for cell, value in zip(cells, held, strict=True)),
        guards=(Guard("entities", ROW, tuple(cell.column for cell in cells), tuple(held), odd),),
        inserts=(insert, Insert("entity_vectors", {}, ROW, "m")),
        deletes=(Delete("memories", ROW, "", {"b": odd, "a": (ROW,)}),),
        rows=(Row(ROW), Row(TARGET, odd)),
    )
    merge = replace(whole, rows=(), keep=Row(ROW, odd), absorb=(Row(TARGET),), deletes=())
    for mutation in (whole, merge):
        assert mutation.canonical() == canonical_json(mutation.to_json())
        assert Mutation.as_stored(mutation.to_json()) == mutation
    with pytest.raises(ValueError, match="Out of range"):
        value_json(float("nan"))


@pytest.mark.parametrize("value", [["a"], {"a": 1}])
def test_what_a_cell_cannot_hold_is_named(value: object) -> None:
    """Whoever writes a planner is told what to give instead: an array is a tuple, JSON is text."""
    with pytest.raises(TypeError, match="as a tuple"):
        value_json(value)  # type: ignore[arg-type]
