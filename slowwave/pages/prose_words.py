"""What a page says outside of Slowwave's blocks: which statements stand there in a person's words, so that no block repeats them.

A statement stands where a sentence, or several that follow each other in one line or paragraph, has its words and no others; case, marks of
Markdown and quotes aside. Headings and comments say nothing. Pure; linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from slowwave.errors import Refused
from slowwave.pages.section_blocks import LAST, outside_blocks
from slowwave.texts.tokens import fold

_LONGEST: Final = 12  # sentences of a statement; a longer one stands nowhere
_HEADING: Final = re.compile(r" {0,3}(#{1,6})(?=[ \t])")
_ITEM: Final = re.compile(r"[ \t>]*(?:[-*+]|\d{1,4}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?|[ \t]*>[ \t>]*")
_CITED: Final = re.compile(r"\[[^\[\]\n]{0,80}\]\(claim:[^()\s]{0,80}\)")
_LINK: Final = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\s]{1,1000}\)")
_WIKILINK: Final = re.compile(r"!?\[\[(?:[^\[\]|\n]{1,300}\|)?([^\[\]|\n]{1,300})\]\]")
_MARKUP: Final = re.compile(r"[\\`*\"“”„«»]|~~|(?<![^\W_])_|_(?![^\W_])")
_ENDS: Final = re.compile(r"[.!?…;](?=[\s.!?…;]|$)|[。！？|]")
_SOURCE: Final = re.compile(r"\(`[^`\n]{1,300}`\)")
_DATED: Final = re.compile(
    r"\**\d{4}-\d\d-\d\d(?: to \d{4}-\d\d-\d\d)?\**[ \t]*[:—–-]?[ \t]+(?:(?:State|Note|Decision|Preference): )?"
)
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
_TOKEN: Final = re.compile(r"[^\s`()\[\]<>]+")


class _Piece(NamedTuple):
    """The sentences of a line or a paragraph, and the days that it names."""

    sentences: tuple[str, ...]
    days: frozenset[str]


@dataclass(slots=True)
class _Runs:
    """Sentences that follow each other in one of several pieces → the days that those pieces name, by their number."""

    pieces: Sequence[_Piece]
    _of: dict[int, dict[tuple[str, ...], set[str]]] = field(default_factory=dict[int, dict[tuple[str, ...], set[str]]])

    def days(self, text: str) -> set[str] | None:
        """The days of the pieces in which a statement stands; None where it stands in none."""
        wanted = _sentences(text)
        size = len(wanted)
        if not self.pieces or not 0 < size <= _LONGEST:
            return None
        if size not in self._of:
            runs: dict[tuple[str, ...], set[str]] = {}
            for said, days in self.pieces:
                for at in range(len(said) - size + 1):
                    runs.setdefault(said[at : at + size], set()).update(days)
            self._of[size] = runs
        return self._of[size].get(wanted)


@dataclass(frozen=True, slots=True)
class ProseWords:
    """What a body says outside of blocks: anywhere, in its timeline, and the words of which it is made as they are written."""

    _anywhere: _Runs
    _timeline: _Runs
    _names: frozenset[str]

    @classmethod
    def of(cls, body: str) -> ProseWords:
        """Read a body without its head. One with damaged marks of blocks says nothing, as no block of it is written."""
        try:
            outside = outside_blocks(body)
        except Refused:
            outside = ""
        first, *more = outside.split("<!--")
        rest = "".join([first, *(p.partition("-->")[2] if "-->" in p else p for p in more)])
        every, dated = list[str](), list[str]()
        depth = 0  # of the heading of the timeline in which a line stands
        for line in rest.splitlines():
            if heading := _HEADING.match(line):
                if not depth or len(heading[1]) <= depth:
                    name = line.strip(" \t#").casefold()
                    depth = len(heading[1]) if name == LAST[0].casefold() else 0
                line = ""
            every.append(line)
            dated.append(line if depth else "")
        return cls(_Runs(_pieces(every)), _Runs(_pieces(dated)), frozenset(_TOKEN.findall(rest)))

    def says(self, statement: str) -> bool:
        """Whether a statement stands anywhere on the page."""
        return self._anywhere.days(statement) is not None

    def dates(self, statement: str, ended: str = "") -> bool:
        """Whether a statement stands in the timeline; of one that has ended, with the day of its end."""
        days = self._timeline.days(statement)
        return days is not None and (not ended or ended in days)

    def names(self, place: str) -> bool:
        """Whether the page names a place, which has no white space."""
        return place in self._names


def _pieces(lines: Iterable[str]) -> list[_Piece]:
    """Each line, and each paragraph or item of several lines."""
    found: list[_Piece] = []
    held: list[str] = []
    for line in [*lines, ""]:
        item = _ITEM.match(line)
        if held and (item or not line.strip()):
            texts = [*held, " ".join(held)] if len(held) > 1 else held
            for text in texts:
                days = frozenset(_DAY.findall(text))
                dated = _DATED.match(text)
                shown = [text, text[dated.end() :]] if dated else [text]
                found += [_Piece(said, days) for t in shown if (said := _sentences(t))]
            held = []
        if line.strip():
            held.append(line[item.end() :] if item else line)
    return found


def _sentences(text: str) -> tuple[str, ...]:
    shown = _WIKILINK.sub(r"\1", _LINK.sub(r"\1", _SOURCE.sub("", _CITED.sub("", text))))
    parts = (" ".join(part.split()) for part in _ENDS.split(_MARKUP.sub("", fold(shown))))
    return tuple(part for part in parts if part)
