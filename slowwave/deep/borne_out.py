"""Whether what a model wrote is borne out by what it was given: as ``slowwave.texts.grounding`` has it, with the sources that it names.

Compared are words, figures and names; what a sentence means is not understood here, so a wrong one of nothing but the sources' own words
passes, and a person decides it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from slowwave.texts.grounding import ungrounded, unsaid
from slowwave.texts.screening import unsafe
from slowwave.texts.specifics import specifics
from slowwave.texts.statements import stem
from slowwave.texts.vocabulary import GRAMMAR
from slowwave.texts.who_did_what import exchanged_parties

PASSAGE: Final = 20_000
"""Characters of one source that a text is compared with."""

_SHARE: Final = 0.5  # of a new text's words that stand in what it was made from
_TOLD: Final = 0.7  # of a text's words that stand where it is told as well
_WORD: Final = re.compile(r"[^\W_]{4,}|\d+")


def unborne(text: str, known: Sequence[str]) -> str:
    """Why a text does not stand on what is ``known``, in words that go on a sentence; empty when it does. Cost: linear in the texts."""
    if why := unsafe(text):
        return why
    if foreign := ungrounded(text, known):
        return f"says what no source of it does ({len(foreign)} words or figures)"
    words = _stems(text)
    if len(words & frozenset[str]().union(*map(_stems, known))) < _SHARE * len(words):
        return "says what no source of it does"
    if exchanged_parties(text, known):
        return "exchanges who did what to whom"
    return ""


def passage(text: str, claim: str) -> str:
    """The lines of a source that share a word of four letters or a number with a claim, as far as ``PASSAGE`` reaches."""
    words = frozenset(w.casefold() for w in _WORD.findall(claim))
    kept = (line for line in text.split("\n") if not words.isdisjoint(w.casefold() for w in _WORD.findall(line)))
    return "\n".join(kept)[:PASSAGE]


def covered_by(text: str, others: Iterable[str]) -> str:
    """The first of ``others`` that tells what a text does: all its specifics, and most of its words; empty where none does."""
    terms, words = specifics(text).terms(), _stems(text)
    for other in others:
        if len(words & _stems(other)) >= _TOLD * len(words) and not unsaid(terms, [other]):
            return other
    return ""


def lost(was: str, texts: Sequence[str]) -> tuple[str, ...]:
    """Numbers, dates, names and the like of a text that none of ``texts`` has, sorted."""
    return tuple(sorted(unsaid(specifics(was).terms(), texts)))


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(w) for w in specifics(text).words if w not in GRAMMAR)
