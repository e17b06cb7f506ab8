"""Split a Markdown file into segments and merge a person's edits with its rows.

Joined again, the segments are the file to the byte.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from difflib import SequenceMatcher
from functools import cache
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from slowwave.sources.blocks import find
from slowwave.text.frontmatter import frontmatter

# A Markdown file as a sequence of segments. Joined together they give the same file, byte for byte.
#
# A *block* corresponds to one memory: an item of a bullet list of the first level with everything nested in it, or a paragraph. Everything
# else (headings, code, tables, quotations, numbered lists, raw HTML, the frontmatter, text between Slowwave's own marks, a line that only
# introduces the list below it) is kept unchanged and is never a memory. Pure: no file and no row is changed here.

_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_MARKER: Final = re.compile(r"[ ]{0,3}[-+*][ \t]+(?:\[(?P<box>[ xX])\][ \t]+)?")
_DAY: Final = re.compile(r"(?<!\d)(\d{4})-(\d\d)-(\d\d)(?!\d)")
_ANCHOR: Final = re.compile(r"[ \t]\^([A-Za-z0-9-]+)[ \t]*$")
_NOON: Final = 12
"""The hour, UTC, that represents a day: it is the same day in nearly every time zone."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of lines; ``lead`` (a bullet), ``body`` and ``tail`` (the end of its line, blank lines) are its text.

    For a block, ``section`` is what it must have in common with another block to count as the same: the headings above it, the line that
    introduces its list, the state of its box, the anchor by which links name it. ``day`` is the day that its heading or its file names.
    """

    body: str
    lead: str = ""
    tail: str = ""
    block: bool = False
    section: str = ""
    day: datetime | None = None

    @property
    def raw(self) -> str:
        """Return the text of the segment in the file."""
        return self.lead + self.body + self.tail


class _Span(NamedTuple):
    """The lines of a block, from ``start`` to before ``end``, without the blank lines after it."""

    start: int
    end: int
    listed: bool
    section: tuple[str, ...]


def segments_of(text: str, path: str) -> list[Segment]:
    """Split the text of the file at ``path`` into segments.

    Raises ``UnreadableFile`` for invalid frontmatter. Linear in the text.
    """
    head = frontmatter(text)
    lines = _LINE.findall(text)
    spans = _spans(text[head.end :] if head.lines else text, head.lines, lines)
    kept = _kept_lines(text, lines)
    of_file = _day_in((PurePosixPath(path).stem,))
    found: list[Segment] = []
    at = 0
    for span in spans:
        if kept and any(n in kept for n in range(span.start, span.end)):
            continue
        segment, end = _block(lines, span, of_file)
        if segment is None:
            continue
        if at < span.start:
            found.append(Segment("".join(lines[at : span.start])))
        found.append(segment)
        at = end
    if at < len(lines):
        found.append(Segment("".join(lines[at:])))
    return found


def lines_of(segments: Sequence[Segment]) -> list[Segment]:
    """Return the same segments with each line of a paragraph as a separate block.

    This is for texts without wrapped lines, in which one line is one memory.
    """
    found: list[Segment] = []
    for segment in segments:
        if not segment.block or segment.lead.strip() or len(lines := _LINE.findall(segment.raw)) == 1:
            found.append(segment)
            continue
        for line in lines:
            content = line.strip()
            if any(c.isalnum() for c in content):
                at = line.index(content)
                tail = line[at + len(content) :]
                found.append(Segment(content, line[:at], tail, True, segment.section, segment.day))
            elif found:
                found[-1] = replace(found[-1], tail=found[-1].tail + line)
            else:
                found.append(Segment(line))
    return found


def _block(lines: Sequence[str], span: _Span, of_file: datetime | None) -> tuple[Segment | None, int]:
    """Return the block of some lines and the number of the line after it; None if they have no letter or digit."""
    text = "".join(lines[span.start : span.end])
    marker = _MARKER.match(text) if span.listed else None
    lead = marker[0] if marker else ""
    content = text[len(lead) :]
    body = content.rstrip("\r\n")
    if not any(c.isalnum() for c in body):
        return None, span.end
    end, alone = span.end, span.start == 0 or not lines[span.start - 1].strip() or not span.listed
    while alone and end < len(lines) and not lines[end].strip():
        end += 1
    section = [*span.section, *([f"[{marker['box'].lower()}]"] if marker and marker["box"] else [])]
    if anchor := _ANCHOR.search(body):
        section.append(f"^{anchor[1]}")
    tail = content[len(body) :] + "".join(lines[span.end : end])
    return Segment(body, lead, tail, True, " › ".join(section), _day_in(span.section) or of_file), end


def _spans(body: str, above: int, lines: Sequence[str]) -> list[_Span]:
    """Return the blocks of a body in the order of the file; ``above`` is the number of lines before the body."""
    tokens = _parser().parse(body)
    headings: list[tuple[int, str]] = []
    introduced = ""
    found: list[_Span] = []
    for n, token in enumerate(tokens):
        if token.map is None or token.type not in ("heading_open", "paragraph_open", "list_item_open"):
            continue
        start, end = above + token.map[0], above + token.map[1]
        while end > start and not lines[end - 1].strip():
            end -= 1
        trail = tuple(text for _, text in headings)
        if token.type == "heading_open" and token.level == 0:
            level = int(token.tag[1])
            headings = [(above_it, text) for above_it, text in headings if above_it < level]
            headings.append((level, tokens[n + 1].content))
            introduced = ""
        elif token.type == "paragraph_open" and token.level == 0:
            introduced = tokens[n + 1].content if _introduces(tokens, n) else ""
            if not introduced:
                found.append(_Span(start, end, False, trail))
        elif token.type == "list_item_open" and token.level == 1 and token.markup in "-+*":
            found.append(_Span(start, end, True, (*trail, *([introduced] if introduced else []))))
    return found


def _introduces(tokens: Sequence[Token], n: int) -> bool:
    """Return whether a paragraph only introduces the list below it."""
    following = tokens[n + 3].type if n + 3 < len(tokens) else ""
    return following in ("bullet_list_open", "ordered_list_open") and tokens[n + 1].content.rstrip().endswith(":")


def _kept_lines(text: str, lines: Sequence[str]) -> frozenset[int]:
    """Return the lines between Slowwave's own marks, which hold rendered pages and no memory."""
    if (own := find(text)) is None:
        return frozenset()
    kept: list[int] = []
    at = 0
    for n, line in enumerate(lines):
        if own.start < at + len(line) and at < own.stop:
            kept.append(n)
        at += len(line)
    return frozenset(kept)


def _day_in(names: Sequence[str]) -> datetime | None:
    """Return noon of the day that the innermost heading with a date names, or None."""
    for name in reversed(names):
        for year, month, day in _DAY.findall(name):
            try:
                return datetime(int(year), int(month), int(day), _NOON, tzinfo=UTC)
            except ValueError:
                continue
    return None


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": True}).enable("table")


# A person's edits of a file, merged with the rows of its blocks: which rows stay, which end, which are new.
#
# A row records the text that its file had when it was last seen (``said``). Blocks that are unchanged in the file keep their rows, and with
# them what a plan has changed in the meantime. Text that a person rewrote or removed is decided by the person, and its row ends. Pure.

_MOST: Final = 4_000_000
"""The most pairs of changed segments that are compared to find moved ones; beyond that, all of them count as new."""


@dataclass(frozen=True, slots=True)
class BlockRow:
    """A row of ``memory.folder_blocks``, without its vector."""

    id: str
    kind: str
    section: str
    lead: str
    body: str
    tail: str
    said: str
    gone: bool
    day: datetime | None

    @property
    def wanted(self) -> str:
        """Return the text that the file should have for this row."""
        return "" if self.gone or self.kind == "left" else self.lead + self.body + self.tail

    @property
    def followed(self) -> BlockRow:
        """Return the same row as it is once the file has its wanted text."""
        return replace(self, said=self.wanted)


@dataclass(frozen=True, slots=True)
class Merged:
    """The rows and segments of a file, matched with each other.

    ``parts`` are in the order of the file: a row with its segment, a new segment, or a row whose text is not in the file. ``ended`` are
    those of the latter whose text a person removed or rewrote.
    """

    parts: tuple[tuple[BlockRow | None, Segment | None], ...]
    ended: tuple[BlockRow, ...] = field(default=())

    @property
    def changes(self) -> int:
        """Return the number of blocks that are gone or new."""
        return len(self.ended) + sum(row is None for row, _ in self.parts)


def nearest(rows: Sequence[BlockRow], segments: Sequence[Segment]) -> list[BlockRow]:
    """Return the rows with the text that the file had before a person edited it.

    This is the text at the last check or, if a process ended before it could note what it had written, the text that it was to write. The
    one from which fewer blocks differ is used.
    """
    unedited, wanted = list(rows), [row.followed for row in rows]
    return (
        unedited if unedited == wanted else min(unedited, wanted, key=lambda before: merged(before, segments).changes)
    )


def merged(rows: Sequence[BlockRow], segments: Sequence[Segment]) -> Merged:
    """Match the rows of a file, in their order, with its present segments.

    A new segment with the text of a row that left the file brings that row back: a plan wrote it, and an undo can reach it again.
    """
    absent: dict[str, list[BlockRow]] = {}
    for row in rows:
        if row.kind == "left":
            absent.setdefault(row.body, []).append(row)
    back: set[str] = set()
    shown = [row for row in rows if row.said]
    behind: dict[str, list[BlockRow]] = {}
    before = ""
    for row in rows:  # rows without a text in the file stay after their predecessor
        if row.said:
            before = row.id
        else:
            behind.setdefault(before, []).append(row)
    parts: list[tuple[BlockRow | None, Segment | None]] = [(row, None) for row in behind.get("", ())]
    ended: list[BlockRow] = []
    for row_part, segment_part in _opcodes([r.said for r in shown], [s.raw for s in segments]):
        kept = row_part is not None and segment_part is not None
        row = None if row_part is None else shown[row_part]
        if segment_part is not None:
            segment = segments[segment_part]
            again = row if kept else None
            if not kept and segment.block and absent.get(segment.body):
                again = absent[segment.body].pop(0)
                back.add(again.id)
            parts.append((again, segment))
        if row is not None:
            if not kept:
                parts.append((row, None))
                ended.append(row)
            parts += [(other, None) for other in behind.get(row.id, ())]
    return Merged(tuple(p for p in parts if p[1] is not None or p[0] is None or p[0].id not in back), tuple(ended))


def _opcodes(before: Sequence[str], now: Sequence[str]) -> list[tuple[int | None, int | None]]:
    """Return pairs of positions in ``before`` and ``now``: both for equal texts, else the removed, then the added."""
    head = 0
    while head < min(len(before), len(now)) and before[head] == now[head]:
        head += 1
    foot = 0
    while foot < min(len(before), len(now)) - head and before[-1 - foot] == now[-1 - foot]:
        foot += 1
    inner_before, inner_now = before[head : len(before) - foot], now[head : len(now) - foot]
    found: list[tuple[int | None, int | None]] = [(n, n) for n in range(head)]
    codes = (
        SequenceMatcher(None, inner_before, inner_now, autojunk=False).get_opcodes()
        if len(inner_before) * len(inner_now) <= _MOST
        else [("replace", 0, len(inner_before), 0, len(inner_now))]
    )
    for tag, i1, i2, j1, j2 in codes:
        if tag == "equal":
            found += [(head + i1 + n, head + j1 + n) for n in range(i2 - i1)]
        else:
            found += [(head + n, None) for n in range(i1, i2)]
            found += [(None, head + n) for n in range(j1, j2)]
    found += [(len(before) - foot + n, len(now) - foot + n) for n in range(foot)]
    return found
