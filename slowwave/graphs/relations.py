"""Relations: live entities and the relationships between them as one weighted graph (khora 8.2), for every operation alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

COOCCURRENCE: Final = "ASSOCIATED_WITH"


@dataclass(frozen=True, slots=True, eq=False)
class EntityGraph:
    """Positions (m,) of both ends of every edge among n entities, and its weight; self-loops are gone.

    ``row`` (m,) is where the edge stands in the table that it came from; ``degree`` (n,) counts edges, whatever their weight.
    """

    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    row: np.ndarray
    degree: np.ndarray
    self_loops: int


def entity_graph(ids: pa.Array, edges: pa.Table, cooccurrence: float) -> EntityGraph:
    """The graph of the model ``live_relationships``, both ends of whose rows are among ``ids``.

    An edge weighs what its row says, one of the type ``ASSOCIATED_WITH`` ``cooccurrence`` times that, and less the more chance would
    have its ends stand together (``association``).
    """
    source, target = (
        pc.index_in(edges[end], value_set=ids).to_numpy().astype(np.int64)
        for end in ("source_entity_id", "target_entity_id")
    )
    together = pc.equal(pc.utf8_upper(edges["relationship_type"]), COOCCURRENCE).to_numpy()
    weight = np.nan_to_num(edges["weight"].to_numpy(), nan=0.0, posinf=0.0).clip(min=0.0)
    weight = weight * np.where(together, cooccurrence, 1.0) * edges["association"].to_numpy()
    kept = np.flatnonzero(source != target)
    source, target = source[kept], target[kept]
    degree = np.bincount(source, minlength=len(ids)) + np.bincount(target, minlength=len(ids))
    return EntityGraph(source, target, weight[kept], kept, degree, edges.num_rows - len(kept))
