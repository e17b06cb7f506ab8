"""Decay: how long a memory stays in its stage, and what comes then (Plugged.in 1.4).

A memory begins ``full`` and is shortened from stage to stage until it is forgotten, which archives it. When a stage began is on record:
each stage's text is a version whose reason names the stage. What the shorter text says belongs to the planner ``decay_transition``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.config.settings import Settings
from slowwave.mutations.consolidate_memories import REASON as CONSOLIDATION
from slowwave.rows.exemptions import attribute_of, exemptions
from slowwave.snapshots.snapshot import Snapshot

STAGES: Final = ("full", "compressed", "summary", "essence", "forgotten")
"""In order; the last has no text of its own."""

DAY: Final = 86_400_000_000
"""Microseconds."""

_REASON: Final = "decay:"
_NEVER: Final = np.iinfo(np.int64).max

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """For n memories: ``stage`` (n,), their places in ``STAGES``, -1 for any other, and ``due`` (n,), µs since 1970: when the next one
    begins."""

    stage: Ints
    due: Ints

    def is_due(self, now: int) -> Mask:
        """(n,) whether the next stage has begun at ``now``, µs since 1970."""
        return self.due <= now


def reason(stage: str) -> str:
    """What the version with the text of a stage keeps as its reason."""
    return _REASON + stage


def next_stage(stage: str) -> str:
    """The stage after this one."""
    return STAGES[STAGES.index(stage) + 1]


def multipliers(reinforcements: Ints, accesses: Ints, success: Floats) -> Floats:
    """(n,) each → (n,) what the days of a stage are multiplied by: 2 for more than 5 reinforcements, 3 for more than 20 reads, and a half
    for a success below 0.3 (NaN: unknown). Golden value: 6, 21 and 0.2 make 365 days 1,095.
    """
    bad = np.nan_to_num(success, nan=1.0) < 0.3
    return np.where(reinforcements > 5, 2.0, 1.0) * np.where(accesses > 20, 3.0, 1.0) * np.where(bad, 0.5, 1.0)


def schedule(snapshot: Snapshot, memories: pa.Table, settings: Settings) -> Schedule:
    """When each of the memories (rows of that table) is due for its next stage; never are exempt ones, those of no known
    stage and those without a text.

    A stage begins with the version that its text was written as, a summary with its first version; a memory that nobody has shortened
    begins ``full`` with its ``valid_from``, or where that is unknown with ``recorded_at``. Time: linear in memories and versions.
    """
    stage = pc.fill_null(pc.index_in(memories["stage"], value_set=pa.array(STAGES)), -1).to_numpy().astype(np.int64)
    began = _began(snapshot, memories, stage)
    success = np.full(len(memories), np.nan)
    for k, found in attribute_of(memories, "success").items():
        if isinstance(found, (int, float)) and not isinstance(found, bool):
            success[k] = max(-1, min(found, 1))  # an integer of jsonb may be longer than a float holds
    reinforced, read = (
        np.maximum(0, memories[name].to_numpy().astype(np.int64)) for name in ("reinforcement_count", "access_count")
    )  # undo may leave a counter below zero
    factor = multipliers(reinforced, read, success)
    days = np.array([settings.operations.decay_transition.days.get(s, 0) for s in STAGES[:-1]] + [0], np.float64)
    lasting = np.rint(days[stage] * factor * DAY).astype(np.int64)
    never = (stage < 0) | (stage == len(STAGES) - 1) | (days[stage] <= 0)
    never |= memories["current_version_id"].is_null().to_numpy()
    for mask in exemptions(memories, settings).values():
        never |= mask
    return Schedule(stage, np.where(never, _NEVER, began + lasting))


def _began(snapshot: Snapshot, memories: pa.Table, stage: Ints) -> Ints:
    """(n,) when the stage of each memory began, µs."""
    recorded = memories["recorded_at"].cast(pa.int64())
    start = pc.coalesce(memories["valid_from"].cast(pa.int64()), recorded).to_numpy().astype(np.int64)
    versions = snapshot.table("memory_versions").select(["id", "memory_id", "reason", "recorded_at"])
    own = pc.index_in(memories["current_version_id"], value_set=versions["id"].combine_chunks())
    current = pc.coalesce(versions["recorded_at"].cast(pa.int64()).take(own), recorded).to_numpy().astype(np.int64)
    began = np.where(stage == 0, start, current)
    staged = versions.filter(
        pc.or_(pc.starts_with(versions["reason"], _REASON), pc.equal(versions["reason"], CONSOLIDATION))
    )
    at = pc.fill_null(pc.index_in(staged["memory_id"], value_set=memories["id"].combine_chunks()), -1).to_numpy()
    named = [reason(s) for s in STAGES]
    of = pc.fill_null(pc.index_in(staged["reason"], value_set=pa.array(named)), 0).to_numpy()  # a summary begins full
    mine = (at >= 0) & (of == stage[at])
    latest = np.full(len(stage), np.iinfo(np.int64).min)
    np.maximum.at(latest, at[mine], staged["recorded_at"].cast(pa.int64()).to_numpy()[mine])
    return np.where(latest > np.iinfo(np.int64).min, latest, began)
