"""Idle connections: used again, as new, never one that is not, and in nobody's way."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import psycopg
import pytest

from slowwave.errors import StoreError
from slowwave.night.night import run_night
from slowwave.store import logins, server
from slowwave.store import logins as idle
from slowwave.store.connect import Store
from slowwave.store.logins import Role, Session
from tests.dreamers import copied, forgetful
from tests.memories import ask

ROLES: tuple[Role, ...] = ("reader", "planner", "approver", "applier")


@pytest.fixture(autouse=True)
def _none_waits(as_in_production: None) -> Iterator[None]:
    """Each test begins with no idle connection."""
    logins.close_idle()
    yield
    logins.close_idle()


def session(store: Store, role: Role = "planner") -> int:
    """The server's process behind a connection that is given back at once."""
    with store.connect(role) as connection:
        return connection.info.backend_pid


def test_who_asks_one_after_another_gets_one_connection(store: Store) -> None:
    """Whoever asks within another's block gets one of their own, and so does another role."""
    assert len({session(store) for _ in range(5)}) == 1
    with store.connect("planner") as outer, store.connect("planner") as inner:
        assert outer.info.backend_pid != inner.info.backend_pid
    assert len({session(store, role) for role in ROLES}) == 4


def test_steps_of_one_piece_of_work_hand_it_on_and_then_it_is_as_new(store: Store) -> None:
    """Within the work it is as the step before left it; a step within a step, and one after a failure, gets another."""
    with logins.handed_on():
        with store.connect("planner") as connection:
            connection.execute("SET statement_timeout = '7s'")
            of = connection.info.backend_pid
        with store.connect("planner") as connection, store.connect("planner") as inner:
            assert connection.execute("SHOW statement_timeout").fetchone() == ("7s",)
            assert (connection.info.backend_pid, inner.info.backend_pid != of) == (of, True)
        gone = session(store, "reader")
        assert gone != of
        with pytest.raises(psycopg.errors.DivisionByZero), store.connect("reader") as broken:
            broken.execute("SELECT 1 / 0")
        assert session(store, "reader") != gone
    with store.connect("planner") as connection, store.connect("planner") as other:
        assert of in (connection.info.backend_pid, other.info.backend_pid)
        for one in (connection, other):
            assert one.execute("SHOW statement_timeout").fetchone() == ("0",)


@pytest.mark.parametrize("one_address", [False, True])
def test_a_connection_never_passes_from_role_to_role(store: Store, one_address: bool) -> None:
    """Not even where one login takes them all: each finds itself in its own."""
    asked = Store(store.owner) if one_address else store
    for role in (*ROLES, *reversed(ROLES)):
        with asked.connect(role) as connection:
            ((found, login),) = connection.execute("SELECT current_user::text, session_user::text").fetchall()
            assert found == (f"slowwave_{role}" if one_address else f"slowwave_login_{role}")
            assert login == ("slowwave_owner" if one_address else found)
            assert connection.info.parameter_status("application_name") == f"slowwave-{role}"
            connection.execute("RESET ROLE" if one_address else f"SET ROLE slowwave_{role}".encode())


def test_it_is_given_back_as_new(store: Store) -> None:
    """Settings, locks, channels, temporary tables, cursors, a role and a transaction that was left open."""
    with store.connect("applier") as connection:
        first = connection.info.backend_pid
        ((settings,),) = connection.execute("SELECT jsonb_object_agg(name, setting) FROM pg_settings").fetchall()
        connection.execute("SET lock_timeout = '5s'; SET search_path = night; SET timezone = 'Asia/Tokyo'; LISTEN news")
        connection.execute("SELECT pg_advisory_lock(7)")
        connection.execute("CREATE TEMPORARY TABLE batch (id int)")
        connection.execute("BEGIN")
        connection.execute("DECLARE left_open CURSOR WITH HOLD FOR SELECT 1")
        connection.execute("INSERT INTO batch VALUES (1)")
    with store.connect("applier") as connection:
        assert connection.info.backend_pid == first
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        ((now,),) = connection.execute("SELECT jsonb_object_agg(name, setting) FROM pg_settings").fetchall()
        assert now == settings
        for what in (
            "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()",
            "SELECT 1 FROM pg_listening_channels()",
            "SELECT 1 FROM pg_cursors WHERE name = 'left_open'",
            "SELECT 1 FROM pg_class WHERE relname = 'batch'",
        ):
            assert connection.execute(what.encode()).fetchall() == [], what


def test_what_was_set_on_the_connection_itself_is_taken_back(store: Store) -> None:
    """The export reads in a transaction of its own kind; whoever comes next writes."""
    with store.connect("planner") as connection:
        first = connection.info.backend_pid
        connection.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
        connection.read_only = True
        connection.deferrable = True
    with store.connect("planner") as connection:
        assert connection.info.backend_pid == first
        assert (connection.isolation_level, connection.read_only, connection.deferrable) == (None, None, None)
        with connection.transaction():
            ((level, read_only),) = connection.execute(
                "SELECT current_setting('transaction_isolation'), current_setting('transaction_read_only')"
            ).fetchall()
    assert (level, read_only) == ("read committed", "off")


def test_one_on_which_anything_was_raised_is_not_used_again(store: Store) -> None:
    """Whatever it was: the server's error, the caller's, or the end of a generator."""
    first = session(store)
    with pytest.raises(ValueError, match="mine"), store.connect("planner"):
        raise ValueError("mine")
    with pytest.raises(psycopg.errors.DivisionByZero), store.connect("planner") as connection:
        connection.execute("SELECT 1 / 0")
    assert session(store) != first
    assert len(logins._idle.waiting) == 1


@pytest.mark.parametrize("left", ["closed", "not in autocommit", "in the middle of a copy"])
def test_one_that_is_not_as_it_was_is_closed(store: Store, left: str) -> None:
    with store.connect("planner") as connection:
        first = connection.info.backend_pid
        if left == "closed":
            connection.close()
        elif left == "not in autocommit":
            connection.autocommit = False
        else:
            connection.pgconn.exec_(b"COPY (SELECT 1) TO STDOUT")
    assert connection.closed
    assert session(store) != first


def test_one_that_the_server_ended_is_not_handed_out(postgres: server.Server, store: Store) -> None:
    """Its database was forced away, or its server restarted: the next block meets a connection that works."""
    first = session(store)
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as admin:
        admin.execute("SELECT pg_terminate_backend(%s, 5000)", (first,))
    assert session(store) != first


def test_a_server_that_was_stopped_and_started_is_connected_to_anew() -> None:
    """Idle connections hinder neither."""
    home = server.start().home
    store = Store.embedded_in(server.start(home).url("slowwave"), home)
    try:
        before = session(store, "reader")
        server.stop(home)
        with pytest.raises(StoreError, match="does not answer"):
            session(store, "reader")
        server.start(home)
        assert session(store, "reader") != before
    finally:
        server.stop(home)


def test_one_that_waited_long_is_closed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """By whoever comes next, for this role or for another."""
    first = session(store)
    monkeypatch.setattr(idle, "SECONDS", 0.0)
    assert session(store, "reader") != first
    monkeypatch.undo()
    assert [w.key for w in logins._idle.waiting if w.connection.info.backend_pid == first] == []
    assert session(store) != first


def test_a_process_keeps_few(store: Store) -> None:
    """However many were in use at once; the oldest go first."""

    def hold(count: int) -> None:
        if count:
            with store.connect("reader"):
                hold(count - 1)

    newest = session(store, "planner")
    hold(12)
    assert len(logins._idle.waiting) == logins.MOST
    assert session(store, "planner") != newest
    ((open_,),) = ask(
        store,
        "SELECT count(*) FROM pg_stat_activity WHERE application_name IN ('slowwave-reader', 'slowwave-planner')"
        " AND datname = current_database()",
    )
    assert int(str(open_)) <= logins.MOST


def test_threads_share_what_waits_and_never_a_connection(store: Store) -> None:
    used: list[int] = []
    at_once = threading.Barrier(6)

    def work() -> None:
        for _ in range(20):
            with store.connect("reader") as connection:
                ((mine,),) = connection.execute("SELECT pg_backend_pid()").fetchall()
                assert mine == connection.info.backend_pid
                used.append(connection.info.backend_pid)
        at_once.wait(30)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(used) == 120
    assert len(set(used)) < 120


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_child_of_a_fork_leaves_its_parents_connections_alone(store: Store) -> None:
    """It connects by itself, ends by itself, and the parent's session answers as before."""
    program = """
import os, sys
from slowwave.store.connect import Store
def session(store):
    with store.connect("reader") as connection:
        return connection.execute("SELECT pg_backend_pid()").fetchone()[0]
store = Store(os.environ["STORE"])
first = session(store)
child = os.fork()
if child == 0:
    sys.exit(0 if session(store) != first else 7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert session(store) == first
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"STORE": store.owner},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_process_that_ends_closes_what_waits(store: Store) -> None:
    """It says goodbye to the server; what is registered first is asked last."""
    program = """
import atexit, os, sys
atexit.register(lambda: print("at the end", len(sys.modules["slowwave.store.logins"]._idle.waiting)))
from slowwave.store import logins as idle
from slowwave.store.connect import Store
with Store(os.environ["STORE"]).connect("reader"):
    pass
print("before", len(idle._idle.waiting))
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"STORE": store.owner},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["before 1", "at the end 0"]


def test_a_database_to_which_idle_connections_lead_can_be_copied(postgres: server.Server, store: Store) -> None:
    """PostgreSQL copies no database that somebody is connected to."""
    for role in ROLES:
        session(store, role)
    ((database,),) = ask(store, "SELECT current_database()::text")
    with copied(postgres, str(database)) as copy:
        assert ask(copy, "SELECT count(*) FROM night.runs") == [(0,)]


def test_a_night_connects_once_a_role(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its forty steps each look whether a person cancelled it, and none of them connects for that."""
    opened: list[str] = []
    connect = Session.open

    def counted(address: str, name: str) -> Session:
        opened.append(name)
        return connect(address, name)

    slug = forgetful(store, rows=2)
    with monkeypatch.context() as patch:
        patch.setattr(Session, "open", counted)
        assert run_night(store, slug, ops="gc_references").state == "awaiting_approval"
    assert set(opened) == {"slowwave-planner", "slowwave-reader"}
    assert len(opened) <= 3, "the heartbeat of a slow night has one of its own"
