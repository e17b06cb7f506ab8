"""Active memory: which of the pages that a search found an agent is told, and in what words, within a budget.

Denials come before everything: what a profile may not tell is dropped before it is ranked, so that no score brings it back. Searching
belongs to ``slowwave.search``, profiles to ``slowwave.recall.active_profiles``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final, Literal

from slowwave.recall.active_profiles import ActiveProfile, ActiveProfiles
from slowwave.texts.sections import in_line
from slowwave.texts.token_count import BYTES_A_TOKEN

DURABLE: Final = 6
SESSIONS: Final = 3
"""Pages of each plane that are told at most."""

LONGEST: Final = {"durable": 300, "sessions": 160}
"""Characters of a page, by plane."""

STALE: Final = 0.15
QUERY: Final = 0.06
RANK: Final = 0.01
"""Taken from a score: for a stale page, for each query before the one that found it, for each place in its list."""


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page that a search found: ``score`` from 0 to 1, ``rank`` from 0 in the list of ``query`` (from 0). ``row`` is its id, and
    ``same`` those of rows that tell the same thing.
    """

    path: str
    text: str
    score: float
    rank: int = 0
    query: int = 0
    plane: Literal["durable", "sessions"] = "durable"
    confidence: Literal["high", "medium", "low"] = "medium"
    stale: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    row: str = ""
    same: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ActiveBlock:
    """What is told, and where it comes from; empty where nothing may be."""

    text: str
    sources: tuple[str, ...]


def denied(page: FoundPage, profile: ActiveProfile, profiles: ActiveProfiles) -> str:
    """Why a page is not told, in a word; empty when it may be."""
    never, facts = profiles.never, page.metadata
    sensitivity = str(facts.get("sensitivity") or "")
    if page.plane == "sessions":
        # A session lies under logs/ and is of low confidence by nature: that it is searched at all is the profile's to say.
        reasons = {"status": facts.get("status") in {"quarantined", "superseded", "retired"}}
    else:
        reasons = {
            "path": _fits(page.path, never.paths),
            "status": facts.get("status") in never.statuses or bool(facts.get("superseded_by")),
            "source_kind": facts.get("source_kind") in never.source_kinds,
            "confidence": page.confidence == "low",
            "profile": not profile.durable or _fits(page.path, profile.denies),
            "visibility": facts.get("visibility") in profile.visibilities,
        }
    reasons["sensitivity"] = sensitivity in never.sensitivities or sensitivity in profile.sensitivities
    return next((reason for reason, holds in reasons.items() if holds), "")


def chosen(
    pages: Iterable[FoundPage],
    profile: ActiveProfile,
    profiles: ActiveProfiles,
    *,
    durable: int = DURABLE,
    sessions: int = SESSIONS,
) -> tuple[FoundPage, ...]:
    """The pages that are told, best first: those that may be, each path and thing once, at most ``durable`` and ``sessions`` of the two
    planes.
    """
    scored = [(_worth(page, profiles), page) for page in pages if not denied(page, profile, profiles)]
    left = {"durable": durable, "sessions": sessions}
    told: dict[str, FoundPage] = {}
    same: set[str] = set()
    for _, page in sorted(scored, key=lambda one: (-one[0], one[1].path)):
        if page.path not in told and page.row not in same and left[page.plane]:
            left[page.plane] -= 1
            told[page.path] = page
            same |= page.same
    return tuple(told.values())


def active_block(pages: Sequence[FoundPage], budget: int) -> ActiveBlock:
    """A line a page, best first, in at most ``budget`` tokens; a page that finds no room is left out, and a shorter one may follow."""
    return _filled(((page.text, (page.path,), LONGEST[page.plane], page.stale) for page in pages), budget)


def worded_block(lines: Iterable[tuple[str, tuple[str, ...]]], pages: Sequence[FoundPage], budget: int) -> ActiveBlock:
    """Lines with the paths of the pages that say so, as ``active_block`` would tell them."""
    old = {page.path for page in pages if page.stale}
    told = _filled(((text, paths, LONGEST["durable"], bool(old & set(paths))) for text, paths in lines), budget)
    return ActiveBlock(told.text, tuple(dict.fromkeys(told.sources)))


def _filled(told: Iterable[tuple[str, tuple[str, ...], int, bool]], budget: int) -> ActiveBlock:
    """Lines of (text, paths, most characters, whether it may be out of date)."""
    room, lines, sources = budget * BYTES_A_TOKEN, list[str](), list[str]()
    for text, paths, longest, stale in told:
        said = " ".join(in_line(text).split())
        said = said if len(said) <= longest else f"{said[: longest - 1].rstrip()}…"
        line = f"- {said} ({', '.join(paths)})" + (" [may be out of date]" if stale else "")
        size = len(line.encode()) + (1 if lines else 0)
        if said and size <= room:
            room -= size
            lines.append(line)
            sources += paths
    return ActiveBlock("\n".join(lines), tuple(sources))


def _worth(page: FoundPage, profiles: ActiveProfiles) -> float:
    add = next((w.add for w in profiles.weights if _fits(page.path, (w.path,))), 0.0)
    return page.score + add - QUERY * page.query - RANK * page.rank - STALE * page.stale


def _fits(path: str, patterns: Iterable[str]) -> bool:
    """Whether a path fits a pattern, in any case: a vault keeps ``People/`` where another folder has ``people/``."""
    return any(fnmatchcase(path.lower(), pattern.lower()) for pattern in patterns)
