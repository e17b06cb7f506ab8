"""BLAS on one thread, while products run beside each other or are too small for threads.

Finding the loaded libraries takes longer than multiplying a small block, so it is done once a process. A search that multiplies many
blocks enters ``one_thread`` around them all; entering it again inside costs a microsecond.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, Final

from threadpoolctl import ThreadpoolController

_LOCK: Final = Lock()
_held: list[Any] = []
"""The limits that are in force, the first of which set the libraries: one for each search that is inside."""


@contextmanager
def one_thread() -> Generator[None]:
    """One thread for every product of this process, until the last of those inside has left."""
    with _LOCK:
        _held.append(_held[0] if _held else _controller().limit(limits=1))
    try:
        yield
    finally:
        with _LOCK:
            limit = _held.pop()
            if not _held:
                limit.restore_original_limits()


@cache
def _controller() -> Any:
    """The BLAS libraries of this process. NumPy's is loaded by whoever multiplies."""
    return ThreadpoolController().select(user_api="blas")
