"""Decay due: which memories have been in their stage for its days, and how many more will be soon.

The audit counts live memories by stage and by when the next stage begins (Plugged.in 1.4); ``decay_transition`` takes those that are due.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from slowwave.operations import Inputs
from slowwave.operations.options import DecayTransitionOptions
from slowwave.operations.scoring import DAY, STAGES, schedule
from slowwave.plans.report import Bars, Finding, Report
from slowwave.snapshots.memories import active_memories
from slowwave.snapshots.rows import exemptions
from slowwave.text.tokens import counts

SOON: Final = (7, 30)
"""Days ahead for which due memories are counted."""


def decay_due(inputs: Inputs) -> Report:
    """Count the memories that are due for their next decay stage now, within a week and within a month."""
    snapshot = inputs.snapshot
    memories = active_memories(snapshot)
    plan = schedule(snapshot, memories, inputs.settings)
    tokens, now = counts(memories["text"]), int(snapshot.taken_at.timestamp() * 1_000_000)
    exempt = {name: int(mask.sum()) for name, mask in exemptions(snapshot).items()}
    rows: list[dict[str, int | str]] = []
    for k, stage in enumerate(STAGES[:-1]):
        mine = plan.stage == k
        rows.append(
            {
                "stage": stage,
                "live": int(mine.sum()),
                "due": int((mine & plan.is_due(now)).sum()),
                **{f"due within {d} days": int((mine & plan.is_due(now + d * DAY)).sum()) for d in SOON},
                "tokens": int(tokens[mine].sum()),
            }
        )
    due = plan.is_due(now)
    numbers: dict[str, int | float] = {
        "live memories": len(memories),
        **exempt,
        "of no known stage": int((plan.stage < 0).sum()),
        **{f"{row['stage']} due": int(row["due"]) for row in rows},
        "due": int(due.sum()),
        **{f"due within {d} days": int(plan.is_due(now + d * DAY).sum()) for d in SOON},
        "tokens of those due": int(tokens[due].sum()),
    }
    findings: list[Finding] = []
    if (pinned := exempt["pinned"]) and bool(due.any()):
        findings.append(Finding(f"{pinned:,} pinned memories stay as they are, however old: pins are a person's word."))
    soonest = np.sort(plan.due[~due])[:1]
    later = int(soonest[0]) if len(soonest) and soonest[0] < np.iinfo(np.int64).max else None
    options = inputs.settings.options("decay_transition", DecayTransitionOptions)
    return Report(
        "decay_due",
        _headline(numbers, None if later is None else -(-(later - now) // DAY)),
        numbers=numbers,
        findings=tuple(findings),
        table=tuple(row for row in rows if row["live"]),
        plots=(_plot(rows),) if due.any() else (),
        details={
            "days": dict(options.days),
            "tokens": dict(options.tokens),
        },
    )


def _headline(numbers: dict[str, int | float], next_in: int | None) -> str:
    said = f"{numbers['due']:,} of {numbers['live memories']:,} live memories are due for their next stage"
    if numbers["due"] or next_in is None:
        return f"{said}."
    return f"{said}; the first will be in {next_in:,} days."


def _plot(rows: list[dict[str, int | str]]) -> Bars:
    due = [row for row in rows if row["due"]]
    labels = [f"{row['stage']} → {STAGES[STAGES.index(str(row['stage'])) + 1]}" for row in due]
    return Bars("Memories due for their next stage", labels, [float(row["due"]) for row in due], own=True)
