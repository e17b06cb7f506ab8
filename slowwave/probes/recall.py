"""No harm: what past recall queries find before and after a plan, by one reference retriever.

A question is a query with its *targets*. A target is something that the agent used, with the rows that stand for it in each
snapshot. Rows that one merge joins are one target; after the plan it is the survivor, before the plan any of them. A memory and the
passage that it was made of are one target as well, and one of the ten things that are found (``slowwave.search.things``).
A target with no live row left is stood for by the live chunks that it cites. Whatever counts after the plan counts before it
too, so that a plan never gains by the leniency of the measure.

A question that is drawn from a statement that the plan ends, as a later one says that it is over, is asked in the words of its successor;
what an agent once asked keeps its own.

Every question is asked twice: of all that recall searches, and of memories alone, where no passage can stand for a memory: an agent
that reads only its memories has no passages, and the passage from which a memory was made answers for it however it is archived. What
a plan quarantines, redacts or forgets is to be found no longer, and is no target.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Final, Literal

import numpy as np

from slowwave.config.settings import Settings
from slowwave.language import Embed
from slowwave.plans.items import Item
from slowwave.probes.merges import merged_into, succeeded_by, won_against
from slowwave.probes.queries import ProbeQuery, Source, TargetResolver, questions_of
from slowwave.probes.rewritten import rewritten
from slowwave.search.retriever import Retriever
from slowwave.search.rows import SEARCHED
from slowwave.snapshots.snapshot import Snapshot

K: Final = 10
RESAMPLES: Final = 2_000
_SEED: Final = 20_090_719
_AT_ONCE: Final = 4_000_000  # resampled places held in memory
_ALONE: Final = ("memories",)

_Things = list[tuple[str, ...]]
"""What a query finds, best first: the ids of the rows of each thing."""


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

    ``withheld`` counts recalled rows that the plan withholds. A plan that ``only_adds`` rows passes: what was found before is still there.
    ``lost`` maps rows to what they cost, in questions: those that
    were found before the plan and are not after it, or what took their places where they still stand.
    """

    memories: Recall
    withheld: int = 0
    only_adds: bool = False
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
            f" {self.withheld:,} recalled {'row' if one else 'rows'} that the plan quarantines, redacts or forgets "
            f"{'is' if one else 'are'} not asked about: that {'it is' if one else 'they are'} found no longer is intended."
            if self.withheld
            else ""
        )
        added = (
            " The plan only adds rows, so every answer is still there."
            if self.only_adds and min(self.delta, self.memories.delta) < 0
            else ""
        )
        message = f"{self.figures()}.{alone}{left_out}{added}"
        return message if self.passed else f"{message} The plan may harm recall: approving it needs force and a reason."


_NOTHING: Final = Recall(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, True, "none")


class Baseline:
    """What queries find in one snapshot, for the probes of several futures of it: its texts are read once, and each list of queries is
    searched once.
    """

    def __init__(self, snapshot: Snapshot, embed: Embed | None) -> None:
        self.snapshot, self.embed = snapshot, embed
        self._retrievers: dict[tuple[str, ...], Retriever] = {}
        self._vectors: dict[str, np.ndarray] = {}
        self._found: dict[tuple[tuple[str, ...], tuple[str, ...]], list[_Things]] = {}

    def retriever(self, tables: tuple[str, ...] = SEARCHED) -> Retriever:
        """The retriever over ``tables``."""
        if tables not in self._retrievers:
            base = None if tables == SEARCHED else self.retriever()
            self._retrievers[tables] = Retriever(self.snapshot, self.embed, base=base, tables=tables)
        return self._retrievers[tables]

    def vectors(self, queries: Sequence[str]) -> np.ndarray | None:
        """Queries (q) → unit vectors (q, d), see ``Retriever.embedded``. Each query is embedded once."""
        new = sorted({*queries} - self._vectors.keys())
        made = self.retriever().embedded(new)
        if new and made is None:
            return None
        if made is not None:
            self._vectors.update(zip(new, made, strict=True))
        return np.stack([self._vectors[query] for query in queries]) if queries else None

    def evident(self, recalls: Sequence[tuple[str, Sequence[str]]]) -> list[Sequence[str]]:
        """Queries with their first hits → those of the hits that are evidence, see ``Retriever.evident``."""
        vectors = self.vectors([query for query, _ in recalls])
        retriever = self.retriever()
        return [
            retriever.evident(query, None if vectors is None else vectors[n], ids)
            for n, (query, ids) in enumerate(recalls)
        ]

    def found(self, tables: tuple[str, ...], queries: tuple[str, ...]) -> list[_Things]:
        """The ``K`` best things of ``tables`` for each query."""
        key = tables, queries
        if key not in self._found:
            self._found[key] = self.retriever(tables).things(queries, self.vectors(queries), K)
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

    What an event selected is to be found, or those of its first three hits that are evidence where it selected nothing: that another row
    displaces the last of ten, or the best of an off-topic query, is no loss. Where no event names a row that is live in ``before``,
    questions are sentences of raw episodes: episodic memories and chunks. Deterministic; exactly 0 where the snapshots hold the same
    searched rows and targets. It passes when the lower bound of the difference in Recall@10 is not under ``settings.recall_floor``, in
    both, or when the plan only adds rows. ``items`` made ``after``: they tell which row a loser of a contradiction gave way to, and what
    stands for a page's earlier words.
    ``baseline`` is that of ``before`` and ``embed``, where several futures are looked at.

    Cost: the texts are read once, and every question is searched four times at most, twice where the plan leaves what is searched alone.
    """
    names = TargetResolver(before, after, {**merged_into(after), **won_against(items), **rewritten(before, items)})
    limit = settings.recall_probe_queries
    successors = succeeded_by(items)
    baseline = baseline or Baseline(before, embed)
    asked = {
        tables: questions_of(before, names, tables, limit, successors, baseline.evident)
        for tables in (SEARCHED, _ALONE)
    }
    if not any(questions for _, questions in asked.values()):
        return RecallProbe(**asdict(_NOTHING), memories=_NOTHING, withheld=names.withheld_targets)
    queries = tuple(sorted({q.query for _, questions in asked.values() for q in questions}))
    second = Retriever(after, embed, base=baseline.retriever())
    lost: dict[str, float] = defaultdict(float)
    whole = _measured(*asked[SEARCHED], baseline, second, SEARCHED, queries, settings, lost)
    alone = _NOTHING
    if asked[_ALONE][1]:
        bare = Retriever(after, embed, base=second, tables=_ALONE)
        alone = _measured(*asked[_ALONE], baseline, bare, _ALONE, queries, settings, lost)
    only_adds = second.extends(baseline.retriever())
    both = replace(whole, passed=only_adds or (whole.passed and alone.passed))
    return RecallProbe(
        **asdict(both), memories=alone, withheld=names.withheld_targets, only_adds=only_adds, lost=dict(lost)
    )


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
    found_after = found if same else second.things(queries, baseline.vectors(queries), K)
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


def _blame(question: ProbeQuery, things: _Things, things_after: _Things, lost: dict[str, float]) -> None:
    """Share the loss of a question among the rows of what was found and is not: a target's own, or those that came in its place."""
    hits, hits_after = ({id_ for thing in found for id_ in thing} for found in (things, things_after))
    for target in question.targets:
        if target.before.isdisjoint(hits) or not target.after.isdisjoint(hits_after):
            continue
        pushed = () if target.before - target.after else hits_after - hits
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


def _scores(
    questions: Sequence[ProbeQuery], things: Mapping[str, _Things], side: Literal["before", "after"]
) -> np.ndarray:
    """(n, 2): the share of targets among the hits, and one over the place of the first hit that is a target."""
    scores = np.zeros((len(questions), 2))
    for n, question in enumerate(questions):
        rows = [t.before if side == "before" else t.after for t in question.targets]
        found = things[question.query]
        hits = {id_ for thing in found for id_ in thing}
        scores[n, 0] = sum(not accepted.isdisjoint(hits) for accepted in rows) / len(rows)
        wanted = frozenset().union(*rows)
        scores[n, 1] = next((1 / place for place, ids in enumerate(found, 1) if not wanted.isdisjoint(ids)), 0.0)
    return scores
