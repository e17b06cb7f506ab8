"""What every request over HTTP passes first: an id, a token or a local caller, a rate, a size. Nothing behind it asks again.

A server without tokens is for programs of this machine alone. A page in a browser is refused by ``Host``, ``Origin`` and
``Sec-Fetch-Site``, for reads as for writes. Such a server asks for a token as soon as its namespace has a valid one, and from then on.
"""

from __future__ import annotations

import ipaddress
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from typing import Final
from urllib.parse import urlsplit
from uuid import uuid4

from anyio import current_time, move_on_after
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from slowwave.serving.answering import Answering
from slowwave.serving.failures import Failure
from slowwave.serving.request_rate import RequestRate
from slowwave.serving.tokens import OPEN_SCOPES, Caller

REQUEST_BYTES: Final = 262_144
"""Most bytes of a request's body."""

BODY_SECONDS: Final = 30.0
"""Seconds in which a client has to send the body of a request."""

TOKEN_CHECK_SECONDS: Final = 5.0
"""Seconds for which a server without tokens remembers that there is none."""

_LOG: Final = logging.getLogger(__name__)
_WRONG: Final = Failure(
    401, "A valid token is needed: Authorization: Bearer slw_… `slowwave tokens new --namespace NAME` makes one."
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
    """Who is let in. ``open_to`` is the namespace of callers without a token, None where tokens are asked for; ``only`` the namespace
    that tokens have to be of, None for any.
    """

    open_to: str | None = None
    only: str | None = None
    rate: RequestRate | None = None
    request_bytes: int = REQUEST_BYTES
    body_seconds: float = BODY_SECONDS
    clock: Callable[[], float] = field(default=time.monotonic)


class Gate:
    """ASGI middleware. Behind it, ``request.state`` has ``caller`` (not for public paths) and ``request_id``."""

    def __init__(self, app: ASGIApp, answering: Answering, door: Door) -> None:
        self._app, self._answering, self._door = app, answering, door
        self._asks_for_tokens, self._checked_at = door.open_to is None, -TOKEN_CHECK_SECONDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or say why not."""
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
        """Why a request is not let through; else its caller is in the scope."""
        headers = Headers(scope=scope)
        told = headers.get("content-length", "")
        if told.isdecimal() and int(told) > self._door.request_bytes:
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
        """Whether callers need a token: always, or since the namespace of a server without tokens got one."""
        now = self._door.clock()
        if self._asks_for_tokens or self._door.open_to is None or now < self._checked_at + TOKEN_CHECK_SECONDS:
            return self._asks_for_tokens
        found = await self._answering.asks_for_tokens(self._door.open_to)
        if isinstance(found, Failure):
            return found
        self._asks_for_tokens, self._checked_at = found, now
        return found


def _is_from_this_machine(headers: Headers) -> bool:
    """Whether a program of this machine asks: by a loopback name, and for no page but one of this very server."""
    host = headers.get("host", "").lower()
    origin = headers.get("origin")
    foreign = origin is not None and origin.lower().partition("://")[2] != host
    return is_loopback(_host(host)) and not foreign and headers.get("sec-fetch-site", "").lower() in _OWN_SITE


def is_loopback(host: str) -> bool:
    """Whether a host's name or address is this machine's own."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def response_of(failure: Failure, request_id: str) -> JSONResponse:
    """A failure as it is sent."""
    headers = {"WWW-Authenticate": "Bearer"} if failure.status == 401 else {}
    if failure.retry_after is not None:
        headers["Retry-After"] = str(failure.retry_after)
    return JSONResponse(failure.body(request_id), failure.status, headers)


def too_large(most: int) -> Failure:
    """A body over its bound."""
    return Failure(413, f"A request has at most {most:,} bytes.")


def _bounded(receive: Receive, most: int, seconds: float) -> Receive:
    """Pass a body on until it is too long or takes too long; its length need not have been sent."""
    seen = 0
    ends = current_time() + seconds
    complete = False

    async def received() -> Message:
        nonlocal seen, complete
        if complete:  # all that can come is that the client leaves
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
    """The host in ``Host`` or ``Origin``, without scheme, port and brackets."""
    try:
        return urlsplit(named if "//" in named else f"//{named}").hostname or ""
    except ValueError:
        return ""
