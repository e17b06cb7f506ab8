"""Things: a memory and the passage that it was made of are one thing, which a search tells once, in the better of its wordings.

A memory is one thing with every passage that it cites. A summary, and a memory that cites no passage but a document, is one thing with
those passages of which one tells what the other says. Which rows cite which is read by ``slowwave.search.search`` from the store and by
``slowwave.search.cited_rows`` from a snapshot; near copies belong to ``slowwave.search.evidence``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from slowwave.search.words import asked, words
from slowwave.texts.sentences import sentences

STEP: Final = 1e-6
"""The least difference of two ranks."""

_TOLD: Final = 0.7
"""Share of the words of content of a text that stand in another, from which that tells what it says."""


_COMPARED: Final = 40
_LONGEST: Final = 300  # characters of a text that may be one sentence
_SHARED: Final = 3
_TAIL: Final = 6
"""Words that sentences of one form have in common at the beginning, and may have apart at the end."""

_ADDING: Final = frozenset(("also", "another", "too", "sometimes"))
"""Words by which a sentence adds a value instead of replacing one."""


class Cited(NamedTuple):
    """Places of a memory and a passage among rows, and whether they are one thing whatever they say."""

    memory: int
    passage: int
    sure: bool


def covers(text: str, said: str) -> bool:
    """Whether what one text says stands in another: all its figures, and 7 in 10 of its other words of content."""
    words = set(asked(said))
    missing = words.difference(asked(text))
    return len(missing) <= (1 - _TOLD) * len(words) and not any(c.isdigit() for word in missing for c in word)


def either_covers(one: str, other: str) -> bool:
    """Whether what the shorter of two texts says stands in the longer."""
    short, long = sorted((one, other), key=len)
    return covers(long, short)


def better_worded(
    cited: Iterable[Cited], ranks: Sequence[float], covered: Sequence[float], lengths: Sequence[int], margin: float
) -> list[float]:
    """Ranks (n) → ranks (n): of a memory and its passage whose ranks lie within ``margin`` the better-worded one is ahead, by ``STEP``.

    That is the one that has more of the query's words (``covered``), or of equals the shorter one; of two as long neither is.
    """
    raised = list(ranks)
    for memory, passage, _ in cited:
        better, other = sorted((memory, passage), key=lambda n: (-covered[n], lengths[n]))
        alike = (covered[better], lengths[better]) == (covered[other], lengths[other])
        if not alike and 0 <= ranks[other] - ranks[better] <= margin:
            raised[better] = max(raised[better], ranks[other] + STEP)
    return raised


def newer_first(texts: Sequence[str], days: Sequence[str], ranks: Sequence[float], margin: float) -> list[float]:
    """Exchange ranks so that, of rows of one sentence form whose ranks lie within ``margin`` of the best of them, the newer is ahead.

    "The spare key is with Ada." and "The spare key is with Otto." have one form: whoever asks wants the one that was stated last. Only the
    ``_COMPARED`` best rows are compared. ``days`` are ISO; rows without a day stay where they are.
    """
    given = list(ranks)
    order = sorted(range(len(ranks)), key=lambda n: -ranks[n])[:_COMPARED]
    said = {n: words(texts[n]) for n in order if days[n] and len(texts[n]) <= _LONGEST}
    said = {n: own for n, own in said.items() if _ADDING.isdisjoint(own) and len(sentences(texts[n])) == 1}
    free = [n for n in order if n in said]
    while free:
        best = free[0]
        alike = [
            n for n in free if n == best or (ranks[best] - ranks[n] <= margin and _have_one_form(said[best], said[n]))
        ]
        free = [n for n in free if n not in alike]
        by_day = sorted(alike, key=lambda n: days[n], reverse=True)
        for place, rank in zip(by_day, [ranks[n] for n in alike], strict=True):
            given[place] = rank
        for newer, older in reversed([*pairwise(by_day)]):
            if days[newer] > days[older]:  # equal ranks would be ordered by id
                given[newer] = max(given[newer], given[older] + STEP)
    return given


def _have_one_form(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two sentences begin with the same ``_SHARED`` words or more and differ in at most ``_TAIL`` at the end of each."""
    shared = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return shared >= _SHARED and max(len(one), len(other)) - shared <= _TAIL


def grouped(count: int, cited: Collection[Cited], told: Callable[[Cited], bool]) -> list[list[int]]:
    """Places of rows, best first, as things: each begins with the row that tells it, and goes on with those that it stands for.

    A row belongs to the first better one that is shown and is one thing with it, so that two facts of one passage are two where the passage
    is not shown. ``told`` is asked of pairs that are not sure. Time: linear in the rows and pairs.
    """
    before: dict[int, list[tuple[int, Cited]]] = defaultdict(list)
    for pair in cited:
        first, last = sorted((pair.memory, pair.passage))
        before[last].append((first, pair))
    things: dict[int, list[int]] = {}
    for place in range(count):
        better = sorted(before.get(place, ()))
        leader = next((n for n, pair in better if n in things and (pair.sure or told(pair))), place)
        things.setdefault(leader, []).append(place)
    return list(things.values())
