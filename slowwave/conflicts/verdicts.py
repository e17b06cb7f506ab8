"""Verdicts that stand: what was decided about pairs that still say what they said, read from a snapshot's conflicts.

A verdict is found by what both rows said, not by their ids: a copy of a row that says the same inherits it. Writing verdicts belongs to
``slowwave.plans.conflicts``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.conflicts.conflict import SAID, Conflict
from slowwave.snapshots.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class EffectiveVerdict:
    """One verdict: how it ended, what the winner said (a hash, empty without a winner), and by whom."""

    resolution: str
    winner_said: str
    by: str

    @property
    def person(self) -> bool:
        """Whether a person gave it."""
        return is_person(self.by)

    def winning_side(self, conflict: Conflict) -> str:
        """The side of a conflict that it prefers: "a", "b", or neither."""
        said = conflict.evidence["said"]
        return next((side for side in ("a", "b") if self.winner_said and said[side] == self.winner_said), "")


def is_person(by: str | None) -> bool:
    """Whether a verdict is a person's: policies, judges and runs carry a prefix that no approver's name can have."""
    return bool(by) and ":" not in str(by)


def effective_verdicts(snapshot: Snapshot) -> dict[str, EffectiveVerdict]:
    """What both rows said (``seen``) → the verdict on it; a person's goes before every other, then the newest.

    Left out are conflicts that only ended because a row was retired: once it is back they are open again.
    """
    table = snapshot.table("conflicts")
    decided = table.filter(pc.is_in(table["table_name"], value_set=pa.array(list(SAID), pa.string())))
    decided = decided.filter(pc.is_valid(decided["resolved_by"])).sort_by(
        [("recorded_at", "ascending"), ("id", "ascending")]
    )
    found: dict[str, EffectiveVerdict] = {}
    for row in decided.to_pylist():
        by = str(row["resolved_by"])
        if row["resolution"] == "invalidated" and not is_person(by):
            continue
        if by.startswith("run:"):
            continue
        known = found.get(row["seen"])
        if known is None or is_person(by) or not known.person:
            found[str(row["seen"])] = EffectiveVerdict(str(row["resolution"]), _winner_said(row), by)
    return found


def _winner_said(row: dict[str, object]) -> str:
    evidence = json.loads(str(row["evidence"]))
    said = evidence.get("said") if isinstance(evidence, dict) else None
    if not isinstance(said, dict) or row["winner_id"] is None:
        return ""
    side = "a" if row["winner_id"] == row["row_a_id"] else "b"
    return str(said.get(side, ""))
