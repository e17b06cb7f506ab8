"""``python -m benchmarks.learnt_rules [--scale 1] [--seed 41] [--only NAME …] [--answers 300]``: how right accepted rules are.

A world of a seed is a night whose questions the gold answers one by one, a world of the next seed is a later night. Each rule that the
answers bear out (``slowwave.review.rules``) is accepted, and held to the gold on that later night: what its limit takes, the likeliest
first, and all that is of its kind and as likely.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich.console import Console

from benchmarks import trial, worlds
from benchmarks.machine import commit
from benchmarks.report import Part, show
from benchmarks.review_orders import InOnePlan, whole_clusters
from slowwave.config.settings import Settings
from slowwave.matching import Answers, match_entities
from slowwave.plans.question_kinds import kinds_of
from slowwave.review.drafts import Draft
from slowwave.review.rules import LearntRule, rules_of

_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
_HEADS = ["world", "kind", "answered yes", "bound", "right within the limit", "right of all of the kind"]


def main() -> None:
    """Run the worlds and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learnt_rules", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the rows of the worlds")
    parser.add_argument("--seed", type=int, default=41, help="of the first night")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only worlds of these names")
    parser.add_argument("--answers", type=int, default=300, help="answers at most")
    parser.add_argument("--rows", type=int, default=1_500, help="rows of a world at most")
    given = parser.parse_args()
    console, rows = Console(), list[list[str]]()
    console.width = max(console.width, 170)
    for world in given.only or worlds.WORLDS:
        with console.status(world):
            first, later = (_night(world, given.scale, given.seed + n, given.rows) for n in (0, 1))
            rules = accepted(first, given.answers)
            rows += [[world, *_row(rule, later)] for rule in rules] or [[world, "none", "", "", "", ""]]
    console.print(f"Commit {commit()}, {os.cpu_count()} cores, Python {sys.version.split()[0]}.")
    show([Part("Learnt rules", "Rules of one night, held to the gold on another.", _HEADS, rows)], console)


class _Night:
    """The questions of a labelled set, and which of them are yes."""

    def __init__(self, path: Path, rows: int) -> None:
        table, gold = trial.read(path)
        if table.num_rows > rows:
            kept = whole_clusters(gold, rows)
            table, gold = table.take(kept), [gold[k] for k in kept]
        ids = table["id"].to_pylist()
        of = dict(zip(ids, gold, strict=True))
        start = match_entities(table, Settings()).learn(Answers(), "f1")
        self.plan = InOnePlan.of(start, dict(zip(ids, table["name"].to_pylist(), strict=True)))
        pairs = {item.id: self.plan.pair(item.id) for item in self.plan.items}
        self.yes = {id_: of[a] == of[b] for id_, (a, b) in pairs.items()}

    def right(self, ids: Sequence[str]) -> str:
        """How many of these are yes."""
        return f"{sum(self.yes[id_] for id_ in ids):,} of {len(ids):,}"


def _night(world: str, scale: float, seed: int, rows: int) -> _Night:
    with tempfile.TemporaryDirectory(prefix="slowwave-world-") as made:
        path = Path(made) / f"world-{world}.csv"
        worlds.write(worlds.make(world, scale, seed), path)
        return _Night(path, rows)


def accepted(night: _Night, most: int) -> list[LearntRule]:
    """The rules that so many answers of the gold, one by one in the order of the queue, bear out."""
    answers = dict[tuple[str, str], bool]()
    while len(answers) < most and (pairs := night.plan.ask(answers)):
        answers |= {pair: night.yes[f"{pair[0]} {pair[1]}"] for pair in pairs}
    drafts = {
        f"{a} {b}": Draft(f"{a} {b}", "yes" if same else "no", "", "gold", _BEGAN + timedelta(seconds=n))
        for n, ((a, b), same) in enumerate(answers.items())
    }
    return rules_of(night.plan.items, drafts)


def _row(rule: LearntRule, later: _Night) -> list[str]:
    items = [i for i in later.plan.items if i.probability >= rule.least and rule.kind in kinds_of(i)]
    taken = [i.id for i in sorted(items, key=lambda i: (-i.probability, i.id))]
    return [
        f"{rule.kind.sentence()[:70]}; p ≥ {rule.least:.2f}",
        f"{rule.agreed} of {rule.answered}",
        f"{rule.bound:.2f}",
        *(later.right(some) for some in (taken[: rule.per_night], taken)),
    ]


if __name__ == "__main__":
    main()
