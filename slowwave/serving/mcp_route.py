"""MCP over streamable HTTP as an ASGI app that is loaded by the first who asks: the protocol's SDK takes as long as all else together."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from anyio import TASK_STATUS_IGNORED, Lock, create_task_group, sleep_forever, to_thread
from anyio.abc import TaskGroup, TaskStatus
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from slowwave.serving.answering import Answering
from slowwave.serving.tokens import Caller

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


@dataclass(slots=True)
class McpRoute:
    """Answers MCP messages of at most ``request_bytes``, within ``running``."""

    answering: Answering
    request_bytes: int
    _lock: Lock = field(default_factory=Lock)
    _tasks: TaskGroup | None = None
    _sessions: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """As long as the server runs."""
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
        """What the SDK runs its sessions in, begun and ended in one task."""
        sessions = await to_thread.run_sync(self._made)
        async with sessions.run():
            task_status.started(sessions)
            await sleep_forever()

    def _made(self) -> StreamableHTTPSessionManager:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from slowwave.serving.mcp_server import mcp_server

        # Each request brings its token, so that none stands on a session that another opened; and answers are single.
        server = mcp_server(self.answering, _caller_of)
        return StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, max_request_body_size=self.request_bytes
        )


def _caller_of(context: ServerRequestContext[Any, Any]) -> Caller:
    """Whom the gate let in with the request that carried the message."""
    return cast("Request", context.request).state.caller
