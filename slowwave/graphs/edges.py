"""Edges: a graph given as arrays of ids, read into positions among its nodes.

Ids are strings, integers, UUIDs or any other hashable values, in NumPy arrays, Arrow arrays, pandas series, lists or tuples; the
nodes and both ends hold ids of one type. What is computed on a graph belongs to the modules beside this one.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Ids: TypeAlias = np.ndarray | pa.Array | pa.ChunkedArray | Sequence[Hashable]
"""Ids of one type."""

Weights: TypeAlias = np.ndarray | pa.Array | pa.ChunkedArray | Sequence[float]

_ROOMY: Final = (
    4  # a table of every integer from the least to the greatest id may be that many times as long as the ids
)
_NO_TYPE: Final = (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, OverflowError)


class EdgeList(NamedTuple):
    """m edges among ``n`` nodes: positions (m,) int32 of both ends, and weights (m,) float64 of 0 or more."""

    n: int
    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    nodes: _Nodes

    def rank(self) -> np.ndarray:
        """(n,) int64: the place of each node when all are sorted by id, for what must not depend on their order."""
        rank = np.empty(self.n, np.int64)
        rank[self.nodes.order()] = np.arange(self.n)
        return rank


def read_edges(nodes: Ids, source: Ids, target: Ids, weight: Weights | None = None) -> EdgeList:
    """Check and read a graph; without ``weight`` every edge weighs 1.

    Raises ``ValueError`` for repeated nodes, edges between unknown nodes, ids of several types, arrays of several lengths and
    weights that are negative or not finite. Time grows with nodes and edges; integers are found four times as fast as strings,
    and both ten times as fast as values for which Arrow has no type, such as tuples.
    """
    known = _Nodes(nodes)
    with ThreadPoolExecutor(2) as pool:  # Arrow and NumPy let go of the interpreter while they look up
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
    """The nodes as integers, as an Arrow array, or as they came when Arrow has no type for them."""

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
        """The positions of the nodes sorted by id; values for which Arrow has no type by the names of their types and their ``repr``."""
        if self._arrow is not None:
            return pc.sort_indices(self._arrow).to_numpy().astype(np.int64)
        names = [(type(node).__name__, repr(node)) for node in self._places]
        return np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)

    def positions(self, ends: Ids, side: str) -> np.ndarray:
        """(m,) int32 positions of ``ends`` among the nodes."""
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
    """Arrow finds strings in strings an order of magnitude faster than sorting NumPy's fixed-width ones does."""
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
    """Positions by a table of all integers from the least to the greatest node; None when they lie too far apart."""
    low, high = int(nodes.min()), int(nodes.max())
    if high - low > _ROOMY * (len(nodes) + len(ends)):
        return None
    table = np.full(high - low + 3, -1, np.int32)  # the first and the last stand for what is outside
    table[nodes - low + 1] = np.arange(len(nodes), dtype=np.int32)
    return table[np.clip(ends, low - 1, high + 1) - (low - 1)]
