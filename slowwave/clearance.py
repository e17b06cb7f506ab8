"""Clearance: the word of a person that a memory may stay as it is, whatever screening finds in it."""

from __future__ import annotations

from typing import Final

from slowwave.memories import attributes

CLEARED: Final = "cleared"
"""The value of a memory's attribute ``screening`` by which a person says so."""


def is_cleared(cell: object) -> bool:
    """Whether a memory's cell of attributes says so."""
    return CLEARED in str(cell) and attributes(cell).get("screening") == CLEARED
