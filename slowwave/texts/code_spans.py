"""Code in Markdown: fenced blocks, and spans between equal runs of backticks (CommonMark 0.31, sections 4.5 and 6.1)."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final, NamedTuple

_FENCED: Final = re.compile(
    r"^[ ]{0,3}(?P<fence>```+|~~~+)[^\n]*(?:\n(?![ ]{0,3}(?P=fence))[^\n]*)*(?:\n[ ]{0,3}(?P=fence)[^\n]*)?",
    re.MULTILINE,
)
_RUN: Final = re.compile("`+")
_PARAGRAPH: Final = re.compile(r"\n[ \t]*\n")


class CodeSpans(NamedTuple):
    """Spans of a text (start, end): of whole fenced blocks, and of what stands between backticks in a line of prose."""

    blocks: tuple[tuple[int, int], ...]
    inline: tuple[tuple[int, int], ...]


def code_spans(text: str) -> CodeSpans:
    """The code of a text, in order and apart from each other. A run of backticks that none of its length closes in its paragraph is text.

    Linear in the text: a run is closed by the next of its length, and lengths are looked up.
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
