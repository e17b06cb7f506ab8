"""Scores from 0 to 1, and one of two: what words say and what meaning says, weighed by how much the words had to go on.

A lexical score is BM25 as a share of what a text could get that holds every word of the query several times; a cosine is put between what
unrelated and what equal-minded texts of its model have. Fusing scores keeps what ranks throw away: by how much a row was better. Figures of
the alternatives are in ``docs/search.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from slowwave.search.bm25 import K1

_FULL: Final = 0.6 * (K1 + 1)
"""Share of BM25's bound per word at which a word counts as found in full: about once more often than once in a text of mean length."""

_TAIL: Final = 0.02


class Calibration(NamedTuple):
    """Of a model: cosines of unrelated and of equal texts, and the weight of words beside it, at least and at most."""

    unrelated: float
    equal: float
    least: float
    most: float


_CALIBRATIONS: Final[Mapping[str, Calibration]] = {
    "fast-use-v3": Calibration(0.25, 0.85, 0.6, 1.0),  # static: words know better nearly always
    "all-minilm-l6-v2-int8": Calibration(0.1, 0.75, 0.3, 0.7),
}
_CONTEXTUAL: Final = Calibration(0.1, 0.8, 0.3, 0.7)


def calibration_of(model: str) -> Calibration:
    """That of a model; one that was never measured counts as a contextual one."""
    return _CALIBRATIONS.get(model, _CONTEXTUAL)


def lexical_scores(bm25: np.ndarray, bound: np.ndarray | float) -> np.ndarray:
    """BM25 scores → 0 … 1. ``bound`` is the sum of the weights of the query's words, each as often as it is asked, found or not."""
    return np.clip(np.asarray(bm25, np.float64) / np.maximum(np.asarray(bound, np.float64) * _FULL, 1e-9), 0, 1)


def semantic_scores(cosines: np.ndarray, calibration: Calibration) -> np.ndarray:
    """Cosines → 0 … 1, in their order: what is below the unrelated shares the lowest ``_TAIL``."""
    found = np.asarray(cosines, np.float64)
    unrelated, equal = calibration.unrelated, calibration.equal
    above = _TAIL + (1 - _TAIL) * (found - unrelated) / (equal - unrelated)
    return np.clip(np.where(found < unrelated, _TAIL * (1 + found) / (1 + unrelated), above), 0, 1)


LEADERS: Final = 3
"""Best lexical scores whose mean says how much words had to go on: one copy of the question in the store says nothing of the rest."""


def weight_of_words(found: np.ndarray | float, calibration: Calibration) -> np.ndarray:
    """How much words count beside meaning where the ``LEADERS`` best lexical scores of the query have the mean ``found`` (none is 0)."""
    return calibration.least + (calibration.most - calibration.least) * np.clip(np.asarray(found, np.float64), 0, 1)


def fuse(lexical: np.ndarray, semantic: np.ndarray, words: np.ndarray | float) -> np.ndarray:
    """Scores of candidates (n) by words and by meaning, and the weight of words (n or one) → fused scores (n), 0 … 1."""
    return words * np.asarray(lexical, np.float64) + (1 - words) * np.asarray(semantic, np.float64)
