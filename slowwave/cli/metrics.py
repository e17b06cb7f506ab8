"""``slowwave metrics``: Prometheus metrics, read from the run tables whenever somebody asks.

Runs are short-lived processes, so nothing is counted in them: what the ledger says is also true of runs that crashed, wait or were
started elsewhere. What a run measures of itself goes to OpenTelemetry (``slowwave.reports.telemetry``).
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Final

import psycopg
import typer

from slowwave.cli.session import open_store, out
from slowwave.errors import SlowwaveError, StoreError
from slowwave.store.connect import Store

if TYPE_CHECKING:
    from slowwave.plans.status import StoreStatus


if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Metric

_LOG: Final = logging.getLogger(__name__)
_HOUR, _DAY = 3600, 86_400
_BUCKETS: Final = (_HOUR, 6 * _HOUR, 12 * _HOUR, _DAY, 2 * _DAY, 3 * _DAY, 7 * _DAY, 14 * _DAY, 30 * _DAY)


def metrics(
    port: Annotated[int, typer.Option(help="Port to serve on.")] = 9464,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    once: Annotated[bool, typer.Option("--once", help="Print the metrics and end.")] = False,
) -> None:
    """Serve Prometheus metrics of all namespaces at /metrics, or print them once."""
    from prometheus_client import generate_latest, start_http_server

    store = Store.from_environment()
    registry = registry_of(open_store() if store.embedded else store)  # elsewhere a login that may read is enough
    if once:
        sys.stdout.write(generate_latest(registry).decode())
        return
    try:
        server, thread = start_http_server(port, host, registry)
    except (OSError, OverflowError):
        raise StoreError(
            f"{host}:{port} cannot be listened on: it is in use, or no address of this machine. Choose another --port or --host."
        ) from None
    out.print(f"Metrics at http://{host}:{port}/metrics. Ctrl-C ends it.")
    try:
        thread.join()
    except KeyboardInterrupt:
        server.shutdown()
    finally:
        server.server_close()


def registry_of(store: Store) -> CollectorRegistry:
    """A registry whose metrics are read from ``store`` at every scrape, and nothing about this process."""
    from prometheus_client import CollectorRegistry

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Ledger(store))
    return registry


class _Ledger:
    """Reads the ledger once a scrape. A scrape that fails gives ``slowwave_up 0`` and counts itself."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._errors = 0

    def describe(self) -> Sequence[Metric]:
        """Nothing is known before it is read."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """All metrics at one instant."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        from slowwave.plans.status import read_status

        began, found = time.perf_counter(), None
        try:
            found = read_status(self._store)
        except (psycopg.Error, SlowwaveError) as problem:
            self._errors += 1
            _LOG.warning("The ledger could not be read for metrics: %s.", type(problem).__name__)
        yield GaugeMetricFamily("slowwave_up", "Whether the ledger could be read.", float(found is not None))
        yield CounterMetricFamily("slowwave_scrape_errors", "Scrapes that could not read the ledger.", self._errors)
        yield _labelled(
            "gauge", "slowwave_build_info", "The version that is asked.", ("version",), {(version("slowwave"),): 1}
        )
        if found is not None:
            yield from _families(found)
        took = time.perf_counter() - began
        yield GaugeMetricFamily("slowwave_scrape_duration_seconds", "How long reading the ledger took.", took)


def _families(now: StoreStatus) -> Iterator[Metric]:
    from prometheus_client.core import GaugeMetricFamily

    from slowwave.applying.switches import apply_disabled

    for name, text, value in (
        ("namespaces", "Namespaces.", now.namespaces),
        ("namespaces_read_only", "Namespaces that are never written.", now.read_only),
        ("plans_waiting", "Plans that wait for approval.", now.plans_waiting),
        ("plans_waiting_oldest_age_seconds", "Age of the oldest of them, 0 when there is none.", now.oldest_plan),
        ("approvals_waiting", "Approvals that are not applied yet.", now.approvals_waiting),
        (
            "approvals_waiting_oldest_age_seconds",
            "Age of the oldest of them, 0 when there is none.",
            now.oldest_approval,
        ),
        ("conflicts_open", "Contradictions that nobody has resolved.", now.conflicts_open),
    ):
        yield GaugeMetricFamily(f"slowwave_{name}", text, value)
    yield _histogram("slowwave_night_age_seconds", "Namespaces by the age of their last successful night.", now.nights)
    yield _histogram("slowwave_apply_age_seconds", "Namespaces by the age of their last finished apply.", now.applies)
    yield _histogram(
        "slowwave_unplanned_change_age_seconds",
        "Namespaces with changes that no night has seen, by the age of the oldest.",
        now.unplanned,
    )
    outcomes = {(outcome,): count for outcome, count in now.items.items()}
    yield _labelled("counter", "slowwave_items", "Items by what became of them.", ("outcome",), outcomes)
    yield _labelled("gauge", "slowwave_runs", "Runs in the ledger.", ("mode", "state"), now.runs)
    stuck = {(mode,): count for mode, count in now.stuck.items()}
    yield _labelled("gauge", "slowwave_runs_stuck", "Runs whose heartbeat has expired.", ("mode",), stuck)
    text = "Tokens that models cost in the last 24 hours."
    yield _labelled("gauge", "slowwave_llm_tokens_last_day", text, ("model", "direction"), now.tokens)
    switches = {("environment",): int(apply_disabled()), ("database",): int(now.apply_disabled)}
    yield _labelled("gauge", "slowwave_apply_disabled", "Whether a kill switch is set.", ("switch",), switches)


def _labelled(
    kind: str, name: str, text: str, labels: tuple[str, ...], values: Mapping[tuple[str, ...], int]
) -> Metric:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    family = (CounterMetricFamily if kind == "counter" else GaugeMetricFamily)(name, text, labels=labels)
    for key, value in sorted(values.items()):
        family.add_metric(key, value)
    return family


def _histogram(name: str, text: str, ages: Sequence[float]) -> Metric:
    """How many ages are at most so old; the buckets are those of nights, not of requests."""
    from prometheus_client.core import HistogramMetricFamily

    buckets = [(str(float(limit)), float(sum(age <= limit for age in ages))) for limit in _BUCKETS]
    return HistogramMetricFamily(name, text, [*buckets, ("+Inf", float(len(ages)))], sum(ages))
