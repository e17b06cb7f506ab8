"""The memory that a process holds without using it, and what looking for it costs.

Arrow's pool and the C library keep what was freed. Between the steps of a night it is handed back to the system, so that the peak of a
night is that of its largest step and not the sum of all; that costs milliseconds. Python looks for cycles among all objects that a
program holds: a night holds millions that have none, and looks seldom.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import gc
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, Final

import pyarrow as pa


def release() -> None:
    """Give back what is free."""
    pa.default_memory_pool().release_unused()
    if trim := _trim():
        trim(0)


SELDOM: Final = (100_000, 50, 100)
"""Thresholds of the garbage collector while a night runs; by default the first is 700."""

_LOCK: Final = Lock()
_inside: list[tuple[int, int, int]] = []
"""For each that is inside, the thresholds to which the last of them returns."""


@contextmanager
def few_collections() -> Generator[None]:
    """Look for cycles seldom, until the last of those inside has left; a process that does so already, or not at all, is left alone."""
    with _LOCK:
        before = _inside[0] if _inside else gc.get_threshold()
        _inside.append(before)
        if 0 < before[0] < SELDOM[0]:
            gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        with _LOCK:
            _inside.pop()
            if not _inside:
                gc.set_threshold(*before)


@cache
def _trim() -> Any:
    """glibc's ``malloc_trim``; other C libraries have none and need none."""
    try:
        return ctypes.CDLL(ctypes.util.find_library("c")).malloc_trim
    except (AttributeError, OSError):
        return None
