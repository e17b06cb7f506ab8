"""Instruments: the meters' counters and histograms, made once, whose labels take a bounded number of values."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter


SCOPE: Final = "slowwave"
_MOST_VALUES: Final = 64  # distinct values of one label in a process; what comes after is "other"
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
    "subscription.overflow_total": ("counter", "1", "Events that a full outbox dropped."),
}


class Instruments:
    """The meter's instruments, by name; labels take a bounded number of values."""

    def __init__(self, meter: Meter) -> None:
        self._made: dict[str, Any] = {}
        for name, (kind, unit, description) in METRICS.items():
            make = meter.create_counter if kind == "counter" else meter.create_histogram
            self._made[name] = make(f"slowwave.dream.{name}", unit=unit, description=description)
        self._seen: dict[str, set[str]] = {}
        self._lock = threading.Lock()

    def add(self, metric: str, amount: int, **labels: str) -> None:
        """Count ``amount`` more."""
        self._made[metric].add(amount, self._bounded(labels))

    def record(self, metric: str, seconds: float, **labels: str) -> None:
        """Note how long something took."""
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
    """Made once a meter: an instrument that is made twice is complained of."""
    from opentelemetry import metrics

    return Instruments(meter or metrics.get_meter(SCOPE, own_version()))


@cache
def own_version() -> str:
    """The version of the installed package; empty where it is not installed."""
    try:
        return version("slowwave")
    except PackageNotFoundError:
        return ""
