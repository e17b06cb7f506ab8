"""Grounding: what a sentence states and none of the texts that it cites does, and what of these it leaves unsaid.

A model that words a summary may add a number, a name or a "not", or leave one out. Compared are specifics, word by word; what a
sentence means is not understood here, so a wrong sentence of nothing but the sources' own words passes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from slowwave.texts.specifics import Specifics, specifics
from slowwave.texts.statements import stem
from slowwave.texts.tokens import tokenise
from slowwave.texts.vocabulary import GRAMMAR, OPENERS

_CAPITAL: Final = re.compile(r"(?<![\w'’])[^\W\d_]\w+")


def ungrounded(claim: str, sources: Sequence[str]) -> tuple[str, ...]:
    """What of ``claim`` stands in none of ``sources``, sorted; empty when all of it does.

    That are numbers, dates, versions, identifiers and names, words with a capital, negations of something that no source denies,
    what only sources that deny it mention, and terms that exclude those of the sources. Time: linear in the texts, each of which
    is read once.
    """
    said, known = _read(claim), [_read(s) for s in sources]
    text = " \n ".join(["", *(" ".join(tokenise(s)) for s in sources), ""])
    words = _union(k.words for k in known)
    terms = _union(k.terms() for k in known)
    foreign = {t for t in said.terms() - terms if _has_digit(t) or f" {' '.join(tokenise(t))} " not in text}
    capitals = {w.casefold() for w in _CAPITAL.findall(claim) if w[0].isupper()}
    foreign |= capitals - words - GRAMMAR - OPENERS
    foreign |= _turned(said, known) | _excluded(said, known)
    return tuple(sorted(foreign))


def unsaid(terms: frozenset[str], texts: Sequence[str]) -> frozenset[str]:
    """The terms (of ``Specifics.terms``) that stand in none of the texts; one without digits may also stand inside a longer name.

    Words are compared before texts are read for their specifics, which costs a hundred times more.
    """
    words = " \n ".join(["", *(" ".join(tokenise(text)) for text in texts), ""])
    left = frozenset(t for t in terms if _has_digit(t) or f" {' '.join(tokenise(t))} " not in words)
    for text in texts:
        if not left:
            break
        left -= _read(text).terms()
    return left


def _turned(said: Specifics, known: Sequence[Specifics]) -> set[str]:
    """What the claim denies and no source does, and what it says plainly although a source that mentions it denies it."""
    denied = _union(k.denied | k.declined for k in known)
    plain = {stem(w) for w in said.words}
    if said.negations or said.declined:
        return {f"not {s}" for s in (said.denied | said.declined) - denied}
    return {f"not {s}" for s in plain & denied if s}


def _excluded(said: Specifics, known: Sequence[Specifics]) -> set[str]:
    mine = said.groups()
    theirs: dict[str, frozenset[str]] = {}
    for k in known:
        for group, terms in k.groups().items():
            theirs[group] = theirs.get(group, frozenset()) | terms
    return {term for group in mine.keys() & theirs.keys() for term in mine[group] - theirs[group]}


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*sets)


def _has_digit(term: str) -> bool:
    return any(map(str.isdigit, term))


@lru_cache(maxsize=4096)
def _read(text: str) -> Specifics:
    return specifics(text)
