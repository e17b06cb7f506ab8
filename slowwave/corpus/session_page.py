"""The page of a session as Markdown: its fields as frontmatter, and what was said."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

_UNPRINTABLE: Final = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]")
"""What YAML reads as it stands in an escape alone."""


def session_page(fields: Mapping[str, object], said: str) -> str:
    """A page of fields, those that are None left out, and what was said. The same gives the same, byte for byte."""
    lines = (f"{name}: {_written(value)}\n" for name, value in fields.items() if value is not None)
    return f"---\n{''.join(lines)}---\n\n{said}\n".replace("\0", "")


def _written(value: object) -> str:
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))
