"""Priors: what a row is worth before it is read, bounded so that none lifts it over one that matches better by more than the bound.

The weights are a table (``priors.toml``). What a query asks for by its words (a day, a digest, boundaries) is no prior: it is part of what
is asked, with a bound of its own.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from slowwave.search.words import words
from slowwave.texts.dates import Rewrite, looked_at
from slowwave.texts.named_days import named_days


@dataclass(frozen=True, slots=True)
class Days:
    """Days that a query names: from the first to the last, both included, as ISO texts."""

    first: str
    last: str


def days_of(query: str, today: date) -> Days | None:
    """The days that a query's first phrase of time means ("last week"), said today, else those of the past that it names ("what did I say
    on May 4th"); None without either.
    """
    for found in looked_at(query, today):
        if isinstance(found, Rewrite):
            first, _, last = found.value.partition("/")
            last = last or first
            return Days(first, last + "-12-31"[len(last) - 4 :] if len(last) < 10 else last)
    named = named_days(query, today)
    return Days(*(day.isoformat() for day in named)) if named else None


def prior(path: str, day: str, metadata: Mapping[str, Any], today: date) -> float:
    """What is added to a row's match, between minus and plus ``bound()``. ``day`` is ISO; an unknown one is old."""
    table = _table()
    weights: Mapping[str, float] = table["weights"]
    holds = {
        "canonical": metadata.get("canonical") is True,
        "source_canonical": "canonical" in (metadata.get("source_kind"), metadata.get("source")),
        "active": metadata.get("status") == "active",
        "inbox": path.startswith("inbox/"),
        "logs": path.startswith("logs/"),
        "raw": metadata.get("status") == "raw",
        "generated": metadata.get("source_kind") == "generated",
        "wiki": path.startswith("wiki/"),
        "private": metadata.get("visibility") == "private" and "/" in path and not path.startswith(("memories/", "entities/")),
        "sensitive": metadata.get("sensitivity") not in (None, "", "none"),
        "quarantine": is_quarantined(path),
    }  # fmt: skip
    total = sum(weights[name] for name, held in holds.items() if held) + weights["recency"] * recency(day, today)
    return max(-bound(), min(bound(), total))


@dataclass(frozen=True, slots=True)
class QueryHints:
    """What a query's words ask for: paths with what they get, and days with what a row of them gets."""

    paths: tuple[tuple[str, float], ...] = ()
    days: Days | None = None
    dated: float = 0.0

    @classmethod
    def of(cls, query: str, today: date) -> QueryHints:
        """Those of a query that is asked today."""
        said, days = set(words(query)), days_of(query, today)
        paths: list[tuple[str, float]] = []
        dated = 0.0
        for kind, wanted in _kinds():
            if said & wanted or (days and "dated" in kind):
                paths += kind["paths"].items()
            if days:
                dated += float(kind.get("dated", 0.0))
        return cls(tuple(paths), days, dated)

    def met(self, path: str, day: str) -> float:
        """What is added to the match of a row, up to the table's ``asked_bound`` either way."""
        total = sum(weight for place, weight in self.paths if fnmatchcase(path, f"{place}*"))
        if self.days and self.days.first <= day <= self.days.last:
            total += self.dated
        most = float(_table()["asked_bound"])
        return max(-most, min(most, total))


def recency(day: str, today: date) -> float:
    """1 for today, half of it for every half-life that has passed since; 0 for a day that is none."""
    try:
        age = max(0, (today - date.fromisoformat(day[:10])).days)
    except ValueError:
        return 0.0
    return 0.5 ** (age / float(_table()["recency"]["half_life_days"]))


def recall_weight() -> float:
    """The share of recency in the mode recall."""
    return float(_table()["recency"]["recall_weight"])


def bound() -> float:
    """The most that priors add or take."""
    return float(_table()["bound"])


def is_quarantined(path: str) -> bool:
    """Whether a path is of quarantine, or a tombstone."""
    return "quarantine/" in path or path.endswith(".tombstone.md")


@cache
def _table() -> dict[str, Any]:
    """The table of weights, read once a process."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text())


@cache
def _kinds() -> tuple[tuple[dict[str, Any], frozenset[str]], ...]:
    """What can be asked for, with the words that ask for it as they are compared."""
    return tuple((kind, frozenset(w for phrase in kind["words"] for w in words(phrase))) for kind in _table()["asked"])
