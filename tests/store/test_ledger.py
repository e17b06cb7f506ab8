"""The rows of runs: where each mode begins, and that of two who move one run, one alone does."""

from __future__ import annotations

import pytest

from slowwave.store.connect import Store
from slowwave.store.runs import Mode, insert_run, move_run, state_of
from tests.memories import ask, remember


@pytest.mark.parametrize(("mode", "state"), [("plan", "planning"), ("apply", "applying"), ("undo", "applying")])
def test_a_run_begins_by_holding_its_namespace(store: Store, mode: Mode, state: str) -> None:
    namespace = remember(store, "acme")
    with store.connect("applier") as connection:
        run = insert_run(connection, namespace, mode, trigger="manual", parameters={"ops": ["orphans"]})
        assert state_of(connection, run) == state
        assert state_of(connection, namespace) == "", "there is no run of that id"
    assert ask(store, "SELECT id::text, mode, parameters, progress, finished_at, dagster_run_id FROM night.runs") == [
        (run, mode, {"ops": ["orphans"]}, {}, None, None)
    ]


def test_of_two_who_end_a_run_one_wins(store: Store) -> None:
    """The other is told, and changes neither its state nor what it came to."""
    namespace = remember(store, "acme")
    with store.connect("planner") as one, store.connect("planner") as two:
        run = insert_run(one, namespace, "plan", trigger="manual")
        assert move_run(one, run, "completed", ("planning",), counts={"planned": 3})
        assert not move_run(two, run, "crashed", ("planning",), counts={"planned": 0}, error="too late")
    assert ask(store, "SELECT state, counts, error FROM night.runs") == [("completed", {"planned": 3}, None)]


def test_a_transition_that_is_none_is_a_fault_of_the_code(store: Store) -> None:
    namespace = remember(store, "acme")
    with store.connect("planner") as connection:
        run = insert_run(connection, namespace, "plan", trigger="manual")
        with pytest.raises(ValueError, match="rejected"):
            move_run(connection, run, "approved", ("rejected",))
        assert state_of(connection, run) == "planning"


def test_what_people_make_of_a_plan_keeps_the_end_of_its_run(store: Store) -> None:
    """Work ended when the plan was written; its counts and its error stay where none are given."""
    namespace = remember(store, "acme")
    with store.connect("planner") as connection:
        run = insert_run(connection, namespace, "plan", trigger="manual")
        move_run(connection, run, "awaiting_approval", ("planning",), counts={"planned": 1})
        before = ask(store, "SELECT finished_at, heartbeat_at, counts FROM night.runs")
        assert move_run(connection, run, "approved", ("awaiting_approval",))
        assert move_run(connection, run, "awaiting_approval", ("approved",))
    assert ask(store, "SELECT finished_at, heartbeat_at, counts FROM night.runs") == before
