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
from typing import Final, NamedTuple

from slowwave.pages.lines import escape, flat, hook
from slowwave.pages.prose_words import ProseWords
from slowwave.pages.subject_statements import KINDS, SubjectStatement

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


class _Said(NamedTuple):
    """A statement with its words as a page has them, and what two that say the same have in common."""

    claim: SubjectStatement
    words: str
    key: str

    @classmethod
    def of(cls, claim: SubjectStatement) -> _Said:
        return cls(claim, hook(claim.text, _LONGEST), flat(claim.text).casefold().rstrip(_ENDS))


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
    statements: Sequence[SubjectStatement],
    places: Mapping[str, EvidencePlace],
    now: datetime,
    *,
    visibility: str = "",
    sensitivity: str = "",
    own: ProseWords | None = None,
) -> SubjectPage:
    """What the page at ``path`` tells of claims, which come by when they began. ``places`` are documents by their ids; ``visibility`` and
    ``sensitivity`` are what the page says of itself; ``own`` is what stands on it outside of blocks, which is not told again. Where all
    that holds stands there and nothing has ended, the page tells nothing.

    A public page tells claims that are public and no others; one that says neither that it is private nor that it is sensitive tells no
    sensitive ones. Cost: linear in the claims.
    """
    admits = _admits(visibility, sensitivity)
    told = [_Said.of(s) for s in statements if admits(s)]
    own = own or ProseWords.of("")
    standing = [s for s in reversed(told) if s.claim.holds(now)]
    fresh = [s for s in standing if not own.says(s.claim.text)]
    dated = [s for s in told if not own.dates(s.claim.text, "" if s.claim.holds(now) else _day(s.claim.until))]
    sections = SECTIONS.get(path, SECTIONS.get(family, {}))
    shown = {s.claim.id for s in standing}
    contents: dict[str, str] = {}
    if "Decision" not in sections:
        contents["Summary"] = _section_text(fresh, _SUMMARY, shown, more=False)
    for heading, kinds in sections.items():
        contents[heading] = _section_text([s for s in fresh if s.claim.kind in kinds], MOST, shown)
    contents[CONTRADICTIONS] = _contradictions(standing)
    claims = [s.claim for s in told]
    if fresh or contents[CONTRADICTIONS] or any(not s.claim.holds(now) for s in dated):
        contents["Timeline"] = _timeline(dated, path, places, now)
        contents["Evidence"] = _evidence(claims, path, places, own)
    return SubjectPage(
        {heading: content for heading, content in contents.items() if content},
        tuple(s.id for s in claims),
        standing[0].claim.text if standing else "",
        tuple(s.id for s in statements if not admits(s)),
    )


def claim_link(id_: str) -> str:
    """The link of a line to the claim that says so; ``slowwave why`` follows it."""
    return f"[{id_[:8]}](claim:{id_})"


def _admits(visibility: str, sensitivity: str) -> Callable[[SubjectStatement], bool]:
    private = visibility == "private" or sensitivity not in ("", "none")

    def admits(statement: SubjectStatement) -> bool:
        sensitive = statement.sensitivity not in ("", "none")
        if visibility == "public":
            return statement.visibility == "public" and not sensitive
        return private or not sensitive

    return admits


def _distinct(statements: Iterable[_Said]) -> list[list[_Said]]:
    """Statements that say the same in the same words together, in the order of the first of each."""
    found: dict[str, list[_Said]] = {}
    for statement in statements:
        found.setdefault(statement.key, []).append(statement)
    return list(found.values())


def _section_text(statements: Iterable[_Said], most: int, shown: Collection[str], *, more: bool = True) -> str:
    said = _distinct(statements)
    if not said:
        return ""
    lines = [_line(same, shown) for same in said[:most]]
    if len(said) == 1:
        return lines[0]
    lines = [f"- {line}" for line in lines]
    return "\n".join([*lines, f"- _{len(said) - most:,} more are known._"] if more and len(said) > most else lines)


def _line(same: Sequence[_Said], shown: Collection[str]) -> str:
    first = same[0]
    marks = [f"(confidence {first.claim.confidence:.2f})"] if first.claim.confidence < _DOUBTFUL else []
    marks += ["(contradicted, see below)"] if any(a in shown for s in same for a in s.claim.against) else []
    return " ".join([first.words, *marks, *_links(same)])


def _links(same: Sequence[_Said]) -> list[str]:
    more = [f"and {len(same) - _NAMED:,} more"] if len(same) > _NAMED else []
    return [*(claim_link(s.claim.id) for s in same[:_NAMED]), *more]


def _contradictions(standing: Sequence[_Said]) -> str:
    """Both sides of each pair, once."""
    known = {s.claim.id: s for s in standing}

    def when(id_: str) -> tuple[datetime, datetime, str]:
        return known[id_].claim.since, known[id_].claim.said_at, id_

    pairs = {(min(id_, a), max(id_, a)) for id_, s in known.items() for a in s.claim.against if a in known}
    sides = sorted(
        (sorted(pair, key=when) for pair in pairs), key=lambda pair: [when(id_) for id_ in pair], reverse=True
    )
    lines = [f"- {' Against: '.join(f'{known[id_].words} {claim_link(id_)}' for id_ in pair)}" for pair in sides[:MOST]]
    return "\n".join([*lines, *([f"- _{len(pairs) - MOST:,} more are known._"] if len(pairs) > MOST else [])])


def _timeline(told: Sequence[_Said], path: str, places: Mapping[str, EvidencePlace], now: datetime) -> str:
    dated: dict[tuple[str, str, str], list[_Said]] = {}
    for s in told:
        ended = "" if s.claim.holds(now) else _day(s.claim.until)
        dated.setdefault((_day(s.claim.since), ended, s.key), []).append(s)
    kept = list(dated.items())[-MOST_DATES:]
    lines = [f"- _{len(dated) - len(kept):,} earlier entries are known._"] if len(kept) < len(dated) else []
    for (since, ended, _), same in kept:
        first = same[0].claim
        when = f"{since} to {ended}" if ended and ended != since else since
        kind = "" if first.kind == "fact" else f"{first.kind.capitalize()}: "
        said = _day(min(s.claim.said_at for s in same))
        marks = ["(ended)"] if ended and ended == since else []
        marks += [f"(said {said})"] if said != since else []
        cited = [f"({_place(place, path)})" for id_ in first.documents[:1] if (place := places.get(id_))]
        lines.append(" ".join([f"- {when}: {kind}{same[0].words}", *marks, *_links(same), *cited]))
    return "\n".join(lines)


def _evidence(told: Sequence[SubjectStatement], path: str, places: Mapping[str, EvidencePlace], own: ProseWords) -> str:
    ids = dict.fromkeys(id_ for s in reversed(told) for id_ in reversed(s.documents) if id_ in places)
    ids = [id_ for id_ in ids if not own.names(places[id_].path)]
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
