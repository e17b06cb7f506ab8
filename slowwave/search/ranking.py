"""Ranked lists: the best of a matrix of scores, and lists fused by reciprocal rank.

Fusion is that of Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion Outperforms Condorcet and Individual Rank Learning
Methods", SIGIR 2009. Where scores come from belongs elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

RRF_K: Final = 60

_BLOCKS_PER_PLACE: Final = 8
_ABOVE_ZERO: Final = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """Lists of several queries in one: ``query``, ``row`` and ``rank`` (from 1), each (m,), by query and then best first."""

    query: np.ndarray
    row: np.ndarray
    rank: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class ScoredRows:
    """Candidates: ``query``, ``row`` and ``score``, each (m,), in no order."""

    query: np.ndarray
    row: np.ndarray
    score: np.ndarray


def best(scores: np.ndarray, depth: int, step: float) -> ScoredRows:
    """Candidates among scores (q, n) float32: at least the ``depth`` best positive ones of each row, ties and near ties included.

    ``step`` is the difference under which two scores are one. Exact, with no partial sort of n: the depth-th greatest of
    the maxima of blocks bounds the depth-th greatest score from below, so one comparison leaves little more than depth.
    """
    n = scores.shape[1]
    bound = np.zeros(len(scores), scores.dtype)
    if n > depth:
        starts = np.arange(0, n, max(1, n // (depth * _BLOCKS_PER_PLACE)))
        maxima = np.maximum.reduceat(scores, starts, axis=1)
        bound = np.partition(maxima, -depth, axis=1)[:, -depth] - 2 * step
    query, row = np.divmod(np.flatnonzero(scores >= np.maximum(bound, _ABOVE_ZERO)[:, None]), max(1, n))
    return ScoredRows(query, row, np.round(scores[query, row].astype(np.float64) / step))


def ranked(scored: ScoredRows, depth: int) -> Ranked:
    """The ``depth`` best of each query, ties by the smaller row number."""
    order = np.lexsort((scored.row, -scored.score, scored.query))
    query, row = scored.query[order], scored.row[order]
    rank = np.arange(len(query)) - np.searchsorted(query, query) + 1
    kept = rank <= depth
    return Ranked(query[kept], row[kept], rank[kept])


def fused(lists: Sequence[Ranked], depth: int) -> Ranked:
    """One list a query: a row's score is the sum of ``1 / (60 + rank)`` over the lists it stands in; ties by row number."""
    query, row, rank = (np.concatenate([getattr(r, name) for r in lists]) for name in ("query", "row", "rank"))
    if not len(query):
        return Ranked(query, row, rank)
    width = int(row.max()) + 1
    pairs, where = np.unique(query * width + row, return_inverse=True)
    score = np.bincount(where, weights=1.0 / (RRF_K + rank))
    return ranked(ScoredRows(pairs // width, pairs % width, score), depth)
