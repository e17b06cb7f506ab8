"""MCP over HTTP as an ASGI app that loads the protocol's SDK at its first request."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from anyio import TASK_STATUS_IGNORED, Lock, create_task_group, sleep_forever, to_thread
from anyio.abc import TaskGroup, TaskStatus
from starlette.types import Receive, Scope, Send

from slowwave.wiki.serving.answering import Answering
from slowwave.wiki.serving.tokens import Caller

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.requests import Request


# MCP over streamable HTTP as an ASGI app. It is loaded by the first request, because the SDK of the protocol takes as long to load as
# everything else together.


@dataclass(slots=True)
class McpRoute:
    """An ASGI app that answers MCP messages of at most ``request_bytes`` while ``running`` is active."""

    answering: Answering
    request_bytes: int
    _lock: Lock = field(default_factory=Lock)
    _tasks: TaskGroup | None = None
    _sessions: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Keep the sessions available while the server runs, and end them when it stops."""
        async with create_task_group() as self._tasks:
            yield
            self._tasks.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        async with self._lock:
            if self._sessions is None:
                assert self._tasks is not None, "it answers while it runs"  # noqa: S101
                self._sessions = cast("StreamableHTTPSessionManager", await self._tasks.start(self._kept))
        await self._sessions.handle_request(scope, receive, send)

    async def _kept(self, *, task_status: TaskStatus[StreamableHTTPSessionManager] = TASK_STATUS_IGNORED) -> None:
        """Run the session manager of the SDK, which must be started and stopped in one task."""
        sessions = await to_thread.run_sync(self._made)
        async with sessions.run():
            task_status.started(sessions)
            await sleep_forever()

    def _made(self) -> StreamableHTTPSessionManager:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from slowwave.wiki.serving.mcp_server import mcp_server  # the SDK takes as long to load as the rest

        # Stateless, because each request brings its token and none may use a session that another one opened. Each answer is one JSON
        # object.
        server = mcp_server(self.answering, _caller_of)
        return StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, max_request_body_size=self.request_bytes
        )


def _caller_of(context: ServerRequestContext[Any, Any]) -> Caller:
    """Return the caller that the gate admitted with the HTTP request of a message."""
    return cast("Request", context.request).state.caller
