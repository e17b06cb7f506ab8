"""Who holds a namespace, and who makes room for the next."""

from __future__ import annotations

import pytest

from slowwave.errors import DreamLockUnavailable, DreamRunStuckError
from slowwave.store.claims import holders, make_room, patiently
from slowwave.store.connect import Store
from slowwave.store.runs import find_run
from tests.dreamers import dead_run
from tests.memories import ask, behind_triggers, remember


def test_holders_are_the_runs_that_say_so_the_living_first(store: Store) -> None:
    namespace = remember(store, "acme")
    gone = dead_run(store, "acme", "plan", "planning", 90)
    alive = dead_run(store, "acme", "apply", "applying", 5)
    dead_run(store, "acme", "apply", "crashed", 1)
    with store.connect("reader") as connection:
        found = holders(connection, namespace, 60)
    assert [(h.run_id, h.mode, h.state, h.age, h.alive) for h in found] == [
        (alive, "apply", "applying", 5, True),
        (gone, "plan", "planning", 90, False),
    ]


def test_a_run_whose_heartbeat_expired_makes_room(store: Store) -> None:
    """It ended with its last heartbeat; whoever asks for it is told instead, unless it is their own."""
    namespace = remember(store, "acme")
    gone = dead_run(store, "acme", "apply", "applying", 90)
    with store.connect("applier") as connection:
        with pytest.raises(DreamRunStuckError, match=gone), connection.transaction():
            make_room(connection, "acme", namespace, 60, stuck="raise")
        with connection.transaction():
            make_room(connection, "acme", namespace, 60, stuck="raise", own=gone)
    assert ask(store, "SELECT state, finished_at = heartbeat_at FROM night.runs") == [("crashed", True)]


@pytest.mark.parametrize("mode", ["plan", "apply", "undo", "deep"])
def test_heartbeat_in_the_future_has_expired(store: Store, mode: str) -> None:
    """The database's clock was set back, or the value is forged (T4). A step of time synchronisation is no reason."""
    namespace = remember(store, "acme")
    state = "planning" if mode in ("plan", "deep") else "applying"
    run = dead_run(store, "acme", mode, state, 0)
    for ahead, alive in (("2 seconds", True), ("1 hour", False), ("100 years", False)):
        behind_triggers(store, f"UPDATE night.runs SET heartbeat_at = clock_timestamp() + interval '{ahead}'")
        with store.connect("reader") as connection:
            (found,) = holders(connection, namespace, 60)
            shown = find_run(connection, run)
        assert (found.alive, shown.alive, shown.stuck) == (alive, alive, not alive)
    with store.connect("applier") as connection:
        with pytest.raises(DreamRunStuckError, match="in the future of the database's clock"), connection.transaction():
            make_room(connection, "acme", namespace, 60, stuck="raise")
        with connection.transaction():
            make_room(connection, "acme", namespace, 60)
    assert ask(store, "SELECT state FROM night.runs") == [("crashed",)]


def test_a_run_that_is_alive_makes_none(store: Store) -> None:
    namespace = remember(store, "acme")
    alive = dead_run(store, "acme", "plan", "planning", 5)
    with (
        store.connect("planner") as connection,
        pytest.raises(DreamLockUnavailable, match=alive),
        connection.transaction(),
    ):
        make_room(connection, "acme", namespace, 60)
    assert ask(store, "SELECT state FROM night.runs") == [("planning",)]


def test_patience_ends(store: Store) -> None:
    """It is tried again until the time is over, and then refused as it was."""
    tries = []

    def claim() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise DreamLockUnavailable("held")
        return "mine"

    assert patiently(claim, 30) == "mine"
    tries.clear()
    with pytest.raises(DreamLockUnavailable, match="held"):
        patiently(claim, 0)
    assert len(tries) == 1
