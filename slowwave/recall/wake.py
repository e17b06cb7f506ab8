"""Wake: what an agent is told when it begins, within a budget of tokens, from rows that were read before.

Passages (paragraphs) of every section compete for the budget by worth: that of the section's place in the profile times ``FADING`` for
each passage before it. So a long first section leaves room for the beginning of the others, and nothing ends because one thing is long.
A section is told from its beginning, without gaps. The same rows give the same bytes, so that a prompt that begins with them can be
cached: no clock is read. Reading the rows belongs to ``slowwave.recall.wake_rows``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from slowwave.search.things import covers
from slowwave.texts.token_count import BYTES_A_TOKEN, count

SECTION_WORTH: Final = 0.9
"""A section's worth beside the section before it."""

FADING: Final = 0.8
"""A passage's worth beside the passage before it."""

SHORTEST_CUT: Final = 40
"""Tokens under which a passage is left out rather than cut."""

_PARAGRAPHS: Final = re.compile(r"\n[ \t]*\n+")
_HEADING: Final = re.compile(r"#{1,6}[ \t]")
_ELLIPSIS: Final = "…"


@dataclass(frozen=True, slots=True)
class SectionContent:
    """One section: its ``title``, passages in their order, where they come from, and the most tokens that it may take (None: all)."""

    title: str
    passages: tuple[str, ...]
    sources: tuple[str, ...]
    cap: int | None = None


@dataclass(frozen=True, slots=True)
class WakeBlock:
    """``text`` takes at most the budget; ``left_out`` counts the passages that found no room."""

    text: str
    tokens: int
    sources: tuple[str, ...]
    left_out: int


def passages(text: str) -> tuple[str, ...]:
    """A body's paragraphs; a heading belongs to the paragraph under it, one with nothing under it is left out."""
    found: list[str] = []
    heading = ""
    for paragraph in _PARAGRAPHS.split(text.strip()):
        cleaned = paragraph.strip("\n").rstrip()
        if not cleaned.strip():
            continue
        if "\n" not in cleaned and _HEADING.match(cleaned):
            heading = cleaned
            continue
        found.append(f"{heading}\n{cleaned}" if heading else cleaned)
        heading = ""
    return tuple(found)


def lines_with(text: str, pattern: str) -> tuple[str, ...]:
    """The lines that an expression finds, each a passage; headings are none."""
    wanted = re.compile(pattern)
    return tuple(line.strip() for line in text.splitlines() if wanted.search(line) and not _HEADING.match(line))


def wake_block(sections: Sequence[SectionContent], budget: int) -> WakeBlock:
    """Fill ``budget`` tokens (counted as ``slowwave.texts.token_count`` does). Raises ``ValueError`` for a budget under 1."""
    if budget < 1:
        raise ValueError("A budget has at least one token.")
    sections = [section for section in sections if section.passages]
    taken: list[list[str]] = [[] for _ in sections]
    spent = [0] * len(sections)
    closed = [False] * len(sections)
    room = budget * BYTES_A_TOKEN
    for n, place in _by_worth(sections):
        if closed[n]:
            continue
        section, passage = sections[n], sections[n].passages[place]
        head = f"## {section.title}\n\n" if not taken[n] else ""
        before = "\n\n" if any(taken) else ""
        limit = room if section.cap is None else min(room, section.cap * BYTES_A_TOKEN - spent[n])
        fixed = _bytes(before + head)
        whole = fixed + _bytes(passage) <= limit
        text = passage if whole else ("" if taken[n] else cut(passage, limit - fixed))
        closed[n] = not whole
        if not text:
            continue
        cost = fixed + _bytes(text)
        room, spent[n] = room - cost, spent[n] + cost
        taken[n].append(text)
    told = [
        "\n\n".join([f"## {section.title}", *texts]) for section, texts in zip(sections, taken, strict=True) if texts
    ]
    block = "\n\n".join(told)
    sources = dict.fromkeys(
        source for section, texts in zip(sections, taken, strict=True) if texts for source in section.sources
    )
    left = sum(len(s.passages) for s in sections) - sum(map(len, taken))
    return WakeBlock(block, count(block), tuple(sources), left)


def without_repeats(
    sections: Sequence[SectionContent], made_of: Mapping[str, frozenset[str]], block: WakeBlock
) -> tuple[SectionContent, ...]:
    """The sections without the memories that a paragraph in ``block`` tells: of a page that they were made of (``made_of``, by id)."""

    def repeated(memory: str, text: str) -> bool:
        pages = made_of.get(memory, frozenset())
        of = (section for section in sections if not pages.isdisjoint(section.sources))
        return any(p in block.text and covers(p, text) for section in of for p in section.passages)

    kept: list[SectionContent] = []
    for section in sections:
        if made_of.keys().isdisjoint(section.sources):
            kept.append(section)
            continue
        pairs = [p for p in zip(section.sources, section.passages, strict=True) if not repeated(*p)]
        kept.append(replace(section, sources=tuple(s for s, _ in pairs), passages=tuple(p for _, p in pairs)))
    return tuple(kept)


def cut(text: str, size: int) -> str:
    """The beginning of a text in whole words, at most ``size`` bytes with "…" at its end; empty under ``SHORTEST_CUT`` tokens."""
    if size < SHORTEST_CUT * BYTES_A_TOKEN:
        return ""
    head = text.encode("utf-8", "replace")[: size - _bytes(_ELLIPSIS)].decode("utf-8", "ignore")
    words = re.sub(r"\s+\S*$", "", head)
    return f"{(words or head).rstrip()}{_ELLIPSIS}"


def _by_worth(sections: Sequence[SectionContent]) -> Iterable[tuple[int, int]]:
    """(section, passage), the worthiest first; equal worth in the order of the sections."""
    places = [(n, k) for n, section in enumerate(sections) for k in range(len(section.passages))]
    return sorted(places, key=lambda at: (-(SECTION_WORTH ** at[0]) * FADING ** at[1], at))


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
