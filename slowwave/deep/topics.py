"""Topic files: memories as lines of Markdown, one entry each, and back again.

``- [mem:ID] text`` is a memory; further lines of its text are indented by two spaces, so that no text can begin an entry of its own.
``- text [source: sessions/x.md]`` is a statement that no memory makes yet, with what it rests on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

_ENTRY: Final = re.compile(r"- (?:\[mem:([0-9a-f-]{36})\] ?)?(.*)")
_SOURCE: Final = re.compile(r"\s*\[source:\s*([^\]\n]{1,300})\]")
_INDENT: Final = "  "


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: the memory's id, empty for a new statement, its text without the sources that it names, and those."""

    memory: str
    text: str
    sources: tuple[str, ...] = ()


def written(heading: str, entries: Iterable[Entry]) -> str:
    """A topic file. The same entries give the same text."""
    lines = [f"# {heading}", ""]
    for entry in entries:
        first, *more = entry.text.split("\n")
        mark = f"[mem:{entry.memory}] " if entry.memory else ""
        lines += [f"- {mark}{first}", *(_INDENT + line for line in more)]
    return "\n".join(lines) + "\n"


def entries_of(text: str) -> list[Entry]:
    """The entries of a topic file; headings and what stands outside of any entry are none."""
    found: list[tuple[str, list[str]]] = []
    for line in text.split("\n"):
        entry = _ENTRY.fullmatch(line)
        if entry:
            found.append((entry[1] or "", [entry[2]]))
        elif found and (line.startswith(_INDENT) or not line):
            found[-1][1].append(line.removeprefix(_INDENT))
    return [_entry(memory, lines) for memory, lines in found]


def loose(text: str) -> list[str]:
    """Lines of a topic file that are no entry, no heading, and part of none: what they say would be lost."""
    inside, found = False, list[str]()
    for line in text.split("\n"):
        if _ENTRY.fullmatch(line):
            inside = True
        elif line.strip() and not line.startswith("#") and not (inside and line.startswith(_INDENT)):
            found.append(line)
    return found


def same(one: str, other: str) -> bool:
    """Whether two texts are the same but for white space at the ends of lines, which an editor takes away."""
    return _trimmed(one) == _trimmed(other)


def _entry(memory: str, lines: Sequence[str]) -> Entry:
    text = "\n".join(lines).rstrip("\n")
    sources = tuple(
        dict.fromkeys(part.strip() for found in _SOURCE.findall(text) for part in found.split(",") if part.strip())
    )
    return Entry(memory, _SOURCE.sub("", text).rstrip() if sources else text, sources)


def _trimmed(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")]
