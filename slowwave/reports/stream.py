"""The stream of a run's events, and whatever listens to it. A sink that fails harms neither the run nor another sink."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Protocol

from slowwave.reports.events import (
    Event,
    Outcome,
    PhaseCompleted,
    PhaseStarted,
    RunCompleted,
    RunFailed,
    RunStarted,
)
from slowwave.reports.redaction import Level, redact_event

_LOG: Final = logging.getLogger(__name__)


class Sink(Protocol):
    """Something that reads events: files, a webhook, callbacks, telemetry."""

    @property
    def name(self) -> str:
        """A short name, for the count of failures."""
        ...

    def emit(self, event: Event) -> None:
        """Take one event. May raise: the stream goes on without it."""
        ...

    def close(self) -> None:
        """Deliver what waits. Called once, after the run's last event."""
        ...


@dataclass(slots=True)
class Stream:
    """The events of one run, redacted once for all sinks. ``failures`` counts what each sink could not take."""

    run_id: str
    namespace: str
    sinks: Sequence[Sink] = ()
    redact: Level = "all"
    failures: dict[str, int] = field(default_factory=dict)

    def emit(self, event: Event) -> None:
        """Give an event, as far as it may be disclosed, to every sink."""
        if not self.sinks:
            return
        event = redact_event(event, self.redact)
        for sink in self.sinks:
            try:
                sink.emit(event)
            except Exception as problem:  # noqa: BLE001 - a report must not end a run
                self._failed(sink, problem)

    def close(self) -> None:
        """Close every sink."""
        for sink in self.sinks:
            try:
                sink.close()
            except Exception as problem:  # noqa: BLE001 - the run is over, and stands
                self._failed(sink, problem)

    def started(self, mode: str, trigger: str) -> None:
        """The run began."""
        self.emit(
            RunStarted(run_id=self.run_id, namespace=self.namespace, at=datetime.now(UTC), mode=mode, trigger=trigger)
        )

    def failed(self, mode: str, problem: BaseException, since: float) -> None:
        """The run ended with an error; ``since`` is the ``time.monotonic`` of its beginning."""
        self.emit(
            RunFailed(
                run_id=self.run_id,
                namespace=self.namespace,
                at=datetime.now(UTC),
                mode=mode,
                error_type=type(problem).__name__,
                error_hash=hashlib.sha256(str(problem).encode("utf-8", "replace")).hexdigest()[:16],
                duration_ms=(time.monotonic() - since) * 1000,
            )
        )

    def ended(self, mode: str, state: str, counts: Mapping[str, int], since: float, operations: int = 0) -> None:
        """The run ended as it should, or as a person asked; ``since`` is the ``time.monotonic`` of its beginning."""
        self.emit(
            RunCompleted(
                run_id=self.run_id,
                namespace=self.namespace,
                at=datetime.now(UTC),
                mode=mode,
                state=state,
                ops_total=operations,
                counts=dict(counts),
                duration_ms=(time.monotonic() - since) * 1000,
            )
        )

    @contextmanager
    def phase(self, phase: str) -> Generator[Phase]:
        """Everything inside is one phase; count its operations on what this gives."""
        self.emit(PhaseStarted(run_id=self.run_id, namespace=self.namespace, at=datetime.now(UTC), phase=phase))
        began, going = time.monotonic(), Phase()
        try:
            yield going
        except BaseException:
            going.outcome = "failed"
            raise
        finally:
            self.emit(
                PhaseCompleted(
                    run_id=self.run_id,
                    namespace=self.namespace,
                    at=datetime.now(UTC),
                    phase=phase,
                    outcome=going.outcome,
                    ops_total=going.operations,
                    duration_ms=(time.monotonic() - began) * 1000,
                )
            )

    def _failed(self, sink: Sink, problem: Exception) -> None:
        self.failures[sink.name] = self.failures.get(sink.name, 0) + 1
        _LOG.warning("The %s sink could not take an event (%s). The run goes on.", sink.name, type(problem).__name__)


@dataclass(slots=True)
class Phase:
    """What a phase came to."""

    operations: int = 0
    outcome: Outcome = "success"
