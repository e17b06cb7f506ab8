"""Parts of a file that are Slowwave's, between two marks with a hash of what they hold."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from slowwave.errors import Refused

# The part of a file that is Slowwave's: a block between two marks, the first of which holds the SHA-256 of what stands between.
#
# Whatever is outside is a person's and stays. A block that does not hash to what its mark says was edited by a person, and is theirs
# as well from then on.

_BEGIN: Final = re.compile(r"^<!-- slowwave:begin hash=([0-9a-f]{64}) -->[ \t]*\r?$", re.MULTILINE)
_LAST: Final = "<!-- slowwave:end -->"
_END: Final = re.compile(r"^<!-- slowwave:end -->[ \t]*\r?$", re.MULTILINE)
_ANY: Final = re.compile(r"^[ \t]*<!--[ \t]*slowwave:(?:begin|end)\b.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """Where a text holds a block: ``start`` and ``stop`` are offsets, marks included; ``whole`` says that nobody edited it."""

    start: int
    stop: int
    inside: str
    whole: bool


def block(content: str) -> str:
    """Content of one or more lines as a block, without a line end after the last mark."""
    return f"<!-- slowwave:begin hash={content_hash(content)} -->\n{content}\n{_LAST}"


def find(text: str) -> Block | None:
    """The block of a text, None where there is none. One whose marks are damaged or repeated is not ``whole`` either."""
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
    """Whether a row's body is as a render leaves it: empty, or one whole block and nothing else."""
    found = find(body)
    return not body or (found is not None and found.whole and (found.start, found.stop) == (0, len(body)))


def placed(text: str, body: str) -> str:
    """A file's text with ``body``, a block or nothing, in the place of the block that it holds, else at its end.

    A block that a person edited is refused, in words that follow the name of a file.
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
    """What a first mark holds of the content that it stands above: its SHA-256."""
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


# Sections of a page that are Slowwave's: each a block between two marks, of which the first holds its name and the SHA-256 of what stands
# between.
#
# The marks are those of ``slowwave.sources.blocks`` with a name, as a page of a corpus has several blocks and is a person's everywhere
# else. A block that does not hash to what its mark says was edited by a person, and is theirs from then on. Pure.

_ANY_SECTION_BLOCKS: Final = re.compile(r"^[ \t]*<!--[ \t]*slowwave:(begin|end)\b.*$", re.MULTILINE)
_BEGIN_SECTION_BLOCKS: Final = re.compile(r"<!-- slowwave:begin ([a-z0-9-]{1,64}) hash=([0-9a-f]{64}) -->[ \t]*\r?")
_TIMELINE: Final = re.compile(r"^[ \t]*<!--[ \t]*timeline\b[^\n]*-->[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_RULE: Final = re.compile(r"(?:^|\n)[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*\r?\n\s*\Z")
_HEADING: Final = re.compile(r" {0,3}#{1,6}[ \t](.*)")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")

LAST: Final = ("Timeline", "Evidence")
"""The sections that stand at the end of a page, behind the rule and the mark of its timeline."""

TIMELINE_MARK: Final = "<!-- timeline -->"


@dataclass(frozen=True, slots=True)
class SectionBlock:
    """Where a text holds a block: ``start`` and ``stop`` are offsets, marks included; ``whole`` says that nobody edited it."""

    start: int
    stop: int
    inside: str
    whole: bool


@dataclass(frozen=True, slots=True)
class RenderedBody:
    """A body with its blocks as they should be. ``changed`` are the sections of which the block is new or another one, ``edited`` those
    that a person edited, which stay as they are."""

    text: str
    changed: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()


def section_block(heading: str, content: str) -> str:
    """Content of any number of lines as the block of a section, without a line end after the last mark."""
    return f"<!-- slowwave:begin {block_name(heading)} hash={content_hash(content)} -->\n{content}\n{_LAST}"


def block_name(heading: str) -> str:
    """What a mark calls the section of a heading."""
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")[:64] or "section"


def section_blocks(text: str) -> dict[str, SectionBlock]:
    """The blocks of a text by their names. Raises ``Refused``, in words that follow a page's name, where a mark is damaged, alone, or of a
    name that stands twice: nobody can tell then what is whose.
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
    """The body of a page that is not there yet: a title, all sections in their ``order``, and blocks where ``contents`` has something."""
    lines = [f"# {title}", ""]
    for heading in dict.fromkeys(h for h in (*order, *contents) if h not in LAST):
        lines += [f"## {heading}", "", *_block_lines(heading, contents)]
    lines += ["---", "", TIMELINE_MARK, ""]
    for heading in LAST:
        lines += [f"## {heading}", "", *_block_lines(heading, contents)]
    return "\n".join(lines).rstrip("\n") + "\n"


def rendered_body(body: str, contents: Mapping[str, str], order: Sequence[str]) -> RenderedBody:
    """A body with the blocks of ``contents`` (heading → what stands in it), everything else as it was, to the last character.

    A section that has a block gets it renewed, and emptied where ``contents`` says nothing; one that has none gets it below its heading, or
    with a heading of its own: before the end of the page, and Timeline and Evidence as its end. Raises ``Refused`` as ``section_blocks``
    does. Cost: linear in the text.
    """
    blocks = section_blocks(body)
    headings = _headings(body, blocks)
    puts: list[tuple[int, int, str]] = []  # start, stop, and what stands there then
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
    """A body without its blocks, an empty line for each, also for those that a person edited. Raises ``Refused`` as ``section_blocks``."""
    for block in sorted(section_blocks(body).values(), key=lambda b: -b.start):
        body = f"{body[: block.start]}\n{body[block.stop :]}"
    return body


def own_words(body: str) -> str:
    """What a person wrote in a body: neither blocks nor headings nor what parts the timeline off. Damaged blocks are a person's."""
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
    """Folded heading → where the line below it begins; the first of each, and none in code or in a block."""
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
    """Where sections without a heading go: before the rule that leads the timeline in, its mark or heading, or Evidence, or at the end."""
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


# What rendering gives: one page, and what went into it.

MEMORY: Final = "MEMORY.md"
