"""The claim of a run that writes: its token says whose the run is, and what is unfinished goes on under its own id."""

from __future__ import annotations

import uuid

import pytest

from slowwave.errors import DreamLockUnavailable
from slowwave.store.claims import (
    ControlRequests,
    NamespaceClaim,
    control_requests,
    end_claim,
    note_progress,
    open_claim,
    request_cancel,
    request_pause,
)
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from tests.memories import ask, remember


def claimed(connection: Connection, namespace: str, approval: str | None = None) -> NamespaceClaim:
    """An apply run that holds the namespace."""
    with connection.transaction():
        return open_claim(connection, "acme", namespace, "apply", approval_id=approval)


def test_what_people_ask_is_seen_by_the_claim(store: Store) -> None:
    namespace = remember(store, "acme")
    with store.connect("applier") as connection:
        claim = claimed(connection, namespace)
        assert control_requests(connection, claim) == ControlRequests(cancel=False, pause=False)
        request_pause(store, claim.run_id)
        assert control_requests(connection, claim) == ControlRequests(cancel=False, pause=True)
        assert request_cancel(store, claim.run_id).state == "applying"
        assert control_requests(connection, claim) == ControlRequests(cancel=True, pause=True)
        assert end_claim(connection, claim, "cancelled")
        assert control_requests(connection, claim).cancel


def test_an_unfinished_run_of_the_approval_goes_on_with_a_new_token(store: Store) -> None:
    """Whoever held the old one may say nothing more of the run."""
    namespace, approval = remember(store, "acme"), str(uuid.uuid4())
    with store.connect("applier") as connection:
        first = claimed(connection, namespace, approval)
        assert end_claim(connection, first, "crashed", error="killed")
        second = claimed(connection, namespace, approval)
        assert (second.run_id, second.resumed) == (first.run_id, True)
        assert not note_progress(connection, first, "apply", 9, 9)
        assert not end_claim(connection, first, "completed")
        with pytest.raises(DreamLockUnavailable, match="lost its claim"):
            control_requests(connection, first)
        assert note_progress(connection, second, "apply", 1, 9)
        assert end_claim(connection, second, "completed", counts={"applied": 9})
        third = claimed(connection, namespace, approval)
        assert third.run_id != first.run_id, "what is completed is not gone on with"
    assert ask(store, "SELECT state, counts, error FROM night.runs WHERE id = %s", first.run_id) == [
        ("completed", {"applied": 9}, None)
    ]
