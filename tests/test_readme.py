"""The README says what the code does."""

from __future__ import annotations

import json
import re
from pathlib import Path

from slowwave.settings import Settings

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_settings_table_is_the_settings_model() -> None:
    """Every field with its default and its description, in order, and no other."""
    rows = re.findall(r"^\| `SLOWWAVE_([A-Z_]+)` \| `(.*?)` \| (.*?) \|$", README, flags=re.MULTILINE)
    expected = []
    for name, field in Settings.model_fields.items():
        default = field.get_default(call_default_factory=True)
        shown = "none" if default is None else (default or "empty") if isinstance(default, str) else json.dumps(default)
        expected.append((name.upper(), shown, field.description))
    assert rows == expected


def test_every_link_and_picture_is_in_the_tree() -> None:
    """A reader who clicks finds something."""
    for target in re.findall(r"\]\(([^)]+)\)", README):
        if not target.startswith("http"):
            assert (ROOT / target).exists(), target
