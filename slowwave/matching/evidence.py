"""What is known about pairs, weighed: log-odds that two rows are the same thing, and the waterfall that explains them.

How pairs agree is computed by ``slowwave.matching.comparisons``, what that is worth is estimated by ``slowwave.matching.weights``; here
both meet for all types of a population. What forbids a merge whatever the score belongs to ``slowwave.matching.vetoes``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from slowwave.matching.answers import AnsweredRows
from slowwave.matching.attribute_votes import HEARD, identifiers, opposing, own_equal, strong, votes
from slowwave.matching.calibration import ScoreCorrection
from slowwave.matching.comparisons import FIELDS, TABLES, Comparer, Comparison, ComparisonLevels
from slowwave.matching.decided import Decided, Labelled
from slowwave.matching.differences import Differences, SignReader
from slowwave.matching.model_codes import ModelCodes
from slowwave.matching.name_levels import LEVEL
from slowwave.matching.names import fold
from slowwave.matching.options import MatchSettings
from slowwave.matching.organisations import Organisations
from slowwave.matching.population import Population
from slowwave.matching.scores import OVERWHELMING, Scores
from slowwave.matching.traits import Traits, signs_of, traits
from slowwave.matching.weights import Weights, fit, probability
from slowwave.matching.words import WordInformation

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Flags = NDArray[np.bool_]
WeightsByType = Mapping[str, Weights]
"""Folded entity type → what was learnt for it."""

_FEW: Final = 100  # pairs under which a type starts from what the others have learnt
_FIT: Final = 1_000_000  # pairs of a type that are looked at to learn its weights
_PART: Final = 131_072  # of them compared at a time
_PLACES: Final = frozenset(("number", "date", "code", "phone"))  # shapes that say which: pages, numbers, days
_TELLING: Final = 0.3  # distinct values for each that is stated, from which a column tells things of one name apart
_COMMON: Final = 5  # rows of a type from which a name may be that of a kind ("Editorial")
_SAID: Final = 0.005  # nats under which a loss is not shown
_THINKABLE: Final = -7.0  # log-odds from which answers about other pairs are heard
_CERTAIN: Final = 20.0  # log-odds of a pair that was answered
_LOSSES: Final = {
    "context": "Two things of one household, company or series would agree as much",
    "unstated": "Pairs that agree in the same and state more are matches less often",
}
_ANSWERS: Final = "What people answered about this pair or pairs like it"
_SHOWN: Final = 80  # letters of a value in a waterfall


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
        self._differences: dict[int, Differences] = {}  # made when asked for: nobody asks before there are answers
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
        """Learn the weights of each type from its candidate pairs; a type in ``model`` keeps those given.

        A type with fewer than 100 pairs starts from what the others have learnt together. ``teach`` (p,) are the pairs to learn from, all
        unless given: of pairs that only an equal value has brought together every stranger agrees in that very column.
        """
        words = WordInformation.of(population.names.folded)
        kinds = np.unique(population.kind[i]).tolist()
        read = ModelCodes.of(population), Organisations.of(population)
        comparers = {kind: Comparer(population, kind, words, read) for kind in kinds}
        given, known = model or {}, Decided.of(labelled, population)
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
        threshold = np.zeros(len(i))
        for kind, at in _by_kind(population.kind[i]):
            comparer, weights = self._comparers[kind], self._weights(kind)
            compared = comparer.compare(i[at], j[at])
            odds[at] = weights.odds(compared.levels, compared.rarity)
            fields = slice(FIELDS, FIELDS + len(comparer.columns))
            voices = weights.parts(compared.levels, np.zeros(compared.levels.shape))[:, fields]
            against, for_ = votes(voices, opposing(comparer.columns))
            places = [k for k, c in enumerate(comparer.columns) if c.shape in _PLACES and c.distinct >= _TELLING]
            not_here, here = votes(voices[:, places], HEARD)
            elsewhere[at] = (comparer.holders(i[at]) >= _COMMON) & (not_here > 0) & (here == 0)
            for k in np.flatnonzero(comparer.modelled).tolist():  # a name without a model is that of a kind
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
            far=cosine < settings.operations.dedupe_entities.verifier_band_low,
            corrected=corrected,
        )

    def traits(self, i: Ints, j: Ints, least: float = -np.inf) -> Iterable[tuple[str, Ints, Reals, Traits]]:
        """By folded type: where its pairs stand among the p pairs, their scores before any correction, and their traits; only of pairs
        with scores from ``least``."""
        for kind, at in _by_kind(self._population.kind[i]):
            compared = self._comparers[kind].compare(i[at], j[at])
            raw = self._weights(kind).odds(compared.levels, compared.rarity)
            some = np.flatnonzero(raw >= least)
            at, raw = at[some], raw[some]
            yield self._population.type_name(kind), at, raw, self._traits(kind, i[at], j[at], compared.take(some), raw)

    @property
    def was_asked(self) -> bool:
        """Whether a person has decided doubtful pairs on earlier nights."""
        return self._decided is not None and any(asked.any() for *_, asked in self._decided.pairs.values())

    def decided(self) -> Iterable[tuple[str, Reals, Traits, Flags]]:
        """By folded type: scores, traits and whether they are the same, of the decided pairs that people were asked about."""
        for kind, comparer in self._comparers.items():
            name = self._population.type_name(kind)
            found = self._decided and self._decided.asked(name, comparer, self.differences(kind))
            if found:
                compared, letters, signs, same = found
                raw = self._weights(kind).odds(compared.levels, compared.rarity)
                yield name, raw, self._stated(kind, compared, raw, letters, signs), same

    def corrected(self, calibrations: Mapping[str, ScoreCorrection], answered: AnsweredRows) -> Evidence:
        """The same evidence, its odds corrected by type, and answered pairs as certain as they were answered."""
        model = {name: replace(w, calibration=calibrations.get(name, w.calibration)) for name, w in self.model.items()}
        found = Evidence(
            *(self._population, self._settings, model, self._comparers, answered, self._decided, self._looked_at),
            organisations=self._organisations,
        )
        found._differences = self._differences
        return found

    @property
    def kinds(self) -> Iterable[int]:
        """Codes of the types that have pairs."""
        return self._comparers.keys()

    def wording(self, i: Ints, j: Ints) -> Reals:
        """How alike the letters of whole rows are (p,), from 0 to 1."""
        found = np.zeros(len(i))
        for kind, at in _by_kind(self._population.kind[i]):
            found[at] = self._comparers[kind].wordings(i[at], j[at])
        return found

    def contested(self, i: Ints, j: Ints) -> Flags:
        """Which pairs (p,) are in conflict in a strong identifier while none is equal."""
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
        """The weights of pairs as a person reads them: prior first, then whatever spoke; they add up to the log-odds."""
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
        """The same evidence, where words that differ are looked for among these pairs (p,), unless some were named before."""
        if len(self._looked_at[0]):
            return self
        return Evidence(
            *(self._population, self._settings, self.model, self._comparers, self._answered, self._decided, (i, j)),
            organisations=self._organisations,
        )

    def differences(self, kind: int) -> Differences:
        """The signs of differing words that count for a type: those that were learnt, else the commonest of ``looking_at``."""
        learnt = self._weights(kind).calibration
        if learnt is not None:
            return Differences(signs_of(learnt.names))
        if kind not in self._differences:
            i, j = self._looked_at
            at = np.flatnonzero(self._population.kind[i] == kind)
            self._differences[kind] = Differences.of(self._comparers[kind].words, i[at], j[at])
        return self._differences[kind]

    def _signs(self, kind: int) -> SignReader:
        """What reads the signs of a type in the names at hand."""
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
        far = cosine < self._settings.operations.dedupe_entities.verifier_band_low
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
        """Put what was answered of the pairs themselves in place of their odds."""
        if self._answered is not None and len(self._answered.i):
            at = self._answered.of_pairs(i, j)
            said = np.flatnonzero((at >= 0) & self._answered.sure[at])
            odds[said] = np.where(self._answered.same[at[said]], _CERTAIN, -_CERTAIN)

    def _weights(self, kind: int) -> Weights:
        return self.model[self._population.type_name(kind)]

    def _cosine(self, kind: int) -> float:
        """The cosine that a merge of this type needs, however its name is spelled."""
        given, name = self._settings, self._population.type_name(kind)
        own = [
            t for spelling, t in given.operations.dedupe_entities.per_type_thresholds.items() if fold(spelling) == name
        ]
        return max(own, default=given.operations.dedupe_entities.default_threshold)

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
    """Steps for what the log-odds lose beside the comparisons."""
    for (evidence, detail), loss in zip(_LOSSES.items(), losses, strict=True):
        if loss < -_SAID:
            yield {"evidence": evidence, "weight": round(loss, 3), "detail": detail}


def _answers_step(weight: float) -> Iterable[dict[str, object]]:
    """A step for what answers say, of the pair or of others like it."""
    if abs(weight) >= _SAID:
        yield {"evidence": "answers", "weight": round(weight, 3), "detail": _ANSWERS}


def _levels(comparer: Comparer, i: Ints, j: Ints) -> NDArray[np.int8]:
    """Levels of many pairs (p, c), a part at a time: only these are kept, a byte each."""
    starts = range(0, len(i), _PART)
    return np.concatenate([comparer.compare(i[s : s + _PART], j[s : s + _PART]).levels for s in starts])


def _by_kind(kinds: Ints) -> Iterable[tuple[int, Ints]]:
    """Each type code with the positions of its pairs."""
    order = np.argsort(kinds, kind="stable")
    for at in np.split(order, np.flatnonzero(np.diff(kinds[order])) + 1):
        if len(at):
            yield int(kinds[at[0]]), at


def _started(comparison: Comparison, pooled: Mapping[str, tuple[Reals, Reals]]) -> Comparison:
    """The comparison with what other types have learnt in place of the table set by hand."""
    m, u = pooled.get(comparison.shape, (comparison.m, comparison.u))
    return replace(comparison, m=m, u=u)


def _pooled(learnt: Iterable[Weights]) -> Mapping[str, tuple[Reals, Reals]]:
    """Shape of a comparison → mean m and u over the types that learnt them, weighed by the matches behind them."""
    sums: dict[str, tuple[Reals, Reals, float]] = {}
    for weights in learnt:
        if not weights.learnt:
            continue
        for comparison, m, u in zip(weights.comparisons, weights.m, weights.u, strict=True):
            a, b, total = sums.get(comparison.shape, (np.zeros(len(m)), np.zeros(len(m)), 0.0))
            sums[comparison.shape] = a + m * weights.matches, b + u * weights.matches, total + weights.matches
    return {shape: (a / total, b / total) for shape, (a, b, total) in sums.items()}
