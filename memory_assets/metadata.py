"""Values of the library as Dagster metadata: reports, tables, numbers. Nothing here computes.

Markdown under 1,000 characters is shown inline by the UI and longer text behind a button, hence ``summary`` and ``report``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from slowwave.night.run_events import Level, redact_report
from slowwave.plans.report import Report, rounded
from slowwave.snapshots.snapshot import Snapshot


def report_metadata(report: Report, level: Level) -> dict[str, Any]:
    """Summary, whole report, table of ten, and each number as metadata of its own, which the UI plots over time.

    Of memory they hold what ``level`` lets them.
    """
    report = redact_report(report, level)
    return {
        "summary": dg.MetadataValue.md(report.summary()),
        "report": dg.MetadataValue.md(report.markdown()),
        **({"top": table_metadata(report.table)} if report.table else {}),
        **{name: _plain(value) for name, value in report.numbers.items() if math.isfinite(value)},
    }


def operation_metadata(report: Report, level: Level, items: int | None = None) -> dict[str, Any]:
    """Return the metadata of an audit or a planner. ``items`` are the items that a planner proposes."""
    return {**({} if items is None else {"items": items}), **report_metadata(report, level)}


def snapshot_metadata(taken: Snapshot, name: str) -> dict[str, Any]:
    """Return the metadata of one table of a snapshot: its rows and the instant of the snapshot."""
    vectors = taken.vectors.get(name)
    return {
        "dagster/row_count": len(vectors) if vectors is not None else taken.table(name).num_rows,
        "snapshot_id": taken.snapshot_id,
        "taken_at": dg.MetadataValue.timestamp(taken.taken_at),
        **({"model": vectors.model or "(none)"} if vectors is not None else {}),
    }


def table_metadata(rows: Sequence[Mapping[str, object]], most: int = 10, longest: int = 120) -> dg.TableMetadataValue:
    """Return the first ``most`` rows, redacted already; fractions have six figures.

    Text is cut at ``longest`` characters and holds no control or direction characters.
    """
    columns = list(rows[0])
    return dg.MetadataValue.table(
        records=[dg.TableRecord({c: _cell(rounded(row.get(c)), longest) for c in columns}) for row in rows[:most]],
        schema=dg.TableSchema(columns=[dg.TableColumn(c, _type([row.get(c) for row in rows])) for c in columns]),
    )


def _plain(value: float) -> int | float:
    return int(value) if isinstance(value, int) else float(value)


def _cell(value: object, longest: int) -> str | int | float | bool | None:
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return "".join(c if c.isprintable() else " " for c in str(value))[:longest]


def _type(values: Sequence[object]) -> str:
    if all(isinstance(v, int) and not isinstance(v, bool) for v in values):
        return "int"
    return "float" if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values) else "string"
