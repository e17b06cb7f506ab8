"""What memories are worth: golden values of both measures, four curves, own options, and what does not fade."""

from __future__ import annotations

import math
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.operations.scoring import CURVES, RelevanceScores, effective_importance, hourly_rate, use_relevance, worth
from slowwave.store.settings import Settings
from tests.snapshots import TAKEN_AT, make_snapshot, uid


def of(value: float) -> np.ndarray:
    """A column of one row."""
    return np.array([value], np.float64)


@pytest.mark.parametrize(
    ("importance", "hours", "reads", "printed"),
    [
        (1, 160, 0, 0.2019),
        (1, 168, 0, 0.1864),
        (0.5, 91, 0, 0.2013),
        (0.5, 92, 0, 0.1993),
        (0.8, 168, 0, 0.1491),
        (0.5, 168, 25, 0.2561),
    ],
)
def test_mnemos_golden_values(importance: float, hours: float, reads: float, printed: float) -> None:
    """Effective importance at a rate of 0.01 an hour."""
    value = float(effective_importance(of(importance), of(reads), of(hours))[0])
    assert round(value, 4) == printed
    assert value == pytest.approx(importance * math.exp(-0.01 * hours) + 0.05 * math.log(1 + reads), abs=1e-6)


def test_plugged_ins_golden_value_is_not_capped_at_1() -> None:
    """Thirty days old, re-observed twenty times, always a success, read fifty times."""
    value = float(use_relevance(of(30), of(20), of(1), of(50))[0])
    assert round(value, 4) == 1.7417
    assert value == pytest.approx(0.5 * math.exp(-0.693) * 4 * 1.25 * (1 + 0.1 * math.log(51)), abs=1e-6)


def test_a_memory_unread_for_75_days_falls_below_the_floor() -> None:
    """Unknown success counts as half of one."""
    found = [float(use_relevance(of(days), of(0), of(math.nan), of(0))[0]) for days in (0, 74, 75, 9_000)]
    assert found[0] == pytest.approx(0.5625)
    assert found[1] > 0.1 > found[2]
    assert round(found[2], 4) == 0.0995
    assert found[3] == 0.01


@pytest.mark.parametrize(
    ("curve", "parameter", "expected"),
    [
        ("exponential", 0, 0.8 * math.exp(-0.5)),
        ("linear", 0, 0.8 * 0.5),
        ("step", 51, 0.8),
        ("step", 50, 0.0),
        ("power_law", 2, 0.8 / 1.5**2),
    ],
)
def test_each_curve(curve: str, parameter: float, expected: float) -> None:
    """After fifty hours at 0.01."""
    value = effective_importance(of(0.8), of(0), of(50), of(0.01), CURVES.index(curve), of(parameter))
    assert value[0] == pytest.approx(expected)


@pytest.mark.parametrize(("curve", "parameter"), [("exponential", 0.0), ("linear", 0.0), ("power_law", 1.5)])
def test_the_rate_of_a_half_life_halves_whatever_the_curve(curve: str, parameter: float) -> None:
    """A kind's half-life means the same for each of its memories."""
    number = np.array([CURVES.index(curve)])
    rate = hourly_rate(of(90), number, of(parameter))
    value = effective_importance(of(0.8), of(0), of(90 * 24), rate, number, of(parameter))
    assert value[0] == pytest.approx(0.4)


@given(
    importance=st.floats(0, 1),
    reads=st.integers(0, 1000),
    more=st.integers(0, 1000),
    hours=st.floats(0, 1e6),
    later=st.floats(0, 1e6),
    rate=st.floats(0, 10),
    curve=st.integers(0, 3),
    parameter=st.floats(0, 50),
)
def test_more_reads_never_lower_worth_and_time_never_raises_it(
    importance: float, reads: int, more: int, hours: float, later: float, rate: float, curve: int, parameter: float
) -> None:
    """Whatever the curve; effective importance lies within 0 and 1."""

    def value(reads: int, hours: float) -> float:
        return float(effective_importance(of(importance), of(reads), of(hours), of(rate), curve, of(parameter))[0])

    assert 0 <= value(reads, hours) <= value(reads + more, hours) <= 1
    assert value(reads, hours + later) <= value(reads, hours)
    used = [float(use_relevance(of(hours), of(2), of(math.nan), of(n))[0]) for n in (reads, reads + more)]
    assert 0.01 <= used[0] <= used[1]


def measured(*memories: dict[str, object], **settings: object) -> tuple[RelevanceScores, dict[str, int]]:
    """Worth of memories that began 100 hours ago, and the place of each."""
    start = TAKEN_AT - timedelta(hours=100)
    rows = [{"kind": "episodic", "importance": 1.0, "valid_from": start, **m} for m in memories]
    found = worth(make_snapshot(memories=rows), Settings(**settings))  # type: ignore[arg-type]
    return found, {id_: n for n, id_ in enumerate(found.memories["id"].to_pylist())}


def test_own_rate_then_the_kinds_half_life_then_the_setting() -> None:
    """The nearest word counts; a rate or a curve that cannot be read is not one."""
    found, at = measured(
        {"id": uid("own"), "attributes": {"decay_rate": 0.02}},
        {"id": uid("kind"), "kind": "feedback"},
        {"id": uid("setting")},
        {"id": uid("step"), "attributes": {"decay_function": "step:48"}},
        {"id": uid("power"), "attributes": {"decay_function": "power_law:1", "decay_rate": 0.01}},
        {"id": uid("broken"), "attributes": {"decay_function": "step:soon", "decay_rate": -1}},
        {"id": uid("odd"), "attributes": "[1]"},
    )
    expected = {
        "own": math.exp(-2),
        "kind": 0.5 ** (100 / 24 / 365),
        "setting": math.exp(-1),
        "step": 0.0,
        "power": 0.5,
        "broken": math.exp(-1),
        "odd": math.exp(-1),
    }
    for name, value in expected.items():
        assert found.importance[at[uid(name)]] == pytest.approx(value), name


def test_pinned_shock_and_procedural_memories_do_not_fade() -> None:
    """By what they are, by their ring or by their attributes; the reason that is named is the first."""
    found, at = measured(
        {"id": uid("pinned"), "pinned": True, "kind": "procedural"},
        {"id": uid("shock"), "attributes": {"shock": True}},
        {"id": uid("ring"), "ring": "shocks"},
        {"id": uid("how"), "kind": "procedural"},
        {"id": uid("practised"), "ring": "procedures"},
        {"id": uid("no shock"), "attributes": {"shock": "true"}},
    )
    reasons = {name: found.exempt[at[uid(name)]].as_py() for name in ("pinned", "shock", "ring", "how", "practised")}
    assert reasons == {
        "pinned": "pinned",
        "shock": "shock",
        "ring": "shock",
        "how": "procedural",
        "practised": "procedural",
    }
    assert [found.importance[at[uid(n)]] for n in reasons] == [1.0] * 5
    assert [found.relevance[at[uid(n)]] for n in reasons] == pytest.approx([0.5625] * 5)
    assert found.faded[at[uid("pinned")]] == pytest.approx(math.exp(-1))
    assert found.exempt[at[uid("no shock")]].as_py() == ""
    assert found.importance[at[uid("no shock")]] == pytest.approx(math.exp(-1))


def test_age_counts_from_the_start_else_from_the_record_and_never_below_zero() -> None:
    """mnemo's age is that since creation; Plugged.in's starts again with each read."""
    found, at = measured(
        {"id": uid("noted"), "valid_from": None, "recorded_at": TAKEN_AT - timedelta(hours=5)},
        {"id": uid("to come"), "valid_from": TAKEN_AT + timedelta(days=3)},
        {"id": uid("read"), "last_accessed_at": TAKEN_AT},
    )
    assert [found.age_hours[at[uid(n)]] for n in ("noted", "to come", "read")] == [5, 0, 100]
    assert found.relevance[at[uid("read")]] == pytest.approx(0.5625)


def test_an_empty_namespace_is_no_special_case() -> None:
    """The first night of all."""
    assert len(worth(make_snapshot(), Settings()).importance) == 0
