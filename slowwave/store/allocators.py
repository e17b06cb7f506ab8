"""Allocators whose free memory can be given back (``slowwave.snapshots.memory_release``), chosen before any thread begins."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from typing import Final

_ARENA_MAX: Final = -8
"""glibc's number of ``M_ARENA_MAX``."""


def trimmable() -> None:
    """One arena for all threads of this process and of those that it starts, and the C library's allocator for kernels of Arrow that are
    given no pool, with which DuckDB scans tables.

    ``malloc_trim`` leaves the end of each other arena as it is, and Arrow's own pool keeps what its threads freed. It has to come before
    Arrow is loaded. Who has set either in the environment keeps it; other C libraries have no arenas.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    if "MALLOC_ARENA_MAX" not in os.environ:
        os.environ["MALLOC_ARENA_MAX"] = "1"
        with suppress(AttributeError, OSError, TypeError):
            ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)
