"""``prune_edges``: weak edges without any support are retired; a person decides about weak edges that someone asserted.

The planner retires live edges of the given types below the confidence threshold whose chunks are all gone (khora 8.7).

With ``score_threshold`` above 0 an edge is also a candidate if weight · 0.5^(age / half-life) is below it; its age counts in days from
the newer of valid_from and recorded_at. A candidate whose chunks are all gone is retired. The others are questions: an edge that never
had a chunk was asserted by someone (khora considers it dead), one whose document is live has only lost its passages, and one between two
pinned entities exists on purpose. Time: linear in edges and references.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.changes.rows import NOW, invalidate_each, rows_where
from slowwave.operations import Inputs, Proposal
from slowwave.operations.options import PruneEdgesOptions
from slowwave.plans.items import Decision, Item, ask_unless_measured
from slowwave.plans.report import Report
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings
from slowwave.text.tokens import counted

OPERATION: Final = "prune_edges"

_RESTS_ON: Final = (
    *("relationship_type", "confidence", "weight", "valid_from"),
    *("source_chunk_ids", "source_document_ids"),
)
"""Columns on which the decision is based: a change of any of these makes the item stale."""

_ENDS: Final = ("source_entity_id", "target_entity_id")
_DAY: Final = 86_400_000_000  # microseconds

Flags = NDArray[np.bool_]
Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class _Edges:
    """Columns (n,) of the n live edges of the types that may be pruned.

    ``chunks`` counts the chunk references of each, ``live_chunks`` those of them that exist, ``documents`` the live documents. ``score``
    is weight times recency, ``pinned`` whether both ends are pinned.
    """

    table: pa.Table
    chunks: NDArray[np.int64]
    live_chunks: NDArray[np.int64]
    documents: NDArray[np.int64]
    confidence: Reals
    age_days: Reals
    score: Reals
    pinned: Flags


def prune_edges(inputs: Inputs) -> Proposal:
    """Propose to retire weak relationships whose chunks are all gone, of the types that may be pruned."""
    snapshot, settings = inputs.snapshot, inputs.settings
    live = snapshot.live("relationships")
    edges = _edges(snapshot, live, settings)
    options = settings.options("prune_edges", PruneEdgesOptions)
    weak = edges.confidence < options.confidence_threshold
    least = options.score_threshold
    faded = (edges.score < least) & (least > 0)
    dead, bare = (edges.chunks > 0) & (edges.live_chunks == 0), edges.chunks == 0
    candidate = (weak & (dead | bare)) | faded
    prune = candidate & dead & (edges.documents == 0) & ~edges.pinned
    items = _items(snapshot, edges, np.flatnonzero(candidate), prune, settings)
    reviews = sum(i.is_question for i in items)
    headline = (
        f"{len(items) - reviews:,} of {len(live):,} live relationships are weak and unsupported, and would be retired; "
    )
    headline += f"{counted(reviews, 'is', 'are')} asked about." if reviews else "none is asked about."
    numbers = {
        "live relationships": len(live),
        "of the types that may be pruned": len(edges.table),
        "under the confidence threshold": int(weak.sum()),
        "of these all chunks gone": int((weak & dead).sum()),
        "of these without any chunk": int((weak & bare).sum()),
        "of these still supported": int((weak & ~dead & ~bare).sum()),
        "under the score threshold": int(faded.sum()),
        "whose document still stands": int((candidate & dead & (edges.documents > 0)).sum()),
        "between pinned entities": int((candidate & edges.pinned).sum()),
        "pruned": len(items) - reviews,
        "for review": reviews,
        "items": len(items),
    }
    return Proposal(tuple(items), Report(OPERATION, headline, numbers))


def score(weight: Reals, age_days: Reals, half_life_days: float) -> Reals:
    """Return (n,) weight times recency: weight · 0.5^(age / half-life); an edge with a future date has age 0."""
    return weight * np.exp2(-np.maximum(age_days, 0.0) / half_life_days)


def _edges(snapshot: Snapshot, live: pa.Table, settings: Settings) -> _Edges:
    options = settings.options("prune_edges", PruneEdgesOptions)
    wanted = pa.array(options.target_predicates, pa.string())
    table = live.filter(pc.is_in(live["relationship_type"], value_set=wanted)).combine_chunks()
    newest = pc.max_element_wise(*(table[c].cast(pa.int64()) for c in ("valid_from", "recorded_at")))
    then = newest.to_numpy().astype(np.float64)
    now = snapshot.taken_at.astimezone(UTC) - datetime.fromtimestamp(0, UTC)
    age = (now.total_seconds() * 1e6 - then) / _DAY
    weight = table["weight"].to_numpy().astype(np.float64)
    entities = snapshot.table("entities")
    pinned = entities["id"].filter(entities["pinned"]).combine_chunks()
    held = [pc.is_in(table[end], value_set=pinned).to_numpy() for end in _ENDS]
    chunks, live_chunks = _references(table["source_chunk_ids"], snapshot.table("chunks"))
    _, documents = _references(table["source_document_ids"], snapshot.table("documents"))
    return _Edges(
        table,
        chunks,
        live_chunks,
        documents,
        table["confidence"].to_numpy().astype(np.float64),
        age,
        score(weight, age, options.half_life_days),
        held[0] & held[1],
    )


def _references(lists: pa.ChunkedArray, named: pa.Table) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (n,) the number of ids in each list, and of those that name a row that exists and is not invalidated."""
    whole = lists.combine_chunks()
    rows = pc.list_parent_indices(whole).to_numpy()
    there = named["id"].filter(pc.is_null(named["invalidated_at"])).combine_chunks()
    stands = pc.is_in(pc.list_flatten(whole), value_set=there).to_numpy(zero_copy_only=False)
    counts = (np.bincount(r, minlength=len(whole)).astype(np.int64) for r in (rows, rows[stands]))
    return next(counts), next(counts)


def _items(
    snapshot: Snapshot, edges: _Edges, places: NDArray[np.int64], prune: Flags, settings: Settings
) -> list[Item]:
    rows = (
        edges.table.take(pa.array(places))
        .select(["id", "relationship_type", "confidence", "weight", *_ENDS])
        .to_pylist()
    )
    mutations = invalidate_each(snapshot, "relationships", {str(r["id"]): NOW for r in rows}, _RESTS_ON)
    names = _names(snapshot, {str(r[end]) for r in rows for end in _ENDS})
    items: list[Item] = []
    options = settings.options("prune_edges", PruneEdgesOptions)
    for place, row in zip(places.tolist(), rows, strict=True):
        decided = bool(prune[place])
        evidence: dict[str, object] = {
            "relationship_type": row["relationship_type"],
            "source": names.get(row["source_entity_id"], ""),
            "target": names.get(row["target_entity_id"], ""),
            "confidence": row["confidence"],
            "confidence_threshold": options.confidence_threshold,
            "chunks": int(edges.chunks[place]),
            "chunks_live": int(edges.live_chunks[place]),
            "reason": _reason(edges, place, decided=decided),
        }
        if options.score_threshold > 0:
            evidence |= {"weight": row["weight"], "half_life_days": options.half_life_days}
            evidence |= {"score_threshold": options.score_threshold}
            evidence |= {
                "age_days": round(float(edges.age_days[place]), 1),
                "score": round(float(edges.score[place]), 6),
            }
        decision, risk = (Decision.PRUNE, "low") if decided else (Decision.REVIEW, "high")
        item = Item(OPERATION, decision, mutations[row["id"]], evidence, risk)
        items.append(ask_unless_measured(item, "weak edge without a source"))
    return items


def _names(snapshot: Snapshot, ids: set[str]) -> dict[str, str]:
    return {str(row["id"]): str(row["name"]) for row in rows_where(snapshot, "entities", "id", ids, ("name",))}


def _reason(edges: _Edges, place: int, *, decided: bool) -> str:
    if decided:
        return f"None of its {edges.chunks[place]:,} chunks stands, and no document does."
    if edges.pinned[place]:
        return "Both of its ends are pinned: somebody wants to keep them."
    if edges.chunks[place] == 0:
        return "It cites no chunk: somebody may have asserted it, and nothing speaks against it but that it is weak."
    if edges.live_chunks[place]:
        return f"It fades, but {edges.live_chunks[place]:,} of its {edges.chunks[place]:,} chunks still stand."
    return "Its chunks are gone, but a document that it comes from still stands."
