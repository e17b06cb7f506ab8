"""One huge namespace: the memory that its night takes, and its candidate search in tiles by several processes."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.context import BaseContext
from typing import Final, TypeVar

from psycopg import sql

from slowwave.bindings.connect import noted_rows
from slowwave.errors import NightFailed, Refused
from slowwave.matching.tiles import Run
from slowwave.operations import PLANNERS, Inputs
from slowwave.operations.registry import skip_reason
from slowwave.operations.setting_names import check_settings
from slowwave.snapshots.export import tight_memory
from slowwave.snapshots.files import load_snapshot
from slowwave.snapshots.tiles import Saved, Tile, found_in, remove_tiles, search_tile
from slowwave.store.connect import Store
from slowwave.store.namespaces import namespace_id
from slowwave.store.settings import Settings
from slowwave.store.tables import few_collections
from slowwave.text.tokens import counted_rows

# How much memory a night takes, from the number of rows.
#
# ``slowwave night`` over 10,000 and 40,000 generated entities, each with three relationships, a memory and a fact, peaked at 635 and
# 1,202 MB (resident, commit 6c5b7cec): 446 MB and 18.9 kB for each entity with its rows. How these 18.9 kB divide among the tables was
# not measured; it follows the size of their rows. Tiles do not lower the peak of the process that plans (``make bench-tiles``). One that
# searches tiles takes less, so it is not estimated.

_GIB: Final = 1 << 30
_BASE: Final = 446e6
_BYTES: Final = {"entities": 6_500, "relationships": 1_250, "memories": 6_500, "memory_facts": 2_150}


def needed_bytes(rows: Mapping[str, int]) -> float:
    """Return the estimated peak memory of the process that plans a night, in bytes, from the rows of each table."""
    return _BASE + sum(_BYTES.get(name, 0) * n for name, n in rows.items())


def refuse_too_large(store: Store, namespace: str) -> None:
    """Raise ``Refused`` if a night is estimated to need more than ``worker_memory_gib``; without the setting nothing is counted."""
    limit = Settings.for_namespace({}).worker_memory_gib
    if not limit:
        return
    rows = count_rows(store, namespace)
    needed = needed_bytes(rows) / _GIB
    if needed > limit:
        many = ", ".join(counted_rows(n, name) for name, n in rows.items() if n)
        raise Refused(
            f"The night of {namespace} ({many}) is estimated to need {needed:.2f} GiB in one process, and SLOWWAVE_WORKER_MEMORY_GIB is "
            f"{limit:g}. Nothing was planned. Run it on a worker with that much memory and set the variable there, or divide the memory "
            "into several namespaces."
        )


def count_rows(store: Store, namespace: str) -> dict[str, int]:
    """Count the rows on which the memory of a night depends, those of a connected store as memories.

    Cost: an index scan of four tables.
    """
    with store.connect("reader") as connection:
        id_ = namespace_id(connection, namespace)
        found: dict[str, int] = {}
        for name in _BYTES:
            count = sql.SQL("SELECT count(*) FROM {} WHERE namespace_id = %s").format(sql.Identifier("memory", name))
            row = connection.execute(count, (id_,)).fetchone()
            found[name] = int(str(row[0])) if row else 0
    found["memories"] += sum(rows for _, _, rows in noted_rows(store, [namespace]))
    return found


# Tiles in processes: one process prepares the searches, several search the tiles, and this one joins what they found.
#
# The same three steps are ops of ``tiled_night_job`` in Dagster.

TILES_PER_PROCESS: Final = 4
"""Tiles of each search for each process, so that none waits long for another at the end."""

T = TypeVar("T")


@few_collections()
@tight_memory()
def save_searches(location: str, settings: Mapping[str, object], ops: Collection[str] | None, count: int) -> list[Tile]:
    """Save the searches of a night over the snapshot at ``location``, each in up to ``count`` tiles; return all tiles.

    ``settings`` are those of the namespace in this night, and ``ops`` its operations as in ``run_night``.
    """
    snapshot = replace(load_snapshot(location), settings=settings)
    saved = Saved(location, count)
    inputs = Inputs(snapshot, {}, check_settings(settings), ops=ops, search=saved)
    for planner in PLANNERS.values():
        if not skip_reason(planner, inputs.settings, ops):
            planner.find_searches(inputs)
    return saved.tiles


@contextmanager
def searched_in_processes(
    location: str, settings: Mapping[str, object], ops: Collection[str] | None, jobs: int
) -> Generator[Run]:
    """Search all tiles of a night in ``jobs`` processes; yield the ``Run`` that joins them, and remove them at the end.

    Raises ``NightFailed`` if a process ends before its tile is searched.
    """
    try:
        with processes(1) as pool:
            saved = _result(pool, [(save_searches, (location, settings, ops, TILES_PER_PROCESS * jobs))])[0]
        if saved:
            with processes(min(jobs, len(saved))) as pool:
                _result(pool, [(search_tile, (tile,)) for tile in saved])
        yield found_in(saved)
    finally:
        remove_tiles(location)


def _result(pool: ProcessPoolExecutor, calls: Sequence[tuple[Callable[..., T], tuple[object, ...]]]) -> list[T]:
    asked = {pool.submit(work, *arguments): place for place, (work, arguments) in enumerate(calls)}
    found: dict[int, T] = {}
    try:
        for done in as_completed(asked):
            found[asked[done]] = done.result()
    except BrokenProcessPool:
        raise NightFailed(
            "A process of the candidate search was ended from outside, for want of memory perhaps. Nothing was planned. Run the night "
            "again, with fewer --jobs or on a machine with more memory."
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return [found[place] for place in range(len(calls))]


# Processes of a night. On Linux they are forked from one that has loaded what all of them need (``slowwave.night.preloaded``): it is loaded
# once, takes its memory once, and stays until this process ends. Elsewhere, where forking is not safe, each process loads it.

_PRELOADED: Final = "slowwave.night.preloaded"


def processes(jobs: int) -> ProcessPoolExecutor:
    """Return a pool of processes with the environment that this process has now."""
    return ProcessPoolExecutor(jobs, mp_context=_context(), initializer=_in_environment, initargs=(dict(os.environ),))


def _context() -> BaseContext:
    """Return the multiprocessing context.

    On Linux, processes are forked from a server process with a single thread, never from this one.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([_PRELOADED])
    return context


def _in_environment(variables: Mapping[str, str]) -> None:
    """Give this process the current environment variables of the process that asked for it.

    The process that it was forked from may have been started with others.
    """
    os.environ.clear()
    os.environ.update(variables)
