"""Texts that screening has read already: each distinct text is screened once in a night."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import blake2b
from typing import Final

from slowwave.text.findings import Detection

# Cache of screening results and text keys: within a night each distinct text is screened once for all callers.
#
# The audit, the planners and the final check of the night's outcome read the same memories. The cache holds a digest of each text and the
# findings, or that there were none, but never the text. Only for short columns it holds the text and its key (``slowwave.text.keys``).

Findings = tuple[Detection, ...]

_KNOWN: Final[ContextVar[dict[bytes, Findings] | None]] = ContextVar("screened", default=None)
_KEYS: Final[ContextVar[dict[str, str] | None]] = ContextVar("keys", default=None)
_CLEAN: Final[ContextVar[set[bytes] | None]] = ContextVar("clean", default=None)

_MOST: Final = 200_000
"""Maximum number of texts that are remembered as clean, about 100 bytes each."""


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
    """Return the findings so far by ``text_key`` of the text; None if nothing is remembered."""
    return _KNOWN.get()


def known_keys() -> dict[str, str] | None:
    """Return the keys computed so far, by text; None if nothing is remembered."""
    return _KEYS.get()


def is_clean(text: str) -> bool:
    """Return whether a text is noted as having nothing to mask before it is quoted."""
    remembered = _CLEAN.get()
    return bool(remembered) and text_key(text) in remembered


def note_clean(text: str) -> None:
    """Remember that nothing of a text has to be marked."""
    remembered = _CLEAN.get()
    if remembered is not None:
        if len(remembered) >= _MOST:
            remembered.clear()
        remembered.add(text_key(text))


def text_key(text: str) -> bytes:
    """Return the digest under which a text is remembered; different texts have different digests unless BLAKE2 is broken."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
