"""The page of a session as Markdown: its fields as frontmatter, and what was said."""

from __future__ import annotations

import json
from collections.abc import Mapping


def session_page(fields: Mapping[str, object], said: str) -> str:
    """A page of fields, those that are None left out, and what was said. The same gives the same, byte for byte."""
    lines = (
        f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in fields.items() if value is not None
    )
    return f"---\n{''.join(lines)}---\n\n{said}\n".replace("\0", "")
