"""The memory that a process holds without using it.

Allocators keep what was freed. Between the steps of a night it is handed back to the system, so that the peak of a night is that of its
largest step and not the sum of all; that costs milliseconds. Arrow's own pool gives back little, so a night allocates by the C library's.
What only the program as a whole can choose it chooses where it begins (``slowwave.store.allocators``).
"""

from __future__ import annotations

import ctypes
import ctypes.util
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, Final

import pyarrow as pa

from slowwave.snapshots.files import let_go

_LOCK: Final = Lock()
SELDOM: Final = 0.25
"""Seconds between two looks."""

_released = -SELDOM
_inside: list[pa.MemoryPool] = []
"""For each that is inside, the pool to which the last of them returns."""


def release() -> None:
    """Give back what is free, and the pages of snapshots, which are read again where they are needed.

    Not again within a quarter of a second: the steps of a small namespace free little, and each look takes a millisecond.
    """
    global _released
    now = time.monotonic()
    if now - _released < SELDOM:
        return
    _released = now
    let_go()
    pa.default_memory_pool().release_unused()
    if trim := _trim():
        trim(0)


@contextmanager
def tight_memory() -> Generator[None]:
    """Arrow allocates by the C library where ``release`` can trim it, until the last of those inside has left."""
    with _LOCK:
        before = _inside[0] if _inside else pa.default_memory_pool()
        _inside.append(before)
        if _trim():
            pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        with _LOCK:
            _inside.pop()
            if not _inside:
                pa.set_memory_pool(before)


@cache
def _trim() -> Any:
    """glibc's ``malloc_trim``; other C libraries have none and need none."""
    try:
        return ctypes.CDLL(ctypes.util.find_library("c")).malloc_trim
    except (AttributeError, OSError):
        return None
