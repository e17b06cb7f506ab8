"""The search for the summaries of a night: clusters of memories, their parts without contradictions, and what is said of these.

Which memories there are belongs to ``consolidation_pool``, how a summary is worded to ``summary_text``.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slowwave.config.settings import Settings
from slowwave.conflicts.sentences import contradict
from slowwave.matching.blas import one_thread
from slowwave.matching.cohesion import cohesive_groups
from slowwave.matching.shared_words import SharedWords
from slowwave.operations.planners.attempts import EXTRACTIVE
from slowwave.operations.planners.consolidation_apart import Pairs
from slowwave.operations.planners.consolidation_items import FoundSummary
from slowwave.operations.planners.consolidation_pairs import NearPairs, near_pairs
from slowwave.operations.planners.consolidation_pool import Fields, Floats, Ints, Mask, Pool
from slowwave.operations.planners.summary_text import Writing
from slowwave.rows.screening_exemptions import is_held_back
from slowwave.rows.small_talk import text_without_small_talk
from slowwave.texts.extractive import Source
from slowwave.texts.substance import substance
from slowwave.texts.token_count import count

_MOST: Final = 50  # members of a summary
_TRIES: Final = 3  # calls of a model for each summary that a night may propose
_NEVER: Final = -np.inf
_OF_CAP: Final = 0.8
"""Part of what a plan may retire (``slowwave.probes.blast_radius``) that summaries take of it."""
_RIVALS: Final = 5  # summaries worded for each one that is proposed, the most tokens first
_SAVING: Final = 0.1
"""Share of the members' tokens that a summary saves at least: for less, three memories that recall can tell apart are better."""


@dataclass(slots=True)
class Search:
    """The search for the best summaries of a pool: every two members have the cosine ``floor``, ``cannot_link`` are pairs that may not
    meet; a cluster needs a row of ``focus``."""

    pool: Pool
    settings: Settings
    floor: float
    cannot_link: Pairs
    focus: Mask | None
    writing: Writing
    numbers: dict[str, int | float]
    near: Ints = field(init=False)
    words: SharedWords = field(init=False)
    telling: NDArray[np.floating] = field(init=False)

    def summaries(self) -> list[FoundSummary]:
        """The best of all, those of most worth first. Those that are left uncited meet again until nothing more is found."""
        for name in ("clusters", "memories in clusters", *_LEFT_OUT):
            self.numbers[name] = 0
        with one_thread():
            pairs = self._likely(
                list(near_pairs(self.pool, self.floor, self.settings.operations.consolidate_clusters.min_cluster_size))
            )
        self.numbers["near pairs"] = sum(len(i) for _, i, _, _ in pairs)
        free = np.ones(len(self.pool.table), np.bool_)
        found: list[FoundSummary] = []
        tried: set[tuple[int, ...]] = set()
        most, rows, tokens = self._room()
        while len(found) < most:
            more = self._round(pairs, free, tried, most - len(found))
            if not more:
                break
            free[[p for s in more for p in s.places]] = False
            for s in more:
                if found and (len(s.places) > rows or s.before > tokens):
                    self.numbers["clusters left for another night"] += 1
                    continue
                found.append(s)
                rows -= len(s.places)
                tokens -= s.before
        return sorted(found, key=lambda s: (-s.worth, s.places))

    def _likely(self, pairs: Sequence[NearPairs]) -> list[NearPairs]:
        """The pairs with how likely they are of one matter: their cosine, and the words that they share."""
        none = np.empty(0, np.int64)
        one = np.concatenate([none, *(rows[i] for rows, i, _, _ in pairs)])
        two = np.concatenate([none, *(rows[j] for rows, _, j, _ in pairs)])
        self.near = np.unique(np.concatenate([one, two]))
        texts: list[str] = self.pool.table["text"].take(pa.array(self.near)).to_pylist()
        self.words = SharedWords.of(texts)
        self.telling = np.array([substance(text) for text in texts], np.float32) * self.pool.tokens[self.near]
        # Pairs of all blocks at once: most blocks have one or two, and each call costs 300 µs however few they are.
        shared = self.words.pairs(np.searchsorted(self.near, one), np.searchsorted(self.near, two))
        ends = np.cumsum([len(i) for _, i, _, _ in pairs], dtype=np.int64)
        parts = np.split(shared, ends[:-1]) if pairs else []
        return [(rows, i, j, cosine + part) for (rows, i, j, cosine), part in zip(pairs, parts, strict=True)]

    def _room(self) -> tuple[int, int, int]:
        """How many summaries a night may propose, of how many memories and of how many of their tokens: what a plan may retire at most is
        left to other operations by a part. One is always proposed."""
        settings, live, tokens = self.settings, self.numbers["live memories"], self.numbers["live tokens"]
        allowed = max(settings.blast_radius_share * live, settings.blast_radius_rows)
        rows = int(_OF_CAP * allowed)
        options = settings.operations.consolidate_clusters
        most = max(1, min(options.max_clusters_per_run, rows // options.min_cluster_size))
        return most, rows, int(min(1.0, _OF_CAP * 2 * allowed / max(live, 1)) * tokens)

    def _round(
        self, pairs: Sequence[NearPairs], free: Mask, tried: set[tuple[int, ...]], most: int
    ) -> list[FoundSummary]:
        """The best summaries of clusters of free rows that were not tried before, at most ``most``."""
        waiting: list[tuple[float, tuple[int, ...], bool]] = []
        for near in pairs:
            for members in self._clusters(*near, free):
                if members not in tried:
                    tried.add(members)
                    self.numbers["clusters"] += 1
                    self.numbers["memories in clusters"] += len(members)
                    if (most_worth := self._most_worth(members)) > 0:
                        waiting.append((-most_worth, members, False))
                    else:
                        self.numbers["clusters of small talk"] += 1
        heapq.heapify(waiting)
        found: list[FoundSummary] = []
        while waiting:
            potential, members, whole = heapq.heappop(waiting)
            best = heapq.nlargest(most, (s.worth for s in found))
            if len(best) == most and (len(found) >= _RIVALS * most or -potential <= best[-1]):
                self.numbers["clusters left for another night"] += 1
                continue
            if not whole:
                for part in self._parts(members):
                    heapq.heappush(waiting, (-self._most_worth(part), part, True))
                continue
            if (summary := self._summary(members)) is not None:
                found.append(summary)
        found.sort(key=lambda s: (-s.worth, s.places))
        self.numbers["clusters left for another night"] += len(found[most:])
        return found[:most]

    def _clusters(self, rows: Ints, i: Ints, j: Ints, likeness: Floats, free: Mask) -> Iterator[tuple[int, ...]]:
        open_ = free[rows[i]] & free[rows[j]]
        used, places = np.unique(np.concatenate([i[open_], j[open_]]), return_inverse=True)
        half = len(places) // 2
        groups = cohesive_groups(
            self.pool.units(rows[used]),
            *(
                places[:half],
                places[half:],
                likeness[open_],
                self.floor,
                _MOST,
            ),
        )
        for group in groups:
            members = tuple(rows[used[group]].tolist())
            if len(members) < self.settings.operations.consolidate_clusters.min_cluster_size:
                continue
            if self.focus is None or self.focus[list(members)].any():
                yield members

    def _most_worth(self, members: Sequence[int]) -> float:
        """No summary of the members or some of them is worth more."""
        return float(self._informative_tokens(members).sum())

    def _informative_tokens(self, members: Sequence[int]) -> NDArray[np.floating]:
        """Of each member the tokens that tell something."""
        return self.telling[np.searchsorted(self.near, np.array(members, np.int64))]

    def _parts(self, members: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """The members in parts that fit a summary's input and in which nothing contradicts another, each in the order of time.

        Those nearest to each other come together first, so that what is told of one matter is not torn apart by what is like it.
        """
        order = sorted(members, key=lambda k: (self.pool.when[k], k))
        rows = dict(zip(order, self.pool.rows(order, ("id", "text", "attributes")), strict=True))
        held_back = {k for k, row in rows.items() if is_held_back(row["text"], row["attributes"])}
        self.numbers["memories held back by screening"] += len(held_back)
        order = [k for k in order if k not in held_back]
        rows = {k: rows[k] for k in order}
        apart = self._apart(rows)
        at = np.array(order, np.int64)
        units = self.pool.units(at)
        likeness = units @ units.T + self.words.among(np.searchsorted(self.near, at))
        likeness = np.rint(likeness * 1e4)  # what is equal to four digits goes by time
        place = {k: n for n, k in enumerate(order)}
        for a, b in apart:
            likeness[place[a], place[b]] = likeness[place[b], place[a]] = _NEVER
        room = self.settings.operations.consolidate_clusters.max_input_tokens
        least = self.settings.operations.consolidate_clusters.min_cluster_size
        for part in joined(likeness, self.pool.tokens[order], room, least):
            kept = self._enough_news([order[n] for n in part])
            if len(kept) >= least:
                yield tuple(kept)
            else:
                self.numbers["memories in no part of enough members"] += len(part)

    def _apart(self, rows: Mapping[int, Fields]) -> frozenset[tuple[int, int]]:
        """Pairs that may not stand in one summary."""
        pairs = [(min(p), max(p)) for p in combinations(rows, 2)]
        found: set[tuple[int, int]] = set()
        for a, b in pairs:
            ids = rows[a]["id"], rows[b]["id"]
            if (min(ids), max(ids)) in self.cannot_link:
                self.numbers["pairs that a rejection or conflict forbids"] += 1
            elif contradict(rows[a]["text"], rows[b]["text"]):
                self.numbers["pairs that contradict each other"] += 1
            else:
                continue
            found.add((a, b))
        return frozenset(found)

    def _enough_news(self, part: Sequence[int]) -> list[int]:
        """The part, without its summaries when these are more than half of it."""
        old = int(self.pool.summary[list(part)].sum())
        if 2 * old <= len(part):
            return list(part)
        self.numbers["summaries with too few new memories"] += old
        return [k for k in part if not self.pool.summary[k]]

    def _summary(self, members: tuple[int, ...]) -> FoundSummary | None:
        """What stands for the members, or for those of them that a text can tell whole; None where that is no gain."""
        least, settings = self.settings.operations.consolidate_clusters.min_cluster_size, self.settings
        if self.writing.calls >= _TRIES * self._room()[0]:
            self.writing.writer = None  # the sources have the word, so that what a model cannot do starves nothing
        rows = dict(zip(members, self.pool.rows(members), strict=True))
        left = list(members)
        while len(left) >= least:
            written = self.writing.shorten(
                [_source(rows[k]) for k in left], settings.operations.consolidate_clusters.max_output_tokens
            )
            if written is None:
                return None
            cited = [k for k in left if rows[k]["id"] in written.cited]
            if written.writer == EXTRACTIVE and len(cited) < len(left):
                left = self._enough_news(cited if len(cited) >= least else self._without_dearest(left))
                continue
            if len(cited) < least:
                break
            if len(news := self._enough_news(cited)) < len(cited):  # of whom a model cites, as many must be new
                left = news
                continue
            before, after = int(self.pool.tokens[cited].sum()), count(written.text)
            if before - after < max(1.0, _SAVING * before):
                self.numbers["clusters without a saving"] += 1
                return None
            uncited = tuple(k for k in members if k not in cited)
            share = float(self._informative_tokens(cited).sum()) / before
            return FoundSummary(tuple(cited), uncited, written, before, after, substance=share)
        self.numbers["clusters that would lose a specific"] += 1
        return None

    def _without_dearest(self, members: Sequence[int]) -> list[int]:
        dearest = max(members, key=lambda k: (self.pool.tokens[k], k))
        return [k for k in members if k != dearest]


def joined(likeness: Floats, tokens: Ints, room: int, least: int) -> list[list[int]]:
    """Groups of the n rows of ``likeness`` (n, n), by their first row: two become one where each of the one goes with each of the other
    (nothing is ``_NEVER``) and their tokens fit into ``room``; those with the greatest mean first. What is left in groups of fewer than
    ``least`` goes to the largest of these as far as it may. Time: n³ for n of at most ``_MOST``."""
    groups = {n: [n] for n in range(len(tokens))}
    mean = np.array(likeness, np.float64)
    size = [int(t) for t in tokens]
    np.fill_diagonal(mean, _NEVER)
    while len(groups) > 1:
        a, b = divmod(int(np.argmax(mean)), len(tokens))
        if mean[a, b] <= _NEVER:
            break
        if size[a] + size[b] > room:
            mean[a, b] = mean[b, a] = _NEVER
            continue
        one, two = len(groups[a]), len(groups[b])
        mean[a] = mean[:, a] = (one * mean[a] + two * mean[b]) / (one + two)  # of minus infinity it stays so
        mean[b] = mean[:, b] = mean[a, a] = _NEVER
        size[a] += size[b]
        groups[a] += groups.pop(b)
    few = sorted((g for g in groups.values() if len(g) < least), key=len, reverse=True)
    while few:
        core, others = few[0], sorted(k for g in few[1:] for k in g)
        kept = list(core)
        for k in others:
            if likeness[k, kept].min() > _NEVER and tokens[[k, *kept]].sum() <= room:
                kept.append(k)
        if len(kept) < least:
            break
        core[:] = kept
        few = sorted((left for g in few[1:] if (left := [k for k in g if k not in kept])), key=len, reverse=True)
        groups = dict(enumerate([g for g in groups.values() if len(g) >= least] + few))
    return sorted(sorted(g) for g in groups.values())


_LEFT_OUT: Final = (
    "pairs that a rejection or conflict forbids",
    "pairs that contradict each other",
    "memories held back by screening",
    "memories in no part of enough members",
    "summaries with too few new memories",
    "clusters that would lose a specific",
    "clusters of small talk",
    "clusters without a saving",
    "clusters left for another night",
)


def _source(row: Fields) -> Source:
    return Source(row["id"], text_without_small_talk(row["text"], row["kind"], row["author"]), row["valid_from"])
