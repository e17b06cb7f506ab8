"""Telemetry as a collector gets it: the SDK's exporter and reader in memory, and a real one over HTTP."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    MetricExporter,
    MetricExportResult,
    MetricsData,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import generate_latest

from slowwave.models.panel import Usage
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
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
    Stream,
)
from slowwave.night.sinks import sinks_for
from slowwave.night.telemetry import METRICS, TelemetrySink
from slowwave.night.undo import undo_run
from slowwave.operations import AUDITS, Inputs
from slowwave.plans.report import Report
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from slowwave.surfaces.api.dreams import dream, dream_undo
from slowwave.surfaces.cli.serve import registry_of
from slowwave.surfaces.demo import NAMESPACES
from tests.markers import found, plant
from tests.nights import new_world
from tests.permitting import approve
from tests.receivers import Receiver
from tests.stand_ins import instead

census = AUDITS["census"]

RUN = "00000000-0000-4000-8000-000000000001"
OPERATIONS = "census,dedupe_entities,recompute_centroids,gc_references"
BEGAN = datetime(2026, 5, 1, 3, 0, tzinfo=UTC)

ROOT = Path(__file__).parents[2]
CONTRACT: dict[str, Any] = json.loads(
    resources.files("slowwave.night").joinpath("telemetry-contract.json").read_text("utf-8")
)


class Metrics(MetricExporter):
    """Keeps what was exported."""

    def __init__(self) -> None:
        delta = {Counter: AggregationTemporality.DELTA, Histogram: AggregationTemporality.DELTA}
        super().__init__(preferred_temporality=delta)
        self.exported: list[MetricsData] = []

    def export(self, metrics_data: MetricsData, timeout_millis: float = 0, **_: object) -> MetricExportResult:
        self.exported.append(metrics_data)
        return MetricExportResult.SUCCESS

    def force_flush(self, timeout_millis: float = 0) -> bool:
        return True

    def shutdown(self, timeout_millis: float = 0, **_: object) -> None:
        pass


@dataclass
class Collector:
    """What was exported since the test began."""

    spans_in: InMemorySpanExporter
    metrics_in: Metrics
    meters: MeterProvider

    def spans(self, name: str = "") -> list[ReadableSpan]:
        return [s for s in self.spans_in.get_finished_spans() if not name or s.name == f"slowwave.dream.{name}"]

    def points(self) -> dict[str, dict[tuple[tuple[str, object], ...], float]]:
        """Metric → labels → value; of a histogram the count."""
        self.meters.force_flush()
        found: dict[str, dict[tuple[tuple[str, object], ...], float]] = {}
        batches = [r for data in self.metrics_in.exported for r in data.resource_metrics]
        for metric in [m for batch in batches for scope in batch.scope_metrics for m in scope.metrics]:
            values = found.setdefault(metric.name.removeprefix("slowwave.dream."), {})
            for point in metric.data.data_points:
                labels = tuple(sorted((point.attributes or {}).items()))
                value: Any = getattr(point, "value", None)
                values[labels] = values.get(labels, 0) + (getattr(point, "count", 0) if value is None else value)
        return found

    def clear(self) -> None:
        self.meters.force_flush()
        self.spans_in.clear()
        self.metrics_in.exported.clear()


@pytest.fixture(scope="session")
def exported() -> Collector:
    """The process's providers: an application sets them once."""
    spans, measured = InMemorySpanExporter(), Metrics()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    meters = MeterProvider(metric_readers=[PeriodicExportingMetricReader(measured, export_interval_millis=3_600_000)])
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(meters)
    return Collector(spans, measured, meters)


@pytest.fixture
def collector(exported: Collector) -> Iterator[Collector]:
    """Nothing of the tests before."""
    exported.clear()
    yield exported
    exported.clear()


def at(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


def common(seconds: float) -> dict[str, Any]:
    return {"run_id": RUN, "namespace": "acme", "at": at(seconds)}


def nanoseconds(seconds: float) -> int:
    return int(BEGAN.timestamp()) * 10**9 + int(seconds * 10**9)


def a_night() -> list[Any]:
    """Ten seconds: an audit, a planner that asks a model, three items told when the plan is sealed."""
    items = [
        OperationEvent(
            **common(9), op_id=f"item-{n}", phase="plan", op_type="dedupe_entities", decision=decision, status=status
        )
        for n, (decision, status) in enumerate([("merge", "pending"), ("merge", "deferred"), ("review", "pending")])
    ]
    return [
        RunStarted(**common(0), mode="plan", trigger="schedule"),
        PhaseStarted(**common(1), phase="audit"),
        OperationEvent(
            **common(3),
            op_id="orphans",
            phase="audit",
            op_type="orphans",
            decision="audit_complete",
            started_at=at(2),
            duration_ms=1000,
        ),
        PhaseCompleted(**common(3), phase="audit", outcome="success", ops_total=1, duration_ms=2000),
        PhaseStarted(**common(4), phase="plan"),
        OperationEvent(
            **common(8),
            op_id="dedupe_entities",
            phase="plan",
            op_type="dedupe_entities",
            decision="planned",
            started_at=at(4),
            duration_ms=4000,
            outputs={"headline": "Mara Reyes is Reyes, Mara"},
        ),
        OperationEvent(
            **common(8), op_id="prune_edges", phase="plan", op_type="prune_edges", decision="op_disabled_by_config"
        ),
        PhaseCompleted(**common(8), phase="plan", outcome="success", ops_total=2, duration_ms=4000),
        LlmCalled(
            **common(6), op_type="dedupe_entities", model="m-1", input_tokens=90, output_tokens=10, duration_ms=500
        ),
        *items,
        RunCompleted(
            **common(10),
            mode="plan",
            state="awaiting_approval",
            ops_total=3,
            counts={"planned": 2, "carried": 0, "deferred": 1},
            duration_ms=10_000,
        ),
    ]


def tell(*events: Any, sink: TelemetrySink | None = None) -> None:
    sink = sink or TelemetrySink()
    for event in events:
        sink.emit(event)
    sink.close()


def times(span: ReadableSpan) -> tuple[float, float]:
    assert span.start_time is not None
    assert span.end_time is not None
    return (span.start_time - nanoseconds(0)) / 1e9, (span.end_time - nanoseconds(0)) / 1e9


def test_spans_nest_and_last_as_long_as_what_they_stand_for(collector: Collector) -> None:
    """khora opens and closes its spans at the start event; ours carry the events' own instants, whenever they are told."""
    tell(*a_night(), sink=TelemetrySink(dagster_run_id="dagster-7"))
    spans = {
        (
            s.name.removeprefix("slowwave.dream."),
            str((s.attributes or {}).get("slowwave.operation") or (s.attributes or {}).get("slowwave.phase") or ""),
        ): s
        for s in collector.spans()
    }
    run, plan, dedupe, call = (
        spans[key]
        for key in [("run", ""), ("phase", "plan"), ("op", "dedupe_entities"), ("llm_call", "dedupe_entities")]
    )
    assert len(spans) == 6, "a switched-off operation has no span"
    for child, parent in [
        (plan, run),
        (dedupe, plan),
        (call, dedupe),
        (spans["op", "orphans"], spans["phase", "audit"]),
    ]:
        assert child.parent is not None
        assert child.parent.span_id == parent.get_span_context().span_id
        (start, end), (first, last) = times(child), times(parent)
        assert first <= start < end <= last
    assert [times(s) for s in (run, plan, dedupe, call)] == [(0, 10), (4, 8), (4, 8), (5.5, 6)]
    assert run.attributes is not None
    assert dict(run.attributes) == {
        "slowwave.namespace": "acme",
        "slowwave.run_id": RUN,
        "slowwave.mode": "plan",
        "slowwave.trigger": "schedule",
        "slowwave.outcome": "awaiting_approval",
        "slowwave.ops_total": 3,
        "slowwave.items.planned": 2,
        "slowwave.items.carried": 0,
        "slowwave.items.deferred": 1,
        "slowwave.partial": False,
        "dagster.run_id": "dagster-7",
    }
    counts = {k: v for k, v in (dedupe.attributes or {}).items() if "items" in k or "decisions" in k}
    assert counts == {
        "slowwave.items.pending": 2,
        "slowwave.items.deferred": 1,
        "slowwave.decisions.merge": 2,
        "slowwave.decisions.review": 1,
    }
    assert "Mara" not in "".join(s.to_json() for s in spans.values()), "what an operation found stands in no span"


def test_metrics_count_what_happened_under_bounded_labels(collector: Collector) -> None:
    """The same night as numbers; the namespace is in none of them."""
    tell(*a_night(), LlmThrottled(**common(10), calls=3))
    points = collector.points()
    trigger = (("mode", "plan"), ("outcome", "awaiting_approval"), ("trigger", "schedule"))
    assert points["runs_total"] == {trigger: 1}
    assert points["run.duration"] == {trigger: 1}
    assert points["llm.tokens"] == {
        (("direction", "input"), ("model", "m-1")): 90,
        (("direction", "output"), ("model", "m-1")): 10,
    }
    assert points["llm.throttled_total"] == {(): 3}
    assert sum(points["ops_total"].values()) == 6
    merged = (("decision", "merge"), ("op_type", "dedupe_entities"), ("phase", "plan"), ("status", "pending"))
    assert points["ops_total"][merged] == 1
    assert {dict(labels)["op_type"] for labels in points["op.duration"]} == {"orphans", "dedupe_entities"}
    assert "acme" not in str(points)


def test_a_flood_of_items_is_one_span_an_operation(collector: Collector) -> None:
    """Apply tells item by item, a batch at a time and each with its share; two operations in two batches."""
    items = [
        OperationEvent(
            **common(batch * 2),
            op_id=f"{operation}-{batch}-{n}",
            phase="apply",
            op_type=operation,
            decision="merge",
            status="applied",
            duration_ms=2.0,
        )
        for batch in (1, 2)
        for operation in ("dedupe_entities", "gc_references")
        for n in range(500)
    ]
    tell(
        RunStarted(**common(0), mode="apply", trigger="sensor"),
        PhaseStarted(**common(0), phase="apply"),
        *items,
        PhaseCompleted(**common(4), phase="apply", outcome="success", ops_total=2000, duration_ms=4000),
        RunCompleted(
            **common(4), mode="apply", state="completed", ops_total=2000, counts={"applied": 2000}, duration_ms=4000
        ),
    )
    found = collector.spans("op")
    assert len(found) == 2
    for span in found:
        assert (span.attributes or {})["slowwave.items.applied"] == 1000
        start, end = times(span)
        assert end == 4
        assert end - start >= 2.0, "as long as its items took together"


@pytest.mark.parametrize(("error", "outcome"), [("OperationalError", "failed"), ("DreamCancelled", "cancelled")])
def test_a_run_that_fails_says_so_without_its_words(collector: Collector, error: str, outcome: str) -> None:
    """Class and hash of the error; the phase that was under way ends with the run."""
    tell(
        RunStarted(**common(0), mode="apply", trigger="manual"),
        PhaseStarted(**common(1), phase="apply"),
        RunFailed(**common(5), mode="apply", error_type=error, error_hash="ab12", duration_ms=5000),
    )
    (run,), (phase,) = collector.spans("run"), collector.spans("phase")
    assert not run.status.is_ok
    assert (run.attributes or {})["error.type"] == error
    assert (times(run), times(phase)) == ((0, 5), (1, 5))
    (labels,) = collector.points()["runs_total"]
    assert dict(labels) == {"mode": "apply", "trigger": "manual", "outcome": outcome}


def test_a_process_that_sees_a_part_of_a_run_makes_its_span_from_that(collector: Collector) -> None:
    """Dagster's steps are processes: one hears of an audit, another of the end. Run id and durations are all they need."""
    audit, end = a_night()[2], a_night()[-1]
    tell(audit)
    tell(end)
    first, second = collector.spans("run")
    assert times(first) == (2, 3)
    assert times(second) == (0, 10)
    for span in (first, second):
        assert (span.attributes or {})["slowwave.partial"] is True
        assert (span.attributes or {})["slowwave.run_id"] == RUN
    (operation,) = collector.spans("op")
    assert operation.parent is not None
    assert operation.parent.span_id == first.get_span_context().span_id


def test_a_run_nests_in_the_span_of_the_program_that_asked_for_it(collector: Collector) -> None:
    """An agent that dreams inside its own trace finds the night in it."""
    with trace.get_tracer("agent").start_as_current_span("bedtime") as bedtime:
        tell(*a_night())
    (run,) = collector.spans("run")
    assert run.parent is not None
    assert run.parent.span_id == bedtime.get_span_context().span_id


def test_no_label_takes_more_values_than_it_may(collector: Collector) -> None:
    """A namespace's settings name models: the thousandth of them is called other."""
    sink = TelemetrySink()
    for n in range(1000):
        sink.emit(LlmCalled(**common(1), op_type="x", model=f"model-{n}", input_tokens=1, output_tokens=1))
    sink.close()
    models = {dict(labels)["model"] for labels in collector.points()["llm.tokens"]}
    assert len(models) <= 17
    assert "other" in models


def test_what_sinks_lose_is_counted(collector: Collector) -> None:
    """Telemetry counts a callback that raises, and messages that a webhook refused, of the same run."""

    def broken(_: object) -> None:
        raise RuntimeError("no")

    sinks = sinks_for(Settings(report_collector_sink_enabled=True), (broken,))
    stream = Stream(RUN, "acme", sinks)
    stream.started("plan", "manual")
    stream.close()
    assert stream.failures == {"callback": 1}
    telling = sinks[-1]
    assert isinstance(telling, TelemetrySink)
    telling.write_failed("webhook", "delivery")
    points = collector.points()
    assert points["report.write_failures_total"] == {
        (("reason", "delivery"), ("sink", "webhook")): 1,
        (("reason", "emit"), ("sink", "callback")): 1,
    }


def test_every_span_and_metric_of_real_runs_is_in_the_contract(
    store: Store, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A night that asks a model until its budget is spent, an apply, an undo, a night that fails: nothing
    comes that the contract does not list, and nothing is listed that never comes without a reason in it."""
    monkeypatch.setenv("SLOWWAVE_REPORT_COLLECTOR_SINK_ENABLED", "true")
    world = new_world(store)
    instead(monkeypatch, "census", _asks_a_model)

    def in_dagster(*given: Any, **_: Any) -> Any:
        return sinks_for(*given, dagster_run_id="dagster-7")

    monkeypatch.setattr("slowwave.night.runs.sinks_for", in_dagster)
    night = run_night(store, world.slug, ops=OPERATIONS, callbacks=(_broken,))
    assert night.plan is not None
    assert night.plan.items
    approval = approve(
        store, world.slug, night.plan.plan_hash, approver="me", include_review=True, force=True, note="test"
    )
    undo_run(store, apply_approval(store, approval.id).run_id)
    monkeypatch.setattr("slowwave.night.night.snapshot_of_night", _fails)
    with pytest.raises(OSError, match="disk"):
        run_night(store, world.slug, force=True)
    _compare(collector, world.slug)


def _asks_a_model(inputs: Inputs) -> Report:
    """The census, after one call that the budget allows and one that it does not."""
    assert inputs.budget.allow(1000)
    inputs.budget.spend(Usage("census", "m-1", 90, 10, seconds=0.001), 1000)
    assert not inputs.budget.allow(10**9)
    return census(inputs)


def _broken(event: object) -> None:
    if isinstance(event, RunStarted):
        raise RuntimeError("a caller's callback")


def _fails(*_: object, **__: object) -> str:
    raise OSError("the disk is full")


def _compare(collector: Collector, namespace: str) -> None:
    spans, points = collector.spans(), collector.points()
    by_id = {s.get_span_context().span_id: s for s in spans}
    assert {s.name for s in spans} == CONTRACT["spans"].keys() - CONTRACT["unseen"].keys()
    seen: dict[str, set[str]] = {}
    for span in spans:
        listed = CONTRACT["spans"][span.name]
        parent = by_id.get(span.parent.span_id) if span.parent else None
        assert (parent.name in listed["parents"]) if parent else not listed["parents"], span.name
        names = {_listed(name, listed["attributes"]) for name in span.attributes or {}}
        assert names <= listed["attributes"].keys(), f"{span.name}: {names - listed['attributes'].keys()}"
        seen.setdefault(span.name, set()).update(names)
    for name, names in seen.items():
        missing = CONTRACT["spans"][name]["attributes"].keys() - names
        assert not {f"{name}/{m}" for m in missing} - CONTRACT["unseen"].keys()
    emitted = {f"slowwave.dream.{name}": labels for name, labels in points.items()}
    assert emitted.keys() == CONTRACT["metrics"].keys() - CONTRACT["unseen"].keys()
    for name, labels in emitted.items():
        for each in labels:
            assert {label for label, _ in each} == set(CONTRACT["metrics"][name]["labels"]), name
    assert all(len(reason) > 20 for reason in CONTRACT["unseen"].values())
    kinds = {f"slowwave.dream.{n}": (kind, unit) for n, (kind, unit, _) in METRICS.items()}
    assert kinds == {n: (m["kind"], m["unit"]) for n, m in CONTRACT["metrics"].items()}
    assert namespace not in str(points)


def _listed(name: str, attributes: dict[str, str]) -> str:
    """The contract's name of an attribute: families end in a star."""
    family = name.rsplit(".", 1)[0] + ".*"
    return family if family in attributes else name


def test_the_sdk_is_set_up_by_the_standard_variables_and_only_by_them() -> None:
    """A program with an endpoint in its environment sends spans and metrics there, under its own name; without, nothing is loaded."""
    paths: list[str] = []
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            paths.append(self.path)
            bodies.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    program = (
        "import sys\n"
        "from datetime import UTC, datetime\n"
        "from slowwave.night.telemetry import TelemetrySink, configure\n"
        "from slowwave.night.run_events import RunStarted\n"
        "print(configure(), configure(), 'opentelemetry.sdk' in sys.modules)\n"
        "sink = TelemetrySink()\n"
        "sink.emit(RunStarted(run_id='r', namespace='acme', at=datetime.now(UTC), mode='plan', trigger='manual'))\n"
        "sink.write_failed('file', 'emit')\n"
        "sink.close()\n"
        "import os; os._exit(0)  # as the children of multiprocessing end: without any exit handler\n"
    )
    plain = {k: v for k, v in os.environ.items() if not k.startswith("OTEL_")}
    told = {**plain, "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_address[1]}"}
    said = [
        subprocess.run(
            [sys.executable, "-uc", program], env=env, capture_output=True, text=True, check=True
        ).stdout.strip()
        for env in (plain, told, {**told, "OTEL_SDK_DISABLED": "true"}, {**told, "OTEL_METRICS_EXPORTER": "none"})
    ]
    server.shutdown()
    server.server_close()
    assert said == ["False False False", "True False True", "False False False", "True False True"]
    assert sorted(paths) == ["/v1/metrics", "/v1/traces", "/v1/traces"]
    assert any(b"slowwave.dream.run" in body and b"acme" in body for body in bodies)
    assert all(b"slowwave" in body for body in bodies)


def test_importing_the_library_loads_no_telemetry() -> None:
    """Definitions and programs without telemetry do not pay for it."""
    program = "import sys, slowwave.night.sinks, slowwave.night.telemetry; print('opentelemetry' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_documentation_lists_the_contract() -> None:
    """Every metric with its labels, every span."""
    text = (ROOT / "docs" / "telemetry.md").read_text()
    rows = dict(re.findall(r"^\| `(slowwave\.dream\.[a-z._]+)` \| (.*) \|$", text, re.MULTILINE))
    assert rows.keys() == CONTRACT["metrics"].keys()
    for name, metric in CONTRACT["metrics"].items():
        kind, _, labels = rows[name].partition(" | ")
        assert kind.split(",")[0] == metric["kind"]
        assert re.findall(r"[a-z_]+", re.sub(r"\(.*\)|none", "", labels)) == metric["labels"], name
    assert all(span in text for span in CONTRACT["spans"])


def test_one_run_in_every_sink_tells_no_memory(
    demo: Store,
    collector: Collector,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Redaction `all`: night, apply and undo go to files, webhook, callbacks, spans, metrics and logs; a marker that stands in every
    text of memory stands in none of them. With `none` the same grep finds it, so it looks where memory could be."""
    receiver = Receiver()
    monkeypatch.setenv("SLOWWAVE_WEBHOOK_URL", receiver.url)
    monkeypatch.setenv("SLOWWAVE_WEBHOOK_SECRET", "whsec_" + base64.b64encode(bytes(32)).decode())
    namespaces = NAMESPACES[:2]
    for namespace, level in zip(namespaces, ("all", "none"), strict=True):
        plant(demo, namespace)
        overlay = {name: True for name in Settings.model_fields if name.startswith("report_") and "sink" in name}
        with demo.connect("owner") as connection:
            connection.execute(
                "UPDATE memory.namespaces SET settings = settings || %s::jsonb WHERE slug = %s",
                (json.dumps({**overlay, "redact_text": level, "blast_radius_share": 1.0}), namespace),
            )
    told: dict[str, dict[str, str]] = {}
    for namespace in namespaces:
        collector.clear()
        receiver.deliveries.clear()
        caplog.clear()
        events: list[Event] = []
        result = dream(
            namespace,
            "apply",
            ops="all",
            approver="mara",
            force=True,
            note="seen",
            store=demo,
            callbacks=(events.append,),
        )
        dream_undo(result.apply_runs[0], store=demo, callbacks=(events.append,))
        files = [f for f in (tmp_path / "home" / "reports" / namespace).rglob("*") if f.is_file()]
        assert {f.name.split(".", 1)[1] for f in files} == {"summary.md", "events.jsonl", "manifest.json", "undo.json"}
        assert receiver.deliveries
        assert collector.spans("run")
        told[namespace] = {
            **{f.name: f.read_text() for f in files},
            "webhook": " ".join(d.body.decode() for d in receiver.deliveries),
            "callbacks": " ".join(json.dumps(e.to_json(), default=str) for e in events),
            "spans": " ".join(span.to_json() for span in collector.spans()),
            "metrics": str(collector.points()) + generate_latest(registry_of(demo)).decode(),
            "log": caplog.text,
        }
    receiver.close()
    hidden, shown = (told[namespace] for namespace in namespaces)
    assert [what for what, text in hidden.items() if found(text)] == []
    assert {"webhook", "callbacks"} <= {what for what, text in shown.items() if found(text)}
    assert not [what for what in ("spans", "metrics", "log") if found(shown[what])], (
        "where no text belongs at any level"
    )
