"""Matching: who is the same as whom. ``match_entities`` takes a table; the steps before a decision have a module each."""

from slowwave.matching.entities import match_entities
from slowwave.matching.match import Matches, Pair, ReviewPair

__all__ = ["Matches", "Pair", "ReviewPair", "match_entities"]
