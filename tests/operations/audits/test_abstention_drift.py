"""Abstention drift: khora's rules, and samples that the store really has."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from slowwave.operations import AUDITS
from slowwave.operations.audits.abstention_drift import recommend, samples
from slowwave.plans.report import Report
from slowwave.snapshots.snapshot import Snapshot
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

abstention_drift = AUDITS["abstention_drift"]


@pytest.mark.parametrize(
    ("scores", "thresholds", "expected"),
    [
        # top p90 · 1.5 < floor: lower the floor to p90 · 0.9
        ((0.4, 0.4), (0.61, 0.4), ("lower", "min_top_score", 0.36)),
        # combined p90 > 1.5 · threshold: raise it to p90 · 1.05
        ((0.4, 0.4), (0.5, 0.26), ("raise", "combined_threshold", 0.42)),
        # combined p90 · 1.5 < threshold: lower it to p90 · 1.05
        ((0.4, 0.4), (0.5, 0.61), ("lower", "combined_threshold", 0.42)),
        # none holds
        ((0.4, 0.4), (0.5, 0.4), ("calibrated", "", None)),
        # the first that holds decides
        ((0.4, 0.4), (0.61, 0.1), ("lower", "min_top_score", 0.36)),
        # a threshold of 0 has no rule
        ((0.4, 0.4), (0.0, 0.1), ("raise", "combined_threshold", 0.42)),
        ((0.4, 0.4), (0.0, 0.0), ("calibrated", "", None)),
        ((0.4, 0.4), (0.61, 0.0), ("lower", "min_top_score", 0.36)),
        # at the edge nothing is said
        ((0.5, 0.75), (0.75, 0.5), ("calibrated", "", None)),
    ],
)
def test_the_rules_are_khoras(
    scores: tuple[float, float], thresholds: tuple[float, float], expected: tuple[str, str, float | None]
) -> None:
    """Golden values of section 8.12, for each direction."""
    advice = recommend(*scores, *thresholds)
    assert (advice.direction, advice.threshold) == expected[:2]
    assert advice.suggested == (None if expected[2] is None else pytest.approx(expected[2]))


def recalls(*scores: list[float], **options: object) -> Snapshot:
    """Make a snapshot of recall events with these scores, the newest first."""
    return make_snapshot(
        settings={"operations": {"abstention_drift": {"min_samples": 3, **options}}},
        recall_events=[
            {
                "id": uid(n),
                "occurred_at": TAKEN_AT - timedelta(minutes=n),
                "query": "secret question",
                "hit_ids": [uid(f"{n} {k}") for k in range(len(s))],
                "scores": s,
            }
            for n, s in enumerate(scores)
        ],
    )


def audit(snapshot: Snapshot) -> Report:
    return abstention_drift(make_inputs(snapshot))


def test_too_few_samples_give_no_advice_and_say_how_many_there_are() -> None:
    """Two scored recalls of three; what is configured is shown all the same."""
    report = audit(recalls([0.5], [0.4], [], min_top_score=0.9))
    assert report.details["status"] == "insufficient_data"
    assert report.details["sample_count"] == 2
    assert report.details["configured_thresholds"] == {"min_top_score": 0.9, "combined_threshold": 0.0}
    assert report.headline == "Too few recalls with scores for a recommendation: 2 of 3."
    assert (report.numbers["recall events"], report.numbers["with scores"]) == (3, 2)


def test_samples_come_from_the_recalls_of_the_store() -> None:
    """khora's buffer is filled by nobody. The best score, the mean of all, the number of hits; linear interpolation."""
    report = audit(recalls([0.9, 0.1], [0.8, 0.6], [0.7], [0.2, 0.2, 0.2], min_top_score=0.5))
    observed = report.details["observed"]
    assert isinstance(observed, dict)
    assert observed["top_score"]["p50"] == pytest.approx(0.75)
    assert observed["top_score"]["p90"] == pytest.approx(0.87)  # 0.8 + 0.7 · 0.1
    assert observed["combined_score"]["p50"] == pytest.approx(0.6)  # of 0.2, 0.5, 0.7, 0.7
    assert observed["chunk_count"]["p99"] == pytest.approx(2.97)
    assert report.details["recommendation"] == "calibrated"
    assert report.headline == "The thresholds fit the scores of 4 recalls."
    json.dumps(dict(report.details))


@pytest.mark.parametrize(
    ("options", "said", "suggested"),
    [
        ({"min_top_score": 0.9}, "lower", {"min_top_score": 0.45}),
        ({"combined_threshold": 0.2}, "raise", {"combined_threshold": 0.525}),
        ({"combined_threshold": 0.9}, "lower", {"combined_threshold": 0.525}),
    ],
)
def test_each_direction_is_reported_with_a_value(
    options: dict[str, float], said: str, suggested: dict[str, float]
) -> None:
    """The thresholds are the agent's, told by the settings."""
    report = audit(recalls(*[[0.5, 0.5]] * 5, **options))
    assert (report.details["recommendation"], report.findings[0].severity) == (said, "warning")
    assert report.details["suggested"] == {k: pytest.approx(v) for k, v in suggested.items()}
    assert said in report.headline.lower()


def test_without_thresholds_the_report_says_how_to_set_them() -> None:
    """Calibrated, as khora says, but not silently."""
    report = audit(recalls(*[[0.5]] * 3))
    assert report.details["recommendation"] == "calibrated"
    assert "SLOWWAVE_OPERATIONS__ABSTENTION_DRIFT__MIN_TOP_SCORE" in report.headline


def test_the_newest_recalls_count_up_to_the_cap() -> None:
    """Old scores are those of an old model."""
    found, scored = samples(recalls([0.3], [0.2], [0.9], [0.8]), 2)
    assert (found.top_score.tolist(), scored) == ([0.3, 0.2], 4)


def test_scores_that_are_no_numbers_do_not_count() -> None:
    """A recall without any other has none."""
    found, _ = samples(recalls([float("nan"), 0.4], [float("inf")], [0.2, float("-inf")]), 10)
    assert found.top_score.tolist() == [0.4, 0.2]
    assert found.combined_score.tolist() == [0.4, 0.2]
    assert found.chunk_count.tolist() == [2, 2]


def test_no_query_is_in_the_report() -> None:
    """What people asked is not needed for it."""
    assert "secret" not in audit(recalls(*[[0.5]] * 3)).markdown()
