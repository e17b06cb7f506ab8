"""The webhook against a receiver that checks every signature, and against receivers as they are in life."""

from __future__ import annotations

import base64
import hmac
import logging
import re
import socket
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

import pytest

from slowwave.errors import SettingsError
from slowwave.night.delivery import Address, Deadline, WebhookSink, address, sign
from slowwave.night.run_events import LlmCalled, OperationEvent, RunCompleted, RunStarted, Stream
from tests.receivers import Answer, Receiver
from tests.waiting import until

RUN = "00000000-0000-4000-8000-000000000001"
NOW = datetime(2026, 5, 1, 3, 0, tzinfo=UTC)
KEY = bytes(range(32))
SECRET = "whsec_" + base64.b64encode(KEY).decode()


@pytest.fixture
def receive() -> Iterator[Callable[..., Receiver]]:
    """Start a receiver that answers as told."""
    started: list[Receiver] = []

    def start(*answer: Answer) -> Receiver:
        started.append(Receiver(*answer))
        return started[-1]

    yield start
    for receiver in started:
        receiver.close()


def sink(url: str, **options: object) -> WebhookSink:
    return WebhookSink(Address(url, (KEY,)), **{"first_pause": 0.01, "closing_seconds": 5.0, **options})  # type: ignore[arg-type]


def started() -> RunStarted:
    return RunStarted(run_id=RUN, namespace="acme", at=NOW, mode="plan", trigger="manual")


def decided(number: int = 0) -> OperationEvent:
    return OperationEvent(
        run_id=RUN,
        namespace="acme",
        at=NOW,
        op_id=f"item-{number}",
        phase="plan",
        op_type="dedupe_entities",
        decision="merge",
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


def verified(headers: dict[str, str], body: bytes, secret: str, tolerance: int = 300) -> bool:
    """Run the code that the documentation gives to receivers."""
    names: dict[str, object] = {"base64": base64, "hmac": hmac, "time": time}
    page = (Path(__file__).parents[2] / "docs" / "telemetry.md").read_text()
    code = re.search(r"^(def verified.*?split\(\)\))\n", page, re.DOTALL | re.MULTILINE)
    assert code is not None
    exec(code[1], names)  # noqa: S102 - our own five lines
    check = names["verified"]
    assert callable(check)
    return bool(check(headers, body, secret, tolerance))


def test_every_event_of_a_run_arrives_once_in_order_and_signed(receive: Callable[..., Receiver]) -> None:
    """A run's seven kinds of event; the receiver verifies each and finds the run and the operation by id."""
    receiver = receive()
    to = sink(receiver.url + "/hook")
    stream = Stream(RUN, "acme", (to,))
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
    assert (to.lost, stream.failures) == (0, {})
    assert len({d.headers["webhook-id"] for d in receiver.deliveries}) == 7
    for delivery in receiver.deliveries:
        assert delivery.path == "/hook"
        assert verified(dict(delivery.headers), delivery.body, SECRET)
        assert not verified(dict(delivery.headers), delivery.body + b" ", SECRET), "a changed body is noticed"
        assert not verified(dict(delivery.headers), delivery.body, SECRET, -1), "an old message is noticed"
        content = delivery.content
        assert (content["resource_type"], content["correlation_id"]) == ("dream", RUN)
    operation = receiver.deliveries[2].content
    assert operation["resource_id"] == "item-0"
    assert (operation["data"]["op_type"], operation["data"]["decision"]) == ("dedupe_entities", "merge")
    assert receiver.deliveries[0].content["resource_id"] == RUN
    assert b"text of a memory" not in b"".join(d.body for d in receiver.deliveries)


def test_the_signature_is_that_of_the_specification() -> None:
    """Golden: the test vector that the reference libraries share."""
    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    body = b'{"test": 2432232314}'
    expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert sign((key,), "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body) == expected
    assert sign((KEY, key), "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body).split()[1] == expected


def test_a_receiver_that_fails_twice_gets_the_same_message_a_third_time(receive: Callable[..., Receiver]) -> None:
    """Retries keep the id, so that a receiver can tell a repetition; each is signed for its own instant, and waits longer."""
    receiver = receive(lambda _, number: (503 if number == 1 else 429 if number == 2 else 200, {}))
    lost: list[int] = []
    to = sink(receiver.url, undelivered=lambda: lost.append(1))
    to.emit(started())
    to.close()
    assert receiver.types == ["dream.run.started"] * 3
    assert len({d.headers["webhook-id"] for d in receiver.deliveries}) == 1
    assert all(verified(dict(d.headers), d.body, SECRET) for d in receiver.deliveries)
    assert (to.lost, lost) == (0, [])


def test_the_pause_that_a_receiver_asks_for_is_kept(
    receive: Callable[..., Receiver], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``Retry-After`` goes before our own pauses."""
    receiver = receive(lambda _, number: (429, {"retry-after": "0.4"}) if number == 1 else (200, {}))
    pauses: list[float] = []
    monkeypatch.setattr(Deadline, "pause", lambda _, seconds: pauses.append(seconds) or True)
    to = sink(receiver.url)
    to.emit(started())
    until(lambda: len(receiver.deliveries) == 2)
    to.close()
    assert pauses == [0.4]
    assert to.lost == 0


def test_the_run_does_not_wait_on_a_slow_receiver(receive: Callable[..., Receiver]) -> None:
    """A receiver that answers nothing before all is told, and then takes half a second a message: closing takes what was agreed,
    and the last things to arrive are the ones that matter."""
    told, never = Event(), Event()

    def slow(*_: object) -> tuple[int, dict[str, str]]:
        assert told.wait(120)
        never.wait(0.5)
        return 200, {}

    receiver = receive(slow)
    to = sink(receiver.url, closing_seconds=6.0)
    to.emit(started())
    for number in range(200):
        to.emit(decided(number))
    to.emit(ended())
    told.set()
    to.close()
    assert to.lost > 100
    assert receiver.types[0] == "dream.run.started"
    assert receiver.types[-1] == "dream.run.completed"
    assert to.lost - (202 - len(receiver.deliveries)) in (0, 1), "one whose answer came too late counts as lost"


def test_an_absent_receiver_costs_the_run_a_bounded_time(caplog: pytest.LogCaptureFixture) -> None:
    """Nobody listens: the run is told so once, in words without the address's path, and how many messages were lost."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    lost: list[int] = []
    to = sink(f"http://user:pass@127.0.0.1:{port}/secret-path", closing_seconds=0.6, undelivered=lambda: lost.append(1))
    with caplog.at_level(logging.DEBUG):
        to.emit(started())
        to.emit(decided())
        to.emit(ended())
        to.close()
    assert to.lost == 3
    assert lost
    warnings = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert [w for w in warnings if "did not get 3 messages" in w], warnings
    assert "secret-path" not in caplog.text
    assert "pass@" not in caplog.text


def test_a_receiver_that_comes_back_gets_what_was_kept_for_it(
    receive: Callable[..., Receiver], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A receiver restarts while an apply goes on: nothing is given up for being unreachable."""
    pause = Deadline.pause
    receiver = receive()
    port = receiver.server.server_address[1]
    receiver.close()
    pauses: list[float] = []
    monkeypatch.setattr(Deadline, "pause", lambda self, seconds: pauses.append(seconds) or pause(self, seconds))
    to = sink(receiver.url)
    to.emit(started())
    until(lambda: pauses)
    again = Receiver(port=int(port))
    to.emit(ended())
    to.close()
    again.close()
    assert again.types == ["dream.run.started", "dream.run.completed"]
    assert to.lost == 0


@pytest.mark.parametrize(("status", "attempts"), [(302, 1), (401, 1), (404, 1), (500, 6)])
def test_an_answer_that_will_not_change_is_not_asked_for_again(
    receive: Callable[..., Receiver], status: int, attempts: int
) -> None:
    """A redirect could lead anywhere and is not followed; a refusal stands; a broken server is asked six times for one message."""
    receiver = receive(lambda *_: (status, {"location": "http://127.0.0.1:1/elsewhere"}))
    to = sink(receiver.url, first_pause=0.001)
    to.emit(decided())
    until(lambda: to.lost)
    assert len(receiver.deliveries) == attempts
    to.close()
    assert (to.lost, len(receiver.deliveries)) == (1, attempts)


def test_a_receiver_that_is_gone_is_left_alone(receive: Callable[..., Receiver]) -> None:
    """410 says: no more of this."""
    receiver = receive(lambda *_: (410, {}))
    to = sink(receiver.url)
    for number in range(20):
        to.emit(decided(number))
    to.close()
    assert (len(receiver.deliveries), to.lost) == (1, 20)


def test_the_outbox_is_bounded_and_gives_up_the_oldest_decision_first(receive: Callable[..., Receiver]) -> None:
    """Ten places, thirty decisions while the receiver is busy: that the run began and ended is not what is dropped."""
    told = Event()

    def stalls(*_: object) -> tuple[int, dict[str, str]]:
        assert told.wait(120)
        return 200, {}

    receiver = receive(stalls)
    dropped: list[int] = []
    to = sink(receiver.url, most=10, overflowed=lambda: dropped.append(1))
    to.emit(decided(999))
    until(lambda: receiver.deliveries)
    to.emit(started())
    for number in range(30):
        to.emit(decided(number))
    to.emit(ended())
    told.set()
    to.close()
    assert len(dropped) == to.lost == 22
    kept = [d.content["resource_id"] for d in receiver.deliveries]
    assert kept == ["item-999", RUN, *(f"item-{n}" for n in range(22, 30)), RUN]


@pytest.mark.parametrize(
    "secret", ["", "hunter2", "whsec_", "whsec_c2hvcnQ=", "whsec_not base64 at all", SECRET.removeprefix("whsec_")]
)
def test_nothing_is_sent_unsigned(secret: str) -> None:
    """A secret that a standard library could not use is refused, in a sentence that does not repeat it."""
    with pytest.raises(SettingsError) as refused:
        address({"SLOWWAVE_WEBHOOK_URL": "https://hooks.example/x", "SLOWWAVE_WEBHOOK_SECRET": secret})
    assert "openssl rand" in str(refused.value)
    assert secret in ("", "whsec_") or secret not in str(refused.value)


def test_the_address_comes_from_the_environment_and_shows_no_more_than_its_host(tmp_path: Path) -> None:
    """Without the variable there is no webhook; with two secrets each message carries both signatures."""
    assert address({}) is None
    other = "whsec_" + base64.b64encode(bytes(24)).decode()
    found = address(
        {
            "SLOWWAVE_WEBHOOK_URL": "https://u:p@hooks.example:8443/T0KEN?k=v",
            "SLOWWAVE_WEBHOOK_SECRET": f"{SECRET} {other}",
        }
    )
    assert found is not None
    assert found.keys == (KEY, bytes(24))
    assert found.shown() == "https://hooks.example:8443"
    assert repr(found) == "Address(https://hooks.example:8443)"
    with pytest.raises(SettingsError, match="no http"):
        address({"SLOWWAVE_WEBHOOK_URL": "file:///etc/passwd", "SLOWWAVE_WEBHOOK_SECRET": SECRET})
