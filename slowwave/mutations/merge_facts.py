"""``merge_rows`` of facts: one fact absorbs others that say the same.

The survivor takes the union of the sources (cleaned of dead references), the greatest confidence and the earliest start; a fact
without a start holds since ever. The absorbed rows are inactive, invalidated in system time, and name the survivor in
``superseded_by``. ``valid_to`` is never written: the world did not change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from slowwave.mutations.cells import Value
from slowwave.mutations.merge_alike import Alike, Columns, earliest_start, greatest, merge_alike, united
from slowwave.mutations.mutation import Mutation
from slowwave.mutations.rows import Fields, live_ids
from slowwave.snapshots.snapshot import Snapshot

_FACTS: Final = Columns(
    "memory_facts",
    "fact",
    says=("subject", "predicate", "object", "fact_text"),
    merged=("source_chunk_ids", "confidence", "valid_from"),
    alive=("is_active", "superseded_by", "valid_to", "invalidated_at"),
    active=("is_active", True),
    retired={"is_active": False, "superseded_by": None},
)


def merge_facts(snapshot: Snapshot, merges: Sequence[Alike]) -> list[Mutation]:
    """Spell out merges of facts; see ``merge_alike``."""
    chunks = live_ids(snapshot, "chunks")

    def survivor(rows: Sequence[Fields]) -> Mapping[str, Value]:
        return {
            "source_chunk_ids": united(rows, "source_chunk_ids", chunks),
            "confidence": greatest(rows, "confidence"),
            "valid_from": earliest_start(rows),
        }

    return merge_alike(snapshot, _FACTS, merges, survivor)
