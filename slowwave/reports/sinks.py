"""Which sinks listen to a run: what the settings switch on, and the callbacks of a caller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from slowwave.reports.events import Event
from slowwave.reports.stream import Sink
from slowwave.settings import Settings

Callback = Callable[[Event], None]


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


def sinks_for(settings: Settings, callbacks: Sequence[Callback] = ()) -> tuple[Sink, ...]:
    """The sinks of one run."""
    return tuple(CallbackSink(callback) for callback in callbacks)
