"""Evidence for pairs: log-odds that two rows are one entity, votes of attributes, and the waterfall that explains them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA, JaroWinkler

from slowwave.matching.answers import AnsweredRows, Decided, Labelled, ScoreCorrection
from slowwave.matching.attributes import CODES, IDENTIFIERS, Column
from slowwave.matching.compare import (
    FIELDS,
    LEVEL,
    TABLES,
    Comparer,
    Comparison,
    ComparisonLevels,
    Traits,
    signs_of,
    traits,
)
from slowwave.matching.names import FORMAL, LONGEST, UNNAMED, fold
from slowwave.matching.options import DedupeEntitiesOptions, MatchSettings
from slowwave.matching.organisations import ModelCodes, Organisations
from slowwave.matching.population import Population
from slowwave.matching.weights import Weights, fit, probability
from slowwave.matching.words import Differences, SignReader, WordInformation
from slowwave.text.names import known_names
from slowwave.text.slips import respelt
from slowwave.text.statements import stem

# The evidence about many pairs, as arrays of one length.

OVERWHELMING: Final = 9.0
"""Log-odds from which on names may differ, or one may state more than the other."""


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The scores of p pairs; every field is (p,).

    - ``name`` codes NAME_LEVELS.
    - ``rarity``: how rare the shared part of the names is, -1 where they do not agree.
    - ``cosine`` is nan without vectors.
    - ``contested``: a strong identifier is in conflict.
    - ``identified``: an identifier is equal.
    - ``owned``: an equal identifier belongs to one entity only, unlike the phone number of a house.
    - ``personal``: such an identifier or a date is equal.
    - ``elsewhere``: the name is common and what distinguishes its entities differs, or it lacks the model code that nearly all names
      of the type have.
    - ``opposed``: attributes differ, and as many as agree.
    - ``supported``: more attributes support a match than oppose it.
    - ``learnt``: the weights of the type are learnt.
    - ``near``: the cosine reaches the threshold of its type.
    - ``far``: there are vectors, and their cosine is below the band.
    - ``corrected``: answers have corrected the odds.
    - ``birth``: 0 if two dates of birth have no part in common, 1 if they have one, -1 if a row states none.
    - ``besides``: nats of what speaks for a match, without the names.
    - ``unborn``: the log-odds without those of the dates of birth.
    """

    odds: Reals
    probability: Reals
    cosine: Reals
    name: NDArray[np.int8]
    rarity: NDArray[np.int8]
    contested: Flags
    identified: Flags
    owned: Flags
    personal: Flags
    elsewhere: Flags
    opposed: Flags
    supported: Flags
    learnt: Flags
    near: Flags
    far: Flags
    corrected: Flags
    birth: NDArray[np.int8]
    besides: Reals
    unborn: Reals

    def take(self, at: Ints | Flags) -> Scores:
        """Return the scores of some of the pairs."""
        return Scores(*(getattr(self, f.name)[at] for f in fields(self)))

    @classmethod
    def join(cls, parts: Sequence[Scores]) -> Scores:
        """Join the scores of several sets of pairs."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))


# Evidence from attributes in addition to their weight: whether an identifier is in conflict or equal, and how many attributes support or
# contradict a pair.
#
# The same comparisons are weighed below; ``slowwave.matching.vetoes`` decides what forbids a merge.

HEARD: Final = 0.25
"""Nats from which on an attribute supports a match, or a distinguishing attribute contradicts it."""

_AGAINST: Final = float(
    np.log(2)
)  # nats from which on a descriptive attribute contradicts: it differs half as often in matches
_RELIABLE: Final = 0.02  # maximum share of matches that differ in a strong identifier


def identifiers(columns: Sequence[Column], weights: Weights, levels: NDArray[np.int8]) -> tuple[Flags, Flags]:
    """Return whether a strong identifier is in conflict, and whether an identifier is equal; ``levels`` (p, columns).

    Once weights have been learnt for a type, a slip of the pen is no conflict.
    """
    contested, identified = (np.zeros(len(levels), bool) for _ in range(2))
    for k, column in enumerate(columns):
        if column.shape in IDENTIFIERS:
            identified |= levels[:, k] == len(weights.m[k + FIELDS]) - 1
        if strong(column, weights, k + FIELDS):
            slips = 0 if weights.learnt else len(weights.m[k + FIELDS]) - 2
            contested |= (levels[:, k] >= 0) & (levels[:, k] <= slips)
    return contested, identified


def own_equal(comparer: Comparer, own: Sequence[bool], levels: NDArray[np.int8]) -> Flags:
    """Return whether a column flagged in ``own`` as the holder's own is equal; ``levels`` (p, columns)."""
    tops = [
        levels[:, k] >= len(TABLES[c.shape]) - 1 - (c.shape == "date") for k, c in enumerate(comparer.columns) if own[k]
    ]
    return np.logical_or.reduce([np.zeros(len(levels), bool), *tops])


def opposing(columns: Sequence[Column]) -> Reals:
    """Return the nats from which each column (columns,) opposes a match; less for identifiers and dates, which distinguish."""
    return np.array([HEARD if c.shape in (*IDENTIFIERS, "date") else _AGAINST for c in columns])


def votes(parts: Reals, against: Reals | float) -> tuple[Ints, Ints]:
    """Count the attributes that oppose a match by at least ``against`` nats, and those that support it, (p,) each.

    ``parts`` (p, columns) are the weights of the attributes.
    """
    return (parts <= -against).sum(axis=1), (parts >= HEARD).sum(axis=1)


def strong(column: Column, weights: Weights, k: int) -> bool:
    """Return whether two values of a column mean two entities, because matches hardly ever differ in it.

    The shape of the column decides until weights are learnt. After that the learnt weights decide, so a number that is often mistyped
    forbids nothing.
    """
    if column.key == CODES or (column.serial and column.shape != "email"):  # names have separate vetoes
        return False
    if weights.learnt:
        return column.shape in (*IDENTIFIERS, "date") and float(weights.m[k][0]) <= _RELIABLE
    return column.shape in ("email", "url", "code") or column.is_birth


# Weighed evidence about pairs: log-odds that two rows are the same thing, and the waterfall that explains them.
#
# ``slowwave.matching.compare`` computes how pairs agree, and ``slowwave.matching.weights`` estimates the weight of agreement; this part
# combines both for all types of a population. ``slowwave.matching.vetoes`` decides what forbids a merge at any score.

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Flags = NDArray[np.bool_]
WeightsByType = Mapping[str, Weights]
"""Folded entity type → learnt weights."""

_FEW: Final = 100  # number of pairs below which a type starts from the weights of the others
_FIT: Final = 1_000_000  # maximum number of pairs of a type from which its weights are learnt
_PART: Final = 131_072  # pairs compared at a time
_PLACES: Final = frozenset(("number", "date", "code", "phone"))  # shapes that identify: pages, numbers, days
_TELLING: Final = 0.3  # distinct values per stated value from which on a column distinguishes things of one name
_COMMON: Final = 5  # rows of a type from which on a name may be that of a kind ("Editorial")
_SAID: Final = 0.005  # nats below which a loss is not shown
_THINKABLE: Final = -7.0  # log-odds from which on answers about other pairs count
_CERTAIN: Final = 20.0  # log-odds of an answered pair
_LOSSES: Final = {
    "context": "Two things of one household, company or series would agree as much",
    "unstated": "Pairs that agree in the same and state more are matches less often",
}
_ANSWERS: Final = "What people answered about this pair or pairs like it"
_SHOWN: Final = 80  # maximum length in characters of a value in a waterfall


class Evidence:
    """The comparisons and weights of every entity type of a population."""

    def __init__(
        self,
        population: Population,
        settings: MatchSettings,
        model: WeightsByType,
        comparers: Mapping[int, Comparer],
        answered: AnsweredRows | None = None,
        decided: Decided | None = None,
        looked_at: tuple[Ints, Ints] | None = None,
        *,
        organisations: Organisations,
    ) -> None:
        self._population = population
        self._settings = settings
        self._comparers = comparers
        self._answered, self._decided = answered, decided
        self._looked_at = looked_at or (np.zeros(0, np.int64), np.zeros(0, np.int64))
        self._differences: dict[int, Differences] = {}  # computed on first use, which needs answers
        self._readers: dict[int, SignReader] = {}
        self._organisations = organisations
        self.model = model

    @classmethod
    def learn(
        cls,
        population: Population,
        settings: MatchSettings,
        i: Ints,
        j: Ints,
        *,
        labelled: Labelled | None = None,
        model: WeightsByType | None = None,
        teach: Flags | None = None,
    ) -> Evidence:
        """Learn the weights of each type from its candidate pairs; a type in ``model`` keeps the given weights.

        A type with fewer than 100 pairs starts from what the others have learnt together. ``teach`` (p,) flags the pairs to learn from,
        all by default: in pairs that only an equal value has brought together, every stranger agrees in that very column.
        """
        words = WordInformation.from_texts(population.names.folded)
        kinds = np.unique(population.kind[i]).tolist()
        read = ModelCodes.from_population(population), Organisations.from_population(population)
        comparers = {kind: Comparer(population, kind, words, read) for kind in kinds}
        given, known = model or {}, Decided.from_labelled(labelled, population)
        learnt: dict[str, Weights] = {}
        small: list[int] = []
        for kind in kinds:
            name = population.type_name(kind)
            if name in given:
                learnt[name] = given[name].aligned(comparers[kind].comparisons)
                continue
            at = np.flatnonzero(population.kind[i] == kind)
            if len(at) < _FEW:
                small.append(kind)
                continue
            if teach is not None:
                at = at[teach[at]]
            at = at[:: -(-len(at) // _FIT)]
            levels = _levels(comparers[kind], i[at], j[at])
            learnt[name] = fit(comparers[kind].comparisons, levels, **known.teaches(name, comparers[kind]))
        pooled = _pooled(learnt.values())
        for kind in small:
            at = np.flatnonzero(population.kind[i] == kind)
            comparisons = tuple(_started(c, pooled) for c in comparers[kind].comparisons)
            levels = comparers[kind].compare(i[at], j[at]).levels
            name = population.type_name(kind)
            learnt[name] = fit(comparisons, levels, **known.teaches(name, comparers[kind]))
        return cls(population, settings, learnt, comparers, decided=known, organisations=read[1])

    def score(self, i: Ints, j: Ints) -> Scores:
        """Weigh pairs of rows (p,) of one type each."""
        population, settings = self._population, self._settings
        odds, cosine = np.zeros(len(i)), np.full(len(i), np.nan)
        name = np.zeros(len(i), np.int8)
        rarity = np.full(len(i), -1, np.int8)
        contested, identified, owned, personal, elsewhere, opposed, supported, learnt, corrected = (
            np.zeros(len(i), bool) for _ in range(9)
        )
        threshold, besides, dated = (np.zeros(len(i)) for _ in range(3))
        birth = np.full(len(i), -1, np.int8)
        for kind, at in _by_kind(population.kind[i]):
            comparer, weights = self._comparers[kind], self._weights(kind)
            compared = comparer.compare(i[at], j[at])
            odds[at] = weights.odds(compared.levels, compared.rarity)
            fields = slice(FIELDS, FIELDS + len(comparer.columns))
            voices = weights.parts(compared.levels, np.zeros(compared.levels.shape))[:, fields]
            against, for_ = votes(voices, opposing(comparer.columns))
            parts = weights.parts(compared.levels, compared.rarity)[:, FIELDS:]
            births = [k for k, c in enumerate(comparer.columns) if c.is_birth]
            birth[at], besides[at] = comparer.births(i[at], j[at]), np.maximum(parts, 0).sum(axis=1)
            dated[at] = parts[:, births].sum(axis=1)
            places = [k for k, c in enumerate(comparer.columns) if c.shape in _PLACES and c.distinct >= _TELLING]
            not_here, here = votes(voices[:, places], HEARD)
            elsewhere[at] = (comparer.holders(i[at]) >= _COMMON) & (not_here > 0) & (here == 0)
            for k in np.flatnonzero(comparer.modelled).tolist():  # a name without a model denotes a kind
                elsewhere[at] |= (compared.levels[:, FIELDS + k] < 0) & (compared.levels[:, 0] != LEVEL["alias"])
            opposed[at], supported[at] = (against > 0) & (against >= for_), for_ > against
            cosine[at], name[at] = compared.cosine, compared.levels[:, 0]
            flags = identifiers(comparer.columns, weights, compared.levels[:, FIELDS:])
            contested[at], identified[at] = flags
            owned[at] = own_equal(comparer, comparer.own, compared.levels[:, FIELDS:])
            personal[at] = own_equal(comparer, comparer.personal, compared.levels[:, FIELDS:])
            learnt[at], rarity[at] = weights.learnt, compared.levels[:, 1]
            threshold[at] = self._cosine(kind)
            if weights.calibration is not None:
                some = np.flatnonzero(odds[at] >= _THINKABLE)
                found = self._traits(kind, i[at[some]], j[at[some]], compared.take(some), odds[at[some]])
                odds[at[some]] = weights.calibration.odds(odds[at[some]], found)
                corrected[at] = True
        self._say(i, j, odds)
        return Scores(
            odds=odds,
            probability=probability(odds),
            cosine=cosine,
            name=name,
            rarity=rarity,
            contested=contested,
            identified=identified,
            owned=owned,
            personal=personal,
            elsewhere=elsewhere,
            opposed=opposed,
            supported=supported,
            learnt=learnt,
            near=np.nan_to_num(cosine, nan=-1) >= threshold,
            far=cosine < settings.options("dedupe_entities", DedupeEntitiesOptions).verifier_band_low,
            corrected=corrected,
            birth=birth,
            besides=besides,
            unborn=odds - dated,
        )

    def traits(self, i: Ints, j: Ints, least: float = -np.inf) -> Iterable[tuple[str, Ints, Reals, Traits]]:
        """Yield for each folded type the positions of its pairs among the p pairs, their uncorrected scores and traits.

        Only pairs with a score of at least ``least`` are included.
        """
        for kind, at in _by_kind(self._population.kind[i]):
            compared = self._comparers[kind].compare(i[at], j[at])
            raw = self._weights(kind).odds(compared.levels, compared.rarity)
            some = np.flatnonzero(raw >= least)
            at, raw = at[some], raw[some]
            yield self._population.type_name(kind), at, raw, self._traits(kind, i[at], j[at], compared.take(some), raw)

    @property
    def was_asked(self) -> bool:
        """Return whether a person decided doubtful pairs on earlier nights."""
        return self._decided is not None and any(asked.any() for *_, asked in self._decided.pairs.values())

    def decided(self) -> Iterable[tuple[str, Reals, Traits, Flags]]:
        """Yield for each folded type the scores, traits and answers of the decided pairs that people were asked about."""
        for kind, comparer in self._comparers.items():
            name = self._population.type_name(kind)
            found = self._decided and self._decided.asked(name, comparer, self.differences(kind))
            if found:
                compared, letters, signs, same = found
                raw = self._weights(kind).odds(compared.levels, compared.rarity)
                yield name, raw, self._stated(kind, compared, raw, letters, signs), same

    def corrected(self, calibrations: Mapping[str, ScoreCorrection], answered: AnsweredRows) -> Evidence:
        """Return the same evidence with odds corrected by type, and with answered pairs as certain as their answers."""
        model = {name: replace(w, calibration=calibrations.get(name, w.calibration)) for name, w in self.model.items()}
        found = Evidence(
            *(self._population, self._settings, model, self._comparers, answered, self._decided, self._looked_at),
            organisations=self._organisations,
        )
        found._differences = self._differences
        return found

    @property
    def kinds(self) -> Iterable[int]:
        """Return the codes of the types that have pairs."""
        return self._comparers.keys()

    def wording(self, i: Ints, j: Ints) -> Reals:
        """Return the similarity of the letters of whole rows (p,), from 0 to 1."""
        found = np.zeros(len(i))
        for kind, at in _by_kind(self._population.kind[i]):
            found[at] = self._comparers[kind].wordings(i[at], j[at])
        return found

    def contested(self, i: Ints, j: Ints) -> Flags:
        """Flag the pairs (p,) with a conflict in a strong identifier and no equal identifier."""
        found = np.zeros(len(i), bool)
        for kind, at in _by_kind(self._population.kind[i]):
            columns = self._comparers[kind].columns
            if any(strong(c, self._weights(kind), k) for k, c in enumerate(columns, FIELDS)):
                levels = self._comparers[kind].attributes(i[at], j[at])
                conflict, equal = identifiers(columns, self._weights(kind), levels)
                found[at] = conflict & ~equal
        return found

    def parted(self, i: Ints, j: Ints) -> Flags:
        """Return which pairs (p,) are an institution and its campus or branch by their names."""
        return self._organisations.parted(i, j)

    def waterfalls(self, i: Ints, j: Ints) -> list[tuple[dict[str, object], ...]]:
        """Return the weights of pairs for display: the prior first, then each piece of evidence.

        The weights of a pair add up to its log-odds.
        """
        found: list[tuple[dict[str, object], ...]] = [()] * len(i)
        for kind, at in _by_kind(self._population.kind[i]):
            comparer, weights = self._comparers[kind], self._weights(kind)
            compared = comparer.compare(i[at], j[at])
            parts = weights.parts(compared.levels, compared.rarity)
            losses = np.column_stack([weights.shared_context(compared.levels), weights.unstated(compared.levels)])
            answers = self.score(i[at], j[at]).odds - weights.odds(compared.levels, compared.rarity)
            for p, k in enumerate(at.tolist()):
                steps = self._steps(comparer, weights, compared, parts, p, int(i[k]), int(j[k]))
                found[k] = (*steps, *_lost(losses[p].tolist()), *_answers_step(float(answers[p])))
        return found

    def _traits(self, kind: int, i: Ints, j: Ints, compared: ComparisonLevels, raw: Reals) -> Traits:
        letters = self._comparers[kind].wordings(i, j)
        signs = self._signs(kind).values(i, j)
        return self._stated(kind, compared, raw, letters, signs)

    def looking_at(self, i: Ints, j: Ints) -> Evidence:
        """Return the same evidence with these pairs (p,) as the source of differing words, unless pairs were given before."""
        if len(self._looked_at[0]):
            return self
        return Evidence(
            *(self._population, self._settings, self.model, self._comparers, self._answered, self._decided, (i, j)),
            organisations=self._organisations,
        )

    def differences(self, kind: int) -> Differences:
        """Return the signs of differing words for a type: the learnt ones, or the commonest in the pairs of ``looking_at``."""
        learnt = self._weights(kind).calibration
        if learnt is not None:
            return Differences(signs_of(learnt.names))
        if kind not in self._differences:
            i, j = self._looked_at
            at = np.flatnonzero(self._population.kind[i] == kind)
            self._differences[kind] = Differences.from_pairs(self._comparers[kind].words, i[at], j[at])
        return self._differences[kind]

    def _signs(self, kind: int) -> SignReader:
        """Return the reader that finds the signs of a type in the names of the population."""
        if kind not in self._readers:
            self._readers[kind] = self.differences(kind).reader(self._comparers[kind].words)
        return self._readers[kind]

    def _stated(self, kind: int, compared: ComparisonLevels, raw: Reals, letters: Reals, signs: Reals) -> Traits:
        weights, columns = self._weights(kind), self._comparers[kind].columns
        fields = slice(FIELDS, FIELDS + len(columns))
        voices = weights.parts(compared.levels, np.zeros(compared.levels.shape))[:, fields]
        against, for_ = votes(voices, opposing(columns))
        name, cosine = compared.levels[:, 0], compared.cosine
        named = (name >= LEVEL["initials"]) | (name == LEVEL["alike"]) | (raw >= OVERWHELMING)
        opposed = (against > 0) & (against >= for_) & ~(np.nan_to_num(cosine, nan=-1) >= self._cosine(kind))
        far = cosine < self._settings.options("dedupe_entities", DedupeEntitiesOptions).verifier_band_low
        losses = weights.shared_context(compared.levels) + weights.unstated(compared.levels)
        return traits(
            weights.comparisons,
            raw,
            weights.parts(compared.levels, compared.rarity),
            losses,
            (~named, opposed | far, np.full(len(raw), not weights.learnt)),
            letters,
            (self.differences(kind).signs, signs),
        )

    def _say(self, i: Ints, j: Ints, odds: Reals) -> None:
        """Replace the odds of answered pairs by their answers."""
        if self._answered is not None and len(self._answered.i):
            at = self._answered.of_pairs(i, j)
            answered_pairs = np.flatnonzero((at >= 0) & self._answered.sure[at])
            odds[answered_pairs] = np.where(self._answered.same[at[answered_pairs]], _CERTAIN, -_CERTAIN)

    def _weights(self, kind: int) -> Weights:
        return self.model[self._population.type_name(kind)]

    def _cosine(self, kind: int) -> float:
        """Return the cosine that a merge of this type needs, for any spelling of the type name."""
        given, name = self._settings, self._population.type_name(kind)
        options = given.options("dedupe_entities", DedupeEntitiesOptions)
        own = [t for spelling, t in options.per_type_thresholds.items() if fold(spelling) == name]
        return max(own, default=options.default_threshold)

    def _steps(
        self, comparer: Comparer, weights: Weights, compared: ComparisonLevels, parts: Reals, p: int, i: int, j: int
    ) -> Iterable[dict[str, object]]:
        one_in = 1 + np.exp(-weights.prior)
        yield {
            "evidence": "prior",
            "weight": round(weights.prior, 3),
            "detail": f"Of the pairs that were looked at, about one in {one_in:.3g} is a match",
        }
        values = comparer.values(i, j)
        for k, comparison in enumerate(weights.comparisons):
            level = int(compared.levels[p, k])
            if level < 0:
                continue
            step: dict[str, object] = {
                "evidence": comparison.name,
                "weight": round(float(parts[p, k]), 3),
                "detail": comparison.levels[level],
            }
            if comparison.shape == "name":
                step["level"] = list(LEVEL)[level]
            if comparison.shape == "cosine":
                step["value"] = round(float(compared.cosine[p]), 4)
            elif comparison.name in values and comparison.shape in TABLES:
                step["value"] = " | ".join(v[:_SHOWN] for v in values[comparison.name])
            yield step


def _lost(losses: Sequence[float]) -> Iterable[dict[str, object]]:
    """Yield the waterfall steps for what the log-odds lose in addition to the comparisons."""
    for (evidence, detail), loss in zip(_LOSSES.items(), losses, strict=True):
        if loss < -_SAID:
            yield {"evidence": evidence, "weight": round(loss, 3), "detail": detail}


def _answers_step(weight: float) -> Iterable[dict[str, object]]:
    """Yield the waterfall step for answers about the pair or about similar pairs."""
    if abs(weight) >= _SAID:
        yield {"evidence": "answers", "weight": round(weight, 3), "detail": _ANSWERS}


def _levels(comparer: Comparer, i: Ints, j: Ints) -> NDArray[np.int8]:
    """Return the levels of many pairs (p, c), computed in parts: only the levels are kept, one byte each."""
    starts = range(0, len(i), _PART)
    return np.concatenate([comparer.compare(i[s : s + _PART], j[s : s + _PART]).levels for s in starts])


def _by_kind(kinds: Ints) -> Iterable[tuple[int, Ints]]:
    """Yield each type code with the positions of its pairs."""
    order = np.argsort(kinds, kind="stable")
    for at in np.split(order, np.flatnonzero(np.diff(kinds[order])) + 1):
        if len(at):
            yield int(kinds[at[0]]), at


def _started(comparison: Comparison, pooled: Mapping[str, tuple[Reals, Reals]]) -> Comparison:
    """Return the comparison with the m and u learnt from other types in place of the values set by hand."""
    m, u = pooled.get(comparison.shape, (comparison.m, comparison.u))
    return replace(comparison, m=m, u=u)


def _pooled(learnt: Iterable[Weights]) -> Mapping[str, tuple[Reals, Reals]]:
    """Return the mean m and u of each shape of comparison over the types that learnt them, weighted by their matches."""
    sums: dict[str, tuple[Reals, Reals, float]] = {}
    for weights in learnt:
        if not weights.learnt:
            continue
        for comparison, m, u in zip(weights.comparisons, weights.m, weights.u, strict=True):
            a, b, total = sums.get(comparison.shape, (np.zeros(len(m)), np.zeros(len(m)), 0.0))
            sums[comparison.shape] = a + m * weights.matches, b + u * weights.matches, total + weights.matches
    return {shape: (a / total, b / total) for shape, (a, b, total) in sums.items()}


# Different names: each has a word that the other lacks in any form.
#
# City, employer, household and colleagues agree for all who share them, so they are never enough to merge two such names
# (``slowwave.matching.match``). A word counts as present in the other name if it occurs there, or its initial, a short form, a slip,
# another spelling, its beginning, or the same letters with different word boundaries. Two words that differ by a slip are different names
# if both are common here, both are given names, or one is the other's feminine form ("Tim", "Tom"; "Erik", "Erika").

_GIVEN: Final = frozenset(FORMAL) | {name for names in FORMAL.values() for name in names}
_ONE: Final = -1
_PERSONS: Final = (
    0.5  # share of a type's rows whose names begin with a given name from which on it is a type of persons
)
_KNOWN: Final = 3  # number of different names from which on a word is known
_SLIPS: Final = 0.02  # maximum share of a common word's names with one slip of it
_LOOKED: Final = 1_000_000  # pairs of names up to which each is parsed only once
_WORDS: Final = 5  # maximum number of words of a name; in longer titles a single word is weak evidence
_BEGINNING: Final = 3  # leading letters that may abbreviate a word
_ALIKE: Final = 0.65  # share of equal letters
_SOUNDS: Final = 0.85  # Jaro-Winkler similarity


@dataclass(frozen=True, slots=True, eq=False)
class OtherNames:
    """Folded names of n rows with their codes.

    ``held`` counts the distinct names that hold each word. ``person`` (n,) flags the rows of a type of persons: a type in which most
    names begin with a given name.
    """

    folded: NDArray[np.object_]
    code: Ints
    held: Mapping[str, int]
    person: Flags
    looked: dict[int, int]

    @classmethod
    def from_population(cls, population: Population) -> OtherNames:
        """Count the words of the names.

        Time grows with the distinct names, about 1 µs each.
        """
        folded = population.names.folded
        held = Counter(word for name in set(folded.tolist()) for word in set(name.split()))
        given = _GIVEN | known_names().given
        known = {
            name: next((w for w in name.split() if w not in UNNAMED), "") in given for name in set(folded.tolist())
        }
        begins = np.array([known[name] for name in folded.tolist()], bool)
        rows = np.maximum(np.bincount(population.kind, minlength=1), 1)
        share = np.bincount(population.kind, begins, len(rows)) / rows
        return cls(folded, population.names.plain, held, (share >= _PERSONS)[population.kind], {})

    def apart(self, i: Ints, j: Ints, *, known: bool = False) -> Flags:
        """Return whether the names of pairs (p,) are two different names; prose is not compared.

        Each distinct pair of names is read once, in 5 to 15 µs. With ``known``, only pairs count whose left-over words are known names,
        so that neither word can be a slip.
        """
        return self._looks(i, j) > known

    def _looks(self, i: Ints, j: Ints) -> NDArray[np.int8]:
        a, b = self.code[i], self.code[j]
        asked = np.flatnonzero((a != b) & (a >= 0) & (b >= 0))
        keys = np.minimum(a, b)[asked] * (int(self.code.max(initial=0)) + 1) + np.maximum(a, b)[asked]
        distinct, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        rows = zip(distinct.tolist(), i[asked[first]].tolist(), j[asked[first]].tolist(), strict=True)
        found = np.zeros(len(i), np.int8)
        found[asked] = np.array([self._look(*row) for row in rows], np.int8)[inverse]
        return found

    def compatible(self, i: Ints, j: Ints) -> Flags:
        """Flag pairs (p,) of short names of two or more words of which one has every word of the other, in some form."""
        return self._looks(i, j) == _ONE

    def outvoted(self, i: Ints, j: Ints, scores: Scores) -> Flags:
        """Flag pairs (p,) that are two names and share no identifier of their own.

        Only attributes that a group shares could make them one.
        """
        asked = np.flatnonzero((scores.name <= LEVEL["spelling"]) & ~scores.owned)
        found = np.zeros(len(i), bool)
        found[asked] = self.apart(i[asked], j[asked])
        return found

    def _look(self, key: int, i: int, j: int) -> int:
        if key not in self.looked:
            if len(self.looked) >= _LOOKED:
                self.looked.clear()
            a, b = str(self.folded[i]), str(self.folded[j])
            self.looked[key] = self._two(a, b) if len(a) <= LONGEST >= len(b) else 0
        return self.looked[key]

    def _two(self, a: str, b: str) -> int:
        """Return 1 if words are left over on both sides, 2 if these are known names, ``_ONE`` if on one side at most."""
        one, two = (Counter(w for w in name.split() if w not in UNNAMED) for name in (a, b))
        if max(one.total(), two.total()) > _WORDS:
            return 0
        mine, theirs = self.left_over(one, two)
        if not mine or not theirs:
            return _ONE if min(one.total(), two.total()) > 1 else 0
        return 2 if all(w in _GIVEN or self.held.get(w, 0) >= _KNOWN for w in (*mine, *theirs)) else 1

    def left_over(self, one: Counter[str], two: Counter[str]) -> tuple[list[str], list[str]]:
        """Return the words of each of two names that the other name has in no form."""
        mine, theirs = list((one - two).elements()), list((two - one).elements())
        for left, right in ((mine, theirs), (theirs, mine)):
            for letter in [w for w in left if len(w) == 1]:
                if (whole := next((w for w in right if w[0] == letter), None)) is not None:
                    left.remove(letter)
                    right.remove(whole)
        if mine and theirs and len(mine) != len(theirs) and _near("".join(mine), "".join(theirs)):
            return [], []
        for word in list(mine):
            if (other := next((w for w in theirs if self._same(word, w)), None)) is not None:
                mine.remove(word)
                theirs.remove(other)
        return mine, theirs

    def _same(self, a: str, b: str) -> bool:
        """Return whether two different words may be forms of one word."""
        if {a, *FORMAL.get(a, ())} & {b, *FORMAL.get(b, ())} or respelt(a, b) or stem(a) == stem(b):
            return True
        begins = min(len(a), len(b)) >= _BEGINNING and (a.startswith(b) or b.startswith(a))
        return (begins or _near(a, b)) and not self._rivals(a, b)

    def _rivals(self, a: str, b: str) -> bool:
        """Return whether two nearly equal words are nevertheless two names."""
        fewer, more = sorted((self.held.get(a, 0), self.held.get(b, 0)))
        common = fewer >= _COMMON and fewer >= _SLIPS * more
        return common or (a in _GIVEN and b in _GIVEN) or a + "a" == b or b + "a" == a


def _near(a: str, b: str) -> bool:
    return OSA.normalized_similarity(a, b) >= _ALIKE or (
        min(len(a), len(b)) >= _BEGINNING and JaroWinkler.similarity(a, b) >= _SOUNDS
    )
