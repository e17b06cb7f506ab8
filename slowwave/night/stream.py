"""What a night tells the stream of events: as it goes on, or, when its steps ran apart, afterwards with their own times."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from slowwave.errors import SettingsError
from slowwave.night.outcome import Night
from slowwave.operations import Inputs, khora_kinds
from slowwave.plans.item_events import item_event
from slowwave.reports.events import (
    LlmCalled,
    LlmThrottled,
    OperationEvent,
    PhaseCompleted,
    PhaseStarted,
    RunStarted,
)
from slowwave.reports.model import Numbers, Report
from slowwave.reports.sinks import Callback, sinks_for
from slowwave.reports.stream import Stream
from slowwave.store.connect import Store
from slowwave.store.namespaces import namespace_settings

_STARTED: Final = "SELECT started_at, trigger FROM night.runs WHERE id = %s"


def open_stream(
    store: Store, run_id: str, namespace: str, callbacks: Sequence[Callback] = (), *, dagster_run_id: str = ""
) -> Stream:
    """The run's stream of events, with the sinks that the namespace's settings switch on."""
    with store.connect("reader") as connection:
        try:
            settings = namespace_settings(connection, namespace)
        except SettingsError:  # which ends the run, in words
            return Stream(run_id, namespace)
    sinks = sinks_for(settings, callbacks, store, dagster_run_id=dagster_run_id, kinds=khora_kinds)
    return Stream(run_id, namespace, sinks, settings.redact_text)


def report_done(stream: Stream, phase: str, report: Report, items: int = 0) -> None:
    """Tell the stream what an audit or a planner came to."""
    if not stream.sinks:
        return
    stream.emit(
        OperationEvent(
            run_id=stream.run_id,
            namespace=stream.namespace,
            at=datetime.now(UTC),
            op_id=report.operation,
            phase=phase,
            op_type=report.operation,
            decision=report.skipped or ("planned" if phase == "plan" else "audit_complete"),
            outputs={"headline": report.headline, "numbers": Numbers(report.numbers), "items": items},
            started_at=datetime.fromisoformat(report.started_at) if report.started_at else None,
            duration_ms=report.seconds * 1000,
        )
    )


def completed(stream: Stream, night: Night, inputs: Inputs, began: float) -> None:
    """Tell the stream what the plan holds, what models cost, and that the run is over."""
    if not stream.sinks or night.plan is None:
        return
    run, namespace, now = stream.run_id, stream.namespace, datetime.now(UTC)
    for call in inputs.budget.calls:
        stream.emit(
            LlmCalled(
                run_id=run,
                namespace=namespace,
                at=call.at,
                op_type=call.operation,
                model=call.model,
                input_tokens=call.input,
                output_tokens=call.output,
                duration_ms=call.seconds * 1000,
            )
        )
    if inputs.budget.refused:
        stream.emit(LlmThrottled(run_id=run, namespace=namespace, at=now, calls=inputs.budget.refused))
    for item in night.plan.items:
        stream.emit(item_event(stream, item, "plan", "pending"))
    for item in night.plan.deferred_items:
        stream.emit(item_event(stream, item, "plan", "deferred"))
    counts = {"planned": night.new_items, "carried": night.carried_items, "deferred": len(night.plan.deferred)}
    state = "approved" if night.state == "partly_approved" else night.state  # the run's, as the ledger has it
    stream.ended("plan", state, counts, began, len(night.plan.items))


def emit_night(store: Store, night: Night, inputs: Inputs, *, dagster_run_id: str) -> None:
    """Tell a night whose audits and planners were steps of a Dagster run: each at the time it ran, in the order of a night."""
    stream = open_stream(store, night.run_id, night.namespace, dagster_run_id=dagster_run_id)
    if not stream.sinks or night.plan is None:
        return
    try:
        with store.connect("reader") as connection:
            row = connection.execute(_STARTED, (night.run_id,)).fetchone()
        now = datetime.now(UTC)
        started = row[0] if row and isinstance(row[0], datetime) else now
        trigger = str(row[1]) if row else "manual"
        run, namespace = stream.run_id, stream.namespace
        stream.emit(RunStarted(run_id=run, namespace=namespace, at=started, mode="plan", trigger=trigger))
        items = dict.fromkeys(night.proposals, 0)
        for item in (*night.plan.items, *night.plan.deferred_items):
            items[item.operation] = items.get(item.operation, 0) + 1
        for phase, reports in (("audit", night.reports), ("plan", night.proposals)):
            begun, ended = _span(list(reports.values()), now)
            stream.emit(PhaseStarted(run_id=run, namespace=namespace, at=begun, phase=phase))
            for name, report in reports.items():
                report_done(stream, phase, report, items.get(name, 0))
            stream.emit(
                PhaseCompleted(
                    run_id=run,
                    namespace=namespace,
                    at=ended,
                    phase=phase,
                    outcome="success",
                    ops_total=len(reports),
                    duration_ms=(ended - begun).total_seconds() * 1000,
                )
            )
        completed(stream, night, inputs, time.monotonic() - (now - started).total_seconds())
    finally:
        stream.close()


def _span(reports: Sequence[Report], otherwise: datetime) -> tuple[datetime, datetime]:
    """When the first of these began and the last ended."""
    ran = [(datetime.fromisoformat(r.started_at), timedelta(seconds=r.seconds)) for r in reports if r.started_at]
    if not ran:
        return otherwise, otherwise
    return min(begun for begun, _ in ran), max(begun + lasted for begun, lasted in ran)
