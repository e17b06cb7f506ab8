"""Steady communities: those of last night stand where tonight's are hardly better, and what is left of them gets new labels.

Many partitions of one graph are about as good as the best, and a few changed edges make Leiden choose another: of communities that
mix as those of real namespaces do, nineteen of twenty come back with other members after one edge in two hundred has gone. So boundaries
move only where that is worth something.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from slowwave.graphs.communities import by_first_appearance, shares

WORTH: Final = 0.01
"""What tonight's communities have to gain over last night's, as a share of the modularity that those have, to replace them."""


def steady(
    found: np.ndarray,
    before: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    resolution: float = 1.0,
    least: int = 2,
) -> np.ndarray:
    """Tonight's labels, with last night's boundaries where they still hold: (n,) int64, numbered from 0 by first appearance.

    ``found`` (n,) are the labels that ``communities`` gives, ``before`` (n,) those of last night, -1 for a node that had none;
    the edges are positions, each undirected edge once. An old community is what still hangs together of it, if those are ``least``
    nodes or more. A node that had none joins the old community that most nodes of its new one come from, if an edge leads
    there. Old and new communities that overlap form groups; a group keeps the old ones unless the new ones raise its modularity by
    more than ``WORTH`` of it. Given its own outcome as ``before`` it returns that again. Time grows with nodes and edges.
    """
    from scipy import sparse  # definitions do without

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
    """The connected parts of every label, numbered from 0."""
    from scipy import sparse

    inside = labels[source] == labels[target]
    edges = sparse.coo_array(
        (np.ones(inside.sum(), np.bool_), (source[inside], target[inside])), shape=(len(labels),) * 2
    )
    return sparse.csgraph.connected_components(edges, directed=False)[1]


def _majority(found: np.ndarray, before: np.ndarray, count: int) -> np.ndarray:
    """The old label that most nodes of each new one had, the least of several; -1 where none had any."""
    had = before >= 0
    pairs, sizes = np.unique(np.stack([found[had], before[had]]), axis=1, return_counts=True)
    order = np.lexsort((pairs[1], -sizes, pairs[0]))
    new, first = np.unique(pairs[0][order], return_index=True)
    chosen = np.full(count, -1, np.int64)
    chosen[new] = pairs[1][order][first]
    return chosen
