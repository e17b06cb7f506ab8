"""Bracketed annotations that nights write into the text of a memory, and their removal.

The annotations are dates ("(2026-05-02)"), the day until which a sentence held, and what was reported later. The statement of a memory is
its text without them. ``slowwave.text.dates`` decides when dates are written, ``slowwave.operations.conflicts.memories`` when sentences
are marked.
"""

from __future__ import annotations

import re
from typing import Final

from slowwave.text.dates import BESIDE

_DAY: Final = r"\d{4}-\d\d-\d\d"
LATER: Final = rf" \((?:until {_DAY}(?:(?:; then)?: “[^“”]*”)?|later, on {_DAY}: “[^“”]*”|(?:told )?before {_DAY}(?:: “[^“”]*”)?)\)"
"""The day until which a sentence held, or a later statement with its day and text; "until DAY: …" and "before DAY: …" are former
formats."""

WRITTEN: Final = f"(?:{BESIDE}|{LATER})"
"""Every note that nights add to a text; also valid in RE2 and PostgreSQL."""

_WRITTEN: Final = re.compile(WRITTEN)


def own_text(text: str) -> str:
    """Return a text without the annotations that nights wrote into it."""
    return _WRITTEN.sub("", text)
