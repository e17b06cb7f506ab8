"""Answers of people about pairs: their consequences, and the calibration of scores by them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowwave.errors import Refused
from slowwave.matching.compare import Comparer, ComparisonLevels, Traits
from slowwave.matching.population import Population
from slowwave.matching.vectors import one_thread
from slowwave.matching.words import Differences, WordInformation

# Answers of people to the question whether two rows are the same thing.
#
# Answers are a set: their order has no meaning. If some cannot all be true (a = b, b = c, a ≠ c), they are refused with the pairs named,
# because only the person who answered knows which of them is wrong. ``slowwave.matching.match`` learns from them.

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

UNSURE: Final = "unsure"
"""The answer for a pair that cannot be decided: it is not asked again, and nothing is learnt."""


class PairAnswer(NamedTuple):
    """Two ids, the smaller first, and whether they are the same; None means unsure."""

    a: str
    b: str
    same: bool | None


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers in the order of their ids, at most one per pair."""

    pairs: tuple[PairAnswer, ...] = ()

    @classmethod
    def from_triples(cls, given: Iterable[tuple[str, str, bool | str | None]]) -> Answers:
        """Parse triples (a, b, same), where ``same`` is True, False, or "unsure".

        A pair may be answered twice; a sure answer replaces "unsure". Raises ``Refused`` if an answer is none of these, if a row is
        compared with itself, or if answers contradict each other. Time grows with the answers; contradictory ones cost one more search.
        """
        found: dict[tuple[str, str], bool | None] = {}
        for one, other, answer in given:
            a, b = sorted((str(one), str(other)))
            same = None if answer is None or answer == UNSURE else answer
            if a == b or not (same is None or isinstance(same, (bool, np.bool_))):
                raise Refused(
                    f"An answer names two rows and True, False or {UNSURE!r}; this one is {(a, b, answer)!r}."
                )
            known = found.get((a, b))
            if known is not None and same is not None and known != same:
                raise Refused(f"{a} and {b} are answered to be the same and not to be. Take one of the answers back.")
            found[a, b] = known if same is None else bool(same)
        answers = cls(tuple(PairAnswer(a, b, same) for (a, b), same in sorted(found.items())))
        answers._check()
        return answers

    def __len__(self) -> int:
        return len(self.pairs)

    def _check(self) -> None:
        beside: dict[str, list[str]] = {}
        for a, b, same in self.pairs:
            if same:
                beside.setdefault(a, []).append(b)
                beside.setdefault(b, []).append(a)
        group: dict[str, str] = {}
        for start in sorted(beside):
            stack = [] if start in group else [start]
            while stack:
                row = stack.pop()
                if group.setdefault(row, start) == start:
                    stack += [other for other in beside[row] if other not in group]
        for a, b, same in self.pairs:
            if same is False and group.get(a, a) == group.get(b, b):
                chain = " = ".join(_path(beside, a, b))
                raise Refused(f"These answers cannot all be true: {chain}, but {a} ≠ {b}. Take one of them back.")


def _path(beside: dict[str, list[str]], a: str, b: str) -> list[str]:
    """Return the shortest chain from ``a`` to ``b``."""
    came = {a: a}
    open_ = deque([a])
    while b not in came:
        row = open_.popleft()
        for other in beside[row]:
            if other not in came:
                came[other] = row
                open_.append(other)
    path = [b]
    while path[-1] != a:
        path.append(came[path[-1]])
    return path[::-1]


@dataclass(frozen=True, slots=True, eq=False)
class AnsweredRows:
    """Answers about n rows.

    ``i`` < ``j`` (l,) are row numbers, sorted. ``same`` (l,) and ``sure`` (l,) are the answer to each pair and whether it was certain.
    ``unknown`` is the number of answers that name a missing row, rows of two types, or rows of a type in which nothing is compared.
    """

    n: int
    i: Ints
    j: Ints
    same: Flags
    sure: Flags
    unknown: int

    @classmethod
    def from_answers(cls, answers: Answers, ids: NDArray[np.object_], kind: Ints, kinds: Iterable[int]) -> AnsweredRows:
        """Return the answers about rows with these ``ids`` (n,), in order, and types ``kind`` (n,).

        Only answers about types in ``kinds`` are kept.
        """
        looked = frozenset(kinds)
        place = {str(id_): k for k, id_ in enumerate(ids)} if answers.pairs else {}
        known = [
            (*sorted((place[a], place[b])), bool(same), same is not None)
            for a, b, same in answers.pairs
            if a in place and b in place and kind[place[a]] == kind[place[b]] and int(kind[place[a]]) in looked
        ]
        rows = np.array(sorted(known), np.int64).reshape(-1, 4)
        i, j, same, sure = rows.T
        return cls(len(ids), i, j, same.astype(bool), sure.astype(bool), len(answers) - len(known))

    def keys(self, *, same: bool) -> Ints:
        """Return i·n+j of the pairs with the sure answer ``same``, ascending."""
        at = np.flatnonzero((self.same == same) & self.sure)
        return self.i[at] * self.n + self.j[at]

    def of_pairs(self, i: Ints, j: Ints) -> Ints:
        """Return the position of each pair (p,) among the answers, or -1 for a pair without an answer."""
        if not len(self.i):
            return np.full(len(i), -1, np.int64)
        keys, wanted = self.i * self.n + self.j, np.minimum(i, j) * self.n + np.maximum(i, j)
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[at] == wanted, at, -1)


# Correction of the scores of pairs, learnt from answers: Bayesian logistic regression on the log-odds of the weights.
#
# The weights are learnt without labels, so they may be wrong in ways that no amount of unlabelled pairs shows: columns that depend on each
# other, or a gate that is too strict for the given names. The answered pairs give a correction of the log-odds that is linear in the
# comparisons of a pair (``slowwave.matching.compare``). Its coefficients start at 0 with a Gaussian prior, so that a few answers have
# little effect. The posterior is Laplace's approximation, and a probability is the mean over it (MacKay 1992, "The evidence framework
# applied to classification networks"): uncertain coefficients pull towards one half. For pairs that merge by their score alone, only a part
# of that uncertainty counts (``_FIRM``), since thousands of unlabelled pairs support the score. For pairs that a gate holds back, all of it
# counts, so they merge only if similar pairs were answered.
#
# The regression is semi-supervised: pairs with a certain score that no gate holds back take part with the probability of their score,
# together with the weight of ``_TRUST`` answers. Without them, a few answers about doubtful pairs would change pairs that were never in
# doubt.
#
# The choice of the pairs to ask about may depend on their traits in any way: the regression models the answer given the traits, and a
# selection by traits does not change that. So answers chosen where the doubt is greatest need no weights, and the share of yes among them
# is never used as the share of matches.

Reals = NDArray[np.float64]

CLIP: Final = 8.0
"""Limit of the log-odds of a score that is corrected: odds of one in three thousand."""

_FIRM: Final = 0.2  # share of the doubt that counts if no gate holds a pair back
_TRUST: Final = 50.0  # total weight, in answers, of the pairs with a certain score
_ROUNDS: Final = 100
_STILL: Final = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class ScoreCorrection:
    """The score correction of one entity type.

    ``names`` (d,) are the traits, ``mean`` (d,) and ``covariance`` (d, d) describe their coefficients, and ``answers`` is the number of
    answered pairs that they were learnt from.
    """

    names: tuple[str, ...]
    mean: Reals
    covariance: Reals
    answers: int

    def odds(self, raw: Reals, traits: Traits) -> Reals:
        """Return the corrected log-odds (p,) of pairs whose score is ``raw`` (p,)."""
        doubt = np.where(traits.gated, 1.0, _FIRM) * self.doubt(traits)
        return (clipped(raw) + traits.values @ self.mean) / np.sqrt(1 + np.pi / 8 * doubt)

    def doubt(self, traits: Traits) -> Reals:
        """Return the variance (p,) of the corrected log-odds."""
        with one_thread():  # clusters ask about a hundred pairs at a time, for which starting threads takes too long
            return np.maximum(np.einsum("pd,pd->p", traits.values @ self.covariance, traits.values), 0.0)

    def aligned(self, names: Sequence[str], deviation: Reals) -> ScoreCorrection:
        """Return this correction for other traits.

        A trait that this correction does not know gets its prior: mean 0 and ``deviation`` (d,).
        """
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
    """Clip log-odds to the range in which they are believed."""
    return np.clip(raw, -CLIP, CLIP)


def calibrate(raw: Reals, traits: Traits, same: Flags, trusted: tuple[Reals, Traits] | None = None) -> ScoreCorrection:
    """Learn the correction from l answered pairs.

    ``raw`` (l,) are the scores of the pairs and ``same`` (l,) the answers. ``trusted`` holds the scores and traits of pairs that the
    score is sure of and that no one was asked about. The method is Newton's, with each step halved until the loss falls, on a convex loss
    that has one minimum. Time grows with l · d².
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


# Pairs that were decided on earlier nights, with the rows as they were then and the columns of the current rows.
#
# The original rows no longer exist, because a survivor took over the values of the absorbed one. ``slowwave.matching.weights`` and
# ``slowwave.matching.match`` learn from these pairs.


@dataclass(frozen=True, slots=True)
class Labelled:
    """Pairs that people have decided.

    ``rows`` holds the id, entity_type, name and attributes of each row at the time of the decision. ``pairs`` names two rows and whether
    they are the same. ``asked`` holds the pairs that a person was asked about because they were in doubt.
    """

    rows: Any
    pairs: tuple[tuple[str, str, bool], ...]
    asked: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Decided:
    """Labelled pairs as rows of a dedicated population.

    ``pairs`` holds by folded type the two row numbers of each pair (l,) and (l,), whether the rows are the same (l,), and whether a
    person was asked (l,).
    """

    population: Population | None
    pairs: Mapping[str, tuple[Ints, Ints, Flags, Flags]]

    @classmethod
    def from_labelled(cls, labelled: Labelled | None, like: Population) -> Decided:
        """Build the population of the labelled rows in the same way as ``like``."""
        if labelled is None or not labelled.pairs:
            return cls(None, {})
        population = Population.from_table(labelled.rows, shapes=like.shapes())
        place = {str(id_): k for k, id_ in enumerate(population.ids)}
        by_type: dict[str, list[tuple[int, int, bool, bool]]] = {}
        for a, b, same in sorted(labelled.pairs):
            if a in place and b in place and population.kind[place[a]] == population.kind[place[b]]:
                one, other = sorted((place[a], place[b]))
                pair = (one, other, same, (a, b) in labelled.asked)
                by_type.setdefault(population.type_name(int(population.kind[one])), []).append(pair)
        return cls(
            population,
            {
                t: (np.array(i, np.int64), np.array(j, np.int64), np.array(same, bool), np.array(asked, bool))
                for t, rows in by_type.items()
                for i, j, same, asked in [zip(*rows, strict=True)]
            },
        )

    def teaches(self, name: str, like: Comparer) -> dict[str, Any]:
        """Return the labelled pairs of a type in the comparisons of ``like``, as arguments for ``slowwave.matching.weights.fit``."""
        if self.population is None or name not in self.pairs:
            return {}
        i, j, same, _ = self.pairs[name]
        return {"labelled": _compare(self.population, like, i, j)[0].levels, "same": same}

    def asked(
        self, name: str, like: Comparer, differences: Differences
    ) -> tuple[ComparisonLevels, Reals, Reals, Flags] | None:
        """Return the pairs of a type that a person was asked about, or None if there are none.

        The result holds their comparison levels, the similarity of their letters, the signs of differing words in their names, and the
        answers.
        """
        if self.population is None or name not in self.pairs or not self.pairs[name][3].any():
            return None
        i, j, same, asked = self.pairs[name]
        compared, own = _compare(self.population, like, i[asked], j[asked])
        i, j = i[asked], j[asked]
        return compared, own.wordings(i, j), differences.values(own.words, i, j), same[asked]


def _compare(population: Population, like: Comparer, i: Ints, j: Ints) -> tuple[ComparisonLevels, Comparer]:
    """Compare pairs of one type.

    These rows do not show how rare a name or a value is, so rarity stays empty; nor do they have vectors.
    """
    own = Comparer(population, int(population.kind[i[0]]), WordInformation.from_texts(population.names.folded))
    found = own.compare(i, j).levels
    place = {(c.name, c.shape): k for k, c in enumerate(own.comparisons)}
    levels = np.full((len(i), len(like.comparisons)), -1, np.int8)
    for k, comparison in enumerate(like.comparisons):
        at = place.get((comparison.name, comparison.shape))
        if at is not None and comparison.shape != "rarity":
            levels[:, k] = found[:, at]
    return ComparisonLevels(levels, np.zeros(levels.shape), np.full(len(i), np.nan)), own
