"""What is known about pairs, weighed: an additive score in natural log-odds that two rows are the same thing.

The weights are Bayes factors set by hand (how much likelier is this agreement between two rows of one thing than between two
candidates that are not); they add up with the prior to log-odds, and the logistic function makes them a probability. Names:

==========  ======  ==========================================================================================
level       weight  meaning
==========  ======  ==========================================================================================
exact       +6      equal after folding case, accents and punctuation; "Last, First" is turned round
compact     +5.5    equal without spaces, titles and legal forms ("Open Telemetry", "Northwind Ltd")
alias       +5      a recorded alias of one is a name of the other
reordered   +4.5    the same words in another order
nickname    +4.5    the first word is a short form of the other's ("Bob Smith", "Robert Smith")
acronym     +4      the initials of the other's words
spelling    +3      one letter differs in six or more, or two in twelve or more
initials    +3      "M. Reyes" and "Mara Reyes"
subset      +1      all words of one stand in the other
similar     +1      Jaro-Winkler or token-set similarity ≥ .9
different   -3      none of these
==========  ======  ==========================================================================================

Cosine: -2 … +4.5, linear between 0, .5, the band (.78: +.5), the type's merge threshold (+3) and 1; no vector weighs nothing.
Attributes: equal identifiers +3.5 … +6.5 each, at most 10; other equal values by rarity, at most 4; conflicts -0.6 each, at
least -2.4. Shared neighbours up to +3 (Jaccard, damped below three shared), shared documents +0.5. Prior: -3.

What forbids a merge whatever the score belongs to ``slowwave.matching.vetoes``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process
from rapidfuzz.distance import OSA, JaroWinkler

from slowwave.matching.names import LONGEST
from slowwave.matching.population import Population
from slowwave.matching.vectors import cosines

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]

PRIOR: Final = -3.0
LEVELS: Final[Mapping[str, float]] = {
    "different": -3.0,
    "similar": 1.0,
    "subset": 1.0,
    "initials": 3.0,
    "spelling": 3.0,
    "acronym": 4.0,
    "nickname": 4.5,
    "reordered": 4.5,
    "alias": 5.0,
    "compact": 5.5,
    "exact": 6.0,
}
"""Name level → weight, weakest first; the position is the code in ``Scores.level``."""

DIFFERENT: Final = 0
STRONG: Final = list(LEVELS).index("initials")
"""Levels from here are name evidence that a merge may rest on."""
IDENTITY: Final = list(LEVELS).index("acronym")
"""Levels from here name the same thing; one equal identifier is enough beside them."""

PARTS: Final = ("cosine", "identifiers", "attributes", "conflicts", "neighbours", "documents")
"""What is weighed beside the name, in the order of ``Scores.weights``."""

_WORKERS: Final = 2
_WEIGHTS: Final = np.array(list(LEVELS.values()))
_BOTH_IDENTIFIERS: Final = 9.0  # a spelling variant needs two equal identifiers


@dataclass(frozen=True, slots=True)
class Limits:
    """Cosines: where the band begins, what a merge needs by default and by type, and what holds a cluster together."""

    band_low: float
    merge: float
    merge_by_type: Mapping[str, float]
    cohesion: float

    def merge_of(self, types: Sequence[str]) -> Reals:
        """The merge threshold of every row."""
        if not self.merge_by_type:
            return np.full(len(types), self.merge)
        return np.array([self.merge_by_type.get(t, self.merge) for t in types])


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Everything for p pairs.

    ``level`` codes LEVELS; ``cosine`` is nan without vectors; ``weights`` (p, PARTS) stand beside that of the level;
    ``contested``: an identifier is in conflict; ``identified``: one is equal; ``near``: strong names, and the cosine reaches the
    merge threshold; ``backed``: the names mean the same, and identifiers back them.
    """

    level: NDArray[np.int8]
    cosine: Reals
    weights: Reals
    probability: Reals
    contested: NDArray[np.bool_]
    identified: NDArray[np.bool_]
    near: NDArray[np.bool_]
    backed: NDArray[np.bool_]

    def take(self, at: Ints | NDArray[np.bool_]) -> Scores:
        """The scores of some of the pairs."""
        return Scores(*(getattr(self, f.name)[at] for f in fields(self)))

    @classmethod
    def join(cls, parts: Sequence[Scores]) -> Scores:
        """The scores of all pairs of several."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))


def score(people: Population, limits: Limits, i: Ints, j: Ints) -> Scores:
    """Weigh pairs. Cosines are rounded to six decimals, so that decisions do not hang on the last bit of a sum."""
    level, cosine = name_levels(people, i, j), np.full(len(i), np.nan)
    both = np.flatnonzero((people.vector[i] >= 0) & (people.vector[j] >= 0))
    cosine[both] = np.round(cosines(people.units, people.vector[i[both]], people.vector[j[both]]).astype(float), 6)
    thresholds = limits.merge_of(people.types)
    threshold = np.maximum(thresholds[i], thresholds[j])
    agreement = people.attributes.agreement(i, j)
    identifiers = np.minimum(agreement.identifiers, 10)
    weights = np.column_stack(
        [
            _cosine_weight(cosine, limits.band_low, threshold),
            identifiers,
            np.minimum(agreement.plain, 4),
            -np.minimum(0.6 * agreement.conflicts, 2.4),
            _neighbour_weight(people.neighbours, i, j),
            0.5 * (_shared(people.documents, i, j) > 0),
        ]
    )
    odds = PRIOR + _WEIGHTS[level] + weights.sum(axis=1)
    return Scores(
        level=level,
        cosine=cosine,
        weights=np.round(weights, 4).astype(np.float64),
        probability=np.round(1 / (1 + np.exp(-odds)), 6),
        contested=agreement.contested,
        identified=agreement.identifiers > 0,
        near=(level >= STRONG) & (np.nan_to_num(cosine, nan=-1) >= threshold),
        backed=((level >= IDENTITY) & (identifiers > 0)) | ((level >= STRONG) & (identifiers >= _BOTH_IDENTIFIERS)),
    )


def waterfall(people: Population, scores: Scores, at: int, i: int, j: int) -> tuple[dict[str, object], ...]:
    """The weights of one pair as a person reads them: prior, name, then whatever spoke; they add up to the log-odds."""
    name = list(LEVELS)[int(scores.level[at])]
    steps: list[dict[str, object]] = [
        {"evidence": "prior", "weight": PRIOR},
        {"evidence": f"name_{name}", "weight": LEVELS[name]},
    ]
    for part, weight in zip(PARTS, scores.weights[at].tolist(), strict=True):
        if weight:
            step: dict[str, object] = {"evidence": part, "weight": round(weight, 3)}
            if part == "cosine":
                step["value"] = round(float(scores.cosine[at]), 4)
            if part in ("identifiers", "attributes"):
                strong = part == "identifiers"
                step["equal"] = people.attributes.equal_keys(i, j, identifying=strong)
            steps.append(step)
    return tuple(steps)


def name_levels(people: Population, i: Ints, j: Ints) -> NDArray[np.int8]:
    """How the names of pairs agree: codes of LEVELS, the strongest that holds."""
    names, code = people.names, {level: k for k, level in enumerate(LEVELS)}
    found = np.zeros(len(i), np.int8)

    def raise_to(level: str, where: NDArray[np.bool_]) -> None:
        np.maximum(found, np.where(where, code[level], 0), out=found, casting="unsafe")

    def equal(codes: Ints) -> NDArray[np.bool_]:
        return (codes[i] == codes[j]) & (codes[i] >= 0)

    raise_to("exact", equal(names.plain))
    raise_to("compact", equal(names.compact))
    raise_to("reordered", equal(names.ordered))
    if people.known_as.shape[1]:
        raise_to("alias", _shared(people.known_as, i, j) > 0)
    for a in names.nickname.T:
        for b in names.nickname.T:
            raise_to("nickname", (a[i] == b[j]) & (a[i] >= 0))
    for a in names.acronym.T:
        raise_to("acronym", (a[i] == names.short[j]) & (a[i] >= 0))
        raise_to("acronym", (a[j] == names.short[i]) & (a[j] >= 0))
    raise_to("initials", equal(names.initial) & (names.abbreviated[i] | names.abbreviated[j]))
    longest = np.maximum(names.length[i], names.length[j])
    left = np.flatnonzero((found < IDENTITY) & (longest <= LONGEST))
    p, q = i[left], j[left]
    letters = np.minimum(names.length[p], names.length[q])
    allowed = np.where(letters >= 12, 2, np.where(letters >= 6, 1, 0))
    a, b = names.squeezed[p], names.squeezed[q]
    edits = process.cpdist(a, b, scorer=OSA.distance, score_cutoff=2, workers=_WORKERS, dtype=np.int32)
    a, b = names.folded[p], names.folded[q]
    winkler = process.cpdist(a, b, scorer=JaroWinkler.similarity, workers=_WORKERS, dtype=np.float32)
    tokens = process.cpdist(a, b, scorer=fuzz.token_set_ratio, workers=_WORKERS, dtype=np.float32) / 100
    level = np.where(np.maximum(winkler, tokens) >= 0.9, code["similar"], 0)
    level = np.where(tokens >= 1, code["subset"], level)
    level = np.where(edits <= allowed, code["spelling"], level)
    found[left] = np.maximum(found[left], level)
    return found


def _cosine_weight(cosine: Reals, low: float, threshold: Reals) -> Reals:
    """Linear through (0, -2), (.5, -1.5), (low, .5), (threshold, 3) and (1, 4.5); nan weighs nothing."""
    c = np.nan_to_num(np.clip(cosine, 0, 1), nan=0.0)
    below = np.interp(c, [0, min(0.5, low - 1e-9), low], [-2, -1.5, 0.5])
    band = 0.5 + 2.5 * (c - low) / np.maximum(threshold - low, 1e-9)
    above = 3 + 1.5 * (c - threshold) / np.maximum(1 - threshold, 1e-9)
    weight = np.where(c >= threshold, above, np.where(c >= low, band, below))
    return np.where(np.isnan(cosine), 0.0, weight)


def _neighbour_weight(neighbours: Any, i: Ints, j: Ints) -> Reals:
    """Jaccard of the neighbours, damped below three shared ones: a hub is everybody's neighbour."""
    degree = np.asarray(neighbours.sum(axis=1)).ravel()
    shared = _shared(neighbours, i, j)
    jaccard = shared / np.maximum(degree[i] + degree[j] - shared, 1)
    return np.interp(jaccard, [0, 0.1, 0.3, 1], [0, 1, 2, 3]) * np.minimum(shared / 3, 1)


def _shared(matrix: Any, i: Ints, j: Ints) -> Reals:
    """How many columns the two rows share."""
    if not matrix.nnz:
        return np.zeros(len(i))
    return np.asarray(matrix[i].multiply(matrix[j]).sum(axis=1), float).ravel()
