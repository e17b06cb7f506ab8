"""``recompute_centroids``: which vector a merged entity gets, and vectors for entities that have none.

The decision rule is khora's. ``dedupe_entities`` applies it to every cluster and puts the vector into the merge itself; as a separate
planner, this one embeds the texts of live entities without a vector. ``dedupe_entities`` does the merging.

The planner proposes a vector for live entities that have none, at most ``reembed.max_per_night`` in id order.

It adds vectors and retires nothing, so it decides without a measurement (``slowwave.plans.items``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from slowwave.changes.cells import weighted_mean
from slowwave.changes.rows import set_vector
from slowwave.matching.options import RecomputeCentroidsOptions
from slowwave.matching.vectors import unit_rows
from slowwave.models.embedder import entity_text
from slowwave.operations import Inputs, Proposal
from slowwave.operations.options import ReembedOptions
from slowwave.plans.items import Decision, Item
from slowwave.plans.report import Report
from slowwave.store.settings import Settings

OPERATION: Final = "recompute_centroids"

Centroid = Literal["centroid", "re_embed", "skip_multimodal", "skip_singleton"]


def centroid_decision(
    names: Sequence[str], matrix: NDArray[np.float32], mentions: NDArray[np.int64], settings: Settings
) -> tuple[Centroid, NDArray[np.float32] | None]:
    """Return the decision for one cluster and, for ``centroid``, the vector.

    ``names`` are those of all members; ``matrix`` (v, d) and ``mentions`` (v,) belong to the members that have a vector, in id order.
    Fewer than two names: ``skip_singleton``. Smallest pairwise cosine below ``min_intra_cluster_cosine``: ``skip_multimodal`` (fewer than
    two vectors count as 1). Largest pairwise Levenshtein distance of the names within ``lev_threshold``: ``centroid``, the unit mean
    weighted by mentions. Else ``re_embed``: the caller embeds the text.
    """
    if len(names) < 2:
        return "skip_singleton", None
    units, kept = unit_rows(matrix) if len(matrix) else (matrix, np.empty(0, np.int64))
    options = settings.options("recompute_centroids", RecomputeCentroidsOptions)
    if len(units) > 1 and float((units @ units.T).min()) < options.min_intra_cluster_cosine:
        return "skip_multimodal", None
    limit = options.lev_threshold
    if int(process.cdist(names, names, scorer=Levenshtein.distance, score_cutoff=limit).max()) > limit:
        return "re_embed", None
    return "centroid", weighted_mean(units, mentions[kept]) if len(units) else None


def recompute_centroids(inputs: Inputs) -> Proposal:
    """Propose a vector of the text for live entities without one; a similarity search does not find them until then."""
    snapshot = inputs.snapshot
    live = snapshot.live("entities")
    vectors = snapshot.vectors["entity_vectors"]
    missing = live.filter(vectors.rows_of(live["id"].combine_chunks()) < 0)
    embed = inputs.embed
    numbers = {"live entities": len(live), "without a vector": len(missing)}
    if not len(missing) or not vectors.model or embed is None:
        headline = (
            "Every live entity has a vector."
            if not len(missing)
            else f"{len(missing):,} entities have no vector, and no embedder of the model {vectors.model!r} is at hand."
            if vectors.model
            else "The namespace has no vectors, and none are planned."
        )
        return Proposal((), Report(OPERATION, headline, {**numbers, "items": 0}))
    rows = missing.select(["id", "name", "entity_type", "description"]).to_pylist()
    rows = rows[: inputs.settings.options("reembed", ReembedOptions).max_per_night]
    texts = [entity_text(r["name"], r["entity_type"], r["description"] or "") for r in rows]
    matrix = embed(texts)
    of = {r["id"]: (text, vector) for r, text, vector in zip(rows, texts, matrix, strict=True)}
    items = tuple(
        Item(
            OPERATION,
            Decision.RE_EMBED,
            mutation,
            evidence={"centroid": "re_embed", "text": of[mutation.rows[0].id][0]},
        )
        for mutation in set_vector(snapshot, "entity_vectors", {id_: vector for id_, (_, vector) in of.items()})
    )
    headline = f"{len(items):,} entities without a vector get one."
    return Proposal(items, Report(OPERATION, headline, {**numbers, "items": len(items)}))
