"""How pairs agree: one small integer a comparison (a column), from different upward; -1 where one side says nothing.

A comparison is the name, an attribute by the shape of its column, the cosine of the vectors, the neighbours or the documents.
Each has its levels, and what agreement at a level is worth before any data is seen (``prior``: natural log of a Bayes factor).
What it is worth in this namespace is learnt by ``slowwave.matching.weights``. Levels of names belong to
``slowwave.matching.name_levels``, those of unequal values to ``slowwave.matching.values``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from slowwave.matching import wording
from slowwave.matching.attributes import CODES, Column
from slowwave.matching.model_codes import ModelCodes
from slowwave.matching.name_levels import LEVEL, NAME_LEVELS, name_levels, shared
from slowwave.matching.organisations import Organisations
from slowwave.matching.population import Population
from slowwave.matching.values import any_equal, same_values, value_levels
from slowwave.matching.vectors import cosines
from slowwave.matching.wording import trigrams
from slowwave.matching.words import WordInformation

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Levels = NDArray[np.int8]

_HOLDERS: Final = 20  # pairs of rows that share a value, from which can be told whether groups hold it
_HELD: Final = 20_000  # of them looked at

_Table = tuple[tuple[str, float, float], ...]
"""Levels from different upward: how a person says it, and the probability among matches (m) and among other candidates (u)."""

TABLES: Final[Mapping[str, _Table]] = {
    "email": (("differ", 0.08, 0.979), ("differ by a letter or two", 0.05, 0.02), ("are equal", 0.87, 0.001)),
    "url": (("differ", 0.10, 0.968), ("are on one host", 0.05, 0.03), ("are equal", 0.85, 0.002)),
    "phone": (("differ", 0.12, 0.982), ("differ by one digit", 0.04, 0.01), ("are equal", 0.84, 0.008)),
    "code": (("differ", 0.05, 0.977), ("differ by one character", 0.06, 0.02), ("are equal", 0.89, 0.003)),
    "codes": (
        ("differ", 0.05, 0.970),
        ("differ by one character", 0.03, 0.015),
        ("are in part the same", 0.05, 0.012),
        ("are the same", 0.87, 0.003),
    ),
    "date": (
        ("differ", 0.04, 0.93),
        ("agree in two of year, month and day", 0.04, 0.04),
        ("differ by one digit or two swapped ones", 0.07, 0.01),
        ("are equal", 0.85, 0.02),
    ),
    "number": (
        ("differ", 0.12, 0.80),
        ("are near", 0.06, 0.08),
        ("differ by one digit", 0.07, 0.06),
        ("are equal", 0.75, 0.06),
    ),
    "category": (
        ("differ", 0.15, 0.715),
        ("are alike", 0.05, 0.06),
        ("differ in spelling only", 0.08, 0.025),
        ("are equal", 0.72, 0.20),
    ),
    "text": (
        ("have no word in common", 0.04, 0.45),
        ("have few words in common", 0.10, 0.30),
        ("have many words in common", 0.20, 0.17),
        ("say almost the same", 0.26, 0.05),
        ("are equal", 0.40, 0.03),
    ),
    "rarity": (
        ("common: one row or more would share it by coincidence", 0.10, 0.505),
        ("not rare: one in ten would share it by coincidence", 0.20, 0.22),
        ("rare: one in a hundred would share it by coincidence", 0.25, 0.15),
        ("very rare: fewer than one in a hundred would share it by coincidence", 0.30, 0.11),
        ("unmistakable: fewer than one in ten thousand would share it by coincidence", 0.15, 0.015),
    ),
    "neighbours": (
        ("have no neighbour in common", 0.34, 0.86),
        ("share few neighbours", 0.25, 0.10),
        ("share many neighbours", 0.25, 0.03),
        ("have the same neighbours", 0.16, 0.01),
    ),
    "documents": (("stand in other documents", 0.40, 0.60), ("stand in a document together", 0.60, 0.40)),
}

SHAPES: Final = frozenset(TABLES) - {"rarity", "neighbours", "documents"}
"""Shapes of attributes."""

COSINES: Final = (0.5, 0.7, 0.78, 0.85, 0.90, 0.95, 0.98)
"""Lower ends of the levels of cosine above the first."""
_COSINE_PRIORS: Final = (-1.7, -0.8, 0.1, 1.2, 2.3, 3.2, 3.8, 4.2)

_OTHER_WORDS: Final = (
    LEVEL["acronym"],
    LEVEL["alias"],
    LEVEL["coded"],
    LEVEL["organisation"],
)  # what they share is no word
RARE, UNMISTAKABLE = 2, 4
"""Codes of rarities: one in ten rows would share it by coincidence, and the highest."""
_UNMISTAKABLE: Final = float(np.log(1e4))

OWN: Final = frozenset(("email", "code"))
"""Shapes of identifiers that belong to one thing, where a phone or a page may be that of a house or a company."""

PERSONAL: Final = OWN | {"date"}
"""And those in which two things of one household, company or series differ as a rule."""

FIELDS: Final = 2
"""Where the attributes begin among the comparisons."""

_MODELLED: Final = 0.8  # of the names of a type with a model code, from which one without is that of a kind
_WORDED: Final = frozenset(("text", "category", "number"))  # shapes of attributes that may say what a name says as well
_NOTHING: Final = 1e-4  # nats of a name that are none
_NEIGHBOURS: Final = 3  # fewer neighbours than that say nothing


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """One column of evidence: its name, what its levels are called, and the prior m and u of each (levels,).

    ``most`` bounds the weights that may be learnt: names that differ never speak for a match, however many pairs of brothers in
    one house or of bars in one hotel there are.
    """

    name: str
    shape: str
    levels: tuple[str, ...]
    m: Reals
    u: Reals
    most: Reals | float = np.inf

    @property
    def attribute(self) -> bool:
        """Whether it compares values of an attribute."""
        return self.shape in SHAPES

    @property
    def prior(self) -> Reals:
        """Weight of each level before any data: ln(m / u)."""
        return np.log(self.m / self.u)


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonLevels:
    """Levels (p, c) of p pairs in c comparisons, ``rarity`` (p, c) what agreeing on this very value adds to the weight of the
    level, and the cosine (p,), nan without vectors. Column 0 is the name, 1 how rare what the names share is."""

    levels: Levels
    rarity: Reals
    cosine: Reals

    def take(self, at: Ints) -> ComparisonLevels:
        """Those of some of the pairs."""
        return ComparisonLevels(self.levels[at], self.rarity[at], self.cosine[at])


class Comparer:
    """Compares rows of one entity type."""

    def __init__(
        self,
        population: Population,
        kind: int,
        words: WordInformation,
        read: tuple[ModelCodes, Organisations] | None = None,
    ) -> None:
        self._population = population
        self._words = words
        self._codes, self._organisations = read or (ModelCodes.of(population), Organisations.of(population))
        self.columns = population.attributes.of(kind)
        self._column_words = [WordInformation.of(c.texts) if c.shape == "text" else None for c in self.columns]
        self._frequency = [np.log(np.maximum(c.counts - 1, 0.5) / max(len(c.rows), 2)) for c in self.columns]
        self._rows = np.flatnonzero(population.kind == kind)
        self._holders = np.bincount(population.names.plain[self._rows] + 1)
        self._holders[0] = 0  # rows without a name hold none
        alone = [c.shape in PERSONAL and not _held_by_groups(population, words, c) for c in self.columns]
        self.own = [is_alone and c.shape in OWN for is_alone, c in zip(alone, self.columns, strict=True)]
        self.personal = alone
        self.modelled = [
            c.key == CODES and len(np.unique(c.rows)) >= _MODELLED * len(self._rows) for c in self.columns
        ]  # nearly all names of the type say which model is meant
        self._said: Any = None  # made when asked for
        self._wording: Any = None  # made when asked for: it is the largest of all, and with vectors nobody asks
        self.comparisons = (
            _name_comparison(),
            _tabled("rarity", "rarity"),
            *(_tabled(c.key, c.shape) for c in self.columns),
            _cosine_comparison(),
            _tabled("neighbours", "neighbours"),
            _tabled("documents", "documents"),
        )

    def compare(self, i: Ints, j: Ints) -> ComparisonLevels:
        """Pairs of rows i < j (p,) → their levels. Cosines are rounded, so that no level hangs on the last bit of a sum."""
        population = self._population
        levels = np.full((len(i), len(self.comparisons)), -1, np.int8)
        rarity = np.zeros(levels.shape)
        name, information = name_levels(population, self._words, i, j)
        coded = np.flatnonzero((name < LEVEL["coded"]) & self._codes.same(i, j))
        name[coded[self._words.share_word(i[coded], j[coded])]] = LEVEL["coded"]
        rest = np.flatnonzero((name < LEVEL["explained"]) & (name > LEVEL["different"]) & self._codes.same_offer(i, j))
        name[rest[self._explained(i[rest], j[rest])]] = LEVEL["explained"]
        name[self._organisations.same(i, j)] = LEVEL["organisation"]
        levels[:, 0] = name
        shares_words = (name >= LEVEL["explained"]) & ~np.isin(name, _OTHER_WORDS)
        levels[:, 1] = np.where(shares_words, self._rarity(name, information, i), -1)
        for k, column in enumerate(self.columns):
            levels[:, k + FIELDS], rarity[:, k + FIELDS] = self._attribute(k, column, i, j)
        similarity = np.full(len(i), np.nan)
        both = np.flatnonzero((population.vector[i] >= 0) & (population.vector[j] >= 0))
        similarity[both] = np.round(
            cosines(population.units, population.vector[i[both]], population.vector[j[both]]), 6
        )
        levels[both, -3] = np.searchsorted(COSINES, similarity[both], side="right")
        levels[:, -2] = self._neighbours(i, j)
        stated = (_held(population.documents, i) > 0) & (_held(population.documents, j) > 0)
        levels[stated, -1] = shared(population.documents, i[stated], j[stated]) > 0
        return ComparisonLevels(levels, rarity, similarity)

    def _explained(self, i: Ints, j: Ints) -> NDArray[np.bool_]:
        """Whether each name says nothing that is not in the other's name or attributes ("Blue River - Anna Berg" is by Anna Berg)."""
        if self._said is None:
            self._said = self._words.said([c for c in self.columns if c.shape in _WORDED])
        found = self._words.left_over(self._said, i, j) <= _NOTHING
        at = np.flatnonzero(found)
        found[at] = self._words.left_over(self._said, j[at], i[at]) <= _NOTHING
        return found

    @property
    def words(self) -> WordInformation:
        """The words of all names."""
        return self._words

    def holders(self, rows: Ints) -> Ints:
        """How many rows of the type have the name of each of these (p,), folded."""
        return self._holders[self._population.names.plain[rows] + 1]

    def attributes(self, i: Ints, j: Ints) -> Levels:
        """The levels of the attributes alone (p, columns)."""
        found = [self._attribute(k, column, i, j)[0] for k, column in enumerate(self.columns)]
        return np.column_stack(found) if found else np.empty((len(i), 0), np.int8)

    def values(self, i: int, j: int) -> dict[str, tuple[str, str]]:
        """The values of two rows in every attribute that both state, in normal form."""
        found: dict[str, tuple[str, str]] = {}
        for column in self.columns:
            a, b = column.first(np.array([i, j])).tolist()
            if a >= 0 and b >= 0:
                found[column.key] = str(column.texts[a]), str(column.texts[b])
        return found

    def wordings(self, i: Ints, j: Ints) -> Reals:
        """How alike the letters of whole rows are (p,)."""
        if self._wording is None:
            self._wording = trigrams(_records(self._population, self._rows, self.columns))
        return wording.cosines(self._wording, np.searchsorted(self._rows, i), np.searchsorted(self._rows, j))

    def _rarity(self, name: Levels, information: Reals, i: Ints) -> Levels:
        """Bucket of how many of the type's rows would agree by coincidence. For the rarest no single word may count for much."""
        size = np.log(max(len(self._rows), 2))
        level = np.searchsorted(-np.log([1.0, 0.1, 0.01]), information - size, side="right")
        many = (name >= LEVEL["reordered"]) & (self._words.bounded[i] - size >= _UNMISTAKABLE)
        return np.where(many, UNMISTAKABLE, level).astype(np.int8)

    def _attribute(self, k: int, column: Column, i: Ints, j: Ints) -> tuple[Levels, Reals]:
        a, b = column.first(i), column.first(j)
        levels, rarity = np.full(len(i), -1, np.int8), np.zeros(len(i))
        stated = np.flatnonzero((a >= 0) & (b >= 0))
        top = len(TABLES[column.shape]) - 1
        low, high = np.minimum(a, b)[stated], np.maximum(a, b)[stated]
        pairs, inverse = np.unique(low * len(column.texts) + high, return_inverse=True)
        low, high = pairs // len(column.texts), pairs % len(column.texts)
        found = np.full(len(pairs), top, np.int8)
        unequal = np.flatnonzero(low != high)
        found[unequal] = value_levels(column, self._column_words[k], low[unequal], high[unequal])
        levels[stated] = found[inverse]
        if column.repeated:
            equal, values = any_equal(column, i[stated], j[stated], len(self._population))
            at = stated[equal]
            levels[at] = top - (column.shape == "codes") * ~same_values(column, i[at], j[at], len(self._population))
            a[at] = values
        equal = np.flatnonzero(levels == top)
        frequency = self._frequency[k]
        usual = np.log(max(float((column.counts * np.exp(frequency)).sum() / column.counts.sum()), 1e-12))
        rarity[equal] = np.clip(0.5 * (usual - frequency[a[equal]]), -2.0, 2.0)
        return levels, rarity

    def _neighbours(self, i: Ints, j: Ints) -> Levels:
        """Levels of the Jaccard coefficient of the neighbours; a few shared hubs say little."""
        neighbours = self._population.neighbours
        common, mine, theirs = shared(neighbours, i, j), _held(neighbours, i), _held(neighbours, j)
        jaccard = common / np.maximum(mine + theirs - common, 1)
        level = np.select([jaccard >= 0.8, jaccard >= 0.3], [3, 2], 1)
        level = np.where(common == 0, 0, np.where(common < 2, np.minimum(level, 1), level))
        enough = (mine >= _NEIGHBOURS) & (theirs >= _NEIGHBOURS)
        return np.where(enough, level, -1).astype(np.int8)


def _records(population: Population, rows: Ints, columns: Sequence[Column]) -> list[str]:
    """The name and all attributes of each row as one text."""
    found = [str(t) for t in population.names.folded[rows]]
    for column in columns:
        for row, text in zip(np.searchsorted(rows, column.rows).tolist(), column.texts[column.codes], strict=True):
            found[row] += " " + text
    return found


def _name_comparison() -> Comparison:
    weights = np.array([weight for weight, _ in NAME_LEVELS.values()])
    m = np.array([0.02, 0.03, 0.05, 0.05, 0.04, 0.03, 0.03, 0.06, 0.15, 0.03, 0.04, 0.04, 0.06, 0.02, 0.06, 0.28, 0.02])
    most = np.where(weights <= weights[LEVEL["contained"]], weights + 1.5, np.inf)
    return Comparison("name", "name", tuple(text for _, text in NAME_LEVELS.values()), m, m / np.exp(weights), most)


def _cosine_comparison() -> Comparison:
    ends = (0.0, *COSINES, 1.0)
    says = tuple(f"The meanings are at a cosine of {a:.2f} to {b:.2f}" for a, b in pairwise(ends))
    m = np.array([0.02, 0.04, 0.06, 0.10, 0.14, 0.24, 0.22, 0.18])
    return Comparison("cosine", "cosine", says, m, m / np.exp(_COSINE_PRIORS))


def _tabled(name: str, shape: str) -> Comparison:
    subject = {"rarity": "What the names share is", "neighbours": "They", "documents": "They"}
    table = TABLES[shape]
    most = np.full(len(table), np.inf)
    most[0] = 0.0 if shape != "rarity" else np.inf  # what differs never speaks for a match
    says = [f"{subject.get(shape, f'The values of {name}')} {text}" for text, _, _ in table]
    return Comparison(
        name, shape, tuple(says), np.array([m for _, m, _ in table]), np.array([u for _, _, u in table]), most
    )


def _held_by_groups(population: Population, words: WordInformation, column: Column) -> bool:
    """Whether values of a column belong to groups: more than half of the neighbouring rows that share one have other names, as those on
    one invoice or one filing. Looks at up to 20,000 pairs of rows."""
    order = np.lexsort((column.rows, column.codes))
    rows, codes = column.rows[order], column.codes[order]
    at = np.flatnonzero((codes[1:] == codes[:-1]) & (rows[1:] != rows[:-1]))
    at = at[:: -(-len(at) // _HELD)] if len(at) else at
    if len(at) < _HOLDERS:
        return False
    level, _ = name_levels(population, words, rows[at], rows[at + 1])
    return float((level >= LEVEL["alike"]).mean()) < 0.5


def _held(matrix: Any, rows: Ints) -> Ints:
    """How many columns of a 0/1 matrix each of the rows holds."""
    return matrix.indptr[rows + 1] - matrix.indptr[rows]
