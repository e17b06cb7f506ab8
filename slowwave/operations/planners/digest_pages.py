"""Digests as pages: what was told on a day, in a week or in a session, in sections, each line with the lines of the sessions it is from.

    ## Decisions

    - We decided to drop offline mode from Kestrel 2.0. (s1#L24)

    ## Sources

    - s1: `logs/sessions/team/2026-05-04-planning.md`

A page says in its head what it was made of, so that it is made anew when that has changed, and by what its body is known, so that what a
person has written in it is seen. Dory's fields of a digest are its head's and sections'. Which sessions make one belongs to
``digest_sessions``. Pure; reading what was rendered gives the same lines.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final, Literal

from slowwave.texts.extractive import Source, extract
from slowwave.texts.frontmatter import UnreadableFile, frontmatter
from slowwave.texts.token_count import count
from slowwave.texts.tokens import normalise_name

Section = Literal["key_outcomes", "decisions", "followups", "noted"]
SECTIONS: Final[Mapping[Section, str]] = {
    "key_outcomes": "Key Outcomes",
    "decisions": "Decisions",
    "followups": "Followups",
    "noted": "Noted",
}
"""Section → its heading: Dory's three, and what else was told."""

SECTION_OF: Final[Mapping[str, Section]] = {
    "decision": "decisions",
    "outcome": "key_outcomes",
    "state": "key_outcomes",
    "followup": "followups",
    "preference": "noted",
    "fact": "noted",
}
"""What a sentence tells → where it stands."""

EXTRACTIVE: Final = "extractive"
_TITLED: Final = 3  # names of a title
_MOST_SOURCES: Final = 4  # of one line
_LINE: Final = re.compile(r"- (?:(?P<day>\d{4}-\d\d-\d\d): )?(?P<text>.+) \((?P<sources>s\d+#L\d+(?:, s\d+#L\d+)*)\)")
_SOURCE: Final = re.compile(r"- (s\d+): `([^`\n]+)`")
_SOURCES: Final = "Sources"
_SAFE: Final = re.compile(r"[^a-z0-9._/-]+")


@dataclass(frozen=True, slots=True)
class DigestLine:
    """A sentence, the places (path#Lline) that it is from, and its day (ISO) where the digest is of several."""

    text: str
    sources: tuple[str, ...]
    day: str = ""

    def as_line(self, numbers: Mapping[str, int]) -> str:
        """The line as it stands on a page, whose sessions have ``numbers``."""
        day = f"{self.day}: " if self.day else ""
        places = (source.partition("#") for source in self.sources)
        return f"- {day}{self.text} ({', '.join(f's{numbers[path]}#{line}' for path, _, line in places)})"


@dataclass(frozen=True, slots=True)
class Digest:
    """What a page tells. ``fields`` are those of its head beside those that every digest has; ``made_of`` is a hash of its sources."""

    path: str
    type: str
    title: str
    summary: str
    sections: Mapping[Section, tuple[DigestLine, ...]]
    fields: Mapping[str, object]
    made_of: str
    writer: str = EXTRACTIVE

    @property
    def lines(self) -> tuple[DigestLine, ...]:
        """All lines in the order of the sections."""
        return tuple(line for section in SECTIONS for line in self.sections.get(section, ()))

    @property
    def body(self) -> str:
        """The page below its head."""
        paths = dict.fromkeys(source.partition("#")[0] for line in self.lines for source in line.sources)
        numbers = {path: number for number, path in enumerate(paths, 1)}
        parts = [self.summary]
        for section, heading in SECTIONS.items():
            if lines := self.sections.get(section):
                parts.append(f"## {heading}\n\n" + "\n".join(line.as_line(numbers) for line in lines))
        parts.append(f"## {_SOURCES}\n\n" + "\n".join(f"- s{n}: `{path}`" for path, n in numbers.items()))
        return "\n\n".join(parts) + "\n"

    @property
    def page(self) -> str:
        """The whole page."""
        body = self.body
        head: dict[str, object] = {
            "title": self.title,
            "type": self.type,
            "status": "done",
            "source_kind": "generated",
            "canonical": False,
            "temperature": "cold",
            **self.fields,
            "writer": self.writer,
            "made_of": self.made_of,
            "body_hash": body_hash(body),
        }
        lines = (f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in head.items())
        return f"---\n{''.join(lines)}---\n\n{body}"


@dataclass(frozen=True, slots=True)
class StoredDigest:
    """A digest as it is stored. ``edited``: its body is not the one that was made, or was never made."""

    id: str
    path: str
    made_of: str
    edited: bool
    fields: Mapping[str, Any]
    sections: Mapping[Section, tuple[DigestLine, ...]]


def body_hash(body: str) -> str:
    """By what a body is known."""
    return hashlib.sha256(body.strip().encode()).hexdigest()[:24]


def made_of(sources: Iterable[tuple[str, str]]) -> str:
    """A hash of the sources (path, hash of the content) of a digest."""
    return hashlib.sha256(json.dumps(sorted(sources)).encode()).hexdigest()[:24]


def stored_digest(id_: str, path: str, text: str) -> StoredDigest:
    """Read a page that stands where a digest does."""
    try:
        head = frontmatter(text)
    except UnreadableFile:
        return StoredDigest(id_, path, "", True, {}, {})
    body = text[head.end :]
    known = str(head.fields.get("body_hash") or "")
    return StoredDigest(
        id_,
        path,
        str(head.fields.get("made_of") or ""),
        not known or known != body_hash(body),
        head.fields,
        read_sections(body),
    )


def read_sections(body: str) -> dict[Section, tuple[DigestLine, ...]]:
    """The lines of a body by section."""
    found: dict[Section, list[DigestLine]] = {}
    headings: dict[str, Section] = {heading: section for section, heading in SECTIONS.items()}
    section: Section | None = None
    paths: dict[str, str] = {m[1]: m[2] for m in map(_SOURCE.fullmatch, body.split("\n")) if m}
    for line in body.split("\n"):
        if line.startswith("## "):
            section = headings.get(line[3:].strip())
        elif section is not None and (match := _LINE.fullmatch(line)):
            places = (place.partition("#") for place in match["sources"].split(", "))
            sources = tuple(f"{paths[number]}#{where}" for number, _, where in places if number in paths)
            found.setdefault(section, []).append(DigestLine(match["text"], sources, match["day"] or ""))
    return {name: tuple(lines) for name, lines in found.items()}


def merge_repeated(lines: Iterable[DigestLine]) -> tuple[DigestLine, ...]:
    """Lines in their order, what several say the same once, with the sources of all."""
    kept: dict[str, DigestLine] = {}
    for line in lines:
        key = normalise_name(line.text)
        before = kept.get(key)
        if before is None:
            kept[key] = line
        else:
            sources = tuple(dict.fromkeys((*before.sources, *line.sources)))[:_MOST_SOURCES]
            kept[key] = replace(before, sources=sources)
    return tuple(kept.values())


def within(
    sections: Mapping[Section, Sequence[DigestLine]], max_tokens: int
) -> tuple[dict[Section, tuple[DigestLine, ...]], int]:
    """Sections that have ``max_tokens`` together, each its share, and how many lines found no room: what says most that is specific stays,
    chosen as the texts of consolidations are (``slowwave.texts.extractive``)."""
    once: dict[Section, tuple[DigestLine, ...]] = {
        section: merge_repeated(lines) for section, lines in sections.items() if lines
    }
    sizes = {section: sum(count(line.text) for line in lines) for section, lines in once.items()}
    whole = sum(sizes.values())
    if whole <= max_tokens:
        return once, 0
    kept: dict[Section, tuple[DigestLine, ...]] = {}
    for section, lines in once.items():
        room = max(max_tokens * sizes[section] // whole, 1)
        sources = [Source(f"{k:06}", line.text) for k, line in enumerate(lines)]
        said = {normalise_name(sentence) for sentence in extract(sources, room).sentences}
        kept[section] = tuple(line for line in lines if normalise_name(line.text) in said)
    return {s: found for s, found in kept.items() if found}, sum(len(x) for x in once.values()) - sum(
        len(x) for x in kept.values()
    )


def titled(begin: str, names: Counter[str]) -> str:
    """A title with the names that are told of most."""
    most = [name for name, _ in sorted(names.items(), key=lambda one: (-one[1], one[0]))[:_TITLED]]
    return f"{begin}: {', '.join(most)}" if most else begin


def counted(sessions: int, speakers: Sequence[str], sections: Mapping[Section, Sequence[DigestLine]]) -> str:
    """The sentence that opens a digest: how much was said by whom, and how much of what it tells."""
    who = f" with {_listed(speakers)}" if speakers else ""
    names = {"key_outcomes": "outcome", "decisions": "decision", "followups": "followup", "noted": "note"}
    told = [_number(len(sections[s]), names[s]) for s in SECTIONS if sections.get(s)]
    return f"{_number(sessions, 'session')}{who}: {_listed(told)}."


def daily_path(day: date) -> str:
    """Where the digest of a day lies."""
    return f"digests/daily/{day.isoformat()}.md"


def weekly_path(year: int, week: int) -> str:
    """Where the digest of an ISO week lies."""
    return f"digests/weekly/{year}-w{week:02}.md"


def note_path(session: str) -> str:
    """Where the note of a session lies, by the path of its page."""
    bare = session.removeprefix("logs/sessions/")
    safe = _SAFE.sub("-", bare.lower())
    if safe != bare:
        safe = f"{safe.removesuffix('.md')}-{hashlib.sha256(bare.encode()).hexdigest()[:8]}.md"
    return f"digests/sessions/{safe}"


def _number(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)
