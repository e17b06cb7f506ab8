"""Neighbour graph: which memories are close to which, by their stored vectors.

The audit reports how many active memories have near neighbours, how near these are, and how many memories have a vector at all
(Plugged.in 1.3).

Neighbours are one-way: a memory may be among the nearest of another one that is not among its own nearest. Memories without near
neighbours are reported once; ``dedupe_memories`` and ``consolidate_clusters`` process those with many.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slowwave.matching.vectors import neighbours, pairs_of
from slowwave.operations import Inputs
from slowwave.operations.options import NeighbourGraphOptions
from slowwave.plans.report import Bars, Report
from slowwave.snapshots.memories import active_memories
from slowwave.snapshots.rows import quotes
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings
from slowwave.text.tokens import counted

STEPS: Final = 5
"""Bars between the floor and 1."""

SHOWN: Final = 20
"""Pairs listed in the report's details, by the ids of their memories."""

TABLED: Final = 10
"""Pairs whose texts the report's table shows."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourGraph:
    """Memories with a vector (``ids``, n) and their neighbours.

    ``i`` has ``j`` among its nearest, with the ``cosine``, (p,) each.
    """

    ids: pa.Array
    i: Ints
    j: Ints
    cosine: Floats

    def pairs(self) -> tuple[Ints, Ints, Floats]:
        """Return each pair of neighbours once, with the earlier row first."""
        return pairs_of(self.i, self.j, self.cosine)


def build_graph(snapshot: Snapshot, memories: pa.Table, settings: Settings) -> NeighbourGraph:
    """Build the graph of the ``top_k`` nearest neighbours of each memory with at least ``similarity`` (Plugged.in 1.3).

    Nothing is embedded: the similarities come from the stored vectors. For time and memory see ``slowwave.matching.vectors``.
    """
    vectors = snapshot.vectors["memory_vectors"]
    ids = memories["id"].combine_chunks()
    places = vectors.rows_of(ids) if len(ids) else np.empty(0, np.int64)
    has = np.flatnonzero(places >= 0)
    options = settings.options("neighbour_graph", NeighbourGraphOptions)
    found = neighbours(
        vectors.matrix,
        options.top_k,
        options.similarity,
        places[has],
    )
    return NeighbourGraph(ids.take(pa.array(has)), *found)


def neighbour_graph(inputs: Inputs) -> Report:
    """Report each memory's nearest neighbours by stored vectors, their similarity, and the memories without a vector."""
    memories = active_memories(inputs.snapshot)
    graph = build_graph(inputs.snapshot, memories, inputs.settings)
    options = inputs.settings.options("neighbour_graph", NeighbourGraphOptions)
    n, floor = len(graph.ids), options.similarity
    a, b, cosine = graph.pairs()
    degree = np.bincount(np.concatenate([a, b]), minlength=n)
    numbers: dict[str, int | float] = {
        "active memories": len(memories),
        "without a vector": len(memories) - n,
        "vector coverage": round(n / len(memories), 4) if len(memories) else 1.0,
        "neighbours kept a memory": options.top_k,
        "similarity floor": floor,
        "with a neighbour": int((degree > 0).sum()),
        "pairs": len(a),
        "mean degree": round(float(degree.mean()), 4) if n else 0.0,
        "greatest degree": int(degree.max(initial=0)),
        "mean similarity": round(float(cosine.mean(dtype=np.float64)), 4) if len(cosine) else 0.0,
    }
    top = np.lexsort((b, a, -cosine))[:SHOWN]
    ids: list[str] = graph.ids.to_pylist() if len(top) else []
    pairs = [(ids[a[k]], ids[b[k]], round(float(cosine[k]), 4)) for k in top.tolist()]
    says = quotes(inputs.snapshot, {"memories": {row for x, y, _ in pairs[:TABLED] for row in (x, y)}})
    return Report(
        operation="neighbour_graph",
        headline=(
            f"{numbers['with a neighbour']:,} of {len(memories):,} active memories have a neighbour of similarity {floor:g} or more; "
            f"{_lacking(len(memories) - n)}."
        ),
        numbers=numbers,
        table=tuple(
            {"a says": says.get(x, x), "b says": says.get(y, y), "similarity": near} for x, y, near in pairs[:TABLED]
        ),
        plots=(_similarities(cosine, floor), _degrees(degree)) if len(a) else (),
        details={"nearest": [{"a": x, "b": y, "similarity": near} for x, y, near in pairs]},
    )


def _lacking(memories: int) -> str:
    return counted(memories, "has no vector", "have no vector") if memories else "each has a vector"


def _similarities(cosine: Floats, floor: float) -> Bars:
    edges = np.linspace(floor, 1.0, STEPS + 1)
    counts = np.histogram(np.clip(cosine, floor, 1.0), edges)[0]
    labels = [f"{low:.2f} to {high:.2f}" for low, high in pairwise(edges.tolist())]
    return Bars("Pairs by similarity", labels, counts.astype(float).tolist(), own=True)


def _degrees(degree: Ints) -> Bars:
    bands = {"none": (0, 0), "1": (1, 1), "2": (2, 2), "3 to 5": (3, 5), "6 and more": (6, np.inf)}
    counts = [float(((degree >= low) & (degree <= high)).sum()) for low, high in bands.values()]
    return Bars("Memories by neighbours", list(bands), counts, own=True)
