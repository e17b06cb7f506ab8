"""From which cosine on two memories belong to one summary, for the embedding model that made their vectors.

How near a model puts texts that have nothing to do with each other is its own: so the floor is not a number but so many deviations above
what is usual among unrelated texts. That is known of the models in wheels, measured once of another model that is at hand, and of vectors
that nobody can make more of it is read off the namespace's memories.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow.compute as pc

from slowwave.config.embedding_models import UNRELATED_COSINES
from slowwave.language import Embed
from slowwave.matching.unrelated import UNRELATED, NullCosines, null_cosines
from slowwave.operations import Inputs
from slowwave.operations.planners.consolidation_pool import SUMMARY
from slowwave.snapshots.snapshot import Snapshot

UNKNOWN: Final = 0.8
"""The floor where nothing can be measured: a model that is not at hand, and too few vectors."""

_FEW: Final = 64
"""Vectors below which their cosines say nothing of the model."""

_OWN: Final = 2 / 3
"""Share of the deviations that hold among a namespace's own memories: they speak of one world, so their cosines lie higher and wider than
those of unrelated notes (of conversations by half, in either model of the wheels)."""


def cohesion_floor(inputs: Inputs) -> float:
    """The cosine that every two members of a summary have: the setting, or where it is empty ``floor_above`` its deviations."""
    options = inputs.settings.operations.consolidate_clusters
    return floor_above(inputs, options.cohesion_deviations) if options.cohesion is None else options.cohesion


def floor_above(inputs: Inputs, deviations: float) -> float:
    """The cosine so many deviations above chance.

    A night moves it not: notes and models are fixed, and of the namespace's own vectors those of memories that are no summaries count,
    retired ones included. Of these it is rounded to .01, as a night may reword some.
    """
    vectors = inputs.snapshot.vectors["memory_vectors"]
    if vectors.model in UNRELATED_COSINES:
        return NullCosines(*UNRELATED_COSINES[vectors.model]).above(deviations)
    if inputs.embed is not None and vectors.model == inputs.settings.embedding_model:
        measured = _measured(inputs.embed)
        if measured is not None and measured[0] == vectors.matrix.shape[1]:
            return measured[1].above(deviations)
    own = _own(inputs.snapshot)
    return UNKNOWN if own is None else round(own.above(_OWN * deviations), 2)


@lru_cache(maxsize=4)
def _measured(embed: Embed) -> tuple[int, NullCosines] | None:
    """Dimensions of a model and its cosines of the unrelated notes, asked for once a process; None where it tells no two apart."""
    vectors = np.asarray(embed(UNRELATED), np.float32)
    found = null_cosines(vectors)
    return (int(vectors.shape[1]), found) if found.deviation > 0 else None


def _own(snapshot: Snapshot) -> NullCosines | None:
    memories, vectors = snapshot.table("memories"), snapshot.vectors["memory_vectors"]
    told = memories["id"].filter(pc.not_equal(memories["kind"], SUMMARY)).combine_chunks()
    rows = vectors.rows_of(told)
    rows = rows[rows >= 0]
    return null_cosines(vectors.matrix[rows]) if len(rows) >= _FEW else None
