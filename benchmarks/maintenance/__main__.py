"""``python -m benchmarks.maintenance [--histories N] [--seed N] [--data DIR] [--adapter MODULE:CLASS] [--json] [--write]``.

Measure how well a memory system maintains what it remembers.

Each history is the memory of one user over forty days. Facts change, coexist, are corrected, withdrawn, conditioned, quoted, imagined and
repeated, in several phrasings. A memory system loads a history, maintains it once, and is compared with the labels of the history.

To measure another memory system, write a class with ``name``, ``load``, ``maintain``, ``live`` and ``questions``
(``benchmarks.maintenance.adapter`` describes them; fifty lines suffice), and name it: ``--adapter my_package.my_module:MyMemory``.
``benchmarks.maintenance.adapters`` has four examples. Phrasings and relations are data, in ``relations.toml``.
"""

from __future__ import annotations

import argparse
import importlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from benchmarks.machine import commit
from benchmarks.maintenance.adapter import MemorySystem
from benchmarks.maintenance.adapters import ADAPTERS
from benchmarks.maintenance.generator import DAYS, History, generate, read_pairs
from benchmarks.maintenance.scorer import FOUND_AMONG, Score, score
from benchmarks.report import Part, put, show

PAGE: Final = Path(__file__).parents[2] / "docs" / "maintenance-benchmark.md"
MARKS: Final = ("<!-- maintenance: begin -->", "<!-- maintenance: end -->")

_OUTCOMES: Final = ("ended", "asked", "missed")


def main() -> None:
    """Measure the systems and print the tables; ``--write`` puts them into the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.maintenance", description=__doc__)
    parser.add_argument("--histories", type=int, default=100, help="number of histories (100)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the histories (0)")
    parser.add_argument(
        "--adapter", action="append", default=[], metavar="MODULE:CLASS", help="measure this system instead"
    )
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="add pairs of the labelled sets in DIR/contradictions_dev"
    )
    parser.add_argument("--json", action="store_true", help="print the sums as JSON instead of tables")
    parser.add_argument("--write", action="store_true", help=f"write the tables into {PAGE.parent.name}/{PAGE.name}")
    args = parser.parse_args()
    console = Console(width=150)
    histories = generate(args.histories, args.seed, read_pairs(args.data) if args.data else ())
    scores: dict[str, Score] = {}
    for make in [_load_adapter(name) for name in args.adapter] or ADAPTERS:
        scores[make().name] = score(histories, make)
    tables = [build_summary(scores), *build_breakdown(*next(iter(scores.items())))]
    tables += [build_errors(name, one) for name, one in scores.items() if one.questions]
    if args.json:
        print(json.dumps({name: one.to_json() for name, one in scores.items()}, indent=2))
    else:
        show(tables, console)
    if args.write:
        put(
            tables,
            PAGE,
            MARKS,
            f"Measured at commit {commit()} by `make bench-maintenance`: {describe(histories, args.seed)}",
        )


def describe(histories: Sequence[History], seed: int) -> str:
    """Describe the size of histories in a sentence."""
    statements = sum(len(history.statements) for history in histories)
    asked = sum(len(history.asked) for history in histories)
    return f"{len(histories)} histories of {DAYS} days with seed {seed}, {statements:,} statements and {asked:,} questions to the memory."


def build_summary(scores: dict[str, Score]) -> Part:
    """Build the table with a row for each system."""
    header = [
        *("system", "changes found", "ended unasked", "asked", "wrong unasked changes", "questions", "wrong questions"),
        *("answers before", "after", "if answered", "tokens before", "after", "CPU s"),
    ]
    rows = [
        [
            name,
            _share(one.ended + one.asked, one.changes),
            f"{one.ended:,}",
            f"{one.asked:,}",
            f"{one.wrong_changes:,} of {one.claims:,}",
            f"{one.questions:,}",
            f"{one.wrong_questions:,}",
            _share(one.answered_before, one.to_answer),
            _share(one.answered_after, one.to_answer),
            _share(one.answered_if_reviewed, one.to_answer),
            f"{one.tokens_before:,}",
            f"{one.tokens_after:,}",
            f"{one.cpu_seconds:.0f}",
        ]
        for name, one in scores.items()
    ]
    says = (
        f"Answers are the share of questions whose {FOUND_AMONG} best live texts present every right claim and none that is over. If "
        "answered counts them as if a person had ended the changes that the system asked about. CPU seconds are those of maintenance."
    )
    return Part("Systems", says, header, rows)


def build_breakdown(name: str, one: Score) -> list[Part]:
    """Build the tables of a system's changes by kind, by phrasing and by relation."""
    parts: list[Part] = []
    for at, column in enumerate(("kind", "phrasing", "relation")):
        counted = Counter[tuple[str, str]]()
        for key, n in one.outcomes.items():
            counted[key[at], key[-1]] += n
        parts.append(_outcomes(f"{name}: changes by {column}", column, counted))
    return parts


def build_errors(name: str, one: Score) -> Part:
    """Build the table of a system's wrong questions and wrong unasked changes."""
    rows = [[words, error, f"{n:,}"] for (error, words), n in one.errors.most_common()]
    says = (
        "By the kind of thread and the registers of the statements. A wrong change is a claim that holds, but is gone."
    )
    return Part(f"{name}: errors", says, ["statements", "error", "number"], rows or [["none", "–", "0"]])


def _outcomes(title: str, column: str, counted: Counter[tuple[str, str]]) -> Part:
    names = sorted({name for name, _ in counted}, key=lambda name: (-sum(counted[name, o] for o in _OUTCOMES), name))
    rows = [
        [
            name,
            f"{(all_ := sum(counted[name, o] for o in _OUTCOMES)):,}",
            *(f"{counted[name, o]:,}" for o in _OUTCOMES),
            _share(all_ - counted[name, "missed"], all_),
        ]
        for name in names
    ]
    return Part(title, "Same form: both statements have one template.", [column, "changes", *_OUTCOMES, "found"], rows)


def _share(part: int, of: int) -> str:
    return f"{part / of:.3f}" if of else "–"


def _load_adapter(name: str) -> Callable[[], MemorySystem]:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


if __name__ == "__main__":
    main()
