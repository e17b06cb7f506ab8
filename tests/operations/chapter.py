"""``docs/operations.md`` as files: each of its code blocks that names a path."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "operations.md"
_BLOCK = re.compile(r"^```\w+ (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks() -> dict[str, str]:
    """Path → content."""
    return dict(_BLOCK.findall(PAGE.read_text()))


def code(name: str) -> str:
    """The content of the module of this name."""
    (found,) = [content for path, content in blocks().items() if path.endswith(f"/{name}.py")]
    return found
