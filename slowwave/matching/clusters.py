"""Clusters that resist chaining: complete linkage over the pairs that may merge, strongest first.

Two clusters join only when every pair across them holds; a pair is not asked to be strong, but must not speak against. So a
chain of near pairs never becomes one cluster. What holds is the caller's to say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Holds = Callable[[Ints, Ints], NDArray[np.bool_]]
"""(p,), (p,) row numbers → whether each pair may stand in one cluster."""


@dataclass(frozen=True, slots=True, eq=False)
class Grown:
    """``label`` (n,): the smallest row of each row's cluster. ``joined`` and ``refused`` (edges,): the edges that joined two
    clusters, and those that would have joined clusters which do not agree."""

    label: Ints
    joined: NDArray[np.bool_]
    refused: NDArray[np.bool_]


def grow(n: int, i: Ints, j: Ints, holds: Holds) -> Grown:
    """Join n rows along edges (i, j), given strongest first.

    Works in rounds: every cluster names its strongest open edge, and edges named from both sides are tried at once, which gives
    the same clusters as one edge at a time. An edge whose clusters do not agree stays refused, for clusters only grow.
    """
    label = np.arange(n)
    joined, refused = np.zeros(len(i), bool), np.zeros(len(i), bool)
    while True:
        a, b = np.minimum(label[i], label[j]), np.maximum(label[i], label[j])
        edges = np.flatnonzero((a != b) & ~refused)
        if not len(edges):
            return Grown(label, joined, refused)
        best = np.full(n, len(i))
        np.minimum.at(best, a[edges], edges)
        np.minimum.at(best, b[edges], edges)
        tried = edges[(best[a[edges]] == edges) & (best[b[edges]] == edges)]
        agreed = _agree(label, a[tried], b[tried], holds)
        joined[tried[agreed]] = True
        no = np.isin(a[edges] * n + b[edges], a[tried[~agreed]] * n + b[tried[~agreed]])
        refused[edges[no]] = True
        to = np.arange(n)
        to[b[tried[agreed]]] = a[tried[agreed]]
        label = to[label]


def _agree(label: Ints, a: Ints, b: Ints, holds: Holds) -> NDArray[np.bool_]:
    """Whether all pairs across each two clusters (labels ``a`` and ``b``) hold."""
    order = np.argsort(label, kind="stable")
    start = np.searchsorted(label[order], np.r_[a, b], side="left")
    size = np.searchsorted(label[order], np.r_[a, b], side="right") - start
    k = len(a)
    width, pairs = size[k:], size[:k] * size[k:]
    offset = np.cumsum(pairs) - pairs
    step = np.arange(pairs.sum()) - np.repeat(offset, pairs)
    left = order[np.repeat(start[:k], pairs) + step // np.repeat(width, pairs)]
    right = order[np.repeat(start[k:], pairs) + step % np.repeat(width, pairs)]
    good = holds(np.minimum(left, right), np.maximum(left, right))
    return np.logical_and.reduceat(good, offset)
