"""Decisions about which rows are the same: candidates, weights, vetoes and clusters become merges, questions or nothing.

Over 900 lines: the vetoes, the rules that ask and the clusters decide about the same scores of one pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slowwave.matching import candidates, clusters
from slowwave.matching.answers import AnsweredRows, Answers, Labelled, ScoreCorrection, calibrate
from slowwave.matching.attributes import Column
from slowwave.matching.clusters import Grouping, Says, Within, whole
from slowwave.matching.compare import FIELDS, LEVEL, NAME_LEVELS, RARE, UNMISTAKABLE, Traits
from slowwave.matching.evidence import OVERWHELMING, Evidence, OtherNames, Scores, WeightsByType
from slowwave.matching.identity import NEAR, SAME, Identity
from slowwave.matching.options import DedupeEntitiesOptions, MatchSettings, RecomputeCentroidsOptions
from slowwave.matching.population import Population
from slowwave.matching.review import (
    ENOUGH,
    FORESTS,
    REVIEW,
    Doubts,
    Judged,
    Question,
    QuestionPool,
    ReviewPair,
    forests,
    has_equal_identifier,
    is_under_threshold,
    next_questions,
    steps,
)
from slowwave.matching.tiles import Run, in_threads
from slowwave.matching.vectors import cosines
from slowwave.matching.vetoes import Variants, Vetoes
from slowwave.matching.weights import probability

# The probability from which on pairs of a type merge: either as high as the expected precision requires, or where the expected F1 is best.
#
# Both depend on the probabilities alone, so they are as good as their calibration.

Aim = Literal["precision", "f1"]
"""The aim of merges: precision as the settings require, or the best balance of precision and recall."""

FLOOR: Final = 0.9
"""Minimum probability of a merge with the aim "precision"."""


def find_thresholds(aim: Aim, kinds: Ints, probabilities: Reals, may: Flags, precision: float) -> Reals:
    """Return the threshold of each type code.

    ``kinds``, ``probabilities`` and ``may`` (p,) belong to the pairs that are worth a review.
    """
    return of_f1(kinds, probabilities, may) if aim == "f1" else of_precision(kinds, probabilities, may, precision)


def of_precision(kinds: Ints, probabilities: Reals, may: Flags, precision: float) -> Reals:
    """Return for each type code the lowest probability at which its pairs that may merge have a mean of ``precision``."""
    found = np.full(int(kinds.max(initial=0)) + 1, FLOOR)
    for kind in np.unique(kinds).tolist():
        p = np.sort(probabilities[(kinds == kind) & may])[::-1]
        enough = np.flatnonzero(np.cumsum(p) >= precision * np.arange(1, len(p) + 1) - 1e-12)
        found[kind] = max(FLOOR, float(p[enough[-1]]) if len(enough) else 1.0)
    return found


def of_f1(kinds: Ints, probabilities: Reals, may: Flags) -> Reals:
    """Return for each type code the probability that maximises 2 · right / (merged + matches), all three expected values."""
    found = np.full(int(kinds.max(initial=0)) + 1, FLOOR)
    for kind in np.unique(kinds).tolist():
        p = np.sort(probabilities[(kinds == kind) & may])[::-1]
        matches = float(probabilities[kinds == kind].sum())
        if len(p):
            f1 = 2 * np.cumsum(p) / (np.arange(1, len(p) + 1) + matches)
            found[kind] = float(p[int(np.argmax(f1))])
    return found


# Recurring titles: "Editorial" or "Minutes of the board" denote a different thing each year or day.
#
# A title whose rows spread over three or more dates identifies nothing alone: the date identifies the thing, and a row without a date that
# could be either of two things is assigned to neither. A thing that is listed often, sometimes with a wrong date, has most of its rows
# under one date. Dates distinguish things only if they are dates of the things, and not, for example, the day of a filing, in which matches
# usually differ. Names of persons are not titles.

_DATES: Final = 3  # minimum number of dates of the rows of a title
_MOST: Final = 0.5  # maximum share of these rows with one date
_AGREE: Final = 0.3  # share of a type's matches that agree in a column from which on it holds the dates of things
_YEARS: Final = range(1500, 2101)


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Titles that recur on several dates.

    ``title`` (n,) numbers the titles of each type. For each column of dates, ``recurring`` holds a flag for each title that recurs by it
    (titles,) and the codes of the column's values (n,), -1 for a row without one.
    """

    title: Ints
    recurring: tuple[tuple[Flags, Ints], ...]

    @classmethod
    def from_population(cls, population: Population, model: WeightsByType, person: Flags) -> Series:
        """Count the dates of each title; ``person`` (n,) flags rows of persons.

        Time is linear in the rows.
        """
        form = population.names.compact
        named = (form >= 0) & ~person
        keys = np.where(named, population.kind * (int(form.max(initial=0)) + 1) + form, -1)
        distinct, title = np.unique(keys, return_inverse=True)
        recurring: list[tuple[Flags, Ints]] = []
        for column in population.attributes.columns:
            if not _dates_things(column, population, model):
                continue
            date = np.full(len(population), -1, np.int64)
            date[column.rows] = column.codes
            rows = column.rows[named[column.rows]]
            (of, _), count = np.unique(np.stack([title[rows], date[rows]]), axis=1, return_counts=True)
            most = np.zeros(len(distinct), np.int64)
            np.maximum.at(most, of, count)
            dated = np.bincount(title[rows], minlength=len(distinct))
            recurs = (np.bincount(of, minlength=len(distinct)) >= _DATES) & (most <= _MOST * dated)
            if recurs.any():
                recurring.append((recurs, date))
        return cls(title, tuple(recurring))

    def apart(self, i: Ints, j: Ints) -> Flags:
        """Return whether pairs (p,) share a recurring title and have two different dates."""
        found = np.zeros(len(i), bool)
        for at, a, b in self._recur(i, j):
            found[at] |= (a != b) & (a >= 0) & (b >= 0)
        return found

    def ambiguous(self, i: Ints, j: Ints) -> Flags:
        """Flag the rows (n,) with a recurring title and no date that are in pairs (p,) with two or more dates."""
        found = np.zeros(len(self.title), bool)
        for at, a, b in self._recur(i, j):
            row = np.concatenate([i[at][(a < 0) & (b >= 0)], j[at][(b < 0) & (a >= 0)]])
            date = np.concatenate([b[(a < 0) & (b >= 0)], a[(b < 0) & (a >= 0)]])
            found |= np.bincount(np.unique(np.stack([row, date]), axis=1)[0], minlength=len(found)) > 1
        return found

    def _recur(self, i: Ints, j: Ints) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Yield for each column of dates the pairs with one title that recurs by it, and the dates of both sides."""
        same = np.flatnonzero(self.title[i] == self.title[j]) if self.recurring else np.zeros(0, np.int64)
        for recurs, date in self.recurring:
            at = same[recurs[self.title[i[same]]]]
            yield at, date[i[at]], date[j[at]]


def _dates_things(column: Column, population: Population, model: WeightsByType) -> bool:
    """Return whether the values of a column are days or years of the entities in its rows."""
    if column.repeated or not (column.shape == "date" or (column.shape == "number" and _years(column))):
        return False
    weights = model.get(population.type_name(column.kind))
    if weights is None or not weights.learnt:
        return False
    k = population.attributes.select(column.kind).index(column)
    return float(weights.m[k + FIELDS][-1]) >= _AGREE


def _years(column: Column) -> bool:
    return all(text.isdecimal() and int(text) in _YEARS for text in column.texts.tolist())


# Effects of answers and of a declared identity: a correction of each type's scores, and rows that are joined before scores are used.
#
# Answers of people have two effects. The pair itself is decided: two rows that a person called different are never joined, and two rows
# that a person called the same are joined first, even if a rule on names or identifiers contradicts it, which is counted and reported.
# Between all other rows every veto remains. A recorded conflict, a rejection and a declared identity that differs are decisions of people
# as well, and take precedence over an answer. Rows with an equal identity are joined next. In addition, similar pairs are judged anew by
# ``slowwave.matching.answers``. ``slowwave.matching.review`` chooses the pairs to ask about.

_SURE: Final = 3.0  # log-odds, .95
_OPEN: Final = -3.0  # log-odds from which on differing words are compared
_SAMPLE: Final = 100_000  # candidates that are checked for those

OVERRULED: Final = "A person has answered that they are the same, though a rule forbids it: {}."


def taught(evidence: Evidence, answered: AnsweredRows, vetoes: Vetoes, i: Ints, j: Ints) -> Evidence:
    """Return the evidence corrected by the answers, and by decisions of earlier nights about doubtful pairs.

    A type with fewer than ``ENOUGH`` of both together keeps its scores. ``i`` and ``j`` (p,) are the candidates; the ones that the score
    is sure of support it. The order of the answers does not matter. Time grows with the number of answers and with the number of
    candidates, up to a sample of them.
    """
    sure = np.flatnonzero(answered.sure)
    if len(sure) or evidence.was_asked:
        evidence = evidence.looking_at(*_doubtful(evidence, vetoes, i, j))
    decisions: dict[str, list[tuple[Reals, Traits, Flags]]] = {}
    for name, raw, traits, same in evidence.decided():
        decisions.setdefault(name, []).append((raw, traits, same))
    for name, at, raw, traits in evidence.traits(answered.i[sure], answered.j[sure]):
        decisions.setdefault(name, []).append((raw, traits, answered.same[sure[at]]))
    enough = {name: parts for name, parts in decisions.items() if sum(len(same) for _, _, same in parts) >= ENOUGH}
    trusted = _trusted(evidence, vetoes, i, j) if enough else {}
    calibrations: dict[str, ScoreCorrection] = {
        name: calibrate(
            np.concatenate([raw for raw, _, _ in parts]),
            Traits.join([traits for _, traits, _ in parts]),
            np.concatenate([same for _, _, same in parts]),
            trusted.get(name),
        )
        for name, parts in enough.items()
    }
    return evidence.corrected(calibrations, answered) if calibrations or len(sure) else evidence


def _trusted(evidence: Evidence, vetoes: Vetoes, i: Ints, j: Ints) -> Mapping[str, tuple[Reals, Traits]]:
    """Return by folded type the scores and traits of candidates that would merge by their score alone.

    Of very many candidates, every k-th is used.
    """
    step = -(-len(i) // _SAMPLE) or 1
    i, j = i[::step], j[::step]
    found: dict[str, tuple[Reals, Traits]] = {}
    for name, at, raw, traits in evidence.traits(i, j, _SURE):
        firm = ~traits.gated & (vetoes.forbid(i[at], j[at], np.zeros(len(at), bool)) == 0)
        found[name] = raw[firm], traits.take(firm)
    return found


def _doubtful(evidence: Evidence, vetoes: Vetoes, i: Ints, j: Ints) -> tuple[Ints, Ints]:
    """Return the candidates that are undecided or positive by score and that no veto keeps apart.

    Of very many candidates, every k-th is checked.
    """
    step = -(-len(i) // _SAMPLE) or 1
    i, j = i[::step], j[::step]
    at = np.flatnonzero(evidence.score(i, j).odds >= _OPEN)
    at = at[vetoes.forbid(i[at], j[at], np.zeros(len(at), bool)) == 0]
    return i[at], j[at]


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """The groups of rows that answers or an equal identity have joined.

    ``label`` (n,) is the smallest row of each row's group. ``links`` holds the pairs of rows that hold the groups together, ``reasons``
    what contradicts some of them, and ``counts`` the number of answers and their outcomes.
    """

    label: Ints
    links: tuple[tuple[int, int], ...]
    reasons: Mapping[tuple[str, str], str]
    counts: Mapping[str, int]


def joined(
    ids: NDArray[np.object_], vetoes: Vetoes, answered: AnsweredRows, same: tuple[Ints, Ints], apart: Says
) -> Joined:
    """Join the rows (n,) that were answered to be the same, and then those with the ``same`` identity (p,), (p,).

    A recorded conflict, a rejection, an answer or a different identity forbids it, and for an equal identity also ``apart``.
    """
    yes = np.flatnonzero(answered.same & answered.sure)
    i, j = answered.i[yes], answered.j[yes]
    decided = vetoes.decided

    def forbids(x: Ints, y: Ints) -> Flags:
        reason = vetoes.forbid(x, y, np.zeros(len(x), bool))
        return (reason > 0) & (reason <= decided)

    def agrees(x: Ints, _y: Ints) -> Flags:
        return np.ones(len(x), bool)

    grown = clusters.grow(answered.n, i, j, forbids, agrees)
    names, reason = vetoes.reasons(), vetoes.forbid(i, j, np.zeros(len(i), bool))
    against = np.flatnonzero((reason > decided) & ~grown.refused)
    reasons = {(str(ids[i[k]]), str(ids[j[k]])): OVERRULED.format(names[int(reason[k]) - 1]) for k in against.tolist()}
    counts = {
        "answers": len(answered.i),
        "answers about no pair here": answered.unknown,
        "answers against a rule": len(against),
        "answers that a conflict or rejection forbids": int(grown.refused.sum()),
    }
    links = [*zip(i[grown.joined].tolist(), j[grown.joined].tolist(), strict=True)]
    has_answers = len(answered.i) + answered.unknown > 0
    label = grown.label
    if len(same[0]):
        grown = clusters.grow(answered.n, *same, lambda x, y: forbids(x, y) | apart(x, y), agrees, label)
        links += zip(same[0][grown.joined].tolist(), same[1][grown.joined].tolist(), strict=True)
    return Joined(grown.label, tuple(links), reasons, counts if has_answers else {})


# Matching: candidates → comparisons → weights → vetoes → clusters → merge, review or nothing.
#
# A pair may be *merged* if nothing vetoes it, neither name states more than the other in a specific, and its probability reaches the
# threshold of its type: the lowest at which the expected precision of the type's merges is what the settings require (.99), and at least
# ``FLOOR``. Names must agree unless the other evidence exceeds ``OVERWHELMING``. If any attribute differs, at least one must match. If each
# name has a word that the other lacks, only an identifier can merge them. Vectors must be as near as the threshold of the type requires,
# unless names with the same meaning have an equal identifier. If a type is too small to learn from, one more condition applies: a cosine at
# its threshold, names with the same meaning and an equal identifier, or, without vectors, the same name of many words.
#
# Persons of one name may be two. A pair whose dates of birth have no part in common is a question. So is one whose name is common here
# while hardly anything else agrees, and one without two dates of birth if the dates of other pairs that agree as much differ too often.
#
# In a cluster no pair is vetoed, and members agree with its core; a row that suits two clusters joins neither. Then two clusters with a
# pair that is likely but not sure join, if enough pairs cross their cores and every one of them is likely (``slowwave.matching.clusters``).
# A cluster with two members whose vectors are farther apart than allowed for members is *multimodal*: it is reported and not merged. A pair
# with a probability from ``REVIEW`` that is not merged goes to a person, with a reason. So do pairs with the same rare name and, without
# vectors, rows with similar wording; ``slowwave.matching.review`` chooses which of them are shown. The rest is dropped. A vetoed pair is
# dropped as well, except if one identifier is in conflict while another is equal.
#
# If people have answered, their answers come first: names and attributes that do not agree are then weighed by the answers about such
# pairs, instead of preventing the merge.

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Flags = NDArray[np.bool_]

UNLEARNT: Final = 0.99
MARGIN: Final[Mapping[Aim, float]] = {"precision": 2.0, "f1": 0.0}
"""Log-odds by which one cluster must suit a row better than another."""

ANSWER: Final = "answer"
"""The reason of a pair that a person answered to be different."""

WORDING: Final = 0.45
"""Minimum letter similarity of two whole rows for showing them to a person without other evidence."""

DECLARED: Final = 20.0
"""Log-odds of a pair with an equal identity: the operator has declared that it is one."""

_POSSIBLE: Final = 0.001
_UNLEARNT_REVIEW: Final = 0.60
_AGREES: Final = 0.50
_EXPECTED_PRECISION: Final = (
    0.99  # of merges without a question: no change on evidence that is wrong more often than once in a hundred
)
_FLOOR_ODDS: Final = float(np.log(FLOOR / (1 - FLOOR)))
_COINCIDENCE: Final = float(np.log(10))  # nats of the rest that persons of a common name need: one row in ten has it
_CHECKS: Final = 100  # pairs with dates of birth from which on they check the other pairs of their type
_CHUNK: Final = 131_072  # pairs weighed at a time


@dataclass(frozen=True, slots=True)
class Pair:
    """An explanation of the decision about two ids.

    ``level`` is the level of the names, ``cosine`` is None without vectors, and ``reason`` states why the two were not merged. The
    weights of the waterfall add up to the log-odds of the probability.
    """

    a: str
    b: str
    probability: float
    cosine: float | None
    level: str
    waterfall: tuple[Mapping[str, object], ...]
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """The decisions of a matching run.

    ``merges`` are the clusters to merge now, and ``review`` the pairs for a person, most informative first. ``multimodal`` are clusters
    that are not merged because the vectors of two members are too far apart. ``merge_links`` are the pairs that hold each cluster
    together, weakest last. ``thresholds`` is the probability that a merge needed, by entity type, and ``expected_false`` the number of
    wrong links to expect if the probabilities are right. ``counts`` holds the denominators (rows, candidates by key, vetoes by reason,
    decisions), ``dropped`` describes what was left out of the search, ``model`` holds the weights, and ``identity`` the declared one.
    """

    merges: tuple[tuple[str, ...], ...]
    review: tuple[ReviewPair, ...]
    multimodal: tuple[tuple[str, ...], ...]
    merge_links: tuple[tuple[tuple[str, str], ...], ...]
    thresholds: Mapping[str, float]
    expected_false: float
    counts: Mapping[str, int]
    dropped: tuple[str, ...]
    model: WeightsByType
    ids: NDArray[np.object_]
    candidate_pairs: tuple[Ints, Ints]
    identity: Identity | None
    _evidence: Evidence
    _overruled: Mapping[tuple[str, str], str]
    _task: _Task
    _doubts: Doubts
    _told: Ints
    _answered: AnsweredRows

    def learn(self, answers: Answers, aim: Aim = "precision") -> Matches:
        """Decide again with answers of people.

        ``answers`` must hold all of them, because those of an earlier call are not kept. See ``match``.
        """
        return _settle(self._task, answers, aim)

    def next_questions(self, k: int = 10) -> tuple[Question, ...]:
        """Return the k pairs to ask a person about next, those that teach most first; see ``slowwave.matching.review``."""
        judged, task = self._doubts.judged, self._task
        open_ = ~(judged.one_sided | judged.other_word | judged.scores.contested)
        return next_questions(
            QuestionPool(
                self.ids,
                task.population.kind,
                judged.i,
                judged.j,
                open_,
                forests(self._told, judged.i, judged.j, FORESTS) >= 0,
            ),
            self._evidence.looking_at(judged.i, judged.j),
            self._answered,
            k,
        )

    def explain(self, a: str, b: str) -> Pair:
        """Return the pair of two ids with its waterfall."""
        return self.explain_all([(a, b)])[0]

    def explain_all(self, pairs: Sequence[tuple[str, str]]) -> tuple[Pair, ...]:
        """Return pairs of ids with their waterfalls, weighed together.

        Raises ``KeyError`` for an id that was not matched.
        """
        place = {str(id_): k for k, id_ in enumerate(self.ids)}
        rows = np.array([sorted((place[a], place[b])) for a, b in pairs], np.int64).reshape(-1, 2)
        i, j = rows[:, 0], rows[:, 1]
        scores, falls = self._evidence.score(i, j), self._evidence.waterfalls(i, j)
        at = self._doubts.find(i, j)
        lost = self._doubts.lost(at, scores.odds)
        identity, same = self.identity, self._task.same(i, j)
        gained = np.where(same, DECLARED - scores.odds, 0.0)
        likely = probability(scores.odds + lost + gained)
        levels = list(NAME_LEVELS)
        found: list[Pair] = []
        for k, (x, y) in enumerate(zip(i.tolist(), j.tolist(), strict=True)):
            a, b, cosine = str(self.ids[x]), str(self.ids[y]), float(scores.cosine[k])
            shown = None if np.isnan(cosine) else round(cosine, 4)
            reason = self._doubts.reason(int(at[k])) if at[k] >= 0 else self._overruled.get((a, b), "")
            declared = identity.reason(x, y) if identity is not None else ""
            reason, fall = declared or reason, (*falls[k], *steps(float(lost[k])))
            if same[k]:
                fall = (*fall, {"evidence": "identity", "weight": round(float(gained[k]), 3), "detail": declared})
            found.append(Pair(a, b, float(likely[k]), shown, levels[int(scores.name[k])], fall, reason))
        return tuple(found)


def match(
    entities: pa.Table,
    settings: MatchSettings,
    *,
    matrix: NDArray[np.float32] | None = None,
    rows: Ints | None = None,
    links: pa.Table | None = None,
    neighbours: Sequence[Sequence[str]] | None = None,
    aliases: pa.Table | None = None,
    cannot_link: Mapping[str, Iterable[tuple[str, str]]] | None = None,
    labelled: Labelled | None = None,
    focus: Iterable[str] | None = None,
    model: WeightsByType | None = None,
    answers: Answers | None = None,
    aim: Aim = "precision",
    run: Run = in_threads,
) -> Matches:
    """Match live entities with each other; the order of the rows does not matter.

    ``entities`` has id, entity_type, name and optionally attributes (JSON text), source_document_ids and source. ``matrix`` (v, d) holds
    vectors, and ``rows`` (n,) each entity's row in it or -1. ``links`` has source_entity_id and target_entity_id of live relationships,
    or ``neighbours`` names those of each row. ``aliases`` has entity_id and alias. ``cannot_link`` names pairs of ids that must not
    merge, by reason. ``labelled`` are pairs that people have decided. With ``focus``, only pairs with one of these ids are compared.
    ``model`` holds weights of an earlier call, which are not learnt again. ``answers`` decide pairs and correct the scores of others, and
    ``aim`` decides how the threshold is chosen. ``run`` searches what is dear (``slowwave.matching.tiles``).
    """
    population = Population.from_table(
        entities, matrix=matrix, rows=rows, links=links, neighbours=neighbours, aliases=aliases
    )
    options = settings.options("dedupe_entities", DedupeEntitiesOptions)
    wanted = frozenset(focus or ())
    mask = None if focus is None else np.array([id_ in wanted for id_ in population.ids], bool)
    identity = _identity(entities, population, options)
    found = candidates.find(population, *_cosines_of(options), mask, identity, run)
    i, j = found.i.astype(np.int64), found.j.astype(np.int64)
    counts = Counter(
        {"rows": len(population), "with vector": int((population.vector >= 0).sum()), "candidates": len(i)}
    )
    keys = found.counts()
    counts.update({f"candidates by {key}": keys[key] for key in keys if identity is not None or key != "identity"})
    evidence = Evidence.learn(
        population, settings, i, j, labelled=labelled, model=model, teach=~found.only_by("attribute", "identity")
    )
    named = np.unique(np.concatenate([i, j]))
    vetoes = Vetoes.from_population(population, named, cannot_link or {}, identity)
    names = OtherNames.from_population(population)
    task = _Task(
        *(population, settings, identity, evidence, named, cannot_link or {}, vetoes, names),
        *(
            Variants.from_pairs(population, names, i, j),
            Series.from_population(population, evidence.model, names.person),
        ),
        *(i, j, counts, found.dropped, (found.i, found.j)),
    )
    return _settle(task, answers or Answers(), aim)


def find_searches(
    entities: pa.Table,
    settings: MatchSettings,
    *,
    matrix: NDArray[np.float32] | None = None,
    rows: Ints | None = None,
    run: Run,
) -> None:
    """Give ``run`` the searches that ``match`` would give it for the same entities and vectors, without matching anything."""
    population = Population.from_table(entities, matrix=matrix, rows=rows)
    options = settings.options("dedupe_entities", DedupeEntitiesOptions)
    candidates.search(population, *_cosines_of(options), run)


def _cosines_of(options: DedupeEntitiesOptions) -> tuple[float, float]:
    """Return the cosine from which near vectors are compared, and the one from which they may merge."""
    lowest = min([options.default_threshold, *options.per_type_thresholds.values()])
    return min(options.verifier_band_low, lowest), lowest


def _identity(entities: pa.Table, population: Population, options: DedupeEntitiesOptions) -> Identity | None:
    """Return the declared identity of the rows, in the order of the population."""
    if not options.identity or "attributes" not in entities.column_names:
        return None
    given = dict(zip(entities["id"].to_pylist(), entities["attributes"].to_pylist(), strict=True))
    return Identity.from_rows(population.types, [given[id_] for id_ in population.ids], options.identity)


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """A matching task before any person is asked."""

    population: Population
    settings: MatchSettings
    identity: Identity | None
    evidence: Evidence
    rows: Ints
    cannot_link: Mapping[str, Iterable[tuple[str, str]]]
    vetoes: Vetoes
    names: OtherNames
    variants: Variants
    series: Series
    i: Ints
    j: Ints
    counts: Mapping[str, int]
    dropped: tuple[str, ...]
    candidate_pairs: tuple[Ints, Ints]
    unasked: dict[Aim, Within] = field(default_factory=dict[Aim, Within])

    def same(self, i: Ints, j: Ints) -> Flags:
        """Flag the pairs (p,) whose declared identity is equal."""
        return self._is(SAME, i, j)

    def near(self, i: Ints, j: Ints) -> Flags:
        """Flag the pairs (p,) whose declared identity overlaps, or differs in notation only."""
        return self._is(NEAR, i, j)

    def _is(self, relation: int, i: Ints, j: Ints) -> Flags:
        return np.zeros(len(i), bool) if self.identity is None else self.identity.relation(i, j) == relation


def _settle(task: _Task, answers: Answers, aim: Aim) -> Matches:
    """Decide, with the answers of people if there are any."""
    population, counts = task.population, Counter(task.counts)
    answered = AnsweredRows.from_answers(answers, population.ids, population.kind, task.evidence.kinds)
    vetoes = task.vetoes
    if len(answered.i):
        asked = np.union1d(answered.i, answered.j)
        if not np.isin(asked, task.rows).all():  # names of rows without a pair were not parsed
            vetoes = Vetoes.from_population(population, np.union1d(task.rows, asked), task.cannot_link, task.identity)
        vetoes = vetoes.besides(ANSWER, answered.keys(same=False))
    evidence = taught(task.evidence, answered, vetoes, task.i, task.j)
    judged = _judge(task, evidence, vetoes, counts)
    return _decide(task, evidence, vetoes, judged, counts, answered, aim)


def _judge(task: _Task, evidence: Evidence, vetoes: Vetoes, counts: Counter[str]) -> Judged:
    """Weigh and veto the candidates."""
    population, settings, names, i, j = task.population, task.settings, task.names, task.i, task.j
    parts: list[Judged] = []
    births: list[tuple[Ints, Reals, Flags]] = []
    sources = _unique_sources(population, settings)
    for at in _chunks(len(i)):
        x, y = i[at], j[at]
        scores = evidence.score(x, y)
        conflict = scores.contested & ~scores.identified
        reason = vetoes.forbid(x, y, conflict)
        dated = names.person[x] & (scores.birth >= 0) & ~scores.identified & ((reason == 0) | conflict)
        dated &= (scores.unborn >= _FLOOR_ODDS) & (scores.name >= LEVEL["explained"])
        births.append((population.kind[x[dated]], scores.unborn[dated], scores.birth[dated] > 0))
        other_date = (reason == 0) & task.series.apart(x, y)
        same_source = (reason == 0) & ~other_date & _same_source(population, sources, x, y)
        for code, name in enumerate(vetoes.reasons(), 1):
            counts[f"vetoed by {name}"] += int((reason == code).sum())
        counts["vetoed by date"] += int(other_date.sum())
        counts["vetoed by source"] += int(same_source.sum())
        least = np.where(scores.learnt | scores.corrected, REVIEW, _UNLEARNT_REVIEW)
        open_ = (reason == 0) & ~other_date & ~same_source
        near = task.near(x, y)
        good = open_ & ((scores.probability >= least) | near)
        doubtful = np.flatnonzero(open_ & ~good)
        good[doubtful] = _worth_a_look(evidence, x[doubtful], y[doubtful], scores.take(doubtful))
        good = np.flatnonzero(good)
        scores = scores.take(good)
        one_sided = vetoes.one_sided(x[good], y[good]) & (scores.name != LEVEL["explained"])
        one_sided |= evidence.parted(x[good], y[good])
        other_word = _other_word(vetoes, x[good], y[good], scores)
        other_name = names.outvoted(x[good], y[good], scores)
        variant = _variant(task.variants, x[good], y[good], scores)
        may = _may(scores, names, x[good], y[good]) & ~one_sided & ~other_word & ~other_name & ~variant & ~near[good]
        undated = np.zeros(len(may), bool)
        flags = one_sided, other_word, other_name, variant, undated, undated, may
        parts.append(Judged(x[good], y[good], scores, near[good], *flags))
    judged = Judged.join(parts)
    ambiguous = _ambiguous(task.series, judged)
    undated = ambiguous[judged.i] | ambiguous[judged.j]
    kinds, odds, agree = (np.concatenate(part) for part in zip(*births, strict=True))
    namesake = _namesake(judged, names, population.kind, least_odds(population.kind, kinds, odds, agree))
    return replace(judged, namesake=namesake, undated=undated, may=judged.may & ~undated & ~namesake)


def least_odds(kind: Ints, kinds: Ints, odds: Reals, agree: Flags) -> Reals:
    """Return the log-odds that pairs of persons without two dates of birth need, for each type code.

    The dates of birth of other pairs check them: ``odds`` (p,) are the log-odds of pairs of the types ``kinds`` without their dates, and
    ``agree`` states whether the dates have a part in common. The least odds are the lowest from which on enough dates agree.
    """
    found = np.full(int(kind.max(initial=0)) + 1, -np.inf)
    for code in np.unique(kinds).tolist():
        order = np.argsort(-odds[kinds == code], kind="stable")
        right = np.cumsum(agree[kinds == code][order])
        if len(order) >= _CHECKS:
            enough = np.flatnonzero(right >= _EXPECTED_PRECISION * np.arange(1, len(order) + 1))
            if not len(enough) or enough[-1] < len(order) - 1:
                found[code] = odds[kinds == code][order[enough[-1]]] if len(enough) else np.inf
    return found


def _namesake(judged: Judged, names: OtherNames, kind: Ints, least: Reals) -> Flags:
    """Flag the pairs (p,) that may be two persons of one name.

    Their dates of birth have no part in common; or a row states none, and so much less than the ``least`` log-odds of its type agrees that
    other pairs like them have different dates too often; or the name is common, and one in ten rows would agree as much in the rest.
    """
    scores = judged.scores
    common = (scores.rarity < RARE) & (scores.besides < _COINCIDENCE)
    unchecked = (scores.birth < 0) & ~scores.identified & (scores.odds < least[kind[judged.i]])
    return names.person[judged.i] & (_is_other_birth(scores) | (scores.learnt & (common | unchecked)))


def _is_other_birth(scores: Scores) -> Flags:
    """Flag pairs with dates of birth that have no part in common and without an equal identifier."""
    return (scores.birth == 0) & ~scores.identified


def _other_word(vetoes: Vetoes, i: Ints, j: Ints, scores: Scores) -> Flags:
    """Flag the pairs whose names differ in a word that is not a slip.

    If attributes or an identifier support the pair, only opposites count, because a word in the name of a person or a firm may be
    mistyped into another word.
    """
    near = np.flatnonzero((scores.name > LEVEL["different"]) & (scores.name <= LEVEL["spelling"]))
    found = np.zeros(len(i), bool)
    words, opposites = vetoes.other_words(i[near], j[near])
    found[near] = opposites | (words & ~(scores.supported | scores.identified)[near])
    return found


def _variant(variants: Variants, i: Ints, j: Ints, scores: Scores) -> Flags:
    """Flag pairs with one model code, and no stronger similarity, whose names state different variants."""
    found = np.zeros(len(i), bool)
    at = np.flatnonzero(scores.name <= LEVEL["coded"])
    found[at] = variants.apart(i[at], j[at])
    return found


def _ambiguous(series: Series, judged: Judged) -> Flags:
    """Flag the rows (n,) that state no date and so could belong to two entities of one title."""
    likely = judged.scores.probability >= REVIEW
    return series.ambiguous(judged.i[likely], judged.j[likely])


def _worth_a_look(evidence: Evidence, i: Ints, j: Ints, scores: Scores) -> Flags:
    """Flag pairs for a person although the weights oppose them.

    They have the same rare name, or, without vectors, rows of similar wording.
    """
    found = (scores.name >= LEVEL["spelling"]) & (scores.rarity >= RARE)
    possible = np.flatnonzero(~found & np.isnan(scores.cosine) & (scores.probability >= _POSSIBLE))
    found[possible] = evidence.wording(i[possible], j[possible]) >= WORDING
    return found


def _may(scores: Scores, names: OtherNames, i: Ints, j: Ints) -> Flags:
    """Flag the pairs whose kind of evidence allows a merge if it is strong enough."""
    named, same = scores.name >= LEVEL["explained"], scores.name >= LEVEL["acronym"]
    seen = (
        (named & scores.near) | (same & scores.identified) | ((scores.rarity == UNMISTAKABLE) & np.isnan(scores.cosine))
    )
    seen |= scores.name == LEVEL["organisation"]
    learnt = named | (scores.name == LEVEL["alike"]) | (scores.odds >= OVERWHELMING)
    own = np.flatnonzero(~learnt & scores.personal)
    learnt[own] = names.compatible(i[own], j[own]) | (scores.name[own] == LEVEL["extended"])
    persons = np.flatnonzero(~learnt & names.person[i])
    learnt[persons] = names.compatible(i[persons], j[persons])
    learnt &= ~scores.far & ~((scores.opposed | scores.elsewhere) & ~scores.near & ~scores.personal)
    learnt = np.where(scores.learnt, learnt, seen & (scores.probability >= UNLEARNT))
    return (learnt | scores.corrected) & ~scores.contested & ~is_under_threshold(scores)


class _Groupable(NamedTuple):
    """The judged pairs in the form in which they are grouped.

    ``limits`` are the thresholds of the types. ``conflicts`` flags the pairs of rows that stay apart whatever else is known, ``refuses``
    also those whose names or variants are two, and ``holds`` those that agree.
    """

    limits: Reals
    grouping: Grouping
    conflicts: Says
    refuses: Says
    holds: Says


def _groupable(task: _Task, evidence: Evidence, vetoes: Vetoes, judged: Judged, aim: Aim) -> _Groupable:
    population, settings, names = task.population, task.settings, task.names
    i, j, scores = judged.i, judged.j, judged.scores
    limits = find_thresholds(
        aim,
        population.kind[i],
        scores.probability,
        judged.may,
        _EXPECTED_PRECISION,
    )
    edges = np.flatnonzero(judged.may & (scores.probability >= limits[population.kind[i]]))
    sources = _unique_sources(population, settings)
    ambiguous = _ambiguous(task.series, judged)

    def conflicts(x: Ints, y: Ints) -> Flags:
        found = [np.zeros(0, bool)]
        for at in _chunks(len(x)):
            a, b = x[at], y[at]
            no = (vetoes.forbid(a, b, evidence.contested(a, b)) > 0) | task.series.apart(a, b)
            found.append(no | _same_source(population, sources, a, b))
        return np.concatenate(found)

    def forbids(x: Ints, y: Ints) -> Flags:
        no = conflicts(x, y)
        for at in _chunks(len(x)):
            a, b = x[at], y[at]
            two = np.flatnonzero(~no[at] & names.apart(a, b, known=True))
            no[at][two] = names.outvoted(a[two], b[two], evidence.score(a[two], b[two]))
            no[at] |= task.variants.apart(a, b) | task.near(a, b)
        return no

    def agrees(x: Ints, y: Ints) -> Flags:
        found = [np.zeros(0, bool)]
        options = settings.options("recompute_centroids", RecomputeCentroidsOptions)
        for at in _chunks(len(x)):
            s = evidence.score(x[at], y[at])
            held = (
                s.learnt
                | s.corrected
                | (np.nan_to_num(s.cosine, nan=-1) >= options.min_intra_cluster_cosine)
                | _may(s, names, x[at], y[at])
            )
            two = np.flatnonzero(names.outvoted(x[at], y[at], s))
            two = two[~s.personal[two] | names.apart(x[at][two], y[at][two], known=True)]
            held &= ~_other_word(vetoes, x[at], y[at], s)
            held &= ~vetoes.one_sided(x[at], y[at]) | (s.name == LEVEL["explained"])
            held &= ~evidence.parted(x[at], y[at]) & ~(names.person[x[at]] & _is_other_birth(s))
            held[two] = False
            held &= ~_variant(task.variants, x[at], y[at], s) & ~ambiguous[x[at]] & ~ambiguous[y[at]]
            least = np.minimum(limits[population.kind[x[at]]], _AGREES)
            found.append(held & (s.probability >= least))
        return np.concatenate(found)

    grouping = Grouping(
        *(len(population), i, j, scores.odds, edges),
        likely=np.flatnonzero(judged.may & (scores.probability >= _AGREES)),
        margin=MARGIN[aim],
    )
    n = len(population)
    return _Groupable(limits, grouping, conflicts, clusters.once(forbids, n), clusters.once(agrees, n))


def _unasked(task: _Task, aim: Aim) -> Within:
    """Return the pairs within the groups that the evidence makes by itself; computed once per aim."""
    if aim not in task.unasked:
        judged = _judge(task, task.evidence, task.vetoes, Counter())
        can = _groupable(task, task.evidence, task.vetoes, judged, aim)
        task.unasked[aim] = can.grouping.within(can.grouping.grown(can.refuses, can.holds))
    return task.unasked[aim]


def _decide(
    task: _Task,
    evidence: Evidence,
    vetoes: Vetoes,
    judged: Judged,
    counts: Counter[str],
    answered: AnsweredRows,
    aim: Aim,
) -> Matches:
    population, settings = task.population, task.settings
    i, j, scores = judged.i, judged.j, judged.scores
    limits, grouping, conflicts, refuses, holds = _groupable(task, evidence, vetoes, judged, aim)
    sources, same = _unique_sources(population, settings), task.same(task.i, task.j)

    def one_source(x: Ints, y: Ints) -> Flags:
        return _same_source(population, sources, x, y)

    answer_joins = joined(population.ids, vetoes, answered, (task.i[same], task.j[same]), one_source)
    counts.update(answer_joins.counts)
    start, links = answer_joins.label, [*answer_joins.links]
    expected_false = 0.0
    if len(answered.i):
        unasked = _unasked(task, aim)
        after = evidence.score(unasked.i, unasked.j)
        start, kept = whole(len(population), unasked, after.odds, MARGIN[aim], conflicts, answer_joins.label)
        links += zip(kept.i.tolist(), kept.j.tolist(), strict=True)
        expected_false = float((1 - evidence.score(kept.i, kept.j).probability).sum())
    grown = grouping.grown(refuses, holds, start)
    links += zip(i[grown.joined].tolist(), j[grown.joined].tolist(), strict=True)
    doubts = Doubts(judged, grown.label, grown.refused)
    asked, settles = doubts.questions(settings.options("dedupe_entities", DedupeEntitiesOptions).review_pairs_per_row)
    ids = population.ids
    merge_links: dict[int, list[tuple[str, str]]] = {}
    for one, other in links:
        merge_links.setdefault(int(grown.label[one]), []).append((str(ids[one]), str(ids[other])))
    multimodal = _multimodal(task, evidence, grown.label, answer_joins.label)
    clusters_by_label = {
        label: tuple(sorted({id_ for pair in found for id_ in pair})) for label, found in sorted(merge_links.items())
    }
    labels = [label for label in clusters_by_label if label not in multimodal]
    merges = tuple(clusters_by_label[label] for label in labels)
    likely = doubts.probability(asked)
    review = tuple(
        ReviewPair(str(ids[a]), str(ids[b]), p, count)
        for a, b, p, count in zip(*(x.tolist() for x in (i[asked], j[asked], likely, settles)), strict=True)
    )
    apart = grown.label[i] != grown.label[j]
    counts["merge clusters"], counts["review pairs"] = len(merges), len(review)
    counts["multimodal clusters"] = len(clusters_by_label) - len(labels)
    counts["doubtful pairs"] = int(apart.sum())
    counts["merged into others"] = sum(len(m) - 1 for m in merges)
    if task.identity is not None:
        counts["pairs of one identity"] = int(same.sum())
    counts["bridges refused"] = int(grown.refused[apart].sum())
    return Matches(
        merges=merges,
        review=review,
        multimodal=tuple(ids for label, ids in clusters_by_label.items() if label in multimodal),
        merge_links=tuple(tuple(merge_links[label]) for label in labels),
        thresholds={population.type_name(k): float(limits[k]) for k in np.unique(population.kind[i]).tolist()},
        expected_false=round(expected_false + float((1 - scores.probability[grown.joined]).sum()), 2),
        counts=dict(counts),
        dropped=task.dropped,
        model=evidence.model,
        ids=ids,
        candidate_pairs=task.candidate_pairs,
        identity=task.identity,
        _evidence=evidence,
        _overruled=answer_joins.reasons,
        _task=task,
        _doubts=doubts,
        _told=answer_joins.label,
        _answered=answered,
    )


def _multimodal(task: _Task, evidence: Evidence, label: Ints, told: Ints) -> frozenset[int]:
    """Return the labels of clusters in which two members have vectors farther apart than a cluster may have.

    Members that an equal identifier or a person's answer joins are one entity whatever their vectors are. Cost: one cosine of each
    pair of members that have vectors.
    """
    rows = np.flatnonzero(task.population.vector >= 0)
    rows = rows[np.argsort(label[rows], kind="stable")]
    _, first, size = np.unique(label[rows], return_index=True, return_counts=True)
    pairs = [
        (start + a, start + b)
        for start, n in zip(first[size > 1].tolist(), size[size > 1].tolist(), strict=True)
        for a in range(n)
        for b in range(a + 1, n)
    ]
    at = np.array(pairs, np.int64).reshape(-1, 2)
    x, y = np.minimum(rows[at[:, 0]], rows[at[:, 1]]), np.maximum(rows[at[:, 0]], rows[at[:, 1]])
    x, y = x[told[x] != told[y]], y[told[x] != told[y]]
    least = task.settings.options("recompute_centroids", RecomputeCentroidsOptions).min_intra_cluster_cosine
    found: set[int] = set()
    for part in _chunks(len(x)):
        vector, units = task.population.vector, task.population.units
        apart = np.flatnonzero(np.round(cosines(units, vector[x[part]], vector[y[part]]), 6).astype(np.float64) < least)
        i, j = x[part][apart], y[part][apart]
        if len(i):  # few clusters have such members, and a whole comparison costs far more than a cosine
            found.update(label[i][~has_equal_identifier(evidence.score(i, j))].tolist())
    return frozenset(found)


def _unique_sources(population: Population, settings: MatchSettings) -> Flags:
    """Flag the source codes that are known to be free of duplicates."""
    free = settings.options("dedupe_entities", DedupeEntitiesOptions).unique_sources
    return np.array(["*" in free or s in free for s in population.source_names], bool)


def _same_source(population: Population, unique: Flags, i: Ints, j: Ints) -> Flags:
    """Flag pairs from one source that is known to be free of duplicates."""
    if not unique.any():
        return np.zeros(len(i), bool)
    a, b = population.sources[i], population.sources[j]
    return (a == b) & (a >= 0) & unique[np.maximum(a, 0)]


def _chunks(n: int) -> Iterator[slice]:
    """Yield slices over n pairs, or one empty slice if there are none, so that results have their shapes."""
    for start in range(0, max(n, 1), _CHUNK):
        yield slice(start, start + _CHUNK)


# Cohesive groups: rows that are pairwise near each other, built from near pairs.
#
# Nearness is not transitive here: if a is near b and b near c, then a and c need not be in one group. The callers choose the rows and use
# the groups.


def cohesive_groups(
    matrix: NDArray[np.floating], i: Ints, j: Ints, cosine: NDArray[np.floating], floor: float, most: int = 50
) -> list[list[int]]:
    """Group (n, d) unit vectors; return groups of at least two rows, each sorted, ordered by their first row.

    Pairs (p,) are joined nearest first (complete linkage, greedy): two groups become one if every row of one has a cosine ≥ ``floor``
    with every row of the other, and the group has at most ``most`` rows. The pairs need not be complete: cosines of missing pairs are
    computed from the matrix. Time: p · log p, and for each pair the product of two groups of at most ``most`` rows.
    """
    group: dict[int, list[int]] = {}
    order = np.lexsort((j, i, -cosine))
    refused: set[tuple[int, int]] = set()
    for a, b in zip(i[order].tolist(), j[order].tolist(), strict=True):
        one, two = group.get(a, [a]), group.get(b, [b])
        if one is two or len(one) + len(two) > most:
            continue
        ends = (min(one[0], two[0]), max(one[0], two[0]))
        if ends in refused:
            continue
        if len(one) + len(two) > 2 and float((matrix[one] @ matrix[two].T).min()) < floor:
            refused.add(ends)  # groups only grow, so members that are too far apart stay so
            continue
        whole = sorted([*one, *two])
        group.update(dict.fromkeys(whole, whole))
    found = {id(g): g for g in group.values()}
    return sorted(found.values())
