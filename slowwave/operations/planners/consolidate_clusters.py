"""``consolidate_clusters``: memories that go together are summarized by one shorter text, and leave recall for it.

Vectors say which memories lie close, what the texts say decides: nothing that contradicts another stands in one summary, and a
summary that would leave out a specific is not proposed. How a summary is worded belongs to ``slowwave.operations.planners.summary_text``.

Propose summaries of memories of one kind, scope, subject, author and audience that lie close (Plugged.in 1.3, put right).

Every two members have ``cohesion``, and no two contradict each other: neither by their texts, nor by the audit of
contradictions, nor by a conflict on record, whatever was decided about it. Clusters are split to ``max_input_tokens``,
never cut. A summary stands for those that it tells whole: the others stay what they are, and so does everyone where fewer than
``min_cluster_size`` are left or less than a tenth of the tokens is saved. The ``max_clusters_per_run``
that save most are proposed, out of five times as many of the most tokens. A summary may become part of another one after
``cooldown_days``, with as many new memories at least. Exempt memories (``slowwave.rows.exemptions``), essences and
what screening has to act on first are left alone.

Time: that of ``neighbours`` for each crowded block, and linear in the texts of the clusters that are worded.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.config.settings import Settings
from slowwave.conflicts.columns import Tally
from slowwave.conflicts.memories import LONGEST, memory_conflicts, one_matter
from slowwave.matching.blas import one_thread
from slowwave.matching.cohesion import cohesive_groups
from slowwave.matching.neighbours import neighbours, pairs_of
from slowwave.mutations.cells import Cell, Guard, Value, canonical, canonical_json
from slowwave.mutations.consolidate_memories import REASON, Consolidation, consolidate_memories
from slowwave.mutations.mutation import Mutation, Row
from slowwave.mutations.rows import live_ids, rows_where
from slowwave.operations import Inputs, Proposal, operation
from slowwave.operations.coverage import MEMORIES
from slowwave.operations.planners.attempts import EXTRACTIVE
from slowwave.operations.planners.consolidation_pool import ALIKE, SUMMARY, Fields, Floats, Ints, Mask, Pool, candidates
from slowwave.operations.planners.rejections import conflicting_pairs
from slowwave.operations.planners.summary_text import SummaryText, Writing
from slowwave.plans.items import Item
from slowwave.plans.permitted import OF_MEMORIES, Permit
from slowwave.reports.model import Report
from slowwave.rows.memories import attributes
from slowwave.rows.screening_exemptions import is_held_back
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.contradictions import find
from slowwave.texts.extractive import Source, split
from slowwave.texts.quotation import quote
from slowwave.texts.sameness import read
from slowwave.texts.statements import stem
from slowwave.texts.token_count import count
from slowwave.texts.tokens import tokenise
from slowwave.texts.vocabulary import GRAMMAR

OPERATION: Final = "consolidate_clusters"
_MOST: Final = 50  # members of a summary
_FEW: Final = 512  # rows of a block all pairs of which are looked at
_NEAREST: Final = 24  # neighbours that each row of a larger block is joined with
_TRIES: Final = 3  # calls of a model for each summary that a night may propose
_RIVALS: Final = 5  # summaries worded for each one that is proposed, the most tokens first
_SAVING: Final = 0.1
"""Share of the members' tokens that a summary saves at least: for less, three memories that recall can tell apart are better."""

_QUOTED: Final = 200  # characters
_SHOWN: Final = 10

_Pairs = frozenset[tuple[str, str]]


@operation(
    kind="planner",
    reads=("memories", "memory_versions", "memory_vectors", "chunks", "documents", "conflicts", "rejections"),
    after=("dedupe_memories",),
    weekly=True,
    permits=(Permit("insert_summary", {"memories"}, beside=OF_MEMORIES, retires=None),),
    compares=MEMORIES,
)
def consolidate_clusters(inputs: Inputs) -> Proposal:
    """Memories that lie close are summarized by one shorter text; they leave recall for it and stay linked to it.

    A summary stands for those whose numbers, dates, names and negations it all keeps; the others stay what they are. Its sentences
    are taken from the sources, or written by `SLOWWAVE_CONSOLIDATION_MODEL` and held against them.
    """
    settings, snapshot = inputs.settings, inputs.snapshot
    numbers: dict[str, int | float] = {}
    if settings.consolidation_model and inputs.consolidator is None:
        headline = "No summary is proposed, as the model that the settings name is not at hand."
        return Proposal((), Report(OPERATION, headline, {"no writer at hand": 1, "items": 0}))
    pool = candidates(snapshot, settings, numbers)
    writing = Writing(inputs.consolidator, inputs.budget, OPERATION)
    cannot_link = conflicting_pairs(snapshot, "memories") | _contradicting(snapshot, settings) | _rejected(snapshot)
    summaries = _Night(pool, settings, cannot_link, _focus(pool, inputs.focus), writing, numbers).summaries()
    items = _items(inputs, pool, summaries)
    numbers |= {**writing.numbers(), **_figures(summaries), "items": len(items)}
    return Proposal(
        tuple(items), Report(OPERATION, _headline(numbers), numbers, writing.findings(), _table(pool, summaries))
    )


@dataclass(frozen=True, slots=True)
class _Summary:
    """A text for the members at ``places`` of the pool; ``uncited`` were in the cluster. Tokens of the members' texts and of this one."""

    places: tuple[int, ...]
    uncited: tuple[int, ...]
    written: SummaryText
    before: int
    after: int

    @property
    def saving(self) -> int:
        return self.before - self.after


def _focus(pool: Pool, focus: frozenset[str] | None) -> Mask | None:
    if focus is None:
        return None
    return pc.is_in(pool.table["id"], value_set=pa.array(sorted(focus), pa.string())).to_numpy()


def _contradicting(snapshot: Snapshot, settings: Settings) -> _Pairs:
    """Pairs that the audit of contradictions finds tonight, and the copies behind them."""
    found = memory_conflicts(snapshot, settings, Tally())
    return frozenset((min(a, b), max(a, b)) for c in found for a in (c.a, *c.also_a) for b in (c.b, *c.also_b))


def _rejected(snapshot: Snapshot) -> _Pairs:
    """Pairs of memories out of rejected summaries that say what they said then: they must not meet in another one."""
    table = snapshot.table("rejections")
    mine = table.filter(pc.equal(table["operation"], OPERATION)).select(["subject", "row_ids"]).to_pylist()
    named = {id_ for r in mine for id_ in r["row_ids"]}
    seen = {str(r["id"]): r["current_version_id"] for r in rows_where(snapshot, "memories", "id", named, _SAYS)}
    pairs: set[tuple[str, str]] = set()
    for r in mine:
        ids = sorted(r["row_ids"])
        if seen.keys() >= set(ids):
            guards = tuple(Guard(Cell("memories", id_, _SAYS[0]), seen[id_]) for id_ in ids)
            rows = tuple(Row(id_) for id_ in ids)
            refused = Mutation("insert_summary", "memories", guards=guards, rows=rows)
            if Item(OPERATION, "", refused).subject() == r["subject"]:
                pairs.update(combinations(ids, 2))
    return frozenset(pairs)


_SAYS: Final = ("current_version_id",)


@dataclass(slots=True)
class _Night:
    """The search for the best summaries: clusters, their parts, and what is said of these."""

    pool: Pool
    settings: Settings
    cannot_link: _Pairs
    focus: Mask | None
    writing: Writing
    numbers: dict[str, int | float]

    def summaries(self) -> list[_Summary]:
        """The best of all, most saving first. Those that are left uncited meet again until nothing more is found."""
        for name in ("clusters", "memories in clusters", *_LEFT_OUT):
            self.numbers[name] = 0
        with one_thread():
            pairs = list(self._pairs())
        self.numbers["near pairs"] = sum(len(i) for _, i, _, _ in pairs)
        free = np.ones(len(self.pool.table), np.bool_)
        found: list[_Summary] = []
        tried: set[tuple[int, ...]] = set()
        most = self.settings.operations.consolidate_clusters.max_clusters_per_run
        while len(found) < most:
            more = self._round(pairs, free, tried, most - len(found))
            if not more:
                break
            found += more
            free[[p for s in more for p in s.places]] = False
        return sorted(found, key=lambda s: (-s.saving, s.places))

    def _pairs(self) -> Iterator[tuple[Ints, Ints, Ints, Floats]]:
        """For each block its rows, and i, j and cosines of its near pairs, as places among these."""
        floor = self.settings.operations.consolidate_clusters.cohesion
        order = np.argsort(self.pool.block, kind="stable")
        starts = np.flatnonzero(np.diff(self.pool.block[order], prepend=-1))
        for rows in np.split(order, starts[1:]):
            if len(rows) < self.settings.operations.consolidate_clusters.min_cluster_size:
                continue
            if len(rows) <= _FEW:
                units = self.pool.units(rows)
                cosine = units @ units.T
                i, j = np.nonzero(np.triu(cosine >= floor, 1))
                near = cosine[i, j]
            else:
                i, j, near = pairs_of(*neighbours(self.pool.matrix, _NEAREST, max(floor, 1e-6), self.pool.vector[rows]))
            if len(i):
                yield rows, i.astype(np.int64), j.astype(np.int64), near

    def _round(
        self, pairs: Sequence[tuple[Ints, Ints, Ints, Floats]], free: Mask, tried: set[tuple[int, ...]], most: int
    ) -> list[_Summary]:
        """The best summaries of clusters of free rows that were not tried before, at most ``most``."""
        waiting: list[tuple[int, tuple[int, ...], bool]] = []
        for rows, i, j, cosine in pairs:
            for members in self._clusters(rows, i, j, cosine, free):
                if members not in tried:
                    tried.add(members)
                    self.numbers["clusters"] += 1
                    self.numbers["memories in clusters"] += len(members)
                    waiting.append((-self._most_saved(members), members, False))
        heapq.heapify(waiting)
        found: list[_Summary] = []
        while waiting:
            potential, members, whole = heapq.heappop(waiting)
            best = heapq.nlargest(most, (s.saving for s in found))
            if len(best) == most and (len(found) >= _RIVALS * most or -potential <= best[-1]):
                self.numbers["clusters left for another night"] += 1
                continue
            if not whole:
                for part in self._parts(members):
                    heapq.heappush(waiting, (-self._most_saved(part), part, True))
                continue
            if (summary := self._summary(members)) is not None:
                found.append(summary)
        found.sort(key=lambda s: (-s.saving, s.places))
        self.numbers["clusters left for another night"] += len(found[most:])
        return found[:most]

    def _clusters(self, rows: Ints, i: Ints, j: Ints, cosine: Floats, free: Mask) -> Iterator[tuple[int, ...]]:
        open_ = free[rows[i]] & free[rows[j]]
        used, places = np.unique(np.concatenate([i[open_], j[open_]]), return_inverse=True)
        half = len(places) // 2
        groups = cohesive_groups(
            self.pool.units(rows[used]),
            *(
                places[:half],
                places[half:],
                cosine[open_],
                self.settings.operations.consolidate_clusters.cohesion,
                _MOST,
            ),
        )
        for group in groups:
            members = tuple(rows[used[group]].tolist())
            if len(members) < self.settings.operations.consolidate_clusters.min_cluster_size:
                continue
            if self.focus is None or self.focus[list(members)].any():
                yield members

    def _most_saved(self, members: Sequence[int]) -> int:
        """No summary of the members or some of them saves more."""
        return int(self.pool.tokens[list(members)].sum())

    def _parts(self, members: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """The members in the order of time, in parts that fit a summary's input and in which nothing contradicts another."""
        order = sorted(members, key=lambda k: (self.pool.when[k], k))
        rows = dict(zip(order, self.pool.rows(order, ("id", "text", "attributes")), strict=True))
        held_back = {k for k, row in rows.items() if is_held_back(row["text"], row["attributes"])}
        self.numbers["memories held back by screening"] += len(held_back)
        order = [k for k in order if k not in held_back]
        rows = {k: rows[k] for k in order}
        apart = self._apart(rows)
        parts: list[list[int]] = []
        room: list[int] = []
        for k in order:
            tokens = int(self.pool.tokens[k])
            for n, part in enumerate(parts):
                if tokens <= room[n] and not any((min(k, o), max(k, o)) in apart for o in part):
                    part.append(k)
                    room[n] -= tokens
                    break
            else:
                parts.append([k])
                room.append(self.settings.operations.consolidate_clusters.max_input_tokens - tokens)
        for part in parts:
            kept = self._enough_news(part)
            if len(kept) >= self.settings.operations.consolidate_clusters.min_cluster_size:
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

    def _summary(self, members: tuple[int, ...]) -> _Summary | None:
        """What stands for the members, or for those of them that a text can tell whole; None where that is no gain."""
        least, settings = self.settings.operations.consolidate_clusters.min_cluster_size, self.settings
        if self.writing.calls >= _TRIES * settings.operations.consolidate_clusters.max_clusters_per_run:
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
            return _Summary(tuple(cited), tuple(k for k in members if k not in cited), written, before, after)
        self.numbers["clusters that would lose a specific"] += 1
        return None

    def _without_dearest(self, members: Sequence[int]) -> list[int]:
        dearest = max(members, key=lambda k: (self.pool.tokens[k], k))
        return [k for k in members if k != dearest]


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


_LEFT_OUT: Final = (
    "pairs that a rejection or conflict forbids",
    "pairs that contradict each other",
    "memories held back by screening",
    "memories in no part of enough members",
    "summaries with too few new memories",
    "clusters that would lose a specific",
    "clusters without a saving",
    "clusters left for another night",
)


def _source(row: Fields) -> Source:
    return Source(row["id"], row["text"], row["valid_from"])


def _items(inputs: Inputs, pool: Pool, summaries: Sequence[_Summary]) -> list[Item]:
    if not summaries:
        return []
    snapshot = inputs.snapshot
    live_sources = {c: live_ids(snapshot, c.split("_")[1] + "s") for c in ("source_document_ids", "source_chunk_ids")}
    members = [pool.rows(s.places) for s in summaries]
    close = [_cosines(pool, s.places) for s in summaries]
    vectors = _vectors(inputs, pool, summaries)
    mutations = consolidate_memories(
        snapshot,
        [
            Consolidation(s.written.text, tuple(r["id"] for r in rows), _values(s, rows, c, live_sources), vector)
            for s, rows, c, vector in zip(summaries, members, close, vectors, strict=True)
        ],
    )
    return [
        Item(
            OPERATION,
            "summarise",
            mutation,
            evidence=_evidence(pool, s, rows, c),
            risk="low" if s.written.writer == EXTRACTIVE else "medium",
            sources=tuple(sorted(r["id"] for r in rows)),
            tokens=s.written.tokens,
            probability=round(float(min(1.0, c.min())), 4),
        )
        for s, rows, c, mutation in zip(summaries, members, close, mutations, strict=True)
    ]


def _cosines(pool: Pool, places: Sequence[int]) -> Floats:
    """Cosines of every two of the places."""
    units = pool.units(np.array(places, np.int64))
    return (units @ units.T)[np.triu_indices(len(places), 1)]


def _vectors(inputs: Inputs, pool: Pool, summaries: Sequence[_Summary]) -> list[Floats]:
    """A unit vector a summary: of its text, or where nobody can make one the mean of its members."""
    if inputs.embed is not None:
        found = np.asarray(inputs.embed([s.written.text for s in summaries]), np.float32)
        if found.shape[1] == pool.matrix.shape[1]:
            return list(found)
    means = [pool.units(np.array(s.places, np.int64)).astype(np.float64).mean(axis=0) for s in summaries]
    return [(m / max(float(np.linalg.norm(m)), 1e-12)).astype(np.float32) for m in means]


def _values(
    summary: _Summary, rows: Sequence[Fields], close: Floats, live_sources: Mapping[str, frozenset[str]]
) -> dict[str, Value]:
    first = rows[0]
    rings = Counter(r["ring"] for r in rows)
    kinds = Counter(_kind(r) for r in rows)
    tags: list[object] = []
    for row in rows:
        own: object = _json_list(row["tags"])
        tags += [t for t in (own if isinstance(own, list) else []) if t not in tags]
    starts = [r["valid_from"] for r in rows if r["valid_from"] is not None]
    reads = [r["last_accessed_at"] for r in rows if r["last_accessed_at"] is not None]
    return {
        "kind": SUMMARY,
        "ring": min(rings, key=lambda ring: (-rings[ring], ring)),
        **{c: first[c] for c in ALIKE},
        "source": REASON,
        "importance": max(r["importance"] for r in rows),
        "confidence": max(r["confidence"] for r in rows),
        "tags": canonical_json(tags),
        "attributes": canonical_json(
            {
                "kind": min(kinds, key=lambda kind: (-kinds[kind], kind)),
                "summary_of": len(rows),
                "similarity": round(float(close.mean()), 4),
                "token_savings": summary.saving,
            }
        ),
        "valid_from": canonical(min(starts)) if starts else None,
        "last_accessed_at": canonical(max(reads)) if reads else None,
        **{c: tuple(dict.fromkeys(i for r in rows for i in r[c] or () if i in ids)) for c, ids in live_sources.items()},
    }


def _kind(row: Fields) -> str:
    return str(attributes(row["attributes"]).get("kind", SUMMARY)) if row["kind"] == SUMMARY else str(row["kind"])


def _evidence(pool: Pool, summary: _Summary, rows: Sequence[Fields], close: Floats) -> dict[str, object]:
    uncited = pool.rows(summary.uncited, ("id",))
    return {
        "text": summary.written.text,
        "quotes": [{"id": r["id"], "text": quote(r["text"], _QUOTED)} for r in rows],
        "source_count": len(rows),
        "uncited": [r["id"] for r in uncited],
        "cluster_similarity": round(float(close.mean()), 4),
        "least_similarity": round(float(close.min()), 4),
        "tokens_before": summary.before,
        "tokens_after": summary.after,
        "token_savings": summary.saving,
        "writer": summary.written.writer,
        "problem": summary.written.problem,
    }


def _figures(summaries: Sequence[_Summary]) -> dict[str, int | float]:
    """What Plugged.in keeps as ``dream_consolidations``, summed up."""
    return {
        "summaries": len(summaries),
        "memories that would be absorbed": sum(len(s.places) for s in summaries),
        "cluster members that stay": sum(len(s.uncited) for s in summaries),
        "tokens before": sum(s.before for s in summaries),
        "tokens after": sum(s.after for s in summaries),
        "tokens saved": sum(s.saving for s in summaries),
    }


def _table(pool: Pool, summaries: Sequence[_Summary]) -> tuple[Mapping[str, object], ...]:
    return tuple(
        {
            "sources": len(s.places),
            "similarity": round(float(_cosines(pool, s.places).mean()), 4),
            "tokens before": s.before,
            "tokens after": s.after,
            "writer": s.written.writer,
            "text": quote(s.written.text, _QUOTED),
        }
        for s in summaries[:_SHOWN]
    )


def _headline(numbers: Mapping[str, int | float]) -> str:
    return (
        f"{numbers['summaries']:,} summaries would stand for {numbers['memories that would be absorbed']:,} of "
        f"{numbers['live memories']:,} live memories and save {numbers['tokens saved']:,} of {numbers['live tokens']:,} tokens."
    )


def _json_list(cell: object) -> object:
    return attributes(f'{{"tags": {cell}}}').get("tags")
