"""Counts in sentences: one item, two items, 1,200 items."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun: ``one`` for 1, else ``many``, which is made of ``one`` where it is not given (items, memories)."""
    plural = many or (f"{one[:-1]}ies" if one.endswith("ry") else f"{one}s")
    return f"{number:,} {one if number == 1 else plural}"
