"""The ASGI app: routes, the stream of changes, OpenAPI, metrics and MCP, with its socket and its logging."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final, cast

import anyio
from anyio import CapacityLimiter, WouldBlock
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.json_schema import models_json_schema
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from slowwave.errors import Refused, StoreError
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id
from slowwave.wiki.serving.answering import Answering, Door, Gate, RequestRate, is_loopback, response_of
from slowwave.wiki.serving.calls import CALLS
from slowwave.wiki.serving.mcp_route import McpRoute
from slowwave.wiki.serving.namespace_status import changed
from slowwave.wiki.serving.tokens import Call, Caller, Failure, has_tokens, invalid

if TYPE_CHECKING:
    from starlette.types import ASGIApp


# Changes of a namespace as they happen (server-sent events): GET /v1/stream.
#
# ``status`` is sent at once and after each change, with the answer of the call status. ``reindex`` is sent before it if memory changed:
# search results are fresh at commit, so this is the time to search again. ``done`` is sent when the time is over; a client that wants
# more connects again.

INTERVAL: Final = 2.0
"""Seconds between two checks for changes."""

MOST: Final = 32
"""Maximum number of simultaneous streams of a process."""


EACH: Final = 8
"""Maximum number of simultaneous streams of one caller, so that no caller takes all of them."""


class StreamRequest(BaseModel):
    """The duration of an event stream."""

    model_config = ConfigDict(extra="forbid")

    seconds: int = Field(default=300, ge=1, le=3_600, description="After which the stream ends.")


async def events(
    answering: Answering,
    caller: Caller,
    request: StreamRequest,
    pause: Callable[[float], Awaitable[None]] = anyio.sleep,
) -> AsyncGenerator[str]:
    """Yield the events of a namespace in the format of server-sent events.

    If the store does not answer, the stream ends with an ``error`` event.
    """
    before: tuple[object, ...] | None = None
    for look in range(int(request.seconds / INTERVAL) + 1):
        if look:
            await pause(INTERVAL)
        now = await answering.read(caller, changed)
        if isinstance(now, Failure):
            yield _event("error", now.body("")["error"])
            return
        if now != before:
            if before is not None and now[0] != before[0]:
                yield _event("reindex", {"namespace": caller.namespace})
            found = await answering.answer(CALLS["status"], caller, {}, "http")
            if isinstance(found, Failure):
                yield _event("error", found.body("")["error"])
                return
            yield _event("status", found.model_dump(mode="json", exclude_unset=True))
            before = now
        else:
            yield ": still here\n\n"  # an SSE comment, because proxies close idle connections
    yield _event("done", {})


def _event(name: str, data: object) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


# The OpenAPI page, built from the calls, their models and the stream.

_ERROR: Final = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "type"],
            "properties": {name: {"type": "string"} for name in ("code", "message", "type", "request_id")},
        }
    },
}


def _content(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    content = {"content": {"application/json": {"schema": schema}}}
    return {"description": description, **content} if description else content


_FAILED: Final = {"default": _content("Why there is no answer.", {"$ref": "#/components/schemas/Error"})}
_EVENTS: Final = (
    "Events status (what the call status answers, at once and after each change), reindex (memory changed: ask again), error (in the shape "
    "of errors) and done, each with JSON."
)


def openapi(calls: Iterable[Call]) -> dict[str, Any]:
    """Build the OpenAPI 3.1 description of ``calls``."""
    calls = tuple(calls)
    every = [StreamRequest, *(model for call in calls for model in (call.request, call.response))]
    models = [(model, "validation") for model in every]
    references, schemas = models_json_schema(models, ref_template="#/components/schemas/{model}")  # pyright: ignore[reportArgumentType]
    defined = schemas.get("$defs", {})
    paths: dict[str, dict[str, Any]] = {}
    for call in calls:
        paths.setdefault(call.path, {})[call.method.lower()] = {
            "operationId": call.tool,
            "summary": call.description,
            "security": [{"token": [call.scope]}],
            **_asked(call, references[call.request, "validation"], defined),
            "responses": {"200": _content("The answer.", references[call.response, "validation"]), **_FAILED},
        }
    paths["/v1/stream"] = {
        "get": {
            "operationId": "stream",
            "summary": "What changes in this memory, as it happens (server-sent events).",
            "security": [{"token": ["read"]}],
            "parameters": _parameters(references[StreamRequest, "validation"], defined),
            "responses": {
                "200": {"description": _EVENTS, "content": {"text/event-stream": {"schema": {"type": "string"}}}},
                **_FAILED,
            },
        }
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Slowwave", "version": version("slowwave"), "description": "An agent's memory by day."},
        "paths": paths,
        "components": {
            "schemas": {**defined, "Error": _ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _asked(call: Call, reference: dict[str, Any], defined: dict[str, Any]) -> dict[str, Any]:
    if call.method == "POST":
        at = [parameter for parameter in _parameters(reference, defined, call.at) if parameter["in"] == "path"]
        return {"requestBody": {"required": True, **_content("", reference)}, **({"parameters": at} if at else {})}
    return {"parameters": _parameters(reference, defined, call.at)}


def _parameters(reference: dict[str, Any], defined: dict[str, Any], at: str = "") -> list[dict[str, Any]]:
    schema = defined[reference["$ref"].rsplit("/", 1)[1]]
    return [
        {
            "name": name,
            "in": "path" if name == at else "query",
            "required": name in schema.get("required", ()),
            "schema": property_schema,
        }
        for name, property_schema in schema.get("properties", {}).items()
    ]


# The ASGI app: a route for each call, the stream of changes, the OpenAPI page, metrics, health, and MCP over HTTP under /mcp.


def http_app(answering: Answering, door: Door) -> Starlette:
    """Build the HTTP app of a store for the callers that ``door`` admits."""
    mcp = McpRoute(answering, door.request_bytes)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with mcp.running():
            yield

    async def metrics(request: Request) -> Response:
        caller: Caller = request.state.caller
        if "read" not in caller.scopes:
            return _refused(request, Failure(403, "The token lacks the scope read."))
        return Response(answering.metrics.page(caller.namespace), media_type="text/plain; version=0.0.4")

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    page = openapi(CALLS.values())

    async def described(_: Request) -> Response:
        return JSONResponse(page)

    streams = CapacityLimiter(MOST)
    open_streams = Counter[str]()

    async def stream(request: Request) -> Response:
        caller: Caller = request.state.caller
        if "read" not in caller.scopes:
            return _refused(request, Failure(403, "The token lacks the scope read."))
        asker = caller.token_id or (request.client.host if request.client else "")
        if open_streams[asker] >= EACH:
            return _refused(
                request, Failure(429, f"This caller has {EACH} streams open already. Close one first.", retry_after=30)
            )
        try:
            asked = StreamRequest.model_validate(_query(request))
            streams.acquire_on_behalf_of_nowait(key := object())
        except ValidationError as problem:
            return _refused(request, invalid(problem))
        except WouldBlock:
            return _refused(request, Failure(503, f"{MOST} streams are open already. Try again later.", retry_after=30))

        open_streams[asker] += 1

        def ended() -> None:
            streams.release_on_behalf_of(key)
            open_streams[asker] -= 1

        return _StreamOfEvents(events(answering, caller, asked), ended)

    async def wrong(request: Request, problem: Exception) -> Response:
        found = cast("HTTPException", problem)
        allowed = (found.headers or {}).get("Allow", "another method")
        messages = {
            404: "There is no such route; /openapi.json lists those there are.",
            405: f"This route takes {allowed}.",
        }
        return _refused(request, Failure(found.status_code, messages.get(found.status_code, found.detail)))

    return Starlette(
        routes=[
            *(Route(call.path, _endpoint(answering, call), methods=[call.method]) for call in CALLS.values()),
            Route("/v1/stream", stream),
            Route("/healthz", health),
            Route("/metrics", metrics),
            Route("/openapi.json", described),
            Route("/mcp", mcp),
        ],
        middleware=[Middleware(Gate, answering, door)],
        exception_handlers={HTTPException: wrong},
        lifespan=lifespan,
    )


class _StreamOfEvents(StreamingResponse):
    """A response that streams events as they happen.

    It calls ``ended`` when the stream is over, also if its client left before the first event.
    """

    def __init__(self, content: AsyncGenerator[str], ended: Callable[[], None]) -> None:
        super().__init__(content, media_type="text/event-stream")
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._ended()


def _endpoint(answering: Answering, call: Call) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        arguments = _query(request) if call.method == "GET" else await _body(request)
        if isinstance(arguments, Failure):
            return _refused(request, arguments)
        arguments = {**arguments, **request.path_params}
        found = await answering.answer(call, request.state.caller, arguments, "http", request.state.request_id)
        if isinstance(found, Failure):
            return _refused(request, found)
        return _answered(found)

    return endpoint


def _query(request: Request) -> dict[str, object]:
    """Return the parameters of a GET; a parameter that is given several times is a list."""
    query = request.query_params
    lists = {name: query.getlist(name) for name in query}
    return {name: values[0] if len(values) == 1 else values for name, values in lists.items()}


async def _body(request: Request) -> dict[str, Any] | Failure:
    raw = await request.body()
    try:
        found = json.loads(raw or b"{}")
    except ValueError:  # ``UnicodeDecodeError`` is one
        found = None
    except RecursionError:
        found = None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else Failure(400, "The body is no JSON object.")


def _answered(found: BaseModel) -> Response:
    return Response(found.model_dump_json(by_alias=True, exclude_unset=True), media_type="application/json")


def _refused(request: Request, failure: Failure) -> Response:
    return response_of(failure, request.state.request_id)


# Listening: the address of a server, the callers that it admits, and its log.

BURST: Final = 4.0
"""Seconds of its rate that a token may use at once."""

HEAD_SECONDS: Final = 15.0
"""Seconds in which a client has to send the head of a request; then its connection is closed."""


def door_of(connection: Connection, host: str, namespace: str | None, rate: float, request_bytes: int) -> Door:
    """Return the rules of admission for a server at ``host``.

    If there is a valid token, callers need one. Otherwise only programs on this machine are admitted. Raises ``Refused`` if that would
    expose memory to other machines, or if the namespace is not given.
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
            "`slowwave tokens new NAME` makes one. Nothing was served."
        )
    if namespace is None:
        raise Refused(
            "There is no valid token, so name the namespace to serve: `slowwave serve NAMESPACE`. Nothing was served."
        )
    return Door(open_to=namespace, rate=limit, request_bytes=request_bytes)  # the rate holds once there is a token


def listener(host: str, port: int) -> socket.socket:
    """Open a socket that listens at ``host`` and ``port`` (0: any free port). Raises ``StoreError`` if it cannot."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=128)
    except (OSError, OverflowError):
        raise StoreError(
            f"{host}:{port} cannot be listened on: it is in use, or no address of this machine. Choose another --port or --host."
        ) from None


def serve(store: Store, door: Door, bound: socket.socket) -> None:
    """Serve memory to agents on a socket until the process is asked to stop."""
    from slowwave.wiki.serving.answering import Answering

    answer(http_app(Answering(store), door), bound)


def answer(app: ASGIApp, bound: socket.socket) -> None:
    """Run an app on a socket until the process is asked to stop."""
    import uvicorn

    keep_quiet()
    # No access log, because its lines would contain requests. Addresses in a proxy's headers are not trusted: a client is the peer address.
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
    with suppress(KeyboardInterrupt):  # uvicorn raises the signal that ended it again, once all requests are answered
        uvicorn.Server(config).run(sockets=[bound])


def limited_protocol(seconds: float = HEAD_SECONDS) -> type[asyncio.Protocol]:
    """Return uvicorn's HTTP protocol with a limit on the time in which the head of a request must arrive.

    uvicorn itself closes idle connections between two requests, but waits without limit for the rest of a head.
    """
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    class LimitedProtocol(AutoHTTPProtocol):  # type: ignore[misc,valid-type]
        """A protocol that closes the connection of a client that does not finish a head in time."""

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
            # The request's head is complete, and the request is being answered.
            if cycle is not None and not cycle.response_complete:
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


def keep_quiet() -> None:
    """Log our own lines to standard error, and other loggers only if their lines cannot contain requests or answers."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("slowwave").setLevel(logging.INFO)
    for name in ("mcp", "httpx2", "sse_starlette"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
