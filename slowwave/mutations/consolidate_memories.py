"""``insert_summary`` of memories: a new memory says what others say together, and stands for them.

The memories that it cites are merged into it: they leave recall and stay linked, with their texts. Nothing of them is written but
that they are retired; their counters go over to the new row by the amount that the plan saw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from slowwave.errors import Refused
from slowwave.mutations.cells import Cell, Guard, Insert, Value, Write
from slowwave.mutations.defaults import defaults
from slowwave.mutations.mutation import Mutation, Row
from slowwave.mutations.rows import Fields, rows_by_id
from slowwave.mutations.vectors import encode
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.tables import COUNTERS

REASON: Final = "consolidation"
"""What the first version of such a memory keeps as its reason."""

_SAYS: Final = (
    "current_version_id",
    "kind",
    "scope",
    "subject",
    "author",
    "visibility",
    "sensitivity",
    "pinned",
    "stage",
    "ring",
    "attributes",
)
_RETIRED: Final = ("state", "merged_into", "invalidated_at", "invalidated_by")
_OWN: Final = ("current_version_id", "recorded_at", *COUNTERS["memories"])


@dataclass(frozen=True, slots=True)
class Consolidation:
    """``content`` said by a new memory for those ``cited``; ``values`` are columns of its row, others have their defaults."""

    content: str
    cited: tuple[str, ...]
    values: Mapping[str, Value] = field(default_factory=dict)
    vector: NDArray[np.floating] | None = None


def consolidate_memories(snapshot: Snapshot, consolidations: Sequence[Consolidation]) -> list[Mutation]:
    """One mutation a consolidation, in their order. Raises ``Refused`` for a memory cited twice, or one that is retired.

    Every memory cited has to stay as the plan saw it: its text, whom it is about, who may see it, and what would exempt it. Cost: a pass
    over the memories.
    """
    cited = [id_ for c in consolidations for id_ in c.cited]
    if len(set(cited)) != len(cited):
        raise Refused("A memory is cited by two summaries of one plan: groups must be disjoint. Join them or drop one.")
    rows = rows_by_id(
        snapshot, "memories", cited, ("external_id", *_SAYS, *_RETIRED, "valid_to", *COUNTERS["memories"])
    )
    for id_ in cited:
        if rows[id_]["invalidated_at"] is not None or rows[id_]["state"] != "active":
            raise Refused(f"Memory {id_} is already retired; a summary takes live ones only.")
    return [_one(c, rows, snapshot.vectors["memory_vectors"].model) for c in consolidations]


def _one(consolidation: Consolidation, rows: Mapping[str, Fields], model: str) -> Mutation:
    if not consolidation.cited:
        raise Refused("A summary that cites no memory stands for none.")
    members = sorted(consolidation.cited)
    sums: dict[str, Value] = {c: sum(int(str(rows[m][c])) for m in members) for c in COUNTERS["memories"]}
    values = {**defaults("memories", _OWN), "kind": "summary", **consolidation.values, **sums}
    inserts = [
        Insert("memories", values, refs={"current_version_id": 1}),
        Insert(
            "memory_versions",
            {"ordinal": 1, "content": consolidation.content, "reason": REASON},
            refs={"memory_id": 0},
        ),
    ]
    if consolidation.vector is not None and model:
        vector = encode(np.asarray(consolidation.vector, np.float32))
        inserts.append(Insert("memory_vectors", {"vector": vector}, key=model, refs={"id": 0}))
    return Mutation(
        "insert_summary",
        "memories",
        writes=tuple(write for m in members for write in _retire(m, rows[m])),
        guards=tuple(Guard.on("memories", m, rows[m], (*_SAYS, "valid_to")) for m in members),
        inserts=tuple(inserts),
        rows=tuple(Row(m, None if rows[m]["external_id"] is None else str(rows[m]["external_id"])) for m in members),
    )


def _retire(id_: str, seen: Fields) -> list[Write]:
    def cell(column: str) -> Cell:
        return Cell("memories", id_, column)

    return [
        *(Write(cell(c), "add", None, -amount) for c in COUNTERS["memories"] if (amount := int(str(seen[c])))),
        Write(cell("state"), "set", seen["state"], "merged"),
        Write(cell("merged_into"), "row", seen["merged_into"], 0),
        Write(cell("invalidated_at"), "now", seen["invalidated_at"]),
        Write(cell("invalidated_by"), "item", seen["invalidated_by"]),
    ]
