"""Weighted PageRank by power iteration on a sparse matrix.

Brin & Page 1998, with the handling of dangling nodes that networkx has: their mass is spread evenly. networkx stops at an
error that grows with the number of nodes, which ends after four sweeps at 100,000 nodes; here the error is absolute.
"""

from __future__ import annotations

import numpy as np

from slowwave.graphs.edges import Ids, Weights, read_edges


def pagerank(
    nodes: Ids,
    source: Ids,
    target: Ids,
    weight: Weights | None = None,
    damping: float = 0.85,
    tolerance: float = 1e-10,
    max_iterations: int = 200,
) -> np.ndarray:
    """Ranks of ``nodes`` in their order: (n,) float64 that sum to 1.

    ``source`` and ``target`` are the ends of m directed edges, ``weight`` (m,) their weights (1 each if None); parallel edges
    add up, a self-loop keeps its share, and an undirected graph is given as each edge both ways. ``slowwave.graphs.edges`` says
    what ids may be. Iteration ends when the L1 change of a sweep is under ``tolerance``; time is that of ``read_edges`` and of
    some fifty passes over the edges. Raises ``ValueError`` for repeated nodes, edges between unknown nodes, weights that are
    negative or not finite and a damping outside 0 to 1, ``ArithmeticError`` when ``max_iterations`` sweeps do not suffice.
    """
    from scipy import sparse  # definitions do without

    if not 0 <= damping <= 1:
        raise ValueError(f"PageRank was given a damping of {damping}; give one from 0 to 1.")
    edges = read_edges(nodes, source, target, weight)
    n = edges.n
    if n == 0:
        return np.empty(0)
    incoming = sparse.csr_array((edges.weight, (edges.target, edges.source)), shape=(n, n))
    outgoing = np.bincount(edges.source, edges.weight, minlength=n)
    dangling = np.flatnonzero(outgoing == 0)
    incoming.data *= np.divide(damping, outgoing, out=np.zeros(n), where=outgoing > 0)[incoming.indices]
    rank = np.full(n, 1.0 / n)
    change = np.inf
    for _ in range(max_iterations):
        spread = (damping * rank[dangling].sum() + 1.0 - damping) / n
        following = incoming @ rank + spread
        change = np.abs(following - rank).sum()
        rank = following
        if change < tolerance:
            return rank / rank.sum()
    raise ArithmeticError(
        f"PageRank still changed by {change:.1e} after {max_iterations} sweeps; allow more sweeps or a larger tolerance."
    )
