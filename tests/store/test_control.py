"""What people ask of a run is answered by what it is when it is written, not by what it was when it was read."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from slowwave.errors import Refused
from slowwave.store.claims import (
    cancel_rest,
    control_requests,
    open_claim,
    request_cancel,
    request_pause,
    request_resume,
)
from slowwave.store.connect import Store
from slowwave.store.runs import Run
from tests.dreamers import dead_run
from tests.memories import ask, remember
from tests.waiting import until


@pytest.mark.parametrize(
    ("mode", "state", "request_", "says"),
    [
        ("plan", "planning", request_cancel, "is completed, so there is nothing to cancel"),
        ("apply", "applying", request_cancel, "is completed, so there is nothing to cancel"),
        ("plan", "planning", request_pause, "is completed: there is nothing under way to pause"),
        ("apply", "applying", request_resume, "is completed: there is nothing under way to resume"),
    ],
)
def test_whoever_asks_while_the_run_ends_is_told_that_it_ended(
    store: Store, mode: str, state: str, request_: Callable[[Store, str], Run], says: str
) -> None:
    """It was read as under way, and its last statement was committed before the request could be written."""
    remember(store, "acme")
    run_id = dead_run(store, "acme", mode, state, 0)
    with ThreadPoolExecutor(1) as people, store.connect("owner") as ending:
        with ending.transaction():
            ending.execute("UPDATE night.runs SET state = 'completed', finished_at = now() WHERE id = %s", (run_id,))
            asked = people.submit(request_, store, run_id)
            _until_somebody_waits(store)
        with pytest.raises(Refused, match=says):
            asked.result(30)
    assert ask(store, "SELECT state, cancel_requested_at, pause_requested_at FROM night.runs") == [
        ("completed", None, None)
    ]


def test_the_rest_of_an_unfinished_apply_run_alone_is_cancelled(store: Store) -> None:
    remember(store, "acme")
    cancelled = {
        (mode, state)
        for mode in ("plan", "apply", "undo")
        for state in ("crashed", "paused", "cancelled", "completed")
        for run in [dead_run(store, "acme", mode, state, 0)]
        if _cancel_rest(store, run)
    }
    assert cancelled == {("apply", "crashed"), ("apply", "paused")}


@pytest.mark.parametrize(("mode", "state"), [("apply", "applying"), ("undo", "applying"), ("plan", "planning")])
def test_cancel_dead_frees_the_namespace_however_fresh_the_heartbeat(store: Store, mode: str, state: str) -> None:
    """Without it a run that writes is only asked to stop, and its dead process never does."""
    remember(store, "acme")
    run_id = dead_run(store, "acme", mode, state, 1)
    if mode != "plan":
        assert request_cancel(store, run_id).state == "applying"
    assert request_cancel(store, None, "acme", dead=True).run_id == run_id
    assert ask(store, "SELECT state FROM night.runs") == [("cancelled",)]
    with pytest.raises(Refused, match="No run holds acme"):
        request_cancel(store, None, "acme", dead=True)


def test_run_cancelled_as_dead_stops_before_its_next_batch(store: Store) -> None:
    """Its process was alive after all: the claim is not lost, it finds that it was cancelled."""
    namespace = remember(store, "acme")
    with store.connect("applier") as connection:
        with connection.transaction():
            claim = open_claim(connection, "acme", namespace, "apply")
        request_cancel(store, claim.run_id, dead=True)
        assert control_requests(connection, claim).cancel


def _cancel_rest(store: Store, run_id: str) -> bool:
    with store.connect("applier") as connection:
        return cancel_rest(connection, run_id)


def _until_somebody_waits(store: Store) -> None:
    until(lambda: ask(store, "SELECT 1 FROM pg_locks WHERE NOT granted"))
