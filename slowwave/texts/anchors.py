"""Anchors: the heading or block of a page that a link names, and whether the page has it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

Missing = Literal["heading", "block"]


def anchor_key(anchor: str) -> str:
    """The form in which an anchor and a heading are compared: GitHub's ``#fee-market`` is Obsidian's ``#Fee market``."""
    return re.sub(r"[\W_]+", "", anchor.rpartition("#")[2].casefold())


def missing(anchor: str, headings: Sequence[str], blocks: Sequence[str]) -> Missing | None:
    """What an anchor names that a page with these headings and blocks has not; None where it leads somewhere, as an empty one does."""
    if anchor.startswith("^"):
        return None if anchor[1:] in blocks else "block"
    key = anchor_key(anchor)
    return None if not key or any(anchor_key(heading) == key for heading in headings) else "heading"
