"""Coroutines of the Python API, for programs that must not block their event loop: ``await slowwave.adream("acme")``."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

from slowwave.errors import Refused
from slowwave.surfaces.api.dreams import DreamProgress, dream, dream_cancel
from slowwave.surfaces.api.plan import plan

_POLL: Final = 0.2  # seconds between two looks for a run to cancel

P = ParamSpec("P")
R = TypeVar("R")


def _in_thread(function: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return a coroutine function that runs ``function`` in a thread, with the same arguments, result and errors."""

    @wraps(function)
    async def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(function, *args, **kwargs)

    return call


def _cancelling(function: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return a coroutine function like ``_in_thread``; when its task is cancelled, it cancels the dream and waits until it has ended."""

    @wraps(function)
    async def call(*args: P.args, **kwargs: P.kwargs) -> R:
        given: Any = kwargs
        runs: dict[str, None] = {}
        watch: Callable[[DreamProgress], None] | None = given.get("on_progress")

        def see(progress: DreamProgress) -> None:
            runs[progress.run_id] = None
            if watch:
                watch(progress)

        given["on_progress"] = see
        working = asyncio.create_task(asyncio.to_thread(function, *args, **kwargs))
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            cancelled: set[str] = set()
            while not working.done():  # its run, or that of its apply, may not have begun
                for run_id in set(runs) - cancelled:
                    cancelled.add(run_id)
                    with contextlib.suppress(Refused):  # it is over
                        await asyncio.to_thread(dream_cancel, run_id, store=given.get("store"))
                await asyncio.wait([working], timeout=_POLL)
            raise

    return call


adream = _cancelling(dream)
anight = _in_thread(plan)
