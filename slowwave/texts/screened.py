"""What screening has found in texts already: within a night each distinct text is read once, whoever asks.

The audit, the planners and the second look at the night's outcome read the same memories. Kept is a digest of each text and what was
found, never the text. What is found belongs to ``slowwave.texts.screening``.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import blake2b
from typing import Final

from slowwave.texts.findings import Detection

Findings = tuple[Detection, ...]

_KNOWN: Final[ContextVar[dict[bytes, Findings] | None]] = ContextVar("screened", default=None)


@contextmanager
def each_text_once() -> Generator[None]:
    """Remember what was found until the outermost of these ends: some 120 bytes a text."""
    if _KNOWN.get() is not None:
        yield
        return
    token = _KNOWN.set({})
    try:
        yield
    finally:
        _KNOWN.reset(token)


def known() -> dict[bytes, Findings] | None:
    """What was found so far by ``key`` of the text; None where nothing is remembered."""
    return _KNOWN.get()


def key(text: str) -> bytes:
    """What a text is remembered by: no two texts have the same, unless somebody breaks BLAKE2."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
