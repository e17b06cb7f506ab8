"""Coroutines of the Python API: they leave the event loop free, and cancelling one cancels its dream."""

from __future__ import annotations

import asyncio

import pytest

import slowwave
from slowwave.errors import Refused
from slowwave.store.connect import Store
from tests.dreamers import forgetful
from tests.memories import ask


def test_adream_returns_the_result_and_leaves_the_loop_free(store: Store) -> None:
    slug = forgetful(store)
    turns: list[int] = []

    async def both() -> slowwave.DreamResult:
        dreaming = asyncio.create_task(slowwave.adream(slug, ops="gc_references", store=store))
        while not dreaming.done():
            turns.append(1)
            await asyncio.sleep(0)
        return await dreaming

    result = asyncio.run(both())
    assert result.plan_hash
    assert len(turns) > 10


def test_anight_returns_a_plan_and_raises_errors_of_plan(store: Store) -> None:
    slug = forgetful(store)
    assert asyncio.run(slowwave.anight(slug, ops="gc_references", store=store)).items
    with pytest.raises(Refused, match="nowhere"):
        asyncio.run(slowwave.anight("nowhere", store=store))


def test_cancelled_task_of_adream_cancels_the_run_and_waits_for_its_end(store: Store) -> None:
    slug = forgetful(store)
    seen: list[str] = []

    async def cancelled() -> None:
        began = asyncio.Event()
        loop = asyncio.get_running_loop()

        def watch(progress: slowwave.DreamProgress) -> None:
            seen.append(progress.message)
            loop.call_soon_threadsafe(began.set)

        dreaming = asyncio.create_task(slowwave.adream(slug, store=store, on_progress=watch))
        await began.wait()
        dreaming.cancel()
        with pytest.raises(asyncio.CancelledError):
            await dreaming

    asyncio.run(cancelled())
    assert seen
    assert ask(store, "SELECT state FROM night.runs") == [("cancelled",)]
