"""Sinks of a run: files, OpenTelemetry, OpenLineage, webhooks and callbacks, as the settings switch them on."""

from __future__ import annotations

import importlib.util
import logging
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Final

from slowwave.errors import SettingsError
from slowwave.night.delivery import NoticeSink, endpoint
from slowwave.night.run_events import Event, OperationEvent, RunCompleted, RunFailed, RunStarted, Sink
from slowwave.night.telemetry import TelemetrySink
from slowwave.store.settings import Settings
from slowwave.store.tables import metadata

if TYPE_CHECKING:
    from openlineage.client import OpenLineageClient
    from openlineage.client.event_v2 import RunEvent

    from slowwave.store.connect import Store


_LOG: Final = logging.getLogger(__name__)

# The sinks of a run: those that the settings switch on, and the callbacks of a caller.

Callback = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class CallbackSink:
    """A sink that passes every event to a function of the caller."""

    callback: Callback
    name: str = "callback"

    def emit(self, event: Event) -> None:
        """Call the function."""
        self.callback(event)

    def close(self) -> None:
        """Do nothing, because no event is ever pending."""


@dataclass(frozen=True, slots=True)
class Filtered:
    """A sink that gets only the events of some operations, decisions and namespaces; an empty set means all.

    An event without such a field passes: the start and end of runs and phases are always sent. khora's kinds can name Slowwave's
    operations.
    """

    sink: Sink
    op_types: Collection[str] = ()
    decisions: Collection[str] = ()
    namespaces: Collection[str] = ()

    @property
    def name(self) -> str:
        """Return the name of the sink."""
        return self.sink.name

    def passes(self, event: Event) -> bool:
        """Return whether the event matches."""
        return (
            _among(event.namespace, self.namespaces)
            and _among(getattr(event, "op_type", None), self.op_types)
            and _among(getattr(event, "decision", None), self.decisions)
        )

    def emit(self, event: Event) -> None:
        """Pass the event on if it matches."""
        if self.passes(event):
            self.sink.emit(event)

    def close(self) -> None:
        """Close the sink."""
        self.sink.close()


@dataclass(frozen=True, slots=True)
class WatchedSink:
    """A sink whose failures are reported to ``failed``, with its name and the place: ``emit`` or ``close``."""

    sink: Sink
    failed: Callable[[str, str], None]

    @property
    def name(self) -> str:
        """Return the name of the sink."""
        return self.sink.name

    def emit(self, event: Event) -> None:
        """Pass the event on."""
        try:
            self.sink.emit(event)
        except Exception:
            self.failed(self.name, "emit")
            raise

    def close(self) -> None:
        """Close the sink."""
        try:
            self.sink.close()
        except Exception:
            self.failed(self.name, "close")
            raise


def sinks_for(
    settings: Settings,
    callbacks: Sequence[Callback] = (),
    store: Store | None = None,
    *,
    dagster_run_id: str = "",
    kinds: Callable[[], Mapping[str, str]] = dict,
) -> tuple[Sink, ...]:
    """Build the sinks of one run.

    File sinks query ``store`` for the journal of an apply run. ``kinds`` maps other systems' names of operations to Slowwave's; settings
    may use either. The telemetry sink comes last, so that it also records how the others close.
    """
    telemetry = _telemetry(settings, dagster_run_id)
    ours = kinds() if settings.dream_op_types else {}
    names = {*settings.dream_op_types, *(ours.get(name, name) for name in settings.dream_op_types)}
    callers = [Filtered(CallbackSink(callback), names, settings.dream_decisions) for callback in callbacks]
    sinks: list[Sink] = [*_files(settings, store), *callers, *([LineageSink()] if lineage_wanted() else [])]
    webhook = _webhook(settings, store)
    if telemetry is not None:
        sinks = [WatchedSink(sink, telemetry.write_failed) for sink in sinks]
    if webhook is not None:  # it is not watched, as the stream has to see that it records
        webhook.wants = Filtered(webhook, names, settings.dream_decisions).passes
        webhook.failed = telemetry.write_failed if telemetry else webhook.failed
        sinks.append(webhook)
    return (*sinks, *([telemetry] if telemetry else []))


def _files(settings: Settings, store: Store | None) -> list[Sink]:
    if not settings.report_file_sink_enabled:
        return []
    from slowwave.night.reports import FileSink, reports_path

    return [FileSink(reports_path(settings), settings.redact_text, store)]


def _telemetry(settings: Settings, dagster_run_id: str) -> TelemetrySink | None:
    if not settings.report_collector_sink_enabled:
        return None

    return TelemetrySink(dagster_run_id=dagster_run_id)


def _webhook(settings: Settings, store: Store | None) -> NoticeSink | None:
    """Return the sink of the environment's webhook; a webhook that cannot be used is logged and does not stop the run."""
    if not settings.report_event_sink_enabled or store is None:
        return None
    try:
        usable = endpoint("dream") is not None
    except SettingsError as problem:
        _LOG.warning("%s", problem)
        return None
    return NoticeSink(store, level=settings.redact_text) if usable else None


def _among(value: str | None, wanted: Collection[str]) -> bool:
    return value is None or not wanted or value in wanted


# OpenLineage: START and COMPLETE, ABORT or FAIL of every run, with the tables that it read and wrote as datasets. Only names are sent.
#
# Active if the extra ``openlineage`` is installed and the client has a configured target: ``OPENLINEAGE_URL``, ``OPENLINEAGE_CONFIG`` or
# ``OPENLINEAGE__TRANSPORT__…``. Dagster records the lineage between its own assets, which is not sent here.

NAMESPACE: Final = "OPENLINEAGE_NAMESPACE"
PRODUCER: Final = "urn:slowwave"
_CLOSING_SECONDS: Final = 5.0
_MEMORY: Final = tuple(
    sorted(t.name for t in metadata.tables.values() if t.schema == "memory" and "namespace_id" in t.columns)
)
_PLAN: Final = ("night.plans", "night.plan_items")
_READ: Final[Mapping[str, tuple[str, ...]]] = {
    "plan": tuple(f"memory.{table}" for table in _MEMORY),
    "apply": _PLAN,
    "undo": ("night.journal", "night.before_images"),
}


def lineage_wanted(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether OpenLineage has a configured target and its client is installed.

    If only the client is missing, a warning is logged.
    """
    configured = any(
        name in ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG") or name.startswith("OPENLINEAGE__TRANSPORT")
        for name in environment
    )
    if not configured or environment.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true":
        return False
    if importlib.util.find_spec("openlineage") is None:
        _LOG.warning(
            "OpenLineage is configured and its client is not installed, so nothing is sent. Install slowwave[openlineage]."
        )
        return False
    return True


class LineageSink:
    """A sink that reports one run to OpenLineage, in a separate thread, with the client that the environment configures.

    A job is a namespace's mode (``acme.plan``), a dataset is one of its tables (``acme.memory.entities``). Both are in the OpenLineage
    namespace ``OPENLINEAGE_NAMESPACE``, or ``slowwave``. What apply and undo wrote is known from their items, and sent at the end.
    """

    name = "lineage"

    def __init__(self) -> None:
        self._space = os.environ.get(NAMESPACE, "").strip() or "slowwave"
        self._pending: SimpleQueue[RunEvent | None] = SimpleQueue()
        self._sender: Thread | None = None
        self._unsent = 0
        self._client: OpenLineageClient | None = None
        self._written: set[str] = set()

    def emit(self, event: Event) -> None:
        """Process one event; few of them are sent on."""
        match event:
            case RunStarted():
                self._enqueue(event, event.mode, "START")
            case OperationEvent():
                table = event.inputs.get("table")
                if event.phase in ("apply", "undo") and event.status in ("applied", "undone") and table in _MEMORY:
                    self._written.add(f"memory.{table}")
            case RunCompleted():
                self._enqueue(event, event.mode, "ABORT" if event.state in ("cancelled", "refused") else "COMPLETE")
            case RunFailed():
                self._enqueue(event, event.mode, "FAIL")
            case _:
                pass

    def close(self) -> None:
        """Send pending events, for five seconds at most."""
        if self._sender is None:
            return
        self._pending.put(None)
        self._sender.join(_CLOSING_SECONDS)
        if self._unsent:
            _LOG.warning("OpenLineage did not get %d events of this run. The run is not affected.", self._unsent)

    def _enqueue(self, event: Event, mode: str, state: str) -> None:
        from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState

        written: Iterable[str] = _PLAN if mode == "plan" else sorted(self._written)
        if self._sender is None:
            self._sender = Thread(target=self._send_pending, name="slowwave-lineage", daemon=True)
            self._sender.start()
        self._unsent += 1
        self._pending.put(
            RunEvent(
                eventType=RunState[state],
                eventTime=event.at.isoformat(),
                run=Run(runId=event.run_id),
                job=Job(namespace=self._space, name=f"{event.namespace}.{mode}"),
                inputs=[InputDataset(self._space, f"{event.namespace}.{name}") for name in _READ.get(mode, ())],
                outputs=[OutputDataset(self._space, f"{event.namespace}.{name}") for name in written],
                producer=PRODUCER,
            )
        )

    def _send_pending(self) -> None:
        """Send each event once, because the client retries by itself, until the sink closes."""
        from openlineage.client import OpenLineageClient

        while (event := self._pending.get()) is not None:
            try:
                self._client = self._client or OpenLineageClient()
                self._client.emit(event)
                self._unsent -= 1
            except Exception as problem:  # noqa: BLE001 - whatever a transport raises, the run goes on
                _LOG.warning("OpenLineage did not accept an event (%s). The run goes on.", type(problem).__name__)
