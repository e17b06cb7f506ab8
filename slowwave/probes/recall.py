"""No harm: what past recall queries find before and after a plan, by one reference retriever.

A question is a query with its *targets*. A target is something that the agent used, with the rows that stand for it in each
snapshot. Rows that one merge joins are one target; after the plan it is the survivor, before the plan any of them.
A target with no live row left is stood for by the live chunks that it cites. Whatever counts after the plan counts before it
too, so that a plan never gains by the leniency of the measure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.operations import Embed
from slowwave.probes.merges import chain, merged_into
from slowwave.retrieval.retriever import Retriever
from slowwave.retrieval.rows import searched_table
from slowwave.settings import Settings
from slowwave.snapshot import Snapshot

Source = Literal["recall_events", "episodes", "none"]

K: Final = 10
RESAMPLES: Final = 2_000
EPISODES: Final = 100
"""Questions that are drawn from raw episodes where no recall event can be replayed."""

_SEED: Final = 20_090_719
_AT_ONCE: Final = 4_000_000  # resampled places held in memory
_QUESTION_WORDS: Final = 32
_CITING: Final = ("id", "source_chunk_ids")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|[\n。！？]+")


@dataclass(frozen=True, slots=True)
class RecallProbe:
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

    def to_json(self) -> dict[str, object]:
        """As plans store and show it."""
        return asdict(self)

    def sentence(self) -> str:
        """What an operator reads."""
        if not self.queries:
            return "Recall was not measured: the namespace has no recall event and no raw episode to ask about."
        of = "past recall queries" if self.source == "recall_events" else "questions drawn from raw episodes"
        figures = (
            f"{self.queries:,} {of}: Recall@10 {self.recall_before:.3f} → {self.recall_after:.3f} "
            f"({self.delta:+.3f}, 95 % between {self.low:+.3f} and {self.high:+.3f})."
        )
        return figures if self.passed else f"{figures} The plan may harm recall: approving it needs force and a reason."


@dataclass(frozen=True, slots=True)
class Target:
    """One thing to be found: the ids that stand for it before and after the plan; none after it when it is lost."""

    before: frozenset[str]
    after: frozenset[str]


@dataclass(frozen=True, slots=True)
class Question:
    """A query and what it should find; at least one target."""

    query: str
    targets: tuple[Target, ...]


def recall_probe(before: Snapshot, after: Snapshot, settings: Settings, embed: Embed | None) -> RecallProbe:
    """Replay the newest ``settings.recall_probe_queries`` recall events against both snapshots.

    What an event selected is to be found, or all of its hits where it selected nothing. Where no event names a row that is live in
    ``before``, questions are sentences of raw episodes: episodic memories and chunks. Deterministic; exactly 0 where the
    snapshots hold the same searched rows and targets. It passes when the lower bound of the difference in Recall@10 is not under
    ``settings.recall_floor``.
    """
    source, questions = _questions(before, _Names(before, after), settings.recall_probe_queries)
    if not questions:
        return RecallProbe(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, True, "none")
    queries = sorted({q.query for q in questions})
    first = Retriever(before, embed)
    vectors = first.embedded(queries)
    found = first.search(queries, vectors, K)
    second = Retriever(after, embed, base=first)
    found_after = found if second.finds_the_same_as(first) else second.search(queries, vectors, K)
    then = _scores(questions, dict(zip(queries, found, strict=True)), "before")
    now = _scores(questions, dict(zip(queries, found_after, strict=True)), "after")
    delta, low, high = bootstrap(now - then)
    return RecallProbe(
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


def _questions(before: Snapshot, names: _Names, limit: int) -> tuple[Source, list[Question]]:
    if events := _event_questions(before, names, limit):
        return "recall_events", events
    return "episodes", _episode_questions(before, names)


def _event_questions(before: Snapshot, names: _Names, limit: int) -> list[Question]:
    """The newest ``limit`` recall events whose query and targets still mean something in ``before``, newest first."""
    events = before.table("recall_events").sort_by([("occurred_at", "descending"), ("id", "ascending")])
    questions: list[Question] = []
    for event in _rows(events, ("query", "selected_ids", "hit_ids")):
        targets = names.targets(event["selected_ids"] or event["hit_ids"] or ()) if event["query"].strip() else ()
        if targets:
            questions.append(Question(event["query"], targets))
        if len(questions) == limit:
            break
    return questions


def _episode_questions(before: Snapshot, names: _Names) -> list[Question]:
    """The longest sentences of at most 100 raw episodes, spread evenly over the ids of live episodic memories and chunks."""
    memories, chunks = searched_table(before, "memories"), searched_table(before, "chunks")
    memories = memories.filter(pc.equal(memories["kind"], "episodic"))
    versions = before.table("memory_versions")
    current = pc.index_in(memories["current_version_id"], value_set=versions["id"].combine_chunks())
    raw = pa.table(
        {
            "id": pa.chunked_array([*memories["id"].chunks, *chunks["id"].chunks], pa.string()),
            "text": pa.chunked_array(
                [*versions["content"].take(current).chunks, *chunks["content"].chunks], pa.string()
            ),
        }
    )
    raw = raw.filter(pc.match_substring_regex(raw["text"], r"[\pL\pN]"))
    order = pc.sort_indices(raw["id"])
    drawn = np.unique(np.linspace(0, len(raw) - 1, min(EPISODES, len(raw)), dtype=np.int64))
    return [
        Question(longest_sentence(row["text"]), targets)
        for row in raw.take(order.take(pa.array(drawn, pa.int64()))).to_pylist()
        if (targets := names.targets([row["id"]]))
    ]


class _Names:
    """What ids of one snapshot mean in both: merges followed to their survivors, cited chunks for what has no live row."""

    def __init__(self, before: Snapshot, after: Snapshot) -> None:
        self._before = before
        self._live_before, self._live_after = _live(before), _live(after)
        self._into = merged_into(after)
        self._cited: dict[str, frozenset[str]] | None = None

    def targets(self, ids: Iterable[str]) -> tuple[Target, ...]:
        """The targets of a recall, one for all ids that one survivor stands for; those with no row in ``before`` are out."""
        groups: dict[str, set[str]] = {}
        for id_ in ids:
            rows = chain(id_, self._into)
            groups.setdefault(rows[-1], set()).update(rows)
        targets = (self._target(frozenset(group)) for group in groups.values())
        return tuple(t for t in targets if t.before)

    def _target(self, group: frozenset[str]) -> Target:
        after = group & self._live_after or self._sources(group) & self._live_after
        own = group & self._live_before or self._sources(group) & self._live_before
        return Target(own | (after & self._live_before), after)

    def _sources(self, group: frozenset[str]) -> frozenset[str]:
        """Chunks that rows of the group cite in ``before``; only questions with a dead target ever read them."""
        if self._cited is None:
            alive = pa.array(sorted(self._live_before & self._live_after), pa.string())
            self._cited = {}
            for table in ("entities", "memories"):
                rows = self._before.table(table)
                gone = rows.filter(pc.invert(pc.is_in(rows["id"], value_set=alive)))
                self._cited.update((r["id"], frozenset(r["source_chunk_ids"])) for r in _rows(gone, _CITING))
        return frozenset().union(*(self._cited.get(id_, frozenset()) for id_ in group))


def _scores(
    questions: Sequence[Question], hits: Mapping[str, Sequence[str]], side: Literal["before", "after"]
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


def _live(snapshot: Snapshot) -> frozenset[str]:
    return frozenset(
        i for t in ("entities", "chunks", "memories") for i in searched_table(snapshot, t)["id"].to_pylist()
    )


def _rows(table: pa.Table, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    for batch in table.select(list(columns)).to_batches(max_chunksize=10_000):
        yield from batch.to_pylist()
