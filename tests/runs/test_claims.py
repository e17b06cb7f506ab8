"""Who holds a namespace, and who makes room for the next."""

from __future__ import annotations

import pytest

from slowwave.errors import DreamLockUnavailable, DreamRunStuckError
from slowwave.runs.claims import holders, make_room, patiently
from slowwave.store.connect import Store
from tests.dreamers import dead_run
from tests.memories import ask, remember


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
