"""What a canonical page tells of its subject: section by section, from the claims about it.

A section's statements are bullets, the newest first, a single one plain. Each has the ids of the claims that say so; what has ended stands
in the timeline alone. Which kinds of claims a section takes is Dory's rule (a statement goes where a semantic write would put it): a note
on a project is open work and no state. Statements are memory text: flat, escaped, and none that screening objects to. Pure.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from slowwave.pages.lines import escape, flat, hook
from slowwave.pages.subject_statements import KINDS, Statement

MOST: Final = 60
"""Statements of one section, and pages of its evidence."""

MOST_DATES: Final = 120
"""Lines of a timeline."""

CONTRADICTIONS: Final = "Contradictions"
"""The section for both sides of what contradicts each other; it is there while there are any."""

_SUMMARY: Final = 5
_LONGEST: Final = 600  # characters of a statement
_NAMED: Final = 3  # claims that are named behind what several of them say
_DOUBTFUL: Final = 0.5
_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
_ENDS: Final = " .!?…。！？"

_BUT: Final = {name: tuple(k for k in KINDS if k != name) for name in KINDS}

SECTIONS: Final[Mapping[str, Mapping[str, Sequence[str]]]] = {
    "person": {
        "Current Facts": ("fact", "state", "note"),
        "Preferences And Working Style": ("preference",),
        "Related Decisions And Projects": ("decision",),
    },
    "project": {
        "Current State": ("state", "fact", "preference"),
        "Open Work": ("note",),
        "Key Decisions": ("decision",),
    },
    "concept": {
        "Current Understanding": ("fact", "state", "preference"),
        "Related People Projects And Decisions": ("decision",),
        "Open Questions": ("note",),
    },
    "decision": {"Decision": _BUT["note"], "Context": ("note",)},
    "core/user.md": {"Current Facts": _BUT["preference"], "Preferences": ("preference",)},
    "core/active.md": {"Current Focus": KINDS},
    "core/defaults.md": {"Default Operating Assumptions": KINDS},
    "core/env.md": {"Environment": KINDS},
    "core/identity.md": {"Role": KINDS},
    "core/soul.md": {"Behavior Rules": KINDS},
}
"""Family, or the path of a page of core → its sections that are made of statements, with the kinds that each takes."""


@dataclass(frozen=True, slots=True)
class EvidencePlace:
    """Where a document is: its path, and whether it lies in the corpus of the page that names it."""

    path: str
    beside: bool = False


@dataclass(frozen=True, slots=True)
class SubjectPage:
    """What a page tells: heading → what stands in its block, and the claims that it tells, those that ended among them. ``summary`` is the
    first statement, escaped; ``left_out`` are claims that may not stand on it, as it is public or does not say that it is sensitive."""

    contents: Mapping[str, str]
    claims: tuple[str, ...]
    summary: str = ""
    left_out: tuple[str, ...] = ()


def subject_page(
    path: str,
    family: str,
    statements: Sequence[Statement],
    places: Mapping[str, EvidencePlace],
    now: datetime,
    *,
    visibility: str = "",
    sensitivity: str = "",
) -> SubjectPage:
    """What the page at ``path`` tells of claims, which come by when they began. ``places`` are documents by their ids; ``visibility`` and
    ``sensitivity`` are what the page says of itself.

    A public page tells claims that are public and no others; one that says neither that it is private nor that it is sensitive tells no
    sensitive ones. Cost: linear in the claims.
    """
    admits = _admits(visibility, sensitivity)
    told = [s for s in statements if admits(s)]
    standing = [s for s in reversed(told) if s.holds(now)]
    sections = SECTIONS.get(path, SECTIONS.get(family, {}))
    shown = {s.id for s in standing}
    contents: dict[str, str] = {}
    if "Decision" not in sections:
        contents["Summary"] = _told(standing, _SUMMARY, shown, more=False)
    for heading, kinds in sections.items():
        contents[heading] = _told([s for s in standing if s.kind in kinds], MOST, shown)
    contents[CONTRADICTIONS] = _contradictions(standing)
    contents["Timeline"] = _timeline(told, path, places, now)
    contents["Evidence"] = _evidence(told, path, places)
    first = _distinct(standing)[0][0].text if standing else ""
    return SubjectPage(
        {heading: content for heading, content in contents.items() if content},
        tuple(s.id for s in told),
        first,
        tuple(s.id for s in statements if not admits(s)),
    )


def claim_link(id_: str) -> str:
    """The link of a line to the claim that says so; ``slowwave why`` follows it."""
    return f"[{id_[:8]}](claim:{id_})"


def _admits(visibility: str, sensitivity: str) -> Callable[[Statement], bool]:
    private = visibility == "private" or sensitivity not in ("", "none")

    def admits(statement: Statement) -> bool:
        sensitive = statement.sensitivity not in ("", "none")
        if visibility == "public":
            return statement.visibility == "public" and not sensitive
        return private or not sensitive

    return admits


def _distinct(statements: Iterable[Statement]) -> list[list[Statement]]:
    """Statements that say the same in the same words together, in the order of the first of each."""
    found: dict[str, list[Statement]] = {}
    for statement in statements:
        found.setdefault(flat(statement.text).casefold().rstrip(_ENDS), []).append(statement)
    return list(found.values())


def _told(statements: Iterable[Statement], most: int, shown: Collection[str], *, more: bool = True) -> str:
    said = _distinct(statements)
    if not said:
        return ""
    lines = [_line(same, shown) for same in said[:most]]
    if len(said) == 1:
        return lines[0]
    lines = [f"- {line}" for line in lines]
    return "\n".join([*lines, f"- _{len(said) - most:,} more are known._"] if more and len(said) > most else lines)


def _line(same: Sequence[Statement], shown: Collection[str]) -> str:
    first = same[0]
    marks = [f"(confidence {first.confidence:.2f})"] if first.confidence < _DOUBTFUL else []
    marks += ["(contradicted, see below)"] if any(a in shown for s in same for a in s.against) else []
    return " ".join([hook(first.text, _LONGEST), *marks, *_links(same)])


def _links(same: Sequence[Statement]) -> list[str]:
    more = [f"and {len(same) - _NAMED:,} more"] if len(same) > _NAMED else []
    return [*(claim_link(s.id) for s in same[:_NAMED]), *more]


def _contradictions(standing: Sequence[Statement]) -> str:
    """Both sides of each pair, once."""
    known = {s.id: s for s in standing}
    pairs = sorted({(min(s.id, a), max(s.id, a)) for s in standing for a in s.against if a in known})
    pairs.sort(key=lambda pair: [(known[id_].since, known[id_].said_at, id_) for id_ in pair], reverse=True)
    sides = [sorted((known[a], known[b]), key=lambda s: (s.since, s.said_at, s.id)) for a, b in pairs[:MOST]]
    lines = [f"- {' Against: '.join(f'{hook(s.text, _LONGEST)} {claim_link(s.id)}' for s in pair)}" for pair in sides]
    return "\n".join([*lines, *([f"- _{len(pairs) - MOST:,} more are known._"] if len(pairs) > MOST else [])])


def _timeline(told: Sequence[Statement], path: str, places: Mapping[str, EvidencePlace], now: datetime) -> str:
    dated: dict[tuple[str, str, str], list[Statement]] = {}
    for s in told:
        ended = "" if s.holds(now) else _day(s.until)
        dated.setdefault((_day(s.since), ended, flat(s.text).casefold().rstrip(_ENDS)), []).append(s)
    kept = list(dated.items())[-MOST_DATES:]
    lines = [f"- _{len(dated) - len(kept):,} earlier entries are known._"] if len(kept) < len(dated) else []
    for (since, ended, _), same in kept:
        first = same[0]
        when = f"{since} to {ended}" if ended and ended != since else since
        what = hook(first.text, _LONGEST)
        kind = "" if first.kind == "fact" else f"{first.kind.capitalize()}: "
        said = _day(min(s.said_at for s in same))
        marks = ["(ended)"] if ended and ended == since else []
        marks += [f"(said {said})"] if said != since else []
        cited = [place for id_ in first.documents[:1] if (place := places.get(id_))]
        lines.append(
            " ".join([f"- {when}: {kind}{what}", *marks, *_links(same), *(f"({_place(p, path)})" for p in cited)])
        )
    return "\n".join(lines)


def _evidence(told: Sequence[Statement], path: str, places: Mapping[str, EvidencePlace]) -> str:
    ids = dict.fromkeys(id_ for s in reversed(told) for id_ in reversed(s.documents) if id_ in places)
    found = list(dict.fromkeys(_place(places[id_], path) for id_ in ids))
    told_in = dict.fromkeys(s.session_id for s in reversed(told) if s.session_id and not s.documents)
    found += [f"session {_code(session)}" for session in told_in]
    lines = [f"- {place}" for place in found[:MOST]]
    return "\n".join([*lines, *([f"- _{len(found) - MOST:,} more are known._"] if len(found) > MOST else [])])


def _place(place: EvidencePlace, path: str) -> str:
    """A page as a link where a link from this page can lead to it, else as its path: `slowwave get` reads it."""
    if place.beside and _PLAIN.fullmatch(place.path):
        return f"[{escape(place.path)}]({posixpath.relpath(place.path, posixpath.dirname(path) or '.')})"
    return _code(place.path)


def _code(text: str) -> str:
    return f"`{flat(text).replace('`', chr(39))[:300]}`"


def _day(at: datetime | None) -> str:
    return at.astimezone(UTC).date().isoformat() if at else ""
