"""Markdown: frontmatter, headings, sections, anchors, code, markup, and the paths that a page may have."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

# Sections of a Markdown text by their headings; ``#`` within a code block does not start a heading.

_HEADING: Final = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")


def in_line(text: str) -> str:
    """Put the headings of a text in line with the text under them: "# Harbour" becomes "Harbour:"; other lines stay.

    Cost: linear in the text.
    """
    fence, lines = "", list[str]()
    for line in text.splitlines():
        fence, marks = _fenced(line, fence)
        heading = None if fence or marks else _HEADING.match(line)
        title = heading[2] if heading else ""
        lines.append((title if title[-1:] in ".:!?…" else f"{title}:") if heading else line)
    return "\n".join(lines)


def _fenced(line: str, fence: str) -> tuple[str, bool]:
    """Return the fence of the code block that is open after a line, and whether the line is a fence itself.

    ``fence`` is the one that is open before the line; an empty fence means that none is open.
    """
    mark = _FENCE.match(line)
    if not fence:
        return (mark[1], True) if mark else ("", False)
    closes = mark is not None and mark[1].startswith(fence) and not line.strip().strip(fence[0])
    return ("", True) if closes else (fence, False)


def sections(text: str) -> dict[str, str]:
    """Map each folded heading to the text under it, up to the next heading of its level or above.

    Of equal headings the first counts. Cost: linear in the text.
    """
    lines = text.splitlines()
    found: list[tuple[int, str, int]] = []
    fence = ""
    for n, line in enumerate(lines):
        fence, marks = _fenced(line, fence)
        if not fence and not marks and (heading := _HEADING.match(line)):
            found.append((len(heading[1]), heading[2].casefold(), n))
    ends: list[int] = []
    open_: list[
        tuple[int, int]
    ] = []  # level and position of the headings whose end was not found yet, the outermost first
    for place, (level, _, line) in enumerate(found):
        ends.append(len(lines))
        while open_ and open_[-1][0] >= level:
            ends[open_.pop()[1]] = line
        open_.append((level, place))
    named: dict[str, str] = {}
    for (_, name, line), end in zip(found, ends, strict=True):
        if name not in named:
            named[name] = "\n".join(lines[line + 1 : end]).strip()
    return named


# Anchors: the heading or block of a page that a link names, and the check whether the page has it.

Missing = Literal["heading", "block"]


def anchor_key(anchor: str) -> str:
    """Return the form in which an anchor and a heading are compared: GitHub's ``#fee-market`` is Obsidian's ``#Fee market``."""
    return re.sub(r"[\W_]+", "", anchor.rpartition("#")[2].casefold())


def missing(anchor: str, headings: Sequence[str], blocks: Sequence[str]) -> Missing | None:
    """Return the kind of target of an anchor that a page with these headings and blocks lacks.

    Return None if the page has the target, or if the anchor is empty.
    """
    if anchor.startswith("^"):
        return None if anchor[1:] in blocks else "block"
    key = anchor_key(anchor)
    return None if not key or any(anchor_key(heading) == key for heading in headings) else "heading"


# Code in Markdown: fenced blocks, and spans between equal runs of backticks (CommonMark 0.31, sections 4.5 and 6.1).

_FENCED: Final = re.compile(
    r"^[ ]{0,3}(?P<fence>```+|~~~+)[^\n]*(?:\n(?![ ]{0,3}(?P=fence))[^\n]*)*(?:\n[ ]{0,3}(?P=fence)[^\n]*)?",
    re.MULTILINE,
)
_RUN: Final = re.compile("`+")
_PARAGRAPH: Final = re.compile(r"\n[ \t]*\n")


class CodeSpans(NamedTuple):
    """Spans (start, end) of code in a text: whole fenced blocks, and code between backticks in a line of prose."""

    blocks: tuple[tuple[int, int], ...]
    inline: tuple[tuple[int, int], ...]


def code_spans(text: str) -> CodeSpans:
    """Return the code of a text, in order and without overlap.

    A run of backticks that no run of the same length closes within its paragraph is text. Cost: linear in the text, because a run is
    closed by the next of its length and lengths are looked up.
    """
    if "`" not in text and "~~~" not in text:
        return CodeSpans((), ())
    blocks = tuple(m.span() for m in _FENCED.finditer(text))
    inline: list[tuple[int, int]] = []
    start = 0
    for begin, end in (*blocks, (len(text), len(text))):
        for paragraph in _paragraphs(text, start, begin):
            inline += _between(text, *paragraph)
        start = end
    return CodeSpans(blocks, tuple(inline))


def _paragraphs(text: str, start: int, end: int) -> list[tuple[int, int]]:
    breaks = [m.span() for m in _PARAGRAPH.finditer(text, start, end)]
    return list(zip([start, *(b for _, b in breaks)], [*(a for a, _ in breaks), end], strict=True))


def _between(text: str, start: int, end: int) -> list[tuple[int, int]]:
    runs = [m.span() for m in _RUN.finditer(text, start, end)]
    later: defaultdict[int, list[int]] = defaultdict(list)
    for place in range(len(runs) - 1, -1, -1):
        later[runs[place][1] - runs[place][0]].append(place)
    found: list[tuple[int, int]] = []
    place = 0
    while place < len(runs):
        opened = runs[place]
        same = later[opened[1] - opened[0]]
        while same and same[-1] <= place:
            same.pop()
        if same:
            place = same[-1]
            found.append((opened[1], runs[place][0]))
        place += 1
    return found


# Lines that look like headings: every longer word is capitalised, so a capital there does not suggest a name.

_WORD: Final = re.compile(r"[^\W\d_]+")
_SHORTEST: Final = 4
"""Minimum length in letters of a word that counts."""
_LINKS: Final = frozenset(
    (
        "with",
        "from",
        "into",
        "onto",
        "over",
        "under",
        "about",
        "between",
        "through",
        "without",
        "within",
        "upon",
        "your",
    )
)


class HeadingLines(NamedTuple):
    """Start of each line, and whether the line looks like a heading.

    A heading has more than one word, and no lower-case word of four or more letters except prepositions and the like.
    """

    starts: list[int]
    headings: list[bool]

    @classmethod
    def from_text(cls, text: str) -> HeadingLines:
        """Split a text into lines and classify each; linear in the text."""
        starts, headings = [0], []
        for line in text.split("\n"):
            words = _WORD.findall(line)
            is_prose = any(len(word) >= _SHORTEST and word[0].islower() and word not in _LINKS for word in words)
            headings.append(len(words) > 1 and not is_prose)
            starts.append(starts[-1] + len(line) + 1)
        return cls(starts[:-1], headings)

    def is_heading(self, place: int) -> bool:
        """Return whether the line at a position is a heading."""
        return self.headings[bisect_right(self.starts, place) - 1]


# Markup in prose that is not Markdown structure (HTML tags and comments, Markdown images, reStructuredText directives, Python prompts), and
# the text without it, for display in one line.

_MARKUP: Final = (
    re.compile(r"<!--(?:[^-<]++|-(?!->)|<(?!!--))*+-->"),
    re.compile(r"</?[A-Za-z][A-Za-z0-9-]*+(?=[\s/>])[^<>]{0,2000}>"),
    re.compile(r"!\[[^\[\]\n]{0,500}\]"),
    re.compile(r"^[ \t]*\.\. [^\n]*+(?:\n[ \t]+:[^\n]*+)*+", re.MULTILINE),
    re.compile(r"^[ \t]*>>> [^\n]*+", re.MULTILINE),
)


_COMMENT: Final = re.compile(r"[ \t]*<!--(?:[^-<]++|-(?!->)|<(?!!--))*+-->[ \t]*")
_CLAIM: Final = re.compile(r"[ \t]?\[[0-9a-f]{4,36}\]\(claim:[^()\s]*\)")
"""A reference to a claim on a canonical page: "[9c28caec](claim:9c28caec-…)", not "[the plan](plan.md)"."""
_EMPTY_HEADING: Final = re.compile(r"^(#{1,6})[ \t][^\n]*\n?(?:[ \t]*\n)*(?=(?!\1#)#{1,6}[ \t]|\Z)", re.MULTILINE)
"""A heading whose section is empty: "## Timeline" before "## Evidence", not "# Title" before "## Summary"."""
_IMAGE: Final = re.compile(r"!\[([^\[\]\n]*)\]\([^()\n]*\)|!\[\[([^\[\]\n]*)\]\]")
_LINK: Final = re.compile(r"\[([^\[\]\n]+)\]\([^()\n]*\)")
_WIKILINK: Final = re.compile(r"\[\[(?:[^\[\]|\n]*\|)?([^\[\]|\n]+)\]\]")
_EMPHASIS: Final = re.compile(r"(?<![\w*])(\*\*\*|\*\*|\*|___|__|_)(?=\S)([^*_\n]*?\S)\1(?![\w*])")
_TAG: Final = re.compile(r"</?[A-Za-z][A-Za-z0-9-]*+(?:\s[^<>]{0,2000})?/?>")


def without_marks(text: str) -> str:
    """Return a text without what only programs read: comments of HTML, references to claims, headings with nothing under them."""
    bare = _CLAIM.sub("", _COMMENT.sub("", text)) if "<!--" in text or "](claim:" in text else text
    if "#" in bare and "```" not in bare and "~~~" not in bare and len(bare.lstrip("# \t").splitlines()) > 1:
        bare = _EMPTY_HEADING.sub("", bare)
    return text if bare == text else re.sub(r"\n{3,}", "\n\n", bare).strip()


def plain_line(text: str) -> str:
    """Return a line of Markdown as plain text: links by their words, no emphasis, no tags, no images."""
    text = _IMAGE.sub(lambda found: found[1] or "", _CLAIM.sub("", _COMMENT.sub(" ", text)))
    text = _TAG.sub("", _LINK.sub(r"\1", _WIKILINK.sub(r"\1", text)))
    return _EMPHASIS.sub(r"\2", _EMPHASIS.sub(r"\2", text))


def markup_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans (start, end) of markup, which may overlap: tags with attributes, alternative texts, directives."""
    return [match.span() for pattern in _MARKUP for match in pattern.finditer(text)]


# Paths of pages: the paths that name a file inside a folder, and the paths that a new page may have.
#
# Folders of notes that people keep have capitals, spaces and all scripts in their names, so an existing page may have any safe name. The
# name of a new page must also be accepted by every file system and must not be confusable with another name.

LONGEST_PATH: Final = 300
LONGEST_PART: Final = 200
"""Maximum length in UTF-8 bytes of one part of a new path. File systems allow 255, of which a tombstone and a temporary file need some."""

_JOINERS: Final = "\u200c\u200d"
"""Format characters that occur in words of Persian or Hindi and in many emoji."""
_ESCAPE: Final = re.compile("%[0-9A-Fa-f]{2}")
_UNPORTABLE: Final = re.compile(r'[<>:"|?*]')
_RESERVED: Final = ("logs/sessions/", "archive/")


def path_fault(path: str, *, is_new: bool = False) -> str:
    """Return why a page cannot have a path, as the end of a sentence that begins with "a page's path"; empty if it can.

    Args:
        path: The path relative to its folder, with slashes.
        is_new: No page has this path yet, so the stricter rule applies. ``memory.admit_page`` and ``memory.write_page`` repeat both rules.
    """
    if not path.endswith(".md") or len(path) > LONGEST_PATH:
        return f"ends in .md and has at most {LONGEST_PATH} characters"
    if any(not part or part.startswith(".") for part in path.split("/")):
        return "has no empty part, and no part of it begins with a dot"
    if "\\" in path or _ESCAPE.search(path) or not all(_is_plain(c) for c in path):
        return "has no backslashes, no percent escapes, and no control or invisible characters"
    if path.casefold().startswith(_RESERVED):
        return "lies neither under logs/sessions/ (sessions are stored by session-ingest) nor under archive/"
    if not is_new:
        return ""
    if _UNPORTABLE.search(path) or any(c in path for c in _JOINERS):
        return 'has none of < > : " | ? * and no invisible joiners if the page is new'
    if any(part != part.strip(" ") or part.endswith(".") for part in path.split("/")):
        return "has no part that begins or ends with a space or ends with a dot if the page is new"
    if any(len(part.encode()) > LONGEST_PART for part in path.split("/")):
        return f"has at most {LONGEST_PART} bytes in each part if the page is new"
    return ""


def fold_path(path: str) -> str:
    """Return the form in which two paths are equal if a file system that ignores case may take them for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def _is_plain(character: str) -> bool:
    """Return whether a character is visible in a name: a space is, other white space and format characters are not."""
    return character in (" ", *_JOINERS) or unicodedata.category(character)[0] in "LMNPS"
