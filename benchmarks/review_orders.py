"""``python -m benchmarks.review_orders [DIR] [--scale 1] [--only NAME …] [--answers 200]``: how many answers until merges are good.

On every labelled set the gold answers questions, ten at a time. The orders are: by chance; the least certain first (uncertainty
sampling); as the queue of a review has them (``slowwave.review.ordering``), with weights learnt between the batches; as a review of one
plan asks, whose questions stay as they were sealed and whose drafts teach (``slowwave.review.learning``); and as
``Matches.next_questions`` chooses them. All but the last two choose among the pairs that would be for review then.

Counted are pairs within clusters, beside the tf-idf cosine at the threshold of its best F1: of what is *signed*, the merges of the plan
with the groups that every yes joins, which is what apply makes; and of what matching makes of the rows once it has *learnt* from all
answers. Answers until an F1 are counted of what is signed. Of a set of more than ``--rows`` rows so many are taken, whole clusters.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Final

import numpy as np
from rich.console import Console
from scipy import sparse
from scipy.sparse import csgraph

from benchmarks import matching, quality, tfidf, trial
from benchmarks.machine import commit
from benchmarks.quality import Counted
from benchmarks.report import Part, show
from slowwave.config.settings import Settings
from slowwave.matching import Answers, Matches, match_entities
from slowwave.matching.review import ReviewPair
from slowwave.plans.ledger import StoredItem
from slowwave.review.drafts import Draft
from slowwave.review.learning import learn
from slowwave.review.ordering import information

BATCH: Final = 10
GOOD: Final = (0.90, 0.95)
_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)  # no answer is later than another
SEEDS: Final = 3
"""Orders by chance, of whose answers the median is told."""

Choose = Callable[[Matches, Sequence[ReviewPair], Random], Sequence[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class Reached:
    """One set and order: F1 before the first answer, what a signature merges after the last and what is merged once all is learnt, and by
    ``GOOD`` after how many answers a signature reaches it, None for never."""

    first: float
    signed: Counted
    learnt: Counted
    answers: Mapping[float, int | None]


def by_chance(_: Matches, pairs: Sequence[ReviewPair], r: Random) -> Sequence[tuple[str, str]]:
    """Any of them."""
    return [(p.a, p.b) for p in r.sample(list(pairs), min(BATCH, len(pairs)))]


def by_uncertainty(_: Matches, pairs: Sequence[ReviewPair], __: Random) -> Sequence[tuple[str, str]]:
    """Those whose probability is next to a half."""
    return [(p.a, p.b) for p in sorted(pairs, key=lambda p: (abs(p.probability - 0.5), p.a, p.b))[:BATCH]]


def by_queue(now: Matches, pairs: Sequence[ReviewPair], _: Random) -> Sequence[tuple[str, str]]:
    """In the order of a review, of the items that the pairs would be."""
    worth = information(_items(now, [(p.a, p.b) for p in pairs], {}), merges=_merges(now))
    ordered = sorted(pairs, key=lambda p: (-worth[f"{p.a} {p.b}"], p.a, p.b))
    return [(p.a, p.b) for p in ordered[:BATCH]]


class InOnePlan:
    """A review of one plan: the questions are those of the first look, and the answers so far are drafts."""

    def __init__(
        self, pairs: Sequence[tuple[str, str]], items: Sequence[StoredItem], merges: Sequence[StoredItem] = ()
    ) -> None:
        self._pairs = {f"{a} {b}": (a, b) for a, b in pairs}
        self._items = items
        self._merges = merges

    @property
    def items(self) -> Sequence[StoredItem]:
        """The questions."""
        return self._items

    @classmethod
    def of(cls, start: Matches, names: Mapping[str, str]) -> InOnePlan:
        """The questions of ``start``, sealed."""
        pairs = [(p.a, p.b) for p in start.review]
        return cls(pairs, _items(start, pairs, names), _merges(start))

    def ask(
        self, answers: Mapping[tuple[str, str], bool], marked: Mapping[str, Draft] | None = None
    ) -> Sequence[tuple[str, str]]:
        """The next questions, after these answers and drafts of what looked decided."""
        drafts = _drafts(answers) | dict(marked or {})
        taught = learn(self._items, drafts)
        worth = information(self._items, taught.likely, merges=self._merges, drafts=drafts)
        left = [s.id for s in self._items if s.id not in drafts and s.id not in taught.follows]
        return [self._pairs[id_] for id_ in sorted(left, key=lambda id_: (-worth[id_], id_))[:BATCH]]

    def look_decided(
        self, answers: Mapping[tuple[str, str], bool], marked: Mapping[str, Draft], sure: float
    ) -> dict[str, Draft]:
        """By item the drafts that ``d`` would make after these."""
        found = learn(self._items, _drafts(answers) | dict(marked), sure).decided
        return {id_: Draft(id_, group.verdict, group.note, "gold", _NOW) for group in found for id_ in group.items}

    def pair(self, item: str) -> tuple[str, str]:
        """The rows of a question."""
        return self._pairs[item]


def _drafts(answers: Mapping[tuple[str, str], bool]) -> dict[str, Draft]:
    said = {f"{a} {b}": "yes" if same else "no" for (a, b), same in answers.items()}
    return {id_: Draft(id_, verdict, "", "gold", _NOW) for id_, verdict in said.items()}


def _items(now: Matches, pairs: Sequence[tuple[str, str]], names: Mapping[str, str]) -> list[StoredItem]:
    """The items that pairs would be."""
    return [
        StoredItem(
            id=f"{p.a} {p.b}",
            operation="dedupe_entities",
            decision="review",
            risk="high",
            tokens=0,
            probability=p.probability,
            mutation=json.dumps({"keep": {"id": p.a}, "absorb": [{"id": p.b}]}),
            evidence=json.dumps(
                {"waterfall": list(p.waterfall), "reason": p.reason, "names": [names.get(p.a, ""), names.get(p.b, "")]},
                default=str,
            ),
            sources="[]",
            kind="merge_rows",
            status="pending",
            reason="",
            question="same",
        )
        for p in now.explain_all(pairs)
    ]


def _merges(now: Matches) -> list[StoredItem]:
    """The items that merges would be."""
    return [
        StoredItem(
            id=f"merge of {ids[0]}",
            operation="dedupe_entities",
            decision="merge",
            risk="low",
            tokens=0,
            probability=1.0,
            mutation=json.dumps({"keep": {"id": ids[0]}, "absorb": [{"id": id_} for id_ in ids[1:]]}),
            evidence="{}",
            sources="[]",
            kind="merge_rows",
            status="pending",
            reason="",
            question="",
        )
        for ids in now.merges
    ]


def by_teaching(now: Matches, _: Sequence[ReviewPair], __: Random) -> Sequence[tuple[str, str]]:
    """What the matcher would ask to learn from."""
    return [(q.a, q.b) for q in now.next_questions(BATCH)]


ORDERS: Final[Mapping[str, Choose]] = {
    "by chance": by_chance,
    "uncertainty": by_uncertainty,
    "queue": by_queue,
    "one plan": by_queue,
    "next_questions": by_teaching,
}


def main() -> None:
    """Run the sets and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.review_orders", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", metavar="DIR", help="labelled sets besides the generated ones")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the rows of the worlds")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only sets of these names")
    parser.add_argument("--answers", type=int, default=200, help="answers at most")
    parser.add_argument("--rows", type=int, default=6_000, help="rows of a set at most")
    parser.add_argument(
        "--orders", nargs="+", choices=list(ORDERS), default=list(ORDERS), metavar="ORDER", help="only these orders"
    )
    given = parser.parse_args()
    console, found = Console(), dict[str, dict[str, Reached]]()
    if given.folder and not given.folder.is_dir():
        console.print(f"{given.folder} is no folder, so only generated sets are asked about.")
        given.folder = None
    console.width = max(console.width, 150)
    with tempfile.TemporaryDirectory(prefix="slowwave-sets-") as made:
        for path in matching.sets(given.folder, Path(made), given.scale):
            name = trial.title(path)
            if (given.only and name not in given.only) or name.startswith("fever"):
                continue
            with console.status(name):
                found[name] = simulate(path, given.answers, given.rows, given.orders)
            show([part({name: found[name]}, given.answers)], console)
    console.print(f"Commit {commit()}, {os.cpu_count()} cores, Python {sys.version.split()[0]}.")
    show([part(found, given.answers)], console)


def simulate(path: Path, most: int, rows: int, orders: Sequence[str] = tuple(ORDERS)) -> dict[str, Reached]:
    """A labelled set in each order, and the cosine as one that asks nothing."""
    table, gold_texts = trial.read(path)
    if table.num_rows > rows:
        kept = whole_clusters(gold_texts, rows)
        table, gold_texts = table.take(kept), [gold_texts[k] for k in kept]
    ids, names, attributes = (table[column].to_pylist() for column in ("id", "name", "attributes"))
    place = {id_: k for k, id_ in enumerate(ids)}
    _, gold = np.unique(np.array(gold_texts, np.object_), return_inverse=True)
    kinds = np.unique(np.array(table["entity_type"].to_pylist(), np.object_), return_inverse=True)[1]
    first = match_entities(table, Settings())

    def count(matches: Matches) -> Counted:
        clusters = [[place[id_] for id_ in ids] for ids in matches.merges]
        return quality.closure(quality.labels_of(len(place), clusters), gold)

    def same(a: str, b: str) -> bool:
        return bool(gold[place[a]] == gold[place[b]])

    def sign(matches: Matches, answers: Mapping[tuple[str, str], bool]) -> Counted:
        joined = [*matches.merges, *(pair for pair, yes in answers.items() if yes)]
        ends = [(place[ids[0]], place[id_]) for ids in joined for id_ in ids[1:]]
        i, j = np.array(ends, np.int64).reshape(-1, 2).T
        graph = sparse.coo_matrix((np.ones(len(i), np.int8), (i, j)), shape=(len(place), len(place)))
        return quality.closure(csgraph.connected_components(graph, directed=False)[1].astype(np.int64), gold)

    start = first.learn(Answers(), "f1")
    best = tfidf.best(names, attributes, kinds, gold)
    never: dict[float, int | None] = dict.fromkeys(GOOD)
    found = {"tf-idf": Reached(best.f1, Counted(0, 0, 0), Counted(0, 0, 0), never)}
    for name in orders:
        choose = ORDERS[name]
        seeds = range(SEEDS if choose is by_chance else 1)
        plan = InOnePlan.of(start, dict(zip(ids, names, strict=True))) if name == "one plan" else None
        runs = [_ask(start, choose, same, sign, count, most, Random(n), plan) for n in seeds]  # noqa: S311 - no secret
        runs.sort(key=lambda run: run.signed.f1 or 0.0)
        found[name] = runs[len(runs) // 2]
    return found


def whole_clusters(gold: Sequence[str], rows: int) -> list[int]:
    """Places of about so many rows: clusters in an order by chance, the same each time."""
    members: dict[str, list[int]] = {}
    for k, cluster in enumerate(gold):
        members.setdefault(cluster, []).append(k)
    clusters = sorted(members)
    Random(7).shuffle(clusters)  # noqa: S311 - no secret
    kept: list[int] = []
    for cluster in clusters:
        if len(kept) >= rows:
            break
        kept += members[cluster]
    return sorted(kept)


def _ask(
    start: Matches,
    choose: Choose,
    same: Callable[[str, str], bool],
    sign: Callable[[Matches, Mapping[tuple[str, str], bool]], Counted],
    count: Callable[[Matches], Counted],
    most: int,
    r: Random,
    plan: InOnePlan | None,
) -> Reached:
    """One order to its end: nothing is left to ask, or there were ``most`` answers."""
    now, answers = start, dict[tuple[str, str], bool]()
    signed = sign(start, answers)
    first = signed.f1 or 0.0
    reached: dict[float, int | None] = {good: 0 if first >= good else None for good in GOOD}
    while len(answers) < most:
        left = [pair for pair in now.review if (pair.a, pair.b) not in answers]
        chosen = choose(now, left, r) if plan is None else plan.ask(answers)
        asked = [pair for pair in chosen if pair not in answers][: most - len(answers)]
        if not asked:
            break
        answers |= {(a, b): same(a, b) for a, b in asked}
        signed = sign(start, answers)
        for good in GOOD:
            if reached[good] is None and (signed.f1 or 0.0) >= good:
                reached[good] = len(answers)
        if plan is None:
            now = _learnt(start, answers)
    return Reached(first, signed, count(_learnt(start, answers)), reached)


def _learnt(start: Matches, answers: Mapping[tuple[str, str], bool]) -> Matches:
    return start.learn(Answers.of([(a, b, yes) for (a, b), yes in answers.items()]), "f1")


def part(found: Mapping[str, Mapping[str, Reached]], most: int) -> Part:
    """Answers until each F1, a row a set and order."""
    rows = [
        [
            name,
            order,
            f"{of.first:.3f}",
            *(_number(of.answers[good]) for good in GOOD),
            *_shares(of.signed),
            *_shares(of.learnt),
        ]
        for name, orders in found.items()
        for order, of in orders.items()
    ]
    says = (
        f"Answers until F1 of what is signed passed, at most {most}; by chance: the median of {SEEDS}. –: it never did. Signed: merges of "
        "the plan with the groups that each yes joins; learnt: what matching makes once it has learnt from all answers."
    )
    return Part(
        "Answers",
        says,
        [
            "set",
            "order",
            "F1 before",
            *(f"until {good:.2f}" for good in GOOD),
            "signed F1",
            "precision",
            "learnt F1",
            "precision",
        ],
        rows,
    )


def _shares(merged: Counted) -> tuple[str, str]:
    """F1 and precision of what was merged, where anything was."""
    if not merged.said:
        return "–", "–"
    return f"{merged.f1 or 0.0:.3f}", f"{merged.precision or 0.0:.3f}"


def _number(answers: int | None) -> str:
    return "–" if answers is None else str(answers)


if __name__ == "__main__":
    main()
