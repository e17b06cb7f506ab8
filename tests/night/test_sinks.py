"""Which sinks listen, what passes their filters, and what the settings of a namespace may not do."""

from __future__ import annotations

import base64
import logging
from datetime import UTC, datetime

import pytest

from slowwave.night.run_events import Event, LlmCalled, OperationEvent, RunStarted, Stream
from slowwave.night.sinks import CallbackSink, Filtered, sinks_for
from slowwave.operations import khora_kinds
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from tests.receivers import Receiver

COMMON = {"run_id": "r", "namespace": "acme", "at": datetime(2026, 5, 1, tzinfo=UTC)}
SECRET = "whsec_" + base64.b64encode(bytes(32)).decode()


def decided(operation: str, decision: str, namespace: str = "acme") -> OperationEvent:
    return OperationEvent(
        **{**COMMON, "namespace": namespace}, op_id="i", phase="plan", op_type=operation, decision=decision
    )


EVENTS: tuple[Event, ...] = (
    RunStarted(**COMMON, mode="plan", trigger="manual"),
    decided("dedupe_entities", "merge"),
    decided("dedupe_entities", "review"),
    decided("gc_references", "clean"),
    decided("dedupe_entities", "merge", "other"),
    LlmCalled(**COMMON, op_type="gc_references", model="m", input_tokens=1, output_tokens=1),
)


@pytest.mark.parametrize(
    ("filters", "passed"),
    [
        ({}, [0, 1, 2, 3, 4, 5]),
        ({"op_types": {"dedupe_entities"}}, [0, 1, 2, 4]),
        ({"decisions": {"merge"}}, [0, 1, 4, 5]),
        ({"namespaces": {"acme"}}, [0, 1, 2, 3, 5]),
        ({"op_types": {"dedupe_entities"}, "decisions": {"merge"}, "namespaces": {"acme"}}, [0, 1]),
    ],
)
def test_a_filter_lets_pass_what_it_names_and_what_it_cannot_judge(
    filters: dict[str, set[str]], passed: list[int]
) -> None:
    """khora's rule: an empty filter is all, and an event without the field passes."""
    got: list[Event] = []
    sink = Filtered(CallbackSink(got.append), **filters)  # type: ignore[arg-type]
    for event in EVENTS:
        sink.emit(event)
    sink.close()
    assert got == [EVENTS[i] for i in passed]
    assert sink.name == "callback"


def test_callbacks_and_webhook_obey_the_settings_khoras_names_included(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One namespace names an operation as khora calls it and a decision; both kinds of subscriber get the same."""
    receiver = Receiver()
    monkeypatch.setenv("SLOWWAVE_WEBHOOK_URL", receiver.url)
    monkeypatch.setenv("SLOWWAVE_WEBHOOK_SECRET", SECRET)
    got: list[Event] = []
    settings = Settings.for_namespace(
        {
            "report_event_sink_enabled": True,
            "dream_op_types": ["vectorcypher_dedupe_entities"],
            "dream_decisions": ["merge"],
            "redact_text": "none",
        }
    )
    stream = Stream("r", "acme", sinks_for(settings, (got.append,), store, kinds=khora_kinds))
    for event in EVENTS[:4]:
        stream.emit(event)
    stream.close()
    receiver.close()
    assert [type(e).__name__ for e in got] == ["RunStarted", "OperationEvent"]
    assert receiver.types == ["dream.run.started", "dream.op.decided"]
    assert stream.failures == {}


def test_a_namespace_can_silence_the_webhook_and_cannot_redirect_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Address and secret are of the environment; whatever a namespace's settings say of them is not looked at."""
    receiver = Receiver()
    monkeypatch.setenv("SLOWWAVE_WEBHOOK_URL", receiver.url)
    monkeypatch.setenv("SLOWWAVE_WEBHOOK_SECRET", SECRET)
    monkeypatch.setenv("SLOWWAVE_REPORT_EVENT_SINK_ENABLED", "true")
    for overlay, expected in (
        ({"webhook_url": "http://evil.example", "SLOWWAVE_WEBHOOK_URL": "http://evil.example"}, 1),
        ({"report_event_sink_enabled": False}, 0),
    ):
        sinks = sinks_for(Settings.for_namespace(overlay), store=store)
        assert len(sinks) == expected
        for sink in sinks:
            sink.emit(EVENTS[0])
            sink.close()
    receiver.close()
    assert len(receiver.deliveries) == 1


def test_a_webhook_that_cannot_be_used_is_said_and_stops_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Switched on without a secret: the night runs, without a webhook, and the log says what to do."""
    monkeypatch.setenv("SLOWWAVE_WEBHOOK_URL", "https://hooks.example/T0KEN")
    with caplog.at_level(logging.WARNING):
        assert sinks_for(Settings(report_event_sink_enabled=True), store=store) == ()
    assert "SLOWWAVE_WEBHOOK_SECRET is not set" in caplog.text
    assert "T0KEN" not in caplog.text


def test_nothing_listens_unless_it_is_asked_to() -> None:
    """Every sink is off by default."""
    assert sinks_for(Settings()) == ()
