"""Which sinks listen to a run: what the settings switch on, and the callbacks of a caller."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slowwave.config.settings import Settings
from slowwave.errors import SettingsError
from slowwave.reports.events import Event
from slowwave.reports.stream import Sink

if TYPE_CHECKING:
    from slowwave.reports.telemetry import TelemetrySink
    from slowwave.store.connect import Store

Callback = Callable[[Event], None]

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CallbackSink:
    """Gives every event to a function of the caller."""

    callback: Callback
    name: str = "callback"

    def emit(self, event: Event) -> None:
        """Call it."""
        self.callback(event)

    def close(self) -> None:
        """Nothing waits."""


@dataclass(frozen=True, slots=True)
class Filtered:
    """A sink that gets the events of some operations, decisions and namespaces; empty is all.

    An event without such a field passes: a run's and a phase's beginning and end are always sent. khora's kinds name our operations.
    """

    sink: Sink
    op_types: Collection[str] = ()
    decisions: Collection[str] = ()
    namespaces: Collection[str] = ()

    @property
    def name(self) -> str:
        """The sink's."""
        return self.sink.name

    def emit(self, event: Event) -> None:
        """Pass it on, or not."""
        if (
            _among(event.namespace, self.namespaces)
            and _among(getattr(event, "op_type", None), self.op_types)
            and _among(getattr(event, "decision", None), self.decisions)
        ):
            self.sink.emit(event)

    def close(self) -> None:
        """Close the sink."""
        self.sink.close()


@dataclass(frozen=True, slots=True)
class WatchedSink:
    """A sink whose failures are reported to ``failed`` by its name and where: ``emit`` or ``close``."""

    sink: Sink
    failed: Callable[[str, str], None]

    @property
    def name(self) -> str:
        """The sink's."""
        return self.sink.name

    def emit(self, event: Event) -> None:
        """Pass it on."""
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
    """The sinks of one run; files ask ``store`` for what an apply run journalled. ``kinds`` gives other systems' names of operations, and
    ours for them: settings may name either.

    Telemetry comes last, so that it still hears how the others close.
    """
    telemetry = _telemetry(settings, dagster_run_id)
    outward: list[Sink] = [CallbackSink(callback) for callback in callbacks]
    outward += _webhook(settings, telemetry)
    sinks = [*_files(settings, store), *(_filtered(sink, settings, kinds) for sink in outward), *_lineage()]
    if telemetry is None:
        return tuple(sinks)
    return (*(WatchedSink(sink, telemetry.write_failed) for sink in sinks), telemetry)


def _files(settings: Settings, store: Store | None) -> list[Sink]:
    if not settings.report_file_sink_enabled:
        return []
    from slowwave.reports.files import FileSink, reports_path

    return [FileSink(reports_path(settings), settings.redact_text, store)]


def _telemetry(settings: Settings, dagster_run_id: str) -> TelemetrySink | None:
    if not settings.report_collector_sink_enabled:
        return None
    from slowwave.reports.telemetry import TelemetrySink

    return TelemetrySink(dagster_run_id=dagster_run_id)


def _webhook(settings: Settings, telemetry: TelemetrySink | None) -> list[Sink]:
    """The environment's webhook; one that cannot be used is said in the log, and is no reason not to run."""
    if not settings.report_event_sink_enabled:
        return []
    from slowwave.reports.webhook import WebhookSink, address

    try:
        to = address()
    except SettingsError as problem:
        _LOG.warning("%s", problem)
        return []
    if to is None:
        return []
    if telemetry is None:
        return [WebhookSink(to)]
    return [
        WebhookSink(
            to,
            overflowed=lambda: telemetry.overflowed("webhook"),
            undelivered=lambda: telemetry.write_failed("webhook", "delivery"),
        )
    ]


def _lineage() -> list[Sink]:
    from slowwave.reports.lineage import LineageSink, lineage_wanted

    return [LineageSink()] if lineage_wanted() else []


def _filtered(sink: Sink, settings: Settings, kinds: Callable[[], Mapping[str, str]]) -> Sink:
    """The events that the namespace's settings name."""
    if not settings.dream_op_types and not settings.dream_decisions:
        return sink
    ours = kinds()
    names = frozenset(ours.get(name, name) for name in settings.dream_op_types)
    return Filtered(sink, names | frozenset(settings.dream_op_types), frozenset(settings.dream_decisions))


def _among(value: str | None, wanted: Collection[str]) -> bool:
    return value is None or not wanted or value in wanted
