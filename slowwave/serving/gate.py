"""What every request over HTTP passes first: an id, a token or a local caller, a rate, a size. Nothing behind it asks again.

A server without tokens is for this machine alone: a page in a browser, whatever name it gave this machine, is refused by the names in
``Host`` and ``Origin``.
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

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from slowwave.serving.answering import Answering
from slowwave.serving.failures import Failure
from slowwave.serving.request_rate import RequestRate
from slowwave.serving.tokens import OPEN_SCOPES, Caller

REQUEST_BYTES: Final = 262_144
"""Most bytes of a request's body."""

_LOG: Final = logging.getLogger(__name__)
_WRONG: Final = Failure(
    401, "A valid token is needed: Authorization: Bearer slw_… `slowwave tokens new --namespace NAME` makes one."
)
_ELSEWHERE: Final = Failure(403, "A server without tokens answers programs of this machine alone.")


@dataclass(frozen=True, slots=True)
class Door:
    """Who is let in. ``open_to`` is the namespace of callers without a token, None where tokens are asked for; ``only`` the namespace
    that tokens have to be of, None for any.
    """

    open_to: str | None = None
    only: str | None = None
    rate: RequestRate | None = None
    request_bytes: int = REQUEST_BYTES
    clock: Callable[[], float] = field(default=time.monotonic)


class Gate:
    """ASGI middleware. Behind it, ``request.state`` has ``caller`` (not for public paths) and ``request_id``."""

    def __init__(self, app: ASGIApp, answering: Answering, door: Door) -> None:
        self._app, self._answering, self._door = app, answering, door

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
                await self._app(scope, _bounded(receive, self._door.request_bytes), sent)
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
        if self._door.rate is not None and (wait := self._door.rate.take(found.token_id, self._door.clock())):
            return Failure(429, "This token asks too often. Wait, then ask again.", retry_after=ceil(wait))
        scope["state"]["caller"] = found
        return None

    async def _caller(self, headers: Headers) -> Caller | Failure:
        if self._door.open_to is not None:
            origin = headers.get("origin")
            local = is_loopback(_host(headers.get("host", ""))) and (origin is None or is_loopback(_host(origin)))
            return Caller(self._door.open_to, OPEN_SCOPES) if local else _ELSEWHERE
        scheme, _, token = headers.get("authorization", "").partition(" ")
        found = await self._answering.caller_of(token.strip()) if scheme.lower() == "bearer" else None
        if isinstance(found, Failure):
            return found
        return found if found is not None and self._door.only in (None, found.namespace) else _WRONG


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


def _bounded(receive: Receive, most: int) -> Receive:
    """The body as it comes, until it is too much: its length need not have been told."""
    seen = 0

    async def received() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
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
