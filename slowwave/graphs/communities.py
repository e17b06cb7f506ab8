"""Communities by the Leiden algorithm, and their modularity.

Traag, Waltman & van Eck 2019, on modularity with a resolution (Reichardt & Bornholdt 2006), as graspologic-native computes it.
The graph goes there as a sparse matrix: as five million tuples of strings it would take ten times the memory. Which community
of tonight is which one of last night belongs to ``slowwave.graphs.steady``.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from slowwave.graphs.edges import EdgeList, Ids, Weights, read_edges

_ROUNDS: Final = (2, 10)
_ROUND_EDGES: Final = 1_000_000
"""A graph gets as many rounds as a million edges take, but no fewer than two and no more than ten. What a round adds shrinks quickly:
at 50,000 nodes of mixed communities modularity is .778 after one, .797 after two, .798 after ten."""


def communities(
    nodes: Ids,
    source: Ids,
    target: Ids,
    weight: Weights | None = None,
    resolution: float = 1.0,
    seed: int = 0,
) -> np.ndarray:
    """The community of each of ``nodes``: (n,) int64 labels, numbered from 0 by first appearance.

    ``source`` and ``target`` are the ends of m undirected edges, ``weight`` (m,) their weights (1 each if None);
    ``slowwave.graphs.edges`` says what ids may be. The same graph and seed give the same communities: neither the order of nodes
    and edges nor their direction matters, parallel edges add up, self-loops do not count. A node without an edge of weight is a
    community of its own. Above 1, ``resolution`` makes more and smaller communities. Time grows a little faster than the edges: 5
    million take some 25 s. Raises ``ValueError`` as ``read_edges`` does, and for a resolution that is not above 0 or a
    seed under 0.
    """
    if not (np.isfinite(resolution) and resolution > 0):
        raise ValueError(f"Communities were asked for at a resolution of {resolution}; give one above 0.")
    if seed < 0:
        raise ValueError(f"Communities were asked for with the seed {seed}; give 0 or more.")
    return by_first_appearance(_leiden(read_edges(nodes, source, target, weight), resolution, seed))


def modularity(
    labels: np.ndarray, source: np.ndarray, target: np.ndarray, weight: np.ndarray, resolution: float = 1.0
) -> float:
    """Modularity of a partition: the share of weight inside communities, less ``resolution`` times what chance would put there.

    ``labels`` (n,) are integers from 0; ``source`` and ``target`` (m,) positions among them, each undirected edge once. 0 without
    weight. Newman & Girvan 2004; self-loops are left out, as in ``communities``.
    """
    return float(shares(labels, source, target, weight, resolution).sum())


def shares(
    labels: np.ndarray, source: np.ndarray, target: np.ndarray, weight: np.ndarray, resolution: float = 1.0
) -> np.ndarray:
    """What each label adds to the modularity: (labels,) float64."""
    count = int(labels.max()) + 1 if len(labels) else 0
    weight = np.where(source == target, 0.0, weight)
    total = weight.sum()
    if not total:
        return np.zeros(count)
    at, to = labels[source], labels[target]
    inside = np.bincount(at, weight * (at == to), minlength=count) / total
    degree = (np.bincount(at, weight, minlength=count) + np.bincount(to, weight, minlength=count)) / (2 * total)
    return inside - resolution * degree**2


def by_first_appearance(labels: np.ndarray) -> np.ndarray:
    """The same partition with labels numbered from 0 in the order in which they first appear."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return number[inverse]


def _leiden(edges: EdgeList, resolution: float, seed: int) -> np.ndarray:
    """Labels in any numbering. Nodes go in by id and without those that have no edge, so that neither can change the outcome."""
    import graspologic_native  # brings SciPy, which definitions do without
    from scipy import sparse

    rank = edges.rank()
    a, b, weight = _folded(edges, rank)
    labels = np.arange(edges.n)
    if not len(a):
        return labels
    tied = np.unique(np.concatenate([a, b]))
    n = len(tied)
    place = np.empty(edges.n, np.int64)
    place[tied] = np.arange(n)
    half = sparse.csr_array((weight, (place[a], place[b])), shape=(n, n))
    whole = half + half.T
    rounds = min(max(_ROUND_EDGES // len(a), _ROUNDS[0]), _ROUNDS[1])
    _, found = graspologic_native.leiden_csr(  # pyright: ignore[reportAttributeAccessIssue] - compiled, and without a stub
        whole.indptr.astype(np.int64),
        whole.indices.astype(np.int32),
        whole.data,
        n,
        resolution=resolution,
        iterations=rounds,
        seed=seed,
    )
    labels += n
    labels[tied[np.fromiter(found.keys(), np.int64, n)]] = np.fromiter(found.values(), np.int64, n)
    return labels[rank]


def _folded(edges: EdgeList, rank: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both ends by rank, the lesser first, and the weight of each undirected edge, once, the heaviest at 1.

    Parallel weights are summed in the order of their size, so that sums do not depend on the order of the edges.
    """
    a, b = rank[edges.source], rank[edges.target]
    kept = (a != b) & (edges.weight > 0)
    a, b, weight = a[kept], b[kept], edges.weight[kept]
    code = np.minimum(a, b) * edges.n + np.maximum(a, b)
    order = np.argsort(code)
    if np.any(np.diff(code[order]) == 0):
        order = np.lexsort((weight, code))
    code, weight = code[order], weight[order]
    first = np.flatnonzero(np.diff(code, prepend=-1))
    if len(first):
        weight = np.add.reduceat(weight / weight.max(), first)
        weight /= weight.max()
    return code[first] // edges.n, code[first] % edges.n, weight
