"""Weights of agreement: Fellegi-Sunter weights learnt without labels.

Fellegi and Sunter (1969) weigh a level of a comparison by ln(m / u), its probability among matches over that among pairs which are not.
Both are estimated by expectation maximisation over the candidate pairs (Winkler 1988), with six additions:

- *Context.* A third class is added to matches and strangers (Winkler 1993 fits three classes as well): two entities of one household,
  company or series. Like matches they agree in what a context shares, but not in the name, an e-mail address or a code.
- *Priors.* Every table of m and u starts from one set by hand that counts as so many pairs, so that a small type keeps sensible
  weights. Types with few pairs start from what all types together have learnt.
- *Order.* A higher level never weighs less than a lower one (pool adjacent violators).
- *Labels.* Pairs that people have decided are included with certainty and count for several pairs.
- *Dependence.* Columns that agree together (suburb and postcode) repeat one piece of evidence. The sum of their weights is divided
  by how much its variance among strangers exceeds the sum of variances, the magnitude adjustment of composite likelihoods (Pauli,
  Racugno and Ventura 2011).
- *Silence.* A missing value is no evidence, but it is not neutral either: two papers of one title without a year may be two
  versions. A pair with fewer stated columns never gets a higher probability than the mean of the pairs which agree in the same
  columns and state more.

Pairs are grouped by their levels first, so a round of EM costs as many operations as there are distinct patterns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from slowwave.matching.answers import ScoreCorrection
from slowwave.matching.compare import Comparison, names_of, signs_of

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Levels = NDArray[np.int8]

PRIOR: Final = -3.0
"""Log-odds that a candidate pair is a match before any data."""

_PSEUDO_M, _PSEUDO_U, _PSEUDO_PRIOR = 30.0, 30.0, 30.0  # weight of the prior tables in pairs
_RAREST: Final = 0.01  # share of matches below which EM would lose them altogether
_LABEL: Final = 5.0  # weight of a decided pair in candidate pairs
_LIMIT: Final = 8.0  # maximum weight of a single level
_OWN: Final = frozenset(("rarity", "email", "code", "codes"))  # shapes that each thing of a group has separately
_APART: Final = frozenset(("name", "date"))  # shapes that usually differ between things of a group
_SPOKEN: Final = 1.5  # average number of comparisons with a value per pair that EM needs
_DOUBT: Final = 10.0  # weight, in pairs, of a pattern's own probability against that of fuller patterns
_ENOUGH_MATCHES, _ENOUGH_PAIRS = 30.0, 100.0
_TELLS: Final = (
    3.0  # times that a value must be more often equal in matches than in others for its agreement to be evidence
)
_ROUNDS: Final = 100
_STILL: Final = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """The learnt weights of one entity type.

    ``prior`` is the log-odds of a candidate; ``m``, ``u`` and ``weight`` hold the values of every level of each comparison. ``context``
    holds the log-odds of the third class and its weights, ``dependence`` the divisor of sums (≥ 1), and ``silence`` the loss of log-odds
    (≤ 0) for sorted keys of levels that leave columns unstated. ``pairs`` is the number of pairs seen, ``matches`` the expected number of
    matches. ``calibration`` is the correction of the log-odds by answers.
    """

    comparisons: tuple[Comparison, ...]
    prior: float
    m: tuple[Reals, ...]
    u: tuple[Reals, ...]
    weight: tuple[Reals, ...]
    context: tuple[float, tuple[Reals, ...]]
    dependence: float
    pairs: float
    matches: float
    silence: tuple[NDArray[np.uint64], Reals]
    calibration: ScoreCorrection | None = None

    @property
    def learnt(self) -> bool:
        """Return whether enough pairs were seen to rely on the weights."""
        return self.matches >= _ENOUGH_MATCHES and self.pairs >= _ENOUGH_PAIRS

    def parts(self, levels: Levels, rarity: Reals) -> Reals:
        """Return the weight of every comparison of pairs (p, c), 0 where a value is missing.

        With the prior, the weights sum to the log-odds.
        """
        parts = np.column_stack([_look_up(w, levels[:, k]) for k, w in enumerate(self.weight)])
        return (parts + rarity) / self.dependence

    def aligned(self, comparisons: Sequence[Comparison]) -> Weights:
        """Return the same weights for other columns; an unseen column keeps its prior."""
        place = {(c.name, c.shape): k for k, c in enumerate(self.comparisons)}
        at = [place.get((c.name, c.shape), -1) for c in comparisons]

        def each(learnt: Sequence[Reals], prior: Sequence[Reals]) -> tuple[Reals, ...]:
            return tuple(learnt[k] if k >= 0 else p for k, p in zip(at, prior, strict=True))

        return replace(
            self,
            comparisons=tuple(comparisons),
            m=each(self.m, [c.m for c in comparisons]),
            u=each(self.u, [c.u for c in comparisons]),
            weight=each(self.weight, [c.prior for c in comparisons]),
            context=(self.context[0], each(self.context[1], [np.zeros(len(c.m)) for c in comparisons])),
            silence=self.silence if at == list(range(len(self.comparisons))) else _NO_SILENCE,
            calibration=self.calibration
            and self.calibration.aligned(*names_of(comparisons, signs_of(self.calibration.names))),
        )

    def odds(self, levels: Levels, rarity: Reals) -> Reals:
        """Return the log-odds (p,) that pairs are matches."""
        parts = self.parts(levels, rarity).sum(axis=1)
        return self.prior + parts + self.shared_context(levels) + self.unstated(levels)

    def shared_context(self, levels: Levels) -> Reals:
        """Return the loss of log-odds (p,), at most 0, because two entities of one context would agree as much."""
        prior, weight = self.context
        parts = np.column_stack([_look_up(w, levels[:, k]) for k, w in enumerate(weight)])
        return -np.logaddexp(0, prior + parts.sum(axis=1) / self.dependence)

    def unstated(self, levels: Levels) -> Reals:
        """Return the loss of log-odds (p,), at most 0, for values that pairs leave unstated."""
        keys, loss = self.silence
        if not len(keys):
            return np.zeros(len(levels))
        wanted = _keys(levels)
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[at] == wanted, loss[at], 0.0)


def probability(odds: Reals) -> Reals:
    """Convert log-odds to probabilities, rounded to six decimals so that no decision depends on the last bit of a sum."""
    return np.round(1 / (1 + np.exp(-np.clip(odds, -40, 40))), 6)


def fit(
    comparisons: Sequence[Comparison],
    levels: Levels,
    *,
    labelled: Levels | None = None,
    same: NDArray[np.bool_] | None = None,
) -> Weights:
    """Learn the weights of one type from its candidate pairs (p, c); ``labelled`` (l, c) with ``same`` (l,) are decided pairs.

    If pairs are few, or most state only one comparison, nothing can be learnt from how comparisons occur together; then only the labelled
    pairs change the priors.
    """
    patterns, counts = _patterns(levels)
    certain, truth = _labels(comparisons, labelled, same)
    fields = [k for k, c in enumerate(comparisons) if c.shape != "rarity"]
    spoken = float((patterns[:, fields] >= 0).sum(axis=1) @ counts) / max(float(counts.sum()), 1)
    teaches = counts.sum() >= _ENOUGH_PAIRS and spoken >= _SPOKEN
    known = np.concatenate([counts * teaches, np.full(len(certain), _LABEL)])
    classes = _Classes(comparisons, np.concatenate([patterns, certain]), known, truth)
    for _ in range(_ROUNDS if teaches else min(len(certain), 1)):
        if classes.step() < _STILL:
            break
    if teaches:
        classes.discount()
    return Weights(
        tuple(comparisons),
        classes.prior,
        tuple(classes.m),
        tuple(classes.u),
        tuple(classes.weight),
        (classes.context if teaches else -np.inf, tuple(classes.beside)),
        classes.dependence,
        float(counts.sum()),
        float(counts @ classes.match[: len(counts)]) if teaches else 0.0,
        _silence(patterns, counts, classes.match[: len(counts)]) if teaches else _NO_SILENCE,
    )


class _Classes:
    """Matches, pairs of one context and strangers during EM.

    ``match`` and ``near`` (k,) are the probabilities of the first two for each pattern, ``prior`` and ``context`` their log-odds against
    strangers, ``weight`` and ``beside`` the weights of the levels likewise. The last patterns are labelled: ``truth``.
    """

    def __init__(self, comparisons: Sequence[Comparison], patterns: Levels, known: Reals, truth: Reals) -> None:
        self._comparisons, self._known, self._truth = comparisons, known, truth
        self._hot = [_one_hot(patterns[:, k], len(c.m)) for k, c in enumerate(comparisons)]
        self._mass = [h.T @ known + 1e-9 for h in self._hot]
        self.m, self.u = [c.m for c in comparisons], [c.u for c in comparisons]
        self._among = [c.u / c.u.sum() if c.shape in _APART else c.m for c in comparisons]
        self.beside = [np.zeros(len(c.u)) for c in comparisons]
        self.prior, self.context, self.dependence = PRIOR, PRIOR, 1.0
        self.match = self.near = np.zeros(len(known))
        self._weigh()

    def step(self) -> float:
        """Run one round of EM, and return the average change of the probabilities."""
        before = self.match
        self._expect()
        yes, near = self._known * self.match, self._known * self.near
        no = self._known - yes - near
        for k, c in enumerate(self._comparisons):
            hot = self._hot[k].T
            self.m[k], self.u[k] = _share(hot @ yes, c.m, _PSEUDO_M), _share(hot @ no, c.u, _PSEUDO_U)
            if c.attribute and self.m[k][-1] >= _TELLS * self.u[k][-1]:
                self.m[k] = _agreeing(self.m[k], c.differ)
            if c.shape != "name":
                self._among[k] = _share(hot @ near, c.u if c.shape in _APART else c.m, _PSEUDO_M)
        self._weigh()
        self._rate()
        return float(np.abs(self.match - before) @ self._known) / max(float(self._known.sum()), 1)

    def discount(self) -> None:
        """Divide sums of weights by their dependence among strangers, and estimate the shares of the classes again."""
        parts = np.column_stack([h @ w for h, w in zip(self._hot, self.weight, strict=True)])
        self.dependence = _dependence(parts, self._known * (1 - self.match - self.near))
        for _ in range(_ROUNDS if self.dependence > 1 else 1):
            self._expect()
            self._rate()

    def _weigh(self) -> None:
        ratios = zip(self.m, self.u, self._mass, self._comparisons, strict=True)
        self.weight = [_ordered(np.log(m / u), mass, c.most) for m, u, mass, c in ratios]
        for k, c in enumerate(self._comparisons):
            m, u, a = self.m[k], self.u[k], self._among[k]
            cut = np.maximum(
                np.log(m / u) - _LIMIT, 0
            )  # the reduction of a match by the limit applies to a neighbour as well
            self.beside[k] = np.zeros(len(u)) if c.shape in _OWN else np.log(a / u) - cut

    def _expect(self) -> None:
        match = self.prior + sum(h @ w for h, w in zip(self._hot, self.weight, strict=True)) / self.dependence
        near = self.context + sum(h @ w for h, w in zip(self._hot, self.beside, strict=True)) / self.dependence
        self.match = np.exp(match - np.logaddexp(np.logaddexp(match, near), 0))
        self.match[len(self.match) - len(self._truth) :] = self._truth
        self.near = (1 - self.match) / (1 + np.exp(-near))

    def _rate(self) -> None:
        """Estimate the log-odds of the classes; labelled pairs are not a sample and do not count."""
        n = len(self._known) - len(self._truth)
        known = self._known[:n]
        yes, near, pairs = float(known @ self.match[:n]), float(known @ self.near[:n]), float(known.sum())
        if not pairs:
            return
        self.prior = _log_odds(yes, pairs - yes - near, pairs)
        self.context = _log_odds(near, pairs - yes - near, pairs)


def _log_odds(of: float, rest: float, pairs: float) -> float:
    """Return the log-odds of a class against the rest, never so low that EM would lose the few members."""
    floor = max(_RAREST * pairs, _PSEUDO_PRIOR / (1 + np.exp(-PRIOR)))
    return float(np.log(max(of, floor) / max(rest, floor)))


_NO_SILENCE: Final = (np.empty(0, np.uint64), np.empty(0))


def _silence(patterns: Levels, counts: Reals, posterior: Reals) -> tuple[NDArray[np.uint64], Reals]:
    """Compute the loss of log-odds for patterns (k, c) that leave columns unstated.

    It is the excess of their log-odds over those of the pairs that agree in the same columns and state more. The patterns with most
    columns come first, so that their loss is passed on. Returns the sorted keys of the patterns and their losses.
    """
    stated = patterns >= 0
    masks, of = np.unique(stated, axis=0, return_inverse=True)
    of = of.ravel()
    mean = posterior.copy()
    for mask in sorted(range(len(masks)), key=lambda k: -int(masks[k].sum())):
        fuller = np.flatnonzero((masks & masks[mask] == masks[mask]).all(axis=1) & (np.arange(len(masks)) != mask))
        mine, theirs = np.flatnonzero(of == mask), np.flatnonzero(np.isin(of, fuller))
        if not len(theirs):
            continue
        keys, at = np.unique(_keys(patterns[np.r_[mine, theirs]][:, masks[mask]]), return_inverse=True)
        own, more = at[: len(mine)], at[len(mine) :]
        seen = np.bincount(more, counts[theirs], len(keys))
        likely = np.bincount(more, counts[theirs] * mean[theirs], len(keys))
        better = (likely[own] + _DOUBT * posterior[mine]) / (seen[own] + _DOUBT)
        mean[mine] = np.minimum(posterior[mine], better)
    loss = np.minimum(_logit(mean) - _logit(posterior), 0.0)
    keys = _keys(patterns)
    kept = np.flatnonzero(loss < -0.01)
    kept = kept[np.argsort(keys[kept])]
    return keys[kept], loss[kept]


def _logit(probability: Reals) -> Reals:
    p = np.clip(probability, 1e-12, 1 - 1e-12)
    return np.log(p / (1 - p))


def _keys(levels: Levels) -> NDArray[np.uint64]:
    """Return one number for each row of levels."""
    key = np.zeros(len(levels), np.uint64)
    for column in levels.T:
        key = (key ^ (column + 2).astype(np.uint64)) * np.uint64(0x100000001B3)
        key ^= key >> np.uint64(29)
    return key


def _patterns(levels: Levels) -> tuple[Levels, Reals]:
    """Return the distinct rows of (p, c), sorted, and the number of times that each occurs."""
    if not len(levels):
        return levels, np.zeros(0)
    packed = np.ascontiguousarray(levels + 1).view(np.dtype((np.void, levels.shape[1]))).ravel()
    _, first, counts = np.unique(packed, return_index=True, return_counts=True)
    return levels[first], counts.astype(float)


def _labels(
    comparisons: Sequence[Comparison], labelled: Levels | None, same: NDArray[np.bool_] | None
) -> tuple[Levels, Reals]:
    if labelled is None or same is None:
        return np.empty((0, len(comparisons)), np.int8), np.empty(0)
    return labelled, same.astype(float)


def _one_hot(levels: Levels, size: int) -> Any:
    hot = np.zeros((len(levels), size), np.float64)
    stated = levels >= 0
    hot[np.flatnonzero(stated), levels[stated]] = 1
    return hot


def _share(counts: Reals, prior: Reals, pseudo: float) -> Reals:
    """Return the posterior mean of the probabilities of the levels under a Dirichlet prior."""
    return (counts + pseudo * prior) / (counts.sum() + pseudo)


def _agreeing(m: Reals, most: float) -> Reals:
    """Return the level shares ``m`` with at most ``most`` of the matches in the level of different values.

    A column whose agreement is strong evidence would differ in few matches. If EM estimates more, it takes pairs for matches that agree
    in little but their names.
    """
    if m[0] <= most:
        return m
    rest = m[1:] * (1 - most) / max(1 - m[0], 1e-9)
    return np.concatenate([[most], rest])


def _ordered(weight: Reals, mass: Reals, most: Reals | float) -> Reals:
    """Return the nearest non-decreasing sequence within the limits, by pool adjacent violators."""
    values: list[float] = []
    masses: list[float] = []
    sizes: list[int] = []
    for value, w in zip(np.clip(weight, -_LIMIT, _LIMIT).tolist(), mass.tolist(), strict=True):
        values.append(value)
        masses.append(w)
        sizes.append(1)
        while len(values) > 1 and values[-2] > values[-1]:
            b, wb, nb = values.pop(), masses.pop(), sizes.pop()
            a, wa, na = values.pop(), masses.pop(), sizes.pop()
            values.append((a * wa + b * wb) / (wa + wb))
            masses.append(wa + wb)
            sizes.append(na + nb)
    return np.minimum(np.repeat(values, sizes), most)


def _dependence(parts: Reals, no: Reals) -> float:
    """Return the variance of the sum of weights among non-matches over the sum of their variances, at least 1."""
    total = no.sum()
    if total <= 0:
        return 1.0
    mean = no @ parts / total
    apart = float((no @ (parts - mean) ** 2).sum()) / total
    together = float(no @ (parts.sum(axis=1) - mean.sum()) ** 2) / total
    return max(1.0, together / max(apart, 1e-9))


def _look_up(weight: Reals, levels: Levels) -> Reals:
    return np.where(levels >= 0, weight[np.maximum(levels, 0)], 0.0)
