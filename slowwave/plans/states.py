"""What a plan is called: its state in the ledger, refined by what became of its items.

The ledger keeps what was decided about a plan. Whether that is done, in part, or undone again is a matter of its items and is counted
when somebody looks, so that it cannot be out of date.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

STATES: Final = (
    *("awaiting_approval", "approved", "rejected", "expired", "superseded", "empty"),
    *("partly_approved", "partly_applied", "applied", "failed", "partly_undone", "undone"),
)
"""Those of the ledger, then those that its items tell apart."""

_ORDER: Final = ("pending", "approved", "applied", "undone", "skipped_stale", "noop", "failed", "rejected", "deferred")

_WORDS: Final = {"skipped_stale": "skipped as stale", "noop": "already so"}


def shown_state(state: object, items: object, expires_at: object = None) -> str:
    """The state that people are shown: ``state`` of the ledger, ``items`` by status (``night.item_counts``), the plan's expiry.

    ``partly_…`` means that the rest of the plan is pending, failed or stays applied, ``failed`` that items failed and none was applied.
    """
    counts = _counts(items)
    if state == "awaiting_approval":
        if isinstance(expires_at, datetime) and expires_at <= datetime.now(UTC):
            return "expired"
        return "rejected" if counts and set(counts) <= {"rejected", "deferred"} else "awaiting_approval"
    if state != "approved" or not counts:
        return str(state)
    waits = "pending" in counts
    if "approved" in counts:
        return "partly_approved" if waits else "approved"
    if "undone" in counts:
        return "partly_undone" if "applied" in counts else "undone"
    if "failed" in counts and not {"applied", "noop"} & counts.keys():
        return "failed"
    return "partly_applied" if waits or "failed" in counts else "applied"


def items_text(items: object) -> str:
    """Items by status in words, such as ``990 pending, 10 applied``; statuses of none are left out."""
    counts = _counts(items)
    return ", ".join(f"{counts[s]:,} {_WORDS.get(s, s)}" for s in _ORDER if s in counts) or "no items"


def _counts(items: object) -> dict[str, int]:
    found = items if isinstance(items, Mapping) else {}
    return {str(status): int(str(n)) for status, n in found.items() if n}
