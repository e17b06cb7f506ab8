"""The parts of a file that are Slowwave's, between two marks with a hash of their content."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from slowwave.errors import Refused

# Slowwave's part of a file: a block between two marks, the first of which contains the SHA-256 of the text between them.
#
# Everything outside the block belongs to a person and is kept. A block whose hash differs from its mark was edited by a person, and belongs
# to the person from then on.

_BEGIN: Final = re.compile(r"^<!-- slowwave:begin hash=([0-9a-f]{64}) -->[ \t]*\r?$", re.MULTILINE)
_LAST: Final = "<!-- slowwave:end -->"
_END: Final = re.compile(r"^<!-- slowwave:end -->[ \t]*\r?$", re.MULTILINE)
_ANY: Final = re.compile(r"^[ \t]*<!--[ \t]*slowwave:(?:begin|end)\b.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """The position of a block in a text.

    ``start`` and ``stop`` are offsets, marks included. ``whole`` says that no one has edited the block.
    """

    start: int
    stop: int
    inside: str
    whole: bool


def block(content: str) -> str:
    """Format content of one or more lines as a block, without a line end after the last mark."""
    return f"<!-- slowwave:begin hash={content_hash(content)} -->\n{content}\n{_LAST}"


def find(text: str) -> Block | None:
    """Return the block of a text, or None if there is none.

    A block with damaged or repeated marks is not ``whole`` either.
    """
    marks = list(_ANY.finditer(text))
    if not marks:
        return None
    begins, ends = list(_BEGIN.finditer(text)), list(_END.finditer(text))
    if len(marks) != 2 or len(begins) != 1 or len(ends) != 1 or begins[0].end() >= ends[0].start():
        return Block(marks[0].start(), marks[-1].end(), "", whole=False)
    begin, end = begins[0], ends[0]
    inside = text[begin.end() + 1 : end.start()].replace("\r\n", "\n").removesuffix("\n")
    return Block(begin.start(), end.start() + len(_LAST), inside, whole=content_hash(inside) == begin[1])


def is_page(body: str) -> bool:
    """Return whether a row's body is as a render leaves it: empty, or one unedited block and nothing else."""
    found = find(body)
    return not body or (found is not None and found.whole and (found.start, found.stop) == (0, len(body)))


def placed(text: str, body: str) -> str:
    """Return the text of a file with ``body`` in place of the block that it holds, or at its end if it holds none.

    ``body`` is a block or empty. Raises ``Refused`` for a block that a person edited; the message continues a sentence that starts with
    the name of the file.
    """
    found = find(text)
    if found is not None and not found.whole:
        raise Refused(
            "holds a block that somebody edited, so it was left alone. Move what is to stay out of the block and delete "
            "the block with both its marks."
        )
    if found is None:
        if not body:
            return text
        gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}{body}\n"
    before, after = text[: found.start], text[found.stop :]
    if body:
        return before + body + after
    after = after.removeprefix("\r").removeprefix("\n")
    if not after and before.endswith("\n\n"):
        before = before[:-1]
    return before + after


def content_hash(content: str) -> str:
    """Return the SHA-256 of a block's content, as its first mark holds it."""
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


# Slowwave's sections of a page: each is a block between two marks, the first of which contains its name and the SHA-256 of the text between
# them.
#
# These marks have a name, because a page of a corpus has several blocks and belongs to a person everywhere else. A block whose hash differs
# from its mark was edited by a person, and belongs to the person from then on. Pure.

_ANY_SECTION_BLOCKS: Final = re.compile(r"^[ \t]*<!--[ \t]*slowwave:(begin|end)\b.*$", re.MULTILINE)
_BEGIN_SECTION_BLOCKS: Final = re.compile(r"<!-- slowwave:begin ([a-z0-9-]{1,64}) hash=([0-9a-f]{64}) -->[ \t]*\r?")
_TIMELINE: Final = re.compile(r"^[ \t]*<!--[ \t]*timeline\b[^\n]*-->[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_RULE: Final = re.compile(r"(?:^|\n)[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*\r?\n\s*\Z")
_HEADING: Final = re.compile(r" {0,3}#{1,6}[ \t](.*)")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")

LAST: Final = ("Timeline", "Evidence")
"""The sections at the end of a page, after the rule and the mark of its timeline."""

TIMELINE_MARK: Final = "<!-- timeline -->"


@dataclass(frozen=True, slots=True)
class SectionBlock:
    """The position of a block in a text.

    ``start`` and ``stop`` are offsets, marks included. ``whole`` says that no one has edited the block.
    """

    start: int
    stop: int
    inside: str
    whole: bool


@dataclass(frozen=True, slots=True)
class RenderedBody:
    """A body with its blocks up to date.

    ``changed`` are the sections whose block is new or different, ``edited`` those that a person edited, which stay as they are.
    """

    text: str
    changed: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()


def section_block(heading: str, content: str) -> str:
    """Format content of any number of lines as the block of a section, without a line end after the last mark."""
    return f"<!-- slowwave:begin {block_name(heading)} hash={content_hash(content)} -->\n{content}\n{_LAST}"


def block_name(heading: str) -> str:
    """Return the name by which a mark refers to the section of a heading."""
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")[:64] or "section"


def section_blocks(text: str) -> dict[str, SectionBlock]:
    """Return the blocks of a text by name.

    Raises ``Refused`` if a mark is damaged or alone, or if a name occurs twice, because it is then unclear which text belongs to whom.
    The message continues a sentence that starts with the page's name.
    """
    found: dict[str, SectionBlock] = {}
    marks = list(_ANY_SECTION_BLOCKS.finditer(text))
    pairs = zip(marks[::2], marks[1::2], strict=False)
    for begin, end in pairs:
        opened = _BEGIN_SECTION_BLOCKS.fullmatch(begin[0])
        if opened is None or end[0].strip() != _LAST or opened[1] in found:
            break
        inside = text[begin.end() + 1 : end.start()].replace("\r\n", "\n").removesuffix("\n")
        stop = end.start() + len(end[0].rstrip())
        found[opened[1]] = SectionBlock(begin.start(), stop, inside, whole=content_hash(inside) == opened[2])
    if 2 * len(found) != len(marks):
        raise Refused(
            "holds marks of blocks that are damaged, alone or repeated, so it was left alone. Give each block its two marks, or delete it "
            "with both."
        )
    return found


def new_body(title: str, contents: Mapping[str, str], order: Sequence[str]) -> str:
    """Build the body of a new page: a title, all sections in their ``order``, and blocks where ``contents`` has text."""
    lines = [f"# {title}", ""]
    for heading in dict.fromkeys(h for h in (*order, *contents) if h not in LAST):
        lines += [f"## {heading}", "", *_block_lines(heading, contents)]
    lines += ["---", "", TIMELINE_MARK, ""]
    for heading in LAST:
        lines += [f"## {heading}", "", *_block_lines(heading, contents)]
    return "\n".join(lines).rstrip("\n") + "\n"


def rendered_body(body: str, contents: Mapping[str, str], order: Sequence[str]) -> RenderedBody:
    """Return a body with the blocks of ``contents`` (heading → content), and everything else unchanged to the last character.

    A section that has a block gets it renewed, or emptied if ``contents`` has nothing for it. A section without a block gets one below
    its heading. A section without a heading gets one before the end of the page; Timeline and Evidence are added at its end. Raises
    ``Refused`` as ``section_blocks`` does. Cost: linear in the text.
    """
    blocks = section_blocks(body)
    headings = _headings(body, blocks)
    puts: list[tuple[int, int, str]] = []  # start, stop, new text
    changed: list[str] = []
    edited: list[str] = []
    above, below = list[str](), list[str]()
    for heading in dict.fromkeys([*order, *contents]):
        content, block = contents.get(heading, ""), blocks.get(block_name(heading))
        if block is not None and not block.whole:
            edited.append(heading)
        elif block is not None and block.inside != content:
            puts.append((block.start, block.stop, section_block(heading, content)))
            changed.append(heading)
        elif block is None and content:
            changed.append(heading)
            if (place := headings.get(heading.casefold())) is not None:
                puts.append((place, place, _below_heading(body, place, section_block(heading, content))))
            else:
                (below if heading in LAST else above).append(f"## {heading}\n\n{section_block(heading, content)}")
    if above:
        puts.append(_before_tail(body, headings, "\n\n".join(above)))
    text = body
    for _, (start, stop, put) in sorted(enumerate(puts), key=lambda one: (one[1][0], one[0]), reverse=True):
        text = text[:start] + put + text[stop:]
    if below:
        text += _gap(text) + "\n\n".join(below) + "\n"
    return RenderedBody(text, tuple(changed), tuple(edited))


def outside_blocks(body: str) -> str:
    """Return a body with an empty line in place of each block, including those that a person edited.

    Raises ``Refused`` as ``section_blocks`` does.
    """
    for block in sorted(section_blocks(body).values(), key=lambda b: -b.start):
        body = f"{body[: block.start]}\n{body[block.stop :]}"
    return body


def own_words(body: str) -> str:
    """Return the text that a person wrote in a body, without blocks, headings and the line that separates the timeline.

    Damaged blocks count as a person's text.
    """
    try:
        blocks = section_blocks(body)
    except Refused:
        return body
    for block in sorted(blocks.values(), key=lambda b: -b.start):
        body = body[: block.start] + (body[block.start : block.stop] if not block.whole else "") + body[block.stop :]
    lines = [line for line in body.splitlines() if not _HEADING.match(line) and not _TIMELINE.match(line)]
    return "\n".join(line for line in lines if (bare := line.strip()).strip("-") or len(bare) in (1, 2)).strip()


def _block_lines(heading: str, contents: Mapping[str, str]) -> list[str]:
    return [section_block(heading, contents[heading]), ""] if contents.get(heading) else []


def _headings(body: str, blocks: Mapping[str, SectionBlock]) -> dict[str, int]:
    """Return folded heading → start of the line below it, for the first heading of each name.

    Headings in code or in a block are ignored.
    """
    found: dict[str, int] = {}
    fence, at = "", 0
    ours = sorted((block.start, block.stop) for block in blocks.values())
    for bare in body.split("\n"):
        start, at = at, min(at + len(bare) + 1, len(body))
        mark = _FENCE.match(bare)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) and not bare.strip().strip(fence[0]) else fence
        elif any(first <= start < last for first, last in ours):
            continue
        elif mark:
            fence = mark[1]
        elif heading := _HEADING.match(bare):
            found.setdefault(heading[1].rstrip().rstrip("#").strip(" \t").casefold(), at)
    return found


def _below_heading(body: str, place: int, block: str) -> str:
    before = "\n" if body[:place].endswith("\n") else "\n\n"
    after = body[place:]
    return f"{before}{block}\n" + ("" if not after or after.startswith(("\n", "\r\n")) else "\n")


def _before_tail(body: str, headings: Mapping[str, int], put: str) -> tuple[int, int, str]:
    """Return where sections without a heading are inserted.

    This is before the rule, the mark or the heading of the timeline, before Evidence, or at the end.
    """
    marker = _TIMELINE.search(body)
    ends = [headings[name.casefold()] for name in LAST if name.casefold() in headings]
    lines = [body.rfind("\n", 0, max(0, end - 1)) + 1 for end in ends]
    place = min([*([marker.start()] if marker else ()), *lines], default=len(body))
    if place == len(body):
        return place, place, f"{_gap(body)}{put}\n"
    if marker and place == marker.start() and (rule := _RULE.search(body, 0, place)):
        place = rule.start() + 1 if body[rule.start() : rule.start() + 1] == "\n" else rule.start()
    return place, place, f"{_gap(body[:place])}{put}\n\n"


def _gap(text: str) -> str:
    return "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"


# The result of rendering: one page, and its inputs.

MEMORY: Final = "MEMORY.md"
