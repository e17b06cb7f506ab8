"""No harm: what past recall queries find before and after a plan, by one reference retriever.

A question is a query with its *targets*. A target is something that the agent used, with the rows that stand for it in each
snapshot. Rows that one merge joins are one target; after the plan it is the survivor, before the plan any of them.
A target with no live row left is stood for by the live chunks that it cites. Whatever counts after the plan counts before it
too, so that a plan never gains by the leniency of the measure.

Every question is asked twice: of all that recall searches, and of memories alone, where no passage can stand for a memory: an agent
that reads only its memories has no passages, and the passage from which a memory was made answers for it however it is archived. What
a plan quarantines or redacts is to be found no longer, and is no target.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.config.settings import Settings
from slowwave.language import Embed
from slowwave.mutations.new_version import REDACTION
from slowwave.plans.items import Item
from slowwave.probes.merges import chain, merged_into, won_against
from slowwave.search.retriever import Retriever
from slowwave.search.rows import SEARCHED, searched_table
from slowwave.snapshots.snapshot import Snapshot

Source = Literal["recall_events", "episodes", "none"]

K: Final = 10
RESAMPLES: Final = 2_000
EPISODES: Final = 100
"""Questions that are drawn from raw episodes where no recall event can be replayed."""

_SEED: Final = 20_090_719
_AT_ONCE: Final = 4_000_000  # resampled places held in memory
_QUESTION_WORDS: Final = 32
_ALONE: Final = ("memories",)
_CITING: Final = ("id", "source_chunk_ids")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|[\n。！？]+")


@dataclass(frozen=True, slots=True)
class Recall:
    """Mean Recall@10 before and after, and paired differences with the bounds of their 95 % bootstrap intervals."""

    queries: int
    recall_before: float
    recall_after: float
    delta: float
    low: float
    high: float
    mrr_delta: float
    mrr_low: float
    mrr_high: float
    passed: bool
    source: Source

    def figures(self) -> str:
        """In words, without a verdict."""
        of = "past recall queries" if self.source == "recall_events" else "questions drawn from raw episodes"
        return (
            f"{self.queries:,} {of}: Recall@10 {self.recall_before:.3f} → {self.recall_after:.3f} "
            f"({self.delta:+.3f}, 95 % between {self.low:+.3f} and {self.high:+.3f})"
        )


@dataclass(frozen=True, slots=True)
class RecallProbe(Recall):
    """The figures over all that is searched, with those over ``memories`` alone; ``passed`` says that both hold.

    ``withheld`` counts recalled rows that are quarantined or redacted. ``lost`` maps rows to what they cost, in questions: those that
    were found before the plan and are not after it, or what took their places where they still stand.
    """

    memories: Recall
    withheld: int = 0
    lost: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """As plans store and show it; the rows stay out, as thousands may be lost."""
        return {name: value for name, value in asdict(self).items() if name != "lost"}

    def sentence(self) -> str:
        """What an operator reads."""
        if not self.queries:
            return "Recall was not measured: the namespace has no recall event and no raw episode to ask about."
        alone = f" Over memories alone, {self.memories.figures()}." if self.memories.queries else ""
        one = self.withheld == 1
        left_out = (
            f" {self.withheld:,} recalled {'row' if one else 'rows'} that the plan quarantines or redacts "
            f"{'is' if one else 'are'} not asked about: that {'it is' if one else 'they are'} found no longer is intended."
            if self.withheld
            else ""
        )
        message = f"{self.figures()}.{alone}{left_out}"
        return message if self.passed else f"{message} The plan may harm recall: approving it needs force and a reason."


_NOTHING: Final = Recall(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, True, "none")


@dataclass(frozen=True, slots=True)
class Target:
    """One thing to be found: the ids that stand for it before and after the plan; none after it when it is lost."""

    before: frozenset[str]
    after: frozenset[str]


@dataclass(frozen=True, slots=True)
class ProbeQuery:
    """A query and what it should find; at least one target."""

    query: str
    targets: tuple[Target, ...]


class Baseline:
    """What queries find in one snapshot, for the probes of several futures of it: its texts are read once, and each list of queries is
    searched once.
    """

    def __init__(self, snapshot: Snapshot, embed: Embed | None) -> None:
        self.snapshot, self.embed = snapshot, embed
        self._retrievers: dict[tuple[str, ...], Retriever] = {}
        self._vectors: dict[tuple[str, ...], np.ndarray | None] = {}
        self._found: dict[tuple[tuple[str, ...], tuple[str, ...]], list[list[str]]] = {}

    def retriever(self, tables: tuple[str, ...] = SEARCHED) -> Retriever:
        """The retriever over ``tables``."""
        if tables not in self._retrievers:
            base = None if tables == SEARCHED else self.retriever()
            self._retrievers[tables] = Retriever(self.snapshot, self.embed, base=base, tables=tables)
        return self._retrievers[tables]

    def vectors(self, queries: tuple[str, ...]) -> np.ndarray | None:
        """Queries (q) → unit vectors (q, d), see ``Retriever.embedded``."""
        if queries not in self._vectors:
            self._vectors[queries] = self.retriever().embedded(queries)
        return self._vectors[queries]

    def found(self, tables: tuple[str, ...], queries: tuple[str, ...]) -> list[list[str]]:
        """The ids of the ``K`` best rows of ``tables`` for each query."""
        key = tables, queries
        if key not in self._found:
            self._found[key] = self.retriever(tables).search(queries, self.vectors(queries), K)
        return self._found[key]


def recall_probe(
    before: Snapshot,
    after: Snapshot,
    settings: Settings,
    embed: Embed | None,
    items: Sequence[Item] = (),
    baseline: Baseline | None = None,
) -> RecallProbe:
    """Replay the newest ``settings.recall_probe_queries`` recall events against both snapshots, and again against their memories alone.

    What an event selected is to be found, or all of its hits where it selected nothing. Where no event names a row that is live in
    ``before``, questions are sentences of raw episodes: episodic memories and chunks. Deterministic; exactly 0 where the
    snapshots hold the same searched rows and targets. It passes when the lower bound of the difference in Recall@10 is not under
    ``settings.recall_floor``, in both. ``items`` made ``after``: they tell which row a loser of a contradiction gave way to.
    ``baseline`` is that of ``before`` and ``embed``, where several futures are looked at.

    Cost: the texts are read once, and every question is searched four times at most, twice where the plan leaves what is searched alone.
    """
    names = _Names(before, after, {**merged_into(after), **won_against(items)})
    limit = settings.recall_probe_queries
    asked = {tables: _questions(before, names, tables, limit) for tables in (SEARCHED, _ALONE)}
    if not any(questions for _, questions in asked.values()):
        return RecallProbe(**asdict(_NOTHING), memories=_NOTHING, withheld=names.withheld_targets)
    queries = tuple(sorted({q.query for _, questions in asked.values() for q in questions}))
    baseline = baseline or Baseline(before, embed)
    second = Retriever(after, embed, base=baseline.retriever())
    lost: dict[str, float] = defaultdict(float)
    whole = _measured(*asked[SEARCHED], baseline, second, SEARCHED, queries, settings, lost)
    alone = _NOTHING
    if asked[_ALONE][1]:
        bare = Retriever(after, embed, base=second, tables=_ALONE)
        alone = _measured(*asked[_ALONE], baseline, bare, _ALONE, queries, settings, lost)
    both = replace(whole, passed=whole.passed and alone.passed)
    return RecallProbe(**asdict(both), memories=alone, withheld=names.withheld_targets, lost=dict(lost))


def _measured(
    source: Source,
    questions: Sequence[ProbeQuery],
    baseline: Baseline,
    second: Retriever,
    tables: tuple[str, ...],
    queries: tuple[str, ...],
    settings: Settings,
    lost: dict[str, float],
) -> Recall:
    """The figures of some questions over ``tables``; what ``second`` does not find again is added to ``lost``."""
    if not questions:
        return _NOTHING
    found = baseline.found(tables, queries)
    same = second.finds_the_same_as(baseline.retriever(tables))
    found_after = found if same else second.search(queries, baseline.vectors(queries), K)
    hits, hits_after = dict(zip(queries, found, strict=True)), dict(zip(queries, found_after, strict=True))
    then, now = _scores(questions, hits, "before"), _scores(questions, hits_after, "after")
    for n in np.flatnonzero(now[:, 0] < then[:, 0]).tolist():
        _blame(questions[n], hits[questions[n].query], hits_after[questions[n].query], lost)
    delta, low, high = bootstrap(now - then)
    return Recall(
        queries=len(questions),
        recall_before=float(then[:, 0].mean()),
        recall_after=float(now[:, 0].mean()),
        delta=float(delta[0]),
        low=float(low[0]),
        high=float(high[0]),
        mrr_delta=float(delta[1]),
        mrr_low=float(low[1]),
        mrr_high=float(high[1]),
        passed=bool(low[0] >= settings.recall_floor),
        source=source,
    )


def _blame(question: ProbeQuery, hits: Sequence[str], hits_after: Sequence[str], lost: dict[str, float]) -> None:
    """Share the loss of a question among the rows of what was found and is not: a target's own, or those that came in its place."""
    for target in question.targets:
        if target.before.isdisjoint(hits) or not target.after.isdisjoint(hits_after):
            continue
        pushed = () if target.before - target.after else set(hits_after) - set(hits)
        rows = {*target.before, *target.after, *pushed}
        for row in rows:
            lost[row] += 1 / (len(rows) * len(question.targets))


def bootstrap(differences: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Paired differences (n, m) → means and the bounds of their 95 % intervals, each (m,).

    Percentile bootstrap over queries (Efron 1979), 2,000 resamples, seeded.
    """
    n = len(differences)
    rng = np.random.default_rng(_SEED)
    step = max(1, _AT_ONCE // n)
    means = np.concatenate(
        [
            differences[rng.integers(0, n, (min(step, RESAMPLES - start), n))].mean(axis=1)
            for start in range(0, RESAMPLES, step)
        ]
    )
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    return differences.mean(axis=0), low, high


def longest_sentence(text: str) -> str:
    """The sentence that says most, by length (the first of equals), 32 words of it at most."""
    return " ".join(max(_SENTENCE_END.split(text), key=len).split()[:_QUESTION_WORDS])


def _questions(before: Snapshot, names: _Names, tables: Sequence[str], limit: int) -> tuple[Source, list[ProbeQuery]]:
    if events := _event_questions(before, names, tables, limit):
        return "recall_events", events
    return "episodes", _episode_questions(before, names, tables)


def _event_questions(before: Snapshot, names: _Names, tables: Sequence[str], limit: int) -> list[ProbeQuery]:
    """The newest ``limit`` recall events whose query and targets still mean something in ``before``, newest first."""
    events = before.table("recall_events").sort_by([("occurred_at", "descending"), ("id", "ascending")])
    questions: list[ProbeQuery] = []
    for event in _rows(events, ("query", "selected_ids", "hit_ids")):
        ids = (event["selected_ids"] or event["hit_ids"] or ()) if event["query"].strip() else ()
        targets = names.targets(ids, tables)
        if targets:
            questions.append(ProbeQuery(event["query"], targets))
        if len(questions) == limit:
            break
    return questions


def _episode_questions(before: Snapshot, names: _Names, tables: Sequence[str]) -> list[ProbeQuery]:
    """The longest sentences of at most 100 raw episodes, spread evenly over the ids of live episodic memories and chunks."""
    memories = searched_table(before, "memories")
    memories = memories.filter(pc.equal(memories["kind"], "episodic"))
    versions = before.table("memory_versions")
    current = pc.index_in(memories["current_version_id"], value_set=versions["id"].combine_chunks())
    parts = {"memories": (memories["id"], versions["content"].take(current))}
    if "chunks" in tables:
        chunks = searched_table(before, "chunks")
        parts["chunks"] = (chunks["id"], chunks["content"])
    raw = pa.table(
        {
            name: pa.chunked_array([c for part in parts.values() for c in part[n].chunks], pa.string())
            for n, name in enumerate(("id", "text"))
        }
    )
    raw = raw.filter(pc.match_substring_regex(raw["text"], r"[\pL\pN]"))
    order = pc.sort_indices(raw["id"])
    drawn = np.unique(np.linspace(0, len(raw) - 1, min(EPISODES, len(raw)), dtype=np.int64))
    return [
        ProbeQuery(longest_sentence(row["text"]), targets)
        for row in raw.take(order.take(pa.array(drawn, pa.int64()))).to_pylist()
        if (targets := names.targets([row["id"]], tables))
    ]


class _Names:
    """What ids of one snapshot mean in both: merges (``into``) followed to their survivors, cited chunks for what has no live row."""

    def __init__(self, before: Snapshot, after: Snapshot, into: Mapping[str, str]) -> None:
        self._before = before
        self._live = tuple(
            {t: frozenset(searched_table(snapshot, t)["id"].to_pylist()) for t in SEARCHED}
            for snapshot in (before, after)
        )
        self._sides: dict[tuple[str, ...], tuple[frozenset[str], frozenset[str]]] = {}
        self._into = into
        self._withheld = _withheld(before, after)
        self._left_out: set[str] = set()
        self._cited: dict[str, frozenset[str]] | None = None

    @property
    def withheld_targets(self) -> int:
        """Rows that were asked about and are withheld by the plan."""
        return len(self._left_out)

    def targets(self, ids: Iterable[str], tables: Sequence[str]) -> tuple[Target, ...]:
        """The targets of a recall among the rows of ``tables``, one for all ids that one survivor stands for.

        Those with no row in ``before`` are out, and so are those that the plan withholds. Chunks stand for the rows that cite them only
        where chunks are searched.
        """
        groups: dict[str, set[str]] = {}
        for id_ in ids:
            rows = chain(id_, self._into)
            groups.setdefault(rows[-1], set()).update(rows)
        found: list[Target] = []
        for group in groups.values():
            if not self._withheld.isdisjoint(group):
                self._left_out |= self._withheld & group
            elif (target := self._target(frozenset(group), tables)).before:
                found.append(target)
        return tuple(found)

    def _target(self, group: frozenset[str], tables: Sequence[str]) -> Target:
        live_before, live_after = self._live_rows(tuple(tables))
        sources = self._sources if "chunks" in tables else _no_sources
        after = group & live_after or sources(group) & live_after
        own = group & live_before or sources(group) & live_before
        return Target(own | (after & live_before), after)

    def _live_rows(self, tables: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
        """Ids of the rows of ``tables`` that can be found before and after the plan."""
        if tables not in self._sides:
            before, after = (frozenset[str]().union(*(live[t] for t in tables)) for live in self._live)
            self._sides[tables] = before, after
        return self._sides[tables]

    def _sources(self, group: frozenset[str]) -> frozenset[str]:
        """Chunks that rows of the group cite in ``before``; only questions with a dead target ever read them."""
        if self._cited is None:
            live_before, live_after = self._live_rows(SEARCHED)
            alive = pa.array(sorted(live_before & live_after), pa.string())
            self._cited = {}
            for table in ("entities", "memories"):
                rows = self._before.table(table)
                gone = rows.filter(pc.invert(pc.is_in(rows["id"], value_set=alive)))
                self._cited.update((r["id"], frozenset(r["source_chunk_ids"])) for r in _rows(gone, _CITING))
        return frozenset().union(*(self._cited.get(id_, frozenset()) for id_ in group))


def _scores(
    questions: Sequence[ProbeQuery], hits: Mapping[str, Sequence[str]], side: Literal["before", "after"]
) -> np.ndarray:
    """(n, 2): the share of targets among the hits, and one over the place of the first hit that is a target."""
    scores = np.zeros((len(questions), 2))
    for n, question in enumerate(questions):
        rows = [t.before if side == "before" else t.after for t in question.targets]
        found = hits[question.query]
        scores[n, 0] = sum(not accepted.isdisjoint(found) for accepted in rows) / len(rows)
        wanted = frozenset().union(*rows)
        scores[n, 1] = next((1 / place for place, id_ in enumerate(found, 1) if id_ in wanted), 0.0)
    return scores


def _no_sources(group: frozenset[str]) -> frozenset[str]:
    return frozenset()


def _withheld(before: Snapshot, after: Snapshot) -> frozenset[str]:
    """Rows that are quarantined, or say less by a redaction, since ``before``."""
    found: set[str] = set()
    for table in SEARCHED:
        rows, old = after.table(table), before.table(table)
        if rows is not old and "state" in rows.column_names:
            held, held_before = (t["id"].filter(pc.equal(t["state"], "quarantined")) for t in (rows, old))
            found |= set(held.to_pylist()) - set(held_before.to_pylist())
    versions, known = after.table("memory_versions"), before.table("memory_versions")
    if versions is not known:
        redactions = versions.filter(pc.equal(versions["reason"], REDACTION))
        new = pc.invert(pc.is_in(redactions["id"], value_set=known["id"].combine_chunks()))
        found |= set(redactions["memory_id"].filter(new).to_pylist())
    return frozenset(found)


def _rows(table: pa.Table, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    for batch in table.select(list(columns)).to_batches(max_chunksize=10_000):
        yield from batch.to_pylist()
