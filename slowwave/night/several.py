"""Nights of many namespaces, in this process or in several."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Final

import pyarrow as pa

from slowwave.bindings.connect import noted_rows
from slowwave.errors import NightFailed, SlowwaveError, StoreError
from slowwave.night.night import Finished, NightContext, Progress, Tiles, run_night
from slowwave.night.run_events import Level, in_words
from slowwave.night.runs import Night, unchanged
from slowwave.night.tiles import processes
from slowwave.plans.seal import DreamScope
from slowwave.snapshots.export import export_snapshots
from slowwave.snapshots.files import database_base
from slowwave.snapshots.models import one_database
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.logins import handed_on
from slowwave.store.namespaces import namespace_settings
from slowwave.store.tables import few_collections
from slowwave.text.keys import note_keys
from slowwave.text.prefilter import read_together
from slowwave.text.screened import each_text_once

# Nights of many namespaces in several processes: each process takes shares of them, one after another, until none is left.
#
# A night of a small namespace is the work of one core, so a second process halves the time. The result of a share is the same as that of
# its nights in one process.

Found = list[tuple[str, Night | SlowwaveError]]


def in_processes(
    jobs: int, shares: Sequence[Sequence[str]], work: Callable[[Sequence[str]], Found]
) -> Iterator[tuple[str, Night | SlowwaveError]]:
    """Yield the results of ``work`` for each share, in the order in which they are finished.

    ``work`` and its results are sent between processes. If a process is ended from outside, the results that it had not returned become
    failures. Their runs end through their heartbeats, as those of any lost process do.
    """
    with processes(min(jobs, len(shares)) or 1) as pool:
        asked: dict[Future[Found], Sequence[str]] = {pool.submit(work, share): share for share in shares}
        for done in as_completed(set(asked)):
            names = asked.pop(done)  # this also releases its plans once they are reported
            try:
                yield from done.result()
            except BrokenProcessPool:
                gone = StoreError(
                    "A process of this night was ended from outside, for want of memory perhaps, or never began, as in a script that "
                    "asks for nights outside `if __name__ == '__main__':`. Nothing was applied; run the night again, with fewer --jobs."
                )
                yield from ((name, gone) for name in names)
            except Exception as problem:  # noqa: BLE001 - the other shares follow, whatever it is
                lost = NightFailed(
                    f"A process of this night could not report its nights ({in_words(problem, 'all')}). `slowwave plans list` "
                    "lists plans that they wrote. Run the night again, with --jobs 1."
                )
                yield from ((name, lost) for name in names)


# Nights of many namespaces, in this process or in several. Small namespaces of one connected store are read together.
#
# A store may have thousands of users and no index by user: read one by one, each would take a pass over the whole table. Checks of the
# store itself (whether its texts may be rewritten) are made once. Each plan is still one namespace's, and is the same that a night of that
# namespace alone would have sealed.

SMALL: Final = 2_000
"""The most rows of a namespace that is read together with others."""

AT_ONCE: Final = 20_000
"""The most rows that are read together: with vectors of 1,536 numbers about 130 MB."""

SHARES: Final = 2
"""The number of parts of those rows for each of several processes, so that none waits long for another at the end."""


def run_nights(
    store: Store,
    namespaces: Sequence[str],
    *,
    force: bool = False,
    ops: str | Collection[str] | None = None,
    scope: DreamScope | None = None,
    now: datetime | None = None,
    wait: float = 0.0,
    reason: str = "",
    progress: Callable[[str], Progress] | None = None,
    done: Finished | None = None,
    jobs: int = 1,
    trigger: str = "manual",
    dagster_run_id: str = "",
    since: datetime | None = None,
    tiles: Tiles | None = None,
) -> Iterator[tuple[str, Night | SlowwaveError]]:
    """Run a night for each namespace and yield it, or the error that prevented it; a failure does not stop the others.

    ``force``, ``ops``, ``scope``, ``now``, ``wait``, ``reason``, ``trigger``, ``dagster_run_id`` and ``since`` are those of ``run_night``.

    Namespaces that are read together are yielded together, otherwise the given order is kept. With more than one process (``jobs``) the
    nights are yielded as they finish.

    For a single namespace, ``jobs`` processes search its candidates (``slowwave.night.tiles``), and ``tiles`` are those that were searched
    already.

    With one process, ``progress`` returns the callback for the steps of a namespace's night, given its name. ``done`` is called with each
    night that made a plan, and is sent to other processes if there are any. For more than one namespace, the caller must have noted the
    changes of connected stores (``slowwave.bindings.connect.note_changes``).
    """
    noted = len(namespaces) > 1
    night = partial(
        run_night,
        store,
        force=force,
        trigger=trigger,
        ops=ops,
        scope=scope,
        dagster_run_id=dagster_run_id,
        now=now,
        wait=wait,
        reason=reason,
        done=done,
        since=since,
        jobs=1 if noted else jobs,
        tiles=tiles,
    )
    skips = not (force or ops is not None or scope is not None or now is not None)
    if jobs > 1 and noted:
        shares = [names for _, names in _together(store, namespaces, AT_ONCE // (SHARES * jobs))]
        yield from in_processes(jobs, shares, partial(_share, store, night=night, skips=skips))
        return
    yield from _in_turn(store, namespaces, noted=noted, night=night, skips=skips, progress=progress)


def night_failure(store: Store, namespace: str, problem: Exception) -> SlowwaveError:
    """Return why there was no night of a namespace.

    An unexpected error is described without text of memory.
    """
    if isinstance(problem, SlowwaveError):
        return problem
    level: Level = "all"
    with suppress(Exception), store.connect("reader") as connection:
        level = namespace_settings(connection, namespace).redact_text
    failure = NightFailed(
        f"The night ended with an error that Slowwave did not expect ({in_words(problem, level)}). Nothing of it was planned, and other "
        f"namespaces are not affected. `slowwave night {shlex.quote(namespace)}` alone shows the whole error: please report it."
    )
    failure.__cause__ = problem
    return failure


def _share(store: Store, names: Sequence[str], *, night: Callable[..., Night], skips: bool) -> Found:
    """Run the nights of a share, in the process that it was sent to."""
    return list(_in_turn(store, names, noted=True, night=night, skips=skips))


def _in_turn(
    store: Store,
    namespaces: Sequence[str],
    *,
    noted: bool,
    night: Callable[..., Night],
    skips: bool,
    progress: Callable[[str], Progress] | None = None,
) -> Iterator[tuple[str, Night | SlowwaveError]]:
    """Yield the result of ``night`` for each namespace; ``skips`` is whether it skips namespaces that have not changed."""
    with each_text_once(), few_collections(), one_database() as kept:
        context = NightContext(noted, kept=kept)
        for of, names in _together(store, namespaces, AT_ONCE):
            read: Mapping[str, Snapshot] = {}
            with suppress(Exception):  # the night of each namespace, which then reads it alone, reports the reason
                due = [name for name in names if not (skips and unchanged(store, name))] if of else []
                read = export_snapshots(store, of, due) if len(due) > 1 else {}
            base = database_base(store) if read else ""
            with _read_together(read.values()):
                for name in names:
                    tell = progress(name) if progress else None
                    try:
                        with handed_on() if noted else nullcontext():
                            shared = replace(context, snapshot=read.get(name), base=base)
                            found = night(name, progress=tell, context=shared)
                    except Exception as problem:
                        if not (noted or isinstance(problem, SlowwaveError)):
                            raise  # for a single namespace the full error is shown
                        yield name, night_failure(store, name, problem)
                    else:
                        yield name, found


@contextmanager
def _read_together(snapshots: Collection[Snapshot]) -> Generator[None]:
    """Scan the memories and passages of several namespaces at once, for screening and for the patterns that their nights use."""
    from slowwave.text.screening import note_plain  # its rules take a while to load

    memories, passages = (
        pa.chunked_array(
            [c.cast(pa.large_string()) for s in snapshots for c in s.table(name)["content"].chunks], pa.large_string()
        )
        for name in ("memory_versions", "chunks")
    )
    texts = pa.chunked_array([*memories.chunks, *passages.chunks], pa.large_string())
    if not len(texts):
        yield
        return
    with ExitStack() as shared:
        with suppress(Exception):  # only a speed-up: each namespace's night repeats it and reports errors
            note_keys(memories)
            note_plain(texts)
            shared.enter_context(read_together(texts))
        yield


def _together(store: Store, namespaces: Sequence[str], at_once: int) -> Iterator[tuple[str, list[str]]]:
    """Yield (connected store, namespaces to read together); a namespace that is read alone has an empty store."""
    small = [(name, of, rows) for name, of, rows in noted_rows(store, namespaces) if rows <= SMALL]
    shared = {name for name, _, _ in small}
    for name in namespaces:
        if name not in shared:
            yield "", [name]
    for of, group in groupby(small, key=lambda row: row[1]):
        names: list[str] = []
        held = 0
        for name, _, rows in group:
            if names and held + rows > at_once:
                yield of, names
                names, held = [], 0
            names.append(name)
            held += rows
        yield of, names
