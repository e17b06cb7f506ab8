"""Roles: names whose words exchange places around a relation."""

from __future__ import annotations

import pytest

from slowwave.text.subjects import exchanged


@pytest.mark.parametrize(
    ("a", "b", "word"),
    [
        ("React like Vue", "Vue like React", "like"),
        ("Paris to Rome", "Rome to Paris", "to"),
        ("Flight from Oslo to Bergen", "Flight from Bergen to Oslo", "to"),
        ("Alice loves Bob", "Bob loves Alice", "loves"),
        ("parent of Ann, Ben", "Ben, parent of Ann", ""),
        ("Ann parent of Ben", "Ben parent of Ann", "of"),
        ("Mara Reyes", "Reyes Mara", ""),
        ("Ford vs Ferrari", "Ferrari vs Ford", ""),
        ("Salt and Pepper", "Pepper and Salt", ""),
        ("Bank of America", "America, Bank of", ""),
        ("Maria de la Cruz", "de la Cruz Maria", ""),
        ("Ludwig van Beethoven", "van Beethoven Ludwig", ""),
        ("Paris to Rome", "Paris to Rome", ""),
        ("Paris to Rome", "Rome to Oslo", ""),
        ("", "", ""),
    ],
)
def test_what_is_exchanged_and_around_what(a: str, b: str, word: str) -> None:
    """The order of the two is no matter."""
    assert exchanged(a, b) == exchanged(b, a) == word
