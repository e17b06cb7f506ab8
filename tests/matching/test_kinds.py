"""Types say under what a row is compared, and never alone that two rows do not meet."""

from __future__ import annotations

from slowwave.matching.entities import compared_as, namesakes

NAMES = ["Rowan", "rowan ", "ROWAN", "Mara", "Mara", "Tea"]
TYPES = ["unknown", "person", "Person", "", "concept", "unknown"]


def test_a_row_without_a_type_is_compared_with_its_one_typed_namesake() -> None:
    """Where nobody of its name has a type, or several types, it keeps what it says."""
    assert compared_as(TYPES, NAMES) == ["Person", "person", "Person", "", "concept", "unknown"]
    assert compared_as(["unknown", "person", "place"], ["Rowan"] * 3) == ["unknown", "person", "place"]


def test_namesakes_of_different_types_are_pairs() -> None:
    """One pair for each further type of a name, whatever the order; rows without a type are none's."""
    ids = ["a", "b", "c", "d", "e"]
    types, names = ["person", "project", "tool", "unknown", "person"], ["Rowan"] * 5
    assert namesakes(ids, types, names) == [("a", "b"), ("b", "c")]
    assert namesakes(ids[::-1], types[::-1], names[::-1]) == [("a", "b"), ("b", "c")]
    assert namesakes(["a", "b"], ["person", "Person"], ["Rowan", "Rowan"]) == []
