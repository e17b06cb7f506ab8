"""Texts that screening has read already: each distinct text is screened once in a night."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

from slowwave.text.findings import Detection

# Within a night each distinct text is screened once for all callers.
#
# The audit, the planners and the final check of the night's outcome read the same memories. Screening, quoting and keys are called at more
# than a hundred places, most of them far from the night, so the context is not passed to them.

Findings = tuple[Detection, ...]

_MOST: Final = 200_000
"""Maximum number of texts that are remembered as clean, about 100 bytes each."""


@dataclass(frozen=True, slots=True)
class RememberedTexts:
    """Results for the texts that a night has read.

    ``findings`` maps the ``text_key`` of a screened text to its findings, and ``clean`` holds the ``text_key`` of each text that can be
    quoted as it is. ``languages`` maps the ``text_key`` of a text to its language (``slowwave.text.languages``). None of them holds the
    text. ``keys`` maps the texts of short columns to their keys (``slowwave.text.keys``).
    """

    findings: dict[bytes, Findings] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    clean: set[bytes] = field(default_factory=set)
    languages: dict[bytes, str] = field(default_factory=dict)

    def note_clean(self, text: str) -> None:
        """Remember that a text can be quoted as it is."""
        if len(self.clean) >= _MOST:
            self.clean.clear()
        self.clean.add(text_key(text))


_remembered: Final[ContextVar[RememberedTexts | None]] = ContextVar("remembered", default=None)


@contextmanager
def each_text_once() -> Generator[None]:
    """Remember what was found until the outermost of these ends: some 120 bytes a text."""
    if _remembered.get() is not None:
        yield
        return
    token = _remembered.set(RememberedTexts())
    try:
        yield
    finally:
        _remembered.reset(token)


def remembered_texts() -> RememberedTexts | None:
    """Return the results so far, or None outside ``each_text_once``."""
    return _remembered.get()


def text_key(text: str) -> bytes:
    """Return the digest under which a text is remembered; different texts have different digests unless BLAKE2 is broken."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
