"""Deliver events and notices of writes to other systems: signed webhooks, in memory or from the ledger."""

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
from collections import deque
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition, Thread
from threading import Event as ThreadEvent
from typing import Final, Generic, Literal, TypeVar

import httpx

from slowwave.bindings.binding import Notify
from slowwave.bindings.stores import connected_store
from slowwave.errors import SettingsError
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
)
from slowwave.store.connect import Store
from slowwave.store.doctor import Diagnosis
from slowwave.store.logins import Connection

# The outbox: a bounded queue that one thread empties, so that a run never waits for a receiver.
#
# How a message is sent, and what a failure means, belongs to the sinks that own an outbox.

T = TypeVar("T")

THREAD: Final = "slowwave-outbox"
"""The name of the thread that sends."""

_RUSH: Final = 0.5  # share of the closing time after which only what is vital is still sent


class Deadline:
    """The time left to send one message: unlimited until the outbox closes."""

    def __init__(self, closing: ThreadEvent, until: Callable[[], float]) -> None:
        self._closing = closing
        self._until = until

    def left(self) -> float | None:
        """Return the seconds left; None until the outbox closes."""
        return max(0.0, self._until() - time.monotonic()) if self._closing.is_set() else None

    def pause(self, seconds: float) -> bool:
        """Wait for so many seconds, or less if the outbox closes meanwhile; return False when the time is up."""
        left = self.left()
        if left is None:
            self._closing.wait(seconds)
            return True
        time.sleep(min(seconds, left))
        return left > seconds


@dataclass(frozen=True, slots=True)
class _Letter(Generic[T]):
    content: T
    vital: bool


class Outbox(Generic[T]):
    """A queue whose messages a thread passes to ``send``, one at a time and oldest first; ``send`` returns False for a loss.

    When ``most`` messages are queued, the oldest is dropped, ``dropped`` is called, and it counts as lost. Vital messages (a run began, a
    run ended) are dropped last. If closing leaves too little time for all messages, the second half of that time is for the vital ones.
    """

    def __init__(
        self,
        send: Callable[[T, Deadline], bool],
        *,
        most: int = 10_000,
        dropped: Callable[[], None] = lambda: None,
    ) -> None:
        self._send = send
        self._most = most
        self._dropped = dropped
        self._waiting: deque[_Letter[T]] = deque()
        self._changed = Condition()
        self._closing = ThreadEvent()
        self._rush = self._end = 0.0  # instants of time.monotonic, known once it closes
        self._worker: Thread | None = None
        self._busy = False
        self.lost = 0

    def put(self, content: T, *, vital: bool = False) -> None:
        """Queue a message without ever waiting.

        After ``close`` the message is lost.
        """
        with self._changed:
            if self._closing.is_set():
                self.lost += 1
                return
            if full := len(self._waiting) >= self._most:
                self._drop_oldest()
            self._waiting.append(_Letter(content, vital))
            if self._worker is None:
                self._worker = Thread(target=self._work, name=THREAD, daemon=True)
                self._worker.start()
            self._changed.notify()
        if full:
            self._dropped()

    def close(self, seconds: float) -> int:
        """Send the queued messages for at most so many seconds; return how many were lost in all.

        Closing twice changes nothing.
        """
        now = time.monotonic()
        with self._changed:
            if not self._closing.is_set():
                self._rush, self._end = now + seconds * _RUSH, now + seconds
                self._closing.set()
                self._changed.notify_all()
        if self._worker is not None:
            self._worker.join(max(0.0, self._end - time.monotonic()) + 0.05)
        with self._changed:
            self.lost += len(self._waiting) + self._busy
            self._waiting.clear()
            self._busy = False
            return self.lost

    def _drop_oldest(self) -> None:
        index = next((i for i, letter in enumerate(self._waiting) if not letter.vital), 0)
        del self._waiting[index]
        self.lost += 1

    def _work(self) -> None:
        while (letter := self._next()) is not None:
            vital = letter.vital
            patience = Deadline(self._closing, lambda vital=vital: self._end if vital else self._rush)
            arrived = self._send(letter.content, patience)
            with self._changed:
                if self._busy:  # otherwise closing has abandoned it
                    self._busy = False
                    self.lost += not arrived

    def _next(self) -> _Letter[T] | None:
        """Wait for the oldest message and take it from the queue; return None if all are sent or the time is up."""
        with self._changed:
            while not self._waiting and not self._closing.is_set():
                self._changed.wait()
            now = time.monotonic()
            if self._closing.is_set() and now >= self._rush:
                vital = [letter for letter in self._waiting if letter.vital]
                self.lost += len(self._waiting) - len(vital)
                self._waiting = deque(vital)
            if not self._waiting or (self._closing.is_set() and now >= self._end):
                return None
            self._busy = True
            return self._waiting.popleft()


# The webhook: every event of a run as a signed message to one address, according to the Standard Webhooks specification.
#
# Address and secret come only from the operator's environment. A user who may write a namespace's settings can at most prevent
# that anything is sent. A receiver verifies a message in five lines::
#
#     def verified(headers, body: bytes, secret: str, tolerance: int = 300) -> bool:
#         key = base64.b64decode(secret.removeprefix("whsec_"))
#         signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
#         right = "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
#         fresh = abs(time.time() - int(headers["webhook-timestamp"])) <= tolerance
#         return fresh and any(hmac.compare_digest(right, s) for s in headers["webhook-signature"].split())

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
    """The address that messages are sent to, and the keys that sign them.

    Neither is ever shown in full, because the path of an address may hold a token.
    """

    url: str
    keys: tuple[bytes, ...]

    def __repr__(self) -> str:
        return f"Address({self.shown()})"

    def shown(self) -> str:
        """Return scheme, host and port."""
        url = httpx.URL(self.url)
        return f"{url.scheme}://{url.host}" + (f":{url.port}" if url.port else "")


def address(environment: Mapping[str, str] = os.environ) -> Address | None:
    """Return the webhook of the environment, or None without ``SLOWWAVE_WEBHOOK_URL``.

    Raises ``SettingsError`` if the webhook cannot be used. ``SLOWWAVE_WEBHOOK_SECRET`` holds ``whsec_`` and the base64 of 24 to 64 bytes.
    Two secrets, separated by a space, sign each message twice while a receiver changes from one to the other.
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
    """Return the ``webhook-signature`` header: for each key, an HMAC-SHA256 over id, timestamp and body joined by full stops."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    return " ".join("v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode() for key in keys)


def message(event: Event) -> dict[str, object]:
    """Build the message for an event: the type, the instant, the resource, the run, and its own fields under ``data``."""
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
    """A sink that posts one message per event to ``to`` in a separate thread, and raises nothing for the receiver's faults.

    A receiver that cannot be reached is retried until the sink closes. A message that is answered with 408, 429 or 5xx, or too late, is
    tried six times, after 0.5, 1, 2, … seconds (at most 30) less a random part, or as ``Retry-After`` asks. Any other answer than 2xx
    loses the message; redirects are not followed, and after 410 nothing more is sent. ``overflowed`` is called when the outbox, which
    holds ``most`` messages, drops one, and ``undelivered`` when a message is given up. ``close`` takes at most ``closing_seconds``.
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
        """Return the number of messages that have not arrived so far."""
        return self._outbox.lost

    def emit(self, event: Event) -> None:
        """Queue an event in the outbox."""
        self.send(message(event), vital=isinstance(event, _VITAL))

    def send(self, content: Mapping[str, object], *, vital: bool = True) -> None:
        """Queue a message that is no event of a run.

        If the outbox is full, messages that are not ``vital`` are dropped first.
        """
        body = json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=str)
        self._outbox.put(_Message(f"msg_{uuid.uuid4().hex}", body.encode("utf-8", "replace")), vital=vital)

    def close(self) -> None:
        """Deliver the queued messages for a limited time, and return how many were lost."""
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
        """Make one attempt; return its result and the seconds that ``Retry-After`` asks for."""
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
                        break  # the status is sufficient
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError):
            return "unreachable", None
        except (httpx.HTTPError, RuntimeError):  # RuntimeError: the sink was closed meanwhile
            return "again", None
        return _outcome(answer.status_code), _seconds(answer.headers.get("retry-after", ""))

    def _warn(self, outcome: Outcome) -> None:
        """Log a problem of the receiver, once per run."""
        if not self._warned:
            self._warned = True
            _LOG.warning("The webhook at %s %s. The run goes on.", self._to.shown(), _SAID[outcome])


def _no_addresses(record: logging.LogRecord) -> bool:
    """Return whether to log a record: not in the sink's thread, because httpx logs every address, and ours may hold a token."""
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
    """Return the seconds that ``Retry-After`` asks for; None for a date or an invalid value."""
    try:
        asked = float(retry_after or "nan")
    except ValueError:
        return None
    return asked if 0 <= asked < float("inf") else None


# Notices of what was written to a connected store, for data derived from it: a cache, an index, a compiled prompt.
#
# A binding enables them (``notify``). A notice is created in the transaction of the batch, so there is one for everything that was
# committed and for nothing else. Listeners of its channel get it with the commit. The address of ``SLOWWAVE_NOTIFY_URL`` gets it
# afterwards, signed as webhooks are, at least once and under one id, and again later if it did not answer. The receiver reads the rows and
# is never asked to write them.

URL_NOTICES: Final = "SLOWWAVE_NOTIFY_URL"
PATIENCE_DAYS: Final = 7
"""Days for which a notice is retried."""

_SECONDS: Final = 5.0
_MOST: Final = 500
_BATCH: Final = 50
_CLAIM_SECONDS: Final = 120
_POSTING_SECONDS: Final = 60.0
"""Seconds of a claim in which posts may start: the rest is for the last post, each step of which may take ``_SECONDS``."""

_NOTE: Final = """
INSERT INTO night.notices (id, namespace_id, store, run_id, undo, tables)
SELECT gen_random_uuid(), %(namespace)s, %(store)s, %(run)s, %(undo)s, jsonb_object_agg(t.table_name, t.keys)
FROM (SELECT j.table_name, jsonb_agg(DISTINCT j.row_key::jsonb) AS keys FROM night.journal j
  WHERE j.run_id = %(run)s AND j.item_id = ANY(%(items)s::uuid[]) AND j.table_name LIKE '%%.%%' AND j.table_name <> 'night.overlay'
  GROUP BY 1) t
HAVING count(*) > 0
RETURNING id::text
"""
_TELL: Final = "SELECT pg_notify(%s, %s)"
_CLAIM: Final = """
WITH claimed AS (
  UPDATE night.notices SET claim = %(claim)s, claimed_until = clock_timestamp() + make_interval(secs => %(seconds)s)
  WHERE id IN (SELECT id FROM night.notices WHERE delivered_at IS NULL AND given_up_at IS NULL
    AND (claimed_until IS NULL OR claimed_until < clock_timestamp()) ORDER BY recorded_at, id LIMIT %(most)s FOR UPDATE SKIP LOCKED)
  RETURNING *)
SELECT o.id::text, o.store, n.slug, o.run_id::text, o.undo, o.tables, o.recorded_at::text,
  o.recorded_at < now() - make_interval(days => %(days)s)
FROM claimed o JOIN memory.namespaces n ON n.id = o.namespace_id ORDER BY o.recorded_at, o.id
"""
_RELEASE: Final = "UPDATE night.notices SET claim = NULL, claimed_until = NULL WHERE claim = %s"
_DELIVERED: Final = "UPDATE night.notices SET delivered_at = now(), attempts = attempts + 1, error = '' WHERE id = %s"
_FAILED: Final = """
UPDATE night.notices SET attempts = attempts + 1, error = %s, given_up_at = CASE WHEN %s THEN now() END
WHERE id = %s AND claim = %s AND delivered_at IS NULL
"""
_LEFT: Final = """
SELECT store, count(*) FILTER (WHERE given_up_at IS NULL), count(*) FILTER (WHERE given_up_at > now() - interval '30 days'), max(error)
FROM night.notices WHERE delivered_at IS NULL GROUP BY 1 ORDER BY 1
"""


def notifier_of(connection: Connection, namespace_id: str) -> tuple[str, Notify] | None:
    """Return the name of the namespace's connected store and who is notified of writes to it; None if no one is."""
    found = connected_store(connection, namespace_id)
    if found is None or found[0].binding.notify is None:
        return None
    return found[0].name, found[0].binding.notify


def note(
    connection: Connection,
    of: tuple[str, Notify],
    namespace_id: str,
    run_id: str,
    items: Collection[str],
    *,
    undo: bool = False,
) -> None:
    """Note which rows of a store some items of a run wrote, in the transaction that journalled them."""
    store, to = of
    parameters = {"namespace": namespace_id, "store": store, "run": run_id, "undo": undo, "items": list(items)}
    made = connection.execute(_NOTE, parameters).fetchone()
    if made is None:
        return
    if to.channel:
        payload = {"id": str(made[0]), "store": store, "namespace_id": namespace_id, "run_id": run_id, "undo": undo}
        connection.execute(_TELL, (to.channel, json.dumps(payload)))
    if not to.hook:
        connection.execute(_DELIVERED, (made[0],))


def deliver(store: Store, environment: Mapping[str, str] = os.environ) -> int:
    """Send the pending notices, oldest first, and return how many arrived.

    The first notice that does not arrive leaves the rest for the next call. Nothing is raised, because the rows are already written. A
    notice that was refused, or is older than a week, is given up.
    """
    try:
        to = hook(environment)
    except SettingsError as problem:
        _LOG.warning("Notices wait: %s", problem)
        return 0
    if to is None:
        return 0
    arrived = 0
    with _without_addresses(), store.connect("applier") as connection, httpx.Client() as client:
        for _ in range(_MOST // _BATCH):
            came, goes_on = _deliver_batch(connection, client, to)
            arrived += came
            if not goes_on:
                break
    return arrived


def _deliver_batch(connection: Connection, client: httpx.Client, to: Address) -> tuple[int, bool]:
    """Claim the oldest unclaimed notices and send them; return how many arrived, and whether to go on with the next batch."""
    claim, until = uuid.uuid4(), time.monotonic() + _POSTING_SECONDS
    asked = {"claim": claim, "seconds": _CLAIM_SECONDS, "most": _BATCH, "days": PATIENCE_DAYS}
    batch = connection.execute(_CLAIM, asked).fetchall()
    arrived = 0
    try:
        for id_, of, slug, run, undo, tables, when, late in batch:
            if time.monotonic() > until:
                return arrived, True
            content = {
                "type": "store.rows.written",
                "timestamp": when,
                "data": {"store": of, "namespace": slug, "run_id": run, "undo": undo, "tables": tables},
            }
            status = _posted(client, to, str(id_), content)
            if 200 <= status < 300:
                connection.execute(_DELIVERED, (id_,))
                arrived += 1
                continue
            refused = 300 <= status < 500 and status not in (408, 429)
            outcome = f"answered {status}" if status else "did not answer"
            connection.execute(_FAILED, (f"{to.shown()} {outcome}", refused or late, id_, claim))
            _LOG.warning("A notice to %s: it %s. What was written stands.", to.shown(), outcome)
            if not refused:
                return arrived, False
    finally:
        connection.execute(_RELEASE, (claim,))
    return arrived, bool(batch)


def hook(environment: Mapping[str, str] = os.environ) -> Address | None:
    """Return the address that notices are sent to, or None if none is set.

    The secret is that of the webhook. Raises ``SettingsError`` if the address or the secret cannot be used.
    """
    url = environment.get(URL_NOTICES, "").strip()
    return address({URL: url, SECRET: environment.get(SECRET, "")}) if url else None


def diagnose_notices(store: Store, environment: Mapping[str, str] = os.environ) -> list[Diagnosis]:
    """Report the notices that are pending or were given up, by store."""
    with store.connect("reader") as connection:
        rows = connection.execute(_LEFT).fetchall()
    found: list[Diagnosis] = []
    for name, waiting, lost, error in rows:
        why = f" {error}." if error else ""
        if int(str(waiting)):
            where = (
                f"See to {URL_NOTICES}."
                if environment.get(URL_NOTICES)
                else f"Set {URL_NOTICES} to the address that is to be told, and {SECRET}."
            )
            found.append(
                Diagnosis(f"{waiting} notices of what was written to the store {name} wait.{why}", where, problem=False)
            )
        if int(str(lost)):
            found.append(
                Diagnosis(
                    f"{lost} notices of what was written to the store {name} were given up.{why}",
                    "Let what is kept beside the store be made anew; night.notices says which rows.",
                    problem=False,
                )
            )
    return found


@contextmanager
def _without_addresses() -> Generator[None]:
    """Silence httpx in the block, because it logs the address of every request, and this one may hold a token."""
    log, none = logging.getLogger("httpx"), logging.Filter("slowwave")
    log.addFilter(none)
    try:
        yield
    finally:
        log.removeFilter(none)


def _posted(client: httpx.Client, to: Address, id_: str, content: Mapping[str, object]) -> int:
    """Send a notice and return the HTTP status of the answer, or 0 if there was no answer."""
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    now, message = int(time.time()), f"notice_{id_.replace('-', '')}"
    headers = {
        "content-type": "application/json",
        "user-agent": "slowwave",
        "webhook-id": message,
        "webhook-timestamp": str(now),
        "webhook-signature": sign(to.keys, message, now, body),
    }
    try:
        return client.post(to.url, content=body, headers=headers, timeout=_SECONDS).status_code
    except httpx.HTTPError:
        return 0
