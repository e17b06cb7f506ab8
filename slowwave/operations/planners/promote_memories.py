"""``promote_memories``: memories that recall has proven move to the long-term ring, and back if it no longer does.

The planner promotes the best memories that pass every gate (nexo 3.2), and revokes promotions that nothing supports any more.

The gates are recalls, distinct days, distinct questions and score, all within the recall window; no current promotion; no rejection; no
finding of screening in the text. Memories that fail a gate are left out before the best are chosen, so that leaders which are promoted,
rejected or blocked delay no other memory. A night promotes once, at most ``max_per_night``: if it is planned again after some of them
were applied, the others are left for the next one.

A promotion is revoked when its memory is retired or archived, or scores below ``_REVOKE_SCORE``; not for its score if the memory is
pinned, or if nothing at all was recalled in the window. Cost: a pass over memories and the model; texts are screened until the night's
limit is reached.

A promotion adds a row and retires nothing, so it decides without a measurement (``slowwave.plans.items``); a revocation follows from the
score that the settings require.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.changes.rows import Promotion, promote, revoke
from slowwave.operations import Inputs, Proposal
from slowwave.operations.options import PromoteMemoriesOptions
from slowwave.operations.rejections import REJECTED, rejected_subjects
from slowwave.operations.scoring import Bools, MemorySignals, score_memories
from slowwave.plans.items import Decision, Item, ask_unless_measured
from slowwave.plans.probes.isolation import chain, merged_into
from slowwave.plans.report import Finding, Report
from slowwave.snapshots.memories import active_memories, attributes
from slowwave.text.quotation import quote

OPERATION: Final = "promote_memories"
RINGS: Final[Mapping[str, str]] = {"working": "longterm"}
"""Maps a ring to the ring to which its memories are promoted; in any other ring a memory is promoted in place."""

NIGHT: Final = timedelta(hours=12)
"""Promotions that were planned within this time of each other belong to one night."""

_BATCH: Final = 256
_PLANNED: Final = "planned_at"  # among a promotion's figures: seconds since 1970
_QUOTED: Final = 200  # characters
_MIN_DAYS: Final = 2  # distinct days with recalls: nexo's code asks for one, which every recalled memory has
_REVOKE_SCORE: Final = 0.1  # far below the score that a promotion needs, so that a pause of some weeks revokes nothing


def promote_memories(inputs: Inputs) -> Proposal:
    """Propose to promote memories that recall has proven on several days and with several questions, the best first."""
    snapshot, settings = inputs.snapshot, inputs.settings
    memories = active_memories(snapshot)
    scored = score_memories(memories, inputs.models, settings, snapshot.taken_at)
    promotions = snapshot.live("promotions")
    promoted = pc.is_in(memories["id"], value_set=promotions["memory_id"].combine_chunks()).to_numpy()
    numbers: dict[str, int] = {"active memories": len(memories), "recalled": int((scored.uses.recalls > 0).sum())}
    passed = _gated(inputs, scored, promoted, numbers)
    order = passed[np.argsort(-scored.signals.score[passed], kind="stable")]  # equals by id, as memories are sorted
    numbers["promoted this night already"] = _tonight(promotions, snapshot.taken_at)
    items, findings = _promotions(inputs, memories, scored, order, numbers)
    scores = dict(zip(memories["id"].to_pylist(), scored.signals.score.tolist(), strict=True)) if items else {}
    taken = [scores[item.mutation.rows[0].id] for item in items]
    revoked = _revocations(inputs, memories, scored, promotions)
    numbers |= {
        "promotions that stand": len(promotions),
        "promotions that would be revoked": len(revoked),
        "items": len(items) + len(revoked),
    }
    headline = f"{len(items):,} of {numbers['recalled']:,} recalled memories would be promoted"
    headline += f" (scores {min(taken):.2f} to {max(taken):.2f})" if taken else ""
    headline += f" and {len(revoked):,} promotions revoked." if revoked else "."
    return Proposal((*items, *revoked), Report(OPERATION, headline, numbers=numbers, findings=tuple(findings)))


def _gated(inputs: Inputs, scored: MemorySignals, promoted: Bools, numbers: dict[str, int]) -> NDArray[np.int64]:
    """Return the rows that pass all gates, ascending.

    ``numbers`` counts for each gate the rows that it rejects of those that passed the gates before it.
    """
    settings = inputs.settings
    options = settings.options("promote_memories", PromoteMemoriesOptions)
    gates = (
        ("promoted already", ~promoted),
        ("too few recalls", scored.uses.recalls >= options.min_recalls),
        ("too few days", scored.days >= _MIN_DAYS),
        ("too few questions", scored.queries >= options.min_queries),
        ("too low a score", scored.signals.score >= options.min_score),
    )
    left = scored.uses.recalls > 0
    for name, gate in gates:
        numbers[name] = int((left & ~gate).sum())
        left &= gate
    return np.flatnonzero(left)


def _promotions(
    inputs: Inputs, memories: pa.Table, scored: MemorySignals, order: NDArray[np.int64], numbers: dict[str, int]
) -> tuple[list[Item], list[Finding]]:
    """Return items for the best of ``order`` that no one has rejected and screening accepts, up to the limit of a night."""
    from slowwave.text.screening import unsafe  # its rules take a while to load

    options = inputs.settings.options("promote_memories", PromoteMemoriesOptions)
    most = 0 if numbers["promoted this night already"] else options.max_per_night
    refused = rejected_subjects(inputs.snapshot, OPERATION)  # a rejected item must not take one of the night's places
    items: list[Item] = []
    findings: list[Finding] = []
    looked = rejected = 0
    for item, text in _items(inputs, memories, scored, order):
        if len(items) == most:
            break
        looked += 1
        if refused and item.subject() in refused:
            rejected += 1
        elif why := unsafe(text):
            row = item.mutation.rows[0].id
            findings.append(
                Finding(
                    f"Memory {row} is not promoted: {why}. Redact or quarantine it.",
                    rows=(row,),
                    severity="warning",
                )
            )
        else:
            items.append(item)
    numbers[REJECTED] = rejected
    numbers["blocked by screening"] = len(findings)
    numbers["waiting for a later night"] = len(order) - looked
    return items, findings


def _items(
    inputs: Inputs, memories: pa.Table, scored: MemorySignals, order: NDArray[np.int64]
) -> Iterator[tuple[Item, str]]:
    """Yield items in the given order with the memories' texts, built some at a time."""
    for start in range(0, len(order), _BATCH):
        rows = order[start : start + _BATCH]
        picked = memories.select(["id", "ring", "kind", "subject", "text"]).take(pa.array(rows)).to_pylist()
        planned = {_PLANNED: int(inputs.snapshot.taken_at.timestamp())}
        wanted = [
            Promotion(m["id"], _to_ring(m["ring"]), scored.at(int(n)) | planned)
            for m, n in zip(picked, rows, strict=True)
        ]
        mutations = promote(inputs.snapshot, wanted)
        for memory, promotion, mutation in zip(picked, wanted, mutations, strict=True):
            evidence = {
                "names": [quote(memory["text"], _QUOTED)],
                "kind": memory["kind"],
                "subject": memory["subject"],
                "from_ring": memory["ring"],
                "to_ring": promotion.to_ring,
                "scores": dict(promotion.scores),
            }
            yield Item(OPERATION, Decision.PROMOTE, mutation, evidence), memory["text"]


def _revocations(inputs: Inputs, memories: pa.Table, scored: MemorySignals, promotions: pa.Table) -> list[Item]:
    """Return items for promotions that nothing supports; the promotion of a merged memory belongs to its survivor."""
    snapshot, settings = inputs.snapshot, inputs.settings
    options = settings.options("promote_memories", PromoteMemoriesOptions)
    floor = min(_REVOKE_SCORE, options.min_score)  # else one night undoes the other for ever
    into = merged_into(snapshot, ("memories",))
    ends = {memory: chain(memory, into)[-1] for memory in promotions["memory_id"].to_pylist()}
    pinned = _among(memories, ends.values(), "pinned")
    score = _scores(inputs, {*ends, *ends.values()}) if scored.uses.recalls.any() else {}
    named: list[str] = []
    why: dict[str, dict[str, object]] = {}
    for id_, memory in zip(promotions["id"].to_pylist(), promotions["memory_id"].to_pylist(), strict=True):
        end = ends[memory]
        best = max(score.get(memory, 0.0), score.get(end, 0.0))
        if end not in pinned:
            why[memory] = {"because": "retired"}
        elif score and best < floor and not pinned[end]:
            why[memory] = {"because": "score", "score": round(best, 4), "floor": floor}
        else:
            continue
        named.append(id_)
    return [
        ask_unless_measured(Item(OPERATION, Decision.REVOKE, m, why[m.rows[0].id]), "promotion revoked")
        for m in revoke(snapshot, named)
    ]


def _scores(inputs: Inputs, ids: Iterable[str]) -> dict[str, float]:
    """Map each memory to its score, including retired ones: a merged memory keeps the recalls that it had."""
    whole = inputs.snapshot.table("memories")
    rows = whole.filter(pc.is_in(whole["id"], value_set=pa.array(sorted(ids), pa.string())))
    found = score_memories(rows, inputs.models, inputs.settings, inputs.snapshot.taken_at)
    return dict(zip(rows["id"].to_pylist(), found.signals.score.tolist(), strict=True))


def _among(memories: pa.Table, ids: Iterable[str], column: str) -> dict[str, bool]:
    """Map those of ``ids`` that recall can find to the value of the column."""
    rows = memories.filter(pc.is_in(memories["id"], value_set=pa.array(sorted(set(ids)), pa.string())))
    return dict(zip(rows["id"].to_pylist(), rows[column].to_pylist(), strict=True))


def _tonight(promotions: pa.Table, taken_at: datetime) -> int:
    """Count the current promotions that the night of ``taken_at`` planned; those that no night planned do not count."""
    planned = (attributes(cell).get(_PLANNED) for cell in promotions["scores"].to_pylist())
    return sum(isinstance(p, int) and abs(taken_at.timestamp() - p) < NIGHT.total_seconds() for p in planned)


def _to_ring(ring: str) -> str:
    return RINGS.get(ring, ring)
