"""What a person is asked: few pairs that settle many, the most telling first, each with a reason and how likely it is the same.

Rows that merge are one thing, so one pair, the strongest, stands for all between two groups. Groups and such pairs are a graph. Of it a
*spanning forest* is asked about, the likeliest (Kruskal), then one of what that left, and so on, ``FORESTS`` in all or until there are as
many questions as a row may have. k forests have fewer than k pairs a group, and whatever hangs together through doubtful pairs still
does, where it did so in k separate ways also in k (Nagamochi and Ibaraki 1992). What the pairs left out would say follows from answers,
or is asked once these are given.

A pair that a rule, or the rest of its groups, keeps from merging is never told to be as sure as a merge: its probability ends at
``DOUBTED``. Which pairs are doubtful belongs to ``slowwave.matching.match``; what answers teach to ``slowwave.matching.learning``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from slowwave.matching.name_levels import LEVEL
from slowwave.matching.scores import Scores

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Flags = NDArray[np.bool_]

REVIEW: Final = 0.10
"""Probability from which a pair is worth a look."""

FORESTS: Final = 3
"""Ways in which groups that hang together still do: two answers may be missing or wrong."""

DOUBTED: Final = 0.95
"""Probability beyond which no pair is believed that a rule keeps for a person: about as many were right on the generated sets."""

CONTESTED: Final = "One identifier is equal, another is in conflict."
ONE_SIDED: Final = "One name says more than the other: a number, a date, a place or the like."
OTHER_WORD: Final = "The names differ in a word by a few letters, and both are words."
OTHER_NAME: Final = (
    "Each name has a word that the other has in no form; what else agrees, a household or a company shares."
)
OTHER_VARIANT: Final = "The names have one model code, and a word each that tells variants of a model apart."
UNDATED: Final = "The title recurs, and a row that states no date could be of several."
"""Reasons for a review that only a person can judge."""

REFUSED: Final = "It would join two groups of rows that do not all agree with each other."
OPPOSED: Final = "The names agree, but as many attributes differ as are the same."
FAR: Final = "Names or attributes agree, but the meanings are far apart."
UNDER_THRESHOLD: Final = "Names or attributes agree, but the cosine is under the threshold of the type."
SPOKEN_AGAINST: Final = "The names or the wording agree, but what else is known speaks against it."

CONTRADICTORY: Final = frozenset(
    (
        CONTESTED,
        ONE_SIDED,
        OTHER_WORD,
        OTHER_NAME,
        OTHER_VARIANT,
        UNDATED,
        REFUSED,
        OPPOSED,
        FAR,
        UNDER_THRESHOLD,
        SPOKEN_AGAINST,
    )
)
"""Those of which no answer about others settles one."""


def has_equal_identifier(scores: Scores) -> Flags:
    """Return which pairs have an equal identifier and names that mean the same: evidence that no distance between vectors outweighs."""
    return scores.identified & (scores.name >= LEVEL["acronym"])


def is_under_threshold(scores: Scores) -> Flags:
    """Return which pairs have vectors whose cosine is under the threshold of their type, and no equal identifier that bears them out."""
    return ~np.isnan(scores.cosine) & ~scores.near & ~has_equal_identifier(scores)


class ReviewPair(NamedTuple):
    """Two ids, the smaller first, that a person should look at, how likely they are the same, and how many pairs of rows a yes settles:
    all between the groups of the two."""

    a: str
    b: str
    probability: float
    settles: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Pairs that are worth a merge or a review, strongest first; ``may`` (p,) says which may merge by what they are.

    ``other_word`` (p,): the names differ in a word that is no slip of the other's; ``other_name``: they are two names; ``variant``: they
    are of one model, and each says another variant of it; ``undated``: a row states no date
    and could be of two things of one title.
    """

    i: Ints
    j: Ints
    scores: Scores
    one_sided: Flags
    other_word: Flags
    other_name: Flags
    variant: Flags
    undated: Flags
    may: Flags

    @classmethod
    def join(cls, parts: list[Judged]) -> Judged:
        """The pairs of all parts, in order."""
        i, j = np.concatenate([p.i for p in parts]), np.concatenate([p.j for p in parts])
        scores = Scores.join([p.scores for p in parts])
        flags = [np.concatenate([getattr(p, f) for p in parts]) for f in _FLAGS]
        by = np.lexsort((j, i, -np.nan_to_num(scores.cosine, nan=-1), -scores.probability))
        return cls(i[by], j[by], scores.take(by), *(flag[by] for flag in flags))


_SAID: Final = 0.005  # nats under which a loss is not shown
_FLAGS: Final = ("one_sided", "other_word", "other_name", "variant", "undated", "may")


@dataclass(frozen=True, slots=True, eq=False)
class Doubts:
    """The judged pairs beside the ``label`` (n,) of each row's group; ``refused`` (p,) would join groups that do not agree."""

    judged: Judged
    label: Ints
    refused: Flags

    def probability(self, at: Ints) -> Reals:
        """How likely judged pairs are the same, the doubted ones at most ``DOUBTED``."""
        likely = self.judged.scores.probability[at]
        return np.where(self._doubted(at), np.minimum(likely, DOUBTED), likely)

    def questions(self, per_row: float) -> tuple[Ints, Ints]:
        """Which judged pairs to ask about, those that settle most first, and how many pairs of rows each settles.

        There are at most ``per_row`` for each row. Time grows with p · log p for each forest.
        """
        i, j, label = self.judged.i, self.judged.j, self.label
        layer = forests(label, i, j, FORESTS if per_row else 0)
        at = np.flatnonzero(layer >= 0)
        size = np.bincount(label, minlength=len(label))
        settles = size[label[i[at]]] * size[label[j[at]]]
        order = np.lexsort((at, -self.probability(at) * settles, layer[at]))[: int(per_row * len(label))]
        return at[order], settles[order]

    def find(self, i: Ints, j: Ints) -> Ints:
        """Where pairs of rows i < j (q,) of two groups stand among the judged ones, -1 where they do not."""
        if not len(self.judged.i):
            return np.full(len(i), -1, np.int64)
        keys, wanted = self.judged.i * len(self.label) + self.judged.j, i * len(self.label) + j
        order = np.argsort(keys)
        at = order[np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)]
        return np.where((keys[at] == wanted) & (self.label[i] != self.label[j]), at, -1)

    def lost(self, at: Ints, odds: Reals) -> Reals:
        """What pairs with log-odds ``odds`` (q,) lose as they are doubted, at most 0."""
        return np.where(self._doubted(at), np.minimum(_DOUBTED - odds, 0.0), 0.0)

    def reason(self, at: int) -> str:
        """Why a judged pair of two groups is for a person."""
        judged, scores = self.judged, self.judged.scores
        if self.refused[at]:
            return REFUSED
        if scores.contested[at]:
            return CONTESTED
        if judged.one_sided[at]:
            return ONE_SIDED
        if judged.other_word[at]:
            return OTHER_WORD
        if judged.other_name[at]:
            return OTHER_NAME
        if judged.variant[at]:
            return OTHER_VARIANT
        if judged.undated[at]:
            return UNDATED
        if scores.learnt[at] and scores.opposed[at] and not scores.near[at]:
            return OPPOSED
        if scores.far[at]:
            return FAR
        if not scores.learnt[at]:
            if np.isnan(scores.cosine[at]):
                return "There is no vector to compare, and no identifier that settles it."
            if not (scores.near[at] and scores.name[at] >= LEVEL["initials"]):
                return "Names or vectors agree, not both enough."
        elif is_under_threshold(scores)[at]:
            return UNDER_THRESHOLD
        if scores.probability[at] < REVIEW:
            return SPOKEN_AGAINST
        return "The evidence is short of what a merge needs."

    def _doubted(self, at: Ints) -> Flags:
        return self.refused[at] | ~self.judged.may[at]


_DOUBTED: Final = float(np.log(DOUBTED / (1 - DOUBTED)))
_KEPT: Final = (
    f"A rule, or the rest of their groups, keeps the pair for a person: such pairs are believed up to {DOUBTED:g}"
)


def steps(lost: float) -> Iterable[dict[str, object]]:
    """The step of a waterfall for what a doubted pair loses, if it loses anything."""
    if lost < -_SAID:
        yield {"evidence": "rules", "weight": round(lost, 3), "detail": _KEPT}


def forests(label: Ints, i: Ints, j: Ints, most: int) -> NDArray[np.int8]:
    """Which of up to ``most`` spanning forests each pair (p,) of rows is in, from 0; -1 where in none.

    The nodes are the groups of rows by ``label`` (n,), and the pairs come strongest first: each forest is the strongest of what those
    before it left, and of the pairs between two groups only the first counts. The same pairs in the same order give the same forests.
    """
    layer = np.full(len(i), -1, np.int8)
    n = len(label)
    a, b = np.minimum(label[i], label[j]), np.maximum(label[i], label[j])
    _, left = np.unique(a * n + b, return_index=True)
    left = np.sort(left[a[left] != b[left]])
    for k in range(most):
        if not len(left):
            break
        rank = np.arange(1, len(left) + 1, dtype=np.float64)
        graph = sparse.csr_matrix((rank, (a[left], b[left])), shape=(n, n))
        kept = csgraph.minimum_spanning_tree(graph).data.astype(np.int64) - 1
        layer[left[kept]] = k
        left = np.delete(left, kept)
    return layer
