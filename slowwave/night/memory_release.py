"""The memory that a process holds without using it.

Arrow's pool and the C library keep what was freed. Between the steps of a night it is handed back to the system, so that the peak of a
night is that of its largest step and not the sum of all; that costs milliseconds.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from functools import cache
from typing import Any

import pyarrow as pa

from slowwave.snapshots.files import let_go


def release() -> None:
    """Give back what is free, and the pages of snapshots, which are read again where they are needed."""
    let_go()
    pa.default_memory_pool().release_unused()
    if trim := _trim():
        trim(0)


@cache
def _trim() -> Any:
    """glibc's ``malloc_trim``; other C libraries have none and need none."""
    try:
        return ctypes.CDLL(ctypes.util.find_library("c")).malloc_trim
    except (AttributeError, OSError):
        return None
