"""A time limit ends the run that it is told of, whichever comes first: the end of the time or the run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from slowwave.errors import Refused
from slowwave.store.connect import Store
from slowwave.surfaces.api.dreams import TimeLimit


class AtOurWord:
    """A timer that the test fires."""

    made: AtOurWord

    def __init__(self, interval: float, function: Callable[[], None]) -> None:
        self.interval, self.fire = interval, function
        AtOurWord.made = self

    def start(self) -> None:
        """Nothing, until ``fire``."""

    def cancel(self) -> None:
        """No longer."""
        self.fire = lambda: None


@pytest.fixture
def cancelled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Runs that were cancelled."""
    found: list[str] = []

    def request(store: Store, run_id: str) -> None:
        if run_id == "ended":
            raise Refused("It has ended.")
        found.append(run_id)

    monkeypatch.setattr("slowwave.surfaces.api.dreams.request_cancel", request)
    monkeypatch.setattr("slowwave.surfaces.api.dreams.Timer", AtOurWord)
    return found


STORE = Store("postgresql://nobody@nowhere.invalid/none")


def test_a_run_under_way_is_cancelled_when_the_time_is_up(cancelled: list[str]) -> None:
    """Once, whatever it says of itself afterwards."""
    limit = TimeLimit(STORE, 2.0)
    limit.applies_to("a")
    assert (AtOurWord.made.interval, cancelled, limit.fired) == (2.0, [], False)
    AtOurWord.made.fire()
    limit.applies_to("a")
    assert (cancelled, limit.fired) == (["a"], True)


def test_a_run_that_begins_after_the_time_was_up_is_cancelled_as_it_begins(cancelled: list[str]) -> None:
    """On a slow machine the time can be up before there is a run; it goes on no longer for that."""
    limit = TimeLimit(STORE, 0.2)
    AtOurWord.made.fire()
    assert not limit.fired
    limit.applies_to("late")
    assert (cancelled, limit.fired) == (["late"], True)


def test_one_that_has_ended_leaves_the_limit_to_the_next(cancelled: list[str]) -> None:
    """Between the plan and its apply."""
    limit = TimeLimit(STORE, 1.0)
    limit.applies_to("ended")
    AtOurWord.made.fire()
    assert not limit.fired
    limit.applies_to("next")
    assert (cancelled, limit.fired) == (["next"], True)


def test_without_seconds_or_once_stopped_nothing_is_cancelled(cancelled: list[str]) -> None:
    """The run goes on."""
    TimeLimit(STORE, None).applies_to("a")
    limit = TimeLimit(STORE, 1.0)
    limit.applies_to("b")
    limit.stop()
    AtOurWord.made.fire()
    assert cancelled == []
