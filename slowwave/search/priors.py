"""Priors: the bounded worth of a row before it is read, classes of evidence, and the choice between two copies."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Final

from rapidfuzz import fuzz

from slowwave.search.candidates import CONTEXTUAL, Calibration
from slowwave.search.request import Confidence, EvidenceClass
from slowwave.search.words import words
from slowwave.text.date_context import named_days
from slowwave.text.dates import Rewrite, looked_at

# Priors: the relevance of a row independent of the match, bounded so that a row never passes one that matches better by more than the
# bound.
#
# The weights are a table (``priors.toml``). Requests in the words of a query (a day, a digest, boundaries) are not priors: they are part of
# the query, with a separate bound.


@dataclass(frozen=True, slots=True)
class Days:
    """The days that a query names: from the first to the last, both included, as ISO texts."""

    first: str
    last: str


def days_of(query: str, today: date) -> Days | None:
    """Return the days that a query means, counted from ``today``, or None if it names none.

    They are the days of the first phrase of time ("last week"), or else the past days that it names ("what did I say on May 4th").
    """
    for found in looked_at(query, today):
        if isinstance(found, Rewrite):
            first, _, last = found.value.partition("/")
            last = last or first
            return Days(first, last + "-12-31"[len(last) - 4 :] if len(last) < 10 else last)
    named = named_days(query, today)
    return Days(*(day.isoformat() for day in named)) if named else None


def prior(path: str, day: str, metadata: Mapping[str, Any], today: date) -> float:
    """Return the amount added to a row's match, between minus and plus ``bound()``.

    ``day`` is an ISO date; an unknown day counts as old.
    """
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
    """The wishes in a query's words.

    ``paths`` holds path prefixes with their weights, and ``dated`` is the weight of a row from one of ``days``.
    """

    paths: tuple[tuple[str, float], ...] = ()
    days: Days | None = None
    dated: float = 0.0

    @classmethod
    def from_query(cls, query: str, today: date) -> QueryHints:
        """Return the hints of a query that is asked on ``today``."""
        query_words, days = set(words(query)), days_of(query, today)
        paths: list[tuple[str, float]] = []
        dated = 0.0
        for kind, wanted in _kinds():
            if query_words & wanted or (days and "dated" in kind):
                paths += kind["paths"].items()
            if days:
                dated += float(kind.get("dated", 0.0))
        return cls(tuple(paths), days, dated)

    def met(self, path: str, day: str) -> float:
        """Return the amount added to the match of a row, at most the table's ``asked_bound`` in either direction."""
        total = sum(weight for place, weight in self.paths if fnmatchcase(path, f"{place}*"))
        if self.days and self.days.first <= day <= self.days.last:
            total += self.dated
        most = float(_table()["asked_bound"])
        return max(-most, min(most, total))


def recency(day: str, today: date) -> float:
    """Return 1 for today, halved for every half-life that has passed since; 0 for an invalid day."""
    try:
        age = max(0, (today - date.fromisoformat(day[:10])).days)
    except ValueError:
        return 0.0
    return 0.5 ** (age / float(_table()["recency"]["half_life_days"]))


def recall_weight() -> float:
    """Return the share of recency in the mode recall."""
    return float(_table()["recency"]["recall_weight"])


def bound() -> float:
    """Return the most that priors add or subtract."""
    return float(_table()["bound"])


def is_quarantined(path: str) -> bool:
    """Return whether a path is in quarantine or that of a tombstone."""
    return "quarantine/" in path or path.endswith(".tombstone.md")


@cache
def _table() -> dict[str, Any]:
    """Return the table of weights, read once per process."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text())


@cache
def _kinds() -> tuple[tuple[dict[str, Any], frozenset[str]], ...]:
    """Return the kinds of wishes, each with the indexed form of the words that express it."""
    return tuple((kind, frozenset(w for phrase in kind["words"] for w in words(phrase))) for kind in _table()["asked"])


# The kind of evidence of a row, the certainty of its match, whether it is outdated, and which of two copies is kept.

_TIMELINE: Final = re.compile(r"^#+\s*timeline\b|<!--\s*timeline", re.IGNORECASE | re.MULTILINE)
_DATED_LINE: Final = re.compile(r"^\s*[-*]\s*\**(\d{4}-\d\d-\d\d)", re.MULTILINE)
_STALE_DAYS: Final = 7
_SHORTEST_COPY: Final = 80  # minimum length in characters; shorter texts are alike by chance
_COPIED: Final = 0.7
_ALIKE: Final = 90.0
_LEAST_ALIKE: Final = 80  # percentage of the longer length below which two texts are not alike


def evidence_class(path: str, plane: str, metadata: Mapping[str, Any]) -> EvidenceClass:
    """Return the first of the evidence classes that applies to a row."""
    if plane == "sessions" or path.startswith("logs/sessions/"):
        return "session"
    if path.startswith("inbox/"):
        return "inbox"
    if path.startswith("archive/"):
        return "archive"
    if metadata.get("status") == "raw":
        return "raw"
    if metadata.get("source_kind") == "generated":
        return "generated"
    return "canonical" if metadata.get("canonical") is True else "other"


def confidence(
    kind: EvidenceClass,
    mode: str,
    coverage: float,
    place: int,
    match: float,
    meaning: float | None = None,
    calibration: Calibration = CONTEXTUAL,
) -> Confidence:
    """Grade the evidence that a row answers a query. Sessions are never sure.

    Args:
        kind: The class of the row.
        mode: The mode of the search.
        coverage: Share of the query's words in the row. No row has most words of a long query, so it decides only without ``meaning``.
        place: Place of the row, from 1.
        match: Score of the row, from 0 to 1.
        meaning: Calibrated cosine of the row and the sentence of the query that is nearest to it; None where no vectors were compared.
        calibration: That of the model of ``meaning``.
    """
    if kind == "session":
        return "low"
    if mode == "exact":
        return "high"
    if meaning is not None:
        is_sure = meaning + calibration.worth * coverage >= calibration.evidence
    else:
        is_sure = coverage >= 0.4 or (place <= 2 and match >= 0.5)
    if not is_sure:
        return "low"
    return "high" if coverage >= 0.75 and place <= 3 else "medium"


def stale_warning(text: str, metadata: Mapping[str, Any]) -> str | None:
    """Return a warning if a document's newest timeline entry is more than a week later than the stated day of the document."""
    marker = _TIMELINE.search(text)
    entries = _DATED_LINE.findall(text, marker.end()) if marker else []
    stated_day = next((str(metadata[key])[:10] for key in ("updated", "created", "date") if metadata.get(key)), "")
    try:
        newest, of = max(date.fromisoformat(entry) for entry in entries), date.fromisoformat(stated_day)
    except ValueError:
        return None
    return (
        f"Its timeline goes on to {newest}, and the page says it is of {of}."
        if (newest - of).days > _STALE_DAYS
        else None
    )


def precedence(path: str, plane: str, metadata: Mapping[str, Any]) -> int:
    """Return the precedence of one of several copies; the copy with the higher value is kept."""
    return (
        100 * (metadata.get("canonical") is True)
        + 80 * (metadata.get("source_kind") == "canonical")
        + 50 * path.startswith("core/")
        + 45 * bool(re.match(r"projects/[^/]+/state", path))
        + 10 * (metadata.get("status") == "active")
        - 40 * path.startswith("wiki/")
        - 35 * path.startswith("sources/semantic/")
        - 25 * path.startswith("inbox/")
        - 50 * (path.startswith("logs/") or plane == "sessions")
        - 20 * (metadata.get("source_kind") == "generated")
    )


def collapsed(texts: Sequence[str], worth: Sequence[int], most: int) -> list[list[int]]:
    """Group the positions of texts (best first) with those of their copies, and return the groups.

    The copy with the greatest ``worth`` comes first in its group, ties by position. A group has the place of its first copy. The search
    stops at ``most`` groups, but compares twice as many texts.
    """
    parts: list[frozenset[int]] = []
    kept: list[list[int]] = []
    for place, text in enumerate(texts):
        if len(kept) >= most and place >= 2 * most:
            break
        parts.append(_shingles(text))
        for copies in kept:
            first = copies[0]
            if _are_copies(text, texts[first], parts[place], parts[first]):
                copies.insert(1 if worth[first] >= worth[place] else 0, place)
                break
        else:
            kept.append([place])
    return kept


def _are_copies(one: str, other: str, a: frozenset[int], b: frozenset[int]) -> bool:
    short, long = sorted((len(one), len(other)))
    if short < _SHORTEST_COPY or a.isdisjoint(b):
        return False
    if len(a & b) >= _COPIED * min(len(a), len(b)):
        return True
    return 100 * short > _LEAST_ALIKE * long and fuzz.ratio(one, other, score_cutoff=_ALIKE) > 0


def _shingles(text: str) -> frozenset[int]:
    """Return hashes of every four consecutive words; they are comparable within one process only."""
    words = text.lower().split()
    return frozenset(map(hash, zip(words, words[1:], words[2:], words[3:], strict=False)))
