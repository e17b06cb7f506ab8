"""Statements of a page: what its sections and items say one at a time, each with its line, its sort and its day. Pure rules, no model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

from slowwave.claims.subject_ref import Family
from slowwave.migrating.records import LONGEST_STATEMENT, OF_FAMILY, AtomKind
from slowwave.texts.frontmatter import frontmatter
from slowwave.texts.sentences import sentences
from slowwave.texts.tokens import tokenise

Level = Literal["high", "medium", "low"]

MOST: Final = 200
"""Statements of one page."""

_SHORTEST: Final = 2  # words
_SECTIONS: Final[tuple[tuple[str, AtomKind], ...]] = (
    ("preferences", "preference"),
    ("goals", "goal"),
    ("open questions", "open_question"),
    ("open work", "followup"),
    ("follow", "followup"),
    ("next steps", "followup"),
    ("todo", "followup"),
    ("to do", "followup"),
    ("key decisions", "decision"),
    ("decisions", "decision"),
    ("decision", "decision"),
    ("current state", "project_update"),
    ("current focus", "project_update"),
    ("status", "project_update"),
    ("timeline", "timeline_event"),
    ("history", "timeline_event"),
    ("changelog", "timeline_event"),
)
_PASSED_OVER: Final = ("evidence", "related", "sources", "references", "see also", "dependencies", "links", "backlinks")
_FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})")
_HEADING: Final = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*$")
_ITEM: Final = re.compile(r"\s*(?:[-*+]|\d{1,4}[.)])\s+(?:\[[ xX]\]\s+)?(.*)$")
_RULE: Final = re.compile(r"\s*(?:-{3,}|\*{3,}|_{3,})\s*$")
_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)
_DATED: Final = re.compile(r"\**(\d{4}-\d\d-\d\d)\**(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?\s*[:—–-]?\s+(.*)$", re.DOTALL)
_WIKILINK: Final = re.compile(r"!?\[\[([^\[\]|\n]{1,300})(?:\|([^\[\]\n]{1,300}))?\]\]")
_LINK: Final = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\s]{1,1000}(?:\s+\"[^\"]*\")?\)")
_MARKS: Final = re.compile(r"(?<!\w)(?:\*{1,3}|_{1,3}|~~)(?=\S)(.+?)(?<=\S)(?:\*{1,3}|_{1,3}|~~)(?!\w)")
_EVIDENCE: Final = re.compile(r"\s*\(`[^`]{1,300}`\)\s*$")


@dataclass(frozen=True, slots=True)
class Atom:
    """One statement: its sort, its words, since when it holds (None: unknown), its line in the file, how sure it is, who found it, and
    for a model's the words of the page on which it rests."""

    kind: AtomKind
    text: str
    at: datetime | None
    line: int
    level: Level = "high"
    by: Literal["rules", "model"] = "rules"
    quote: str = ""


def statement_key(text: str) -> str:
    """A statement in the one form in which statements are equal: its words, folded."""
    return " ".join(tokenise(text))


def atoms_of(text: str, family: Family, level: Level = "high") -> list[Atom]:
    """The statements of a page about one subject. Code, tables, quotations and lists of links say nothing here. Time: linear."""
    head = frontmatter(text)
    found: list[Atom] = []
    met: set[tuple[str, str]] = set()
    for line, section, said in _blocks(text[head.end :].removeprefix("\ufeff"), head.lines + 1):
        kind = _kind_of(section, family)
        if kind is None:
            continue
        dated = _DATED.match(said) if kind == "timeline_event" else None
        at = _day(dated[1]) if dated else None
        for sentence in [_EVIDENCE.sub("", dated[2])] if dated else sentences(said):
            words = _plain(sentence)
            key = statement_key(words)
            if len(key.split()) < _SHORTEST or len(words) > LONGEST_STATEMENT or (kind, key) in met:
                continue
            met.add((kind, key))
            found.append(Atom(kind, words, at, line, level))
            if len(found) == MOST:
                return found
    return found


def _kind_of(section: str, family: Family) -> AtomKind | None:
    """What a section's statements are; None for sections that only point elsewhere."""
    said = section.casefold()
    if said.startswith(_PASSED_OVER):
        return None
    found: list[AtomKind] = [kind for begins, kind in _SECTIONS if said.startswith(begins)]
    return found[0] if found else OF_FAMILY[family]


def _blocks(body: str, first_line: int) -> Iterator[tuple[int, str, str]]:
    """(line, section, text) of every paragraph and item of a list."""
    body = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), body)
    section, fence, open_line = "", "", 0
    held: list[str] = []

    def closed() -> Iterator[tuple[int, str, str]]:
        if held:
            yield open_line, section, " ".join(held)
            held.clear()

    for number, line in enumerate(body.split("\n"), first_line):
        line = line.rstrip("\r")
        if fence:
            if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        if opened := _FENCE.match(line):
            yield from closed()
            fence = opened[1]
        elif heading := _HEADING.match(line):
            yield from closed()
            section = "" if len(heading[1]) == 1 else _plain(heading[2])
        elif not line.strip() or _RULE.match(line) or line.lstrip()[:1] in ("|", ">", "<"):
            yield from closed()
        elif item := _ITEM.match(line):
            yield from closed()
            open_line = number
            held.append(item[1].strip())
        else:
            if not held:
                open_line = number
            held.append(line.strip())
    yield from closed()


def _plain(text: str) -> str:
    """A text without marks of Markdown; what a link shows stays."""
    text = _WIKILINK.sub(lambda found: found[2] or found[1].rpartition("/")[2].partition("#")[0], text)
    text = _LINK.sub(lambda found: found[1], text)
    return " ".join(_MARKS.sub(r"\1", text).split())


def plain_words(text: str) -> str:
    """A whole page without marks of Markdown, as one line."""
    return _plain(_COMMENT.sub(" ", text))


def _day(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        return None
