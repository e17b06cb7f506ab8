"""The part of a text that a search shows, around the words of the query."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from typing import Final

from slowwave.search.words import words

# Excerpt: the part of a text that is shown, around the words of the query.

_WORD: Final = re.compile(r"\S+")
_SPACE: Final = re.compile(r"[\x00-\x20]+")  # separates words in any script
_BEFORE: Final = 80  # characters shown before the first hit
_SHORT: Final = (
    24  # characters of a part whose words are cached: results of one search, and of the next, share most of them
)


def snippet(text: str, wanted: Collection[str], longest: int) -> str:
    """Return at most ``longest`` characters of ``text``, from the stretch with the most different words of ``wanted``.

    The text is cut between words.
    """
    if len(text) <= longest:
        return text.strip()
    hits = [
        (match.start(), word)
        for match in _WORD.finditer(text)
        for word in _words_in(match[0])
        if word in wanted
    ]  # fmt: skip
    start = max(0, _densest(hits, longest - _BEFORE) - _BEFORE)
    start = text.rfind(" ", 0, start) + 1 if start else 0
    shown = text[start : start + longest - 2]
    if start + len(shown) < len(text) and " " in shown:
        shown = shown[: shown.rindex(" ")]
    ahead, behind = "…" if start else "", "…" if start + len(shown) < len(text) else ""
    return f"{ahead}{shown.strip()}{behind}"


def coverage(text: str, wanted: Collection[str]) -> float:
    """Return the share of the words of a query that occur in a text, or 0 for a query without words."""
    if not wanted:
        return 0.0
    text_words = {word for part in set(_SPACE.split(text)) for word in _words_in(part)}
    return len(text_words.intersection(wanted)) / len(set(wanted))


def _words_in(part: str) -> tuple[str, ...]:
    """Return the words of a part between spaces, which equal those of the text there; the words of short parts are cached."""
    return _kept(part) if len(part) <= _SHORT else tuple(words(part))


@lru_cache(16_384)
def _kept(part: str) -> tuple[str, ...]:
    return tuple(words(part))


def _densest(hits: list[tuple[int, str]], width: int) -> int:
    """Return the start of the stretch of ``width`` characters with the most different words.

    Returns the first of several equal ones, and 0 without hits.
    """
    most, where, first = 0, 0, 0
    counts: dict[str, int] = {}
    for at, word in hits:
        counts[word] = counts.get(word, 0) + 1
        while at - hits[first][0] > width:
            gone = hits[first][1]
            counts[gone] -= 1
            if not counts[gone]:
                del counts[gone]
            first += 1
        if len(counts) > most:
            most, where = len(counts), hits[first][0]
    return where
