"""Items of summaries: a new memory with the text, what it takes over of its members, and what a person is shown of it.

Which memories are summed up, and how the text is worded, belongs to the planners ``consolidate_clusters`` and ``topic_memories``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from slowwave.mutations.cells import Value, canonical, canonical_json
from slowwave.mutations.consolidate_memories import REASON, Consolidation, consolidate_memories
from slowwave.mutations.rows import live_ids
from slowwave.operations import Inputs
from slowwave.operations.planners.attempts import EXTRACTIVE
from slowwave.operations.planners.consolidation_pool import ALIKE, SUMMARY, Fields, Floats, Pool
from slowwave.operations.planners.summary_text import SummaryText
from slowwave.plans.items import Item, ask_unless_measured
from slowwave.rows.memories import WEIGHTS, attributes
from slowwave.texts.quotation import quote

_QUOTED: Final = 200  # characters


@dataclass(frozen=True, slots=True)
class FoundSummary:
    """A text for the members at ``places`` of the pool; ``uncited`` were in the cluster. Tokens of the members' texts and of this one.
    ``marks`` are attributes of the new memory beside the usual ones, ``substance`` the share of the members' tokens that tell something."""

    places: tuple[int, ...]
    uncited: tuple[int, ...]
    written: SummaryText
    before: int
    after: int
    marks: Mapping[str, object] = field(default_factory=dict)
    substance: float = 1.0

    @property
    def saving(self) -> int:
        """Tokens that recall no longer has to bear."""
        return self.before - self.after

    @property
    def worth(self) -> float:
        """What the saving is worth: tokens of small talk count for nothing."""
        return self.saving * self.substance


def summary_items(inputs: Inputs, operation: str, pool: Pool, summaries: Sequence[FoundSummary]) -> list[Item]:
    """An item of ``operation`` for each summary, in their order."""
    if not summaries:
        return []
    snapshot = inputs.snapshot
    live_sources = {c: live_ids(snapshot, c.split("_")[1] + "s") for c in ("source_document_ids", "source_chunk_ids")}
    members = [pool.rows(s.places) for s in summaries]
    close = [cosines_among(pool, s.places) for s in summaries]
    vectors = _vectors(inputs, pool, summaries)
    mutations = consolidate_memories(
        snapshot,
        [
            Consolidation(s.written.text, tuple(r["id"] for r in rows), _values(s, rows, c, live_sources), vector)
            for s, rows, c, vector in zip(summaries, members, close, vectors, strict=True)
        ],
    )
    return [
        ask_unless_measured(
            Item(
                operation,
                "summarise",
                mutation,
                evidence=_evidence(pool, s, rows, c),
                risk="low" if s.written.writer == EXTRACTIVE else "medium",
                sources=tuple(sorted(r["id"] for r in rows)),
                tokens=s.written.tokens,
                probability=round(float(min(1.0, c.min())), 4),
            ),
            "summary",
        )
        for s, rows, c, mutation in zip(summaries, members, close, mutations, strict=True)
    ]


def cosines_among(pool: Pool, places: Sequence[int]) -> Floats:
    """Cosines of every two of the places."""
    units = pool.units(np.array(places, np.int64))
    return (units @ units.T)[np.triu_indices(len(places), 1)]


def _vectors(inputs: Inputs, pool: Pool, summaries: Sequence[FoundSummary]) -> list[Floats]:
    """A unit vector a summary: of its text, or where nobody can make one the mean of its members."""
    if inputs.embed is not None:
        found = np.asarray(inputs.embed([s.written.text for s in summaries]), np.float32)
        if found.shape[1] == pool.matrix.shape[1]:
            return list(found)
    means = [pool.units(np.array(s.places, np.int64)).astype(np.float64).mean(axis=0) for s in summaries]
    return [(m / max(float(np.linalg.norm(m)), 1e-12)).astype(np.float32) for m in means]


def _values(
    summary: FoundSummary, rows: Sequence[Fields], close: Floats, live_sources: Mapping[str, frozenset[str]]
) -> dict[str, Value]:
    first = rows[0]
    rings = Counter(r["ring"] for r in rows)
    kinds = Counter(_kind(r) for r in rows)
    tags: list[object] = []
    for row in rows:
        own: object = _json_list(row["tags"])
        tags += [t for t in (own if isinstance(own, list) else []) if t not in tags]
    starts = [r["valid_from"] for r in rows if r["valid_from"] is not None]
    reads = [r["last_accessed_at"] for r in rows if r["last_accessed_at"] is not None]
    return {
        "kind": SUMMARY,
        "ring": min(rings, key=lambda ring: (-rings[ring], ring)),
        **{c: first[c] for c in ALIKE},
        "source": REASON,
        "importance": max(r["importance"] for r in rows),
        "confidence": max(r["confidence"] for r in rows),
        "tags": canonical_json(tags),
        "attributes": canonical_json(
            {
                "kind": min(kinds, key=lambda kind: (-kinds[kind], kind)),
                "summary_of": len(rows),
                "similarity": round(float(close.mean()), 4),
                "token_savings": summary.saving,
                **_weights(rows),
                **({"statements": [list(ids) for ids in said]} if (said := summary.written.statements) else {}),
                **summary.marks,
            }
        ),
        "valid_from": canonical(min(starts)) if starts else None,
        "last_accessed_at": canonical(max(reads)) if reads else None,
        **{c: tuple(dict.fromkeys(i for r in rows for i in r[c] or () if i in ids)) for c, ids in live_sources.items()},
    }


def _weights(rows: Sequence[Fields]) -> dict[str, object]:
    """What the members' weights come to: the mean of the successes that are known, and what all members state alike."""
    own = [attributes(row["attributes"]) for row in rows]
    known = [
        v for a in own if isinstance(v := a.get("success"), int | float) and not isinstance(v, bool) and 0 <= v <= 1
    ]
    alike = {k: own[0][k] for k in WEIGHTS - {"success"} if k in own[0] and all(a.get(k) == own[0][k] for a in own)}
    return ({"success": round(float(np.mean(known)), 4)} if known else {}) | alike


def _kind(row: Fields) -> str:
    return str(attributes(row["attributes"]).get("kind", SUMMARY)) if row["kind"] == SUMMARY else str(row["kind"])


def _evidence(pool: Pool, summary: FoundSummary, rows: Sequence[Fields], close: Floats) -> dict[str, object]:
    uncited = pool.rows(summary.uncited, ("id",))
    return {
        "text": summary.written.text,
        "quotes": [{"id": r["id"], "text": quote(r["text"], _QUOTED)} for r in rows],
        "source_count": len(rows),
        "uncited": [r["id"] for r in uncited],
        "cluster_similarity": round(float(close.mean()), 4),
        "least_similarity": round(float(close.min()), 4),
        "tokens_before": summary.before,
        "tokens_after": summary.after,
        "token_savings": summary.saving,
        "writer": summary.written.writer,
        "problem": summary.written.problem,
    }


def _json_list(cell: object) -> object:
    return attributes(f'{{"tags": {cell}}}').get("tags")
