"""Matching: decide which rows are the same entity.

``match_entities`` takes a table; each step before a decision has its module. ``Matches.next_questions`` returns the questions to ask
people, and ``Matches.learn`` decides again with their answers. ``match_memories`` and ``cluster_memories`` do the same for memories. Each
name is imported on first use, because settings take the options of matching from here and need none of the libraries that matching
computes with.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slowwave.matching.answers import Answers
    from slowwave.matching.entities import match_entities
    from slowwave.matching.match import Matches, Pair
    from slowwave.matching.memories import MemoryMatches, MemoryPair, cluster_memories, match_memories
    from slowwave.matching.review import Question, ReviewPair

__all__ = [
    "Answers",
    "Matches",
    "MemoryMatches",
    "MemoryPair",
    "Pair",
    "Question",
    "ReviewPair",
    "cluster_memories",
    "match_entities",
    "match_memories",
]

_HOMES = {
    "Answers": "slowwave.matching.answers",
    "Matches": "slowwave.matching.match",
    "MemoryMatches": "slowwave.matching.memories",
    "MemoryPair": "slowwave.matching.memories",
    "Pair": "slowwave.matching.match",
    "Question": "slowwave.matching.review",
    "ReviewPair": "slowwave.matching.review",
    "cluster_memories": "slowwave.matching.memories",
    "match_entities": "slowwave.matching.entities",
    "match_memories": "slowwave.matching.memories",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
