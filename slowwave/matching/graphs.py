"""Algorithms on graphs given as arrays of ids: PageRank, Leiden communities, and communities that last over nights."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# Edges: a graph given as arrays of ids, converted to positions among its nodes.
#
# Ids are strings, integers, UUIDs or any other hashable values, in NumPy arrays, Arrow arrays, pandas series, lists or tuples; the nodes
# and both ends hold ids of one type.

Ids: TypeAlias = np.ndarray | pa.Array | pa.ChunkedArray | Sequence[Hashable]
"""Ids of one type."""

Weights: TypeAlias = np.ndarray | pa.Array | pa.ChunkedArray | Sequence[float]

_ROOMY: Final = (
    4  # a table of every integer from the least to the greatest id may be this many times as long as the ids
)
_NO_TYPE: Final = (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, OverflowError)


class EdgeList(NamedTuple):
    """The m edges among ``n`` nodes: positions (m,) int32 of both ends, and weights (m,) float64 of 0 or more."""

    n: int
    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    nodes: _Nodes

    def rank(self) -> np.ndarray:
        """Return (n,) int64: the position of each node in the order of ids.

        It is for results that must not depend on the order of the nodes.
        """
        rank = np.empty(self.n, np.int64)
        rank[self.nodes.order()] = np.arange(self.n)
        return rank


def read_edges(nodes: Ids, source: Ids, target: Ids, weight: Weights | None = None) -> EdgeList:
    """Check and parse a graph; without ``weight`` every edge weighs 1.

    Raises ``ValueError`` for repeated nodes, edges between unknown nodes, ids of several types, arrays of different lengths and weights
    that are negative or not finite. Time grows with nodes and edges; integers are found four times as fast as strings, and both ten times
    as fast as values for which Arrow has no type, such as tuples.
    """
    known = _Nodes(nodes)
    with ThreadPoolExecutor(2) as pool:  # Arrow and NumPy release the interpreter's lock during the lookup
        rows, columns = pool.map(known.positions, (source, target), ("source", "target"))
    if len(rows) != len(columns):
        raise ValueError(
            f"The graph was given {len(rows):,} edge sources but {len(columns):,} targets; give one of each."
        )
    weights = np.ones(len(rows)) if weight is None else np.asarray(weight, np.float64)
    if weights.shape != rows.shape:
        raise ValueError(
            f"The graph was given {weights.size:,} weights for {len(rows):,} edges; give one for each edge."
        )
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError("The graph was given a weight that is negative or not finite; give weights of 0 or more.")
    return EdgeList(len(known), rows, columns, weights, known)


class _Nodes:
    """The nodes as integers, as an Arrow array, or as they were given if Arrow has no type for them."""

    def __init__(self, nodes: Ids) -> None:
        self._given = nodes
        found: Any = _arrow(nodes)
        self._arrow = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
        self._integers = _integers(self._arrow)
        self._places: dict[Any, int] = {}
        if self._arrow is None:
            self._places = {node: place for place, node in enumerate(nodes)}
            unique = len(self._places)
        else:
            unique = len(self._arrow) and pc.count_distinct(self._arrow, mode="all").as_py()
        if unique != len(self):
            raise ValueError("The graph was given a node more than once; give each node once.")

    def __len__(self) -> int:
        return len(self._given)

    def order(self) -> np.ndarray:
        """Return the positions of the nodes sorted by id.

        Values that have no Arrow type are sorted by the name of their Python type and by their ``repr``.
        """
        if self._arrow is not None:
            return pc.sort_indices(self._arrow).to_numpy().astype(np.int64)
        names = [(type(node).__name__, repr(node)) for node in self._places]
        return np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)

    def positions(self, ends: Ids, side: str) -> np.ndarray:
        """Return the positions (m,) int32 of ``ends`` among the nodes."""
        if len(ends) == 0:
            return np.empty(0, np.int32)
        found = self._find(ends, side)
        unknown = np.flatnonzero(found < 0)
        if len(unknown):
            first: Any = ends[int(unknown[0])]
            first = first.as_py() if isinstance(first, pa.Scalar) else first
            raise ValueError(
                f"The graph was given {len(unknown):,} edges whose {side} is no node (the first is {first!r}); drop them first."
            )
        return found

    def _find(self, ends: Ids, side: str) -> np.ndarray:
        wanted = _arrow(ends)
        if wanted is None or self._arrow is None:
            places = self._places or {node: place for place, node in enumerate(self._given)}
            return np.fromiter((places.get(end, -1) for end in ends), np.int32, len(ends))
        integers = _integers(wanted)
        if (
            self._integers is not None
            and integers is not None
            and (found := _look_up(self._integers, integers)) is not None
        ):
            return found
        try:
            places = pc.index_in(wanted, value_set=self._arrow)
        except _NO_TYPE as error:
            raise ValueError(
                f"The graph was given {side} ids of another type than its nodes; give ids of one type."
            ) from error
        return pc.fill_null(places, -1).to_numpy()


def _arrow(ids: Ids) -> pa.Array | pa.ChunkedArray | None:
    """Convert ids to Arrow, which finds strings ten times faster than sorting NumPy's fixed-width strings."""
    if len(ids) == 0:
        return pa.array([], pa.null())
    try:
        found: Any = ids if isinstance(ids, pa.Array | pa.ChunkedArray) else pa.array(ids)
    except _NO_TYPE:
        return None
    if isinstance(found.type, pa.BaseExtensionType):
        found = found.cast(found.type.storage_type)
    if pa.types.is_dictionary(found.type):
        found = found.cast(found.type.value_type)
    return None if pa.types.is_nested(found.type) else found


def _integers(ids: pa.Array | pa.ChunkedArray | None) -> np.ndarray | None:
    if ids is None or not pa.types.is_integer(ids.type) or pa.types.is_uint64(ids.type) or ids.null_count:
        return None
    return ids.cast(pa.int64()).to_numpy()


def _look_up(nodes: np.ndarray, ends: np.ndarray) -> np.ndarray | None:
    """Return positions from a table of all integers between the least and the greatest node.

    Returns None if these are too far apart.
    """
    low, high = int(nodes.min()), int(nodes.max())
    if high - low > _ROOMY * (len(nodes) + len(ends)):
        return None
    table = np.full(high - low + 3, -1, np.int32)  # the first and the last entry are for ids outside the range
    table[nodes - low + 1] = np.arange(len(nodes), dtype=np.int32)
    return table[np.clip(ends, low - 1, high + 1) - (low - 1)]


# Communities by the Leiden algorithm, and their modularity.
#
# Traag, Waltman & van Eck 2019, on modularity with a resolution (Reichardt & Bornholdt 2006), as graspologic-native computes it. The graph
# is passed as a sparse matrix: as five million tuples of strings it would take ten times the memory. The section on stable communities maps
# tonight's communities to those of last night.

_ROUNDS: Final = (2, 10)
_ROUND_EDGES: Final = 1_000_000
"""A graph gets as many rounds as a million edges take, but at least two and at most ten. The gain per round falls quickly: at 50,000 nodes
of mixed communities, modularity is .778 after one round, .797 after two, .798 after ten."""


def communities(
    nodes: Ids,
    source: Ids,
    target: Ids,
    weight: Weights | None = None,
    resolution: float = 1.0,
    seed: int = 0,
) -> np.ndarray:
    """Return the community of each of ``nodes``: (n,) int64 labels, numbered from 0 by first appearance.

    ``source`` and ``target`` are the ends of m undirected edges, ``weight`` (m,) their weights (1 each if None);
    ``slowwave.matching.graphs`` describes the allowed ids. The same graph and seed give the same communities. The order of nodes and
    edges and the direction of edges do not matter, parallel edges add up, and self-loops do not count. A node without a weighted edge is
    a separate community. A ``resolution`` above 1 makes more and smaller communities. Time grows a little faster than the number of
    edges: 5 million take about 25 s. Raises ``ValueError`` as ``read_edges`` does, and for a resolution that is not above 0 or a seed
    below 0.
    """
    if not (np.isfinite(resolution) and resolution > 0):
        raise ValueError(f"Communities were asked for at a resolution of {resolution}; give one above 0.")
    if seed < 0:
        raise ValueError(f"Communities were asked for with the seed {seed}; give 0 or more.")
    return by_first_appearance(_leiden(read_edges(nodes, source, target, weight), resolution, seed))


def modularity(
    labels: np.ndarray, source: np.ndarray, target: np.ndarray, weight: np.ndarray, resolution: float = 1.0
) -> float:
    """Return the modularity of a partition.

    It is the share of weight inside communities, less ``resolution`` times the share expected by chance. ``labels`` (n,) are integers
    from 0; ``source`` and ``target`` (m,) are positions among them, each undirected edge once. Returns 0 without weight. Newman & Girvan
    2004; self-loops are left out, as in ``communities``.
    """
    return float(shares(labels, source, target, weight, resolution).sum())


def shares(
    labels: np.ndarray, source: np.ndarray, target: np.ndarray, weight: np.ndarray, resolution: float = 1.0
) -> np.ndarray:
    """Return the contribution of each label to the modularity: (labels,) float64."""
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
    """Return the same partition with labels numbered from 0 in the order of first appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return number[inverse]


def _leiden(edges: EdgeList, resolution: float, seed: int) -> np.ndarray:
    """Return labels in any numbering.

    Nodes are ordered by id, without those that have no edge, so that neither the order nor isolated nodes can change the result.
    """
    import graspologic_native  # loads SciPy, which is not needed to import this module
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
    """Return both ends by rank, the smaller first, and the weight of each undirected edge, once, the heaviest at 1.

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


# Weighted PageRank by power iteration on a sparse matrix.
#
# Brin & Page 1998, with dangling nodes handled as in networkx: their mass is spread evenly. networkx stops at an error that grows with the
# number of nodes, which ends after four sweeps at 100,000 nodes; here the error is absolute.


def pagerank(
    nodes: Ids,
    source: Ids,
    target: Ids,
    weight: Weights | None = None,
    damping: float = 0.85,
    tolerance: float = 1e-10,
    max_iterations: int = 200,
) -> np.ndarray:
    """Return the ranks of ``nodes`` in their order: (n,) float64 that sum to 1.

    ``source`` and ``target`` are the ends of m directed edges, ``weight`` (m,) their weights (1 each if None). Parallel edges add up, a
    self-loop keeps its share, and an undirected graph is given as each edge both ways. ``slowwave.matching.graphs`` describes the allowed
    ids. Iteration ends when the L1 change of a sweep is below ``tolerance``; time is that of ``read_edges`` and of about fifty passes
    over the edges. Raises ``ValueError`` for repeated nodes, edges between unknown nodes, weights that are negative or not finite and a
    damping outside 0 to 1, and ``ArithmeticError`` if ``max_iterations`` sweeps do not suffice.
    """
    from scipy import sparse  # not needed to import this module

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


# Relations: live entities and the relationships between them as one weighted graph (khora 8.2), shared by all operations.

COOCCURRENCE: Final = "ASSOCIATED_WITH"


@dataclass(frozen=True, slots=True, eq=False)
class EntityGraph:
    """The positions (m,) of both ends of every edge among n entities, and its weight, without self-loops.

    ``row`` (m,) is the edge's row in its table; ``degree`` (n,) counts edges, whatever their weight.
    """

    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    row: np.ndarray
    degree: np.ndarray
    self_loops: int


def entity_graph(ids: pa.Array, edges: pa.Table, cooccurrence: float) -> EntityGraph:
    """Build the graph of the model ``live_relationships``; both ends of each of its rows must be among ``ids``.

    The weight of an edge is the weight of its row, multiplied by ``cooccurrence`` for the type ``ASSOCIATED_WITH``, and by the row's
    ``association``, which is lower the more often the two ends would occur together by chance.
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


# Stable communities: last night's communities are kept if tonight's are hardly better, and parts that split off get new labels.
#
# Many partitions of one graph are about as good as the best, and a few changed edges make Leiden choose another one: with communities as
# mixed as those of real namespaces, nineteen of twenty have other members after one edge in two hundred was removed. So boundaries change
# only if that improves the partition noticeably.

WORTH: Final = 0.01
"""Minimum gain in modularity of tonight's communities over last night's, as a share of the latter, for replacing them."""


def steady(
    found: np.ndarray,
    before: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    resolution: float = 1.0,
    least: int = 2,
) -> np.ndarray:
    """Return tonight's labels with last night's boundaries where these still hold: (n,) int64.

    The labels are numbered from 0 by first appearance. ``found`` (n,) are the labels from ``communities``, ``before`` (n,) those of last
    night, -1 for a node that had none; the edges are positions, each undirected edge once. An old community consists of the part of it
    that is still connected, if that has ``least`` nodes or more. A node without an old label joins the old community that most nodes of
    its new one come from, if an edge leads there. Old and new communities that overlap form groups; a group keeps the old ones unless the
    new ones raise its modularity by more than ``WORTH`` of it. Given its own result as ``before``, the function returns it again. Time
    grows with nodes and edges.
    """
    from scipy import sparse  # not needed to import this module

    tied = weight > 0
    source, target, weight = source[tied], target[tied], weight[tied]
    old = _connected(before, source, target)
    old = np.where((before >= 0) & (np.bincount(old)[old] >= least), old, -1) if len(old) else old
    if not (old >= 0).any():
        return by_first_appearance(found)
    count = int(found.max()) + 1
    joined = np.where(old >= 0, old, _majority(found, old, count)[found])
    kept = _connected(np.where(joined >= 0, joined, len(found) + found), source, target)
    n_kept = int(kept.max()) + 1
    overlap = sparse.coo_array((np.ones(len(found)), (found, count + kept)), shape=(count + n_kept,) * 2)
    group = sparse.csgraph.connected_components(overlap, directed=False)[1]
    groups = int(group.max()) + 1
    new = np.bincount(group[:count], shares(found, source, target, weight, resolution), minlength=groups)
    old = np.bincount(group[count:], shares(kept, source, target, weight, resolution), minlength=groups)
    better = new - old > WORTH * np.abs(old)
    return by_first_appearance(np.where(better[group[found]], n_kept + found, kept))


def _connected(labels: np.ndarray, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the connected parts of every label, numbered from 0."""
    from scipy import sparse

    inside = labels[source] == labels[target]
    edges = sparse.coo_array(
        (np.ones(inside.sum(), np.bool_), (source[inside], target[inside])), shape=(len(labels),) * 2
    )
    return sparse.csgraph.connected_components(edges, directed=False)[1]


def _majority(found: np.ndarray, before: np.ndarray, count: int) -> np.ndarray:
    """Return the old label of most nodes of each new label, the smallest if several tie, or -1 if none had one."""
    had = before >= 0
    pairs, sizes = np.unique(np.stack([found[had], before[had]]), axis=1, return_counts=True)
    order = np.lexsort((pairs[1], -sizes, pairs[0]))
    new, first = np.unique(pairs[0][order], return_index=True)
    chosen = np.full(count, -1, np.int64)
    chosen[new] = pairs[1][order][first]
    return chosen
