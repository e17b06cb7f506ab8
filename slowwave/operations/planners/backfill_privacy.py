"""``backfill_privacy``: memories without a privacy class get the one that fits their words (Dory 4.8's backfill).

A class controls to whom search and wake show a memory: a wake block shows none that has a class, active memory none that its profile
excludes. Words alone do not show whose data it is, so the operation is off by default. An existing class is never changed, least of all
"none". The item depends on the version from which it was derived. Cost: a pass over the texts.

The planner adds a class where there is none and retires nothing, so it decides without a measurement (``slowwave.plans.items``).
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.changes.rows import set_columns
from slowwave.operations import Inputs, Proposal
from slowwave.operations.options import PrivacyOptions
from slowwave.plans.items import Decision, Item
from slowwave.plans.report import Report
from slowwave.snapshots.memories import active_memories
from slowwave.text.screening import CLASSES, PrivateWord, private_words

OPERATION: Final = "backfill_privacy"
_RESTS_ON: Final = ("current_version_id", "state")


def backfill_privacy(inputs: Inputs) -> Proposal:
    """Propose a privacy class for memories without one, by the words of their texts."""
    memories = active_memories(inputs.snapshot)
    unclassed = memories.filter(pc.equal(memories["sensitivity"], ""))
    wanted = inputs.settings.options(OPERATION, PrivacyOptions).classes
    found = {place: word for place, word in private_words(unclassed["text"]) if word.name in wanted}
    ids = unclassed["id"].take(pa.array(list(found), pa.int64())).to_pylist()
    words: dict[str, PrivateWord] = dict(zip(ids, found.values(), strict=True))
    values = {id_: {"sensitivity": word.name} for id_, word in words.items()}
    items = [
        Item(OPERATION, Decision.CLASSIFY, mutation, words[mutation.rows[0].id]._asdict())
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
