"""``python -m benchmarks.model FOLDER [--pairs 100] [--price DOLLARS] [--trim]``: changes of fact that two models find, and drafts.

FOLDER holds ``contradictions_dev``, ``clusters_dev`` and ``memorybank``, as for ``benchmarks.memories``. The models are those of
``SLOWWAVE_JUDGE_MODELS`` at ``SLOWWAVE_JUDGE_ENDPOINT``, any server with OpenAI's protocol; ``SLOWWAVE_NLI_MODEL`` adds a local one. Each
pair is two memories of one subject, so the planner's own candidates, vetoes, prompt and checks are measured, not a prompt of this file.

``SLOWWAVE_CONSOLIDATION_MODEL`` at ``SLOWWAVE_WRITER_ENDPOINT`` drafts summaries, merged wordings and weekly reflections of the people of
``memorybank``; with ``--trim`` a stub that repeats whole sentences does, which shows what the checks cost a faithful writer.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
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
from slowwave.changes.simulate import simulate
from slowwave.models.cross_encoder import NliModel
from slowwave.models.endpoint import Answer, Chat
from slowwave.models.panel import Budget
from slowwave.operations import PLANNERS, Inputs, permits
from slowwave.operations.conflicts.find import find_conflicts
from slowwave.operations.conflicts.judged import judge_pairs
from slowwave.plans.probes.recall import recall_probe
from slowwave.plans.questions import Conflict
from slowwave.plans.seal import Header, seal
from slowwave.snapshots.memories import active_memories
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.configured_models import consolidator_for, embedder_for, judges_for
from slowwave.store.settings import Settings
from slowwave.text.sentences import sentences
from slowwave.text.tokens import count, counts

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


class Drafted(NamedTuple):
    """Drafts of one operation, and the tokens and Recall@10 of all people before and after, if every item and question is answered yes."""

    calls: int
    proposed: int
    tokens: int
    live: tuple[int, int]
    recall: tuple[float, float]
    discarded: Mapping[str, int]


class Trimmer:
    """Stub of a writer: it repeats the sentences of the memories, each once, as long as they fit, and cites those that it repeats whole."""

    model = "trimmer"

    def ask(self, system: str, user: str, schema: Mapping[str, object], max_tokens: int) -> Answer:
        """Answer as ``slowwave.operations.summary_text`` asks."""
        shown = json.loads(user.split("\n")[1])
        said: list[str] = []
        cited: list[int] = []
        for memory in shown["memories"]:
            new = [sentence for sentence in sentences(memory["text"]) if sentence not in said]
            if count(" ".join([*said, *new])) <= shown["most_tokens"]:
                said += new
                cited.append(memory["number"])
        answer = json.dumps({"text": " ".join(said), "cited": cited})
        return Answer(answer, count(system) + count(user) + count(answer))


def people(folder: Path, most: int) -> list[Snapshot]:
    """Return a snapshot of the user's turns of each of so many people of memorybank, a week after the last one."""
    turns: dict[str, list[dict[str, Any]]] = {}
    for row in _lines(folder / "memorybank" / "messages.jsonl"):
        if row["role"] == "user":
            turns.setdefault(row["namespace"], []).append(row)
    return [_person(name, own) for name, own in sorted(turns.items())[:most]]


def _person(name: str, turns: Sequence[Mapping[str, Any]]) -> Snapshot:
    said = [datetime.fromisoformat(turn["created_at"]) for turn in turns]
    snapshot = given([turn["content"] for turn in turns], [name] * len(turns), max(said) + timedelta(days=7))
    memories = snapshot.table("memories")
    for column in ("valid_from", "recorded_at"):
        place = memories.schema.get_field_index(column)
        field = memories.schema.field(place)
        memories = memories.set_column(place, field, pa.array(said, field.type))
    return replace(snapshot, tables={**snapshot.tables, "memories": memories})


def drafted(operation: str, snapshots: Sequence[Snapshot], settings: Settings, writer: Chat | None) -> Drafted:
    """Plan one operation for all people with a writer, or without a model, and apply all that it proposes."""
    embed, discarded = embedder_for(settings).embed, Counter[str]()
    sums = Counter[str]()
    live, recall, asked = [0, 0], [0.0, 0.0], 0
    for snapshot in snapshots:
        budget = Budget()
        proposal = PLANNERS[operation](Inputs(snapshot, {}, settings, embed=embed, consolidator=writer, budget=budget))
        items = seal(Header(snapshot.namespace_id, "given", snapshot.snapshot_id, "b"), proposal.items, permits()).items
        after = simulate(snapshot, items)
        probe = recall_probe(snapshot, after, settings, embed)
        asked += probe.queries
        for side, (state, found) in enumerate(((snapshot, probe.recall_before), (after, probe.recall_after))):
            live[side] += int(counts(active_memories(state)["text"]).sum())
            recall[side] += found * probe.queries
        written = sum(writer is not None and item.evidence.get("writer") == writer.model for item in items)
        sums.update({"calls": len(budget.calls), "proposed": written, "tokens": budget.spent})
        for finding in proposal.report.findings:
            if match := _PROBLEM.search(finding.message):
                discarded[match["why"]] += int(match["n"].replace(",", ""))
    mean = [value / asked if asked else 0.0 for value in recall]
    return Drafted(
        *(sums["calls"], sums["proposed"], sums["tokens"], (live[0], live[1]), (mean[0], mean[1])), dict(discarded)
    )


_PROBLEM: Final = re.compile(r"^(?P<n>[\d,]+) .* as the model did not do it: (?P<why>.+?)\.")
DRAFTING: Final = ("dedupe_memories", "consolidate_clusters", "weekly_reflections")


def part_of_drafts(found: Mapping[tuple[str, str], Drafted], price: float) -> Part:
    """Build the table of drafts by operation and writer."""
    rows = [
        [
            *(operation, writer, str(d.calls), str(d.proposed)),
            "; ".join(f"{why}: {n}" for why, n in sorted(d.discarded.items())) or "–",
            *(f"{d.tokens:,}", f"{d.tokens * price / 1_000_000:.4f}", f"{d.live[0]:,}", f"{d.live[1]:,}"),
            *(f"{d.recall[0]:.3f}", f"{d.recall[1]:.3f}"),
        ]
        for (operation, writer), d in found.items()
    ]
    header = ["operation", "writer", "calls", "proposed", "discarded", "tokens", f"cost at {price:g} per million"]
    says = "Tokens of all live memories and Recall@10, before and after, if every change and question is answered with yes."
    return Part("Drafts", says, [*header, "live before", "after", "Recall@10 before", "after"], rows)


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
    parser.add_argument("--people", type=int, default=15, help="people of memorybank for whom a writer drafts")
    parser.add_argument("--trim", action="store_true", help="let a stub that repeats sentences draft")
    chosen = parser.parse_args()
    settings, console = Settings(), Console()
    writer = Trimmer() if chosen.trim else consolidator_for(settings)
    if not (settings.judge_models or settings.nli_model or writer):
        parser.error(
            "no model is set: set SLOWWAVE_JUDGE_MODELS and SLOWWAVE_JUDGE_ENDPOINT, SLOWWAVE_NLI_MODEL, or SLOWWAVE_CONSOLIDATION_MODEL "
            "and SLOWWAVE_WRITER_ENDPOINT"
        )
    found: dict[str, Compared] = {}
    parts: list[Part] = []
    with console.status("comparing"):
        if settings.judge_models or settings.nli_model:
            found = {name: compare(pairs, settings) for name, pairs in sets(chosen.folder, chosen.pairs).items()}
            parts.append(part(found, chosen.price))
        if writer:
            own, plain = people(chosen.folder, chosen.people), settings.model_copy(update={"consolidation_model": ""})
            parts.append(
                part_of_drafts(
                    {
                        (operation, name): drafted(operation, own, plain, chat)
                        for operation in DRAFTING
                        for name, chat in (("none", None), (writer.model, writer))
                    },
                    chosen.price,
                )
            )
    show(parts, console)
    for sentence in dict.fromkeys(problem for compared in found.values() for problem in compared.problems):
        console.print(sentence, markup=False)


if __name__ == "__main__":
    main()
