"""Tombstones: rows that were retired and are still kept, how old they are, and how many a purge would find.

The audit counts retired rows of facts and of every table that keeps them, with their ages (khora 8.13).

A tombstone is a row that is inactive or invalidated. khora counts only inactive rows, so a row that is invalidated but still active has
no age there. The age is the time from the latest mark of its retirement (see ``slowwave.snapshots.rows``) to the instant of the snapshot.
A tombstone without a mark is as old as the row, because a purge uses the same rule. Time: linear in the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.operations import Inputs
from slowwave.operations.options import PurgeExpiredOptions
from slowwave.plans.report import Bars, Finding, Report
from slowwave.snapshots.rows import retired, retired_since
from slowwave.snapshots.snapshot import Snapshot

NAMES: Final[Mapping[str, str]] = {
    "memory_facts": "subject",
    "relationships": "relationship_type",
    "entities": "name",
    "memories": "subject",
    "chunks": "document_id",  # told by its title
    "documents": "source",
}
"""Maps each table that is checked, facts first, to the column by which its tombstones are counted together."""

RECOMMENDED_RETENTION_DAYS: Final = 365
"""Constant of khora: a year in which retired rows can still be queried."""

OFFENDERS: Final = 10
_DAY: Final = 86_400_000_000  # microseconds


@dataclass(frozen=True, slots=True)
class TombstoneAges:
    """Ages of tombstones in days; None if no tombstone has a date."""

    oldest: float | None
    p50: float | None
    p90: float | None


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """Tombstones of one table: ``ages`` (t,) in days of those with a date; ``worst`` are (name, tombstones)."""

    name: str
    total: int
    inactive: int
    invalidated: int
    tombstones: int
    ages: np.ndarray
    past: int
    worst: tuple[tuple[str, int], ...]

    def to_json(self) -> dict[str, object]:
        """Return the figures under khora's names."""
        ages = percentiles(self.ages)
        return {
            "active_count": self.total - self.inactive,
            "inactive_count": self.inactive,
            "invalidated_count": self.invalidated,
            "total_count": self.total,
            "tombstone_count": self.tombstones,
            "tombstone_ratio": self.tombstones / self.total if self.total else 0.0,
            "oldest_tombstone_age_days": ages.oldest,
            "p50_age_days": ages.p50,
            "p90_age_days": ages.p90,
            "undated_count": self.tombstones - len(self.ages),
            "past_retention_count": self.past,
            "top_offenders": [{"name": name, "tombstones": n} for name, n in self.worst],
        }


def tombstones(inputs: Inputs) -> Report:
    """Count retired rows that are still kept, with their age and the names that have the most of them."""
    snapshot, retention = inputs.snapshot, inputs.settings.options("purge_expired", PurgeExpiredOptions).retention_days
    tables = [_table(snapshot, name, retention) for name in NAMES]
    total = sum(t.total for t in tables)
    details = {t.name: t.to_json() for t in tables}
    numbers: dict[str, int | float] = {
        key: value for key, value in details["memory_facts"].items() if isinstance(value, int | float)
    }
    numbers["retention_days"] = retention
    numbers["recommended_retention_days"] = RECOMMENDED_RETENTION_DAYS
    for t in tables[1:]:
        numbers |= {f"{t.name}_total": t.total, f"{t.name}_tombstones": t.tombstones}
    return Report(
        "tombstones",
        _headline(tables, retention),
        numbers,
        findings=tuple(_finding(t, retention) for t in tables if t.past),
        table=tuple(
            {"table": t.name, "name": name, "tombstones": n} for t in tables for name, n in t.worst if name or n
        )[:OFFENDERS],
        plots=(_plot(tables),) if any(t.tombstones for t in tables) else (),
        details={
            "status": "audit_complete" if total else "empty_namespace",
            "recommended_retention_days": RECOMMENDED_RETENTION_DAYS,
            "retention_days": retention,
            "tables": details,
        },
    )


def percentiles(ages: np.ndarray) -> TombstoneAges:
    """Return the oldest, p50 and p90 of ages (n,) by ``percentile_disc`` over the instants.

    The 90th percentile of ages is the 10th of instants. So the p90 age is that of the row at rank ``ceil(n / 10)`` from the oldest, the
    p50 age that at rank ``ceil(n / 2)``.
    """
    if not len(ages):
        return TombstoneAges(None, None, None)
    oldest_first = np.sort(ages)[::-1]
    half, tenth = (-(-len(ages) // k) - 1 for k in (2, 10))
    return TombstoneAges(*(float(oldest_first[k]) for k in (0, half, tenth)))


def _table(snapshot: Snapshot, name: str, retention: int) -> _Table:
    table = snapshot.table(name)
    gone = retired(snapshot, name)
    invalidated = pc.is_valid(table["invalidated_at"])
    inactive = pc.invert(table["is_active"]) if "is_active" in table.column_names else invalidated
    since = pc.coalesce(retired_since(snapshot, name), table["recorded_at"]).filter(gone)
    stamps = pc.drop_null(since).cast(pa.int64()).to_numpy()
    now = pa.scalar(snapshot.taken_at, pa.timestamp("us", tz="UTC")).cast(pa.int64()).as_py()
    ages = (now - stamps) / _DAY
    return _Table(
        name,
        len(table),
        _count(inactive),
        _count(invalidated),
        _count(gone),
        ages,
        int((ages > retention).sum()),
        _worst(
            _titles(snapshot, table["document_id"].filter(gone))
            if name == "chunks"
            else table[NAMES[name]].filter(gone)
        ),
    )


def _titles(snapshot: Snapshot, ids: pa.ChunkedArray) -> pa.ChunkedArray:
    """Map documents (n,) to their names (n,): the title, else the source, else the id."""
    documents = snapshot.table("documents")
    named = [pc.if_else(pc.equal(documents[of], ""), None, documents[of]) for of in ("title", "source")]
    places = pc.index_in(ids, value_set=documents["id"].combine_chunks())
    return pc.coalesce(pc.coalesce(*named).take(places), ids)


def _worst(names: pa.ChunkedArray) -> tuple[tuple[str, int], ...]:
    counts = pc.value_counts(names.combine_chunks())
    found = zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True)
    return tuple(sorted(((str(v or ""), n) for v, n in found), key=lambda p: (-p[1], p[0]))[:OFFENDERS])


def _count(mask: pa.ChunkedArray) -> int:
    return pc.sum(mask).as_py() or 0


def _headline(tables: list[_Table], retention: int) -> str:
    facts, total = tables[0], sum(t.total for t in tables)
    if not total:
        return "The namespace is empty: there is nothing that could have been retired."
    past = sum(t.past for t in tables)
    others = sum(t.tombstones for t in tables[1:])
    return (
        f"{facts.tombstones:,} of {facts.total:,} facts and {others:,} of {total - facts.total:,} other rows are tombstones; "
        f"{past:,} are older than the retention of {retention:,} days."
    )


def _finding(table: _Table, retention: int) -> Finding:
    return Finding(
        f"{table.past:,} of {table.tombstones:,} tombstones of {table.name} are older than {retention:,} days; purge_expired "
        "proposes to delete those that nothing needs.",
        details={"table": table.name},
    )


def _plot(tables: list[_Table]) -> Bars:
    shown = [t for t in tables if t.tombstones]
    return Bars("Tombstones", [t.name for t in shown], [float(t.tombstones) for t in shown], own=True)
