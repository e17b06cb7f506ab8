"""Search for the summaries of a night: near memories that may be combined, in clusters without contradictions."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations, product
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.changes.cells import Guard
from slowwave.changes.mutation import Mutation, Row
from slowwave.changes.rows import rows_where
from slowwave.matching.blocks import Blocks
from slowwave.matching.match import cohesive_groups
from slowwave.matching.memories import UNRELATED, NullCosines, null_cosines
from slowwave.matching.vectors import neighbours, one_thread, pairs_of, unit_rows
from slowwave.matching.words import SharedWords
from slowwave.models import Embed
from slowwave.models.embedding_models import UNRELATED_COSINES
from slowwave.operations import Inputs
from slowwave.operations.conflicts.find import conflicts_of_memories, contradict
from slowwave.operations.conflicts.rows import Tally
from slowwave.operations.rejections import conflicting_pairs
from slowwave.operations.summary_text import (
    EXTRACTIVE,
    SUMMARY,
    Fields,
    Floats,
    FoundSummary,
    Ints,
    Mask,
    Pool,
    Writing,
)
from slowwave.plans.items import Item
from slowwave.snapshots.rows import is_held_back, text_without_small_talk
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings
from slowwave.text.extractive import Source
from slowwave.text.informative import substance
from slowwave.text.statements import stem
from slowwave.text.tokens import count
from slowwave.text.words import GRAMMAR

# Near pairs of memories that may be combined: those with a cosine from a floor up, in time that grows with the memories.
#
# Small blocks are compared completely. In larger ones only pairs are compared that share a rare word or two consecutive words, as texts
# about one matter do.

NearPairs = tuple[Ints, Ints, Ints, Floats]
"""Rows of a block, and near pairs i < j of them as positions among these, with their similarity."""

_FEW: Final = 512  # rows of a block all pairs of which are looked at
_NEAREST: Final = 24  # neighbours that each row of a larger block is joined with
WHOLE: Final = 16_384
"""Rows of a block up to which every row is compared with every other; this takes half a second."""

_BUDGET: Final = 16  # pairs a row that are compared in a larger block
_CHUNK: Final = 4_096  # pairs whose vectors are gathered at a time
_SPACE: Final = r"[^\pL\pN]+"


def near_pairs(pool: Pool, floor: float, least: int, whole: int = WHOLE) -> Iterator[NearPairs]:
    """Yield the near pairs (cosine ≥ ``floor``) of each block of at least ``least`` rows, sorted.

    In blocks of up to ``whole`` rows, every row is compared exactly with its ``_NEAREST`` nearest, in time that grows with the square. In
    larger blocks the pairs are those that share a rare word or two consecutive rare words, the rarest first, up to ``_BUDGET`` pairs per
    row; the time is linear in the words of the texts, plus a sort of them. A pair without such words in common is not found there;
    retellings and copies share some.
    """
    order = np.argsort(pool.block, kind="stable")
    starts = np.flatnonzero(np.diff(pool.block[order], prepend=-1))
    for rows in np.split(order, starts[1:]):
        if len(rows) < least:
            continue
        if len(rows) <= min(_FEW, whole):
            units = pool.units(rows)
            cosine = units @ units.T
            i, j = np.nonzero(np.triu(cosine >= floor, 1))
            near = cosine[i, j]
        elif len(rows) <= whole:
            i, j, near = pairs_of(*neighbours(pool.matrix, _NEAREST, max(floor, 1e-6), pool.vector[rows]))
        else:
            i, j, near = _worded(pool, rows, floor)
        if len(i):
            yield rows, i.astype(np.int64), j.astype(np.int64), near


def _worded(pool: Pool, rows: Ints, floor: float) -> tuple[Ints, Ints, Floats]:
    """Return the pairs of a large block that share rare words."""
    blocks, _ = sharing(pool.table["text"].take(pa.array(rows))).within(_BUDGET * len(rows))
    i, j = np.divmod(blocks.all_pairs(len(rows)), len(rows))
    cosine = np.empty(len(i), np.float32)
    for start in range(0, len(i), _CHUNK):
        at = slice(start, start + _CHUNK)
        one, two = (unit_rows(pool.matrix[pool.vector[rows[side[at]]]])[0] for side in (i, j))
        cosine[at] = np.einsum("ij,ij->i", one, two)
    near = cosine >= np.float32(floor)
    return i[near], j[near], cosine[near]


def sharing(texts: pa.ChunkedArray) -> Blocks:
    """Return a block for each stem of a content word, and for each two consecutive stems, that several texts (n,) have."""
    words = pc.split_pattern_regex(pc.utf8_lower(texts.combine_chunks()), _SPACE)
    row = pc.list_parent_indices(words).to_numpy().astype(np.int64)
    flat = pc.list_flatten(words).dictionary_encode()
    stems: dict[str, int] = {}
    known = [
        -1 if not w or w in GRAMMAR else stems.setdefault(stem(w), len(stems)) for w in flat.dictionary.to_pylist()
    ]
    code = np.array([*known, -1], np.int64)[flat.indices.to_numpy()]
    row, code = row[code >= 0], code[code >= 0]
    follows = np.flatnonzero(row[1:] == row[:-1])
    two = len(stems) + code[follows] * len(stems) + code[follows + 1]
    rows, keys = np.concatenate([row, row[follows]]), np.concatenate([code, two])
    order = np.argsort(keys, kind="stable")
    rows, keys = rows[order], keys[order]
    _, places = np.unique(keys, return_inverse=True)
    return Blocks.from_codes(rows, places.astype(np.int64))


# Pairs of memories that may not be in one summary, and those of which one replaces the other.
#
# ``slowwave.operations.conflicts`` finds the contradictions, the searches find the close memories.

Pairs = frozenset[tuple[str, str]]
"""Ids of two memories, the smaller first."""

_SAYS: Final = ("current_version_id",)
_LEFT: Final = ("kept", "deferred")
"""Resolutions of a conflict that leave both rows live, whoever decided it."""


@dataclass(frozen=True, slots=True)
class Contradicting:
    """Pairs in a conflict: those in which the later one ``replaces`` the earlier by the audit, and all ``others``."""

    replaces: Pairs
    others: Pairs

    def every(self) -> Pairs:
        """Return both kinds of pairs."""
        return self.replaces | self.others


def contradicting(snapshot: Snapshot, settings: Settings) -> Contradicting:
    """Return the contradictions that the audit finds tonight, the copies behind each side, and the conflicts on record.

    A pair counts as replaced if the surest rule that finds it says so, and no one has decided to keep both.
    """
    replaces: set[tuple[str, str]] = set()
    others: set[tuple[str, str]] = set()
    for c in conflicts_of_memories(snapshot, settings, Tally()):
        pairs = {(min(p), max(p)) for p in product((c.a, *c.also_a), (c.b, *c.also_b))}
        if c.evidence.get("replaces") and not c.doubtful:
            replaces |= pairs - others
        else:
            others |= pairs - replaces
    replaces -= _pairs_to_keep(snapshot)
    on_record = conflicting_pairs(snapshot, "memories")
    return Contradicting(frozenset(replaces), frozenset(others | on_record) - replaces)


def rejected(snapshot: Snapshot, operation: str) -> Pairs:
    """Return pairs of memories from rejected summaries of the operation whose texts are unchanged; they may not be combined."""
    table = snapshot.table("rejections")
    mine = table.filter(pc.equal(table["operation"], operation)).select(["subject", "row_ids"]).to_pylist()
    named = {id_ for r in mine for id_ in r["row_ids"]}
    seen = {str(r["id"]): r["current_version_id"] for r in rows_where(snapshot, "memories", "id", named, _SAYS)}
    pairs: set[tuple[str, str]] = set()
    for r in mine:
        ids = sorted(r["row_ids"])
        if seen.keys() >= set(ids):
            guards = tuple(Guard("memories", id_, _SAYS, (seen[id_],)) for id_ in ids)
            rows = tuple(Row(id_) for id_ in ids)
            refused = Mutation("insert_summary", "memories", guards=guards, rows=rows)
            if Item(operation, "", refused).subject() == r["subject"]:
                pairs.update(combinations(ids, 2))
    return frozenset(pairs)


def _pairs_to_keep(snapshot: Snapshot) -> Pairs:
    table = snapshot.table("conflicts")
    mine = pc.equal(table["table_name"], "memories")
    rows = table.filter(pc.and_(mine, pc.is_in(table["resolution"], value_set=pa.array(_LEFT))))
    pairs = zip(rows["row_a_id"].to_pylist(), rows["row_b_id"].to_pylist(), strict=True)
    return frozenset((min(p), max(p)) for p in pairs)


# The search for the summaries of a night: clusters of memories, their parts without contradictions, and the texts for these.
#
# ``slowwave.operations.summary_text`` selects the memories and words the summaries.

_MOST: Final = 50  # members of a summary
_TRIES: Final = 3  # calls of a model for each summary that a night may propose
_NEVER: Final = -np.inf
_OF_CAP: Final = 0.8
"""Share of what a plan may retire (``slowwave.plans.probes.radius``) that summaries use."""
_RIVALS: Final = 5  # summaries worded for each one that is proposed, the most tokens first
_SAVING: Final = 0.1
"""Share of the members' tokens that a summary must save: for less, three memories that recall can distinguish are better."""


@dataclass(slots=True)
class Search:
    """Search for the best summaries of a pool.

    Every two members have at least the cosine ``floor``. ``cannot_link`` are pairs that may not be combined. A cluster needs a row of
    ``focus``.
    """

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
        """Return the best summaries, those of the highest value first.

        Members that are not cited are clustered again until no more summaries are found.
        """
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
        """Return the pairs with the likelihood that they are about one matter: their cosine and the words that they share."""
        none = np.empty(0, np.int64)
        one = np.concatenate([none, *(rows[i] for rows, i, _, _ in pairs)])
        two = np.concatenate([none, *(rows[j] for rows, _, j, _ in pairs)])
        self.near = np.unique(np.concatenate([one, two]))
        texts: list[str] = self.pool.table["text"].take(pa.array(self.near)).to_pylist()
        self.words = SharedWords.from_texts(texts)
        self.telling = np.array([substance(text) for text in texts], np.float32) * self.pool.tokens[self.near]
        # Pairs of all blocks at once: most blocks have one or two, and each call costs 300 µs however few they are.
        shared = self.words.pairs(np.searchsorted(self.near, one), np.searchsorted(self.near, two))
        ends = np.cumsum([len(i) for _, i, _, _ in pairs], dtype=np.int64)
        parts = np.split(shared, ends[:-1]) if pairs else []
        return [(rows, i, j, cosine + part) for (rows, i, j, cosine), part in zip(pairs, parts, strict=True)]

    def _room(self) -> tuple[int, int, int]:
        """Return how many summaries a night may propose, of how many memories and of how many of their tokens.

        A share of what a plan may retire at most is left to other operations. One summary is always proposed.
        """
        settings, live, tokens = self.settings, self.numbers["live memories"], self.numbers["live tokens"]
        allowed = max(settings.blast_radius_share * live, settings.blast_radius_rows)
        rows = int(_OF_CAP * allowed)
        options = settings.operations.consolidate_clusters
        most = max(1, min(options.max_clusters_per_run, rows // options.min_cluster_size))
        return most, rows, int(min(1.0, _OF_CAP * 2 * allowed / max(live, 1)) * tokens)

    def _round(
        self, pairs: Sequence[NearPairs], free: Mask, tried: set[tuple[int, ...]], most: int
    ) -> list[FoundSummary]:
        """Return the best summaries of clusters of free rows that were not tried before, at most ``most``."""
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
        """Return an upper bound: no summary of the members, or of some of them, is worth more."""
        return float(self._informative_tokens(members).sum())

    def _informative_tokens(self, members: Sequence[int]) -> NDArray[np.floating]:
        """Return the number of informative tokens of each member."""
        return self.telling[np.searchsorted(self.near, np.array(members, np.int64))]

    def _parts(self, members: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """Split the members into parts without contradictions that fit a summary's input, each in time order.

        The members nearest to each other are joined first, so that memories about one matter are not separated by similar ones.
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
        """Return the pairs that may not be in one summary."""
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
        """Return the part, without its summaries if they are more than half of it."""
        old = int(self.pool.summary[list(part)].sum())
        if 2 * old <= len(part):
            return list(part)
        self.numbers["summaries with too few new memories"] += old
        return [k for k in part if not self.pool.summary[k]]

    def _summary(self, members: tuple[int, ...]) -> FoundSummary | None:
        """Return the summary of the members, or of those that one text can state completely; None if it saves nothing."""
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
    """Group the n rows of ``likeness`` (n, n), sorted by the first row of each group.

    Two groups become one if every row of one may join every row of the other (no value is ``_NEVER``) and their tokens fit into ``room``;
    those with the greatest mean are joined first. Rows that are left in groups of fewer than ``least`` go to the largest of these groups
    as far as possible. Time: n³, for n of at most ``_MOST``.
    """
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


# The least cosine of two memories in one summary, for the embedding model that made their vectors.
#
# Every model gives unrelated texts a different typical cosine. So the floor is not a number but a number of deviations above what is
# usual among unrelated texts. That value is known for the models in wheels, and measured once for another model that is available. For
# vectors of a model that is not available it is estimated from the namespace's memories.

UNKNOWN: Final = 0.8
"""Floor if nothing can be measured: the model is not available, and there are too few vectors."""

_FEW_CONSOLIDATION_FLOOR: Final = 64
"""Number of vectors below which their cosines do not characterize the model."""

_OWN: Final = 2 / 3
"""Share of the deviations that applies to a namespace's own memories: they are about one world, so their cosines are higher and more
spread than those of unrelated notes (of conversations by half, in either model of the wheels)."""


def cohesion_floor(inputs: Inputs) -> float:
    """Return the least cosine of every two members of a summary: the setting, or ``floor_above`` if it is empty."""
    options = inputs.settings.operations.consolidate_clusters
    return floor_above(inputs, options.cohesion_deviations) if options.cohesion is None else options.cohesion


def floor_above(inputs: Inputs, deviations: float) -> float:
    """Return the cosine that lies ``deviations`` standard deviations above chance.

    A night does not change it: notes and models are fixed, and of the namespace's own vectors only those of memories that are not
    summaries count, including retired ones. A value from own vectors is rounded to .01, because a night may reword some of the memories.
    """
    vectors = inputs.snapshot.vectors["memory_vectors"]
    if vectors.model in UNRELATED_COSINES:
        return NullCosines(*UNRELATED_COSINES[vectors.model]).above(deviations)
    if inputs.embed is not None and vectors.model == inputs.settings.embedding_model:
        measured = _measured(inputs.embed)
        if measured is not None and measured[0] == vectors.matrix.shape[1]:
            return measured[1].above(deviations)
    own = _own(inputs.snapshot)
    return UNKNOWN if own is None else round(own.above(_OWN * deviations), 2)


@lru_cache(maxsize=4)
def _measured(embed: Embed) -> tuple[int, NullCosines] | None:
    """Return a model's dimensions and its cosines of the unrelated notes, or None if it does not distinguish texts.

    The model is asked once per process.
    """
    vectors = np.asarray(embed(UNRELATED), np.float32)
    found = null_cosines(vectors)
    return (int(vectors.shape[1]), found) if found.deviation > 0 else None


def _own(snapshot: Snapshot) -> NullCosines | None:
    memories, vectors = snapshot.table("memories"), snapshot.vectors["memory_vectors"]
    told = memories["id"].filter(pc.not_equal(memories["kind"], SUMMARY)).combine_chunks()
    rows = vectors.rows_of(told)
    rows = rows[rows >= 0]
    return null_cosines(vectors.matrix[rows]) if len(rows) >= _FEW_CONSOLIDATION_FLOOR else None
