"""Scores from 0 to 1, and one of two: what words say and what meaning says, weighed by how much the words had to go on.

A lexical score is BM25 as a share of what a text could get that holds every word of the query several times; a cosine is put between what
unrelated and what equal-minded texts of its model have. Fusing scores keeps what ranks throw away: by how much a row was better. Figures of
the alternatives are in ``docs/search.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from slowwave.search.saturation import K1

_FULL: Final = 0.6 * (K1 + 1)
"""Share of BM25's bound per word at which a word counts as found in full: about once more often than once in a text of mean length."""

_TAIL: Final = 0.02
_LEAST: Final = 1e-9

CONTEXT: Final = 0.25
"""How much of a score passes on to the passage that follows in the same document."""


class Calibration(NamedTuple):
    """Of a model: cosines of unrelated and of equal texts, and the weight of words beside it, at least and at most.

    A row is evidence for a query if its calibrated cosine, plus ``worth`` times the share of the query's words in it, reaches ``evidence``.
    Tuned with ``benchmarks.reminders`` at 9d52f4b, on 172 prompts with an answer and 258 off-topic ones: with MiniLM and .46, one more
    off-topic prompt in a hundred is answered; with .48, one more long prompt in thirty is not.
    """

    unrelated: float
    equal: float
    least: float
    most: float
    worth: float = 0.15
    evidence: float = 0.47


_CALIBRATIONS: Final[Mapping[str, Calibration]] = {
    "fast-use-v3": Calibration(
        0.25, 0.85, 0.6, 1.0, worth=0.5, evidence=0.3
    ),  # static: words know better nearly always
    "all-minilm-l6-v2-int8": Calibration(0.1, 0.75, 0.3, 0.7),
}
CONTEXTUAL: Final = Calibration(0.1, 0.8, 0.3, 0.7)


def calibration_of(model: str) -> Calibration:
    """That of a model; one that was never measured counts as a contextual one."""
    return _CALIBRATIONS.get(model, CONTEXTUAL)


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
"""Best lexical scores, of different things, whose mean says how much words had to go on: one copy of the question in the store says nothing
of the rest.
"""


def weight_of_words(found: np.ndarray | float, calibration: Calibration) -> np.ndarray:
    """How much words count beside meaning where the ``LEADERS`` best lexical scores of the query have the mean ``found`` (none is 0)."""
    return calibration.least + (calibration.most - calibration.least) * np.clip(np.asarray(found, np.float64), 0, 1)


def fuse(
    lexical: np.ndarray, semantic: np.ndarray, words: np.ndarray | float, query: np.ndarray | None = None
) -> np.ndarray:
    """Scores of candidates (n) by words and by meaning, and the weight of words (n or one) → fused scores (n), 0 … 1.

    ``query`` (n), in order, numbers the query of each; None is one query. Half of each side is its share of the query's best: what is far
    ahead by one side's own measure stays ahead. The best fused score is what the calibrated ones alone would give.
    """
    said, meant = np.asarray(lexical, np.float64), np.asarray(semantic, np.float64)
    if not len(said):
        return said
    starts = np.flatnonzero(np.diff(query, prepend=query[0] - 1)) if query is not None else np.zeros(1, np.int64)
    sizes = np.diff(starts, append=len(said))

    def best(scores: np.ndarray) -> np.ndarray:
        return np.repeat(np.maximum(np.maximum.reduceat(scores, starts), _LEAST), sizes)

    calibrated = words * said + (1 - words) * meant
    mixed = calibrated + words * said / best(said) + (1 - words) * meant / best(meant)
    return mixed * best(calibrated) / best(mixed)


def in_context(own: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Scores (n) of passages with those of the passages before them (n, 0 for none): an answer often shares no word with its question."""
    return own + CONTEXT * before * (1 - own)
