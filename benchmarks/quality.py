"""How good a set of decisions is against the gold: pair and B-cubed figures, calibration, Wilson's interval.

All of it is counted on arrays of labels and row numbers: a set with millions of gold pairs costs a sort, no loop over pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import binomtest

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]

BINS: Final = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99, 0.999)
"""Lower ends of the bins of probability in the table of reliability."""


class Counted(NamedTuple):
    """Pairs said to be the same, those of them that are, and all that are; shares are None where nothing was counted."""

    said: int
    right: int
    gold: int

    @property
    def precision(self) -> float | None:
        """Share of what was said that is right."""
        return self.right / self.said if self.said else None

    @property
    def recall(self) -> float | None:
        """Share of the gold that was said."""
        return self.right / self.gold if self.gold else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of both."""
        return 2 * self.right / (self.said + self.gold) if self.said + self.gold else None


class Bin(NamedTuple):
    """Decided pairs of one bin: how many, the sum of their probabilities, how many are the same."""

    low: float
    pairs: int
    expected: float
    right: int


def pairs_within(labels: Ints) -> int:
    """How many pairs of rows share a label."""
    sizes = np.unique(labels, return_counts=True)[1].astype(np.int64)
    return int((sizes * (sizes - 1) // 2).sum())


def closure(labels: Ints, gold: Ints) -> Counted:
    """Pairs that share a cluster in ``labels`` (n,), against ``gold`` (n,)."""
    return Counted(pairs_within(labels), pairs_within(_both(labels, gold)), pairs_within(gold))


def closure_with(labels: Ints, gold: Ints, i: Ints, j: Ints) -> Counted:
    """As ``closure``, and the pairs (i, j) besides, each once and none that a cluster holds already."""
    base = closure(labels, gold)
    low, high = np.minimum(i, j), np.maximum(i, j)
    more = np.unique(np.column_stack([low, high])[labels[i] != labels[j]], axis=0)
    right = int((gold[more[:, 0]] == gold[more[:, 1]]).sum())
    return Counted(base.said + len(more), base.right + right, base.gold)


def closure_between(labels: Ints, gold: Ints, i: Ints, j: Ints) -> Counted:
    """As ``closure``, and all pairs between the two clusters of each pair (i, j) besides: what an answer about it settles."""
    base = closure(labels, gold)
    low, high = np.minimum(labels[i], labels[j]), np.maximum(labels[i], labels[j])
    asked = np.unique(np.column_stack([low, high])[low != high], axis=0)
    held = sparse.csr_matrix((np.ones(len(labels), np.int64), (labels, gold)))
    size = np.bincount(labels, minlength=held.shape[0]).astype(np.int64)
    right = int(held[asked[:, 0]].multiply(held[asked[:, 1]]).sum())
    return Counted(base.said + int((size[asked[:, 0]] * size[asked[:, 1]]).sum()), base.right + right, base.gold)


def b_cubed(labels: Ints, gold: Ints) -> tuple[float, float, float]:
    """Precision, recall and F1 averaged over rows (Bagga and Baldwin 1998): how much of a row's cluster is its own kind, and
    how much of its kind stands in its cluster."""
    if not len(labels):
        return 1.0, 1.0, 1.0
    sizes = [np.unique(x, return_inverse=True, return_counts=True)[1:] for x in (_both(labels, gold), labels, gold)]
    shared, cluster, kind = (counts[inverse] for inverse, counts in sizes)
    precision, recall = float((shared / cluster).mean()), float((shared / kind).mean())
    return precision, recall, 2 * precision * recall / (precision + recall)


def reliability(probability: Reals, right: NDArray[np.bool_]) -> list[Bin]:
    """Decided pairs by probability: a model is calibrated where the share that is right is the mean of the probabilities."""
    at = np.searchsorted(np.array(BINS), probability, side="right") - 1
    return [
        Bin(low, int((at == k).sum()), round(float(probability[at == k].sum()), 3), int(right[at == k].sum()))
        for k, low in enumerate(BINS)
    ]


def calibration_error(bins: Sequence[Bin]) -> float | None:
    """Expected calibration error: how far the mean probability of a bin lies from the share that is right, on average over the pairs."""
    pairs = sum(b.pairs for b in bins)
    return sum(abs(b.expected - b.right) for b in bins) / pairs if pairs else None


def wilson(k: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a share k / n (Wilson 1927); (0, 1) where nothing was seen."""
    if not n:
        return 0.0, 1.0
    low, high = binomtest(k, n).proportion_ci(method="wilson")
    return float(low), float(high)


def labels_of(n: int, clusters: list[list[int]]) -> Ints:
    """Rows in clusters → a label each (n,); rows outside stand alone."""
    labels = np.arange(n)
    for rows in clusters:
        labels[rows] = rows[0]
    return labels


def _both(a: Ints, b: Ints) -> Ints:
    """One label for each pair of labels that occurs."""
    _, x = np.unique(a, return_inverse=True)
    _, y = np.unique(b, return_inverse=True)
    return x.astype(np.int64) * (int(y.max(initial=0)) + 1) + y
