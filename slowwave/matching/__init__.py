"""Matching: who is the same as whom. ``match_entities`` takes a table; the steps before a decision have a module each.

``Matches.next_questions`` says what to ask people, ``Matches.learn`` decides again with their answers.
``match_memories`` and ``cluster_memories`` do the like for memories; they are read when they are first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from slowwave.matching.answers import Answers
from slowwave.matching.entities import match_entities
from slowwave.matching.match import Matches, Pair
from slowwave.matching.questions import Question
from slowwave.matching.review import ReviewPair

if TYPE_CHECKING:
    from slowwave.matching.memories import MemoryMatches, MemoryPair, cluster_memories, match_memories

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

_OF_MEMORIES = ("MemoryMatches", "MemoryPair", "cluster_memories", "match_memories")


def __getattr__(name: str) -> object:
    if name in _OF_MEMORIES:
        return getattr(import_module("slowwave.matching.memories"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
