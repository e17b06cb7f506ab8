"""The part of a text that is shown: around the words that were asked for."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from typing import Final

from slowwave.search.words import words

_WORD: Final = re.compile(r"\S+")
_SPACE: Final = re.compile(r"[\x00-\x20]+")  # parts words in any script
_BEFORE: Final = 80  # characters shown ahead of the first hit
_SHORT: Final = 24  # characters of a part of a text of which the words are kept: results of one search, and of the next, share most of them


def snippet(text: str, wanted: Collection[str], longest: int) -> str:
    """At most ``longest`` characters of ``text``, from the stretch that holds most different words of ``wanted``; cut between words."""
    if len(text) <= longest:
        return text.strip()
    hits = [
        (match.start(), said)
        for match in _WORD.finditer(text)
        for said in _words_in(match[0])
        if said in wanted
    ]  # fmt: skip
    start = max(0, _densest(hits, longest - _BEFORE) - _BEFORE)
    start = text.rfind(" ", 0, start) + 1 if start else 0
    shown = text[start : start + longest - 2]
    if start + len(shown) < len(text) and " " in shown:
        shown = shown[: shown.rindex(" ")]
    ahead, behind = "…" if start else "", "…" if start + len(shown) < len(text) else ""
    return f"{ahead}{shown.strip()}{behind}"


def coverage(text: str, wanted: Collection[str]) -> float:
    """The share of the words of a query that stand in a text; 0 without any."""
    if not wanted:
        return 0.0
    said = {word for part in set(_SPACE.split(text)) for word in _words_in(part)}
    return len(said.intersection(wanted)) / len(set(wanted))


def _words_in(part: str) -> tuple[str, ...]:
    """The words of what stands between spaces, which are those of the text there; of what is short, kept."""
    return _kept(part) if len(part) <= _SHORT else tuple(words(part))


@lru_cache(16_384)
def _kept(part: str) -> tuple[str, ...]:
    return tuple(words(part))


def _densest(hits: list[tuple[int, str]], width: int) -> int:
    """Where the stretch of ``width`` characters begins that holds most different words; the first of equals, 0 without hits."""
    most, where, first = 0, 0, 0
    counts: dict[str, int] = {}
    for at, said in hits:
        counts[said] = counts.get(said, 0) + 1
        while at - hits[first][0] > width:
            gone = hits[first][1]
            counts[gone] -= 1
            if not counts[gone]:
                del counts[gone]
            first += 1
        if len(counts) > most:
            most, where = len(counts), hits[first][0]
    return where
