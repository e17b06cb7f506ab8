"""OpenTelemetry: a run as nested spans, and metrics with labels that take a bounded number of values."""

from __future__ import annotations

import importlib
import logging
import os
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

from slowwave.night.run_events import (
    Event,
    LlmCalled,
    LlmThrottled,
    OperationEvent,
    PhaseCompleted,
    PhaseStarted,
    RunCompleted,
    RunFailed,
    RunStarted,
)

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter
    from opentelemetry.trace import Span, Tracer


# Instruments: the meters' counters and histograms, made once, whose labels take a bounded number of values.

SCOPE: Final = "slowwave"
_MOST_VALUES: Final = 64  # distinct values of one label in a process; further ones become "other"
_MOST_MODELS: Final = 16
METRICS: Final[Mapping[str, tuple[str, str, str]]] = {
    "runs_total": ("counter", "1", "Runs that ended."),
    "run.duration": ("histogram", "s", "How long runs took."),
    "phase.duration": ("histogram", "s", "How long a run's phases took."),
    "ops_total": ("counter", "1", "Operations and their items, as they were decided or done."),
    "op.duration": ("histogram", "s", "How long an operation took in a phase."),
    "llm.tokens": ("counter", "1", "Tokens that language models cost."),
    "llm.throttled_total": ("counter", "1", "Calls of models left out because a token budget was spent."),
    "undo_invocations_total": ("counter", "1", "Undo runs, by the operations whose items they took back."),
    "report.write_failures_total": ("counter", "1", "What a sink could not take or deliver."),
}


class Instruments:
    """The instruments of a meter, by name; labels take a limited number of values."""

    def __init__(self, meter: Meter) -> None:
        self._made: dict[str, Any] = {}
        for name, (kind, unit, description) in METRICS.items():
            make = meter.create_counter if kind == "counter" else meter.create_histogram
            self._made[name] = make(f"slowwave.dream.{name}", unit=unit, description=description)
        self._seen: dict[str, set[str]] = {}
        self._lock = threading.Lock()

    def add(self, metric: str, amount: int, **labels: str) -> None:
        """Add ``amount`` to a counter."""
        self._made[metric].add(amount, self._bounded(labels))

    def record(self, metric: str, seconds: float, **labels: str) -> None:
        """Record how long something took."""
        self._made[metric].record(seconds, self._bounded(labels))

    def _bounded(self, labels: Mapping[str, str]) -> dict[str, str]:
        with self._lock:
            return {label: self._admit(label, value) for label, value in labels.items()}

    def _admit(self, label: str, value: str) -> str:
        seen = self._seen.setdefault(label, set())
        if value not in seen and len(value) <= 100 and len(seen) < (_MOST_MODELS if label == "model" else _MOST_VALUES):
            seen.add(value)
        return value if value in seen else "other"


@cache
def instruments(meter: Meter | None) -> Instruments:
    """Return the instruments of a meter, made once because OpenTelemetry warns of duplicates."""
    from opentelemetry import metrics

    return Instruments(meter or metrics.get_meter(SCOPE, own_version()))


@cache
def own_version() -> str:
    """Return the version of the installed package, or an empty string if it is not installed."""
    try:
        return version("slowwave")
    except PackageNotFoundError:
        return ""


# OpenTelemetry: a run as nested spans of real duration, and metrics with bounded labels.
#
# The library needs only the API package, which does nothing without an SDK. The extra ``otel`` installs one, and the standard ``OTEL_``
# variables configure it. ``telemetry-contract.json`` next to this file lists every span, attribute and metric. A namespace's name is on
# spans and never in a label. What an operation read or wrote, its ``inputs`` and ``outputs``, is never exported.

RUN, PHASE, OPERATION, CALL = (f"slowwave.dream.{name}" for name in ("run", "phase", "op", "llm_call"))
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FLUSH_MILLISECONDS: Final = 5000
_NAME: Final = re.compile(r"(items|decisions)\.[a-z][a-z0-9_]{0,39}")


def configure() -> bool:
    """Export spans and metrics by OTLP if the SDK is installed and ``OTEL_EXPORTER_OTLP_ENDPOINT`` (or one per signal) is set.

    For programs, not for libraries: the command line calls it, and so does any program that runs nights itself. An existing setup of
    OpenTelemetry is left alone. Cheap if there is nothing to do. Returns whether anything is exported.
    """
    signals = [s for s in ("traces", "metrics") if _wanted(s)]
    if not signals or os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    try:
        exported = [_export(signal) for signal in signals]
        return any(exported)
    except ImportError as problem:
        _LOG.warning(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, and %s is not installed, so no telemetry is sent. Install slowwave[otel].",
            problem.name,
        )
        return False


class TelemetrySink:
    """A sink for the spans and metrics of one run; ``dagster_run_id`` is put on its span if Dagster started it.

    The run's span opens at ``RunStarted`` and nests in any span that the caller has open. A process that sees only a part of a run
    (a sensor that records a crash) opens a span at the first event it sees, marked ``slowwave.partial``. Each operation has a span with
    its items as counts; items never have spans. All times come from the events; nothing is timed here.
    """

    name = "telemetry"

    def __init__(self, *, dagster_run_id: str = "", tracer: Tracer | None = None, meter: Meter | None = None) -> None:
        from opentelemetry import trace

        self._tracer = tracer or trace.get_tracer(SCOPE, own_version())
        self._meters = instruments(meter)
        self._dagster_run_id = dagster_run_id
        self._run: Span | None = None
        self._phases: dict[str, Span] = {}
        self._open: set[str] = set()
        self._operations: dict[tuple[str, str], _Operation] = {}
        self._undone: set[str] = set()
        self._mode, self._trigger, self._complete = "", "unknown", False
        self._last = 0

    def emit(self, event: Event) -> None:
        """Process one event."""
        self._last = max(self._last, _nanoseconds(event.at))
        match event:
            case RunStarted():
                self._began(event)
            case PhaseStarted():
                self._phase(event, event.phase, _nanoseconds(event.at))
            case OperationEvent():
                self._decided(event)
            case LlmCalled():
                self._called(event)
            case LlmThrottled():
                self._meters.add("llm.throttled_total", event.calls)
            case PhaseCompleted():
                self._phase_ended(event)
            case RunCompleted():
                self._ended(event, event.state, event.duration_ms)
            case RunFailed():
                outcome = "cancelled" if event.error_type == "DreamCancelled" else "failed"
                self._ended(event, outcome, event.duration_ms)
            case _:
                pass

    def close(self) -> None:
        """End open spans and send pending telemetry, because the process may end at once.

        Takes at most five seconds per signal.
        """
        self._finish()
        threads = [threading.Thread(target=f, args=(_FLUSH_MILLISECONDS,), daemon=True) for f in _flushes()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(_FLUSH_MILLISECONDS / 1000)

    def write_failed(self, sink: str, reason: str) -> None:
        """Count a failure of a sink to take or deliver an event; the reason is ``emit``, ``close`` or ``delivery``."""
        self._meters.add("report.write_failures_total", 1, sink=sink, reason=reason)

    def _began(self, event: RunStarted) -> None:
        self._mode, self._trigger = event.mode, event.trigger
        self._complete = True
        span = self._run_span(event)
        span.set_attributes({"slowwave.mode": event.mode, "slowwave.trigger": event.trigger})

    def _run_span(self, event: Event, start: int | None = None) -> Span:
        if self._run is None:
            begun = _nanoseconds(event.at) if start is None else start
            self._run = self._tracer.start_span(RUN, start_time=begun, attributes=self._identity(event))
            if self._dagster_run_id:
                self._run.set_attribute("dagster.run_id", self._dagster_run_id)
        return self._run

    def _identity(self, event: Event) -> dict[str, str]:
        return {"slowwave.namespace": event.namespace, "slowwave.run_id": event.run_id}

    def _phase(self, event: Event, phase: str, start: int) -> Span:
        """Return the span of the phase; open one if there is none or the previous one has ended."""
        if phase not in self._open:
            self._phases[phase] = self._child(PHASE, self._run_span(event, start), self._identity(event), start)
            self._phases[phase].set_attribute("slowwave.phase", phase)
            self._open.add(phase)
        return self._phases[phase]

    def _child(self, name: str, parent: Span | None, identity: Mapping[str, str], start: int) -> Span:
        from opentelemetry.trace import set_span_in_context

        context = set_span_in_context(parent) if parent is not None else None
        return self._tracer.start_span(name, context=context, start_time=start, attributes=identity)

    def _decided(self, event: OperationEvent) -> None:
        self._meters.add(
            "ops_total",
            1,
            phase=event.phase,
            op_type=event.op_type,
            decision=event.decision,
            status=event.status or "none",
        )
        key, whole = (event.phase, event.op_type), event.op_id == event.op_type
        if whole and event.started_at is None and not event.duration_ms:
            return  # it did not run; the decision gives the reason
        self._run_span(event, _began_at(event))
        operation = self._operations.get(key)
        if operation is None:
            operation = self._operations[key] = _Operation(self._identity(event))
        if whole:
            operation.whole(event)
            self._operation_span(*key, operation).set_attribute("slowwave.decision", event.decision)
        else:
            operation.item(event)
            if event.phase == "undo":
                self._undone.add(event.op_type)

    def _operation_span(self, phase: str, name: str, operation: _Operation) -> Span:
        if operation.span is None:
            parent = self._phases.get(phase) or self._run
            operation.span = self._child(OPERATION, parent, operation.identity, operation.start)
            operation.span.set_attributes({"slowwave.phase": phase, "slowwave.operation": name})
        return operation.span

    def _called(self, event: LlmCalled) -> None:
        for direction, tokens in (("input", event.input_tokens), ("output", event.output_tokens)):
            self._meters.add("llm.tokens", tokens, direction=direction, model=event.model)
        end = _nanoseconds(event.at)
        start = end - _milliseconds(event.duration_ms)
        asked = next((o.span for (_, name), o in self._operations.items() if name == event.op_type and o.span), None)
        span = self._child(CALL, asked or self._run_span(event, start), self._identity(event), start)
        span.set_attributes(
            {
                "slowwave.operation": event.op_type,
                "gen_ai.request.model": event.model,
                "gen_ai.usage.input_tokens": event.input_tokens,
                "gen_ai.usage.output_tokens": event.output_tokens,
            }
        )
        span.end(end)

    def _phase_ended(self, event: PhaseCompleted) -> None:
        end = _nanoseconds(event.at)
        span = self._phase(event, event.phase, end - _milliseconds(event.duration_ms))
        span.set_attributes({"slowwave.outcome": event.outcome, "slowwave.ops_total": event.ops_total})
        if event.outcome == "failed":
            _mark_failed(span, "")
        span.end(end)
        self._open.discard(event.phase)
        self._meters.record("phase.duration", event.duration_ms / 1000, phase=event.phase, outcome=event.outcome)

    def _ended(self, event: RunCompleted | RunFailed, outcome: str, milliseconds: float) -> None:
        span = self._run_span(event, _nanoseconds(event.at) - _milliseconds(milliseconds))
        span.set_attributes({"slowwave.mode": event.mode, "slowwave.outcome": outcome})
        if isinstance(event, RunCompleted):
            span.set_attribute("slowwave.ops_total", event.ops_total)
            span.set_attributes(_counts({f"items.{name}": count for name, count in event.counts.items()}))
        else:
            span.set_attributes({"error.type": event.error_type, "slowwave.error_hash": event.error_hash})
            _mark_failed(span, event.error_type)
        labels = {"mode": event.mode, "trigger": self._trigger, "outcome": outcome}
        self._meters.add("runs_total", 1, **labels)
        self._meters.record("run.duration", milliseconds / 1000, **labels)
        if event.mode == "undo":
            for operation in sorted(self._undone) or ["none"]:
                self._meters.add("undo_invocations_total", 1, op_type=operation, outcome=outcome)
        self._last = _nanoseconds(event.at)
        self._finish(whole=self._complete)

    def _finish(self, *, whole: bool = False) -> None:
        for (phase, name), operation in self._operations.items():
            span = self._operation_span(phase, name, operation)
            span.set_attributes(_counts(operation.counts))
            span.end(operation.end)
            self._meters.record("op.duration", operation.busy / 1e9, phase=phase, op_type=name)
        for phase in self._open:
            self._phases[phase].end(self._last)
        if self._run is not None:
            self._run.set_attribute("slowwave.partial", not whole)
            self._run.end(self._last)
        self._run, self._complete = None, False
        self._phases, self._open, self._operations = {}, set(), {}
        self._undone = set()


@dataclass(slots=True)
class _Operation:
    """An operation in a phase: its start, end and working time in nanoseconds, and its items as counts.

    Its span stays open until the run is over, because its items may be reported long after it ended. An operation that is known only by
    its items (apply reports batches of several operations) gets its span then: from the first item, or as long as the items took
    together.
    """

    identity: Mapping[str, str]
    span: Span | None = None
    start: int = 0
    end: int = 0
    busy: int = 0
    timed: bool = False
    counts: dict[str, int] = field(default_factory=dict)

    def whole(self, event: OperationEvent) -> None:
        """Take the times and the duration from the event of the operation itself."""
        self.busy, self.timed = _milliseconds(event.duration_ms), True
        self.start = _began_at(event)
        self.end = self.start + self.busy

    def item(self, event: OperationEvent) -> None:
        """Count an item of the operation."""
        for key in (f"items.{event.status or 'reported'}", f"decisions.{event.decision}"):
            self.counts[key] = self.counts.get(key, 0) + 1
        if self.timed:
            return
        begun = _began_at(event)
        self.busy += _milliseconds(event.duration_ms)
        self.end = max(self.end, _nanoseconds(event.at))
        self.start = min(self.start or begun, begun, self.end - self.busy)


def _counts(counts: Mapping[str, int]) -> dict[str, int]:
    """Return counts as attributes; names that do not have the form of Slowwave's names are left out."""
    return {f"slowwave.{name}": count for name, count in list(counts.items())[:40] if _NAME.fullmatch(name)}


def _began_at(event: OperationEvent) -> int:
    if event.started_at is not None:
        return _nanoseconds(event.started_at)
    return _nanoseconds(event.at) - _milliseconds(event.duration_ms)


def _mark_failed(span: Span, why: str) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_status(Status(StatusCode.ERROR, why or None))


def _nanoseconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1) * 1000


def _milliseconds(duration: float) -> int:
    return int(duration * 1_000_000)


def _wanted(signal: str) -> bool:
    upper = signal.upper()
    address = os.environ.get(f"OTEL_EXPORTER_OTLP_{upper}_ENDPOINT") or os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    return bool(address) and os.environ.get(f"OTEL_{upper}_EXPORTER", "otlp").strip().lower() == "otlp"


def _export(signal: str) -> bool:
    """Set up one signal with the SDK, which reads the other variables itself; return False if it is already set up."""
    from opentelemetry import metrics, trace

    asked = os.environ.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL") or os.environ.get(
        "OTEL_EXPORTER_OTLP_PROTOCOL", ""
    )
    package = f"opentelemetry.exporter.otlp.proto.{'grpc' if asked.strip().lower() == 'grpc' else 'http'}"
    resource = _resource()
    if signal == "traces":
        if not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            return False
        sdk = importlib.import_module("opentelemetry.sdk.trace")
        export = importlib.import_module("opentelemetry.sdk.trace.export")
        provider = sdk.TracerProvider(resource=resource)
        exporter = importlib.import_module(f"{package}.trace_exporter").OTLPSpanExporter()
        provider.add_span_processor(export.BatchSpanProcessor(exporter))
        trace.set_tracer_provider(provider)
        return True
    if type(metrics.get_meter_provider()).__name__ != "_ProxyMeterProvider":  # the API does not name it in public
        return False
    sdk = importlib.import_module("opentelemetry.sdk.metrics")
    export = importlib.import_module("opentelemetry.sdk.metrics.export")
    exporter = importlib.import_module(f"{package}.metric_exporter").OTLPMetricExporter()
    metrics.set_meter_provider(
        sdk.MeterProvider(resource=resource, metric_readers=[export.PeriodicExportingMetricReader(exporter)])
    )
    return True


def _resource() -> Any:
    """Build the resource that identifies this service; the operator's service name takes precedence over Slowwave's."""
    named = "OTEL_SERVICE_NAME" in os.environ or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    ours = {"service.version": own_version()} | ({} if named else {"service.name": SCOPE})
    return importlib.import_module("opentelemetry.sdk.resources").Resource.create(ours)


def _flushes() -> list[Callable[[int], object]]:
    """Return the functions that send pending telemetry at once; an API without an SDK has none."""
    from opentelemetry import metrics, trace

    providers: tuple[Any, ...] = (trace.get_tracer_provider(), metrics.get_meter_provider())
    return [p.force_flush for p in providers if hasattr(p, "force_flush")]


_LOG: Final = logging.getLogger(__name__)
