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
from slowwave.operations.options import (
    SIGNAL_WEIGHTS,
    ArchiveStaleOptions,
    DecayTransitionOptions,
    PromoteMemoriesOptions,
)
from slowwave.snapshots.memories import active_memories, attributes
from slowwave.snapshots.models import FREQUENCY_CAP
from slowwave.snapshots.rows import EXEMPT, attribute_of, exemptions
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings
from slowwave.text.keys import keys

# Decay: how long a memory stays in its stage, and which stage follows (Plugged.in 1.4).
#
# A memory begins ``full`` and is shortened from stage to stage until it is forgotten, which archives it. The start of a stage is on
# record: the text of each stage is a version whose reason names the stage. The planner ``decay_transition`` writes the shorter text.

STAGES: Final = ("full", "compressed", "summary", "essence", "forgotten")
"""Stages in order; the last has no text of its own."""

DAY: Final = 86_400_000_000
"""Microseconds."""

_REASON: Final = "decay:"
_NEVER: Final = np.iinfo(np.int64).max

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """Decay schedule of n memories.

    ``stage`` (n,) are their positions in ``STAGES``, -1 for any other stage; ``due`` (n,) is when the next one begins, in µs since 1970.
    """

    stage: Ints
    due: Ints

    def is_due(self, now: int) -> Mask:
        """Return (n,) whether the next stage has begun at ``now``, in µs since 1970."""
        return self.due <= now


def reason(stage: str) -> str:
    """Return the reason that is stored with the version that holds the text of a stage."""
    return _REASON + stage


def next_stage(stage: str) -> str:
    """Return the stage after this one."""
    return STAGES[STAGES.index(stage) + 1]


def multipliers(reinforcements: Ints, accesses: Ints, success: Floats) -> Floats:
    """Return (n,) the factors by which the days of a stage are multiplied.

    All arguments are (n,). The factor is 2 for more than 5 reinforcements, 3 for more than 20 reads, and a half for a success below 0.3
    (NaN: unknown). Golden value: 6, 21 and 0.2 make 365 days 1,095.
    """
    bad = np.nan_to_num(success, nan=1.0) < 0.3
    return np.where(reinforcements > 5, 2.0, 1.0) * np.where(accesses > 20, 3.0, 1.0) * np.where(bad, 0.5, 1.0)


def schedule(snapshot: Snapshot, memories: pa.Table, settings: Settings) -> Schedule:
    """Compute when each of the memories (rows of that table) is due for its next stage.

    Exempt memories, and those without a known stage or a text, are never due. A stage begins with the version that its text was written
    as, a summary with its first version. A memory that no one has shortened begins ``full`` with its ``valid_from``, or with
    ``recorded_at`` if that is unknown. Time: linear in memories and versions.
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
    options = settings.options("decay_transition", DecayTransitionOptions)
    days = np.array([options.days.get(s, 0) for s in STAGES[:-1]] + [0], np.float64)
    lasting = np.rint(days[stage] * factor * DAY).astype(np.int64)
    never = (stage < 0) | (stage == len(STAGES) - 1) | (days[stage] <= 0)
    never |= memories["current_version_id"].is_null().to_numpy()
    for mask in exemptions(snapshot).values():
        never |= mask
    return Schedule(stage, np.where(never, _NEVER, began + lasting))


def _began(snapshot: Snapshot, memories: pa.Table, stage: Ints) -> Ints:
    """Return (n,) when the stage of each memory began, in µs."""
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
# Two objects of one subject contradict or replace each other only if the predicate takes one. That is not declared anywhere, and no word
# list contains it, so it is inferred from how objects are distributed over subjects, and only stated if the data support it. Pure
# functions: columns in, answers out. The planners and audits that use the answers decide what follows from them.

Column: TypeAlias = pa.Array | pa.ChunkedArray
Verdict = Literal["single", "many", "unknown"]

_SHARE: Final = 0.9  # of the subjects, to have one object
_RESTATED: Final = 10  # subjects stated more than once that speak for themselves
_SUBJECTS: Final = 20  # subjects from which a comparison with chance is made
_EXCEPTIONS: Final = 5  # subjects with several objects that make a predicate one of many
_DOUBT: Final = math.log(100)  # chance explains what was seen in less than one case of a hundred


@dataclass(frozen=True, slots=True)
class Predicate:
    """Evidence in the data about one predicate.

    ``spellings`` are those in the rows. ``subjects`` counts the subjects that have the predicate, ``single`` those of them with one
    object, ``restated`` those for which it is stated more than once and ``repeated`` those of these with one object. ``expected`` is the
    share of subjects that would have several objects if objects were assigned to subjects by chance.
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
        """Return the share of its subjects that have one object."""
        return self.single / self.subjects

    @property
    def verdict(self) -> Verdict:
        """Return ``single`` or ``many`` if the data support it, else ``unknown``.

        Single: nine of ten subjects have one object, and one of two conditions holds. Either ten or more subjects were stated again, and
        nine of ten of these stated the same. Or there are twenty subjects or more, those with several objects are at most half as many as
        by chance, and chance gives as few in less than one case of a hundred. Many: not single, and five subjects or more have several
        objects.
        """
        several = self.subjects - self.single
        beats_chance = self.subjects >= _SUBJECTS and self._beats_chance(several / self.subjects)
        if self.share >= _SHARE and (self.repeated_enough or beats_chance):
            return "single"
        return "many" if several >= _EXCEPTIONS else "unknown"

    @property
    def repeated_enough(self) -> bool:
        """Return whether ten subjects or more were stated again, and nine of ten of these stated the same.

        This evidence does not depend on an assumption about how statements are distributed over subjects.
        """
        return self.restated >= _RESTATED and self.repeated >= _SHARE * self.restated

    def _beats_chance(self, seen: float) -> bool:
        """Return whether Chernoff's bound on a binomial tail is small enough: exp(-n · KL(seen, expected))."""
        if seen > self.expected / 2:
            return False
        divergence = (1 - seen) * math.log((1 - seen) / (1 - self.expected))
        divergence += seen * math.log(seen / self.expected) if seen else 0.0
        return self.subjects * divergence >= _DOUBT

    def to_json(self) -> dict[str, object]:
        """Return the evidence in the form that items and reports show."""
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
    """Return the evidence in the data about each predicate, by key.

    Texts that differ only in case, spaces or punctuation count as one. The comparison with chance: a predicate that a share c of all
    subjects has would, if its statements were independent of each other (Poisson with mean λ = -ln(1 - c)), name a second object for 1 -
    λe⁻λ/(1 - e⁻λ) of them. A predicate that covers few subjects is therefore never distinguished from chance, and one that covers most of
    them is distinguished at once. Time: a sort of the n statements.
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
    """Return the share of the covered subjects that have more than one object by chance; always less than 1."""
    mean = -math.log1p(-min(coverage, 1 - 1e-9))
    return 1 - mean * math.exp(-mean) / -math.expm1(-mean)


def _codes(column: Column) -> pa.DictionaryArray:
    return keys(column).dictionary_encode()


def _indices(encoded: pa.DictionaryArray) -> np.ndarray:
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _pack(left: np.ndarray, right: np.ndarray, width: int) -> np.ndarray:
    """Combine two codes into one number."""
    return left * max(width, 1) + right


def _spellings(predicates: Column, codes: np.ndarray, count: int) -> list[tuple[str, ...]]:
    """Map each code to its spellings, sorted."""
    column = predicates.combine_chunks() if isinstance(predicates, pa.ChunkedArray) else predicates
    table = pa.table({"code": codes, "text": column}).group_by(["code", "text"]).aggregate([])
    found: list[list[str]] = [[] for _ in range(count)]
    for code, text in zip(table["code"].to_pylist(), table["text"].to_pylist(), strict=True):
        found[code].append(text)
    return [tuple(sorted(texts)) for texts in found]


# Relevance: the current worth of a memory, from its importance or its use and its age.
#
# Two measures of two systems, for all active memories at once: *effective importance* (mnemo 2.4) fades from the given importance, and
# *relevance* (Plugged.in 1.4) comes from the use of a memory. The planners decide what follows from them.

Bools = NDArray[np.bool_]

CURVES: Final = ("exponential", "linear", "step", "power_law")
"""Curves by which importance fades; a curve's number is its position here."""

_READS: Final = 0.05  # of importance, for each doubling by e of 1 + reads
_HALF_LIFE_DAYS: Final = 30.0  # of Plugged.in's relevance, with 0.693 for ln 2
_REINFORCED: Final = 20  # re-observations that count
_UNKNOWN_SUCCESS: Final = 0.5
_HOUR: Final = 3_600_000_000  # microseconds
_DECAY_RATE: Final = 0.01  # loss of importance an hour, as in mnemo


@dataclass(frozen=True, slots=True, eq=False)
class RelevanceScores:
    """Active memories (n, sorted by id) and their worth, (n,) each.

    ``exempt`` names the reason for which a memory does not fade, or is empty; in that case ``importance`` and ``relevance`` are those of
    its first hour. ``faded`` is the effective importance without this exemption. ``age_hours`` counts from ``valid_from``, and from
    ``recorded_at`` if that is unknown, and for a summary, which is as old as the night that wrote it. ``observed_hours`` are those during
    which a recall of the memory would have been logged here.
    """

    memories: pa.Table
    exempt: pa.Array
    age_hours: Floats
    observed_hours: Floats
    importance: Floats
    faded: Floats
    relevance: Floats

    def is_unobserved(self, settings: Settings) -> Bools:
        """Return which memories (n,) could not be recalled: recalls were logged after their arrival for less than the age limit."""
        least = settings.options("archive_stale", ArchiveStaleOptions).min_age_hours
        return (self.observed_hours <= 0) | (self.observed_hours < least)


def effective_importance(
    importance: Floats,
    access: Floats,
    hours: Floats,
    rate: Floats | float = 0.01,
    curve: Ints | int = 0,
    parameter: Floats | float = 0.0,
) -> Floats:
    """Compute the effective importance min(1, base + 0.05 · ln(1 + reads)) (mnemo 2.4).

    With i the importance, r the hourly rate and h the hours since creation, the base is i·e^(−rh) (exponential), i·max(0, 1 − rh)
    (linear), i while h < T, else 0 (step:T) or i / (1 + rh)^a (power_law:a). All arguments are (n,) or scalars; ``curve`` is a position
    in ``CURVES`` and ``parameter`` is T in hours, or a. Age counts from creation, as in mnemo: reads raise the value, but do not make a
    memory younger.
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
    """Return the hourly rate at which each curve falls by half within the half-life; a step has none."""
    hours = np.maximum(half_life_days, 1e-9) * 24
    with np.errstate(over="ignore", divide="ignore"):
        power = np.exp2(1.0 / np.maximum(parameter, 1e-3)) - 1.0
    return np.select([np.equal(curve, 1), np.equal(curve, 3)], [0.5 / hours, power / hours], math.log(2) / hours)


def use_relevance(age_days: Floats, reinforcement: Floats, success: Floats, access: Floats) -> Floats:
    """Compute the relevance of memories from their age and use (Plugged.in 1.4, natural selection).

    max(0.01, 0.5 · exp(−0.693 · age / 30) · (1 + 0.15 · min(reinforcement, 20)) · (1 + 0.25 · success) · (1 + 0.1 · ln(1 + reads))). Age
    is in days from the last access, else from creation; an unknown success (NaN) counts as 0.5. The result may exceed 1.
    """
    fresh = 0.5 * np.exp(-0.693 * np.maximum(age_days, 0.0) / _HALF_LIFE_DAYS)
    reinforced = 1 + 0.15 * np.minimum(reinforcement, _REINFORCED)
    succeeded = 1 + 0.25 * np.where(np.isnan(success), _UNKNOWN_SUCCESS, success)
    return np.maximum(0.01, fresh * reinforced * succeeded * (1 + 0.1 * np.log1p(access)))


def worth(snapshot: Snapshot, settings: Settings) -> RelevanceScores:
    """Compute both measures of every active memory at the instant of the snapshot.

    The rate is the memory's own ``decay_rate``, else that of its kind's half-life if the settings name the kind, else
    ``_DECAY_RATE``; the curve is its ``decay_function``, else exponential. Exempt memories (``slowwave.snapshots.rows``) do not
    fade. Cost: a pass over memories and versions, and one parse of each distinct ``attributes``.
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
    exempt = _exempt(snapshot)
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
    """Decay options in the memories' attributes, (n,) each; ``rate`` and ``success`` are NaN if not given."""

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
    """Return rate, success, curve and parameter of one memory; a value that cannot be parsed counts as not given."""
    name, _, rest = str(said.get("decay_function", "")).strip().lower().partition(":")
    curve, parameter = CURVES.index(name) if name in CURVES else 0, 0.0
    if curve >= 2:
        parameter = _number(rest)
        if math.isnan(parameter):
            curve, parameter = 0, 0.0
    success = min(_number(said.get("success")), 1.0)
    return _number(said.get("decay_rate")), success, float(curve), parameter


def _number(value: object) -> float:
    """Convert a value to a number of 0 or more, or to NaN if it is anything else."""
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
    rate = np.where(np.isnan(half_life), _DECAY_RATE, of_kind)
    return np.where(np.isnan(options.rate), rate, options.rate)


def _exempt(snapshot: Snapshot) -> pa.Array:
    number = np.full(len(active_memories(snapshot)), len(EXEMPT))
    for n, mask in enumerate(exemptions(snapshot).values()):
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
    """Return the hours up to the snapshot, 0 for later times."""
    return np.maximum((snapshot.taken_at.timestamp() * 1e6 - _microseconds(instants)) / _HOUR, 0.0)


def _numbers(memories: pa.Table, column: str) -> Floats:
    return memories[column].to_numpy().astype(np.float64)


# Recall signals: what the use of a memory in recall shows about its worth; each signal and the score are between 0 and 1.
#
# The SQL models count recalls; the formulas are here. The model ``recall_signals`` shows the same signals with one half-life for all
# rows, the window, and with the default weights; memories have one half-life per kind and the weights of their namespace. Sources: nexo
# 3.2 for the first five signals and their weights, operations 3 for ours.

OTHER_HALF_LIFE_DAYS: Final = 90.0
"""Days in which the recency of kinds that the settings do not name falls by half (nexo 3.2)."""

_ENOUGH: Final = 5  # distinct questions, and distinct days, at which their signals saturate
_NEXO_CAP: Final = 6  # recalls at which nexo's frequency saturates
_DAY: Final = 86_400_000_000  # microseconds


@dataclass(frozen=True, slots=True, eq=False)
class Recalls:
    """Recall counts of n rows, (n,) each.

    ``relevance`` is the mean score of the hits (0..1), ``days_since`` the time since the last recall in days. A row that was never
    recalled has zeros and an infinite ``days_since``.
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
    """Recalls and signals of memories, (n,) in their order; the gates of a promotion check ``queries`` and ``days``."""

    uses: Recalls
    signals: Signals
    queries: Floats
    days: Floats

    def at(self, row: int) -> dict[str, float]:
        """Return one memory's figures as promotions store them: score and signals to four digits, and the counts."""
        signals = {name: round(float(getattr(self.signals, name)[row]), 4) for name in ("score", *SIGNAL_WEIGHTS)}
        return signals | {
            name: int(getattr(self.uses, name)[row]) for name in ("recalls", "queries", "days", "selections")
        }


def signals(uses: Recalls, half_life_days: Floats | float, weights: Mapping[str, float] = SIGNAL_WEIGHTS) -> Signals:
    """Compute our signals from the recall counts, and their weighted sum.

    Frequency is ln(1 + n) / ln(1 + cap), diversity distinct questions / 5, consolidation distinct days / 5. Recency halves with its
    half-life in days. The last signal is the share of recalls that the agent used.
    """
    return _weighed(
        weights,
        frequency=np.log1p(uses.recalls) / np.log1p(FREQUENCY_CAP),
        relevance=uses.relevance,
        recency=_recency(uses, half_life_days),
        diversity=uses.queries / _ENOUGH,
        consolidation=uses.days / _ENOUGH,
        selected_rate=uses.selections / np.maximum(uses.recalls, 1),
    )


def nexo_signals(
    uses: Recalls, half_life_days: Floats | float, weights: Mapping[str, float] = SIGNAL_WEIGHTS
) -> Signals:
    """Compute nexo's original signals (3.2), whose default weights sum to 0.94, as there is no ``selected_rate``.

    Frequency is ln(1 + n) / ln 7, diversity the greater of questions and days / 5.
    """
    return _weighed(
        weights,
        frequency=np.log1p(uses.recalls) / np.log1p(_NEXO_CAP),
        relevance=uses.relevance,
        recency=_recency(uses, half_life_days),
        diversity=np.maximum(uses.queries, uses.days) / _ENOUGH,
        consolidation=uses.days / _ENOUGH,
        selected_rate=np.zeros(len(uses.recalls)),
    )


def nexo_queries(found: Signals) -> Floats:
    """Return the number of questions as in nexo's gate: rebuilt from diversity, so that days count as questions, at most five."""
    return np.rint(_ENOUGH * found.diversity)


def score_memories(
    memories: pa.Table, models: Mapping[str, pa.Table], settings: Settings, taken_at: datetime
) -> MemorySignals:
    """Compute the signals of memories (columns ``id`` and ``kind``) from a model of recall signals.

    The model is ``recall_signals``, or ``recall_signals_compat`` with the setting ``signals_compat``. In that case nexo's formula
    applies, its questions are rebuilt and its gate on days is open. Cost: a pass over the memories and the model.
    """
    half_lives = _half_lives(memories["kind"], settings)
    weights = settings.options("promote_memories", PromoteMemoriesOptions).weights
    if settings.signals_compat:
        uses = recalls_of(memories["id"], models["recall_signals_compat"], taken_at)
        found = nexo_signals(uses, half_lives, weights)
        return MemorySignals(uses, found, nexo_queries(found), np.full(len(memories), np.inf))
    uses = recalls_of(memories["id"], models["recall_signals"], taken_at)
    found = signals(uses, half_lives, weights)
    return MemorySignals(uses, found, uses.queries, uses.days)


def recalls_of(ids: pa.ChunkedArray, model: pa.Table, taken_at: datetime) -> Recalls:
    """Return the model's counts for the rows ``ids``, in their order."""
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
