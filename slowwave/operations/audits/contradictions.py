"""Contradictions: live relationships, facts and memories that cannot both be true.

``slowwave.operations.conflicts`` finds them; the audit lists the pairs (khora 8.9, extended to facts, numbers, dates, polarity and
direction).

Relationships contradict each other if parallel ones have different properties or descriptions, if one asserts what the other denies, if a
one-way type runs both ways, or if a type that takes one object has several. Facts do if one asserts what the other denies, if one exists
in two versions, or if there are several objects where one is possible. Memories do if near ones of one kind and subject differ in a
number, a date, a term or a "not"; and, anywhere in a scope, if they state different objects of one relation ("Mara lives in Oslo", "Mara
moved to Bergen"). A description or object that says more or something else is no conflict, nor are rows whose valid times do not overlap.
Decisions of people do not matter here: every contradiction is listed again each night. Cost: a few sorts of the rows, and the neighbours
of the memories.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from slowwave.operations import Inputs
from slowwave.operations.conflicts.find import find_conflicts
from slowwave.plans.questions import REASONS, Conflict
from slowwave.plans.report import Bars, Finding, Report
from slowwave.snapshots.rows import quotes
from slowwave.text.tokens import counted

QUOTED: Final = 50
"""Conflicts whose rows the report quotes; the findings name all of them by their ids."""


def contradictions(inputs: Inputs) -> Report:
    """Find relationships, facts and memories that cannot both be true."""
    found = find_conflicts(inputs.snapshot, inputs.settings)
    conflicts = found.conflicts
    reasons = Counter(c.reason for c in conflicts)
    tables = Counter(c.table for c in conflicts)
    doubtful = sum(c.doubtful for c in conflicts)
    takes = Counter(found.takes.values())
    quoted = conflicts[:QUOTED]
    says = quotes(inputs.snapshot, {t: {row for c in quoted if c.table == t for row in (c.a, c.b)} for t in tables})
    return Report(
        operation="contradictions",
        headline=_headline(len(conflicts), doubtful, found.numbers),
        numbers={
            **found.numbers,
            "predicates that take one object": takes["single"],
            "predicates that take many": takes["many"],
            "predicates with too little evidence": takes["unknown"],
            **{f"conflicts: {reason}": reasons[reason] for reason in REASONS},
            "doubtful": doubtful,
            "conflicts": len(conflicts),
        },
        findings=tuple(_finding(c) for c in conflicts),
        table=tuple(
            {
                "reason": c.reason,
                "a says": says.get(c.a, c.a),
                "b says": says.get(c.b, c.b),
                "table": c.table,
            }
            for c in quoted
        ),
        plots=(_plot(reasons),) if conflicts else (),
        details={"by_table": dict(tables), "by_reason": dict(reasons)},
    )


def _finding(conflict: Conflict) -> Finding:
    more = " Both may be true all the same: let a person look." if conflict.doubtful else ""
    return Finding(
        f"Rows {conflict.a[:8]} and {conflict.b[:8]} of {conflict.table} {REASONS[conflict.reason]}.{more}",
        rows=(conflict.a, conflict.b),
        severity="info" if conflict.doubtful else "warning",
        details={"conflict": conflict.to_json()},
    )


def _headline(conflicts: int, doubtful: int, numbers: Mapping[str, int]) -> str:
    rows = sum(numbers[f"{what} looked at"] for what in ("relationships", "facts", "memories"))
    if not conflicts:
        return f"None of {rows:,} live relationships, facts and memories contradicts another."
    some = f", {doubtful:,} of them doubtful" if doubtful else ""
    return f"{counted(conflicts, 'contradiction')} among {rows:,} live relationships, facts and memories{some}."


def _plot(reasons: Counter[str]) -> Bars:
    ranked = sorted(reasons.items(), key=lambda r: (-r[1], r[0]))
    return Bars("Contradictions by reason", [reason for reason, _ in ranked], [float(n) for _, n in ranked], own=True)
