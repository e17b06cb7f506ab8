"""Nights of many namespaces in several processes: each takes shares of them, one after another, as long as there are any.

A night of a small namespace is the work of one core, so a second process halves the wait, and takes as much memory again. What a share
comes to is what its nights come to in one process.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

from slowwave.errors import SlowwaveError, StoreError
from slowwave.night.outcome import Night

Found = list[tuple[str, Night | SlowwaveError]]


def in_processes(
    jobs: int, shares: Sequence[Sequence[str]], work: Callable[[Sequence[str]], Found]
) -> Iterator[tuple[str, Night | SlowwaveError]]:
    """What ``work`` finds for each share, in the order in which they are done. ``work`` is sent to other processes, and so is what it
    finds. Where one of them was ended from outside, those that it had not told are failures; their runs end as those of any process
    that is gone, by their heartbeats.
    """
    with ProcessPoolExecutor(min(jobs, len(shares)) or 1, mp_context=multiprocessing.get_context("spawn")) as pool:
        asked: dict[Future[Found], Sequence[str]] = {pool.submit(work, share): share for share in shares}
        for done in as_completed(asked):
            try:
                yield from done.result()
            except BrokenProcessPool:
                gone = StoreError(
                    "A process of this night was ended from outside, for want of memory perhaps. Nothing was applied; run the night "
                    "again, with fewer --jobs."
                )
                yield from ((name, gone) for name in asked[done])
