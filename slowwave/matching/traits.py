"""What answers may correct a score by: a few numbers of every pair, with how far each may move the log-odds.

They are the score itself, what each comparison put into it, how alike the letters of the whole rows are, and the gates that keep a pair
from merging by its score alone: names that do not agree, attributes that speak against it, a type too small to learn from. The
scale of each is such that one is much. Correcting belongs to ``slowwave.matching.calibration``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from slowwave.matching.comparisons import Comparison

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Flags = NDArray[np.bool_]

GATES: Final = ("unnamed", "opposed", "unlearnt")
"""The names disagree; attributes, or the meanings, speak against the pair; the type is too small to learn from."""

_ALIKE: Final = (0.6, 0.2)  # likeness of letters that says nothing, and what more is one
_NATS: Final = (4.0, 2.0)  # log-odds of the score, and of a comparison, that are one
_WORDS: Final = "words: "  # before a sign in the name of a trait
_BOUND: Final = 8.0  # the score counts no further, as in ``slowwave.matching.calibration``

_SCORE, _PART, _GATE, _LETTERS, _ALL, _SIGN = 1.0, 0.5, 2.5, 1.0, 1.5, 2.0
"""Standard deviations of the priors, in log-odds: chosen on seven of the generated sets, see docs/matching.md."""


@dataclass(frozen=True, slots=True, eq=False)
class Traits:
    """``values`` (p, d) of p pairs, ``names`` (d,) and the ``deviation`` (d,) of the prior of their coefficients;
    ``gated`` (p,): a gate keeps the pair from merging by its score alone."""

    names: tuple[str, ...]
    values: Reals
    deviation: Reals
    gated: Flags

    def take(self, at: Ints | Flags) -> Traits:
        """The traits of some of the pairs."""
        return replace(self, values=self.values[at], gated=self.gated[at])

    @classmethod
    def join(cls, parts: Sequence[Traits]) -> Traits:
        """The traits of all pairs of several with the same names."""
        values, gated = (np.concatenate([getattr(p, field) for p in parts]) for field in ("values", "gated"))
        return replace(parts[0], values=values, gated=gated)


def names_of(comparisons: Sequence[Comparison], signs: Sequence[str] = ()) -> tuple[tuple[str, ...], Reals]:
    """The names of the traits of pairs with these comparisons and signs of differing words, and the deviations of their priors."""
    named = [("all", _ALL), ("score", _SCORE), *((f"{c.shape} {c.name}", _PART) for c in comparisons)]
    named += [("losses", _PART), *((gate, _GATE) for gate in GATES), ("letters", _LETTERS)]
    named += [(f"{_WORDS}{sign}", _SIGN) for sign in signs]
    return tuple(name for name, _ in named), np.array([deviation for _, deviation in named])


def signs_of(names: Sequence[str]) -> tuple[str, ...]:
    """The signs of differing words among the names of traits."""
    return tuple(name.removeprefix(_WORDS) for name in names if name.startswith(_WORDS))


def traits(
    comparisons: Sequence[Comparison],
    odds: Reals,
    parts: Reals,
    losses: Reals,
    gates: Sequence[Flags],
    letters: Reals,
    signs: tuple[Sequence[str], Reals] = ((), np.zeros((0, 0))),
) -> Traits:
    """``odds`` (p,) are scores, ``parts`` (p, c) what each comparison put into them, ``losses`` (p,) what they lost beside, ``gates`` (p,)
    each as in ``GATES``, ``letters`` (p,) how alike the letters of the rows are, from 0 to 1; ``signs`` which words may differ, and
    (p, signs) which do (``slowwave.matching.differences``)."""
    names, deviation = names_of(comparisons, signs[0])
    columns = [
        np.ones(len(odds)),
        np.clip(odds, -_BOUND, _BOUND) / _NATS[0],
        *(parts / _NATS[1]).T,
        losses / _NATS[1],
        *(gate.astype(float) for gate in gates),
        (letters - _ALIKE[0]) / _ALIKE[1],
        *signs[1].T,
    ]
    return Traits(names, np.column_stack(columns), deviation, np.logical_or.reduce(list(gates)))
