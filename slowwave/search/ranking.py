"""Ranked lists: the best of a matrix of scores. Where scores come from, and how two are fused, belongs elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

_BLOCKS_PER_PLACE: Final = 8
_ABOVE_ZERO: Final = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True, slots=True, eq=False)
class ScoredRows:
    """Rows of several queries: ``query``, ``row`` and ``score``, each (m,)."""

    query: np.ndarray
    row: np.ndarray
    score: np.ndarray


def best(scores: np.ndarray, depth: int, step: float) -> ScoredRows:
    """Candidates, in no order and with scores in whole steps, among scores (q, n) float32: at least the ``depth`` best positive ones of
    each row, ties and near ties included.

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


def ranked(scored: ScoredRows, depth: int) -> ScoredRows:
    """The ``depth`` best of each query, by query and then best first, ties by the smaller row number."""
    order = np.lexsort((scored.row, -scored.score, scored.query))
    query, row, score = scored.query[order], scored.row[order], scored.score[order]
    kept = np.arange(len(query)) - np.searchsorted(query, query) < depth
    return ScoredRows(query[kept], row[kept], score[kept])
