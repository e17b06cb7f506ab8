"""Scores of rows: signals of recall, relevance, stages of decay, and which predicates take one object at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.changes.merges import REASON as CONSOLIDATION
from slowwave.snapshots.rows import EXEMPT, active_memories, attribute_of, attributes, exemptions
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings
from slowwave.text.keys import keys

# Decay: how long a memory stays in its stage, and what comes then (Plugged.in 1.4).
#
# A memory begins ``full`` and is shortened from stage to stage until it is forgotten, which archives it. When a stage began is on record:
# each stage's text is a version whose reason names the stage. What the shorter text says belongs to the planner ``decay_transition``.

STAGES: Final = ("full", "compressed", "summary", "essence", "forgotten")
"""In order; the last has no text of its own."""

DAY: Final = 86_400_000_000
"""Microseconds."""

_REASON: Final = "decay:"
_NEVER: Final = np.iinfo(np.int64).max

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """For n memories: ``stage`` (n,), their places in ``STAGES``, -1 for any other, and ``due`` (n,), µs since 1970: when the next one
    begins."""

    stage: Ints
    due: Ints

    def is_due(self, now: int) -> Mask:
        """(n,) whether the next stage has begun at ``now``, µs since 1970."""
        return self.due <= now


def reason(stage: str) -> str:
    """What the version with the text of a stage keeps as its reason."""
    return _REASON + stage


def next_stage(stage: str) -> str:
    """The stage after this one."""
    return STAGES[STAGES.index(stage) + 1]


def multipliers(reinforcements: Ints, accesses: Ints, success: Floats) -> Floats:
    """(n,) each → (n,) what the days of a stage are multiplied by: 2 for more than 5 reinforcements, 3 for more than 20 reads, and a half
    for a success below 0.3 (NaN: unknown). Golden value: 6, 21 and 0.2 make 365 days 1,095.
    """
    bad = np.nan_to_num(success, nan=1.0) < 0.3
    return np.where(reinforcements > 5, 2.0, 1.0) * np.where(accesses > 20, 3.0, 1.0) * np.where(bad, 0.5, 1.0)


def schedule(snapshot: Snapshot, memories: pa.Table, settings: Settings) -> Schedule:
    """When each of the memories (rows of that table) is due for its next stage; never are exempt ones, those of no known
    stage and those without a text.

    A stage begins with the version that its text was written as, a summary with its first version; a memory that nobody has shortened
    begins ``full`` with its ``valid_from``, or where that is unknown with ``recorded_at``. Time: linear in memories and versions.
    """
    stage = pc.fill_null(pc.index_in(memories["stage"], value_set=pa.array(STAGES)), -1).to_numpy().astype(np.int64)
    began = _began(snapshot, memories, stage)
    success = np.full(len(memories), np.nan)
    for k, found in attribute_of(memories, "success").items():
        if isinstance(found, (int, float)) and not isinstance(found, bool):
            success[k] = max(-1, min(found, 1))  # an integer of jsonb may be longer than a float holds
    reinforced, read = (
        np.maximum(0, memories[name].to_numpy().astype(np.int64)) for name in ("reinforcement_count", "access_count")
    )  # undo may leave a counter below zero
    factor = multipliers(reinforced, read, success)
    days = np.array([settings.operations.decay_transition.days.get(s, 0) for s in STAGES[:-1]] + [0], np.float64)
    lasting = np.rint(days[stage] * factor * DAY).astype(np.int64)
    never = (stage < 0) | (stage == len(STAGES) - 1) | (days[stage] <= 0)
    never |= memories["current_version_id"].is_null().to_numpy()
    for mask in exemptions(memories, settings).values():
        never |= mask
    return Schedule(stage, np.where(never, _NEVER, began + lasting))


def _began(snapshot: Snapshot, memories: pa.Table, stage: Ints) -> Ints:
    """(n,) when the stage of each memory began, µs."""
    recorded = memories["recorded_at"].cast(pa.int64())
    start = pc.coalesce(memories["valid_from"].cast(pa.int64()), recorded).to_numpy().astype(np.int64)
    versions = snapshot.table("memory_versions").select(["id", "memory_id", "reason", "recorded_at"])
    own = pc.index_in(memories["current_version_id"], value_set=versions["id"].combine_chunks())
    current = pc.coalesce(versions["recorded_at"].cast(pa.int64()).take(own), recorded).to_numpy().astype(np.int64)
    began = np.where(stage == 0, start, current)
    staged = versions.filter(
        pc.or_(pc.starts_with(versions["reason"], _REASON), pc.equal(versions["reason"], CONSOLIDATION))
    )
    at = pc.fill_null(pc.index_in(staged["memory_id"], value_set=memories["id"].combine_chunks()), -1).to_numpy()
    named = [reason(s) for s in STAGES]
    of = pc.fill_null(pc.index_in(staged["reason"], value_set=pa.array(named)), 0).to_numpy()  # a summary begins full
    mine = (at >= 0) & (of == stage[at])
    latest = np.full(len(stage), np.iinfo(np.int64).min)
    np.maximum.at(latest, at[mine], staged["recorded_at"].cast(pa.int64()).to_numpy()[mine])
    return np.where(latest > np.iinfo(np.int64).min, latest, began)


# Predicates: which of them take one object at a time ("was born in") and which take many ("likes"), learnt from the data.
#
# Two objects of one subject contradict or replace each other only where the predicate takes one. Nothing declares that, and no
# list of words knows it, so it is read from how objects fall on subjects, and said only where the data bear it out. Pure: columns
# in, answers out. What follows from it is decided by the planners and audits that ask.

Column: TypeAlias = pa.Array | pa.ChunkedArray
Verdict = Literal["single", "many", "unknown"]

_SHARE: Final = 0.9  # of the subjects, to have one object
_RESTATED: Final = 10  # subjects stated more than once that speak for themselves
_SUBJECTS: Final = 20  # subjects from which a comparison with chance is made
_EXCEPTIONS: Final = 5  # subjects with several objects that make a predicate one of many
_DOUBT: Final = math.log(100)  # chance explains what was seen in less than one case of a hundred


@dataclass(frozen=True, slots=True)
class Predicate:
    """What the data say about one predicate.

    ``spellings`` are those that the rows have, ``subjects`` those that it is said of, ``single`` those of them with one object,
    ``restated`` those for which it is said more than once and ``repeated`` those of these with one object; ``expected`` is the
    share of subjects that would have several objects if objects fell on subjects by chance.
    """

    key: str
    spellings: tuple[str, ...]
    subjects: int
    single: int
    restated: int
    repeated: int
    expected: float

    @property
    def share(self) -> float:
        """Share of its subjects that have one object."""
        return self.single / self.subjects

    @property
    def verdict(self) -> Verdict:
        """``single`` and ``many`` where the data bear it out, else ``unknown``.

        Single: nine subjects of ten have one object, and either ten or more were stated again and nine of ten of these stated the
        same, or, of twenty subjects or more, those with several objects are at most half as many as chance gives, and chance gives
        as few in less than one case of a hundred. Many: not that, and five subjects or more have several objects.
        """
        several = self.subjects - self.single
        beats_chance = self.subjects >= _SUBJECTS and self._beats_chance(several / self.subjects)
        if self.share >= _SHARE and (self.repeated_enough or beats_chance):
            return "single"
        return "many" if several >= _EXCEPTIONS else "unknown"

    @property
    def repeated_enough(self) -> bool:
        """Whether ten subjects or more were stated again, and nine of ten of these stated the same: the evidence that is no guess about
        how statements fall on subjects."""
        return self.restated >= _RESTATED and self.repeated >= _SHARE * self.restated

    def _beats_chance(self, seen: float) -> bool:
        """Chernoff's bound on a binomial tail: exp(-n · KL(seen, expected))."""
        if seen > self.expected / 2:
            return False
        divergence = (1 - seen) * math.log((1 - seen) / (1 - self.expected))
        divergence += seen * math.log(seen / self.expected) if seen else 0.0
        return self.subjects * divergence >= _DOUBT

    def to_json(self) -> dict[str, object]:
        """The evidence, as items and reports show it."""
        return {
            "predicate": self.key,
            "verdict": self.verdict,
            "subjects": self.subjects,
            "share_with_one_object": round(self.share, 4),
            "restated": self.restated,
            "repeated": self.repeated,
            "expected_with_several": round(self.expected, 4),
        }


def weigh(subjects: Column, predicates: Column, objects: Column) -> tuple[Predicate, ...]:
    """What the data say about each predicate, by key. Texts that differ in case, spaces or punctuation count as one.

    Objects that fell by chance: a predicate said of a share c of all subjects would, if its statements were independent of each
    other (Poisson with mean -ln(1 - c)), name a second object for 1 - λe⁻λ/(1 - e⁻λ) of them. A predicate that covers few subjects is
    therefore never distinguished from chance, and one that covers most of them is at once.

    Time: a sort of the n statements.
    """
    if len(predicates) == 0:
        return ()
    subject, predicate, object_ = (_codes(c) for c in (subjects, predicates, objects))
    names = predicate.dictionary
    everyone = len(subject.dictionary)
    pairs, place, statements = np.unique(
        _pack(_indices(predicate), _indices(subject), everyone), return_inverse=True, return_counts=True
    )
    facts = np.unique(_pack(place, _indices(object_), len(object_.dictionary)))
    objects_of = np.bincount(facts // max(len(object_.dictionary), 1), minlength=len(pairs))
    of = pairs // everyone
    count = len(names)
    one, again = objects_of == 1, statements > 1
    totals = [np.bincount(of, mask, minlength=count) for mask in (None, one, again, one & again)]
    spellings = _spellings(predicates, _indices(predicate), count)
    return tuple(
        sorted(
            (
                Predicate(
                    str(names[k]),
                    spellings[k],
                    int(totals[0][k]),
                    int(totals[1][k]),
                    int(totals[2][k]),
                    int(totals[3][k]),
                    _chance_of_several(int(totals[0][k]) / everyone),
                )
                for k in range(count)
            ),
            key=lambda p: p.key,
        )
    )


def _chance_of_several(coverage: float) -> float:
    """The share of the covered subjects that chance gives more than one object; never quite 1."""
    mean = -math.log1p(-min(coverage, 1 - 1e-9))
    return 1 - mean * math.exp(-mean) / -math.expm1(-mean)


def _codes(column: Column) -> pa.DictionaryArray:
    return keys(column).dictionary_encode()


def _indices(encoded: pa.DictionaryArray) -> np.ndarray:
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _pack(left: np.ndarray, right: np.ndarray, width: int) -> np.ndarray:
    """Two codes as one number."""
    return left * max(width, 1) + right


def _spellings(predicates: Column, codes: np.ndarray, count: int) -> list[tuple[str, ...]]:
    """Code → the spellings of it, sorted."""
    column = predicates.combine_chunks() if isinstance(predicates, pa.ChunkedArray) else predicates
    table = pa.table({"code": codes, "text": column}).group_by(["code", "text"]).aggregate([])
    found: list[list[str]] = [[] for _ in range(count)]
    for code, text in zip(table["code"].to_pylist(), table["text"].to_pylist(), strict=True):
        found[code].append(text)
    return [tuple(sorted(texts)) for texts in found]


# Relevance: what a memory is worth now, from its importance or its use and its age.
#
# Two measures of two systems, over all active memories at once: *effective importance* (mnemo 2.4) fades from what was given, and
# *relevance* (Plugged.in 1.4) from how a memory was used. What is decided by them belongs to the planners.

Bools = NDArray[np.bool_]

CURVES: Final = ("exponential", "linear", "step", "power_law")
"""How importance fades; a curve's number is its place here."""

_READS: Final = 0.05  # of importance, for each doubling by e of 1 + reads
_HALF_LIFE_DAYS: Final = 30.0  # of Plugged.in's relevance, with 0.693 for ln 2
_REINFORCED: Final = 20  # re-observations that count
_UNKNOWN_SUCCESS: Final = 0.5
_HOUR: Final = 3_600_000_000  # microseconds


@dataclass(frozen=True, slots=True, eq=False)
class RelevanceScores:
    """Active memories (n, sorted by id) and what they are worth, (n,) each.

    ``exempt`` names the reason for which a memory does not fade, or is empty; ``importance`` and ``relevance`` are those of its
    first hour then. ``faded`` is the effective importance without that. ``age_hours`` counts from ``valid_from``, and from
    ``recorded_at`` where that is unknown, and for a summary, which is as old as the night that wrote it. ``observed_hours`` are those
    during which a recall of the memory would have been logged here.
    """

    memories: pa.Table
    exempt: pa.Array
    age_hours: Floats
    observed_hours: Floats
    importance: Floats
    faded: Floats
    relevance: Floats

    def is_unobserved(self, settings: Settings) -> Bools:
        """Return which memories (n,) had no chance to be recalled: recalls were logged after their arrival for less than the age limit."""
        least = settings.operations.archive_stale.min_age_hours
        return (self.observed_hours <= 0) | (self.observed_hours < least)


def effective_importance(
    importance: Floats,
    access: Floats,
    hours: Floats,
    rate: Floats | float = 0.01,
    curve: Ints | int = 0,
    parameter: Floats | float = 0.0,
) -> Floats:
    """min(1, base + 0.05 · ln(1 + reads)) (mnemo 2.4); with i the importance, r the rate an hour and h the hours since creation the
    base is i·e^(−rh) (exponential), i·max(0, 1 − rh) (linear), i while h < T, else 0 (step:T) or i / (1 + rh)^a (power_law:a).

    All (n,) or scalars; ``curve`` counts in ``CURVES`` and ``parameter`` is T in hours, or a. Age is that since creation, as mnemo
    has it: reads raise the value, they do not make a memory young.
    """
    hours = np.maximum(hours, 0.0)
    faded = rate * hours
    with np.errstate(over="ignore"):
        share = np.select(
            [np.equal(curve, 1), np.equal(curve, 2), np.equal(curve, 3)],
            [np.maximum(0.0, 1.0 - faded), np.where(hours < parameter, 1.0, 0.0), np.power(1.0 + faded, -parameter)],
            np.exp(-faded),
        )
    return np.minimum(1.0, importance * share + _READS * np.log1p(access))


def hourly_rate(half_life_days: Floats, curve: Ints, parameter: Floats) -> Floats:
    """The rate an hour with which each curve has fallen by half after the half-life; a step has none."""
    hours = np.maximum(half_life_days, 1e-9) * 24
    with np.errstate(over="ignore", divide="ignore"):
        power = np.exp2(1.0 / np.maximum(parameter, 1e-3)) - 1.0
    return np.select([np.equal(curve, 1), np.equal(curve, 3)], [0.5 / hours, power / hours], math.log(2) / hours)


def use_relevance(age_days: Floats, reinforcement: Floats, success: Floats, access: Floats) -> Floats:
    """max(0.01, 0.5 · exp(−0.693 · age / 30) · (1 + 0.15 · min(reinforcement, 20)) · (1 + 0.25 · success) · (1 + 0.1 · ln(1 + reads)))
    (Plugged.in 1.4, natural selection). Age in days from the last access, else from creation; unknown success (NaN) is 0.5. It may
    exceed 1.
    """
    fresh = 0.5 * np.exp(-0.693 * np.maximum(age_days, 0.0) / _HALF_LIFE_DAYS)
    reinforced = 1 + 0.15 * np.minimum(reinforcement, _REINFORCED)
    succeeded = 1 + 0.25 * np.where(np.isnan(success), _UNKNOWN_SUCCESS, success)
    return np.maximum(0.01, fresh * reinforced * succeeded * (1 + 0.1 * np.log1p(access)))


def worth(snapshot: Snapshot, settings: Settings) -> RelevanceScores:
    """Both measures of every active memory at the instant of the snapshot.

    The rate is the memory's own ``decay_rate``, else that of its kind's half-life where the settings name the kind, else
    ``relevance_decay_rate``; the curve is its ``decay_function``, else exponential. What is exempt (``slowwave.snapshots.rows``) does not
    fade. Cost: a pass over memories and versions, and one reading of each distinct ``attributes``.
    """
    memories = active_memories(snapshot)
    options = _options(memories["attributes"])
    access, reinforcement = (
        np.maximum(0, _numbers(memories, name)) for name in ("access_count", "reinforcement_count")
    )  # undo may leave a counter below zero
    recorded = pc.coalesce(memories["valid_from"], memories["recorded_at"])
    began = pc.if_else(pc.equal(memories["kind"], "summary"), memories["recorded_at"], recorded)
    age = _hours_since(snapshot, began)
    used = _hours_since(snapshot, pc.coalesce(memories["last_accessed_at"], began))
    rate = _rates(memories["kind"], options, settings)
    given = np.clip(_numbers(memories, "importance"), 0.0, 1.0)
    exempt = _exempt(memories, settings)
    fading = pc.equal(exempt, "").to_numpy(zero_copy_only=False)

    def importance(hours: Floats) -> Floats:
        return effective_importance(given, access, hours, rate, options.curve, options.parameter)

    return RelevanceScores(
        memories,
        exempt,
        age,
        _observed_hours(snapshot, memories),
        importance=importance(np.where(fading, age, 0.0)),
        faded=importance(age),
        relevance=use_relevance(np.where(fading, used, 0.0) / 24, reinforcement, options.success, access),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Options:
    """What memories' attributes say, (n,) each; ``rate`` and ``success`` are NaN where they say nothing."""

    rate: Floats
    success: Floats
    curve: Ints
    parameter: Floats


def _options(cells: pa.ChunkedArray) -> _Options:
    encoded = cells.combine_chunks().dictionary_encode()
    read = [_option(attributes(cell)) for cell in encoded.dictionary.to_pylist()]
    rows = np.array([*read, (math.nan, math.nan, 0.0, 0.0)], np.float64)
    own = rows[pc.fill_null(encoded.indices, len(read)).to_numpy(zero_copy_only=False)]
    return _Options(own[:, 0], own[:, 1], own[:, 2].astype(np.int64), own[:, 3])


def _option(said: dict[str, object]) -> tuple[float, float, float, float]:
    """Rate, success, curve and parameter of one memory; what cannot be read counts as not said."""
    name, _, rest = str(said.get("decay_function", "")).strip().lower().partition(":")
    curve, parameter = CURVES.index(name) if name in CURVES else 0, 0.0
    if curve >= 2:
        parameter = _number(rest)
        if math.isnan(parameter):
            curve, parameter = 0, 0.0
    success = min(_number(said.get("success")), 1.0)
    return _number(said.get("decay_rate")), success, float(curve), parameter


def _number(value: object) -> float:
    """A number of 0 or more, NaN for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return math.nan
    return number if 0 <= number < math.inf else math.nan


def _rates(kinds: pa.ChunkedArray, options: _Options, settings: Settings) -> Floats:
    encoded = kinds.combine_chunks().dictionary_encode()
    known = [settings.relevance_half_life_days.get(kind, math.nan) for kind in encoded.dictionary.to_pylist()]
    half_life = np.array(known, np.float64)[encoded.indices.to_numpy(zero_copy_only=False)]
    of_kind = hourly_rate(half_life, options.curve, options.parameter)
    rate = np.where(np.isnan(half_life), settings.relevance_decay_rate, of_kind)
    return np.where(np.isnan(options.rate), rate, options.rate)


def _exempt(memories: pa.Table, settings: Settings) -> pa.Array:
    number = np.full(len(memories), len(EXEMPT))
    for n, mask in enumerate(exemptions(memories, settings).values()):
        number[mask] = n
    return pa.array([*EXEMPT, ""], pa.string()).take(pa.array(number))


def _observed_hours(snapshot: Snapshot, memories: pa.Table) -> Floats:
    """Return the hours (n,) from the arrival of each memory, or the first logged read if that is later, to the last logged read.

    A memory that was imported yesterday with an old date, or lies in a namespace that logs no recalls, was never recalled because no recall
    could have been logged: the missing recall says nothing about its worth. A read is a recall event, or the time of a memory's last access
    if that is later than its arrival, since an import brings the times of another store.
    """
    arrived = _microseconds(memories["recorded_at"])
    accessed = _microseconds(pc.coalesce(memories["last_accessed_at"], memories["recorded_at"]))
    recalled = _microseconds(snapshot.table("recall_events")["occurred_at"])
    reads = np.concatenate([recalled, accessed[accessed > arrived]])
    reads = reads[reads <= snapshot.taken_at.timestamp() * 1e6]
    if not len(reads):
        return np.zeros(len(memories))
    return np.maximum((reads.max() - np.maximum(arrived, reads.min())) / _HOUR, 0.0)


def _microseconds(instants: pa.ChunkedArray) -> Ints:
    return instants.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_numpy()


def _hours_since(snapshot: Snapshot, instants: pa.ChunkedArray) -> Floats:
    """Hours up to the snapshot, 0 for what lies after it."""
    return np.maximum((snapshot.taken_at.timestamp() * 1e6 - _microseconds(instants)) / _HOUR, 0.0)


def _numbers(memories: pa.Table, column: str) -> Floats:
    return memories[column].to_numpy().astype(np.float64)


# Recall signals: what the use of a memory in recall says about its worth, each signal and the score between 0 and 1.
#
# The SQL models count recalls; the formulas are here. The model ``recall_signals`` shows the same signals with one half-life for all
# rows, the window; memories have one a kind. Sources: nexo 3.2 for the five signals and the original weights, operations 3 for ours.

WEIGHTS: Final[Mapping[str, float]] = {
    "frequency": 0.24,
    "relevance": 0.30,
    "recency": 0.15,
    "diversity": 0.15,
    "consolidation": 0.10,
    "selected_rate": 0.06,
}
"""Signal → its weight in the score; they sum to 1."""

NEXO_WEIGHTS: Final[Mapping[str, float]] = {name: w for name, w in WEIGHTS.items() if name != "selected_rate"}
"""nexo's own, which sum to 0.94."""

OTHER_HALF_LIFE_DAYS: Final = 90.0
"""Days in which the recency of kinds that the settings do not name falls by half (nexo 3.2)."""

_ENOUGH: Final = 5  # distinct questions, and distinct days, at which their signals saturate
_NEXO_CAP: Final = 6  # recalls at which nexo's frequency saturates
_DAY: Final = 86_400_000_000  # microseconds


@dataclass(frozen=True, slots=True, eq=False)
class Recalls:
    """How n rows were recalled, (n,) each: counts, ``relevance`` the mean score of the hits (0..1), ``days_since`` the last one.

    A row that was never recalled has zeros and ``days_since`` infinite.
    """

    recalls: Floats
    queries: Floats
    days: Floats
    selections: Floats
    relevance: Floats
    days_since: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Signals:
    """Signals and score of n rows, (n,) each, all within 0..1."""

    frequency: Floats
    relevance: Floats
    recency: Floats
    diversity: Floats
    consolidation: Floats
    selected_rate: Floats
    score: Floats


@dataclass(frozen=True, slots=True, eq=False)
class MemorySignals:
    """Memories' recalls and signals, (n,) in the memories' order; ``queries`` and ``days`` are what the gates of a promotion see."""

    uses: Recalls
    signals: Signals
    queries: Floats
    days: Floats

    def at(self, row: int) -> dict[str, float]:
        """One memory's figures, as promotions keep them: score and signals to four digits, and the counts."""
        signals = {name: round(float(getattr(self.signals, name)[row]), 4) for name in ("score", *WEIGHTS)}
        return signals | {
            name: int(getattr(self.uses, name)[row]) for name in ("recalls", "queries", "days", "selections")
        }


def signals(uses: Recalls, half_life_days: Floats | float, frequency_cap: int = 20) -> Signals:
    """Our signals: frequency ln(1 + n) / ln(1 + cap), diversity distinct questions / 5, consolidation distinct days / 5, recency
    halving with its half-life in days, and the share of recalls that the agent used; weights of ``WEIGHTS``.
    """
    return _weighed(
        WEIGHTS,
        frequency=np.log1p(uses.recalls) / np.log1p(frequency_cap),
        relevance=uses.relevance,
        recency=_recency(uses, half_life_days),
        diversity=uses.queries / _ENOUGH,
        consolidation=uses.days / _ENOUGH,
        selected_rate=uses.selections / np.maximum(uses.recalls, 1),
    )


def nexo_signals(uses: Recalls, half_life_days: Floats | float) -> Signals:
    """nexo's original (3.2): frequency ln(1 + n) / ln 7, diversity the greater of questions and days / 5, weights of 0.94 in sum."""
    return _weighed(
        NEXO_WEIGHTS,
        frequency=np.log1p(uses.recalls) / np.log1p(_NEXO_CAP),
        relevance=uses.relevance,
        recency=_recency(uses, half_life_days),
        diversity=np.maximum(uses.queries, uses.days) / _ENOUGH,
        consolidation=uses.days / _ENOUGH,
        selected_rate=np.zeros(len(uses.recalls)),
    )


def nexo_queries(found: Signals) -> Floats:
    """The number of questions as nexo's gate has it: rebuilt from diversity, so that days count as questions, and five at most."""
    return np.rint(_ENOUGH * found.diversity)


def score_memories(
    memories: pa.Table, models: Mapping[str, pa.Table], settings: Settings, taken_at: datetime
) -> MemorySignals:
    """Signals of memories (columns ``id`` and ``kind``) out of the models ``recall_signals``, or ``recall_signals_compat`` with the
    setting ``signals_compat``: then nexo's formula holds, its questions are rebuilt and its gate on days is none.

    Cost: a pass over the memories and the model.
    """
    half_lives = _half_lives(memories["kind"], settings)
    if settings.signals_compat:
        uses = recalls_of(memories["id"], models["recall_signals_compat"], taken_at)
        found = nexo_signals(uses, half_lives)
        return MemorySignals(uses, found, nexo_queries(found), np.full(len(memories), np.inf))
    uses = recalls_of(memories["id"], models["recall_signals"], taken_at)
    found = signals(uses, half_lives, settings.frequency_cap)
    return MemorySignals(uses, found, uses.queries, uses.days)


def recalls_of(ids: pa.ChunkedArray, model: pa.Table, taken_at: datetime) -> Recalls:
    """The model's counts for rows ``ids``, in their order."""
    places = pc.index_in(ids, value_set=model["row_id"].combine_chunks())

    def taken(column: str) -> Floats:
        found = pc.fill_null(model[column].cast(pa.float64()).take(places), 0.0)
        return found.to_numpy().astype(np.float64)

    last = model["last_recalled_at"].cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).take(places)
    since = (taken_at.timestamp() * 1e6 - pc.fill_null(last, 0).to_numpy()) / _DAY
    known = pc.is_valid(places).to_numpy()
    return Recalls(
        *(taken(c) for c in ("recalls", "queries", "days", "selections", "relevance")),
        days_since=np.where(known, np.maximum(since, 0), np.inf),
    )


def _half_lives(kinds: pa.ChunkedArray, settings: Settings) -> Floats:
    encoded = kinds.combine_chunks().dictionary_encode()
    days = [settings.relevance_half_life_days.get(k, OTHER_HALF_LIFE_DAYS) for k in encoded.dictionary.to_pylist()]
    return np.array(days, np.float64)[encoded.indices.to_numpy(zero_copy_only=False)]


def _recency(uses: Recalls, half_life_days: Floats | float) -> Floats:
    return np.exp2(-uses.days_since / np.maximum(half_life_days, 1e-9))


def _weighed(weights: Mapping[str, float], **found: Floats) -> Signals:
    clamped = {name: np.clip(values, 0.0, 1.0) for name, values in found.items()}
    score = np.zeros(len(clamped["frequency"]))
    for name, weight in weights.items():
        score += weight * clamped[name]
    return Signals(**clamped, score=np.minimum(score, 1.0))
