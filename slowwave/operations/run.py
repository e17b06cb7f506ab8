"""Running operations: which are asked for, which are switched on, and what every report says beside its operation's own words."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from slowwave.config.settings import Settings
from slowwave.errors import DreamForbiddenOpError, Refused
from slowwave.operations.coverage import blind, with_coverage
from slowwave.operations.inputs import BUDGET_SPENT, Inputs, Proposal
from slowwave.operations.registry import khora_kinds, operations
from slowwave.operations.spec import Operation
from slowwave.reports.model import Report
from slowwave.texts.quotation import quotable_all

FORBIDDEN: Final = frozenset(("delete_document", "document_delete", "documents_delete"))
"""Kinds that no night may do, whoever asks."""


def weekly(settings: Settings) -> frozenset[str]:
    """What the settings switch on, and the weekly operations."""
    return frozenset(name for name, made in operations().items() if made.weekly or made.is_on(settings))


def named(ops: str | Collection[str] | None, known: Collection[str]) -> frozenset[str] | None:
    """The operations that ``ops`` names: ``all``, names separated by commas, or a collection of names; None when nothing is asked.

    khora's kinds are understood. Raises ``DreamForbiddenOpError`` for a forbidden kind, ``Refused`` for an unknown one and for a list that
    names none: that is nothing to do, and not everything.
    """
    if ops is None:
        return None
    asked = [name.strip().lower() for name in (ops.split(",") if isinstance(ops, str) else ops)]
    if not any(asked):
        raise Refused(
            "The list of operations is empty, so there is nothing to plan. Name some, or all; without a list the settings say which."
        )
    if forbidden := FORBIDDEN.intersection(asked):
        raise DreamForbiddenOpError(
            f"{min(forbidden)} is forbidden: a night never deletes a document. Take it out of the operations; nothing was done."
        )
    if "all" in asked:
        return frozenset(known)
    kinds = khora_kinds()
    found = {name if name in known else kinds.get(name, name) for name in asked}
    if unknown := sorted(found - set(known)):
        raise Refused(f"There is no operation {unknown[0][:64]!r}. Known: {', '.join(sorted(known))}, or all.")
    return frozenset(found)


def skip_reason(operation: Operation[Any], settings: Settings, ops: Collection[str] | None) -> str:
    """Why a night leaves an operation out, or an empty string: by name when ``ops`` names any, else by its switch."""
    if ops is not None:
        return "" if operation.name in ops else "op_not_requested"
    return "" if operation.is_on(settings) else "op_disabled_by_config"


def runs_tonight(inputs: Inputs, operation: str) -> bool:
    """Return whether an operation is part of the night of these inputs."""
    return operation in inputs.ops if inputs.ops is not None else operations()[operation].is_on(inputs.settings)


def run_audit(audit: Operation[Report], inputs: Inputs, ops: Collection[str] | None = None) -> Report:
    """The audit's report with its time and what it could not compare, or the report that says why it did not run."""
    if reason := skip_reason(audit, inputs.settings, ops):
        return _left_out(audit, reason)
    if report := blind(audit.name, audit.compares, inputs.snapshot):
        return report
    audit.ready()
    began, clock = datetime.now(UTC), time.perf_counter()
    report = _quotable(with_coverage(audit(inputs), audit.compares, inputs.snapshot))
    return replace(report, operation=audit.name, started_at=began.isoformat(), seconds=time.perf_counter() - clock)


def run_planner(planner: Operation[Proposal], inputs: Inputs, ops: Collection[str] | None = None) -> Proposal:
    """The planner's proposal with its time and what it could not compare, or an empty one that says why it did not run."""
    if reason := skip_reason(planner, inputs.settings, ops):
        return Proposal((), _left_out(planner, reason))
    if report := blind(planner.name, planner.compares, inputs.snapshot):
        return Proposal((), report)
    planner.ready()
    began, clock, refused = datetime.now(UTC), time.perf_counter(), inputs.budget.refused
    proposal = planner(replace(inputs, ops=ops))
    report = _quotable(with_coverage(proposal.report, planner.compares, inputs.snapshot))
    report = replace(report, operation=planner.name, started_at=began.isoformat(), seconds=time.perf_counter() - clock)
    if missed := inputs.budget.refused - refused:
        report = replace(report, numbers={**report.numbers, BUDGET_SPENT: missed})
    return replace(proposal, report=report)


def _quotable(report: Report) -> Report:
    """The report without what screening would redact: it is kept, shown and sent."""
    said = [v for f in report.findings for v in (f.message, f.details)]
    parts = [
        report.headline,
        report.numbers,
        report.table,
        report.details,
        *((p.title, p.labels) for p in report.plots),
    ]
    quoted = quotable_all([*said, *parts])
    headline, numbers, table, details, *plots = quoted[len(said) :]
    return replace(
        report,
        headline=headline,
        numbers=numbers,
        findings=tuple(
            replace(f, message=message, details=details)
            for f, message, details in zip(
                report.findings, quoted[: len(said) : 2], quoted[1 : len(said) : 2], strict=True
            )
        ),
        table=table,
        plots=tuple(
            replace(p, title=title, labels=labels) for p, (title, labels) in zip(report.plots, plots, strict=True)
        ),
        details=details,
    )


def _left_out(operation: Operation[Any], reason: str) -> Report:
    how = (
        "not among the operations asked for"
        if reason == "op_not_requested"
        else f"off in the settings ({operation.variable})"
    )
    return Report(operation.name, f"Did not run: it is {how}.", skipped=reason)
