"""What rendering gives: one page, and what went into it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from slowwave.pages.blocks import block

MEMORY: Final = "MEMORY.md"
DREAMS: Final = "DREAMS.md"


@dataclass(frozen=True, slots=True)
class Rendered:
    """A page from a snapshot. ``body`` is its block, empty where there is nothing to tell.

    ``sources`` are the memories that it links, ``unsafe`` those whose words were left out, ``omitted`` counts entries beyond the limits.
    """

    path: str
    title: str
    body: str
    input_hash: str
    entries: int
    sources: tuple[str, ...]
    unsafe: tuple[str, ...] = ()
    omitted: int = 0


def body_of(lines: Sequence[str]) -> str:
    """Lines as the block that a row holds; no lines, no block."""
    return block("\n".join(lines)) if lines else ""


def fits(body: str, max_lines: int, max_bytes: int) -> bool:
    """Whether a body, marks included, is within both limits."""
    return body.count("\n") + 1 <= max_lines and len(body.encode()) <= max_bytes


def input_hash(template: int, namespace_id: str, *inputs: object) -> str:
    """SHA-256 of what was rendered, where, and of the version of the words around it.

    With the namespace in it no two namespaces make a page by the same item: an inserted row has the id of its item.
    """
    text = json.dumps([template, namespace_id, *inputs], ensure_ascii=True, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
