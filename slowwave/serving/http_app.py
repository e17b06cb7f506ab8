"""The ASGI app: a route for each call, the stream of changes, the OpenAPI page, metrics, health, and MCP over HTTP under /mcp."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

from anyio import CapacityLimiter, WouldBlock
from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from slowwave.serving.answering import Answering
from slowwave.serving.calls import CALLS, Call
from slowwave.serving.failures import Failure, invalid
from slowwave.serving.gate import Door, Gate, response_of
from slowwave.serving.mcp_route import McpRoute
from slowwave.serving.openapi import openapi
from slowwave.serving.stream import EACH, MOST, StreamRequest, events
from slowwave.serving.tokens import Caller


def http_app(answering: Answering, door: Door) -> Starlette:
    """The app of a store for those whom ``door`` lets in."""
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
        told = {
            404: "There is no such route; /openapi.json lists those there are.",
            405: f"This route takes {allowed}.",
        }
        return _refused(request, Failure(found.status_code, told.get(found.status_code, found.detail)))

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
    """Events as they happen; calls ``ended`` when the stream is over, also if its client left before the first one."""

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
    """Parameters of a GET; one that is said several times is a list."""
    said = request.query_params
    lists = {name: said.getlist(name) for name in said}
    return {name: values[0] if len(values) == 1 else values for name, values in lists.items()}


async def _body(request: Request) -> dict[str, Any] | Failure:
    raw = await request.body()
    try:
        found = json.loads(raw or b"{}")
    except ValueError:  # UnicodeDecodeError among them
        found = None
    except RecursionError:
        found = None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else Failure(400, "The body is no JSON object.")


def _answered(found: BaseModel) -> Response:
    return Response(found.model_dump_json(by_alias=True, exclude_unset=True), media_type="application/json")


def _refused(request: Request, failure: Failure) -> Response:
    return response_of(failure, request.state.request_id)
