"""Messages to an endpoint: written with what they report, signed, sent until they are accepted, and never beyond ``redact_text``."""

from __future__ import annotations

import base64
import json
import logging
import re
import socket
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from slowwave.errors import SettingsError
from slowwave.night.delivery import NoticeSink, deliver, diagnose_notices, endpoint, sign
from slowwave.night.executor import apply_approval
from slowwave.night.retention import remove_namespace, retain
from slowwave.night.run_events import LlmCalled, OperationEvent, RunCompleted, RunStarted, Stream
from slowwave.night.undo import undo_run
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from slowwave.surfaces.cli.main import main
from tests.memories import ask, behind_triggers, remember
from tests.nights import new_world, write_a_plan
from tests.permitting import approve
from tests.receivers import Answer, Receiver

RUN = "00000000-0000-4000-8000-000000000001"
NOW = datetime(2026, 5, 1, 3, 0, tzinfo=UTC)
KEY = bytes(range(32))
SECRET = "whsec_" + base64.b64encode(KEY).decode()
PENDING = "SELECT count(*) FROM night.notices WHERE delivered_at IS NULL AND given_up_at IS NULL"
GIVEN_UP = "SELECT count(*) FROM night.notices WHERE given_up_at IS NOT NULL"


@pytest.fixture
def receive(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Receiver]]:
    """Start a receiver that answers as given, and make it the webhook of the environment."""
    started: list[Receiver] = []

    def start(*answer: Answer, port: int = 0) -> Receiver:
        started.append(Receiver(*answer, port=port))
        monkeypatch.setenv("SLOWWAVE_WEBHOOK_URL", started[-1].url + "/hook")
        monkeypatch.setenv("SLOWWAVE_WEBHOOK_SECRET", SECRET)
        return started[-1]

    yield start
    for receiver in started:
        receiver.close()


@pytest.fixture
def acme(store: Store) -> Store:
    remember(store, "acme", memories=[])
    return store


def started() -> RunStarted:
    return RunStarted(run_id=RUN, namespace="acme", at=NOW, mode="plan", trigger="manual")


def decided(number: int = 0, text: str = "") -> OperationEvent:
    return OperationEvent(
        run_id=RUN,
        namespace="acme",
        at=NOW,
        op_id=f"item-{number}",
        phase="plan",
        op_type="dedupe_entities",
        decision="merge",
        outputs={"evidence": {"names": [text]}} if text else {},
    )


def ended() -> RunCompleted:
    return RunCompleted(
        run_id=RUN,
        namespace="acme",
        at=NOW,
        mode="plan",
        state="awaiting_approval",
        ops_total=1,
        counts={"planned": 1},
        duration_ms=5.0,
    )


def test_every_event_of_a_run_arrives_once_in_order_and_signed(acme: Store, receive: Callable[..., Receiver]) -> None:
    """Each of seven events is one message, which the library of a receiver verifies."""
    receiver = receive()
    sink = NoticeSink(acme)
    stream = Stream(RUN, "acme", (sink,))
    stream.started("plan", "schedule")
    with stream.phase("plan"):
        stream.emit(decided())
    stream.emit(
        LlmCalled(
            run_id=RUN, namespace="acme", at=NOW, op_type="dedupe_entities", model="m", input_tokens=9, output_tokens=1
        )
    )
    stream.emit(ended())
    stream.failed("plan", ValueError("text of a memory"), time.monotonic())
    assert not receiver.deliveries, "nothing is sent before the run is over"
    stream.close()
    assert receiver.types == [
        "dream.run.started",
        "dream.phase.started",
        "dream.op.decided",
        "dream.phase.completed",
        "dream.llm.called",
        "dream.run.completed",
        "dream.run.failed",
    ]
    assert stream.failures == {}
    assert len({d.headers["webhook-id"] for d in receiver.deliveries}) == 7
    for delivery in receiver.deliveries:
        assert delivery.path == "/hook"
        assert Webhook(SECRET).verify(delivery.body, dict(delivery.headers)) == delivery.content
        with pytest.raises(WebhookVerificationError):
            Webhook(SECRET).verify(delivery.body + b" ", dict(delivery.headers))
        assert (delivery.content["resource_type"], delivery.content["correlation_id"]) == ("dream", RUN)
    operation = receiver.deliveries[2].content
    assert operation["resource_id"] == "item-0"
    assert (operation["data"]["op_type"], operation["data"]["decision"]) == ("dedupe_entities", "merge")
    assert receiver.deliveries[0].content["resource_id"] == RUN
    assert b"text of a memory" not in b"".join(d.body for d in receiver.deliveries)
    assert ask(acme, "SELECT DISTINCT body FROM night.notices") == [("",)]


def test_signature_is_that_of_the_specification() -> None:
    """The test vector that the reference libraries share."""
    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    body = b'{"test": 2432232314}'
    expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert sign((key,), "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body) == expected
    assert sign((KEY, key), "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body).split()[1] == expected


def test_documented_verification_accepts_a_message_and_no_other(acme: Store, receive: Callable[..., Receiver]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "telemetry.md").read_text()
    code = re.search(r"^(from standardwebhooks.*?)\n```", page, re.DOTALL | re.MULTILINE)
    assert code is not None
    receiver = receive()
    NoticeSink(acme).emit(started())
    assert deliver(acme) == 1
    (delivery,) = receiver.deliveries
    given = {"SECRET": SECRET, "body": delivery.body, "headers": dict(delivery.headers)}
    exec(code[1], given)  # noqa: S102 - our own lines
    assert given["message"] == delivery.content
    with pytest.raises(WebhookVerificationError):
        exec(code[1], given | {"body": b"{}"})  # noqa: S102


def test_message_answered_with_an_error_is_sent_again_under_its_id(
    acme: Store, receive: Callable[..., Receiver]
) -> None:
    receiver = receive(lambda _, number: (503 if number == 1 else 429 if number == 2 else 200, {}))
    NoticeSink(acme).emit(started())
    assert deliver(acme, seconds=60) == 1
    assert receiver.types == ["dream.run.started"] * 3
    assert len({d.headers["webhook-id"] for d in receiver.deliveries}) == 1
    assert all(Webhook(SECRET).verify(d.body, dict(d.headers)) for d in receiver.deliveries)


def test_pause_that_a_receiver_asks_for_is_kept(acme: Store, receive: Callable[..., Receiver]) -> None:
    receiver = receive(lambda _, number: (429, {"retry-after": "600"}) if number == 1 else (200, {}))
    NoticeSink(acme).emit(started())
    assert (deliver(acme), deliver(acme), len(receiver.deliveries)) == (0, 0, 1)
    held = "SELECT claimed_until > now() + interval '590 seconds', attempts FROM night.notices"
    assert ask(acme, held) == [(True, 1)]
    behind_triggers(acme, "UPDATE night.notices SET claimed_until = now() - interval '1 second'")
    assert (deliver(acme), len(receiver.deliveries)) == (1, 2)


def test_message_that_always_fails_holds_up_no_other(acme: Store, receive: Callable[..., Receiver]) -> None:
    receiver = receive(lambda delivery, _: (500 if delivery.content["resource_id"] == "item-0" else 204, {}))
    NoticeSink(acme).record([decided(number) for number in range(4)])
    assert deliver(acme) == 3
    assert [d.content["resource_id"] for d in receiver.deliveries] == [f"item-{n}" for n in range(4)]
    assert ask(acme, PENDING) == [(1,)]


def test_endpoint_that_only_fails_is_left_alone_after_five_answers(
    acme: Store, receive: Callable[..., Receiver]
) -> None:
    receiver = receive(lambda *_: (502, {}))
    NoticeSink(acme).record([decided(number) for number in range(20)])
    assert (deliver(acme), len(receiver.deliveries)) == (0, 5)
    assert ask(acme, PENDING) == [(20,)]


def test_unreachable_endpoint_loses_nothing_and_gets_all_in_order_once_it_answers(
    acme: Store, receive: Callable[..., Receiver], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log and the ledger show no more of the address than its host."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("SLOWWAVE_WEBHOOK_URL", f"http://user:pass@127.0.0.1:{port}/secret-path")
    monkeypatch.setenv("SLOWWAVE_WEBHOOK_SECRET", SECRET)
    sink = NoticeSink(acme, closing_seconds=0.6)
    with caplog.at_level(logging.DEBUG):
        sink.record([started(), decided(), ended()])
        sink.close()
    assert "has not accepted 3 messages of this run" in caplog.text
    (found,) = diagnose_notices(acme)
    assert "3 messages about events of runs: pending. http://127.0.0.1" in found.finding
    assert "did not answer" in found.finding
    assert "slowwave runs deliver" in found.remedy
    shown = caplog.text + found.finding + str(ask(acme, "SELECT error FROM night.notices"))
    assert ("secret-path" in shown, "pass@" in shown) == (False, False)
    receiver = receive(port=port)
    assert deliver(acme) == 3
    assert receiver.types == ["dream.run.started", "dream.op.decided", "dream.run.completed"]
    assert diagnose_notices(acme) == []


@pytest.mark.parametrize("status", [302, 401, 404])
def test_refused_message_is_given_up(acme: Store, receive: Callable[..., Receiver], status: int) -> None:
    """A redirect could lead anywhere and is not followed."""
    receiver = receive(lambda *_: (status, {"location": "http://127.0.0.1:1/elsewhere"}))
    lost: list[tuple[str, str]] = []
    sink = NoticeSink(acme, failed=lambda *what: lost.append(what))
    sink.emit(decided(text="Ilse"))
    sink.close()
    assert (len(receiver.deliveries), lost) == (1, [("webhook", "delivery")])
    assert ask(acme, "SELECT body, given_up_at IS NOT NULL FROM night.notices") == [("", True)]
    assert "given up" in diagnose_notices(acme)[0].finding


def test_endpoint_that_is_gone_gets_nothing_more(acme: Store, receive: Callable[..., Receiver]) -> None:
    receiver = receive(lambda *_: (410, {}))
    NoticeSink(acme).record([decided(number) for number in range(20)])
    assert (deliver(acme, seconds=5), len(receiver.deliveries)) == (0, 1)
    assert ask(acme, GIVEN_UP) == [(20,)]


def test_message_that_failed_for_a_week_is_given_up_at_the_next_failure(
    acme: Store, receive: Callable[..., Receiver]
) -> None:
    receive().close()
    NoticeSink(acme).record([started(), ended()])
    aged = "UPDATE night.notices SET recorded_at = now() - interval '8 days' WHERE type = 'dream.run.started'"
    behind_triggers(acme, aged)
    assert deliver(acme) == 0
    assert (ask(acme, GIVEN_UP), ask(acme, PENDING)) == ([(1,)], [(1,)])


def test_messages_of_a_transaction_are_those_that_it_committed(acme: Store) -> None:
    """A batch that is rolled back has no message."""
    stream = Stream(RUN, "acme", (NoticeSink(acme),))
    with acme.connect("applier") as connection:
        with connection.transaction(force_rollback=True):
            stream.record(connection, [decided(1)])
        with connection.transaction():
            stream.record(connection, [decided(2)])
    stream.emit(decided(2), recorded=True)
    ((body,),) = ask(acme, "SELECT body FROM night.notices")
    assert json.loads(str(body))["resource_id"] == "item-2"


def test_apply_and_undo_send_one_message_for_the_committed_status_of_each_item(
    store: Store, receive: Callable[..., Receiver], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One item fails in the database: its batch is rolled back and tried item by item, and still each item has one message."""
    receiver = receive()
    monkeypatch.setenv("SLOWWAVE_REPORT_EVENT_SINK_ENABLED", "true")
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    bad = next(i for i in plan.items if i.operation == "archive_stale")
    with store.connect("owner") as connection:
        row = bad.mutation.row_ids()[0]
        check = f"ALTER TABLE memory.memories ADD CONSTRAINT stays CHECK (id <> '{row}' OR state = 'active') NOT VALID"
        connection.execute(check.encode())
    approval = approve(
        store, world.slug, plan.plan_hash, approver="mara", include_review=True, force=True, note="a test"
    )
    run = apply_approval(store, approval.id)
    sent = [d.content["data"] for d in receiver.deliveries if d.content["type"] == "dream.op.decided"]
    stored = ask(store, "SELECT item_id::text, status FROM night.plan_items")
    assert sorted((one["op_id"], one["status"]) for one in sent) == sorted(stored)  # type: ignore[type-var]
    assert ("failed" in {one["status"] for one in sent}, run.counts["failed"]) == (True, 1)
    assert receiver.types[-1] == "dream.run.completed"
    receiver.deliveries.clear()
    undone = undo_run(store, run.run_id)
    assert receiver.types.count("dream.op.decided") == len(undone.items)
    assert ask(store, PENDING) == [(0,)]


def test_text_leaves_as_the_namespace_allows_when_it_is_sent(acme: Store, receive: Callable[..., Receiver]) -> None:
    """Hidden after the message was written, the text does not leave; erased, no message about it does."""
    receiver = receive()
    sink = NoticeSink(acme, level="none")
    sink.emit(decided(1, text="Ilse moved"))
    behind_triggers(acme, 'UPDATE memory.namespaces SET settings = \'{"redact_text": "all"}\'')
    assert deliver(acme) == 1
    assert b"Ilse" not in receiver.deliveries[0].body
    assert receiver.deliveries[0].content["data"]["outputs"] == {"evidence": {"names": [None]}}
    sink.record([started(), decided(2, text="Ilse moved")])
    with acme.connect("owner") as connection:
        connection.execute("ALTER TABLE memory.erasures DISABLE TRIGGER erase")
        connection.execute(
            "INSERT INTO memory.erasures (id, namespace_id, table_name, row_id, recorded_by) "
            "SELECT gen_random_uuid(), id, 'memories', gen_random_uuid(), gen_random_uuid() FROM memory.namespaces"
        )
    assert deliver(acme) == 1
    assert receiver.types == ["dream.op.decided", "dream.run.started"]
    assert ask(acme, "SELECT count(*) FROM night.notices WHERE body LIKE '%%Ilse%%'") == [(0,)]


def test_endpoint_that_cannot_be_used_leaves_messages_pending(
    acme: Store, receive: Callable[..., Receiver], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    receive()
    NoticeSink(acme).emit(started())
    monkeypatch.delenv("SLOWWAVE_WEBHOOK_SECRET")
    assert deliver(acme) == 0
    assert "SLOWWAVE_WEBHOOK_SECRET is not set" in caplog.text
    monkeypatch.delenv("SLOWWAVE_WEBHOOK_URL")
    assert deliver(acme) == 0
    assert "Set SLOWWAVE_WEBHOOK_URL" in diagnose_notices(acme)[0].remedy
    assert ask(acme, PENDING) == [(1,)]


@pytest.mark.parametrize(
    "secret", ["", "hunter2", "whsec_", "whsec_c2hvcnQ=", "whsec_not base64 at all", SECRET.removeprefix("whsec_")]
)
def test_secret_that_no_library_could_use_is_refused_and_not_repeated(secret: str) -> None:
    with pytest.raises(SettingsError) as refused:
        endpoint("dream", {"SLOWWAVE_WEBHOOK_URL": "https://hooks.example/x", "SLOWWAVE_WEBHOOK_SECRET": secret})
    assert "openssl rand" in str(refused.value)
    assert secret in ("", "whsec_") or secret not in str(refused.value)


def test_endpoint_comes_from_the_environment_and_shows_no_more_than_its_host() -> None:
    """Without the variable there is none; two secrets sign each message twice; the status page has an address of its own or the events'."""
    assert endpoint("dream", {}) is None
    other = "whsec_" + base64.b64encode(bytes(24)).decode()
    environment = {
        "SLOWWAVE_WEBHOOK_URL": "https://u:p@hooks.example:8443/T0KEN?k=v",
        "SLOWWAVE_WEBHOOK_SECRET": f"{SECRET} {other}",
    }
    found = endpoint("dream", environment)
    assert found is not None
    assert found.keys == (KEY, bytes(24))
    assert repr(found) == "Address(https://hooks.example:8443)"
    assert endpoint("status", environment) == found
    assert endpoint("store", environment) is None
    other_page = endpoint("status", environment | {"SLOWWAVE_DIGEST_URL": "https://pages.example"})
    assert other_page is not None
    assert other_page.shown() == "https://pages.example"
    with pytest.raises(SettingsError, match="SLOWWAVE_NOTIFY_URL is no http"):
        endpoint("store", {"SLOWWAVE_NOTIFY_URL": "file:///etc/passwd", "SLOWWAVE_WEBHOOK_SECRET": SECRET})


def test_old_notices_are_removed_by_retention_and_all_with_their_namespace(acme: Store) -> None:
    NoticeSink(acme).record([started(), ended()])
    aged = "UPDATE night.notices SET recorded_at = now() - interval '31 days' WHERE type = 'dream.run.started'"
    behind_triggers(acme, aged)
    assert retain(acme, "acme", Settings())["notices"] == 1
    assert ask(acme, "SELECT type FROM night.notices") == [("dream.run.completed",)]
    assert remove_namespace(acme, "acme").kept == {}
    assert ask(acme, "SELECT count(*) FROM night.notices") == [(0,)]


def test_deliver_command_sends_pending_messages_and_names_what_is_left(
    acme: Store, receive: Callable[..., Receiver], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", acme.owner)
    receiver = receive(lambda _, number: (204 if number == 1 else 401, {}))
    NoticeSink(acme).record([started(), ended()])
    monkeypatch.setattr("sys.argv", ["slowwave", "runs", "deliver"])
    with pytest.raises(SystemExit, match="0"):
        main()
    shown = capsys.readouterr()
    assert "Sent 1 message." in shown.out
    assert "1 message about events of runs: given up" in " ".join(shown.err.split())
    assert receiver.types == ["dream.run.started", "dream.run.completed"]
