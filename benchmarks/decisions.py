"""``python -m benchmarks.decisions [DIR] [--half development]``: how often decisions without a question would be right, rule by rule.

Each labelled set is split by a hash of its ids into a development half and a kept-back half; rules are written on the one and measured on
the other. The notes of ``unseen/changed_facts*.toml`` were written without a look at the rules. A decision counts where the rule would
change rows if it were allowed to decide alone. The figures of the kept-back half belong into ``slowwave.config.decides_alone``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal, NamedTuple

import pyarrow as pa
from rich.console import Console

from benchmarks import changed_facts, dates, trial
from benchmarks.machine import commit
from benchmarks.remembered import memory_id
from benchmarks.report import Part, put, show
from slowwave.config.decides_alone import PATTERNS, REQUIRED, lower_bound
from slowwave.config.settings import Settings
from slowwave.conflicts.find import ended_statements, find_conflicts
from slowwave.conflicts.policies import decide
from slowwave.conflicts.sides import read_sides
from slowwave.matching import match_entities
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.screening import screen

Half = Literal["development", "kept back"]

PAGE: Final = Path(__file__).parents[1] / "docs" / "decisions.md"
MARKS: Final = ("<!-- decisions: begin -->", "<!-- decisions: end -->")
_NOTES: Final = (changed_facts.PAIRS, changed_facts.MORE_PAIRS, changed_facts.PLAIN_PAIRS)
_ENTITIES: Final = ("febrl1.csv",)


class Decided(NamedTuple):
    """One decision of a pattern of an operation about a labelled case, and whether the labels say that it is right."""

    operation: str
    pattern: str
    case: str
    right: bool


def half_of(case: str) -> Half:
    """Return the half to which a case belongs, by a hash of its id."""
    return "kept back" if hashlib.sha256(case.encode()).digest()[0] % 2 else "development"


def main() -> None:
    """Print the tables; ``--write`` puts that of the kept-back half into docs/decisions.md."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decisions", description=__doc__)
    parser.add_argument(
        "folder", type=Path, nargs="?", metavar="DIR", help="labelled sets next to the notes of the repository"
    )
    parser.add_argument("--write", action="store_true", help="write the page")
    given = parser.parse_args()
    found = list(decisions(given.folder))
    parts = [part(found, half) for half in ("development", "kept back")]
    show(parts, Console(width=150))
    if given.write:
        put([parts[1]], PAGE, MARKS, f"Measured at commit {commit()} by `make bench-decisions`.")


def decisions(folder: Path | None = None) -> Iterator[Decided]:
    """Yield the decisions about every labelled set; ``folder`` holds those that are not part of the repository."""
    yield from _of_notes([pair for path in _NOTES for pair in changed_facts.read(path)])
    if folder is None:
        return
    for path in sorted(folder.glob("contradictions_dev/*.jsonl")):
        yield from _of_statements([json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()])
    for path in sorted(folder.glob("security_dev/*.jsonl")):
        yield from _of_screening([json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()])
    for path in sorted(folder.glob("dates_dev/*.jsonl")):
        yield from _of_dates(path)
    for name in _ENTITIES:
        if (folder / "er" / name).exists():
            yield from _of_entities(folder / "er" / name)


def part(found: Iterable[Decided], half: Half) -> Part:
    """Build the table of one half: decisions, errors and lower bound of each pattern, and whether it decides alone."""
    declared = {(p.operation, p.name): p for p in PATTERNS}
    all_, wrong = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for one in found:
        if half_of(one.case) == half:
            all_[one.operation, one.pattern] += 1
            wrong[one.operation, one.pattern] += not one.right
    rows: list[list[str]] = []
    for key in sorted(all_.keys() | declared.keys()):
        pattern = declared.get(key)
        needed = f"{REQUIRED[pattern.change]:.2f}" if pattern and pattern.change != "mechanical" else "–"
        alone = "not declared" if pattern is None else "yes" if pattern.decides_alone else "asks"
        bound = f"{lower_bound(all_[key], wrong[key]):.3f}" if all_[key] else "–"
        rows.append([" / ".join(key), str(all_[key]), str(wrong[key]), bound, needed, alone])
    header = ["operation / pattern", "decisions", "errors", "lower bound", "needed", "decides alone"]
    return Part(f"Decisions on the {half} half", "Lower bounds are those of Wilson's 95 % interval.", header, rows)


def _of_notes(pairs: Sequence[dict[str, str | bool]]) -> Iterator[Decided]:
    """Two notes a pair: what ends or marks the earlier one is right where the pair says that the later one ends it."""
    snapshot = changed_facts.snapshot_of(pairs)
    cases = [f"{pair['earlier']}\n{pair['later']}" for pair in pairs]
    for pattern, k, earlier in _resolved(snapshot):
        yield Decided("resolve_conflicts", pattern, cases[k], bool(pairs[k]["ends"]) and earlier)
    for one in ended_statements(snapshot):
        k = int(one.later[-12:]) // 2
        yield Decided("mark_ended_statements", one.pattern, cases[k], bool(pairs[k]["ends"]) or one.holds)


def _of_statements(rows: Sequence[dict[str, str]]) -> Iterator[Decided]:
    """Two statements about one subject: a conflict is right where the label says contradiction; neither is the newer one by nature."""
    notes: list[dict[str, str | bool]] = [{"earlier": row["a"], "later": row["b"]} for row in rows]
    snapshot = changed_facts.snapshot_of(notes)
    memories = snapshot.table("memories")
    at = memories.schema.get_field_index("subject")
    subjects = pa.array([f"subject {k // 2}" for k in range(len(memories))]).cast(memories.schema.field(at).type)
    memories = memories.set_column(at, memories.schema.field(at), subjects)
    snapshot = replace(snapshot, tables={**snapshot.tables, "memories": memories})
    for pattern, k, _ in _resolved(snapshot):
        yield Decided("resolve_conflicts", pattern, rows[k]["id"], rows[k]["label"] == "contradiction")


def _resolved(snapshot: Snapshot) -> Iterator[tuple[str, int, bool]]:
    """The pattern, the pair and whether the earlier note loses, of each conflict that its rule does not call doubtful."""
    settings = Settings()
    conflicts = find_conflicts(snapshot, settings).conflicts
    sides = read_sides(snapshot, conflicts, settings)
    for conflict in conflicts:
        decision = decide("keep_newest", conflict, sides)  # decides whatever the declaration says
        if decision.sure:
            k = int(conflict.a[-12:])
            loser = conflict.b if decision.winner == "a" else conflict.a
            yield conflict.pattern, k // 2, loser == memory_id(k - k % 2)


def _of_screening(rows: Sequence[dict[str, str]]) -> Iterator[Decided]:
    """Texts of which screening would quarantine or redact a part: right where the label is malicious."""
    for row in rows:
        for pattern in sorted({f"{f.kind}: {f.rule}" for f in screen(row["text"]) if f.severity != "low"}):
            yield Decided("redact_or_quarantine", pattern, row["id"], row["label"] == "malicious")


def _of_dates(path: Path) -> Iterator[Decided]:
    """Relative dates that are written out: right where they are those of the set."""
    for row in dates.read(path):
        if (value := dates.slowwave(row.text, row.reference)) is not None:
            right = dates.days(value) == (row.first, row.last)
            yield Decided("absolutize_dates", "relative date", f"{row.text}\n{row.reference}", right)


def _of_entities(path: Path) -> Iterator[Decided]:
    """Pairs of entities that merge by a link of their own: right where both are one by the gold. Halves are matched together."""
    table, gold = trial.read(path)
    cluster = dict(zip(table["id"].to_pylist(), gold, strict=True))
    for links in match_entities(table, Settings()).merge_links:
        for a, b in links:
            yield Decided("dedupe_entities", "merge", f"{path.name} {cluster[a]}", cluster[a] == cluster[b])


if __name__ == "__main__":
    main()
