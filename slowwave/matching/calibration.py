"""How far the score of a pair is to be believed, learnt from answers: Bayesian logistic regression upon the log-odds of the weights.

The weights are learnt without labels, so they may be wrong in ways that no amount of unlabelled pairs shows: columns that depend on
each other, a gate that is too strict for the names at hand. From answered pairs a correction of the log-odds is learnt that is linear
in what the pairs state (``slowwave.matching.traits``). Its coefficients start at nothing with a Gaussian prior, so that a handful
of answers moves little. The posterior is Laplace's approximation, and a probability is the mean over it (MacKay 1992, "The evidence
framework applied to classification networks"): doubt about the coefficients pulls towards one half. Of pairs that merge by their
score alone only a part of that doubt counts (``_FIRM``), since thousands of unlabelled pairs stand behind the score; pairs that a gate
keeps back have all of it, so they merge only where answers have been given about their like.

It is semi-supervised: the pairs that the score is sure of, and no gate keeps back, take part with the probability that the score
gives them, all together as ``_TRUST`` answers. Without them a few answers about doubtful pairs would bend what nobody doubted.

Which pairs are asked about may depend on their traits in any way: the regression is on the answer given the traits, which a choice by
the traits leaves as it is. So answers chosen where doubt is greatest need no weights, and the share of yes among them is never
taken for the share of matches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from slowwave.matching.blas import one_thread
from slowwave.matching.traits import Traits

Reals = NDArray[np.float64]
Flags = NDArray[np.bool_]

CLIP: Final = 8.0
"""Log-odds beyond which a score that is corrected is not believed: one in three thousand."""

_FIRM: Final = 0.2  # share of the doubt that counts where no gate keeps a pair back
_TRUST: Final = 50.0  # answers that all pairs together count as which the score is sure of
_ROUNDS: Final = 100
_STILL: Final = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class ScoreCorrection:
    """The correction of one type: ``names`` (d,) of the traits, ``mean`` (d,) and ``covariance`` (d, d) of their coefficients,
    ``answers`` the answered pairs behind them."""

    names: tuple[str, ...]
    mean: Reals
    covariance: Reals
    answers: int

    def odds(self, raw: Reals, traits: Traits) -> Reals:
        """Corrected log-odds (p,) of pairs whose score is ``raw`` (p,)."""
        doubt = np.where(traits.gated, 1.0, _FIRM) * self.doubt(traits)
        return (clipped(raw) + traits.values @ self.mean) / np.sqrt(1 + np.pi / 8 * doubt)

    def doubt(self, traits: Traits) -> Reals:
        """Variance (p,) of the corrected log-odds."""
        with one_thread():  # clusters ask of a hundred pairs at a time, of which threads are not worth their start
            return np.maximum(np.einsum("pd,pd->p", traits.values @ self.covariance, traits.values), 0.0)

    def aligned(self, names: Sequence[str], deviation: Reals) -> ScoreCorrection:
        """The same for other traits: one that was not seen has its prior, mean 0 and ``deviation`` (d,)."""
        if tuple(names) == self.names:
            return self
        place = {name: k for k, name in enumerate(self.names)}
        at = np.array([place.get(name, -1) for name in names], np.int64)
        seen = np.flatnonzero(at >= 0)
        mean, covariance = np.zeros(len(at)), np.diag(deviation**2)
        mean[seen] = self.mean[at[seen]]
        covariance[np.ix_(seen, seen)] = self.covariance[np.ix_(at[seen], at[seen])]
        return replace(self, names=tuple(names), mean=mean, covariance=covariance)


def clipped(raw: Reals) -> Reals:
    """Log-odds within what is believed."""
    return np.clip(raw, -CLIP, CLIP)


def calibrate(raw: Reals, traits: Traits, same: Flags, trusted: tuple[Reals, Traits] | None = None) -> ScoreCorrection:
    """Learn the correction from l answered pairs: their scores ``raw`` (l,) and whether they are the ``same`` (l,). ``trusted`` are scores
    and traits of pairs that the score is sure of and nobody was asked about.

    Newton's method, a step halved until it is better, on a convex loss, which has one minimum. Time grows with l · d².
    """
    answers = len(raw)
    yes, weight = same.astype(float), np.ones(answers)
    if trusted is not None and len(trusted[0]):
        raw, traits = np.concatenate([raw, trusted[0]]), Traits.join([traits, trusted[1]])
        yes = np.concatenate([yes, 1 / (1 + np.exp(-clipped(trusted[0])))])
        weight = np.concatenate([weight, np.full(len(trusted[0]), min(1.0, _TRUST / len(trusted[0])))])
    x, offset = traits.values, clipped(raw)
    precision = np.diag(1 / traits.deviation**2)

    def loss(mean: Reals) -> float:
        odds = offset + x @ mean
        return float(weight @ (np.logaddexp(0, odds) - yes * odds) + 0.5 * mean @ precision @ mean)

    mean = np.zeros(x.shape[1])
    for _ in range(_ROUNDS):
        likely = 1 / (1 + np.exp(-(offset + x @ mean)))
        curvature = precision + (x * (weight * likely * (1 - likely))[:, None]).T @ x
        step = np.linalg.solve(curvature, x.T @ (weight * (yes - likely)) - precision @ mean)
        if float(np.abs(step).max(initial=0.0)) < _STILL:
            break
        before = loss(mean)
        while loss(mean + step) > before and float(np.abs(step).max()) >= _STILL:
            step = step / 2
        mean = mean + step
    likely = 1 / (1 + np.exp(-(offset + x @ mean)))
    curvature = precision + (x * (weight * likely * (1 - likely))[:, None]).T @ x
    return ScoreCorrection(traits.names, mean, np.linalg.inv(curvature).astype(np.float64), answers)
