"""The garbage collector while many rows are read."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from slowwave.store.tables import SELDOM, few_collections


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[None]:
    """Python's own while a test runs."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_the_last_to_leave_gives_the_thresholds_back() -> None:
    """A night inside another, and one that fails."""
    with few_collections():
        with pytest.raises(ValueError, match="inside"), few_collections():
            raise ValueError("inside")
        assert gc.get_threshold() == SELDOM
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("own", [(0, 10, 10), (500_000, 5, 5)])
def test_who_collects_more_seldom_is_left_alone(own: tuple[int, int, int]) -> None:
    """A program that has switched the collector off does not find it on."""
    gc.set_threshold(*own)
    with few_collections():
        assert gc.get_threshold() == own
    assert gc.get_threshold() == own
