"""``python -m benchmarks.learnt_rules [--scale 1] [--seed 41] [--only NAME …] [--answers 300]``: how right accepted rules are.

A world of a seed is a night whose questions the gold answers one by one, a world of the next seed is a later night. Each rule that the
answers bear out (``slowwave.plans.review.rules``) is accepted, and held to the gold on that later night: what its limit takes, the surest
first, and all that is of its kind and as sure. Below stand the sums of each verdict, and the share of the later nights' questions that
the limits take.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from benchmarks import trial, worlds
from benchmarks.machine import commit
from benchmarks.report import Part, show
from benchmarks.review_orders import BATCH, InOnePlan, whole_clusters
from slowwave.matching import match_entities
from slowwave.plans.policies import VERDICTS, Verdict, kinds_of
from slowwave.plans.review.drafts import Draft
from slowwave.plans.review.rules import LearntRule, rules_of
from slowwave.store.settings import Settings

_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
_HEADS = ["world", "says", "kind", "answered so", "bound", "right within the limit", "right of all of the kind"]


def main() -> None:
    """Run the worlds and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learnt_rules", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the rows of the worlds")
    parser.add_argument("--seed", type=int, default=41, help="of the first night")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only worlds of these names")
    parser.add_argument("--answers", type=int, default=300, help="answers at most")
    parser.add_argument("--rows", type=int, default=1_500, help="rows of a world at most")
    given = parser.parse_args()
    console, rows, questions = Console(), list[list[str]](), 0
    sums: dict[Verdict, list[tuple[_Right, _Right]]] = {verdict: [] for verdict in VERDICTS}
    console.width = max(console.width, 170)
    for world in given.only or worlds.WORLDS:
        with console.status(world):
            first, later = (_night(world, given.scale, given.seed + n, given.rows) for n in (0, 1))
            rules = accepted(first, given.answers)
            held = [(rule, later.held(rule)) for rule in rules]
            rows += [[world, *_row(rule, *of)] for rule, of in held] or [[world, "", "none", "", "", "", ""]]
            questions += len(later.plan.items)
            for rule, of in held:
                sums[rule.verdict].append(of)
    for verdict, of in sums.items():
        limited, all_ = (_Right.sum(column) for column in zip(*of, strict=True)) if of else (_Right(), _Right())
        share = limited.of / questions if questions else 0.0
        rows.append(["all", verdict, f"{len(of)} rules; the limits take {share:.1%}", "", "", str(limited), str(all_)])
    console.print(f"Commit {commit()}, {os.cpu_count()} cores, Python {sys.version.split()[0]}.")
    show([Part("Learnt rules", "Rules of one night, held to the gold on another.", _HEADS, rows)], console)


class _Right(NamedTuple):
    """How many of so many questions a rule answers as the gold does."""

    right: int = 0
    of: int = 0

    def __str__(self) -> str:
        return f"{self.right:,} of {self.of:,}"

    @classmethod
    def sum(cls, parts: Iterable[_Right]) -> _Right:
        """All of several rules."""
        return cls(*(sum(column) for column in zip(*parts, strict=True)))


class _Night:
    """The questions of a labelled set, and which of them are yes."""

    def __init__(self, path: Path, rows: int) -> None:
        table, gold = trial.read(path)
        if table.num_rows > rows:
            kept = whole_clusters(gold, rows)
            table, gold = table.take(kept), [gold[k] for k in kept]
        ids = table["id"].to_pylist()
        of = dict(zip(ids, gold, strict=True))
        start = match_entities(table, Settings())
        self.plan = InOnePlan.from_matches(start, dict(zip(ids, table["name"].to_pylist(), strict=True)))
        pairs = {item.id: self.plan.pair(item.id) for item in self.plan.items}
        self.yes = {id_: of[a] == of[b] for id_, (a, b) in pairs.items()}

    def held(self, rule: LearntRule) -> tuple[_Right, _Right]:
        """What the rule takes within its limit, and all of its kind that is as sure."""
        items = [i for i in self.plan.items if rule.least <= i.probability <= rule.most]
        likely = 1 if rule.verdict == "no" else -1
        items = sorted(
            (i for i in items if rule.kind in kinds_of(i, rule.verdict)), key=lambda i: (likely * i.probability, i.id)
        )
        right = [self.yes[i.id] == (rule.verdict == "yes") for i in items]
        return _Right(sum(right[: rule.per_night]), len(right[: rule.per_night])), _Right(sum(right), len(right))


def _night(world: str, scale: float, seed: int, rows: int) -> _Night:
    with tempfile.TemporaryDirectory(prefix="slowwave-world-") as made:
        path = Path(made) / f"world-{world}.csv"
        worlds.write(worlds.make(world, scale, seed), path)
        return _Night(path, rows)


def accepted(night: _Night, most: int) -> list[LearntRule]:
    """The rules that so many answers of the gold, one by one in the order of the queue, bear out."""
    answers = dict[tuple[str, str], bool]()
    while len(answers) < most and (pairs := night.plan.ask(BATCH, answers)):
        answers |= {pair: night.yes[f"{pair[0]} {pair[1]}"] for pair in pairs}
    drafts = {
        f"{a} {b}": Draft(f"{a} {b}", "yes" if same else "no", "", "gold", _BEGAN + timedelta(seconds=n))
        for n, ((a, b), same) in enumerate(answers.items())
    }
    return rules_of(night.plan.items, drafts)


def _row(rule: LearntRule, limited: _Right, of_kind: _Right) -> list[str]:
    reach = f"p ≥ {rule.least:.2f}" if rule.verdict == "yes" else f"p ≤ {rule.most:.2f}"
    return [
        rule.verdict,
        f"{rule.kind.sentence()[:90]}; {reach}",
        f"{rule.agreed} of {rule.answered}",
        f"{rule.bound:.2f}",
        *(str(limited), str(of_kind)),
    ]


if __name__ == "__main__":
    main()
