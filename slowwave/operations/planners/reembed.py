"""``reembed``: memories and chunks that similarity cannot find get a vector, and useless vectors are replaced.

``recompute_centroids`` handles entities, ``accept_external_edits`` memories whose text an outside dreamer replaced.

The planner proposes a vector of the snapshot's model for every active memory and live chunk that has none, or one that is zero or not
finite.

A night handles at most ``max_per_night``, memories first: after a change of the model this takes many nights, because every vector is in
the plan. Rows without text are left out. With a ``focus`` only its rows are considered. Cost: the embedding of what is proposed; finding
it is linear in rows and vectors.

The planner adds or renews vectors and changes no word, so it decides without a measurement (``slowwave.plans.items``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.changes.rows import set_vector
from slowwave.models import Embed
from slowwave.models.embedder import passage_text
from slowwave.operations import Inputs, Proposal
from slowwave.operations.options import ReembedOptions
from slowwave.plans.items import Decision, Item
from slowwave.plans.report import Report
from slowwave.snapshots.memories import active_memories
from slowwave.snapshots.snapshot import Vectors

OPERATION: Final = "reembed"

BATCH: Final = 512
"""Texts that a model receives at a time."""

_ROWS: Final = 16_384  # of vectors looked at together


@dataclass(frozen=True, slots=True)
class _Wanting:
    """Rows of one table that need a vector, in id order.

    ``missing`` of them have none, ``broken`` one that is zero or not finite.
    """

    ids: list[str]
    texts: list[str]
    missing: int
    broken: int
    blank: int
    live: int


def reembed(inputs: Inputs) -> Proposal:
    """Propose vectors for memories and chunks without a vector of the namespace's model."""
    snapshot, limit = inputs.snapshot, inputs.settings.options("reembed", ReembedOptions).max_per_night
    active, chunks = active_memories(snapshot), snapshot.live("chunks")
    wanting = {
        "memory_vectors": _wanting(active["id"], active["text"], snapshot.vectors["memory_vectors"], inputs.focus),
        "chunk_vectors": _wanting(chunks["id"], _passages(chunks), snapshot.vectors["chunk_vectors"], inputs.focus),
    }
    items: list[Item] = []
    misfit = 0
    for table, found in wanting.items():
        vectors, ids = snapshot.vectors[table], found.ids[: max(0, limit - len(items))]
        if not ids or not vectors.model or inputs.embed is None:
            continue
        fresh: dict[str, np.ndarray] = {}
        for batch, matrix in _embedded(inputs.embed, ids, found.texts):
            if len(vectors) and matrix.shape[1] != vectors.matrix.shape[1]:
                misfit = matrix.shape[1]
                break
            fresh.update(zip(batch, matrix, strict=True))
        items += [Item(OPERATION, Decision.EMBED, mutation) for mutation in set_vector(snapshot, table, fresh)]
    return Proposal(tuple(items), _report(inputs, wanting, misfit, len(items)))


def _passages(chunks: pa.Table) -> pa.ChunkedArray:
    """Return the texts (n,) from which the vectors of chunks are made; a chunk without text gets none, whoever its speaker is."""
    if chunks["speaker"].null_count == len(chunks):
        return chunks["content"]
    pairs = zip(chunks["content"].to_pylist(), chunks["speaker"].to_pylist(), strict=True)
    texts = [passage_text(content, speaker) if content and content.strip() else content for content, speaker in pairs]
    return pa.chunked_array([pa.array(texts, pa.string())])


def _wanting(ids: pa.ChunkedArray, texts: pa.ChunkedArray, vectors: Vectors, focus: frozenset[str] | None) -> _Wanting:
    """Return the rows that need a vector; ``ids`` and ``texts`` (n,) are those of live rows."""
    if focus is not None:
        near = pc.is_in(ids, value_set=pa.array(sorted(focus), pa.string()))
        ids, texts = ids.filter(near), texts.filter(near)
    places = vectors.rows_of(ids.combine_chunks())
    broken = np.zeros(len(places), bool)
    held = np.flatnonzero(places >= 0)
    for start in range(0, len(held), _ROWS):
        some = held[start : start + _ROWS]
        rows = vectors.matrix[places[some]]
        broken[some] = ~np.isfinite(rows).all(axis=1) | ~rows.any(axis=1)
    wants = (places < 0) | broken
    spoken = pc.not_equal(pc.utf8_trim_whitespace(pc.fill_null(texts, "")), "").to_numpy()
    chosen = pa.array(wants & spoken)
    return _Wanting(
        ids.filter(chosen).to_pylist(),
        texts.filter(chosen).to_pylist(),
        missing=int((places < 0).sum()),
        broken=int(broken.sum()),
        blank=int((wants & ~spoken).sum()),
        live=len(places),
    )


def _embedded(embed: Embed, ids: list[str], texts: list[str]) -> Iterator[tuple[list[str], np.ndarray]]:
    """Yield batches of ids with the vectors (n, d) of their texts."""
    for start in range(0, len(ids), BATCH):
        end = min(start + BATCH, len(ids))
        yield ids[start:end], embed(texts[start:end])


def _report(inputs: Inputs, wanting: dict[str, _Wanting], misfit: int, items: int) -> Report:
    memories, chunks = wanting["memory_vectors"], wanting["chunk_vectors"]
    model = inputs.snapshot.vectors["memory_vectors"].model
    wanted = len(memories.ids) + len(chunks.ids)
    numbers: dict[str, int | float] = {
        "live memories": memories.live,
        "live chunks": chunks.live,
        "memories without a vector": memories.missing,
        "chunks without a vector": chunks.missing,
        "vectors zero or not finite": memories.broken + chunks.broken,
        "left out without text": memories.blank + chunks.blank,
        "left for later": wanted - items if items else 0,
        "items": items,
    }
    if not wanted:
        headline = "Every live memory and chunk with a text has a vector."
    elif not model:
        headline = "The namespace has no vectors, and none are planned."
    elif inputs.embed is None:
        headline = f"{wanted:,} memories and chunks have no vector, and no embedder of the model {model!r} is at hand."
    elif misfit:
        headline = f"The embedder gives vectors of {misfit:,} numbers, those of the model {model!r} have others: none are planned."
    else:
        headline = f"{items:,} of {wanted:,} memories and chunks without a vector get one."
    return Report(OPERATION, headline, numbers)
