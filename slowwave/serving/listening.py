"""Listening: where a server may, whom it lets in, and what it logs."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from slowwave.errors import Refused, StoreError
from slowwave.serving.gate import Door, is_loopback
from slowwave.serving.request_rate import RequestRate
from slowwave.serving.tokens import has_tokens
from slowwave.store.connect import Connection, Store
from slowwave.store.namespaces import namespace_id

if TYPE_CHECKING:
    from starlette.types import ASGIApp

BURST: Final = 4.0
"""Seconds of its rate that a token may use at once."""

_ARENA_MAX: Final = -8  # M_ARENA_MAX of malloc.h

HEAD_SECONDS: Final = 15.0
"""Seconds in which a client has to send the head of a request; then its connection is closed."""


def door_of(connection: Connection, host: str, namespace: str | None, rate: float, request_bytes: int) -> Door:
    """Whom a server at ``host`` lets in: whoever has a token where there is any, else this machine's programs.

    Raises ``Refused`` where that would open memory to others, or leaves open which memory is meant.
    """
    if namespace is not None:
        namespace_id(connection, namespace)
    limit = RequestRate(rate, max(rate * BURST, 1)) if rate > 0 else None
    if has_tokens(connection, namespace):
        return Door(only=namespace, rate=limit, request_bytes=request_bytes)
    of = "" if namespace is None else f" of {namespace}"
    if not is_loopback(host):
        raise Refused(
            f"There is no valid token{of}, and {host} is no loopback address: everybody could read what is remembered. "
            "`slowwave tokens new --namespace NAME` makes one. Nothing was served."
        )
    if namespace is None:
        raise Refused("There is no valid token, so --namespace has to say which memory is served. Nothing was served.")
    return Door(open_to=namespace, rate=limit, request_bytes=request_bytes)  # the rate holds once there is a token


def listener(host: str, port: int) -> socket.socket:
    """A socket that listens at ``host`` and ``port`` (0: any that is free). Raises ``StoreError`` where that cannot be."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=128)
    except (OSError, OverflowError):
        raise StoreError(
            f"{host}:{port} cannot be listened on: it is in use, or no address of this machine. Choose another --port or --host."
        ) from None


def serve(store: Store, door: Door, bound: socket.socket) -> None:
    """Serve memory to agents on a socket until the process is asked to end."""
    from slowwave.serving.answering import Answering
    from slowwave.serving.http_app import http_app

    share_one_heap()
    answer(http_app(Answering(store), door), bound)


def answer(app: ASGIApp, bound: socket.socket) -> None:
    """Let an app answer on a socket until the process is asked to end."""
    import uvicorn

    keep_quiet()
    # No access log: a line of it holds what was asked for. What proxies say of addresses is not believed: a client is who connects.
    config = uvicorn.Config(
        app,
        http=limited_protocol(),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=10,
    )
    with suppress(KeyboardInterrupt):  # uvicorn passes on, once all is answered, what it was ended by
        uvicorn.Server(config).run(sockets=[bound])


def limited_protocol(seconds: float = HEAD_SECONDS) -> type[asyncio.Protocol]:
    """Return uvicorn's HTTP protocol with a limit on the time in which the head of a request has to arrive.

    uvicorn closes a connection that is idle between two requests, and waits without end for the rest of a head.
    """
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    class LimitedProtocol(AutoHTTPProtocol):  # type: ignore[misc,valid-type]
        """Closes the connection of a client that does not finish a head in time."""

        loop: asyncio.AbstractEventLoop
        transport: asyncio.Transport
        cycle: Any
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._timer = self.loop.call_later(seconds, transport.close)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            cycle = self.cycle
            if cycle is not None and not cycle.response_complete:  # the head is there, and its request is answered
                self._stop_timer()
            elif self._timer is None:
                self._timer = self.loop.call_later(seconds, self.transport.close)

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_timer()
            super().connection_lost(exc)

        def _stop_timer(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return LimitedProtocol


def share_one_heap() -> None:
    """Let all threads allocate from one heap, where the C library is glibc: each of its own keeps what its thread took for a search.

    They hold the interpreter's lock nearly always, so none waits for the heap.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


def keep_quiet() -> None:
    """Log our own lines to standard error; others' only where they cannot hold what was asked or answered."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("slowwave").setLevel(logging.INFO)
    for name in ("mcp", "httpx2", "sse_starlette"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
