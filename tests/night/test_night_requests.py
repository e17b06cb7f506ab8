"""A request of an agent for a night: which nights take it, and how long it is kept."""

from __future__ import annotations

import pytest

from slowwave.night.night import run_night
from slowwave.night.retention import remove_namespace, retain
from slowwave.night.runs import NightRequest, open_requests
from slowwave.plans.seal import DreamScope
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from tests.memories import ago, ask, remember

TAKEN = """
SELECT n.slug, q.run_id IS NOT NULL, q.outcome FROM memory.night_requests q JOIN memory.namespaces n ON n.id = q.namespace_id
WHERE q.taken_at IS NOT NULL ORDER BY 1
"""


def requested(store: Store, namespace: str, why: str = "why") -> None:
    """Request a night of a namespace, which is created if it does not exist."""
    remember(store, namespace)
    ask(
        store,
        "INSERT INTO memory.night_requests (namespace_id, reason) SELECT id, %s FROM memory.namespaces WHERE slug = %s RETURNING 1",
        why,
        namespace,
    )


def reasons(store: Store) -> list[object]:
    """Return the reasons of all runs, the oldest first."""
    return [reason for (reason,) in ask(store, "SELECT parameters ->> 'reason' FROM night.runs ORDER BY started_at")]


def test_a_night_of_a_part_leaves_the_request_open(store: Store) -> None:
    """Neither selected operations nor a scope is the night that the agent requested; the whole one is."""
    requested(store, "acme")
    run_night(store, "acme", ops=["census"])
    run_night(store, "acme", scope=DreamScope(since=ago(1)))
    assert ask(store, TAKEN) == []
    run_night(store, "acme")
    assert ask(store, TAKEN) == [("acme", True, "")]
    assert reasons(store) == [None, None, "requested by a program without a token: why"]


def test_the_reason_of_a_person_precedes_that_of_the_request(store: Store) -> None:
    """The night takes the request all the same."""
    requested(store, "acme")
    run_night(store, "acme", reason="a new import")
    assert (ask(store, TAKEN), reasons(store)) == ([("acme", True, "")], ["a new import"])


def test_a_night_of_an_unchanged_namespace_states_the_reason_in_the_request(store: Store) -> None:
    """There is no run, and the request is closed."""
    remember(store, "acme")
    run_night(store, "acme")
    requested(store, "acme")
    night = run_night(store, "acme")
    assert night.skipped
    assert ask(store, TAKEN) == [("acme", False, night.skipped)]
    assert open_requests(store) == {}


@pytest.mark.parametrize(
    ("token_id", "agent", "reason", "expected"),
    [
        ("", "", "", "requested by a program without a token"),
        ("12ab", "kate", "much was learnt", "requested by token 12ab (kate): much was learnt"),
    ],
)
def test_the_reason_of_a_run_states_who_requested_it(token_id: str, agent: str, reason: str, expected: str) -> None:
    """A list of runs shows that the words are an agent's."""
    assert NightRequest("acme", "id", reason, agent, token_id).reason_of_run() == expected


def test_retention_removes_old_requests_and_removal_of_a_namespace_all(store: Store) -> None:
    """A request only records a night, so it does not keep a namespace from being deleted."""
    requested(store, "acme")
    ask(store, "UPDATE memory.night_requests SET recorded_at = %s RETURNING 1", ago(40))
    requested(store, "rival")
    kept = Settings.for_namespace({"retention_days": 30})
    assert [retain(store, name, kept)["night_requests"] for name in ("acme", "rival")] == [1, 0]
    assert remove_namespace(store, "rival").deleted
    assert ask(store, "SELECT count(*) FROM memory.night_requests") == [(0,)]
