"""Memories that may be summed up: which they are, and which of them may stand in one summary.

Which of them lie close, and what is said of them, belongs to ``slowwave.operations.planners.consolidate_clusters``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.config.settings import Settings
from slowwave.matching.vectors import unit_rows
from slowwave.rows.exemptions import attribute_of, exemptions
from slowwave.rows.memories import active_memories, attributes
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.token_count import counts

STAGES: Final = ("full", "compressed", "summary")
"""Stages that are summed up; an essence is one already."""

SUMMARY: Final = "summary"
"""The kind of what stands for others."""

TOPIC: Final = "topic"
"""The attribute of a topic memory: its subject and the stems of its matter."""

ALIKE: Final = ("scope", "subject", "author", "visibility", "sensitivity")
"""What all members have in common, beside their kind: a summary shows nothing to whom it was not shown."""

_COLUMNS: Final = (
    *("id", "external_id", "kind", "ring", "author", "scope", "subject", "visibility", "sensitivity", "text", "tags"),
    *("importance", "confidence", "last_accessed_at", "valid_from", "attributes"),
    *("source_document_ids", "source_chunk_ids"),
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]
Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """The n candidates: ``table`` of their rows and texts, ``block`` (n,) equal for those that may stand together, ``tokens`` (n,),
    ``when`` (n,) they began, ``summary`` (n,) whether they are summaries, and ``vector`` (n,), their rows of ``matrix``."""

    table: pa.Table
    block: Ints
    tokens: Ints
    when: Ints
    summary: Mask
    vector: Ints
    matrix: NDArray[np.floating]

    def rows(self, places: Sequence[int], columns: Sequence[str] = _COLUMNS) -> list[Fields]:
        """The rows at ``places``."""
        return self.table.select(list(columns)).take(pa.array(places, pa.int64())).to_pylist()

    def take(self, places: Ints) -> Pool:
        """The candidates at ``places``, in that order."""
        return replace(
            self,
            table=self.table.take(pa.array(places)),
            block=self.block[places],
            tokens=self.tokens[places],
            when=self.when[places],
            summary=self.summary[places],
            vector=self.vector[places],
        )

    def units(self, places: Ints) -> Floats:
        """Their unit vectors (p, d)."""
        return unit_rows(self.matrix[self.vector[places]])[0]


def candidates(
    snapshot: Snapshot, settings: Settings, numbers: dict[str, int | float], topics_from: int | None = None
) -> Pool:
    """All that may be summed up; ``numbers`` receives how many there were and what each gate left out. Linear in the memories.

    Topic memories (``TOPIC``) are left to ``topic_memories``: with ``topics_from`` they are the only summaries, those of so many days.
    """
    memories = active_memories(snapshot)
    vectors = snapshot.vectors["memory_vectors"]
    numbers["live memories"] = len(memories)
    tokens = counts(memories["text"])
    numbers["live tokens"] = int(tokens.sum())
    vector = vectors.rows_of(memories["id"].combine_chunks())
    summary = pc.equal(memories["kind"], SUMMARY).to_numpy().copy()
    topic = np.zeros(len(memories), np.bool_)
    topic[list(attribute_of(memories, TOPIC))] = True
    days = settings.operations.consolidate_clusters.cooldown_days if topics_from is None else topics_from
    cooldown = snapshot.taken_at - timedelta(days=days)
    fresh = pc.greater(memories["recorded_at"], pa.scalar(cooldown, memories["recorded_at"].type)).to_numpy()
    gates: dict[str, Mask] = {
        **exemptions(memories, settings),
        "of a later stage": ~pc.is_in(memories["stage"], value_set=pa.array(STAGES)).to_numpy(),
        "without a text": tokens == 0,
        "without a vector": ~_directed(vectors.matrix, vector),
        **({"topic memories": summary & topic} if topics_from is None else {"other summaries": summary & ~topic}),
        "summaries cooling down": summary & fresh,
        "longer than the input of a summary": tokens > settings.operations.consolidate_clusters.max_input_tokens,
    }
    left = np.ones(len(memories), np.bool_)
    for gate, shut in gates.items():
        numbers[gate] = int((left & shut).sum())
        left &= ~shut
    table = memories.filter(pa.array(left)).combine_chunks()
    numbers["candidates"] = len(table)
    when = pc.coalesce(table["valid_from"], table["recorded_at"]).cast(pa.int64()).to_numpy().astype(np.int64)
    block = _blocks(table)
    numbers["blocks"] = len(np.unique(block))
    return Pool(table, block, tokens[left], when, summary[left], vector[left], vectors.matrix)


def in_focus(pool: Pool, focus: frozenset[str] | None) -> Mask | None:
    """(n,) which candidates are of the focus; None where there is none."""
    if focus is None:
        return None
    return pc.is_in(pool.table["id"], value_set=pa.array(sorted(focus), pa.string())).to_numpy()


def _directed(matrix: NDArray[np.floating], rows: Ints) -> Mask:
    """(n,) whether each row (-1: none) has a vector that is neither zero nor unsound."""
    found = rows >= 0
    for start in range(0, len(rows), 8_192):
        at = start + np.flatnonzero(found[start : start + 8_192])
        norms = np.linalg.norm(matrix[rows[at]], axis=1) if len(at) else np.empty(0)
        found[at] = np.isfinite(norms) & (norms > 1e-12)
    return found


def _blocks(table: pa.Table) -> Ints:
    """(n,): equal for memories of one kind that have all of ``ALIKE`` in common; a summary is of the kind that it sums up."""
    kinds = table["kind"].to_pylist()
    for k in np.flatnonzero(pc.equal(table["kind"], SUMMARY).to_numpy()).tolist():
        kinds[k] = str(attributes(table["attributes"][k].as_py()).get("kind", SUMMARY))
    code = np.zeros(len(table), np.int64)
    for column in (pa.array(kinds, pa.string()), *(table[c].combine_chunks() for c in ALIKE)):
        own = column.dictionary_encode()
        mixed = code * max(len(own.dictionary), 1) + own.indices.to_numpy(zero_copy_only=False)
        _, code = np.unique(mixed, return_inverse=True)
    return code.astype(np.int64)
