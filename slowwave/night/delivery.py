"""Deliver messages to a person's endpoints: events of runs, notices of writes to a connected store, and the status page."""

from __future__ import annotations

import base64
import binascii
import json
import logging
import os
import random
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Literal

import httpx
from standardwebhooks import Webhook

from slowwave.bindings.binding import Notify
from slowwave.bindings.stores import connected_store
from slowwave.errors import SettingsError
from slowwave.models.endpoint import without_client_logs
from slowwave.night.run_events import (
    LEVELS,
    Event,
    Level,
    LlmCalled,
    LlmThrottled,
    OperationEvent,
    PhaseCompleted,
    PhaseStarted,
    RunCompleted,
    RunFailed,
    RunStarted,
    level_of,
    redact,
)
from slowwave.store.connect import Store
from slowwave.store.doctor import Diagnosis
from slowwave.store.logins import Connection
from slowwave.text.tokens import counted

# Endpoints: where messages are sent, and the keys that sign them, according to the Standard Webhooks specification.
#
# Addresses and secret come only from the operator's environment. A user who may write a namespace's settings can at most prevent that its
# events are sent.

URL: Final = "SLOWWAVE_WEBHOOK_URL"
URL_NOTICES: Final = "SLOWWAVE_NOTIFY_URL"
DIGEST_URL: Final = "SLOWWAVE_DIGEST_URL"
SECRET: Final = "SLOWWAVE_WEBHOOK_SECRET"  # noqa: S105 - the variable's name

Kind = Literal["dream", "store", "status"]
"""The first word of a message's type, which decides where it is sent."""

_VARIABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "dream": (URL,),
    "store": (URL_NOTICES,),
    "status": (DIGEST_URL, URL),
}
_ABOUT: Final[Mapping[str, str]] = {
    "dream": "events of runs",
    "store": "writes to connected stores",
    "status": "the status of namespaces",
}
_SHORTEST_KEY, _LONGEST_KEY = 24, 64  # bytes, as the specification says
_LOG: Final = logging.getLogger(__name__)


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


def endpoint(kind: Kind, environment: Mapping[str, str] = os.environ) -> Address | None:
    """Return where messages of a kind are sent, or None if the environment names no address.

    Raises ``SettingsError`` if the address or the secret cannot be used. ``SLOWWAVE_WEBHOOK_SECRET`` holds ``whsec_`` and the base64 of 24
    to 64 bytes. Two secrets, separated by a space, sign each message twice while a receiver changes from one to the other.
    """
    name = next((name for name in _VARIABLES[kind] if environment.get(name, "").strip()), "")
    if not name:
        return None
    text = environment[name].strip()
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host:
        raise SettingsError(
            f"{name} is no http(s) address, so nothing is sent. It reads like https://example.org/hook."
        )
    secrets = environment.get(SECRET, "").split()
    keys = tuple(key for secret in secrets if (key := _key(secret)) is not None)
    if not keys or len(keys) != len(secrets):
        raise SettingsError(
            f"{SECRET} is {'not what it must be' if secrets else 'not set'}, so nothing is sent: a receiver could not tell who sent "
            "it. It is whsec_ followed by 24 to 64 random bytes in base64; `openssl rand -base64 32` makes them."
        )
    return Address(text, keys)


def sign(keys: Sequence[bytes], message_id: str, timestamp: int, body: bytes) -> str:
    """Return the ``webhook-signature`` header, with one signature for each key."""
    at = datetime.fromtimestamp(timestamp, UTC)
    return " ".join(Webhook(key).sign(message_id, at, body.decode()) for key in keys)


def _key(secret: str) -> bytes | None:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if secret.startswith("whsec_") and _SHORTEST_KEY <= len(key) <= _LONGEST_KEY else None


# Writing notices: rows of night.notices. Those of what a batch changed are written in its transaction, so there is one for everything that
# was committed and for nothing else. Nothing is sent here.

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

_INSERT: Final = """
INSERT INTO night.notices (id, namespace_id, type, body, level)
SELECT u.id, n.id, u.type, u.body, %(level)s
FROM unnest(%(ids)s::uuid[], %(types)s::text[], %(bodies)s::text[]) WITH ORDINALITY AS u (id, type, body, ordinal)
LEFT JOIN memory.namespaces n ON n.slug = %(namespace)s ORDER BY u.ordinal
"""
_WRITTEN: Final = """
SELECT n.slug, clock_timestamp()::text, jsonb_object_agg(t.table_name, t.keys) FROM memory.namespaces n, (
  SELECT j.table_name, jsonb_agg(DISTINCT j.row_key::jsonb) AS keys FROM night.journal j
  WHERE j.run_id = %(run)s AND j.item_id = ANY(%(items)s::uuid[]) AND j.table_name LIKE '%%.%%' AND j.table_name <> 'night.overlay'
  GROUP BY 1) t
WHERE n.id = %(namespace)s GROUP BY n.slug
"""
_NOTIFY: Final = "SELECT pg_notify(%s, %s)"


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


def write_notices(
    connection: Connection, namespace: str | None, messages: Sequence[Mapping[str, object]], level: Level = "none"
) -> list[str]:
    """Write messages about a namespace, or about all, as pending notices, and return their ids.

    They become visible with the caller's transaction. ``level`` is the ``redact_text`` at which they were redacted.
    """
    ids = [str(uuid.uuid4()) for _ in messages]
    given: dict[str, object] = {
        "ids": ids,
        "types": [str(content["type"]) for content in messages],
        "bodies": [_body(content) for content in messages],
        "namespace": namespace,
        "level": level,
    }
    connection.execute(_INSERT, given)
    return ids


def notifier_of(connection: Connection, namespace_id: str) -> tuple[str, Notify] | None:
    """Return the name of the namespace's connected store and who is notified of writes to it; None if no one is."""
    found = connected_store(connection, namespace_id)
    if found is None or found[0].binding.notify is None:
        return None
    return found[0].name, found[0].binding.notify


def note_written_rows(
    connection: Connection,
    notified: tuple[str, Notify],
    namespace_id: str,
    run_id: str,
    items: Collection[str],
    *,
    undo: bool = False,
) -> None:
    """Notify of the rows of a store that some items of a run wrote, in the transaction that journalled them.

    Listeners of the binding's channel get the notice with the commit. If the binding asks for it, the notice is also sent to
    ``SLOWWAVE_NOTIFY_URL``, for data derived from the store: a cache, an index, a compiled prompt.
    """
    store, to = notified
    given = {"namespace": namespace_id, "run": run_id, "items": list(items)}
    written = connection.execute(_WRITTEN, given).fetchone()
    if written is None:
        return
    slug, when, tables = written
    data = {"store": store, "namespace": slug, "run_id": run_id, "undo": undo, "tables": tables}
    (notice,) = write_notices(connection, str(slug), [{"type": "store.rows.written", "timestamp": when, "data": data}])
    if to.channel:
        payload = {"id": notice, "store": store, "namespace_id": namespace_id, "run_id": run_id, "undo": undo}
        connection.execute(_NOTIFY, (to.channel, json.dumps(payload)))
    if not to.hook:
        connection.execute(_DELIVERED, (notice,))


def _body(content: Mapping[str, object]) -> str:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=str)
    return text.encode("utf-8", "replace").decode()  # a lone surrogate has no UTF-8


CLOSING_SECONDS: Final = 10.0
"""Seconds for which the end of a run delivers messages."""


@dataclass(slots=True)
class NoticeSink:
    """A sink that writes a run's events as notices, and delivers what is pending once the run is over.

    Events that ``wants`` refuses are left out; the others were redacted to ``level``. ``failed`` is called with the sink's name and the
    place of a failure: ``emit``, or ``delivery`` for each of the run's messages that was given up.
    """

    store: Store
    wants: Callable[[Event], bool] = lambda _: True
    level: Level = "all"
    failed: Callable[[str, str], None] = lambda _sink, _place: None
    closing_seconds: float = CLOSING_SECONDS
    name: str = "webhook"
    _written: list[str] = field(default_factory=list)

    def emit(self, event: Event) -> None:
        """Write a message in a transaction of its own."""
        self.record([event])

    def record(self, events: Sequence[Event], connection: Connection | None = None) -> None:
        """Write messages in the transaction of ``connection``, or in one of their own."""
        wanted = [event for event in events if self.wants(event)]
        if not wanted:
            return
        namespace, messages = wanted[0].namespace, [message(event) for event in wanted]
        try:
            if connection is not None:
                self._written += write_notices(connection, namespace, messages, self.level)
                return
            with self.store.connect("applier") as own:
                self._written += write_notices(own, namespace, messages, self.level)
        except Exception:
            self.failed(self.name, "emit")
            raise

    def close(self) -> None:
        """Deliver what is pending, for ten seconds at most, and log what is left. It stays pending for later calls."""
        if not self._written:
            return
        deliver(self.store, seconds=self.closing_seconds)
        with self.store.connect("reader") as connection:
            row = connection.execute(_OUTCOME, (self._written,)).fetchone()
        pending, lost = (int(str(row[0])), int(str(row[1]))) if row else (0, 0)
        for _ in range(lost):
            self.failed(self.name, "delivery")
        if pending or lost:
            _LOG.warning(
                "The webhook has not accepted %d messages of this run, and refused %d. The run is not affected. `slowwave runs deliver` "
                "tries the first again, and `slowwave doctor` gives the reason.",
                pending,
                lost,
            )


# Delivery: one function sends what is pending, at the end of a run, when a command or a sensor calls it, and when the connected stores are
# checked. It claims notices in batches, so several processes share them and no transaction is open while it posts.
#
# A notice is sent at least once, under one id. No answer leaves it and all that follow it to a later attempt. An answer of 408, 429 or 5xx
# leaves it alone to a later attempt, after a pause that doubles up to an hour or that ``Retry-After`` asks for. Any other answer than 2xx
# gives it up, redirects are not followed, and 410 gives up all that is pending for the endpoint. After a week the next failure is the last.

PATIENCE_DAYS: Final = 7
"""Days for which a notice is retried."""

_MOST: Final = 500
_BATCH: Final = 50
_CLAIM_SECONDS: Final = 120
_POSTING_SECONDS: Final = 60.0
"""Seconds of a claim in which posts may start: the rest is for the last post, each step of which may take ``_SECONDS``."""
_SECONDS: Final = 5.0
_ENOUGH: Final = 5  # answers with an error in a row after which an endpoint is left alone until the next pass
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 3600.0
_ANSWER: Final = 64 * 1024  # bytes of an answer that are read, so that the connection can be used again

_CLAIM: Final = """
WITH claimed AS (
  UPDATE night.notices SET claim = %(claim)s, claimed_until = clock_timestamp() + make_interval(secs => %(seconds)s)
  WHERE id IN (SELECT id FROM night.notices WHERE split_part(type, '.', 1) = %(kind)s AND delivered_at IS NULL AND given_up_at IS NULL
    AND (claimed_until IS NULL OR claimed_until < clock_timestamp()) ORDER BY number LIMIT %(most)s FOR UPDATE SKIP LOCKED)
  RETURNING *)
SELECT o.id::text, o.type, o.body, o.level, n.settings, o.attempts
FROM claimed o LEFT JOIN memory.namespaces n ON n.id = o.namespace_id ORDER BY o.number
"""
_NEXT: Final = """
SELECT extract(epoch FROM min(coalesce(claimed_until, clock_timestamp())) - clock_timestamp()) FROM night.notices
WHERE split_part(type, '.', 1) = %s AND delivered_at IS NULL AND given_up_at IS NULL AND claim IS NULL
"""
_EMPTIED: Final = "body = CASE WHEN type = 'store.rows.written' THEN body ELSE '' END"
_RELEASE: Final = "UPDATE night.notices SET claim = NULL, claimed_until = NULL WHERE claim = %s"
_DELIVERED: Final = f"""
UPDATE night.notices SET delivered_at = now(), attempts = attempts + 1, error = '', {_EMPTIED} WHERE id = %s
"""
_FAILED: Final = """
UPDATE night.notices SET attempts = attempts + %(answers)s, error = %(error)s, claim = NULL,
  claimed_until = clock_timestamp() + make_interval(secs => %(pause)s)
WHERE id = %(id)s AND claim = %(claim)s AND delivered_at IS NULL
"""
_GIVE_UP: Final = f"""
UPDATE night.notices SET given_up_at = now(), error = %(error)s, {_EMPTIED}
WHERE delivered_at IS NULL AND given_up_at IS NULL AND (id = %(id)s
  OR split_part(type, '.', 1) = %(kind)s AND recorded_at < now() - make_interval(days => %(days)s))
"""
_OUTCOME: Final = """
SELECT count(*) FILTER (WHERE delivered_at IS NULL AND given_up_at IS NULL), count(*) FILTER (WHERE given_up_at IS NOT NULL)
FROM night.notices WHERE id = ANY(%s::uuid[])
"""
_LEFT: Final = """
SELECT split_part(type, '.', 1), count(*) FILTER (WHERE given_up_at IS NULL),
  count(*) FILTER (WHERE given_up_at > now() - interval '30 days'), max(error)
FROM night.notices WHERE delivered_at IS NULL GROUP BY 1 ORDER BY 1
"""


def deliver(
    store: Store,
    environment: Mapping[str, str] = os.environ,
    *,
    seconds: float = 0.0,
    kinds: Sequence[Kind] = ("dream", "store"),
) -> int:
    """Send the pending notices, the oldest of each endpoint first, and return how many arrived.

    Each is tried once; with ``seconds``, those that fail are tried again until this time is over, and no attempt starts after it. Nothing
    is raised for an endpoint, because what a notice reports has happened. The status page is not among the default ``kinds``: a page that
    was not accepted is outdated (``slowwave.night.status``).
    """
    endpoints: dict[Kind, Address] = {}
    for kind in kinds:
        try:
            to = endpoint(kind, environment)
        except SettingsError as problem:
            _LOG.warning("Messages about %s are pending: %s", _ABOUT[kind], problem)
            continue
        if to is not None:
            endpoints[kind] = to
    if not endpoints:
        return 0
    arrived, until = 0, time.monotonic() + seconds
    with without_client_logs(), store.connect("applier") as connection, httpx.Client(follow_redirects=False) as client:
        pause = _FIRST_PAUSE
        while True:
            came, waits = 0, list[float]()
            for (
                kind,
                to,
            ) in endpoints.items():  # in turn, so that an endpoint that fails does not use up the time of another
                end = until if seconds else time.monotonic() + _POSTING_SECONDS
                came += _Sender(connection, client, kind, to, end).send_pending()
                row = connection.execute(_NEXT, (kind,)).fetchone() if seconds else None
                if row is not None and row[0] is not None:
                    waits.append(float(str(row[0])))
            arrived += came
            pause = _FIRST_PAUSE if came else pause
            wait = max(min(waits, default=0.0), pause * random.uniform(0.5, 1.0))  # noqa: S311 - jitter
            if not waits or time.monotonic() + wait > until:
                return arrived
            time.sleep(wait)
            pause *= 2


@dataclass(slots=True)
class _Sender:
    """One pass over the pending notices of an endpoint, in which each is tried once."""

    connection: Connection
    client: httpx.Client
    kind: Kind
    to: Address
    until: float
    arrived: int = 0
    errors: int = 0

    def send_pending(self) -> int:
        """Send batches until nothing is pending, the endpoint fails, or the time is up; return how many notices arrived."""
        for _ in range(_MOST // _BATCH):
            if not self._send_batch():
                break
        return self.arrived

    def _send_batch(self) -> bool:
        """Claim the oldest notices and send them; return whether to go on with the next batch."""
        claim = uuid.uuid4()
        end = min(self.until, time.monotonic() + _POSTING_SECONDS)
        asked = {"claim": claim, "seconds": _CLAIM_SECONDS, "most": _BATCH, "kind": self.kind}
        batch = self.connection.execute(_CLAIM, asked).fetchall()
        try:
            for id_, type_, body, level, settings, attempts in batch:
                if time.monotonic() > end:
                    return time.monotonic() < self.until
                text = _redacted_now(str(type_), str(body), str(level), settings)
                if not self._send_one(claim, str(id_), text.encode(), int(str(attempts))):
                    return False
        finally:
            self.connection.execute(_RELEASE, (claim,))
        return bool(batch)

    def _send_one(self, claim: uuid.UUID, id_: str, body: bytes, attempts: int) -> bool:
        """Send one notice and record the result; return whether to go on with the next."""
        status, asked = _post(self.client, self.to, id_, body, min(_SECONDS, max(0.05, self.until - time.monotonic())))
        if 200 <= status < 300:
            self.connection.execute(_DELIVERED, (id_,))
            self.arrived += 1
            self.errors = 0
            return True
        outcome = f"{self.to.shown()} {f'answered {status}' if status else 'did not answer'}"
        _LOG.warning("A message about %s: %s. What it reports is not affected.", _ABOUT[self.kind], outcome)
        refused = bool(status) and status not in (408, 429) and status < 500
        if not refused:  # without an answer it stays the first of its endpoint
            pause = asked if asked is not None else _FIRST_PAUSE * 2 ** min(attempts, 20) if status else 0.0
            failure = {"error": outcome, "answers": int(bool(status)), "pause": min(pause, _LONGEST_PAUSE)}
            self.connection.execute(_FAILED, {"id": id_, "claim": claim, **failure})
        days = 0 if status == 410 else PATIENCE_DAYS
        given = {"id": id_ if refused else None, "kind": self.kind, "days": days, "error": outcome}
        self.connection.execute(_GIVE_UP, given)
        self.errors += not refused
        return bool(status) and status != 410 and self.errors < _ENOUGH


def diagnose_notices(store: Store, environment: Mapping[str, str] = os.environ) -> list[Diagnosis]:
    """Report the notices that are pending or were given up, by what they are about."""
    with store.connect("reader") as connection:
        rows = connection.execute(_LEFT).fetchall()
    found: list[Diagnosis] = []
    for kind, pending, lost, error in rows:
        why = f" {error}." if error else ""
        name = _VARIABLES[str(kind)][0]
        if int(str(pending)):
            remedy = (
                f"`slowwave runs deliver` sends them again; check {name}."
                if environment.get(name)
                else f"Set {name} to the address that gets them, and {SECRET}."
            )
            about = f"{counted(int(str(pending)), 'message')} about {_ABOUT[str(kind)]}"
            found.append(Diagnosis(f"{about}: pending.{why}", remedy, problem=False))
        if int(str(lost)):
            remedy = (
                "Rebuild what is derived from the store; night.notices has the keys of the rows."
                if kind == "store"
                else "The ledger has what they reported: `slowwave runs list NAMESPACE` lists the runs."
            )
            about = f"{counted(int(str(lost)), 'message')} about {_ABOUT[str(kind)]}"
            found.append(Diagnosis(f"{about}: given up.{why}", remedy, problem=False))
    return found


def _redacted_now(type_: str, body: str, level: str, settings: object) -> str:
    """Return a body as the namespace's ``redact_text`` allows now, if that is stricter than it was when the body was written."""
    if type_ != TYPES[OperationEvent]:
        return body  # no other message holds memory text
    now = level_of(settings) if isinstance(settings, dict) else "all"
    if level in LEVELS and LEVELS.index(now) <= LEVELS.index(level):
        return body
    content = json.loads(body)
    for part in ("inputs", "outputs"):
        content["data"][part] = redact(content["data"][part], now)
    return _body(content)


def _post(client: httpx.Client, to: Address, id_: str, body: bytes, limit: float) -> tuple[int, float | None]:
    """Send a message; return the HTTP status of the answer, 0 if there was none, and the seconds that ``Retry-After`` asks for."""
    until, received = time.monotonic() + limit, 0
    now, name = int(time.time()), f"msg_{id_.replace('-', '')}"
    headers = {
        "content-type": "application/json",
        "user-agent": "slowwave",
        "webhook-id": name,
        "webhook-timestamp": str(now),
        "webhook-signature": sign(to.keys, name, now, body),
    }
    try:
        with client.stream("POST", to.url, content=body, headers=headers, timeout=limit) as answer:
            for part in answer.iter_raw():
                received += len(part)
                if received > _ANSWER or time.monotonic() > until:
                    break  # the status is sufficient
    except httpx.HTTPError:
        return 0, None
    try:
        asked = float(answer.headers.get("retry-after", "") or "nan")
    except ValueError:  # a date
        asked = float("nan")
    return answer.status_code, asked if 0 <= asked < float("inf") else None
