"""Things: a memory and the passage that it was made of are one thing, which a search tells once, in the better of its wordings.

A memory is one thing with every passage that it cites. A summary, and a memory that cites no passage but a document, is one thing with
those passages of which one tells what the other says. Which rows cite which is read by ``slowwave.search.search`` from the store and by
``slowwave.search.cited_rows`` from a snapshot; near copies belong to ``slowwave.search.evidence``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, NamedTuple

from slowwave.search.words import asked

STEP: Final = 1e-6
"""The least difference of two ranks."""

_TOLD: Final = 0.7
"""Share of the words of content of a text that stand in another, from which that tells what it says."""


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
