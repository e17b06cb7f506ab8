"""Abstention drift: whether the thresholds below which an agent gives no answer still fit its scores.

The audit compares the configured thresholds with the scores of the newest recalls (khora 8.12).

khora reads a buffer that its engine never fills; here the samples are the recall events that have scores, the newest ``sample_cap``. The
combined score of an event is the mean of its scores. Fewer than ``min_samples`` samples do not justify a recommendation. Percentiles are
interpolated linearly. Time: a sort of the recall events.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import pyarrow.compute as pc

from slowwave.operations import Inputs
from slowwave.operations.options import AbstentionDriftOptions
from slowwave.plans.report import Finding, Report
from slowwave.snapshots.snapshot import Snapshot

Direction = Literal["raise", "lower", "calibrated"]

PERCENTILES: Final = (50, 90, 99)
_MARGIN: Final = 1.5  # how far a score and its threshold may lie apart
_TOP_SHARE: Final = 0.9
_COMBINED_SHARE: Final = 1.05

_THRESHOLDS: Final = ("min_top_score", "combined_threshold")


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Scores of the newest recalls, (s,) each: the best score, the mean of all scores, and the number of hits."""

    top_score: np.ndarray
    combined_score: np.ndarray
    chunk_count: np.ndarray

    def __len__(self) -> int:
        return len(self.top_score)


@dataclass(frozen=True, slots=True)
class Recommendation:
    """Recommended direction, threshold (empty if calibrated) and value."""

    direction: Direction
    threshold: str = ""
    suggested: float | None = None


def abstention_drift(inputs: Inputs) -> Report:
    """Check whether the thresholds below which the agent gives no answer still fit the scores of its recalls."""
    settings = inputs.settings
    events = inputs.snapshot.table("recall_events")
    options = settings.options("abstention_drift", AbstentionDriftOptions)
    found, scored = samples(inputs.snapshot, options.sample_cap)
    thresholds: dict[str, float] = {name: getattr(options, name) for name in _THRESHOLDS}
    least = options.min_samples
    numbers: dict[str, int | float] = {
        "recall events": len(events),
        "with scores": scored,
        "sample_count": len(found),
        "min_samples": least,
        **thresholds,
    }
    known: dict[str, object] = {
        "sample_count": len(found),
        "min_samples": least,
        "configured_thresholds": thresholds,
    }
    if len(found) < max(least, 1):
        headline = f"Too few recalls with scores for a recommendation: {len(found):,} of {max(least, 1):,}."
        return Report("abstention_drift", headline, numbers, details={"status": "insufficient_data", **known})
    observed = {
        name: {f"p{q}": float(np.percentile(values, q)) for q in PERCENTILES}
        for name, values in (
            ("top_score", found.top_score),
            ("combined_score", found.combined_score),
            ("chunk_count", found.chunk_count),
        )
    }
    advice = recommend(
        observed["top_score"]["p90"],
        observed["combined_score"]["p90"],
        thresholds["min_top_score"],
        thresholds["combined_threshold"],
    )
    numbers |= {f"{name}_{q}": value for name, values in observed.items() for q, value in values.items()}
    suggested = {} if advice.suggested is None else {advice.threshold: advice.suggested}
    return Report(
        "abstention_drift",
        _headline(advice, thresholds, len(found)),
        numbers,
        findings=_findings(advice, thresholds),
        details={
            "status": "recommend",
            **known,
            "observed": observed,
            "recommendation": advice.direction,
            "suggested": suggested,
        },
    )


def samples(snapshot: Snapshot, cap: int) -> tuple[Samples, int]:
    """Return the newest ``cap`` recalls with scores, newest first, and the number of recalls with scores.

    Scores that are not finite do not count.
    """
    events = snapshot.table("recall_events").select(["id", "occurred_at", "hit_ids", "scores"])
    scored = events.filter(pc.greater(pc.fill_null(pc.list_value_length(events["scores"]), 0), 0))
    order = [("occurred_at", "descending"), ("id", "ascending")]
    newest = scored.sort_by(order).slice(0, cap)
    lists = newest["scores"].combine_chunks()
    of = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    values = pc.fill_null(pc.list_flatten(lists), float("nan")).to_numpy(zero_copy_only=False)
    sound = np.isfinite(values)
    of, values = of[sound], values[sound]
    count = np.bincount(of, minlength=len(newest))
    top = np.full(len(newest), -np.inf)
    np.maximum.at(top, of, values)
    total = np.bincount(of, values, minlength=len(newest))
    some = count > 0
    hits = pc.fill_null(pc.list_value_length(newest["hit_ids"]), 0).to_numpy().astype(np.int64)
    return Samples(top[some], total[some] / count[some], hits[some]), len(scored)


def recommend(top_p90: float, combined_p90: float, min_top_score: float, combined_threshold: float) -> Recommendation:
    """Return the recommendation of the first of khora's rules that applies; a threshold of 0 means none and has no rule.

    If the best hits are far below the floor: lower it. If all hits together are far above their threshold: raise it; if far below: lower
    it.
    """
    if min_top_score and top_p90 * _MARGIN < min_top_score:
        return Recommendation("lower", "min_top_score", top_p90 * _TOP_SHARE)
    if combined_threshold and combined_p90 > _MARGIN * combined_threshold:
        return Recommendation("raise", "combined_threshold", combined_p90 * _COMBINED_SHARE)
    if combined_threshold and combined_p90 * _MARGIN < combined_threshold:
        return Recommendation("lower", "combined_threshold", combined_p90 * _COMBINED_SHARE)
    return Recommendation("calibrated")


def _headline(advice: Recommendation, thresholds: Mapping[str, float], count: int) -> str:
    if advice.suggested is not None:
        verb = "Raise" if advice.direction == "raise" else "Lower"
        now = thresholds[advice.threshold]
        return f"{verb} {advice.threshold} from {now:g} to {advice.suggested:.4g}, by the scores of {count:,} recalls."
    if not any(thresholds.values()):
        return (
            f"No threshold is set, so none can be off; {count:,} recalls have scores. Set "
            "SLOWWAVE_OPERATIONS__ABSTENTION_DRIFT__MIN_TOP_SCORE or SLOWWAVE_OPERATIONS__ABSTENTION_DRIFT__COMBINED_THRESHOLD to what the "
            "agent uses."
        )
    return f"The thresholds fit the scores of {count:,} recalls."


def _findings(advice: Recommendation, thresholds: Mapping[str, float]) -> tuple[Finding, ...]:
    if advice.suggested is None:
        return ()
    why = "far under" if advice.direction == "lower" else "far over"
    return (
        Finding(
            f"The 90th percentile of scores lies {why} {advice.threshold} ({thresholds[advice.threshold]:g}): "
            f"{advice.direction} it to {advice.suggested:.4g}.",
            severity="warning",
            details={"threshold": advice.threshold, "suggested": advice.suggested},
        ),
    )
