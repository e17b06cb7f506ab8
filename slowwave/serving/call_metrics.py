"""Counts and times of calls, for Prometheus: one registry a namespace, so that nobody reads how another's memory is used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


@dataclass(slots=True)
class CallMetrics:
    """Registries by namespace, made when a namespace is first asked; there are as many as namespaces that were asked."""

    _known: dict[str, tuple[CollectorRegistry, Counter, Histogram]] = field(
        default_factory=dict[str, tuple[CollectorRegistry, Counter, Histogram]]
    )

    def count(self, namespace: str, call: str, surface: str, status: int, seconds: float) -> None:
        """One call over ``surface`` (http, mcp) with its status."""
        _, calls, times = self._of(namespace)
        calls.labels(call, surface, str(status)).inc()
        times.labels(call).observe(seconds)

    def page(self, namespace: str) -> bytes:
        """What Prometheus scrapes, of one namespace."""
        return generate_latest(self._of(namespace)[0])

    def _of(self, namespace: str) -> tuple[CollectorRegistry, Counter, Histogram]:
        if namespace not in self._known:
            registry = CollectorRegistry(auto_describe=False)
            labels = ("call", "surface", "status")
            calls = Counter("slowwave_calls", "Calls by agents.", labels, registry=registry)
            times = Histogram(
                "slowwave_call_seconds", "How long calls took.", ("call",), registry=registry, buckets=_BUCKETS
            )
            self._known[namespace] = (registry, calls, times)
        return self._known[namespace]
