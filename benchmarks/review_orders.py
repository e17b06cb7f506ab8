"""``python -m benchmarks.review_orders [DIR] [--scale 1] [--only NAME …] [--answers 200]``: how many answers until merges are good.

On every labelled set the gold answers questions, ten at a time, and merges are decided again with all answers so far. The orders are: by
chance; the least certain first (uncertainty sampling); as the queue of a review has them (``slowwave.review.ordering``); and as
``Matches.next_questions`` chooses them. All but the last choose among the pairs that would be for review then, and all learn alike, so that
only the order differs. What is counted is F1 of the pairs within clusters.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

import numpy as np
from rich.console import Console

from benchmarks import matching, quality, trial
from benchmarks.machine import commit
from benchmarks.report import Part, show
from slowwave.config.settings import Settings
from slowwave.matching import Answers, Matches, match_entities
from slowwave.matching.review import ReviewPair
from slowwave.plans.ledger import StoredItem
from slowwave.review.ordering import information

BATCH: Final = 10
GOOD: Final = (0.90, 0.95)
SEEDS: Final = 3
"""Orders by chance, of whose answers the median is told."""

Choose = Callable[[Matches, Sequence[ReviewPair], Random], Sequence[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class Reached:
    """One set and order: F1 before the first answer and after the last, and by ``GOOD`` after how many it was reached, None for never."""

    first: float
    last: float
    answers: Mapping[float, int | None]


def by_chance(_: Matches, pairs: Sequence[ReviewPair], r: Random) -> Sequence[tuple[str, str]]:
    """Any of them."""
    return [(p.a, p.b) for p in r.sample(list(pairs), min(BATCH, len(pairs)))]


def by_uncertainty(_: Matches, pairs: Sequence[ReviewPair], __: Random) -> Sequence[tuple[str, str]]:
    """Those whose probability is next to a half."""
    return [(p.a, p.b) for p in sorted(pairs, key=lambda p: (abs(p.probability - 0.5), p.a, p.b))[:BATCH]]


def by_queue(now: Matches, pairs: Sequence[ReviewPair], _: Random) -> Sequence[tuple[str, str]]:
    """In the order of a review, of the items that the pairs would be."""
    told = now.explain_all([(p.a, p.b) for p in pairs])
    items = [
        StoredItem(
            id=f"{p.a} {p.b}",
            operation="dedupe_entities",
            decision="review",
            risk="high",
            tokens=0,
            probability=p.probability,
            mutation=json.dumps({"keep": {"id": p.a}, "absorb": [{"id": p.b}]}),
            evidence=json.dumps({"waterfall": list(p.waterfall), "reason": p.reason}, default=str),
            sources="[]",
            kind="merge_rows",
            status="pending",
            reason="",
            question="same",
        )
        for p in told
    ]
    worth = information(items)
    ordered = sorted(told, key=lambda p: (-worth[f"{p.a} {p.b}"], p.a, p.b))
    return [(p.a, p.b) for p in ordered[:BATCH]]


def by_teaching(now: Matches, _: Sequence[ReviewPair], __: Random) -> Sequence[tuple[str, str]]:
    """What the matcher would ask to learn from."""
    return [(q.a, q.b) for q in now.next_questions(BATCH)]


ORDERS: Final[Mapping[str, Choose]] = {
    "by chance": by_chance,
    "uncertainty": by_uncertainty,
    "queue": by_queue,
    "next_questions": by_teaching,
}


def main() -> None:
    """Run the sets and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.review_orders", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", metavar="DIR", help="labelled sets besides the generated ones")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the rows of the worlds")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only sets of these names")
    parser.add_argument("--answers", type=int, default=200, help="answers at most")
    given = parser.parse_args()
    console, found = Console(), dict[str, dict[str, Reached]]()
    console.width = max(console.width, 150)
    with tempfile.TemporaryDirectory(prefix="slowwave-sets-") as made:
        for path in matching.sets(given.folder, Path(made), given.scale):
            name = trial.title(path)
            if (given.only and name not in given.only) or name.startswith("fever"):
                continue
            with console.status(name):
                found[name] = simulate(path, given.answers)
            show([part({name: found[name]}, given.answers)], console)
    console.print(f"Commit {commit()}, {os.cpu_count()} cores, Python {sys.version.split()[0]}.")
    show([part(found, given.answers)], console)


def simulate(path: Path, most: int) -> dict[str, Reached]:
    """A labelled set in every order."""
    table, gold_texts = trial.read(path)
    place = {id_: k for k, id_ in enumerate(table["id"].to_pylist())}
    _, gold = np.unique(np.array(gold_texts, np.object_), return_inverse=True)
    first = match_entities(table, Settings())

    def count(matches: Matches) -> float:
        clusters = [[place[id_] for id_ in ids] for ids in matches.merges]
        return quality.closure(quality.labels_of(len(place), clusters), gold).f1 or 0.0

    def same(a: str, b: str) -> bool:
        return bool(gold[place[a]] == gold[place[b]])

    start = first.learn(Answers(), "f1")
    found: dict[str, Reached] = {}
    for name, choose in ORDERS.items():
        seeds = range(SEEDS if choose is by_chance else 1)
        runs = [_ask(start, choose, same, count, most, Random(n)) for n in seeds]  # noqa: S311 - no secret
        runs.sort(key=lambda run: [run.answers[good] or most + 1 for good in GOOD])
        found[name] = runs[len(runs) // 2]
    return found


def _ask(
    start: Matches,
    choose: Choose,
    same: Callable[[str, str], bool],
    count: Callable[[Matches], float],
    most: int,
    r: Random,
) -> Reached:
    """One order to its end: all is good, nothing is left to ask, or there were ``most`` answers."""
    now, answers = start, dict[tuple[str, str], bool]()
    first = f1 = count(start)
    reached: dict[float, int | None] = {good: 0 if first >= good else None for good in GOOD}
    while len(answers) < most and any(n is None for n in reached.values()):
        left = [pair for pair in now.review if (pair.a, pair.b) not in answers]
        asked = [pair for pair in choose(now, left, r) if pair not in answers][: most - len(answers)]
        if not asked:
            break
        answers |= {(a, b): same(a, b) for a, b in asked}
        now = start.learn(Answers.of([(a, b, yes) for (a, b), yes in answers.items()]), "f1")
        f1 = count(now)
        for good in GOOD:
            if reached[good] is None and f1 >= good:
                reached[good] = len(answers)
    return Reached(first, f1, reached)


def part(found: Mapping[str, Mapping[str, Reached]], most: int) -> Part:
    """Answers until each F1, a row a set and order."""
    rows = [
        [name, order, f"{of.first:.3f}", *(_number(of.answers[good]) for good in GOOD), f"{of.last:.3f}"]
        for name, orders in found.items()
        for order, of in orders.items()
    ]
    says = f"Answers until F1 of merges passed, at most {most}; by chance: the median of {SEEDS}. –: it never did."
    return Part(
        "Answers", says, ["set", "order", "F1 before", *(f"until {good:.2f}" for good in GOOD), "F1 then"], rows
    )


def _number(answers: int | None) -> str:
    return "–" if answers is None else str(answers)


if __name__ == "__main__":
    main()
