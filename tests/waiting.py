"""How tests wait: for a condition, as long as a loaded machine may need, and never for a time that should suffice."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


def until(seen: Callable[[], _T], *, seconds: float = 120, pause: float = 0.02) -> _T:
    """The first true value of ``seen``, asked every ``pause`` seconds; where it never comes, the test fails after ``seconds``."""
    end = time.monotonic() + seconds
    while not (found := seen()):
        assert time.monotonic() < end, f"it never came so far: {found!r}"
        time.sleep(pause)
    return found
