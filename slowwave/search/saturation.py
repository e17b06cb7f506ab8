"""How much a word counts that stands in a text more than once: BM25's parameters, and the counts that the store's index knows."""

from __future__ import annotations

from typing import Final

K1: Final = 1.2
B: Final = 0.75

LEVELS: Final = (1, 2, 3, 5, 8)
"""How often a word stands in a text counts as the greatest of these that it reaches: the store's index knows no more."""
