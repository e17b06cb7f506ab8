"""Comparison of pairs: the level at which names, attributes and values agree, and traits for the correction of scores."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process
from rapidfuzz.distance import OSA, JaroWinkler
from scipy import sparse

from slowwave.matching import words as wording
from slowwave.matching.attributes import CODES, Column
from slowwave.matching.names import LONGEST
from slowwave.matching.organisations import ModelCodes, Organisations
from slowwave.matching.population import Population
from slowwave.matching.vectors import cosines
from slowwave.matching.words import WordInformation, cosine, trigrams

# Levels of agreement between unequal values of one attribute, by the shape of its column: a slip of a digit, two parts of a date, one host,
# words in common.
#
# ``slowwave.matching.weights`` learns the weights of the levels.

_WORKERS: Final = 2
_THREADED: Final = 10_000  # number of pairs from which on threads save time
_FIGURES: Final = re.compile(r"\d+")
_LETTERS: Final = 0.7  # minimum share of equal letters of two similar values


def any_equal(column: Column, i: Ints, j: Ints, n: int) -> tuple[Ints, Ints]:
    """Return which pairs share a value of a column of lists, and the code of the rarest shared value."""
    order = np.argsort(np.argsort(column.counts, kind="stable"), kind="stable")
    ranks = len(column.texts) - order  # larger means rarer; never 0
    matrix: Any = sparse.csr_matrix(
        (ranks[column.codes].astype(float), (column.rows, column.codes)), shape=(n, len(ranks))
    )
    ones = matrix.copy()
    ones.data[:] = 1
    best: Any = matrix[i].multiply(ones[j]).tocsr()
    top = np.asarray(best.max(axis=1).todense()).ravel().astype(np.int64)
    code = np.empty(len(ranks) + 1, np.int64)
    code[ranks] = np.arange(len(ranks))
    at = np.flatnonzero(top > 0)
    return at, code[top[at]]


def same_values(column: Column, i: Ints, j: Ints, n: int) -> NDArray[np.bool_]:
    """Return whether the two rows of each pair list the same values."""
    mark = np.random.default_rng(0).integers(1, 1 << 62, len(column.texts), dtype=np.uint64)
    sums = np.zeros(n, np.uint64)
    np.add.at(sums, column.rows, mark[column.codes])
    return sums[i] == sums[j]


def value_levels(column: Column, words: WordInformation | None, a: Ints, b: Ints) -> Levels:
    """Return the levels of unequal distinct values.

    Only the values in question are read, so that a few pairs cost little.
    """
    read, at = np.unique(np.concatenate([a, b]), return_inverse=True)
    asked, p, q = column.texts[read], at[: len(a)], at[len(a) :]
    x, y = asked[p], asked[q]
    letters = np.array([len(t) for t in asked], np.int64)
    if column.shape in ("email", "phone", "code", "codes"):
        cut = 2 if column.shape == "email" else 1
        edits = each_pair(x, y, OSA.distance, cut, np.int32)
        return ((edits <= cut) & (np.minimum(letters[p], letters[q]) >= 5)).astype(np.int8)
    if column.shape == "url":
        host = np.array([t.split("/")[0] for t in asked], np.object_)
        return (host[p] == host[q]).astype(np.int8)
    if column.shape == "date":
        return _date_levels(x, y)
    if column.shape == "number":
        edits = each_pair(x, y, OSA.distance, 1, np.int32)
        value = np.array([_float(t) for t in asked])
        gap = np.abs(value[p] - value[q]) / np.maximum(np.maximum(np.abs(value[p]), np.abs(value[q])), 1e-9)
        slip = (edits <= 1) & (np.minimum(letters[p], letters[q]) >= 3)
        return np.select([slip, (gap <= 0.1) | (np.abs(value[p] - value[q]) <= 1)], [2, 1], 0).astype(np.int8)
    winkler = each_pair(x, y, JaroWinkler.similarity, 0.7, np.float32)
    figures = np.array([" ".join(_FIGURES.findall(t)) for t in asked], np.object_)
    winkler[(figures[p] != figures[q]) & (figures[p] != "") & (figures[q] != "")] = 0  # "pages 12 31", "pages 45 61"
    if words is None:
        contained = each_pair(x, y, fuzz.token_set_ratio, 80, np.float32)
        near = (
            each_pair(x, y, OSA.normalized_similarity, _LETTERS, np.float32) >= _LETTERS
        )  # not "Jan Pavlov", "Jan Petrovic"
        return np.select([winkler >= 0.92, ((winkler >= 0.82) & near) | (contained >= 99)], [2, 1], 0).astype(np.int8)
    alike = np.round(cosine(words, a, b), 6)
    return np.select([(alike >= 0.85) | (winkler >= 0.96), alike >= 0.5, alike >= 0.15], [3, 2, 1], 0).astype(np.int8)


def _date_levels(x: NDArray[np.object_], y: NDArray[np.object_]) -> Levels:
    """Return the levels of unequal dates in normal form (yyyymmdd); a value that is not a date is compared letter by letter."""
    edits = each_pair(x, y, OSA.distance, 1, np.int32)
    parts = [[np.array([t[at] for t in s], np.object_) for at in (slice(4), slice(4, 6), slice(6, 8))] for s in (x, y)]
    (year, month, day), (other_year, other_month, other_day) = parts
    same = (year == other_year).astype(int) + (month == other_month) + (day == other_day)
    swapped = (year == other_year) & (month == other_day) & (day == other_month)
    return np.select([(edits <= 1) | swapped, same >= 2], [2, 1], 0).astype(np.int8)


def each_pair(x: NDArray[np.object_], y: NDArray[np.object_], scorer: Any, cutoff: float, dtype: Any) -> NDArray[Any]:
    """Return scores (p,) of pairs of texts, those beyond the cutoff as rapidfuzz returns them.

    A few pairs are compared on one thread, because a second one would not pay.
    """
    workers = _WORKERS if len(x) >= _THREADED else 1
    return process.cpdist(x, y, scorer=scorer, score_cutoff=cutoff, workers=workers, dtype=dtype)


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


# Levels of agreement between the names of pairs: the highest level that applies, starting with "different", and the amount of shared
# information. ``slowwave.matching.weights`` learns the weights of the levels.

NAME_LEVELS: Final[Mapping[str, tuple[float, str]]] = {
    "different": (-4.0, "The names differ"),
    "similar": (-2.5, "The names have some words in common, others differ"),
    "replaced": (-1.0, "A few words of the names differ"),
    "alike": (0.0, "The names differ by some letters"),
    "extended": (0.5, "All words of one name stand in the other"),
    "contained": (2.0, "All words of one name, two or more, stand in the other"),
    "explained": (2.5, "What one name says more stands in the attributes of the other"),
    "initials": (3.0, "One name has initials of the other"),
    "spelling": (3.0, "The names differ in spelling only"),
    "acronym": (4.0, "One name is the acronym of the other"),
    "nickname": (4.5, "One name has a short form of the other's first name"),
    "coded": (4.5, "The names have the same model codes, and a word besides"),
    "reordered": (4.5, "The names have the same words in another order"),
    "alias": (5.0, "One name is a recorded alias of the other"),
    "compact": (5.5, "The names are the same but for spaces, titles or legal form"),
    "exact": (6.0, "The names are the same"),
    "organisation": (8.0, "The names are of one organisation, whatever the abbreviations, legal form and address"),
}
"""Name level → prior weight and its description, weakest first; the position is the code."""

LEVEL: Final[Mapping[str, int]] = {level: k for k, level in enumerate(NAME_LEVELS)}


_SHORT: Final = 24  # maximum length in letters for Jaro-Winkler: long names with equal beginnings all look similar


def shared(matrix: Any, i: Ints, j: Ints) -> Reals:
    """Count the columns of a 0/1 matrix that the two rows of each pair share."""
    if not matrix.nnz or not len(i):
        return np.zeros(len(i))
    return np.asarray(matrix[i].multiply(matrix[j]).sum(axis=1), float).ravel()


def name_levels(population: Population, words: WordInformation, i: Ints, j: Ints) -> tuple[Levels, Reals]:
    """Return the strongest level at which the names of each pair agree, and the information (nats) that they share."""
    names = population.names
    found = np.zeros(len(i), np.int8)

    def raise_to(level: str, where: NDArray[np.bool_]) -> None:
        np.maximum(found, np.where(where, LEVEL[level], 0), out=found, casting="unsafe")

    def equal(codes: Ints) -> NDArray[np.bool_]:
        return (codes[i] == codes[j]) & (codes[i] >= 0)

    raise_to("exact", equal(names.plain))
    raise_to("compact", equal(names.compact))
    raise_to("reordered", equal(names.ordered))
    if population.known_as.shape[1]:
        raise_to("alias", shared(population.known_as, i, j) > 0)
    for a in names.nickname.T:
        for b in names.nickname.T:
            raise_to("nickname", (a[i] == b[j]) & (a[i] >= 0))
    for a in names.acronym.T:
        raise_to("acronym", (a[i] == names.short[j]) & (a[i] >= 0))
        raise_to("acronym", (a[j] == names.short[i]) & (a[j] >= 0))
    raise_to("initials", equal(names.initial) & (names.abbreviated[i] | names.abbreviated[j]))
    plain, mended = words.shared(i, j)
    left = np.flatnonzero(found < LEVEL["acronym"])
    found[left] = np.maximum(found[left], _word_levels(population, words, i[left], j[left], plain[left], mended[left]))
    whole = np.isin(found, [LEVEL[level] for level in ("nickname", "compact", "exact")])
    information = np.where(whole, np.minimum(words.total[i], words.total[j]), np.maximum(plain, mended))
    return found, information


def _word_levels(
    population: Population, words: WordInformation, i: Ints, j: Ints, plain: Reals, mended: Reals
) -> Levels:
    """Return the levels of names that are equal in no form.

    Short names are compared by letters, others by the words that remain.
    """
    names = population.names
    level = np.zeros(len(i), np.int8)
    over = [1 - mended / np.maximum(words.mended_total[rows], 1e-9) for rows in (i, j)]
    fewer, more = np.minimum(*over), np.maximum(*over)
    level[(mended > 0) & (more <= 0.8)] = LEVEL["similar"]
    level[(more <= 0.35)] = LEVEL["replaced"]
    level[(fewer <= 1e-6) & (mended > 0)] = LEVEL["extended"]
    naming = np.where(over[0] <= 1e-6, words.naming[i], words.naming[j])
    level[(fewer <= 1e-6) & (mended > 0) & (naming > 1)] = LEVEL["contained"]
    level[(more <= 1e-6) & (mended > 0)] = LEVEL["spelling"]
    short = np.flatnonzero(np.maximum(names.length[i], names.length[j]) <= LONGEST)
    p, q = i[short], j[short]
    letters = np.minimum(names.length[p], names.length[q])
    allowed = np.where(letters >= 12, 2, np.where(letters >= 6, 1, 0))
    squeezed, folded = (names.squeezed[p], names.squeezed[q]), (names.folded[p], names.folded[q])
    edits = each_pair(*squeezed, OSA.distance, 2, np.int32)
    winkler = each_pair(
        *folded, JaroWinkler.similarity, 0.84, np.float32
    )  # slightly below the lowest level that counts
    ratio = each_pair(*squeezed, OSA.normalized_similarity, 0.79, np.float32)
    alike = (ratio >= 0.9) | ((winkler >= 0.92) & (ratio >= 0.8) & (letters <= _SHORT))
    by_letters = np.where(alike, LEVEL["alike"], np.where((winkler >= 0.85) & (letters <= _SHORT), LEVEL["similar"], 0))
    by_letters = np.where((edits <= allowed), LEVEL["spelling"], by_letters)
    level[short] = np.maximum(level[short], by_letters)
    return level


# Comparison vectors of pairs: one small integer per comparison (column), starting with "different"; -1 if one side has no value.
#
# A comparison covers the name, an attribute (by the shape of its column), the cosine of the vectors, the neighbours or the documents. Each
# has levels, and a weight of agreement at each level before any data is seen (``prior``: natural log of a Bayes factor).
# ``slowwave.matching.weights`` learns the weights for the namespace.

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Levels = NDArray[np.int8]

_HOLDERS: Final = 20  # minimum number of pairs of rows with a shared value for deciding whether groups hold it
_HELD: Final = 20_000  # maximum number of these pairs that are checked

_Table = tuple[tuple[str, float, float], ...]
"""Levels, starting with "different": the description, and the probability among matches (m) and among other candidates (u)."""

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
)  # the shared part is not a word
RARE, UNMISTAKABLE = 2, 4
"""Codes of rarity levels: a value that one in ten rows would share by coincidence, and the highest level."""
_UNMISTAKABLE: Final = float(np.log(1e4))

OWN: Final = frozenset(("email", "code"))
"""Shapes of identifiers that belong to one thing. A phone or a page may be that of a household or a company."""

PERSONAL: Final = OWN | {"date"}
"""Identifiers as in ``OWN``, and those in which two members of one household, company or series usually differ."""

DIFFER: Final = 0.5
"""Maximum share of the matches that may differ in a column whose agreement is evidence."""

_OTHER_BIRTH: Final = 0.1  # the same for dates of birth: on the labelled sets of persons, 2 to 5 % of the matches do
_DAY: Final = 8  # letters of a date in normal form, yyyymmdd

FIELDS: Final = 2
"""Index of the first attribute among the comparisons."""

_MODELLED: Final = 0.8  # share of a type's names with a model code from which on a name without one denotes a kind
_WORDED: Final = frozenset(("text", "category", "number"))  # shapes of attributes that may repeat the name
_NOTHING: Final = 1e-4  # nats of a name that count as no information
_NEIGHBOURS: Final = 3  # fewer neighbours than this are no evidence


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """One column of evidence: its name, the names of its levels, and the prior m and u of each (levels,).

    ``most`` bounds the weights that may be learnt: names that differ never count for a match, however many pairs of brothers in one house
    or of bars in one hotel there are. ``differ`` bounds the share of matches that differ in a column whose agreement is evidence.
    """

    name: str
    shape: str
    levels: tuple[str, ...]
    m: Reals
    u: Reals
    most: Reals | float = np.inf
    differ: float = DIFFER

    @property
    def attribute(self) -> bool:
        """Return whether the comparison is one of attribute values."""
        return self.shape in SHAPES

    @property
    def prior(self) -> Reals:
        """Return the weight of each level before any data: ln(m / u)."""
        return np.log(self.m / self.u)


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonLevels:
    """Levels (p, c) of p pairs in c comparisons.

    ``rarity`` (p, c) is what agreement on this particular value adds to the weight of the level. ``cosine`` (p,) is nan without vectors.
    Column 0 is the name, column 1 the rarity of what the names share.
    """

    levels: Levels
    rarity: Reals
    cosine: Reals

    def take(self, at: Ints) -> ComparisonLevels:
        """Return the levels of some of the pairs."""
        return ComparisonLevels(self.levels[at], self.rarity[at], self.cosine[at])


class Comparer:
    """A comparer for rows of one entity type."""

    def __init__(
        self,
        population: Population,
        kind: int,
        words: WordInformation,
        read: tuple[ModelCodes, Organisations] | None = None,
    ) -> None:
        self._population = population
        self._words = words
        self._codes, self._organisations = read or (
            ModelCodes.from_population(population),
            Organisations.from_population(population),
        )
        self.columns = population.attributes.select(kind)
        self._column_words = [WordInformation.from_texts(c.texts) if c.shape == "text" else None for c in self.columns]
        self._frequency = [np.log(np.maximum(c.counts - 1, 0.5) / max(len(c.rows), 2)) for c in self.columns]
        self._rows = np.flatnonzero(population.kind == kind)
        self._holders = np.bincount(population.names.plain[self._rows] + 1)
        self._holders[0] = 0  # rows without a name hold no value
        alone = [c.shape in PERSONAL and not _held_by_groups(population, words, c) for c in self.columns]
        self.own = [is_alone and c.shape in OWN for is_alone, c in zip(alone, self.columns, strict=True)]
        self.personal = alone
        self.modelled = [
            c.key == CODES and len(np.unique(c.rows)) >= _MODELLED * len(self._rows) for c in self.columns
        ]  # nearly all names of the type state a model
        self._births = [(c, _date_parts(c)) for c in self.columns if c.is_birth]
        self._said: Any = None  # computed on first use
        self._wording: Any = None  # computed on first use: it is the largest of all, and unused if there are vectors
        self.comparisons = (
            _name_comparison(),
            _tabled("rarity", "rarity"),
            *(_tabled(c.key, c.shape, _OTHER_BIRTH if c.is_birth else DIFFER) for c in self.columns),
            _cosine_comparison(),
            _tabled("neighbours", "neighbours"),
            _tabled("documents", "documents"),
        )

    def compare(self, i: Ints, j: Ints) -> ComparisonLevels:
        """Compare pairs of rows i < j (p,).

        Cosines are rounded, so that no level depends on the last bit of a sum.
        """
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
        """Return whether the other row's name and attributes contain all that each name states.

        For example, "Blue River - Anna Berg" is explained by a row "Blue River" with the author Anna Berg.
        """
        if self._said is None:
            self._said = self._words.said([c for c in self.columns if c.shape in _WORDED])
        found = self._words.left_over(self._said, i, j) <= _NOTHING
        at = np.flatnonzero(found)
        found[at] = self._words.left_over(self._said, j[at], i[at]) <= _NOTHING
        return found

    @property
    def words(self) -> WordInformation:
        """Return the words of all names."""
        return self._words

    def holders(self, rows: Ints) -> Ints:
        """Count the rows of the type that have the folded name of each of these rows (p,)."""
        return self._holders[self._population.names.plain[rows] + 1]

    def attributes(self, i: Ints, j: Ints) -> Levels:
        """Return the levels of the attributes only (p, columns)."""
        found = [self._attribute(k, column, i, j)[0] for k, column in enumerate(self.columns)]
        return np.column_stack(found) if found else np.empty((len(i), 0), np.int8)

    def births(self, i: Ints, j: Ints) -> Levels:
        """Return 1 where the dates of birth (p,) have year, month or day in common, 0 where they have none, -1 where one is missing.

        In the labelled sets, hardly any pair of one person whose dates differ beyond a slip has no part in common.
        """
        found = np.full(len(i), -1, np.int8)
        for column, parts in self._births:
            a, b = column.first(i), column.first(j)
            stated = np.flatnonzero((a >= 0) & (b >= 0))
            x, y = parts[a[stated]], parts[b[stated]]
            common = ((x == y) | (x < 0) | (y < 0)).any(axis=1)
            found[stated] = np.maximum(found[stated], common)
        return found

    def values(self, i: int, j: int) -> dict[str, tuple[str, str]]:
        """Return the values of two rows, in normal form, for every attribute that both state."""
        found: dict[str, tuple[str, str]] = {}
        for column in self.columns:
            a, b = column.first(np.array([i, j])).tolist()
            if a >= 0 and b >= 0:
                found[column.key] = str(column.texts[a]), str(column.texts[b])
        return found

    def wordings(self, i: Ints, j: Ints) -> Reals:
        """Return the similarity of the letters of whole rows (p,)."""
        if self._wording is None:
            self._wording = trigrams(_records(self._population, self._rows, self.columns))
        return wording.cosines(self._wording, np.searchsorted(self._rows, i), np.searchsorted(self._rows, j))

    def _rarity(self, name: Levels, information: Reals, i: Ints) -> Levels:
        """Return the bucket of the expected number of rows of the type that agree by coincidence.

        For the rarest bucket, no single word may count for much.
        """
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
        """Return the levels of the Jaccard coefficient of the neighbours; a few shared hubs are little evidence."""
        neighbours = self._population.neighbours
        common, mine, theirs = shared(neighbours, i, j), _held(neighbours, i), _held(neighbours, j)
        jaccard = common / np.maximum(mine + theirs - common, 1)
        level = np.select([jaccard >= 0.8, jaccard >= 0.3], [3, 2], 1)
        level = np.where(common == 0, 0, np.where(common < 2, np.minimum(level, 1), level))
        enough = (mine >= _NEIGHBOURS) & (theirs >= _NEIGHBOURS)
        return np.where(enough, level, -1).astype(np.int8)


def _records(population: Population, rows: Ints, columns: Sequence[Column]) -> list[str]:
    """Return the name and all attributes of each row as one text."""
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


def _date_parts(column: Column) -> Ints:
    """Return year, month and day of the distinct values (v, 3), -1 for those of a value that is not a date in normal form."""
    texts = [t if len(t) == _DAY and t.isdecimal() else "" for t in column.texts.tolist()]
    parts = [(int(t[:4]), int(t[4:6]), int(t[6:])) if t else (-1, -1, -1) for t in texts]
    return np.array(parts, np.int64).reshape(-1, 3)


def _tabled(name: str, shape: str, differ: float = DIFFER) -> Comparison:
    subject = {"rarity": "What the names share is", "neighbours": "They", "documents": "They"}
    table = TABLES[shape]
    most = np.full(len(table), np.inf)
    most[0] = 0.0 if shape != "rarity" else np.inf  # a difference is never evidence for a match
    says = [f"{subject.get(shape, f'The values of {name}')} {text}" for text, _, _ in table]
    return Comparison(
        *(name, shape, tuple(says), np.array([m for _, m, _ in table]), np.array([u for _, _, u in table]), most),
        differ,
    )


def _held_by_groups(population: Population, words: WordInformation, column: Column) -> bool:
    """Return whether the values of a column belong to groups, such as the rows of one invoice or one filing.

    This is so if more than half of the neighbouring rows that share a value have different names. At most 20,000 pairs of rows are
    compared.
    """
    order = np.lexsort((column.rows, column.codes))
    rows, codes = column.rows[order], column.codes[order]
    at = np.flatnonzero((codes[1:] == codes[:-1]) & (rows[1:] != rows[:-1]))
    at = at[:: -(-len(at) // _HELD)] if len(at) else at
    if len(at) < _HOLDERS:
        return False
    level, _ = name_levels(population, words, rows[at], rows[at + 1])
    return float((level >= LEVEL["alike"]).mean()) < 0.5


def _held(matrix: Any, rows: Ints) -> Ints:
    """Count the columns of a 0/1 matrix that each row holds."""
    return matrix.indptr[rows + 1] - matrix.indptr[rows]


# Traits: numbers of each pair by which answers may correct its score, with the prior deviation of each in log-odds.
#
# They are the score, the contribution of each comparison, the similarity of the letters of the whole rows, and the gates that prevent a
# merge by score alone: names that do not agree, attributes that contradict, a type with too little data to learn from. Each is scaled so
# that 1 is a large value. ``slowwave.matching.answers`` applies the correction.

Flags = NDArray[np.bool_]

GATES: Final = ("unnamed", "opposed", "unlearnt")
"""The names disagree; attributes, or the meanings, contradict the pair; the type has too little data to learn from."""

_ALIKE: Final = (0.6, 0.2)  # letter similarity that is no evidence, and the additional similarity that counts as 1
_NATS: Final = (4.0, 2.0)  # log-odds of the score, and of a comparison, that count as 1
_WORDS: Final = "words: "  # prefix of a word sign in the name of a trait
_BOUND: Final = 8.0  # limit of the score, as in ``slowwave.matching.answers``

_SCORE, _PART, _GATE, _LETTERS_TRAITS, _ALL, _SIGN = 1.0, 0.5, 2.5, 1.0, 1.5, 2.0
"""Standard deviations of the priors, in log-odds, chosen on seven of the generated sets (docs/matching.md)."""


@dataclass(frozen=True, slots=True, eq=False)
class Traits:
    """The traits of p pairs.

    ``names`` (d,) and ``values`` (p, d) are the traits, ``deviation`` (d,) belongs to the prior of their coefficients. ``gated`` (p,): a
    gate keeps the pair from merging by its score alone.
    """

    names: tuple[str, ...]
    values: Reals
    deviation: Reals
    gated: Flags

    def take(self, at: Ints | Flags) -> Traits:
        """Return the traits of some of the pairs."""
        return replace(self, values=self.values[at], gated=self.gated[at])

    @classmethod
    def join(cls, parts: Sequence[Traits]) -> Traits:
        """Join the traits of several sets of pairs with the same trait names."""
        values, gated = (np.concatenate([getattr(p, field) for p in parts]) for field in ("values", "gated"))
        return replace(parts[0], values=values, gated=gated)


def names_of(comparisons: Sequence[Comparison], signs: Sequence[str] = ()) -> tuple[tuple[str, ...], Reals]:
    """Return the names of the traits for these comparisons and signs of differing words, and the deviations of their priors."""
    named = [("all", _ALL), ("score", _SCORE), *((f"{c.shape} {c.name}", _PART) for c in comparisons)]
    named += [("losses", _PART), *((gate, _GATE) for gate in GATES), ("letters", _LETTERS_TRAITS)]
    named += [(f"{_WORDS}{sign}", _SIGN) for sign in signs]
    return tuple(name for name, _ in named), np.array([deviation for _, deviation in named])


def signs_of(names: Sequence[str]) -> tuple[str, ...]:
    """Return the signs of differing words among the names of traits."""
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
    """Build the traits of p pairs.

    ``odds`` (p,) are their scores, ``parts`` (p, c) the contribution of each comparison, and ``losses`` (p,) the further losses of the
    score. ``gates`` holds one flag array (p,) for each of ``GATES``. ``letters`` (p,) is the similarity of the letters of the rows, from
    0 to 1. ``signs`` holds the signs of differing words and the array (p, signs) of their values (``slowwave.matching.words``).
    """
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
