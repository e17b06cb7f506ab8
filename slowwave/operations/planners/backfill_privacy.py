"""``backfill_privacy``: memories without a privacy class get the one that their words are of (Dory 4.8's backfill).

A class tells search and wake whom a memory is for: a wake block tells none that has one, active memory none that its profile leaves out.
Words alone say nothing about whose data they are, so the operation is off until somebody wants it. A class that a memory has is never
changed, "none" least of all. The item rests on the version that it was read from. Cost: a pass over the texts.

It adds a class where there is none and retires nothing, so it decides without a measurement (``slowwave.plans.items``).
"""

from __future__ import annotations

from collections import Counter
from typing import Final, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, Field

from slowwave.changes.rows import set_columns
from slowwave.operations import Inputs, Proposal, operation
from slowwave.plans.items import Item
from slowwave.plans.permitted import Permit
from slowwave.plans.report import Report
from slowwave.snapshots.rows import active_memories
from slowwave.text.screening import CLASSES, PrivateWord, private_words

OPERATION: Final = "backfill_privacy"
_RESTS_ON: Final = ("current_version_id", "state")


class PrivacyOptions(BaseModel):
    """What may be set of it."""

    classes: tuple[Literal["credentials", "financial", "health", "legal", "contact", "personal"], ...] = Field(
        default=("credentials", "financial", "health", "legal", "contact", "personal"),
        description="Privacy classes that memories may get.",
    )


@operation(
    kind="planner",
    reads=("memories", "memory_versions", "rejections"),
    after=("redact_or_quarantine",),
    switch=False,
    permits=(Permit("set_attributes", {"memories"}, only={"sensitivity"}),),
    options=PrivacyOptions,
)
def backfill_privacy(inputs: Inputs) -> Proposal:
    """Memories without a privacy class get the one that their words are of: credentials, financial, health, legal, contact, personal.

    A wake block tells no memory with a class. A class that was set stays. Words alone do not say whose data it is, so it is off by default.
    """
    memories = active_memories(inputs.snapshot)
    unclassed = memories.filter(pc.equal(memories["sensitivity"], ""))
    wanted = inputs.settings.options(OPERATION, PrivacyOptions).classes
    found = {place: word for place, word in private_words(unclassed["text"]) if word.name in wanted}
    ids = unclassed["id"].take(pa.array(list(found), pa.int64())).to_pylist()
    words: dict[str, PrivateWord] = dict(zip(ids, found.values(), strict=True))
    values = {id_: {"sensitivity": word.name} for id_, word in words.items()}
    items = [
        Item(OPERATION, "classify", mutation, words[mutation.rows[0].id]._asdict())
        for mutation in set_columns(inputs.snapshot, "set_attributes", "memories", values, _RESTS_ON)
    ]
    counts = Counter(word.name for word in words.values())
    numbers = {
        "active memories": len(memories),
        "without a class": len(unclassed),
        **{name: counts[name] for name in CLASSES},
        "items": len(items),
    }
    headline = f"{len(items):,} of {len(unclassed):,} memories without a privacy class would get one."
    return Proposal(tuple(items), Report(OPERATION, headline, numbers=numbers))
