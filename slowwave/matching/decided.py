"""Pairs that were decided on earlier nights, with their rows as they were then, read with the columns of the rows at hand.

Those rows are no longer there: a survivor has taken over what the absorbed one said. What such pairs teach belongs to
``slowwave.matching.weights`` and ``slowwave.matching.learning``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowwave.matching.comparisons import Comparer, ComparisonLevels
from slowwave.matching.differences import Differences
from slowwave.matching.population import Population
from slowwave.matching.words import WordInformation

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Labelled:
    """Pairs that people have decided: ``rows`` holds id, entity_type, name and attributes as they were, ``pairs`` names two of
    them and whether they are the same, ``asked`` the pairs that a person was asked about as they were in doubt."""

    rows: Any
    pairs: tuple[tuple[str, str, bool], ...]
    asked: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Decided:
    """Labelled pairs as rows of a population of their own. ``pairs`` has by folded type the rows (l,) and (l,), whether they are the
    same (l,), and whether a person was asked (l,)."""

    population: Population | None
    pairs: Mapping[str, tuple[Ints, Ints, Flags, Flags]]

    @classmethod
    def of(cls, labelled: Labelled | None, like: Population) -> Decided:
        """Read the rows as those of ``like`` are read."""
        if labelled is None or not labelled.pairs:
            return cls(None, {})
        population = Population.of(labelled.rows, shapes=like.shapes())
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
        """The pairs of a type in the comparisons of ``like``, as ``slowwave.matching.weights.fit`` takes them."""
        if self.population is None or name not in self.pairs:
            return {}
        i, j, same, _ = self.pairs[name]
        return {"labelled": _compare(self.population, like, i, j)[0].levels, "same": same}

    def asked(
        self, name: str, like: Comparer, differences: Differences
    ) -> tuple[ComparisonLevels, Reals, Reals, Flags] | None:
        """The pairs of a type that a person was asked about: how they compare, how alike their letters are, which signs their words give,
        and the answers."""
        if self.population is None or name not in self.pairs or not self.pairs[name][3].any():
            return None
        i, j, same, asked = self.pairs[name]
        compared, own = _compare(self.population, like, i[asked], j[asked])
        i, j = i[asked], j[asked]
        return compared, own.wordings(i, j), differences.values(own.words, i, j), same[asked]


def _compare(population: Population, like: Comparer, i: Ints, j: Ints) -> tuple[ComparisonLevels, Comparer]:
    """Pairs of one type. How rare a name or a value is cannot be estimated from these rows, so that stays unsaid; nor have they vectors."""
    own = Comparer(population, int(population.kind[i[0]]), WordInformation.of(population.names.folded))
    found = own.compare(i, j).levels
    place = {(c.name, c.shape): k for k, c in enumerate(own.comparisons)}
    levels = np.full((len(i), len(like.comparisons)), -1, np.int8)
    for k, comparison in enumerate(like.comparisons):
        at = place.get((comparison.name, comparison.shape))
        if at is not None and comparison.shape != "rarity":
            levels[:, k] = found[:, at]
    return ComparisonLevels(levels, np.zeros(levels.shape), np.full(len(i), np.nan)), own
