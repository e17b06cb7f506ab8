"""Precedence of evidence: which of two pages that contradict each other is believed, by where they lie (Dory 4.8). Pure."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

_RANKS: Final = (
    frozenset(("decisions", "decision", "adr")),
    frozenset(("people", "projects", "concepts", "core", "person", "project", "concept")),
    frozenset(("weekly",)),
    frozenset(("daily", "digests", "journal")),
    frozenset(("sessions", "conversations")),
    frozenset(("imported",)),
    frozenset(("web", "research", "wiki", "references")),
)
OTHERWISE: Final = 5
"""The rank of a page that lies nowhere in particular: that of imported ones."""

_SOULS: Final = 1


def precedence(path: str) -> int:
    """The rank of a page by its path, 0 the most believed; the last folder that has one decides."""
    parts = [part.lower() for part in PurePosixPath(path).parts]
    if len(parts) == 1 and parts[0] in ("user.md", "soul.md", "identity.md"):
        return _SOULS
    for part in reversed(parts[:-1]):
        for rank, names in enumerate(_RANKS):
            if part in names:
                return rank
    return OTHERWISE
