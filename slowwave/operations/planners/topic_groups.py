"""Groups of statements of one subject and matter, out of memories that may stand together.

Of one subject is what speaks of the same person or thing (``slowwave.texts.topic_statements``). Of one matter is what shares words of
content, rare ones first, and lies nearer than unrelated texts do, every two of a group. How the text is worded belongs to ``topic_text``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

import numpy as np

from slowwave.conflicts.sentences import contradict
from slowwave.matching.blas import one_thread
from slowwave.matching.cohesion import cohesive_groups
from slowwave.matching.shared_words import SharedWords
from slowwave.operations.planners.consolidation_apart import Contradicting, Pairs
from slowwave.operations.planners.consolidation_pairs import NearPairs, near_pairs
from slowwave.operations.planners.consolidation_pool import Floats, Ints, Mask, Pool
from slowwave.operations.planners.consolidation_search import joined
from slowwave.texts.topic_statements import TopicStatement

_MOST: Final = 50  # members of a topic
_HALF: Final = 0.5  # of the members have each word that names the matter
_DAY: Final = 86_400_000_000  # microseconds
_A_LINE: Final = 4  # tokens of its day


@dataclass(frozen=True, slots=True)
class Topic:
    """Members at ``places`` of the pool, in the order of time, and by what they go together: relations, then stems, commonest first."""

    places: tuple[int, ...]
    stems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TopicSearch:
    """The search for topics of ``pool``, whose k-th memory states ``said[k]``. Of a topic every two members have the cosine ``floor``, none
    stands in ``apart`` or contradicts another, unless one takes the other's place, and all together fit into ``room`` tokens. What is
    ``unfit`` is looked at in groups alone, as that takes longer than to group."""

    pool: Pool
    said: Sequence[TopicStatement]
    floor: float
    least: int
    room: int
    contradicting: Contradicting
    apart: Pairs
    unfit: Callable[[int], bool]
    most: int

    def topics(self) -> list[Topic]:
        """All topics of at least ``least`` members, in the order of the pool, out of the ``most`` groups with the latest statements.

        Time: that of ``consolidation_pairs``, linear in the texts, and for each of these groups the square of its members, 500 µs a pair.
        """
        codes: dict[tuple[int, str], int] = {}
        of = [(int(b), s.subject) for b, s in zip(self.pool.block, self.said, strict=True)]
        block = np.array([codes.setdefault(key, len(codes)) for key in of], np.int64)
        words = SharedWords.of([_words(s) for s in self.said])
        with one_thread():
            near = list(near_pairs(replace(self.pool, block=block), self.floor, self.least))
            likely = [self._likely(words, *pairs) for pairs in near]
            found: list[Topic] = []
            free = np.ones(len(self.said), np.bool_)
            tried: set[tuple[int, ...]] = set()
            while more := list(self._round(likely, words, free, tried)):
                found += more
                free[[k for topic in more for k in topic.places]] = False
        return sorted(found, key=lambda t: t.places)

    def _likely(self, words: SharedWords, rows: Ints, i: Ints, j: Ints, cosine: Floats) -> NearPairs:
        """The near pairs that share a word, with how likely they are of one matter."""
        shared = words.pairs(rows[i], rows[j])
        return rows, i[shared > 0], j[shared > 0], (cosine + shared)[shared > 0]

    def _round(
        self, pairs: Sequence[NearPairs], words: SharedWords, free: Mask, tried: set[tuple[int, ...]]
    ) -> Iterator[Topic]:
        """Topics of groups of free rows that were not tried before, those with the latest statements first: what a group leaves over meets
        again, until nothing more is found."""
        groups = [group for near in pairs for group in self._groups(*near, free)]
        groups.sort(key=lambda g: (-int(self.pool.when[g].max()), g.tolist()))
        for group in groups:
            key = tuple(group.tolist())
            if key not in tried and len(tried) < self.most:
                tried.add(key)
                yield from self._parts(group, words)

    def _groups(self, rows: Ints, i: Ints, j: Ints, likeness: Floats, free: Mask) -> Iterator[Ints]:
        open_ = free[rows[i]] & free[rows[j]]
        used, places = np.unique(np.concatenate([i[open_], j[open_]]), return_inverse=True)
        half = len(places) // 2
        units = self.pool.units(rows[used])
        for group in cohesive_groups(units, places[:half], places[half:], likeness[open_], self.floor, _MOST):
            if len(group) >= self.least:
                yield rows[used[group]]

    def _parts(self, group: Ints, words: SharedWords) -> Iterator[Topic]:
        """The group without those that share none of its words, in parts in which nothing contradicts another."""
        order = sorted((k for k in group.tolist() if not self.unfit(k)), key=lambda k: (self.pool.when[k], k))
        order = [k for k in order if not _stems(self.said[k]).isdisjoint(self._matter(order))]
        if len(order) < self.least:
            return
        at = np.array(order, np.int64)
        units = self.pool.units(at)
        likeness = np.rint((units @ units.T + words.among(at)) * 1e4)
        for a, b in self._apart(order):
            likeness[a, b] = likeness[b, a] = -np.inf
        for part in joined(likeness, self.pool.tokens[at] + _A_LINE, self.room, self.least):
            places = [order[n] for n in part]
            stems = self._matter(places)
            days = {int(self.pool.when[k]) // _DAY for k in places}
            if len(places) >= self.least and stems and len(days) > 1:
                yield Topic(tuple(places), stems)

    def _matter(self, places: Sequence[int]) -> tuple[str, ...]:
        """The stems that at least half of the members have, and two of them."""
        times = Counter(s for k in places for s in _stems(self.said[k]))
        common = [s for s, n in times.items() if n > 1 and n >= _HALF * len(places)]
        return tuple(sorted(common, key=lambda s: (" " not in s, s[0].isdigit(), -times[s], s)))

    def _apart(self, order: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Pairs of places in ``order`` that may not meet."""
        rows = self.pool.rows(order, ("id", "text"))
        for a, b in combinations(range(len(rows)), 2):
            ids = rows[a]["id"], rows[b]["id"]
            pair = (min(ids), max(ids))
            if pair in self.contradicting.replaces and pair not in self.apart:
                continue
            if pair in self.apart or pair in self.contradicting.others or contradict(rows[a]["text"], rows[b]["text"]):
                yield a, b


def _stems(said: TopicStatement) -> frozenset[str]:
    return said.words | said.relations


def _words(said: TopicStatement) -> str:
    """What two statements may share, a relation as one word."""
    return " ".join(sorted({*said.words, *(r.replace(" ", "") for r in said.relations)}))
