"""Which pairs to ask a person about next: those whose answers teach most about all the others.

Six in ten are chosen by what they would teach: the pair whose answer is expected to take most doubt out of the probabilities of all pairs
worth a look, one after the other (the I-optimal design of a logistic regression, Chaudhuri and Mykland 1993, with Laplace's covariance).
That is doubt about the pair times how many pairs share its traits, and a pair like one that was just chosen teaches little
more, so they spread over patterns by themselves. The design believes the model, so the others are chosen without it, evenly over all
probabilities: where the model is sure and wrong, only they find out. They see to types as well: one that lacks ``ENOUGH`` answers comes
first, the largest of them before others, then in proportion to the square roots of the pairs.

Pairs whose answer follows from earlier ones are not asked about, nor those that no score may merge, while there are others. In one
list no row is asked about twice where it can be helped. The same pairs and answers give the same questions.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from slowwave.matching.answers import AnsweredRows
from slowwave.matching.evidence import Evidence

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Flags = NDArray[np.bool_]

ENOUGH: Final = 5
"""Answers that a type needs before they say anything about other pairs."""

EVEN: Final = 0.4
"""Share of the questions that are spread evenly over the probabilities."""

_WORTH: Final = 4  # so many pairs for each of those answers, and a type is worth them
_NEAR: Final = 1 - 1e-9  # gains that count as equal


class Question(NamedTuple):
    """Two ids, the smaller first, how likely they are the same, and what an answer is expected to teach: the variance it takes out of
    the probabilities of all pairs worth a look, summed; 0 where the pair was chosen to check the probabilities."""

    a: str
    b: str
    probability: float
    gain: float


@dataclass(frozen=True, slots=True, eq=False)
class QuestionPool:
    """Pairs (p,) worth a look of n rows with ``ids`` and type codes ``kind`` (n,): rows ``i`` < ``j``, ``open`` (p,): a score may
    merge them, and ``stands`` (p,): the pair stands for others, whose answers would follow from it or from another."""

    ids: NDArray[np.object_]
    kind: Ints
    i: Ints
    j: Ints
    open: Flags
    stands: Flags


def next_questions(pool: QuestionPool, evidence: Evidence, answered: AnsweredRows, k: int) -> tuple[Question, ...]:
    """Up to k questions, in the order to ask them. Time grows with k · p · d², d some twenty traits; memory with p · d."""
    left = ~_known(pool, answered)
    free = left & pool.open if int((left & pool.open).sum()) >= k else left
    at = np.flatnonzero(free)
    if not len(at) or k < 1:
        return ()
    pool = QuestionPool(pool.ids, pool.kind, pool.i[at], pool.j[at], pool.open[at], pool.stands[at])
    among = np.flatnonzero(pool.stands) if int(pool.stands.sum()) >= k else np.arange(len(at))
    likely = evidence.score(pool.i, pool.j).probability
    digests, list_ = _digests(pool), _List(pool, [])
    designs, gains = _designs(pool, evidence, likely), np.zeros(len(at))
    for design in designs:
        gains[design.at] = design.gains()
    even = round(k * EVEN)
    for _ in range(k - even):
        found = list_.add(gains, digests, among)
        if found is None:
            break
        design = next(d for d in designs if d.holds[found])
        design.answer(found)
        gains[design.at] = design.gains()
    answers = np.bincount(pool.kind[answered.i[answered.sure]], minlength=int(pool.kind.max()) + 1)
    order = np.lexsort((digests, likely))
    order = order[np.isin(order, among)]
    for kind, slots in _shares(np.bincount(pool.kind[pool.i[among]], minlength=len(answers)), answers, even).items():
        for part in np.array_split(order[pool.kind[pool.i[order]] == kind], slots):
            list_.add(np.zeros(len(at)), digests, part)
    return tuple(
        Question(str(pool.ids[pool.i[p]]), str(pool.ids[pool.j[p]]), float(likely[p]), gain) for p, gain in list_.chosen
    )


def _shares(pairs: Ints, answers: Ints, slots: int) -> dict[int, int]:
    """How many of the slots each type code gets, by its ``pairs`` and ``answers`` (types,)."""
    given = np.zeros(len(pairs), np.int64)
    for _ in range(slots):
        wants = np.sqrt(pairs) / (1 + answers + given)
        lacks = (answers + given < ENOUGH) & (pairs >= _WORTH * ENOUGH)
        wants = np.where(lacks, pairs + np.sqrt(pairs).max(), wants)
        wants = np.where(given < pairs, wants, 0.0)
        given[int(np.argmax(wants))] += int(wants.max() > 0)
    return {int(kind): int(given[kind]) for kind in np.flatnonzero(given)}


@dataclass(frozen=True, slots=True, eq=False)
class _List:
    """The questions so far: places in the pool and gains."""

    pool: QuestionPool
    chosen: list[tuple[int, float]]

    def add(self, gains: Reals, digests: NDArray[np.uint64], among: Ints | None = None) -> int | None:
        """Take the largest gain, if it can be of rows that are not in the list; among equals the smallest digest."""
        taken = np.array([p for p, _ in self.chosen], np.int64)
        open_ = np.ones(len(gains), bool) if among is None else np.isin(np.arange(len(gains)), among)
        open_[taken] = False
        rows = np.concatenate([self.pool.i[taken], self.pool.j[taken]])
        fresh = open_ & ~np.isin(self.pool.i, rows) & ~np.isin(self.pool.j, rows)
        places = np.flatnonzero(fresh if fresh.any() else open_)
        if not len(places):
            return None
        best = places[gains[places] >= gains[places].max() * _NEAR]
        found = int(best[np.argmin(digests[best])])
        self.chosen.append((found, float(gains[found])))
        return found


class _Design:
    """One type: what an answer about each of its pairs would teach about all of them.

    With the covariance S of the coefficients and traits x, the log-odds of a pair has the variance xᵀSx. An answer about z, of variance
    v = p(1 - p), makes S smaller by v·Szzᵀ S / (1 + v·zᵀSz), whatever it is. The gain is what all pairs lose together, each weighed by
    the v of its own.
    """

    def __init__(self, at: Ints, size: int, x: Reals, covariance: Reals, likely: Reals) -> None:
        self.at, self._x, self._covariance = at, x, covariance
        self._place = np.full(size, -1, np.int64)
        self._place[at] = np.arange(len(at))
        self.holds = self._place >= 0
        self._variance = likely * (1 - likely)
        self._all = (x * self._variance[:, None]).T @ x

    def gains(self) -> Reals:
        """Of each pair."""
        moved = self._x @ self._covariance
        own = 1 + self._variance * (moved * self._x).sum(axis=1)
        return self._variance * ((moved @ self._all) * moved).sum(axis=1) / own

    def answer(self, pair: int) -> None:
        """Go on as if the pair, a place in the pool, had been answered."""
        k = self._place[pair]
        x, variance = self._x[k], self._variance[k]
        moved = self._covariance @ x
        self._covariance = self._covariance - variance * np.outer(moved, moved) / (1 + variance * (moved @ x))


def _designs(pool: QuestionPool, evidence: Evidence, likely: Reals) -> list[_Design]:
    found: list[_Design] = []
    for name, at, _, traits in evidence.traits(pool.i, pool.j):
        calibration = evidence.model[name].calibration
        covariance = np.diag(traits.deviation**2) if calibration is None else calibration.covariance
        found.append(_Design(at, len(pool.i), traits.values, covariance, likely[at]))
    return found


def _known(pool: QuestionPool, answered: AnsweredRows) -> Flags:
    """Pairs (p,) that were answered, or whose answer follows: rows of one group, or of two groups that are apart."""
    n = answered.n
    yes, no = answered.sure & answered.same, answered.sure & ~answered.same
    links = sparse.coo_matrix((np.ones(int(yes.sum()), bool), (answered.i[yes], answered.j[yes])), shape=(n, n))
    group = csgraph.connected_components(links, directed=False)[1].astype(np.int64)

    def keys(i: Ints, j: Ints) -> Ints:
        a, b = group[i], group[j]
        return np.minimum(a, b) * n + np.maximum(a, b)

    apart = np.isin(keys(pool.i, pool.j), keys(answered.i[no], answered.j[no]))
    return (group[pool.i] == group[pool.j]) | apart | (answered.of_pairs(pool.i, pool.j) >= 0)


def _digests(pool: QuestionPool) -> NDArray[np.uint64]:
    """A number for each pair that depends on its ids alone."""
    texts = (f"{a}\0{b}".encode() for a, b in zip(pool.ids[pool.i].tolist(), pool.ids[pool.j].tolist(), strict=True))
    return np.array([int.from_bytes(blake2b(t, digest_size=8).digest(), "big") for t in texts], np.uint64)
