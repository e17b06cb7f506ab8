"""Safety scan: secrets, instructions to models, hidden characters and look-alike words in what recall shows.

The audit screens the texts of live memories, chunks, entities and pages, and proposes a privacy class for memories without one.

It follows nexo's secret guard (3.6) and Dory's content checks and privacy backfill (4.8, 4.9). A finding names row, rule and position,
never the text there. Memories that a person has cleared are counted and not reported. Cost: linear in the texts; each distinct text is
scanned once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.operations import Inputs
from slowwave.plans.report import Bars, Finding, Report
from slowwave.snapshots.memories import active_memories, quarantined_texts
from slowwave.snapshots.rows import is_cleared
from slowwave.snapshots.snapshot import Snapshot
from slowwave.text.findings import KINDS
from slowwave.text.findings import Detection as Found
from slowwave.text.screened import each_text_once
from slowwave.text.tokens import counted

_TABLES: Final = ("memories", "chunks", "entities", "pages")
_NAMED: Final = 20
_SEVERITIES: Final = {"low": "info", "medium": "warning", "high": "warning"}


def safety_scan(inputs: Inputs) -> Report:
    """Find secrets, instructions to models, hidden characters and look-alike words in what recall shows."""
    with each_text_once():
        return _scan(inputs.snapshot)


def _scan(snapshot: Snapshot) -> Report:
    from slowwave.text.screening import screen_all, screen_together  # its rules take a while to load

    memories, kept = active_memories(snapshot), quarantined_texts(snapshot)
    cleared = pa.array([is_cleared(a) for a in memories["attributes"].to_pylist()], pa.bool_())
    found: list[Finding] = []
    rules: Counter[str] = Counter()
    rows: Counter[str] = Counter()
    numbers: dict[str, int | float] = {}
    for table, texts in _texts(snapshot, memories.filter(pc.invert(cleared))):
        numbers[f"{table} looked at"] = len(texts)
        together = table == "memories"
        for place, detected in screen_together(texts["text"], kept) if together else screen_all(texts["text"]):
            found.append(_finding(table, texts["id"][place].as_py(), detected))
            rules.update({f.rule for f in detected})
            rows.update({f.kind for f in detected})
    unclassed = _unclassed(memories)
    numbers |= {f"rows with {kind} findings": rows[kind] for kind in KINDS}
    numbers |= {
        "memories cleared by a person": pc.sum(cleared).as_py() or 0,
        "memories without a privacy class": sum(len(ids) for ids in unclassed.values()),
    }
    return Report(
        "safety_scan",
        _headline(len(found), sum(int(numbers[f"{t} looked at"]) for t in _TABLES), unclassed),
        numbers=numbers,
        findings=(*sorted(found, key=_worst), *_class_findings(unclassed)),
        table=tuple({"rule": rule, "rows": n} for rule, n in rules.most_common(10)),
        plots=(Bars("Rows by rule", *_bars(rules), own=True),) if rules else (),
        details={
            "rules": dict(rules.most_common()),
            "kinds": {k: rows[k] for k in KINDS},
            "classes": {c: len(i) for c, i in unclassed.items()},
        },
    )


def _texts(snapshot: Snapshot, memories: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Yield each table with the ids and texts of its rows."""
    yield "memories", memories.select(["id", "text"])
    chunks, entities, pages = (snapshot.live(t) for t in _TABLES[1:])
    yield "chunks", pa.table({"id": chunks["id"], "text": chunks["content"].cast(pa.large_string())})
    yield "entities", pa.table({"id": entities["id"], "text": _joined(entities["name"], entities["description"])})
    yield "pages", pa.table({"id": pages["id"], "text": _joined(pages["title"], pages["body"])})


def _joined(first: pa.ChunkedArray, second: pa.ChunkedArray) -> pa.ChunkedArray:
    parts = (first.cast(pa.large_string()), second.cast(pa.large_string()), pa.scalar("\n", pa.large_string()))
    return pc.binary_join_element_wise(*parts, null_handling="replace", null_replacement="")


def _finding(table: str, id_: str, detected: Sequence[Found]) -> Finding:
    rules = sorted({f"{f.kind} ({f.rule})" for f in detected})
    shown = ", ".join(rules[:3]) + (f" and {len(rules) - 3} more" if len(rules) > 3 else "")
    worst = max((f.severity for f in detected), key=("low", "medium", "high").index)
    return Finding(
        f"{_SINGULAR[table]} {id_} holds {shown}.",
        rows=(id_,),
        severity=_SEVERITIES[worst],
        details={"table": table, "rules": rules, "places": [[f.start, f.end, f.rule] for f in detected[:_NAMED]]},
    )


_SINGULAR: Final = {"memories": "Memory", "chunks": "Chunk", "entities": "Entity", "pages": "Page"}


def _worst(finding: Finding) -> tuple[bool, str, tuple[str, ...]]:
    return finding.severity == "info", str(finding.details.get("table")), finding.rows


def _unclassed(memories: pa.Table) -> dict[str, list[str]]:
    """Map each privacy class to the ids of the memories without a class whose words belong to it."""
    from slowwave.text.screening import CLASSES, private_words

    open_ = memories.filter(pc.equal(memories["sensitivity"], ""))
    found: dict[str, list[str]] = {name: [] for name in CLASSES}
    ids = open_["id"].to_pylist()
    for place, word in private_words(open_["text"]):
        found[word.name].append(ids[place])
    return {name: rows for name, rows in found.items() if rows}


def _class_findings(unclassed: Mapping[str, Sequence[str]]) -> list[Finding]:
    """Return one finding per class, because every memory of a diary would otherwise have a separate one."""
    return [
        Finding(
            f"{len(ids):,} memories without a privacy class read like {name} data. Set their sensitivity, or switch backfill_privacy on.",
            rows=tuple(ids[:_NAMED]),
            details={"class": name, "count": len(ids)},
        )
        for name, ids in unclassed.items()
    ]


def _headline(rows: int, looked: int, unclassed: Mapping[str, Sequence[str]]) -> str:
    said = (
        f"{rows:,} of {looked:,} texts hold a secret, an order to a model or characters that deceive"
        if rows
        else f"None of {looked:,} texts holds a secret, an order to a model or characters that deceive"
    )
    lacking = sum(len(ids) for ids in unclassed.values())
    return f"{said}; {counted(lacking, 'memory lacks', 'memories lack')} a privacy class." if lacking else f"{said}."


def _bars(rules: Counter[str]) -> tuple[list[str], list[float]]:
    shown = rules.most_common(10)
    return [rule for rule, _ in shown], [float(n) for _, n in shown]
