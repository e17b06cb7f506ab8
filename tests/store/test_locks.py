"""The two locks of a namespace: each is held by one transaction at a time, by our roles alone, and a wait for one has an end."""

from __future__ import annotations

import psycopg
import pytest

from slowwave.errors import DreamLockUnavailable
from slowwave.night.executor import apply_approval
from slowwave.night.undo import undo_run
from slowwave.store import runs as locks
from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.store.runs import lock_batches, lock_claims
from tests.memories import ask, remember
from tests.night.test_executor import approved
from tests.snapshots import uid


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is waited for long."""
    monkeypatch.setattr(locks, "PATIENCE", "50ms")


def test_a_lock_is_held_until_its_transaction_ends(store: Store, hasty: None) -> None:
    one, other = remember(store, "acme"), remember(store, "other")
    with store.connect("applier") as holder, store.connect("planner") as comer:
        for lock, free in ((lock_claims, lock_batches), (lock_batches, lock_claims)):
            with holder.transaction():
                lock(holder, one)
                lock(holder, one)
                with comer.transaction():
                    lock(comer, other)
                    free(comer, one)
                with pytest.raises(DreamLockUnavailable), comer.transaction():
                    lock(comer, one)
            with comer.transaction():
                lock(comer, one)


def test_refused_lock_names_pid_login_and_statement_of_its_holder(store: Store, hasty: None) -> None:
    """A login that may see the statement is shown it; pid and login are shown to all of ours."""
    namespace = remember(store, "acme")
    with (
        store.connect("applier") as holder,
        store.connect("applier") as same,
        store.connect("planner") as comer,
        holder.transaction(),
    ):
        lock_batches(holder, namespace)
        holder.execute("SELECT 'a long batch'")
        pid = holder.info.backend_pid
        held = rf"pid {pid}, login slowwave_login_applier, .*a long batch"
        with pytest.raises(DreamLockUnavailable, match=held), same.transaction():
            lock_batches(same, namespace)
        with pytest.raises(DreamLockUnavailable, match=rf"pg_terminate_backend\({pid}\)"), comer.transaction():
            lock_batches(comer, namespace)


def test_login_without_a_right_on_the_schemas_stops_neither_apply_nor_undo(
    store: Store, postgres: server.Server, database: str, hasty: None
) -> None:
    """It may connect, compute every key that advisory locks had, and hold them (T7); rows of locks it cannot reach."""
    world, _, _, approval = approved(store)
    with psycopg.connect(postgres.url(database), autocommit=True) as admin:
        admin.execute("CREATE ROLE t_nobody LOGIN PASSWORD 'x'")
        try:
            with psycopg.connect(postgres.url(database)) as attacker:
                attacker.execute("SET SESSION AUTHORIZATION t_nobody")
                for seed in range(40):
                    for name in (world.namespace_id, "slowwave migrate"):
                        attacker.execute("SELECT pg_advisory_lock(hashtextextended(%s, %s))", (name, seed))
                for attempt in (
                    "SELECT memory.lock_name('x', 0)",
                    "SELECT memory.lock_name_shared('x', 0)",
                    "SELECT 1 FROM memory.lock_rows FOR KEY SHARE",
                    "LOCK TABLE memory.lock_rows IN ACCESS SHARE MODE",
                    "SELECT 1 FROM memory.namespaces FOR KEY SHARE",
                    "LOCK TABLE memory.memories IN ROW EXCLUSIVE MODE",
                    "LOCK TABLE night.runs IN ACCESS SHARE MODE",
                ):
                    with pytest.raises(psycopg.errors.InsufficientPrivilege), attacker.transaction():
                        attacker.execute(attempt.encode())
                run = apply_approval(store, approval.id)
                assert run.state == "completed"
                assert undo_run(store, run.run_id).items
        finally:
            admin.execute("DROP ROLE t_nobody")


NO_SUBJECTS = (("acme", ""), ("acme", "projects/rowan/state.md"), ("acme", "claims"), ("nowhere", "project:rowan"))
"""A whole namespace, a page, a batch's own lock, and a namespace that does not exist."""


def test_server_locks_the_subject_of_a_claim_and_no_other_name(store: Store) -> None:
    """It could lock each name, so batches of every namespace waited for it for 30 seconds."""
    remember(store, "acme")
    lock = "SELECT memory.lock_subject(%s::uuid, %s::text)"
    with psycopg.connect(store.logins["server"]) as server:
        for subject in ("project:rowan", uid("rowan")):
            server.execute(lock.encode(), (uid("acme"), subject))
        with store.connect("applier") as batch, batch.transaction():
            batch.execute("SET LOCAL lock_timeout = '50ms'")
            batch.execute(b"SELECT memory.lock_name(%s, 4)", (uid("acme"),))
            with pytest.raises(psycopg.errors.LockNotAvailable):
                batch.execute(b"SELECT memory.lock_name(%s, 4)", (uid("acme") + "project:rowan",))


@pytest.mark.parametrize("role", ["reader", "server"])
def test_login_that_does_not_write_runs_cannot_lock_rows_of_locks(store: Store, role: str) -> None:
    remember(store, "acme")
    attempts = ["SELECT 1 FROM memory.lock_rows FOR KEY SHARE", "LOCK TABLE memory.lock_rows IN ROW SHARE MODE"]
    attempts += ["SELECT 1 FROM memory.namespaces FOR KEY SHARE", "UPDATE memory.lock_rows SET key = key"]
    attempts += [
        "SELECT memory.try_lock_name('x', 0)",
        "SELECT memory.lock_name_shared('x', 0)",
        "SELECT memory.name_holders('x', 0)",
        "SELECT memory.lock_name('x', 0)",
    ]
    attempts += [f"SELECT memory.lock_subject('{uid(of)}', '{subject}')" for of, subject in NO_SUBJECTS]
    with psycopg.connect(store.logins[role], autocommit=True) as attacker:
        for attempt in attempts:
            with pytest.raises(psycopg.errors.InsufficientPrivilege), attacker.transaction():
                attacker.execute(attempt.encode())


def test_agent_that_adds_rows_and_a_batch_do_not_wait_for_each_other(store: Store, hasty: None) -> None:
    """A foreign key locks the row of the namespace, which no batch locks."""
    namespace = remember(store, "acme")
    add = "INSERT INTO memory.documents (id, namespace_id) VALUES (gen_random_uuid(), %s)"
    with store.connect("owner") as agent, store.connect("applier") as batch:
        with agent.transaction(), batch.transaction():
            agent.execute(add, (namespace,))
            lock_claims(batch, namespace)
            lock_batches(batch, namespace)
        with batch.transaction(), agent.transaction():
            lock_claims(batch, namespace)
            lock_batches(batch, namespace)
            agent.execute("SET LOCAL lock_timeout = '50ms'")
            agent.execute(add, (namespace,))


def test_apply_that_waits_for_an_agents_lock_ends_and_names_the_session(store: Store, hasty: None) -> None:
    """It goes on where it was once the session is gone."""
    _, _, _, approval = approved(store)
    with store.connect("owner") as agent, agent.transaction():
        agent.execute("LOCK TABLE memory.entities, memory.memories, memory.relationships IN SHARE MODE")
        with pytest.raises(DreamLockUnavailable, match=f"pid {agent.info.backend_pid}, login slowwave_owner"):
            apply_approval(store, approval.id)
    ((state, error),) = ask(store, "SELECT state, error FROM night.runs WHERE mode = 'apply'")
    assert (state, "login slowwave_owner" in str(error)) == ("crashed", True)
    assert apply_approval(store, approval.id).state == "completed"


def test_no_function_of_the_schemas_takes_an_advisory_lock_in_a_transaction_of_a_run(store: Store) -> None:
    """The one that is left makes partitions, which only the owner does."""
    found = ask(
        store,
        "SELECT proname FROM pg_proc WHERE pronamespace IN ('memory'::regnamespace, 'night'::regnamespace) "
        "AND prosrc LIKE '%%pg\\_%%advisory%%'",
    )
    assert found == [("ensure_recall_partitions",)]
