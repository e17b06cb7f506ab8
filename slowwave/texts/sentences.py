"""Sentences: where a reader ends them, in prose without line breaks.

A full stop ends no sentence in an abbreviation, an initial, a number, a version or an address, after the number of a list item, where
something is left out (…), nor within quotation marks, brackets or code. In doubt two sentences stay one: a long one is left whole, half
of one is wrong. Lines, lists, headings and tables belong to ``slowwave.texts.structure``.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from slowwave.texts.verbatim import Verbatim
from slowwave.texts.vocabulary import OPENERS

LONGEST_ASIDE: Final = 600
"""Characters within quotation marks or brackets that are kept together."""

_BREAK: Final = re.compile(r"(?<=[.!?…。！？])[\"'”’)\]»」』]*(?=\s)|(?<=[。！？])[”’」』）]*(?=\S)")
_ABBREVIATED: Final = re.compile(
    r"(?:\b(?:mr|mrs|ms|mx|dr|prof|hon|gen|col|capt|lt|sgt|rev|st|sr|sra|jr|mme|mlle|hr|fr|messrs|vs|cf|al|ca|approx|abs|art|bzw|ggf|"
    r"usw|nr|no|nos|fig|figs|eq|sec|ch|chap|vol|ed|eds|pp?|para|dept|est|etc|inc|ltd|co|corp|bros|ave|blvd|rd|ext|tel|min|max|avg|incl|"
    r"excl|resp|mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)|"
    r"(?<!\w)[^\W\d_](?:\.[^\W\d_])*|\bph\.d)\.$",
    re.IGNORECASE,
)
_ORDINAL: Final = re.compile(r"\b(?:de[mnrs]|das|die|am|im|vom|zum|zur|beim|seit|bis) \d{1,2}\.$", re.IGNORECASE)
"""A German ordinal: "am 4. November"; of English only "die 4." looks like one."""

_MAY_END: Final = re.compile(
    r"(?:\b(?:etc|usw|inc|ltd|co|corp|jr|sr|ave|blvd|rd|al|ext)|(?<!\w)(?!e\.g|i\.e)[^\W\d_](?:\.[^\W\d_])*|\bph\.d)\.$",
    re.IGNORECASE,
)
"""Abbreviations that end a sentence when one begins behind them."""

_FIRST_WORD: Final = re.compile(r"\s*([A-Z][a-z'’]*)(?=[\s,])")
_ENUMERATOR: Final = re.compile(r"[\W_]*(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[ivxlIVXL]{1,6})[.)][\W_]*|[\W_]+")
_CLOSING: Final = "\"'”’)]»」』）"
_OPEN: Final = "([（"
_LONGEST_ABBREVIATION: Final = 16


def sentences(text: str) -> list[str]:
    """The sentences of a text in their order, without the space around them; a line break counts as a space. Linear in the text."""
    if _BREAK.search(text) is None:  # what most memories are: one sentence
        return [whole] if (whole := text.strip()) else []
    parts: list[str] = []
    start = 0
    asides = _asides(text)
    ends = [end for _, end in asides]
    for match in _BREAK.finditer(text):
        end = match.end()
        if _ends(text, start, end) and not _within(asides, ends, end):
            parts.append(text[start:end])
            start = end
    parts.append(text[start:])
    return list(_whole(p for part in parts if (p := part.strip())))


def _ends(text: str, start: int, end: int) -> bool:
    """Whether the stop before ``end`` ends the sentence that began at ``start``."""
    close = end
    while close > start and text[close - 1] in _CLOSING:
        close -= 1
    mark = text[close - 1]
    after = text[end : end + 8].lstrip()
    if mark in "。！？":
        return True
    if after[:1].islower():
        return False
    if mark in "!?":
        return True
    if mark == "…" or text[max(start, close - 2) : close] == "..":
        return False
    before = text[max(start, close - _LONGEST_ABBREVIATION) : close]
    if close == end and _ORDINAL.search(before):
        return False
    if close == end and _ABBREVIATED.search(before):
        word = _FIRST_WORD.match(text, end, end + 24)
        return bool(word and word[1].lower() in OPENERS and _MAY_END.search(before))
    return not (text[close - 2 : close - 1].isdigit() and after[:1].isdigit() and close - start < _LONGEST_ABBREVIATION)


def _asides(text: str) -> list[tuple[int, int]]:
    """What stands in quotation marks, code, addresses and brackets: apart from each other, by place."""
    verbatim = Verbatim.of(text)
    spans = [s for s in zip(verbatim.starts, verbatim.ends, strict=True) if s[1] - s[0] <= LONGEST_ASIDE]
    spans += _brackets(text)
    spans.sort()
    apart: list[tuple[int, int]] = []
    for start, end in spans:
        if apart and start < apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
        else:
            apart.append((start, end))
    return apart


def _brackets(text: str) -> Iterator[tuple[int, int]]:
    """The outermost brackets that are closed."""
    opened: list[int] = []
    for match in re.finditer(r"[()\[\]（）]", text):
        if match[0] in _OPEN:
            opened.append(match.start())
        elif opened:
            start = opened.pop()
            if not opened and match.end() - start <= LONGEST_ASIDE:
                yield start, match.end()


def _within(asides: list[tuple[int, int]], ends: list[int], place: int) -> bool:
    """Whether a place lies strictly inside of one of them."""
    k = bisect_left(ends, place + 1)
    return k < len(asides) and asides[k][0] < place < asides[k][1]


def _whole(parts: Iterator[str]) -> Iterator[str]:
    """The parts, with the number of a list item, and marks without a word, joined to what follows them."""
    held = ""
    for part in parts:
        piece = f"{held} {part}" if held else part
        if _ENUMERATOR.fullmatch(part):
            held = piece
        else:
            held = ""
            yield piece
    if held:
        yield held
