"""Relevance: what a memory is worth now, from its importance or its use and its age.

Two measures of two systems, over all active memories at once: *effective importance* (mnemo 2.4) fades from what was given, and
*relevance* (Plugged.in 1.4) from how a memory was used. What is decided by them belongs to the planners.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.config.settings import Settings
from slowwave.rows.exemptions import EXEMPT, exemptions
from slowwave.rows.memories import active_memories, attributes
from slowwave.snapshots.snapshot import Snapshot

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
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
    ``relevance_decay_rate``; the curve is its ``decay_function``, else exponential. What is exempt (``slowwave.rows.exemptions``) does not
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
