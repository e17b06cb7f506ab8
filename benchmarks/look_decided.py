"""``python -m benchmarks.look_decided [DIR] [--scale 1] [--only NAME …] [--rows 1500] [--answers 100]``: how right bulk drafts are.

On every labelled set the gold reviews one plan (``benchmarks.review_orders.InOnePlan``), ten answers at a time; after each ten all that
looks decided is drafted without a look at its sample. Counted is how many of them agree with the
gold, by the probability from which questions look decided. The threshold of a set is chosen on all other sets: the least that has a
precision of ``GOAL`` over them together.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from benchmarks import trial
from benchmarks.machine import commit
from benchmarks.report import Part, show
from benchmarks.review_orders import BATCH, InOnePlan, labelled_sets, whole_clusters
from slowwave.matching import match_entities
from slowwave.plans.review.drafts import Draft
from slowwave.store.settings import Settings

AT: Final = (0.8, 0.9, 0.95, 0.97, 0.98, 0.99)
GOAL: Final = 0.97

Drafted = tuple[int, int]
"""Bulk drafts that agree with the gold, and all."""


def main() -> None:
    """Run the sets and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.look_decided", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", metavar="DIR", help="labelled sets besides the generated ones")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the rows of the worlds")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only sets of these names")
    parser.add_argument("--answers", type=int, default=100, help="answers at most")
    parser.add_argument("--rows", type=int, default=1_500, help="rows of a set at most")
    parser.add_argument("--seed", type=int, help="worlds of this seed, and nothing else")
    given = parser.parse_args()
    console, found = Console(), dict[str, dict[float, Drafted]]()
    console.width = max(console.width, 150)
    with tempfile.TemporaryDirectory(prefix="slowwave-sets-") as made:
        for path in labelled_sets(given.folder, Path(made), given.scale, given.seed):
            name = trial.title(path)
            if (given.only and name not in given.only) or name.startswith("fever"):
                continue
            with console.status(name):
                found[name] = drafted(path, given.answers, given.rows)
    console.print(f"Commit {commit()}, {os.cpu_count()} cores, Python {sys.version.split()[0]}.")
    show([part(found)], console)


def drafted(path: Path, most: int, rows: int) -> dict[float, Drafted]:
    """A labelled set: for each threshold what a session drafts at once."""
    table, gold = trial.read(path)
    if table.num_rows > rows:
        kept = whole_clusters(gold, rows)
        table, gold = table.take(kept), [gold[k] for k in kept]
    ids = table["id"].to_pylist()
    of = dict(zip(ids, gold, strict=True))
    names = dict(zip(ids, table["name"].to_pylist(), strict=True))
    start = match_entities(table, Settings())
    return {sure: _session(InOnePlan.from_matches(start, names), of, most, sure) for sure in AT}


def _session(plan: InOnePlan, gold: Mapping[str, str], most: int, sure: float) -> Drafted:
    answers, marked = dict[tuple[str, str], bool](), dict[str, Draft]()
    while len(answers) < most and (pairs := plan.ask(BATCH, answers, marked)):
        answers |= {(a, b): gold[a] == gold[b] for a, b in pairs}
        marked |= plan.look_decided(answers, marked, sure)
    said = [(plan.pair(id_), draft.verdict == "yes") for id_, draft in marked.items()]
    return sum((gold[a] == gold[b]) == yes for (a, b), yes in said), len(said)


def chosen(others: Sequence[Mapping[float, Drafted]]) -> float | None:
    """The least threshold with a precision of ``GOAL`` over these sets together, None where there is none."""
    for sure in AT:
        right, drafts = (sum(of[sure][k] for of in others) for k in (0, 1))
        if drafts and right >= GOAL * drafts:
            return sure
    return None


def part(found: Mapping[str, Mapping[float, Drafted]]) -> Part:
    """Right and all bulk drafts at every threshold, and at the one that the other sets choose; a row a set."""
    rows: list[list[str]] = []
    held: list[Drafted] = []
    for name, of in found.items():
        sure = chosen([others for other, others in found.items() if other != name])
        if sure is not None:
            held.append(of[sure])
        rows.append([name, *(_said(of[at]) for at in AT), "–" if sure is None else f"{_said(of[sure])} at {sure}"])
    total = [(sum(of[at][0] for of in found.values()), sum(of[at][1] for of in found.values())) for at in AT]
    out = (sum(right for right, _ in held), sum(drafts for _, drafts in held))
    rows.append(["all", *map(_said, total), _said(out)])
    return Part(
        "Bulk drafts",
        "Drafts that agree with the gold, of all drafted at once, by the probability from which questions look decided.",
        ["set", *map(str, AT), "chosen on the others"],
        rows,
    )


def _said(counted: Drafted) -> str:
    right, drafts = counted
    return f"{right:,} of {drafts:,}" if drafts else "–"


if __name__ == "__main__":
    main()
