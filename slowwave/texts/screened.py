"""What screening has found in texts already, and their keys: within a night each distinct text is read once, whoever asks.

The audit, the planners and the second look at the night's outcome read the same memories. Kept is a digest of each text and what was
found, or that nothing was, and never the text; of texts in short columns, the text and its key (``slowwave.texts.keys``). What is found
belongs to ``slowwave.texts.screening``.
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
_KEYS: Final[ContextVar[dict[str, str] | None]] = ContextVar("keys", default=None)
_CLEAN: Final[ContextVar[set[bytes] | None]] = ContextVar("clean", default=None)

_MOST: Final = 200_000
"""Texts that are remembered as clean, some 100 bytes each."""


@contextmanager
def each_text_once() -> Generator[None]:
    """Remember what was found until the outermost of these ends: some 120 bytes a text."""
    if _KNOWN.get() is not None:
        yield
        return
    token, keys, clean = _KNOWN.set({}), _KEYS.set({}), _CLEAN.set(set())
    try:
        yield
    finally:
        _KNOWN.reset(token)
        _KEYS.reset(keys)
        _CLEAN.reset(clean)


def known() -> dict[bytes, Findings] | None:
    """What was found so far by ``key`` of the text; None where nothing is remembered."""
    return _KNOWN.get()


def known_keys() -> dict[str, str] | None:
    """Text → key of those that were asked for so far; None where nothing is remembered."""
    return _KEYS.get()


def is_clean(text: str) -> bool:
    """Whether it was noted that nothing of a text has to be marked before it is quoted."""
    remembered = _CLEAN.get()
    return bool(remembered) and key(text) in remembered


def note_clean(text: str) -> None:
    """Remember that nothing of a text has to be marked."""
    remembered = _CLEAN.get()
    if remembered is not None:
        if len(remembered) >= _MOST:
            remembered.clear()
        remembered.add(key(text))


def key(text: str) -> bytes:
    """What a text is remembered by: no two texts have the same, unless somebody breaks BLAKE2."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
