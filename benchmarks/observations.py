"""``python -m benchmarks.observations [DIR]``: repeated observations of a generated diary, and of ``memorybank`` in ``DIR``.

An observation is recorded in the same words on several days. It should be folded, unless its state or figure changes in between, its days
are few, or they lie within a week. ``DIR`` holds conversations, in which nothing should be folded.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import numpy as np
from rich.console import Console

from benchmarks.grounding import Case, Turn, read, snapshot_of
from benchmarks.report import Part, show
from slowwave.changes.simulate import simulate
from slowwave.operations import Inputs
from slowwave.operations.planners.dedupe_memories import dedupe_memories
from slowwave.plans.items import Item
from slowwave.snapshots.memories import active_memories
from slowwave.snapshots.snapshot import Snapshot, Vectors
from slowwave.store.settings import Settings
from slowwave.text.tokens import count

_HOSTS: Final = ("ferry", "harbour", "lighthouse", "crane", "pilot", "mooring", "ledger", "depot", "tender", "buoy")
_PAIRS: Final = (
    ("The backup of the {host} server failed.", "The backup of the {host} server succeeded."),
    ("The {host} gate is open.", "The {host} gate is closed."),
    ("The user checked {n} lamps at the {host}.", "The user checked {m} lamps at the {host}."),
    ("The user asked about the weather at the {host}.", "The user asked about the tide at the {host}."),
)
_KINDS: Final = ("repeated", "state changes", "two days", "one week")


class Diary(NamedTuple):
    """A generated diary: its turns by kind of repetition, and the texts that should be folded."""

    turns: list[Turn]
    kinds: dict[str, str]


def diary(seed: int = 1) -> Diary:
    """Return observations of each kind about each host, each in one form of ``_PAIRS``."""
    rng = Random(seed)  # noqa: S311 - no secret
    start = datetime(2026, 1, 1, 9, tzinfo=UTC)
    turns: list[Turn] = []
    kinds: dict[str, str] = {}
    for n, host in enumerate(_HOSTS):
        for k, kind in enumerate(_KINDS):
            for p, pair in enumerate(_PAIRS):
                figures = {"host": f"{host} {kind.replace(' ', '')}", "n": 10 + n, "m": 40 + n}
                text, other = (form.format(**figures) for form in pair)
                first = rng.randint(0, 20)
                days = {
                    "repeated": sorted(rng.sample(range(first, first + 90), rng.randint(4, 14))),
                    "state changes": [first, first + 9, first + 18, first + 40],
                    "two days": [first, first + 30],
                    "one week": [first, first + 2, first + 5],
                }[kind]
                kinds[text] = kind if kind != "state changes" or p < 3 else "repeated"
                said = [(day, text) for day in days]
                said += [(days[1] + 1, other)] if kind == "state changes" else []
                turns += (
                    Turn(f"{n} {k} {p} {m}", f"diary {day:03d}", "user", start + timedelta(days=day), told)
                    for m, (day, told) in enumerate(sorted(said))
                )
    return Diary(sorted(turns, key=lambda t: (t.session, t.id)), kinds)


def folds_of(turns: list[Turn]) -> tuple[Snapshot, list[Item]]:
    """Return the snapshot of the turns with a vector for each, and the folds that are proposed."""
    none: list[Case] = []
    snapshot = snapshot_of(turns, none)
    ids = snapshot.table("memories")["id"].combine_chunks()
    matrix = np.random.default_rng(1).standard_normal((len(ids), 64)).astype(np.float32)
    snapshot = replace(snapshot, vectors={**snapshot.vectors, "memory_vectors": Vectors("none", ids, matrix)})
    inputs = Inputs(snapshot, {}, Settings())
    return snapshot, [i for i in dedupe_memories(inputs).items if i.mutation.kind == "insert_summary"]


def quality(folder: Path | None) -> list[Part]:
    """Count folds by kind of repetition, and the tokens and the observations that are still stated afterwards."""
    made = diary()
    snapshot, items = folds_of(made.turns)
    rows = dict(zip(*(active_memories(snapshot)[c].to_pylist() for c in ("id", "text")), strict=True))
    folded = {rows[item.mutation.rows[0].id]: item for item in items}
    table = [
        [kind, str(n), str(sum(made.kinds[text] == kind for text in folded))]
        for kind, n in Counter(made.kinds.values()).items()
    ]
    says = "Only repeated observations should be folded."
    parts = [Part("Repeated observations of a diary", says, ["kind", "observations", "folded"], table)]
    sets = [("diary", snapshot, items)]
    if folder is not None:
        sets.append(("memorybank", *folds_of(read(folder))))
    parts.append(Part("Tokens, if every fold is approved", "", _HEADER, [_cost(*one) for one in sets]))
    return parts


_HEADER: Final = ["set", "memories", "folds", "memories after", "tokens", "tokens after", "words and days still stated"]


def _cost(name: str, snapshot: Snapshot, items: list[Item]) -> list[str]:
    """Return the memories and tokens before and after the folds, and the share of observations whose text and days are still stated."""
    before, after = (active_memories(s)["text"].to_pylist() for s in (snapshot, simulate(snapshot, items)))
    whole = "\n".join(after)
    told = [
        f"{item.evidence['observations']['days']} days between {item.evidence['observations']['first']}"  # type: ignore[index]
        for item in items
    ]
    kept = sum(text.rstrip(".") in whole for text in dict.fromkeys(before)) + sum(one in whole for one in told)
    return [
        name,
        f"{len(before):,}",
        str(len(items)),
        f"{len(after):,}",
        f"{sum(map(count, before)):,}",
        f"{sum(map(count, after)):,}",
        f"{kept:,} of {len(dict.fromkeys(before)) + len(told):,}",
    ]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.observations", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", metavar="DIR", help="folder with memorybank/messages.jsonl")
    show(quality(parser.parse_args().folder), Console(width=140))


if __name__ == "__main__":
    main()
