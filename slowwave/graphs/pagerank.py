"""Weighted PageRank by power iteration on a sparse matrix.

Brin & Page 1998, with the handling of dangling nodes that networkx has: their mass is spread evenly. networkx stops at an
error that grows with the number of nodes, which ends after four sweeps at 100,000 nodes; here the error is absolute.
Building a graph from rows of the store belongs to the audits and planners.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

Ids: TypeAlias = np.ndarray | pa.Array | pa.ChunkedArray | Sequence[str] | Sequence[int]
"""Node ids, all strings or all integers."""


def pagerank(
    nodes: Ids,
    source: Ids,
    target: Ids,
    weight: np.ndarray | Sequence[float] | None = None,
    damping: float = 0.85,
    tolerance: float = 1e-10,
    max_iterations: int = 200,
) -> np.ndarray:
    """Ranks of ``nodes`` in their order: (n,) float64 that sum to 1.

    ``source`` and ``target`` are the ends of m directed edges, ``weight`` (m,) their weights (1 each if None); parallel edges
    add up, a self-loop keeps its share, and an undirected graph is given as each edge both ways. Iteration ends when the L1
    change of a sweep is under ``tolerance``. Raises ``ValueError`` for repeated nodes, edges between unknown nodes and weights
    that are negative or not finite, ``ArithmeticError`` when ``max_iterations`` sweeps do not suffice.
    """
    ids = _arrow(nodes)
    n = len(ids)
    if len(pc.unique(ids)) != n:
        raise ValueError("PageRank was given a node more than once; give each node once.")
    rows, columns = _positions(ids, source, "source"), _positions(ids, target, "target")
    if len(rows) != len(columns):
        raise ValueError(
            f"PageRank was given {len(rows):,} edge sources but {len(columns):,} targets; give one of each."
        )
    weights = np.ones(len(rows)) if weight is None else np.asarray(weight, np.float64)
    if weights.shape != rows.shape:
        raise ValueError(
            f"PageRank was given {weights.size:,} weights for {len(rows):,} edges; give one for each edge."
        )
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError("PageRank was given a weight that is negative or not finite; give weights of 0 or more.")
    if n == 0:
        return np.empty(0)
    incoming = sparse.csr_array((weights, (columns, rows)), shape=(n, n))
    outgoing = np.bincount(rows, weights, minlength=n)
    dangling = outgoing == 0
    share = np.divide(1.0, outgoing, out=np.zeros(n), where=~dangling)
    rank = np.full(n, 1.0 / n)
    change = np.inf
    for _ in range(max_iterations):
        spread = (damping * rank[dangling].sum() + 1.0 - damping) / n
        following = damping * (incoming @ (rank * share)) + spread
        change = np.abs(following - rank).sum()
        rank = following
        if change < tolerance:
            return rank / rank.sum()
    raise ArithmeticError(
        f"PageRank still changed by {change:.1e} after {max_iterations} sweeps; allow more sweeps or a larger tolerance."
    )


def _arrow(ids: Ids) -> pa.Array:
    """Arrow finds strings in strings an order of magnitude faster than sorting numpy's fixed-width ones does."""
    if isinstance(ids, pa.ChunkedArray):
        return ids.combine_chunks()
    if isinstance(ids, pa.Array):
        return ids
    return pa.array(ids) if len(ids) else pa.array([], pa.null())


def _positions(nodes: pa.Array, ends: Ids, side: str) -> np.ndarray:
    wanted = _arrow(ends)
    if len(wanted) == 0:
        return np.empty(0, np.int64)
    try:
        found = pc.index_in(wanted, value_set=nodes)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise ValueError(
            f"PageRank was given {side} ids of another type than its nodes; give ids of one type."
        ) from error
    if found.null_count:
        unknown = wanted.filter(pc.is_null(found))[0].as_py()
        raise ValueError(
            f"PageRank was given {found.null_count:,} edges whose {side} is no node (the first is {unknown!r}); drop them first."
        )
    return found.to_numpy(zero_copy_only=False).astype(np.int64)
