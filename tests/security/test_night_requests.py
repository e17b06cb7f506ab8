"""Requests for nights, attacked with each login: only a token with the scope makes one, and only a planner takes it."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from slowwave.night.night import run_night
from slowwave.store.connect import Store
from tests.memories import ask, remember
from tests.wiki.serving import token_of

REQUEST = "SELECT memory.request_night(%s::text, %s::text, %s::text, %s::text, %s::double precision)"
INSERT = "INSERT INTO memory.night_requests (namespace_id, reason) SELECT id, 'x' FROM memory.namespaces LIMIT 1"
TAKE = "UPDATE memory.night_requests SET taken_at = now()"
ROWS = "SELECT id::text, namespace_id::text, taken_at, run_id, reason FROM memory.night_requests ORDER BY recorded_at"


@pytest.fixture
def towns(store: Store) -> Store:
    """Two namespaces."""
    remember(store, "acme")
    remember(store, "rival")
    return store


def request(store: Store, role: str, *values: object) -> dict[str, Any]:
    """Call the function with the login of a role; values are namespace, token, reason, agent and hours."""
    defaults = ("acme", "", "why", "kate", 24.0)
    with psycopg.connect(store.logins[role], autocommit=True) as connection:
        row = connection.execute(REQUEST, (*values, *defaults[len(values) :])).fetchone()
    assert row is not None
    return row[0]


def refused(store: Store, role: str, statement: str) -> bool:
    """Return whether the login of a role lacks the right to a statement."""
    with psycopg.connect(store.logins[role]) as connection:
        try:
            connection.execute(statement.encode())
        except psycopg.errors.InsufficientPrivilege:
            return True
    return False


def test_the_server_requests_a_night_only_with_a_token_of_the_namespace_and_the_scope(towns: Store) -> None:
    """Ids and hashes of tokens, which the login reads, open nothing, nor does a store without tokens."""
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        request(towns, "server")
    mine, theirs = token_of(towns, "acme", "night"), token_of(towns, "rival", "night")
    every, gone = token_of(towns, "acme", "read", "write", "propose", "approve"), token_of(towns, "acme", "night")
    ask(towns, "UPDATE memory.tokens SET revoked_at = now() WHERE id = %s RETURNING 1", gone.split("_")[1])
    ((hash_,),) = ask(towns, "SELECT encode(hash, 'hex') FROM memory.tokens WHERE id = %s", mine.split("_")[1])
    for token in ("", theirs, every, gone, f"slw_{mine.split('_')[1]}_{hash_}", mine[:-1], f"{mine}0"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="Nothing was requested"):
            request(towns, "server", "acme", token)
    for namespace in ("rival", "nowhere", None):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            request(towns, "server", namespace, mine)
    assert ask(towns, ROWS) == []
    assert request(towns, "server", "acme", mine)["known"] is False


@pytest.mark.parametrize("values", [("x" * 501, ""), ("", "x" * 201)])
def test_a_request_out_of_bounds_is_refused_by_the_database(towns: Store, values: tuple[str, str]) -> None:
    """The server's code is not trusted to check them."""
    with pytest.raises(psycopg.errors.RaiseException, match="Nothing was requested"):
        request(towns, "server", "acme", token_of(towns, "acme", "night"), *values)


@pytest.mark.parametrize("hours", [0.0, -5.0, None, float("-inf")])
def test_a_server_that_lies_about_the_interval_gets_one_night_an_hour(towns: Store, hours: float | None) -> None:
    """An hour is the least, whatever the night came to; while a request is open there is no second one."""
    token = token_of(towns, "acme", "night")
    first = request(towns, "server", "acme", token)
    assert request(towns, "server", "acme", token, "again", "", hours)["id"] == first["id"]
    for _ in range(2):
        run_night(towns, "acme")
        again = request(towns, "server", "acme", token, "again", "", hours)
        assert (again["id"], again["known"]) == (first["id"], True)
    assert len(ask(towns, ROWS)) == 1


def test_no_login_but_the_planners_takes_a_request(towns: Store) -> None:
    """The server, readers, approvers and appliers cannot mark it, and nobody adds one without the function."""
    request(towns, "server", "acme", token_of(towns, "acme", "night"))
    before = ask(towns, ROWS)
    for role in ("reader", "approver", "applier", "server"):
        assert refused(towns, role, TAKE), role
    for role in ("reader", "planner", "approver", "applier", "server"):
        assert refused(towns, role, INSERT), role
        assert role == "applier" or refused(towns, role, "DELETE FROM memory.night_requests"), role
    for role in ("reader", "planner", "approver", "applier"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            request(towns, role)
    for column in ("reason = 'x'", "namespace_id = NULL", "token_id = 'x'", "recorded_at = now()"):
        assert refused(towns, "planner", f"UPDATE memory.night_requests SET {column}"), column
    assert ask(towns, ROWS) == before


def test_a_request_is_taken_once_and_at_the_time_of_the_database(towns: Store) -> None:
    """A planner can neither open it again nor date it."""
    request(towns, "server", "acme", token_of(towns, "acme", "night"))
    with psycopg.connect(towns.logins["planner"], autocommit=True) as connection:
        connection.execute("UPDATE memory.night_requests SET taken_at = '2001-01-01Z', outcome = 'nothing'")
        for change in ("taken_at = NULL, outcome = ''", "run_id = gen_random_uuid()", "outcome = 'else'"):
            with pytest.raises(psycopg.errors.RaiseException, match="was taken already"):
                connection.execute(f"UPDATE memory.night_requests SET {change}".encode())
    assert ask(towns, "SELECT taken_at > now() - interval '1 hour', outcome FROM memory.night_requests") == [
        (True, "nothing")
    ]


def test_the_server_that_requested_a_night_cannot_plan_it(towns: Store) -> None:
    """It writes no run and no plan."""
    for statement in (
        "INSERT INTO night.runs (id, namespace_id, mode, state) SELECT gen_random_uuid(), id, 'plan', 'planning' FROM memory.namespaces",
        "UPDATE night.runs SET state = 'completed'",
        "INSERT INTO night.plans DEFAULT VALUES",
        "UPDATE night.plans SET state = 'approved'",
    ):
        assert refused(towns, "server", statement), statement
