"""Dead references: provenance that names missing chunks or documents, and rows that have no vector.

The audit counts dead references per kind and table, and the lengths of the arrays (khora 8.3, on every table that has them).

An id is dead if its chunk or document does not exist, or is invalidated. Percentiles are nearest rank, ``ceil(q · n)``, over all live
rows, empty arrays included. An id counts as often as it occurs in an array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.operations import Inputs
from slowwave.plans.report import Bars, Finding, Report
from slowwave.snapshots.rows import quotes
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.tables import VECTORS
from slowwave.text.tokens import counted

KINDS: Final = {"chunk": "source_chunk_ids", "document": "source_document_ids"}
"""Maps each kind of reference to the column that holds it."""

TABLES: Final = ("entities", "relationships", "memories", "memory_facts")
"""Tables whose live rows are checked."""

OFFENDERS: Final = 20
"""Rows listed in the report's details; the findings name every one."""


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """References of one kind in one table; ``lengths`` (n,) are those of the arrays of its live rows."""

    kind: str
    table: str
    lengths: np.ndarray
    rows_dead: int
    dead: int


def dead_references(inputs: Inputs) -> Report:
    """Find provenance that names missing chunks or documents, and rows that have no vector."""
    snapshot, dead = inputs.snapshot, inputs.models["dead_references"]
    groups = [
        _group(snapshot, kind, table, dead)
        for kind, column in KINDS.items()
        for table in TABLES
        if column in snapshot.table(table).column_names
    ]
    numbers: dict[str, int | float] = {}
    for kind in KINDS:
        numbers |= {f"{kind}_{what}": value for what, value in _measures([g for g in groups if g.kind == kind]).items()}
    missing = {VECTORS[name]: _missing_vectors(snapshot, name) for name in VECTORS}
    numbers |= {f"{table}_without_vector": count for table, count in missing.items()}
    rows = dead.append_column("dead", pc.subtract(dead["length_before"], dead["length_after"]))
    rows = rows.sort_by([("dead", "descending"), ("length_before", "descending"), ("row_id", "ascending")])
    worst = rows.slice(0, OFFENDERS).to_pylist()
    says = quotes(snapshot, {table: {r["row_id"] for r in worst if r["table_name"] == table} for table in TABLES})
    offenders = [_offender(row, says) for row in worst]
    return Report(
        operation="dead_references",
        headline=_headline(numbers, missing),
        numbers=numbers,
        findings=tuple(_finding(row) for row in rows.to_pylist()),
        table=tuple({name: value for name, value in row.items() if name != "row_id"} for row in offenders[:10]),
        plots=(_plot(groups),) if dead.num_rows else (),
        details={
            "groups": [{"kind": g.kind, "table": g.table, **_measures([g])} for g in groups],
            "top_offenders": offenders,
            "live": {VECTORS[name]: snapshot.live(VECTORS[name]).num_rows for name in VECTORS},
            "without_vector": missing,
        },
    )


def nearest_rank(ordered: np.ndarray, percent: int) -> int:
    """Return the value at rank ``ceil(percent / 100 · n)`` of a sorted array, or 0 if the array is empty."""
    return int(ordered[max(1, -(-percent * len(ordered) // 100)) - 1]) if len(ordered) else 0


def array_lengths(lengths: np.ndarray) -> dict[str, int]:
    """Return p50, p90, p99 (nearest rank) and the maximum of array lengths (n,)."""
    ordered = np.sort(lengths)
    return {
        **{f"length_p{p}": nearest_rank(ordered, p) for p in (50, 90, 99)},
        "length_max": nearest_rank(ordered, 100),
    }


def _group(snapshot: Snapshot, kind: str, table: str, dead: pa.Table) -> _Group:
    lengths = pc.fill_null(pc.list_value_length(snapshot.live(table)[KINDS[kind]]), 0).to_numpy().astype(np.int64)
    own = dead.filter(pc.and_(pc.equal(dead["kind"], kind), pc.equal(dead["table_name"], table)))
    gone = pc.sum(pc.subtract(own["length_before"], own["length_after"])).as_py() or 0
    return _Group(kind, table, lengths, own.num_rows, gone)


def _measures(groups: Sequence[_Group]) -> dict[str, int]:
    """Return sums over some groups, and the lengths of all their arrays."""
    lengths = np.concatenate([g.lengths for g in groups])
    return {
        "rows": len(lengths),
        "rows_dead": sum(g.rows_dead for g in groups),
        "references": int(lengths.sum()),
        "dead": sum(g.dead for g in groups),
        **array_lengths(lengths),
    }


def _missing_vectors(snapshot: Snapshot, vectors: str) -> int:
    """Return the live rows without a vector of the snapshot's current model."""
    ids = snapshot.live(VECTORS[vectors])["id"].combine_chunks()
    return int((snapshot.vectors[vectors].rows_of(ids) < 0).sum())


def _offender(row: Mapping[str, object], says: Mapping[str, str]) -> dict[str, object]:
    return {
        "table": row["table_name"],
        "row_id": row["row_id"],
        "name": says.get(str(row["row_id"]), ""),
        "kind": row["kind"],
        "dead": row["dead"],
        "length": row["length_before"],
    }


def _finding(row: Mapping[str, object]) -> Finding:
    verb = "is" if row["dead"] == 1 else "are"
    return Finding(
        f"{row['dead']} of {row['length_before']} {row['kind']} references of {row['table_name']} {str(row['row_id'])[:8]} {verb} dead.",
        rows=(str(row["row_id"]),),
        severity="warning",
        details={"table": row["table_name"], "column": row["column_name"], "dead_ids": row["dead_ids"]},
    )


def _headline(numbers: Mapping[str, int | float], missing: Mapping[str, int]) -> str:
    parts = [
        f"{numbers[f'{kind}_rows_dead']:,} of {numbers[f'{kind}_rows']:,} live rows "
        f"{'names' if numbers[f'{kind}_rows_dead'] == 1 else 'name'} {counted(int(numbers[f'{kind}_dead']), f'dead {kind}')}"
        for kind in KINDS
        if numbers[f"{kind}_dead"]
    ]
    said = (
        " and ".join(parts) if parts else f"None of {numbers['chunk_rows']:,} live rows names a dead chunk or document"
    )
    lacking = sum(missing.values())
    return f"{said}; {counted(lacking, 'live row lacks', 'live rows lack')} a vector." if lacking else f"{said}."


def _plot(groups: Sequence[_Group]) -> Bars:
    shown = [g for g in groups if g.rows_dead]
    labels = [f"{g.table}: {g.kind}s" for g in shown]
    return Bars("Live rows with dead references", labels, [float(g.rows_dead) for g in shown], own=True)
