"""What nights write beside the words of a memory, in brackets: dates ("(2026-05-02)"), until when a sentence held, what was told later.

What the memory tells is its text without them. When dates are written belongs to ``slowwave.text.dates``, when sentences are marked to
``slowwave.operations.conflicts.memories``.
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
    """What a text tells, without what nights wrote beside it."""
    return _WRITTEN.sub("", text)
