"""Python's garbage collector, while many rows are read.

It looks for cycles among all objects that a program holds. A night, or the reading of a large plan, holds millions that have none.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock
from typing import Final

SELDOM: Final = (100_000, 50, 100)
"""Thresholds of the garbage collector while many rows are read; by default the first is 700."""

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
