"""Clearance: the word of a person that a memory may stay as it is, whatever screening finds in it; and what screening comes to first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from slowwave.rows.memories import attributes

CLEARED: Final = "cleared"
"""The value of a memory's attribute ``screening`` by which a person says so."""


def is_cleared(cell: object) -> bool:
    """Whether a memory's cell of attributes says so."""
    said = cell if isinstance(cell, Mapping) else attributes(cell) if CLEARED in str(cell) else {}
    return said.get("screening") == CLEARED


def is_held_back(text: str, cell: object) -> bool:
    """Whether screening has to act on a text before it may be reworded: a plan holds the new words, and would hold the secret.

    ``cell`` are the memory's attributes: a person's clearance is for orders and the like; a secret stays one.
    """
    from slowwave.texts.screening import counting, screen  # its rules take a while to load

    found = counting(screen(text))
    return any(f.kind in ("secret", "hidden") for f in found) or bool(found and not is_cleared(cell))
