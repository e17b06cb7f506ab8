"""Line 16: ``memory.log_recall`` did not exist.

The store's catalogue said that it logs recalls and makes the months' partitions. Agents had to insert into ``memory.recall_events`` by
themselves; nothing held scores to hits, and every event lay in the default partition for ever. Now there is a function in SQL and
``slowwave.log_recall`` in Python.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from psycopg import sql

from slowwave.errors import Refused
from slowwave.snapshots.export import export_snapshot
from slowwave.store.connect import Store
from slowwave.store.server import Server
from tests.memories import ask, remember
from tests.snapshots import uid

A, B, C = (uid(name) for name in "abc")


@pytest.fixture
def acme(store: Store) -> Store:
    remember(store, "acme", memories=[{"id": "a", "kind": "semantic"}, {"id": "b", "kind": "semantic"}])
    return store


def log(store: Store, *values: object) -> str:
    ((found,),) = ask(store, f"SELECT memory.log_recall({', '.join(['%s'] * len(values))})::text", *values)
    return str(found)


def test_an_agent_logs_a_recall_in_plain_sql(acme: Store) -> None:
    """Named by slug or id; the next snapshot has it."""
    id_ = log(acme, "acme", "who keeps the ledger", [uuid.UUID(A), uuid.UUID(B)], [0.9, 0.4], [uuid.UUID(A)])
    again = log(acme, uid("acme"), "and since when", [uuid.UUID(B)])
    events = {e["id"]: e for e in export_snapshot(acme, "acme").table("recall_events").to_pylist()}
    assert {id_, again} == events.keys()
    first = events[id_]
    assert (first["query"], first["hit_ids"], first["selected_ids"], first["scores"]) == (
        *("who keeps the ledger", [A, B], [A], [0.9, 0.4]),
    )


def test_python_logs_the_same(acme: Store) -> None:
    """A known external id gives the event that is there."""
    import slowwave

    at = datetime(2026, 3, 1, 9, tzinfo=UTC)
    id_ = slowwave.log_recall(
        "acme", "ledger", [A, B], scores=[0.9, 0.4], selected=[B], occurred_at=at, external_id="q1", store=acme
    )
    assert slowwave.log_recall("acme", "ledger", [A], occurred_at=at, external_id="q1", store=acme) == id_
    assert ask(
        acme, "SELECT id::text, hit_ids::text[], selected_ids::text[], occurred_at FROM memory.recall_events"
    ) == [(id_, [A, B], [B], at)]
    for hits, selected, scores in (
        ([A, "no id"], [], []),
        ([A], [C], []),
        ([A], [], [0.1, 0.2]),
        ([A], [], [float("nan")]),
    ):
        with pytest.raises(Refused, match="Nothing was logged"):
            slowwave.log_recall("acme", "q", hits, selected=selected, scores=scores, store=acme)
    for namespace, query in ("nobody", "q"), ("acme", "zero \x00 byte"):
        with pytest.raises(Refused, match="Nothing was logged"):
            slowwave.log_recall(namespace, query, [A], store=acme)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        (("nobody", "q", [uuid.UUID(A)]), "nobody"),
        ((None, "q", [uuid.UUID(A)]), "no namespace"),
        (("acme", "q", [uuid.UUID(A), uuid.UUID(B)], [0.5]), "2 hits and 1 scores"),
        (("acme", "q", [uuid.UUID(A)], [0.5], [uuid.UUID(C)]), C),
        (("acme", "q", [uuid.UUID(A)], [float("inf")]), "finite"),
        (("acme", None, [uuid.UUID(A)]), "query"),
    ],
)
def test_what_cannot_be_is_refused_in_words(acme: Store, values: tuple[object, ...], named: str) -> None:
    """And nothing of it is there."""
    with pytest.raises(psycopg.errors.InvalidParameterValue, match=named):
        log(acme, *values)
    assert ask(acme, "SELECT count(*) FROM memory.recall_events") == [(0,)]


def test_events_lie_in_the_partition_of_their_month(acme: Store) -> None:
    """This month's is there, last month's is made when it is needed; another century's does not get one."""
    now = datetime.now(UTC)
    instants = now, now - timedelta(days=45), datetime(1970, 1, 1, tzinfo=UTC), datetime(2970, 1, 1, tzinfo=UTC)
    for at in instants:
        log(acme, "acme", "q", [uuid.UUID(A)], [], [], at)
    places = ask(acme, "SELECT tableoid::regclass::text FROM memory.recall_events ORDER BY occurred_at")
    assert [str(p).rsplit(".", 1)[-1] for (p,) in places] == [
        "recall_events_default",
        *(f"recall_events_{at:%Y_%m}" for at in sorted(instants[:2])),
        "recall_events_default",
    ]


def test_a_login_that_may_insert_and_no_more_can_log(acme: Store, postgres: Server, database: str) -> None:
    """The function runs with its caller's rights: nobody logs who may not insert, and an agent needs no ownership. Where its month
    has no partition, the event waits in the default one and moves when the owner makes it."""
    call = b"SELECT memory.log_recall('acme', 'q', ARRAY[%s]::uuid[], occurred_at => now() - interval '70 days')"
    agent = psycopg.connect(postgres.url(database), autocommit=True)
    name = sql.Identifier(f"agent_{database}")
    with agent:
        agent.execute(sql.SQL("CREATE ROLE {}").format(name))
        try:
            agent.execute(sql.SQL("GRANT USAGE ON SCHEMA memory TO {}").format(name))
            agent.execute(sql.SQL("GRANT SELECT ON memory.namespaces, memory.recall_events TO {}").format(name))
            agent.execute(sql.SQL("SET ROLE {}").format(name))
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                agent.execute(call, (A,))
            agent.execute("RESET ROLE")
            agent.execute(sql.SQL("GRANT INSERT ON memory.recall_events TO {}").format(name))
            agent.execute(sql.SQL("SET ROLE {}").format(name))
            agent.execute(call, (A,))
            agent.execute("SELECT memory.log_recall('acme', 'q', ARRAY[%s]::uuid[])", (A,))
            place = "SELECT tableoid::regclass::text ~ 'default' FROM memory.recall_events ORDER BY occurred_at"
            assert ask(acme, place) == [(True,), (False,)]
            ask(acme, "SELECT memory.ensure_recall_partitions(now() - interval '70 days', now())")
            assert ask(acme, place) == [(False,), (False,)]
        finally:
            agent.execute("RESET ROLE")
            agent.execute(sql.SQL("DROP OWNED BY {}").format(name))
            agent.execute(sql.SQL("DROP ROLE {}").format(name))


def test_who_reads_may_not_log(acme: Store) -> None:
    """None of the four logins writes what an agent says."""
    for role in ("reader", "planner", "approver", "applier"):
        with acme.connect(role) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT memory.log_recall('acme', 'q', ARRAY[%s]::uuid[])", (A,))
