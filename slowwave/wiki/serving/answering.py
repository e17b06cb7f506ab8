"""Answers to calls: token, rate and size, scope, the store in a thread, and metrics for Prometheus."""

from __future__ import annotations

import ipaddress
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, Final, Literal, TypeVar, cast
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
from anyio import CapacityLimiter, current_time, move_on_after, to_thread
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from pydantic import BaseModel, ValidationError
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from slowwave.errors import AlreadyThere, Forbidden, NotInCorpus, Refused, StoreError
from slowwave.search.recall_events import Answered, log_behind
from slowwave.store.connect import Store
from slowwave.store.logins import MOST, Connection
from slowwave.wiki.serving.tokens import OPEN_SCOPES, Call, Caller, Failure, caller_of, has_tokens, invalid

# Counts and times of calls, for Prometheus: one registry per namespace, so that no one sees how another namespace is used.

_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


@dataclass(slots=True)
class CallMetrics:
    """Metrics registries by namespace, created at the first call of a namespace."""

    _known: dict[str, tuple[CollectorRegistry, Counter, Histogram]] = field(
        default_factory=dict[str, tuple[CollectorRegistry, Counter, Histogram]]
    )

    def count(self, namespace: str, call: str, surface: str, status: int, seconds: float) -> None:
        """Count one call over ``surface`` (http, mcp) with its status and its duration."""
        _, calls, times = self._of(namespace)
        calls.labels(call, surface, str(status)).inc()
        times.labels(call).observe(seconds)

    def page(self, namespace: str) -> bytes:
        """Return the Prometheus metrics page of one namespace."""
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


# Answers to calls: the scope, the request's model, the store in a thread, and errors as a ``Failure``.
#
# HTTP and MCP both use this. The log has the call, its status and its duration, but never the request or the answer. Of an unforeseen
# error it has only the type.

Looked = TypeVar("Looked")
Surface = Literal["http", "mcp"]

_LOG: Final = logging.getLogger(__name__)
_STATUSES: Final[Mapping[type[Refused], int]] = {NotInCorpus: 404, AlreadyThere: 409, Forbidden: 403}
_UNREACHABLE: Final = Failure(503, "The store does not answer. Try again later.", retry_after=5)


@dataclass(slots=True)
class Answering:
    """A service that answers calls from a store.

    At most as many calls run at once as idle connections are kept, because more would only open and close connections.
    """

    store: Store
    metrics: CallMetrics = field(default_factory=CallMetrics)
    _threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(MOST))

    async def answer(
        self, call: Call, caller: Caller, arguments: Mapping[str, object], surface: Surface, request_id: str = ""
    ) -> BaseModel | Failure:
        """Answer a call, or return why it has no answer."""
        began = time.perf_counter()
        asking = replace(caller, surface=surface)
        found = await to_thread.run_sync(self._answer, call, asking, arguments, limiter=self._threads)
        seconds = time.perf_counter() - began
        status = found.status if isinstance(found, Failure) else 200
        self.metrics.count(caller.namespace, call.name, surface, status, seconds)
        log_fields = (surface, call.name, status, seconds * 1000, caller.token_id or "-", request_id or uuid4().hex)
        _LOG.info("%s %s %d in %.1f ms, token %s, request %s", *log_fields)
        return found

    async def read(self, caller: Caller, look: Callable[[Connection, str], Looked]) -> Looked | Failure:
        """Run a query in the caller's namespace without a log line, for clients that poll."""
        return await to_thread.run_sync(self._read, caller, look, limiter=self._threads)

    async def caller_of(self, token: str) -> Caller | Failure | None:
        """Return the caller that a token belongs to, or None if the token is not valid."""
        return await to_thread.run_sync(self._caller_of, token, limiter=self._threads)

    async def asks_for_tokens(self, namespace: str) -> bool | Failure:
        """Return whether a namespace has a valid token, so that its callers need one."""
        return await to_thread.run_sync(self._has_tokens, namespace, limiter=self._threads)

    def _has_tokens(self, namespace: str) -> bool | Failure:
        try:
            with self.store.connect("server") as connection:
                return has_tokens(connection, namespace)
        except (StoreError, psycopg.OperationalError) as problem:
            return _unreachable(problem)

    def _read(self, caller: Caller, look: Callable[[Connection, str], Looked]) -> Looked | Failure:
        try:
            with self.store.connect("server") as connection:
                return look(connection, caller.namespace)
        except Refused as refusal:
            return Failure(400, str(refusal))
        except (StoreError, psycopg.OperationalError) as problem:
            return _unreachable(problem)

    def _caller_of(self, token: str) -> Caller | Failure | None:
        try:
            with self.store.connect("server") as connection:
                return caller_of(connection, token)
        except (StoreError, psycopg.OperationalError) as problem:
            return _unreachable(problem)

    def _answer(self, call: Call, caller: Caller, arguments: Mapping[str, object]) -> BaseModel | Failure:
        if call.scope not in caller.scopes:
            return Failure(403, f"The token lacks the scope {call.scope}.")
        try:
            request = call.request.model_validate(arguments)
        except ValidationError as problem:
            return invalid(problem)
        try:
            with self.store.connect("server") as connection:
                found = _answer_or_failure(call, connection, caller, request)
        except (StoreError, psycopg.OperationalError) as problem:
            return _unreachable(problem)
        except Exception as problem:  # noqa: BLE001 - whatever it is, its message may hold memory text
            _LOG.error("%s failed: %s.", call.name, type(problem).__name__)
            return Failure(
                500, "The call failed for a reason that nobody foresaw. The server's log says of which kind."
            )
        if isinstance(found, Answered):
            log_behind(self.store, "server", caller.namespace, found.recalls)
            return cast("BaseModel", found.answer)
        return found


def _unreachable(problem: Exception) -> Failure:
    _LOG.error("The store did not answer: %s.", type(problem).__name__)
    return _UNREACHABLE


def _answer_or_failure(
    call: Call, connection: Connection, caller: Caller, request: BaseModel
) -> BaseModel | Answered[Any] | Failure:
    """Answer a call, and turn a refusal into a ``Failure``, so that the connection stays usable."""
    try:
        return call.answer(connection, caller, request)
    except Refused as refusal:
        status = next((status for kind, status in _STATUSES.items() if isinstance(refusal, kind)), 400)
        return Failure(status, str(refusal))


# Rate limit: a token bucket for each key, refilled steadily. The caller passes the time; no clock is read here.


@dataclass(slots=True)
class RequestRate:
    """A rate limit of ``per_second`` requests for each key on average, with bursts of ``burst`` requests.

    One entry is kept for each key that made a request, so keys must be those of known tokens.
    """

    per_second: float
    burst: float
    _left: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])

    def take(self, key: str, now: float) -> float:
        """Take one request of ``key`` if it is allowed now and return 0, else return the seconds to wait."""
        left, since = self._left.get(key, (self.burst, now))
        left = min(self.burst, left + max(now - since, 0) * self.per_second)
        allowed = left >= 1
        self._left[key] = (left - allowed, now)
        return 0.0 if allowed else (1 - left) / self.per_second


# Admission of every HTTP request: an id, a token or a local caller, a rate, a size. Nothing behind it checks these again.
#
# A server without tokens is only for programs on this machine. Pages in a browser are refused by ``Host``, ``Origin`` and
# ``Sec-Fetch-Site``, for reads as for writes. Such a server requires a token as soon as its namespace has a valid one, and from then on.

REQUEST_BYTES: Final = 262_144
"""Maximum bytes of a request's body."""

BODY_SECONDS: Final = 30.0
"""Seconds in which a client has to send the body of a request."""

TOKEN_CHECK_SECONDS: Final = 5.0
"""Seconds for which a server without tokens remembers that there is none."""
_WRONG: Final = Failure(
    401, "A valid token is needed: Authorization: Bearer slw_… `slowwave tokens new NAME` makes one."
)
_ELSEWHERE: Final = Failure(
    403,
    "This server was started to answer programs of this machine without tokens. It refuses every other request, with or without a token: "
    "one from a page of another site or port (Origin, Sec-Fetch-Site), and one to a host name that is not loopback (Host). Send it from a "
    "program to localhost, or start a server on another address, which needs tokens.",
)
_OWN_SITE: Final = frozenset({"", "none", "same-origin"})
"""Values of ``Sec-Fetch-Site`` that a program, a person or a page of this server sends."""


@dataclass(frozen=True, slots=True)
class Door:
    """The rules of admission to a server.

    ``open_to`` is the namespace of callers without a token, None if tokens are required. ``only`` is the namespace that tokens must
    belong to, None for any.
    """

    open_to: str | None = None
    only: str | None = None
    rate: RequestRate | None = None
    request_bytes: int = REQUEST_BYTES
    body_seconds: float = BODY_SECONDS
    clock: Callable[[], float] = field(default=time.monotonic)


class Gate:
    """ASGI middleware that admits requests.

    Behind it, ``request.state`` has ``caller`` (except for public paths) and ``request_id``.
    """

    def __init__(self, app: ASGIApp, answering: Answering, door: Door) -> None:
        self._app, self._answering, self._door = app, answering, door
        self._asks_for_tokens, self._checked_at = door.open_to is None, -TOKEN_CHECK_SECONDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer with the reason for its refusal."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = uuid4().hex
        scope["state"] = {**scope.get("state", {}), "request_id": request_id}
        begun = False

        async def sent(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                MutableHeaders(scope=message).update({"x-request-id": request_id, "cache-control": "no-store"})
            await send(message)

        try:
            failure = await self._refusal(scope)
            if failure is None:
                await self._app(scope, _bounded(receive, self._door.request_bytes, self._door.body_seconds), sent)
                return
        except ClientDisconnect:
            _LOG.debug("The client of request %s left before it was answered.", request_id)
            return
        except Exception as problem:  # noqa: BLE001 - whatever it is, its message may hold memory text
            _LOG.error("Request %s failed: %s.", request_id, type(problem).__name__)
            if begun:
                return
            failure = Failure(500, "The request failed for a reason that nobody foresaw.")
        _LOG.info("http refused %d, request %s", failure.status, request_id)
        await response_of(failure, request_id)(scope, receive, sent)

    async def _refusal(self, scope: Scope) -> Failure | None:
        """Return why a request is refused, or put its caller into the scope and return None."""
        headers = Headers(scope=scope)
        content_length = headers.get("content-length", "")
        if content_length.isdecimal() and int(content_length) > self._door.request_bytes:
            return too_large(self._door.request_bytes)
        if scope["path"] == "/healthz" or scope["path"].startswith("/.well-known/"):
            return None
        found = await self._caller(headers)
        if isinstance(found, Failure):
            return found
        if (
            self._door.rate is not None
            and found.token_id
            and (wait := self._door.rate.take(found.token_id, self._door.clock()))
        ):
            return Failure(429, "This token asks too often. Wait, then ask again.", retry_after=ceil(wait))
        scope["state"]["caller"] = found
        return None

    async def _caller(self, headers: Headers) -> Caller | Failure:
        namespace = self._door.open_to
        if namespace is not None and not _is_from_this_machine(headers):
            return _ELSEWHERE
        if isinstance(asks := await self._needs_token(), Failure):
            return asks
        if namespace is not None and not asks:
            return Caller(namespace, OPEN_SCOPES)
        scheme, _, token = headers.get("authorization", "").partition(" ")
        found = await self._answering.caller_of(token.strip()) if scheme.lower() == "bearer" else None
        if isinstance(found, Failure):
            return found
        return found if found is not None and (self._door.only or namespace) in (None, found.namespace) else _WRONG

    async def _needs_token(self) -> bool | Failure:
        """Return whether callers need a token.

        They need one always, or since the namespace of a server without tokens got its first valid one.
        """
        now = self._door.clock()
        if self._asks_for_tokens or self._door.open_to is None or now < self._checked_at + TOKEN_CHECK_SECONDS:
            return self._asks_for_tokens
        found = await self._answering.asks_for_tokens(self._door.open_to)
        if isinstance(found, Failure):
            return found
        self._asks_for_tokens, self._checked_at = found, now
        return found


def _is_from_this_machine(headers: Headers) -> bool:
    """Return whether a request comes from a program on this machine.

    The host must be a loopback name, and a request from a page must come from a page of this server.
    """
    host = headers.get("host", "").lower()
    origin = headers.get("origin")
    foreign = origin is not None and origin.lower().partition("://")[2] != host
    return is_loopback(_host(host)) and not foreign and headers.get("sec-fetch-site", "").lower() in _OWN_SITE


def is_loopback(host: str) -> bool:
    """Return whether a host name or address belongs to this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def response_of(failure: Failure, request_id: str) -> JSONResponse:
    """Build the HTTP response for a failure."""
    headers = {"WWW-Authenticate": "Bearer"} if failure.status == 401 else {}
    if failure.retry_after is not None:
        headers["Retry-After"] = str(failure.retry_after)
    return JSONResponse(failure.body(request_id), failure.status, headers)


def too_large(most: int) -> Failure:
    """Return the failure for a body of more than ``most`` bytes."""
    return Failure(413, f"A request has at most {most:,} bytes.")


def _bounded(receive: Receive, most: int, seconds: float) -> Receive:
    """Pass a body on until it is too long or takes too long; it does not need a content length."""
    seen = 0
    ends = current_time() + seconds
    complete = False

    async def received() -> Message:
        nonlocal seen, complete
        if complete:  # only a disconnect of the client can follow
            return await receive()
        message: Message = {}
        with move_on_after(max(0.0, ends - current_time())) as limit:
            message = await receive()
            seen += len(message.get("body", b""))
            complete = not message.get("more_body", False)
        if limit.cancelled_caught:
            raise HTTPException(408, f"The body did not arrive within {seconds:g} seconds.")
        if seen > most:
            raise HTTPException(413, too_large(most).message)
        return message

    return received


def _host(named: str) -> str:
    """Return the host in ``Host`` or ``Origin``, without scheme, port and brackets."""
    try:
        return urlsplit(named if "//" in named else f"//{named}").hostname or ""
    except ValueError:
        return ""
