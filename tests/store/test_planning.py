"""The row of a plan run: whoever lost it writes no plan, and a Dagster run finds its own again."""

from __future__ import annotations

import pytest

from slowwave.errors import DreamCancelled, DreamLockUnavailable, Refused
from slowwave.store.claims import (
    check_cancelled,
    crash_plan_run,
    end_plan_run,
    open_plan_run,
    reopen_plan_run,
    request_cancel,
    under_way,
)
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.runs import find_run
from tests.memories import ask, remember


def end(connection: Connection, run_id: str) -> None:
    """As the ledger of plans does."""
    end_plan_run(
        connection,
        run_id,
        "awaiting_approval",
        "a" * 64,
        settings_fingerprint="f",
        change_counter=7,
        counts={"planned": 2},
    )


def test_a_run_is_joined_to_its_plan_when_its_work_ends(store: Store) -> None:
    remember(store, "acme")
    with store.connect("planner") as connection:
        end(connection, open_plan_run(connection, "acme"))
    assert ask(
        store,
        "SELECT state, plan_hash, settings_fingerprint, change_counter, counts, finished_at = heartbeat_at FROM night.runs",
    ) == [("awaiting_approval", "a" * 64, "f", 7, {"planned": 2}, True)]


def test_a_run_that_is_planning_no_longer_is_joined_to_none(store: Store) -> None:
    """Cancelled by a person or taken over: it says which, and stays as it is."""
    remember(store, "acme")
    with store.connect("planner") as connection:
        cancelled = open_plan_run(connection, "acme")
        request_cancel(store, cancelled)
        with pytest.raises(DreamCancelled, match=cancelled):
            end(connection, cancelled)
        taken = open_plan_run(connection, "acme")
        assert crash_plan_run(connection, taken, "gone")
        assert not crash_plan_run(connection, taken, "gone again")
        with pytest.raises(DreamLockUnavailable, match="it is crashed"):
            end(connection, taken)
        with pytest.raises(DreamLockUnavailable, match="it is crashed"):
            check_cancelled(store, taken)
    assert ask(store, "SELECT count(*) FROM night.runs WHERE plan_hash IS NOT NULL OR error = 'gone again'") == [(0,)]


def test_a_dagster_run_finds_its_plan_runs_while_they_are_planning(store: Store) -> None:
    remember(store, "acme")
    with store.connect("planner") as connection:
        run_id = open_plan_run(connection, "acme", dagster_run_id="one")
        assert list(under_way(connection, "two")) == []
        assert [(r.run_id, r.namespace) for r in under_way(connection, "one")] == [(run_id, "acme")]
        request_cancel(store, run_id)
        assert list(under_way(connection, "one")) == []


def test_a_plan_run_that_is_over_is_not_reopened(store: Store) -> None:
    """One that was cancelled plans again under its own id, once."""
    remember(store, "acme")
    with store.connect("planner") as connection:
        run_id = open_plan_run(connection, "acme", parameters={"ops": ["orphans"]})
        run = request_cancel(store, run_id)
        reopen_plan_run(connection, run)
        again = find_run(connection, run_id)
        assert (again.state, again.trigger, again.cancel_requested) == ("planning", "resume", False)
        assert again.parameters == {"ops": ["orphans"]}
        end(connection, run_id)
        with pytest.raises(Refused, match="went on elsewhere"):
            reopen_plan_run(connection, run)
