"""Texts that contradict each other in a sentence: what decides whether two memories may stand in one summary."""

from __future__ import annotations

from functools import lru_cache

from slowwave.conflicts.memories import LONGEST, one_matter
from slowwave.texts.contradictions import find
from slowwave.texts.extractive import split
from slowwave.texts.sameness import read
from slowwave.texts.statements import stem
from slowwave.texts.tokens import tokenise
from slowwave.texts.vocabulary import GRAMMAR


def contradict(a: str, b: str) -> bool:
    """Whether two texts contradict each other: as wholes when both are one sentence or tell one matter, else in two sentences that speak of
    one thing.

    Those have half of the shorter one's words of content in common. What both say stands beside the rest in either of them, and
    contradicts none of it. Time: the product of the sentences, and ``find`` for such pairs.
    """
    one, two = _sentences(a), _sentences(b)
    if len(one) < 2 and len(two) < 2:
        return find([(a, b)]) != [None]
    both = {x for x, _ in one} & {y for y, _ in two}
    close = [
        (x, y)
        for x, mine in one
        for y, theirs in two
        if x not in both and y not in both and 2 * len(mine & theirs) >= min(len(mine), len(theirs))
    ]
    if any(kind is not None for kind in find(close)):
        return True
    short = max(len(a), len(b)) <= LONGEST
    return short and find([(a, b)]) != [None] and one_matter(read(a), read(b), about=True)


@lru_cache(maxsize=4096)
def _sentences(text: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Its sentences, each once, with the stems of their words of content."""
    once = dict.fromkeys(split(text))
    return tuple((s, frozenset(stem(w) for w in tokenise(s) if w not in GRAMMAR)) for s in once)
