"""Sections of a Markdown text by their headings; ``#`` within a block of code is no heading."""

from __future__ import annotations

import re
from typing import Final

_HEADING: Final = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")


def in_line(text: str) -> str:
    """A text in which headings may stand in one line with what is under them: "# Harbour" is "Harbour:"; other lines stay. Linear."""
    fence, told = "", list[str]()
    for line in text.splitlines():
        fence, marks = _fenced(line, fence)
        heading = None if fence or marks else _HEADING.match(line)
        title = heading[2] if heading else ""
        told.append((title if title[-1:] in ".:!?…" else f"{title}:") if heading else line)
    return "\n".join(told)


def _fenced(line: str, fence: str) -> tuple[str, bool]:
    """The fence of the block of code that is open behind a line (empty: none), and whether the line is one; ``fence`` is open before."""
    mark = _FENCE.match(line)
    if not fence:
        return (mark[1], True) if mark else ("", False)
    closes = mark is not None and mark[1].startswith(fence) and not line.strip().strip(fence[0])
    return ("", True) if closes else (fence, False)


def sections(text: str) -> dict[str, str]:
    """Heading, folded → what stands under it up to the next heading of its level or above; of equal headings, the first. Linear."""
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
    ] = []  # level and place of the headings of which the end is not seen yet, the outermost first
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
