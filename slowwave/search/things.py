"""Results that are one thing: a memory and the passage that it was made from are shown once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from slowwave.search.words import asked, words
from slowwave.text.sentences import sentences

# Grouping: a memory and the passage from which it was made are one thing, which a search returns once, in the better wording.
#
# A memory is one thing with every passage that it cites. A summary, and a memory that cites only a document, is one thing with those
# passages of which one states what the other does. The citations come from ``slowwave.search.search`` for the store and from the class
# below for a snapshot. ``slowwave.search.priors`` handles near copies.

STEP: Final = 1e-6
"""The smallest difference of two ranks."""

_TOLD: Final = 0.7
"""Share of the content words of one text that another must contain to state the same."""


_COMPARED: Final = 40
_LONGEST: Final = 300  # maximum length in characters of a text that may be one sentence
_SHARED: Final = 3
_TAIL: Final = 6
"""Number of leading words that sentences of one form share, and of final words in which they may differ."""

_ADDING: Final = frozenset(("also", "another", "too", "sometimes"))
"""Words that show that a sentence adds a value instead of replacing one."""


class Cited(NamedTuple):
    """The positions of a memory and a passage among rows, and whether they are one result whatever their texts are."""

    memory: int
    passage: int
    sure: bool


def covers(text: str, said: str) -> bool:
    """Return whether one text covers another: it has all of its figures, and 7 in 10 of its other content words."""
    words = set(asked(said))
    missing = words.difference(asked(text))
    return len(missing) <= (1 - _TOLD) * len(words) and not any(c.isdigit() for word in missing for c in word)


def either_covers(one: str, other: str) -> bool:
    """Return whether the longer of two texts covers the shorter one."""
    short, long = sorted((one, other), key=len)
    return covers(long, short)


def replaces(text: str, earlier: str, said: str) -> bool:
    """Return whether the later text of a memory is shown for a passage: the earlier one stated it all, and the later one is no summary."""
    return covers(earlier, said) and len({*asked(text)}) >= _TOLD * len({*asked(said)})


def better_worded(
    cited: Iterable[Cited], ranks: Sequence[float], covered: Sequence[float], lengths: Sequence[int], margin: float
) -> list[float]:
    """Adjust ranks (n) so that, of a memory and its passage within ``margin``, the better-worded one is ahead by ``STEP``.

    The better-worded one has more of the query's words (``covered``), or of equals the shorter one; if both are equal, neither is.
    """
    raised = list(ranks)
    for memory, passage, _ in cited:
        better, other = sorted((memory, passage), key=lambda n: (-covered[n], lengths[n]))
        alike = (covered[better], lengths[better]) == (covered[other], lengths[other])
        if not alike and 0 <= ranks[other] - ranks[better] <= margin:
            raised[better] = max(raised[better], ranks[other] + STEP)
    return raised


def newer_first(texts: Sequence[str], days: Sequence[str], ranks: Sequence[float], margin: float) -> list[float]:
    """Exchange ranks so that of rows with one sentence form and ranks within ``margin`` of the best, the newer is ahead.

    "The spare key is with Ada." and "The spare key is with Otto." have one form: a person who asks wants the latest statement. Only the
    ``_COMPARED`` best rows are compared. ``days`` are ISO; rows without a day keep their ranks.
    """
    given = list(ranks)
    order = sorted(range(len(ranks)), key=lambda n: -ranks[n])[:_COMPARED]
    row_words = {n: words(texts[n]) for n in order if days[n] and len(texts[n]) <= _LONGEST}
    row_words = {n: own for n, own in row_words.items() if _ADDING.isdisjoint(own) and len(sentences(texts[n])) == 1}
    free = [n for n in order if n in row_words]
    while free:
        best = free[0]
        alike = [
            n
            for n in free
            if n == best or (ranks[best] - ranks[n] <= margin and _have_one_form(row_words[best], row_words[n]))
        ]
        free = [n for n in free if n not in alike]
        by_day = sorted(alike, key=lambda n: days[n], reverse=True)
        for place, rank in zip(by_day, [ranks[n] for n in alike], strict=True):
            given[place] = rank
        for newer, older in reversed([*pairwise(by_day)]):
            if days[newer] > days[older]:  # otherwise equal ranks would be ordered by id
                given[newer] = max(given[newer], given[older] + STEP)
    return given


def _have_one_form(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two sentences start with the same ``_SHARED`` or more words and differ in at most ``_TAIL`` final words."""
    shared = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return shared >= _SHARED and max(len(one), len(other)) - shared <= _TAIL


def states_one_sentence(text: str) -> bool:
    """Return whether a text is one sentence, so that a memory made from it states all of it."""
    return len(text) <= _LONGEST and len(sentences(text)) == 1


def leaders(cited: Collection[Cited], joined: Callable[[Cited], bool], single: Callable[[int], bool]) -> dict[int, int]:
    """Return row → the better row that represents it, for the positions of rows, best first, that form one result with a better one.

    A row belongs to the first better row that is shown and forms one result with it, so two facts of one passage are two results if the
    passage is not shown. A passage for which ``single`` holds, one of a single sentence, also belongs to the result that has the memory
    which surely cites it, or a better passage of that memory: a merge leaves one memory with the passages of all. ``joined`` is called for
    pairs that are not sure. Time: linear in the pairs, apart from sorting them.
    """
    before: dict[int, list[tuple[int, Cited]]] = defaultdict(list)
    citing: dict[int, list[int]] = defaultdict(list)
    for pair in cited:
        first, last = sorted((pair.memory, pair.passage))
        before[last].append((first, pair))
        if pair.sure:
            citing[pair.passage].append(pair.memory)
    memories = {pair.memory for pair in cited}
    found: dict[int, int] = {}
    held: dict[
        int, int
    ] = {}  # memory → representative of the result with it, or with the best passage that it surely cites
    for place in sorted({*memories, *(pair.passage for pair in cited)}):
        better = (n for n, pair in sorted(before.get(place, ())) if n not in found and (pair.sure or joined(pair)))
        leader = next(better, place)
        if leader == place and (near := [held[m] for m in citing.get(place, ()) if m in held]) and single(place):
            leader = min(near)
        if leader != place:
            found[place] = leader
        if place in memories:
            held.setdefault(place, leader)
        elif leader == place:
            for memory in citing.get(place, ()):
                held.setdefault(memory, leader)
    return found


def grouped(
    count: int, cited: Collection[Cited], joined: Callable[[Cited], bool], single: Callable[[int], bool]
) -> list[list[int]]:
    """Group the positions of rows, best first, into results: each starts with its representative, see ``leaders``."""
    found = leaders(cited, joined, single)
    things: dict[int, list[int]] = {}
    for place in range(count):
        things.setdefault(found.get(place, place), []).append(place)
    return list(things.values())
