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
"""Until when a sentence held, or what was told later, with what was said then; "until DAY: …" and "before DAY: …" are former forms."""

WRITTEN: Final = f"(?:{BESIDE}|{LATER})"
"""All that nights write beside; RE2 and PostgreSQL read it as well."""

_WRITTEN: Final = re.compile(WRITTEN)


def own_text(text: str) -> str:
    """Return a text without the annotations that nights wrote into it."""
    return _WRITTEN.sub("", text)
