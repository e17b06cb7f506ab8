"""``absolutize_dates``: "yesterday" becomes "yesterday (2026-11-02)" in a new version of the memory.

Earlier versions stay on record. ``slowwave.text.dates`` recognizes the phrases and their dates, ``slowwave.snapshots.rows`` chooses the
memories.

The planner proposes a new version for every active memory with relative dates: mnemo's pass (2.4), with more phrases and fewer mistakes.
A memory is decided if each of its phrases determines by itself in which direction its date lies ("yesterday", "three weeks ago", "next
month"). If the verb determines it ("on Friday", "in June"), or if the values replace the phrases, the item is a question: see
``slowwave.plans.items``.

The anchor is ``valid_from`` in the author's zone; mnemo's is ``created_at`` in UTC, and its "last week" is a day. If the values replace
the phrases, the phrases stay in the attribute ``relative_dates``. New texts are embedded in one batch; without an embedder a memory keeps
its vector. Pinned memories are flagged, never reworded. Cost: a pass over the texts; Python parses only those with a word of time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from slowwave.changes.mutation import Mutation
from slowwave.changes.rows import NewVersion, new_versions
from slowwave.operations import Inputs, Proposal
from slowwave.plans.items import Decision, Item, decides_alone, why_asked
from slowwave.plans.report import Finding, Report
from slowwave.snapshots.rows import DatedMemory, candidates, is_held_back
from slowwave.text.dates import Rewrite, absolutize
from slowwave.text.quotation import quote_change

OPERATION: Final = "absolutize_dates"
_QUOTED: Final = 400  # signs
_RESTS_ON: Final = ("attributes", "kind", "valid_from")  # the day on which it was recorded, where its author was
_NAMED: Final = 20


class _Change(NamedTuple):
    memory: DatedMemory
    text: str
    rewrites: list[Rewrite]


def absolutize_dates(inputs: Inputs) -> Proposal:
    """Propose to write relative dates out as ISO dates, as meant on the day of recording in the author's time zone."""
    found = candidates(inputs.snapshot, inputs.settings)
    write = inputs.settings.dates_write
    changes: list[_Change] = []
    pinned: list[str] = []
    held_back = 0
    for memory in found.memories:
        text, rewrites = absolutize(
            memory.text, memory.recorded, zone=memory.zone, write=write, idle=False, language=memory.language
        )
        if not rewrites:
            continue
        if is_held_back(memory.text, memory.attributes):
            held_back += 1
            continue
        if memory.pinned:
            pinned.append(memory.id)
        else:
            changes.append(_Change(memory, text, rewrites))
    vectors = (
        np.asarray(inputs.embed([c.text for c in changes]), np.float32)
        if inputs.embed is not None and changes and inputs.snapshot.vectors["memory_vectors"].model
        else None
    )
    mutations = new_versions(inputs.snapshot, [_version(c, write) for c in changes], vectors)
    items = tuple(_item(change, mutation, write) for change, mutation in zip(changes, mutations, strict=True))
    numbers = {
        **found.numbers,
        "held back by screening": held_back,
        "asked": sum(i.is_question for i in items),
    }
    return Proposal(items, _report(numbers, changes, pinned))


def _item(change: _Change, mutation: Mutation, write: str) -> Item:
    """Make a rewording item if every phrase has a pattern that allows it, else a review.

    Replacing words requires more evidence than writing a date next to them.
    """
    unsure = "; ".join(dict.fromkeys(filter(None, (_doubt(r, write) for r in change.rewrites))))
    low = write == "beside" and not unsure and not any(r.about for r in change.rewrites)
    return Item(
        OPERATION,
        Decision.REVIEW if unsure else Decision.REWORD,
        mutation,
        evidence=_evidence(change) | ({"reason": unsure} if unsure else {}),
        risk="high" if unsure else "low" if low else "medium",
        sources=(change.memory.id,),
    )


def _doubt(rewrite: Rewrite, write: str) -> str:
    pattern = rewrite.pattern if write == "beside" else f"{rewrite.pattern}, replaced"
    return "" if decides_alone(OPERATION, pattern) else why_asked(OPERATION, pattern)


def _version(change: _Change, write: str) -> NewVersion:
    kept: dict[str, object] | None = None
    if write == "replace":
        phrases = [f"{r.phrase} = {r.value}" for r in change.rewrites]
        earlier = change.memory.attributes.get("relative_dates")
        kept = {
            **change.memory.attributes,
            "relative_dates": [*earlier, *phrases] if isinstance(earlier, list) else phrases,
        }
    return NewVersion(change.memory.id, change.text, OPERATION, attributes=kept, rests_on=_RESTS_ON)


def _evidence(change: _Change) -> dict[str, object]:
    memory = change.memory
    before, after = quote_change(memory.text, change.text, _QUOTED)
    return {
        "rewrites": [
            {"phrase": r.phrase, "value": r.value, "grain": r.grain, "about": r.about} for r in change.rewrites
        ],
        "said_on": memory.day.isoformat(),
        "zone": memory.zone,
        "before": before,
        "after": after,
    }


def _report(numbers: Mapping[str, int], changes: list[_Change], pinned: list[str]) -> Report:
    written = sum(len(c.rewrites) for c in changes)
    return Report(
        OPERATION,
        f"{len(changes):,} of {numbers['active memories']:,} active memories would say when it was: {written:,} relative dates.",
        numbers={
            **numbers,
            "pinned with relative dates": len(pinned),
            "relative dates": written,
            "items": len(changes),
        },
        findings=(
            (
                Finding(
                    f"{len(pinned):,} pinned memories hold relative dates and are left as they are. Reword them by hand, or unpin them.",
                    rows=tuple(pinned[:_NAMED]),
                ),
            )
            if pinned
            else ()
        ),
    )
