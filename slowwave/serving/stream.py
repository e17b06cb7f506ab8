"""What changes in a namespace, told as it happens (server-sent events): GET /v1/stream.

``status`` at once and after each change: what the call status answers. ``reindex`` before it where memory changed: what is searched is
fresh at commit, so this is when to ask again. ``done`` when the time is over; a client that wants more connects anew.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Final

import anyio
from pydantic import BaseModel, ConfigDict, Field

from slowwave.serving.answering import Answering
from slowwave.serving.calls import CALLS
from slowwave.serving.failures import Failure
from slowwave.serving.namespace_status import changed
from slowwave.serving.tokens import Caller

INTERVAL: Final = 2.0
"""Seconds between two looks."""

MOST: Final = 32
"""Streams of a process at once."""


EACH: Final = 8
"""Streams of one caller at once, so that no caller takes all of them."""


class StreamRequest(BaseModel):
    """How long it lasts."""

    model_config = ConfigDict(extra="forbid")

    seconds: int = Field(default=300, ge=1, le=3_600, description="After which the stream ends.")


async def events(
    answering: Answering,
    caller: Caller,
    request: StreamRequest,
    pause: Callable[[float], Awaitable[None]] = anyio.sleep,
) -> AsyncGenerator[str]:
    """The events of a namespace, as they are sent. A store that does not answer is an ``error`` and the end."""
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
            yield ": still here\n\n"  # a comment: proxies end what says nothing
    yield _event("done", {})


def _event(name: str, data: object) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
