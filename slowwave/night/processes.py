"""Nights of many namespaces in several processes: each takes shares of them, one after another, as long as there are any.

A night of a small namespace is the work of one core, so a second process halves the wait. On Linux the processes are copies of one that
has loaded what all of them read (``slowwave.night.preloaded``): it is loaded once, takes its memory once, and stays until this process
ends. Elsewhere, where copies are not safe, each loads it for itself. What a share comes to is what its nights come to in one process.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import BaseContext
from typing import Final

from slowwave.errors import NightFailed, SlowwaveError, StoreError
from slowwave.night.outcome import Night
from slowwave.reports.redaction import in_words

Found = list[tuple[str, Night | SlowwaveError]]

_PRELOADED: Final = "slowwave.night.preloaded"


def in_processes(
    jobs: int, shares: Sequence[Sequence[str]], work: Callable[[Sequence[str]], Found]
) -> Iterator[tuple[str, Night | SlowwaveError]]:
    """What ``work`` finds for each share, in the order in which they are done. ``work`` is sent to other processes, and so is what it
    finds. Where one of them was ended from outside, those that it had not told are failures; their runs end as those of any process
    that is gone, by their heartbeats.
    """
    with ProcessPoolExecutor(
        min(jobs, len(shares)) or 1, mp_context=_context(), initializer=_in_environment, initargs=(dict(os.environ),)
    ) as pool:
        asked: dict[Future[Found], Sequence[str]] = {pool.submit(work, share): share for share in shares}
        for done in as_completed(set(asked)):
            names = asked.pop(done)  # with it go the plans that it holds, once they are told
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


def _context() -> BaseContext:
    """How processes are made here. Copies are of one that has a single thread, never of this one."""
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([_PRELOADED])
    return context


def _in_environment(variables: Mapping[str, str]) -> None:
    """Let this process see the variables that the one which asked sees now: what it is a copy of may have been started under others."""
    os.environ.clear()
    os.environ.update(variables)
