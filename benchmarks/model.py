"""``python -m benchmarks.model FOLDER [--pairs 100] [--price DOLLARS]``: changes of fact that two models find beside the rules.

FOLDER holds ``contradictions_dev``, ``clusters_dev`` and ``memorybank``, as for ``benchmarks.memories``. The models are those of
``SLOWWAVE_JUDGE_MODELS`` at ``SLOWWAVE_JUDGE_ENDPOINT``, any server with OpenAI's protocol; ``SLOWWAVE_NLI_MODEL`` adds a local one. Each
pair is two memories of one subject, so the planner's own candidates, vetoes, prompt and checks are measured, not a prompt of this file.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import pyarrow as pa
from rich.console import Console

from benchmarks import changed_facts
from benchmarks.memories import retold
from benchmarks.remembered import given, memory_id
from benchmarks.report import Part, show
from slowwave.models.cross_encoder import NliModel
from slowwave.models.panel import Budget
from slowwave.operations.conflicts.find import find_conflicts
from slowwave.operations.conflicts.judged import judge_pairs
from slowwave.plans.questions import Conflict
from slowwave.store.configured_models import judges_for
from slowwave.store.settings import Settings

_CONFLICTS: Final = ("other: negated", "other: another number", "other: another name")
"""Changes of ``benchmarks.memories`` after which both statements cannot hold; the others state the same or something else."""


class LabelledPair(NamedTuple):
    """Two texts and whether they cannot both hold, so that a person should be asked."""

    a: str
    b: str
    conflict: bool


class Compared(NamedTuple):
    """Questions about labelled pairs, right and wrong ones, by the rules alone and with the models."""

    pairs: int
    conflicts: int
    found: int
    wrong: int
    found_with: int
    wrong_with: int
    asked: int
    tokens: int
    problems: tuple[str, ...] = ()


def compare(pairs: Sequence[LabelledPair], settings: Settings) -> Compared:
    """Ask the rules and the models of the settings about pairs; a pair is found if a night would ask about it."""
    n = len(pairs)
    snapshot = given([p[side] for side in (0, 1) for p in pairs], [f"matter {k}" for _ in "ab" for k in range(n)])
    memories = snapshot.table("memories")
    place = memories.schema.get_field_index("kind")
    kind = pa.repeat("semantic", 2 * n).cast(memories.schema.field(place).type)  # events never replace each other
    memories = memories.set_column(place, memories.schema.field(place), kind)
    snapshot = replace(snapshot, tables={**snapshot.tables, "memories": memories})
    conflicts = find_conflicts(snapshot, settings).conflicts
    judged = judge_pairs(
        *(snapshot, conflicts, judges_for(settings), NliModel(settings.nli_model) if settings.nli_model else None),
        threshold=settings.nli_threshold,
        cap=settings.llm_max_tokens_per_run or 10**12,
        pairs=n,
        budget=Budget(),
    )
    rules, models = (_pairs_of(found, n) for found in (conflicts, judged.changed))
    true = {k for k, pair in enumerate(pairs) if pair.conflict}
    either = rules | models
    return Compared(
        *(n, len(true), len(rules & true), len(rules - true), len(either & true), len(either - true)),
        *(judged.numbers.get("asked", 0), judged.numbers.get("tokens", 0)),
        tuple(f.message for f in judged.findings if "conflict" not in f.details)[1:],
    )


def _pairs_of(found: Sequence[Conflict], n: int) -> set[int]:
    """Return the pairs whose two memories are in one conflict."""
    place = {memory_id(k): k % n for k in range(2 * n)}
    return {place[c.a] for c in found if c.table == "memories" and place[c.a] == place[c.b]}


def sets(folder: Path, most: int) -> dict[str, list[LabelledPair]]:
    """Return at most so many labelled pairs of each set, drawn with a fixed seed."""
    fever = folder / "contradictions_dev" / "fever_symmetric_dev.jsonl"
    turns = [r["content"] for r in _lines(folder / "memorybank" / "messages.jsonl") if r["role"] == "user"]
    sentences = dict.fromkeys(s for t in turns for s in re.split(r"(?<=[.!?]) ", t) if 30 <= len(s) <= 200)
    with (folder / "clusters_dev" / "clinc150_val.csv").open(newline="", encoding="utf-8") as file:
        requests = sorted(csv.DictReader(file), key=lambda row: row["cluster"])
    facts = [*changed_facts.read(), *changed_facts.read(changed_facts.PLAIN_PAIRS)]
    found = {
        "contradictions_dev": [LabelledPair(r["a"], r["b"], r["label"] == "contradiction") for r in _lines(fever)],
        "memorybank, retold": [
            LabelledPair(a, b, how in _CONFLICTS) for a, b, how in retold([s for s in sentences if not s.endswith("?")])
        ],
        "clusters_dev, requests of one intent": [
            LabelledPair(one["text"], two["text"], False)
            for one, two in pairwise(requests)
            if one["cluster"] == two["cluster"] != ""
        ],
        "changed facts of this repository": [
            LabelledPair(str(pair["earlier"]), str(pair["later"]), bool(pair["ends"])) for pair in facts
        ],
    }
    drawn = Random(0)  # noqa: S311 - not for secrets
    return {name: drawn.sample(pairs, min(most, len(pairs))) for name, pairs in found.items()}


def part(found: dict[str, Compared], price: float) -> Part:
    """Build the table; ``price`` is that of a million tokens."""
    rows = [
        [
            *(name, str(c.pairs), str(c.conflicts), f"{c.found} / {c.wrong}", f"{c.found_with} / {c.wrong_with}"),
            *(str(c.asked), f"{c.tokens:,}", f"{c.tokens * price / 1_000_000:.4f}"),
        ]
        for name, c in found.items()
    ]
    header = [
        "pairs",
        "count",
        "conflicts",
        "rules: found / wrong",
        "with models: found / wrong",
        "asked about",
        "tokens",
    ]
    return Part(
        "Changes of fact",
        "Pairs that a person would be asked about: of the conflicts, and of all others. Tokens and cost are those of both models together.",
        [*header, f"cost at {price:g} per million"],
        rows,
    )


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.model", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder with contradictions_dev, clusters_dev and memorybank")
    parser.add_argument("--pairs", type=int, default=100, help="pairs of each set")
    parser.add_argument("--price", type=float, default=0.0, help="price of a million tokens")
    chosen = parser.parse_args()
    settings, console = Settings(), Console()
    if not (settings.judge_models or settings.nli_model):
        parser.error("no model is set: set SLOWWAVE_JUDGE_MODELS and SLOWWAVE_JUDGE_ENDPOINT, or SLOWWAVE_NLI_MODEL")
    with console.status("comparing"):
        found = {name: compare(pairs, settings) for name, pairs in sets(chosen.folder, chosen.pairs).items()}
    show([part(found, chosen.price)], console)
    for sentence in dict.fromkeys(problem for compared in found.values() for problem in compared.problems):
        console.print(sentence, markup=False)


if __name__ == "__main__":
    main()
