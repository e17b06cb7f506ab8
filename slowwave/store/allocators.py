"""Settings of the C allocator that let a process give memory back, chosen before any thread starts."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from typing import Final

_ARENA_MAX: Final = -8
"""glibc's number of ``M_ARENA_MAX``."""


def trimmable() -> None:
    """Use one malloc arena for all threads and child processes, and the C library's allocator for Arrow.

    Threads of a server then reuse what another one allocated for a search. They do not wait for the heap, because they hold the
    interpreter's lock nearly always. The C library's allocator is meant for kernels of Arrow that are given no pool, with which DuckDB
    scans tables. ``malloc_trim`` does not release the end of other arenas, and Arrow's own pool keeps what its threads freed. Call this
    before Arrow is loaded. Values that the environment already sets are kept; other C libraries than glibc have no arenas.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    if "MALLOC_ARENA_MAX" not in os.environ:
        os.environ["MALLOC_ARENA_MAX"] = "1"
        with suppress(AttributeError, OSError, TypeError):
            ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)
