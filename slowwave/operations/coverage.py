"""Coverage: how many rows have a vector, and what an operation that compares by vectors says of those that have none.

A row without a vector is near nothing, so an operation that finds nothing may not have looked at all. Operations declare what they
compare by; making vectors belongs to ``reembed`` and ``recompute_centroids``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.reports.model import Finding, Report
from slowwave.rows.memories import active_memories
from slowwave.snapshots.snapshot import Snapshot

NO_VECTORS: Final = "no_vectors"
"""The reason why an operation did not run that compares by vectors alone, where no row has one."""


@dataclass(frozen=True, slots=True)
class Compares:
    """The vectors table that an operation compares by, what its rows are called, and whether it has nothing else to go by."""

    vectors: str
    rows: str
    alone: bool


MEMORIES: Final = Compares("memory_vectors", "memories", alone=True)
"""Memories, where there is nothing but their vectors to go by."""


def blind(operation: str, compares: Compares | None, snapshot: Snapshot) -> Report | None:
    """The report of an operation that cannot look at all; None where it can, or has nothing to look at."""
    if compares is None or not compares.alone:
        return None
    held, live = covered(snapshot, compares)
    if held or not live:
        return None
    return Report(
        operation,
        f"Did not run: it compares by vectors, and none of {live:,} {compares.rows} has one. The operation reembed plans them.",
        {f"{compares.rows} with a vector": 0, f"{compares.rows} without a vector": live},
        skipped=NO_VECTORS,
    )


def with_coverage(report: Report, compares: Compares | None, snapshot: Snapshot) -> Report:
    """The report with what its operation could not compare: a sentence in the headline, the numbers, and a finding."""
    if compares is None or report.skipped:
        return report
    held, live = covered(snapshot, compares)
    if held == live:
        return report
    sentence = (
        f"Only {held:,} of {live:,} {compares.rows} have a vector; the others were not compared by it."
        if held
        else f"None of {live:,} {compares.rows} has a vector, so none was compared by it."
    )
    return replace(
        report,
        headline=f"{report.headline} {sentence}",
        numbers={
            **report.numbers,
            f"{compares.rows} with a vector": held,
            f"{compares.rows} without a vector": live - held,
        },
        findings=(*report.findings, Finding(sentence, severity="warning", coverage=True)),
    )


def compared_no_vectors(report: Report) -> bool:
    """Whether an operation that compares memories by vectors had none to compare, whether or not it ran by other means."""
    return report.numbers.get("memories with a vector", 1) == 0


def covered(snapshot: Snapshot, compares: Compares) -> tuple[int, int]:
    """(rows with a vector of the snapshot's model, rows): live entities, or active memories that have a text."""
    if compares.rows == "memories":
        active = active_memories(snapshot)
        rows = active.filter(pc.not_equal(pc.utf8_trim_whitespace(active["text"]), ""))
    else:
        rows = snapshot.live(compares.rows)
    ids = rows["id"].combine_chunks() if len(rows) else pa.array([], pa.string())
    return int((snapshot.vectors[compares.vectors].rows_of(ids) >= 0).sum()), len(rows)
