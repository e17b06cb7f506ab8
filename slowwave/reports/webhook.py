"""The webhook: every event of a run as a signed message to one address, as the Standard Webhooks specification has it.

Address and secret are of the operator's environment alone. Whoever may write a namespace's settings decides at most that
nothing is sent. A receiver verifies a message in five lines::

    def verified(headers, body: bytes, secret: str, tolerance: int = 300) -> bool:
        key = base64.b64decode(secret.removeprefix("whsec_"))
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        right = "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
        fresh = abs(time.time() - int(headers["webhook-timestamp"])) <= tolerance
        return fresh and any(hmac.compare_digest(right, s) for s in headers["webhook-signature"].split())
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import logging
import os
import random
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import httpx

from slowwave.errors import SettingsError
from slowwave.reports.events import (
    Event,
    LlmCalled,
    LlmThrottled,
    OperationEvent,
    PhaseCompleted,
    PhaseStarted,
    RunCompleted,
    RunFailed,
    RunStarted,
)
from slowwave.reports.outbox import THREAD, Deadline, Outbox

URL: Final = "SLOWWAVE_WEBHOOK_URL"
SECRET: Final = "SLOWWAVE_WEBHOOK_SECRET"  # noqa: S105 - the variable's name

TYPES: Final[Mapping[type[Event], str]] = {
    RunStarted: "dream.run.started",
    PhaseStarted: "dream.phase.started",
    OperationEvent: "dream.op.decided",
    LlmCalled: "dream.llm.called",
    LlmThrottled: "dream.llm.throttled",
    PhaseCompleted: "dream.phase.completed",
    RunCompleted: "dream.run.completed",
    RunFailed: "dream.run.failed",
}
"""Event → its type in a message (khora 12.2)."""

_VITAL: Final = (RunStarted, PhaseStarted, PhaseCompleted, RunCompleted, RunFailed)
_LOG: Final = logging.getLogger(__name__)
_ATTEMPTS: Final = 6  # of one message that the receiver answers, but does not take
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 30.0
_ANSWER: Final = 64 * 1024  # bytes of an answer that are read, so that the connection can be used again
_SHORTEST_KEY, _LONGEST_KEY = 24, 64  # bytes, as the specification says

Outcome = Literal["taken", "again", "unreachable", "refused", "gone"]

_SAID: Final[Mapping[Outcome, str]] = {
    "again": "answers too late or with an error: a message is tried again",
    "unreachable": "cannot be reached: messages wait until the run is over",
    "refused": "refused a message (a redirect, or a status of 4xx): it is lost",
    "gone": "is gone (410): nothing more is sent",
}


@dataclass(frozen=True, slots=True)
class Address:
    """Where messages go and the keys that sign them. Neither is ever shown whole: an address may hold a token in its path."""

    url: str
    keys: tuple[bytes, ...]

    def __repr__(self) -> str:
        return f"Address({self.shown()})"

    def shown(self) -> str:
        """Scheme, host and port."""
        url = httpx.URL(self.url)
        return f"{url.scheme}://{url.host}" + (f":{url.port}" if url.port else "")


def address(environment: Mapping[str, str] = os.environ) -> Address | None:
    """The webhook of the environment, or None without ``SLOWWAVE_WEBHOOK_URL``. Raises ``SettingsError`` for one that cannot be used.

    ``SLOWWAVE_WEBHOOK_SECRET`` holds ``whsec_`` and base64 of 24 to 64 bytes; two of them, separated by a space, sign each message twice
    while a receiver changes from one to the other.
    """
    text = environment.get(URL, "").strip()
    if not text:
        return None
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host:
        raise SettingsError(
            f"{URL} is no http(s) address, so no webhook is sent. It reads like https://example.org/hook."
        )
    keys = tuple(key for secret in environment.get(SECRET, "").split() if (key := _key(secret)) is not None)
    if not keys or len(keys) != len(environment.get(SECRET, "").split()):
        raise SettingsError(
            f"{SECRET} is {'not what it must be' if environment.get(SECRET) else 'not set'}, so no webhook is sent: nobody could tell "
            "who sent it. It is whsec_ followed by 24 to 64 random bytes in base64; `openssl rand -base64 32` makes them."
        )
    return Address(text, keys)


def sign(keys: Sequence[bytes], message_id: str, timestamp: int, body: bytes) -> str:
    """The header ``webhook-signature``: HMAC-SHA256 over id, timestamp and body joined by full stops, one a key."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    return " ".join("v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode() for key in keys)


def message(event: Event) -> dict[str, object]:
    """An event as it is sent: the type, the instant, what it is about, the run, and its own fields under ``data``."""
    return {
        "type": TYPES.get(type(event), "dream." + type(event).__name__.lower()),
        "timestamp": event.at.isoformat(),
        "resource_type": "dream",
        "resource_id": event.op_id if isinstance(event, OperationEvent) else event.run_id,
        "correlation_id": event.run_id,
        "data": event.to_json(),
    }


@dataclass(frozen=True, slots=True)
class _Message:
    id: str
    body: bytes


class WebhookSink:
    """Posts one message an event to ``to``, from a thread of its own. Raises nothing for the receiver's faults.

    A receiver that cannot be reached is tried until the sink closes; a message that is answered with 408, 429 or 5xx, or too late,
    six times, after 0.5, 1, 2, … seconds (at most 30) less a random part, or as ``Retry-After`` asks. Any other answer but 2xx loses
    it; redirects are not followed, and after 410 nothing more is sent. ``overflowed`` is called when the outbox, of ``most`` messages,
    drops one, ``undelivered`` when a message is given up. ``closing_seconds`` bound what ``close`` takes.
    """

    name = "webhook"

    def __init__(
        self,
        to: Address,
        *,
        overflowed: Callable[[], None] = lambda: None,
        undelivered: Callable[[], None] = lambda: None,
        most: int = 10_000,
        timeout: float = 15.0,
        closing_seconds: float = 10.0,
        first_pause: float = _FIRST_PAUSE,
    ) -> None:
        self._to = to
        self._undelivered = undelivered
        self._timeout = timeout
        self._closing_seconds = closing_seconds
        self._first_pause = first_pause
        self._gone = self._warned = False
        self._outbox = Outbox[_Message](self._deliver, most=most, dropped=overflowed)
        self._client = httpx.Client(follow_redirects=False)
        logging.getLogger("httpx").addFilter(_no_addresses)

    @property
    def lost(self) -> int:
        """Messages that did not arrive so far."""
        return self._outbox.lost

    def emit(self, event: Event) -> None:
        """Leave an event in the outbox."""
        self.send(message(event), vital=isinstance(event, _VITAL))

    def send(self, content: Mapping[str, object], *, vital: bool = True) -> None:
        """Leave a message in the outbox that is no event of a run; what is not ``vital`` goes first where it is full."""
        body = json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=str)
        self._outbox.put(_Message(f"msg_{uuid.uuid4().hex}", body.encode("utf-8", "replace")), vital=vital)

    def close(self) -> None:
        """Deliver what waits, for a bounded time, and say how many messages were lost."""
        if lost := self._outbox.close(self._closing_seconds):
            _LOG.warning(
                "The webhook at %s did not get %d messages of this run. The run stands.", self._to.shown(), lost
            )
        self._client.close()

    def _deliver(self, content: _Message, patience: Deadline) -> bool:
        answered = attempt = 0
        while not self._gone:
            outcome, wait = self._once(content, patience.left())
            if outcome == "taken":
                return True
            self._warn(outcome)
            attempt += 1
            answered += outcome == "again"
            self._gone = outcome == "gone"
            if outcome in ("refused", "gone") or answered == _ATTEMPTS:
                break
            longest = min(_LONGEST_PAUSE, self._first_pause * 2 ** min(attempt - 1, 10))
            pause = min(wait, _LONGEST_PAUSE) if wait is not None else longest * random.uniform(0.5, 1.0)  # noqa: S311 - jitter
            if not patience.pause(pause):
                break
        self._undelivered()
        return False

    def _once(self, content: _Message, left: float | None) -> tuple[Outcome, float | None]:
        """One attempt, and the seconds that ``Retry-After`` asks for."""
        limit = self._timeout if left is None else max(0.05, min(self._timeout, left))
        until, timestamp, received = time.monotonic() + limit, int(time.time()), 0
        headers = {
            "content-type": "application/json",
            "user-agent": "slowwave",
            "webhook-id": content.id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": sign(self._to.keys, content.id, timestamp, content.body),
        }
        try:
            with self._client.stream(
                "POST",
                self._to.url,
                content=content.body,
                headers=headers,
                timeout=httpx.Timeout(limit, connect=min(limit, 5.0)),
            ) as answer:
                for part in answer.iter_raw():
                    received += len(part)
                    if received > _ANSWER or time.monotonic() > until:
                        break  # the status says all
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError):
            return "unreachable", None
        except (httpx.HTTPError, RuntimeError):  # RuntimeError: the sink was closed meanwhile
            return "again", None
        return _outcome(answer.status_code), _seconds(answer.headers.get("retry-after", ""))

    def _warn(self, outcome: Outcome) -> None:
        """Once a run, in the log: what is wrong with the receiver."""
        if not self._warned:
            self._warned = True
            _LOG.warning("The webhook at %s %s. The run goes on.", self._to.shown(), _SAID[outcome])


def _no_addresses(record: logging.LogRecord) -> bool:
    """httpx logs the address of every request, and ours may hold a token."""
    return record.threadName != THREAD


def _key(secret: str) -> bytes | None:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if secret.startswith("whsec_") and _SHORTEST_KEY <= len(key) <= _LONGEST_KEY else None


def _outcome(status: int) -> Outcome:
    if 200 <= status < 300:
        return "taken"
    if status == 410:
        return "gone"
    return "again" if status in (408, 429) or status >= 500 else "refused"


def _seconds(retry_after: str) -> float | None:
    """What ``Retry-After`` asks; a date or nonsense counts as absent."""
    try:
        asked = float(retry_after or "nan")
    except ValueError:
        return None
    return asked if 0 <= asked < float("inf") else None
