"""``python -m benchmarks.review_orders [DIR] [--scale 1] [--only NAME …] [--answers 200]``: how many answers until merges are good.

On every labelled set the gold reviews one plan, as nights make it of the rows: its questions stay as they were sealed, its drafts teach
(``slowwave.plans.review.rules``), and after each answer the next is chosen. The orders are: by chance, ten at a time, as answers teach it
nothing; the least certain first by what was learnt (uncertainty sampling); as the queue of a *review* has them
(``slowwave.plans.review.queue``); and *at best*, the queue of one who knows the gold and asks what is right, the largest groups first, so
that hardly any order needs fewer answers. What follows from answers is asked in none.

Counted are pairs within clusters, beside the tf-idf cosine at the threshold of its best F1: of what is *signed*, the merges of the plan
with the groups that every yes joins, which is what apply makes; and of what a later night makes of the rows once it has *learnt* from
the answers. Answers until an F1 are counted of what is signed, as are those until the F1 that ``ASKED`` answers by chance reach: an order
halves the number where it needs at most half of the answers that chance took. Of a set of more than ``--rows`` rows so many are taken,
whole clusters.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from random import Random
from typing import Final

import numpy as np
from rich.console import Console
from scipy import sparse
from scipy.sparse import csgraph

from benchmarks import matching, quality, tfidf, trial, worlds
from benchmarks.machine import commit
from benchmarks.quality import Counted
from benchmarks.report import Part, show
from slowwave.matching import Answers, Matches, match_entities
from slowwave.plans.ledger import StoredItem
from slowwave.plans.review.drafts import Draft
from slowwave.plans.review.queue import information
from slowwave.plans.review.rules import learn
from slowwave.store.settings import Settings

ASKED: Final = 100
"""Answers after which orders are compared."""

BATCH: Final = 10
"""Answers at a time where what they teach is looked at less often."""

GOOD: Final = (0.90, 0.95)
SEEDS: Final = 3
"""Orders by chance, of which the median is told."""

_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)  # no answer is later than another


@dataclass(frozen=True, slots=True)
class Reached:
    """One set and order: what a signature merges after each answer, from none on, and what a later night merges that has learnt from the
    first ``ASKED``."""

    signed: Sequence[Counted]
    learnt: Counted

    @property
    def asked(self) -> Counted:
        """What a signature merges after ``ASKED`` answers, or all there are."""
        return self.signed[: ASKED + 1][-1]

    def until(self, good: float) -> int | None:
        """After how many answers a signature reaches an F1, None for never."""
        return next((n for n, counted in enumerate(self.signed) if (counted.f1 or 0.0) >= good), None)


class InOnePlan:
    """A review of one plan: its questions are those of the first look, and the answers so far are drafts."""

    def __init__(
        self, pairs: Sequence[tuple[str, str]], items: Sequence[StoredItem], merges: Sequence[StoredItem] = ()
    ) -> None:
        self._pairs = {f"{a} {b}": (a, b) for a, b in pairs}
        self.items = items
        self.merges = merges

    @classmethod
    def from_matches(cls, start: Matches, names: Mapping[str, str]) -> InOnePlan:
        """The questions of ``start``, sealed."""
        pairs = [(p.a, p.b) for p in start.review]
        return cls(pairs, _items(start, pairs, names), _merges(start))

    def ask(
        self,
        most: int,
        answers: Mapping[tuple[str, str], bool],
        marked: Mapping[str, Draft] | None = None,
        worth: Worth | None = None,
    ) -> Sequence[tuple[str, str]]:
        """The next questions, at most so many, after these answers and drafts of what looked decided; in the order of a review, or of what
        they are ``worth``."""
        drafts = _drafts(answers) | dict(marked or {})
        taught = learn(self.items, drafts)
        told = (worth or by_review)(self, drafts, {s.id: s.probability for s in self.items} | dict(taught.likely))
        left = [s.id for s in self.items if s.id not in drafts and s.id not in taught.follows]
        return [self._pairs[id_] for id_ in sorted(left, key=lambda id_: (-told[id_], id_))[:most]]

    def look_decided(
        self, answers: Mapping[tuple[str, str], bool], marked: Mapping[str, Draft], sure: float
    ) -> dict[str, Draft]:
        """By item the drafts that ``d`` would make after these."""
        found = learn(self.items, _drafts(answers) | dict(marked), sure).decided
        return {id_: Draft(id_, group.verdict, group.note, "gold", _NOW) for group in found for id_ in group.items}

    def pair(self, item: str) -> tuple[str, str]:
        """The rows of a question."""
        return self._pairs[item]


Worth = Callable[[InOnePlan, Mapping[str, Draft], Mapping[str, float]], Mapping[str, float]]
"""What each question is worth after the drafts, which make yes so likely: the most is asked first."""


def by_review(plan: InOnePlan, drafts: Mapping[str, Draft], likely: Mapping[str, float]) -> Mapping[str, float]:
    """As the queue of a review has them."""
    return information(plan.items, likely, merges=plan.merges, drafts=drafts)


def by_uncertainty(_: InOnePlan, __: Mapping[str, Draft], likely: Mapping[str, float]) -> Mapping[str, float]:
    """Those whose probability is next to a half."""
    return {id_: -abs(p - 0.5) for id_, p in likely.items()}


def by_chance(items: Sequence[StoredItem], seed: int) -> Worth:
    """Any of them, the same for each seed."""
    r = Random(seed)  # noqa: S311 - no secret
    drawn = {s.id: r.random() for s in items}
    return lambda _, __, ___: drawn


def by_gold(yes: Mapping[str, bool]) -> Worth:
    """What is right, as the queue would have it if it were sure."""
    sure = {id_: float(right) for id_, right in yes.items()}
    return lambda plan, drafts, _: by_review(plan, drafts, sure)


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


@dataclass(frozen=True, slots=True)
class Simulated:
    """One set: the best F1 of the cosine, how many ``questions`` the plan has, and what each order reached."""

    cosine: float
    questions: int
    orders: Mapping[str, Reached]

    def beside_chance(self, run: Reached) -> tuple[str, str, str]:
        """Answers until an order signs what chance does after ``ASKED``, their share of those that chance needs, and whether it is half."""
        chance = self.orders["by chance"]
        goal = chance.asked.f1 or 0.0
        number, beside = chance.until(goal), run.until(goal)
        if number is None or beside is None:
            return _number(beside), "–", "no"
        return str(beside), f"{beside / number:.2f}" if number else "–", "yes" if 2 * beside <= number else "no"


def main() -> None:
    """Run the sets and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.review_orders", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", metavar="DIR", help="labelled sets besides the generated ones")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the rows of the worlds")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only sets of these names")
    parser.add_argument("--answers", type=int, default=200, help="answers at most")
    parser.add_argument("--rows", type=int, default=6_000, help="rows of a set at most")
    parser.add_argument("--seed", type=int, help="worlds of this seed, and nothing else")
    given = parser.parse_args()
    console, found = Console(), dict[str, Simulated]()
    if given.folder and not given.folder.is_dir():
        console.print(f"{given.folder} is no folder, so only generated sets are asked about.")
        given.folder = None
    console.width = max(console.width, 150)
    with tempfile.TemporaryDirectory(prefix="slowwave-sets-") as made:
        for path in labelled_sets(given.folder, Path(made), given.scale, given.seed):
            name = trial.title(path)
            if (given.only and name not in given.only) or name.startswith("fever"):
                continue
            with console.status(name):
                found[name] = simulate(path, given.answers, given.rows)
            show(parts({name: found[name]}), console)
    console.print(f"Commit {commit()}, {os.cpu_count()} cores, Python {sys.version.split()[0]}.")
    show(parts(found), console)


def labelled_sets(folder: Path | None, made: Path, scale: float, seed: int | None) -> Iterable[Path]:
    """The sets of a folder and the generated ones, or the worlds of a ``seed`` alone."""
    if seed is None:
        yield from matching.sets(folder, made, scale)
        return
    for world in worlds.WORLDS:
        worlds.write(worlds.make(world, scale, seed), made / f"world-{world}.csv")
        yield made / f"world-{world}.csv"


def simulate(path: Path, most: int, rows: int) -> Simulated:
    """A labelled set in each order, and the cosine as one that asks nothing."""
    table, gold_texts = trial.read(path)
    if table.num_rows > rows:
        kept = whole_clusters(gold_texts, rows)
        table, gold_texts = table.take(kept), [gold_texts[k] for k in kept]
    ids, names, attributes = (table[column].to_pylist() for column in ("id", "name", "attributes"))
    place = {id_: k for k, id_ in enumerate(ids)}
    _, gold = np.unique(np.array(gold_texts, np.object_), return_inverse=True)
    kinds = np.unique(np.array(table["entity_type"].to_pylist(), np.object_), return_inverse=True)[1]
    start = match_entities(table, Settings())
    plan = InOnePlan.from_matches(start, dict(zip(ids, names, strict=True)))
    pairs = {s.id: plan.pair(s.id) for s in plan.items}
    right = {id_: bool(gold[place[a]] == gold[place[b]]) for id_, (a, b) in pairs.items()}

    def joined(groups: Iterable[Sequence[str]]) -> Counted:
        ends = [(place[ids[0]], place[id_]) for ids in groups for id_ in ids[1:]]
        i, j = np.array(ends, np.int64).reshape(-1, 2).T
        graph = sparse.coo_matrix((np.ones(len(i), np.int8), (i, j)), shape=(len(place), len(place)))
        return quality.closure(csgraph.connected_components(graph, directed=False)[1].astype(np.int64), gold)

    def ask(worth: Worth, at_once: int = 1) -> Reached:
        answers, signed = dict[tuple[str, str], bool](), [joined(start.merges)]
        while asked := plan.ask(min(at_once, most - len(answers)), answers, worth=worth):
            for a, b in asked:
                answers[a, b] = right[f"{a} {b}"]
                signed.append(joined([*start.merges, *(pair for pair, yes in answers.items() if yes)]))
        said = [(a, b, yes) for (a, b), yes in islice(answers.items(), ASKED)]
        return Reached(signed, joined(start.learn(Answers.from_triples(said)).merges))

    chance = sorted((ask(by_chance(plan.items, n), BATCH) for n in range(SEEDS)), key=lambda run: run.asked.f1 or 0.0)
    orders = {
        "by chance": chance[SEEDS // 2],
        "uncertainty": ask(by_uncertainty),
        "review": ask(by_review),
        "at best": ask(by_gold(right)),
    }
    return Simulated(tfidf.best(names, attributes, kinds, gold).f1, len(plan.items), orders)


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


def parts(found: Mapping[str, Simulated]) -> list[Part]:
    """What is merged after ``ASKED`` answers, and the answers until each F1; a row a set and order."""
    merged = [
        [
            name,
            f"{of.cosine:.3f}",
            str(of.questions),
            order,
            f"{run.signed[0].f1 or 0.0:.3f}",
            *_shares(run.asked),
            *_shares(run.learnt),
        ]
        for name, of in found.items()
        for order, run in of.orders.items()
    ]
    numbers = [
        [name, order, *(_number(run.until(good)) for good in GOOD), *of.beside_chance(run)]
        for name, of in found.items()
        for order, run in of.orders.items()
    ]
    return [
        Part(
            f"Merges after {ASKED} answers",
            "F1 and precision. Signed: merges of the plan with the groups that each yes joins; learnt: what a later night merges that has "
            f"learnt from the answers. By chance: the median of {SEEDS}.",
            ["set", "tf-idf F1", "questions", "order", "F1 before", "signed F1", "precision", "learnt F1", "precision"],
            merged,
        ),
        Part(
            "Answers",
            f"Until F1 of what is signed passed, and until it was what {ASKED} answers by chance, or all, make it. –: it never did.",
            ["set", "order", *(f"until {good:.2f}" for good in GOOD), "until chance's", "of chance's number", "halved"],
            numbers,
        ),
    ]


def _shares(merged: Counted) -> tuple[str, str]:
    """F1 and precision of what was merged, where anything was."""
    if not merged.said:
        return "–", "–"
    return f"{merged.f1 or 0.0:.3f}", f"{merged.precision or 0.0:.3f}"


def _number(answers: int | None) -> str:
    return "–" if answers is None else str(answers)


if __name__ == "__main__":
    main()
