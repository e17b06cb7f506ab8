"""Buckets: a burst, then a steady rate, each key by itself."""

from __future__ import annotations

from slowwave.wiki.serving.answering import RequestRate


def test_a_burst_then_a_steady_rate() -> None:
    """Two a second, four at once; waiting fills no more than the bucket."""
    rate = RequestRate(2, 4)
    assert [rate.take("a", 0) for _ in range(6)] == [0, 0, 0, 0, 0.5, 0.5]
    assert rate.take("b", 0) == 0
    assert [rate.take("a", 0.5) for _ in range(2)] == [0, 0.5]
    assert [rate.take("a", 1000) == 0 for _ in range(5)] == [True] * 4 + [False]


def test_a_clock_that_goes_back_gives_nothing() -> None:
    """Nor does it take anything."""
    rate = RequestRate(1, 1)
    assert rate.take("a", 100) == 0
    assert rate.take("a", 0) == 1
