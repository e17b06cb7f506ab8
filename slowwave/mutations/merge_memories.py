"""``merge_rows`` of memories: one memory absorbs others that tell the same.

The survivor keeps its text and takes the union of tags and sources (cleaned of dead references), the greatest importance and
confidence, the earliest start and the counters, which the absorbed rows give up by the planned amount. Absorbed rows are merged and
invalidated in system time; their sources, texts and ``valid_to`` are never written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from slowwave.mutations.cells import Value
from slowwave.mutations.merge_alike import Alike, Columns, earliest_start, greatest, merge_alike, united
from slowwave.mutations.mutation import Mutation
from slowwave.mutations.rows import Fields, live_ids
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.tables import COUNTERS

_MEMORIES: Final = Columns(
    "memories",
    "memory",
    says=("current_version_id", "kind", "scope", "subject", "author", "visibility", "sensitivity"),
    merged=("tags", "importance", "confidence", "pinned", "source_chunk_ids", "source_document_ids", "valid_from"),
    alive=("state", "merged_into", "valid_to", "invalidated_at"),
    active=("state", "active"),
    retired={"state": "merged", "merged_into": None},
    counters=COUNTERS["memories"],
)


def merge_memories(snapshot: Snapshot, merges: Sequence[Alike]) -> list[Mutation]:
    """Spell out merges of memories; see ``merge_alike``."""
    sources = {
        "source_chunk_ids": live_ids(snapshot, "chunks"),
        "source_document_ids": live_ids(snapshot, "documents"),
    }

    def survivor(rows: Sequence[Fields]) -> Mapping[str, Value]:
        return {
            **{column: united(rows, column, known) for column, known in sources.items()},
            "tags": _tags(rows[0], rows[1:]),
            **{column: greatest(rows, column) for column in ("importance", "confidence")},
            "pinned": any(row["pinned"] is True for row in rows),
            "valid_from": earliest_start(rows),
        }

    return merge_alike(snapshot, _MEMORIES, merges, survivor)


def _tags(keep: Fields, absorbed: Iterable[Fields]) -> Value:
    """The survivor's tags, completed by those that only absorbed rows have; its own text when none are new."""
    own: object = json.loads(str(keep["tags"]))
    if not isinstance(own, list):
        return keep["tags"]
    union: list[object] = list(own)
    for row in absorbed:
        given: object = json.loads(str(row["tags"]))
        union += [t for t in given if t not in union] if isinstance(given, list) else []
    return keep["tags"] if len(union) == len(own) else json.dumps(union, ensure_ascii=False)
