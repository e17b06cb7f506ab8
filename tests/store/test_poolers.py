"""A store behind PgBouncer in transaction mode: nothing that Slowwave does rests on a connection of the server being its own."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from slowwave.errors import Refused, StoreError
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.store import server
from slowwave.store.claims import open_plan_run
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.store.logins import ROLES, close_idle
from slowwave.store.runs import beating
from slowwave.wiki.corpus.sync import one_sync
from tests.clusters import cloned, run
from tests.dreamers import forgetful
from tests.memories import ask
from tests.permitting import approve
from tests.poolers import ABSENT, PGBOUNCER, left_behind, pooled, through
from tests.waiting import until

pytestmark = pytest.mark.skipif(PGBOUNCER is None, reason=ABSENT)

CLEAN = (True, "0", "0", 0, 0, 0, 0)
"""A connection of the server as it was opened."""


@pytest.fixture(scope="session")
def pooler(postgres: server.Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with pooled(postgres, tmp_path_factory.mktemp("pgbouncer"), 2) as port:
        yield port


@pytest.fixture
def behind(store: Store, pooler: int) -> Iterator[Store]:
    """The store by one address, behind the pooler, which has two connections of the server for it."""
    yield Store(through(store.owner, pooler))
    close_idle()


def test_night_approve_apply_undo_leave_nothing_on_the_connections(behind: Store, store: Store) -> None:
    slug = forgetful(store, rows=6)
    before = digest(store, slug)
    night = run_night(behind, slug, ops="gc_references")
    assert night.plan
    approval = approve(behind, slug, night.plan.plan_hash, approver="mara")
    applied = apply_approval(behind, approval.id)
    assert applied.counts["applied"] == 6
    assert len(undo_run(behind, applied.run_id).items) == 6
    assert digest(store, slug) == before
    assert left_behind(behind.owner, 2) == [CLEAN, CLEAN]


def test_a_role_holds_for_statements_transactions_and_copies_and_no_longer(behind: Store) -> None:
    """Also where a statement is repeated so often that psycopg would prepare it."""
    for role in (*ROLES, *ROLES):
        with behind.connect(role) as connection:
            expected = [(f"slowwave_{role}", "slowwave_owner", "UTC")]
            asked = "SELECT current_user::text, session_user::text, current_setting('timezone')"
            for _ in range(7):
                assert connection.execute(asked).fetchall() == expected
            with connection.transaction(), connection.transaction():
                assert connection.execute(asked).fetchall() == expected
            with connection.pipeline(), connection.transaction():
                found = connection.execute(asked)
            assert found.fetchall() == expected
            with connection.cursor() as cursor, cursor.copy(f"COPY ({asked}) TO STDOUT") as copy:
                assert list(copy.rows()) == expected
    assert left_behind(behind.owner, 2) == [CLEAN, CLEAN]


def test_the_time_zone_is_utc_whatever_the_database_sets(postgres: server.Server, pooler: int) -> None:
    """On each connection of the server, also those that another client has used."""
    with cloned(postgres, "template_slowwave") as name:
        run(postgres.url("postgres"), f"ALTER DATABASE {name} SET timezone = 'Asia/Tokyo'")
        place = Store(through(Store.embedded_in(postgres.url(name), postgres.home).owner, pooler))
        other = psycopg.connect(
            place.owner, prepare_threshold=None
        )  # it keeps its transaction, and one of two connections
        assert other.execute("SHOW timezone").fetchall() == [("Asia/Tokyo",)]
        for role in ("owner", "reader", "owner"):
            with place.connect(role) as connection:
                assert connection.execute("SHOW timezone").fetchall() == [("UTC",)]
            other.commit()
            with place.connect(role) as connection:
                assert connection.execute("SHOW timezone").fetchall() == [("UTC",)]
            assert other.execute("SHOW timezone").fetchall() == [("Asia/Tokyo",)]
        other.close()
        close_idle()


def test_a_role_may_do_only_what_it_may(behind: Store, store: Store) -> None:
    slug = forgetful(store, rows=1)
    with behind.connect("reader") as connection:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("DELETE FROM memory.entities")
        with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
            connection.execute("DELETE FROM memory.entities")
        assert connection.execute("SELECT slug FROM memory.namespaces").fetchall() == [(slug,)]


def test_a_login_that_may_not_take_a_role_is_named(store: Store, pooler: int) -> None:
    other = Store(through(store.logins["reader"], pooler))
    with pytest.raises(StoreError, match="may not act as slowwave_applier"), other.connect("applier"):
        pass


def test_a_heartbeat_leaves_no_timeout(behind: Store, store: Store) -> None:
    slug = forgetful(store, rows=1)
    with behind.connect("planner") as connection:
        planning = open_plan_run(connection, slug)
    (was,) = ask(store, "SELECT heartbeat_at FROM night.runs WHERE id = %s", planning)
    with beating(behind, "planner", planning, 1):
        until(lambda: ask(store, "SELECT heartbeat_at FROM night.runs WHERE id = %s", planning) != [was])
    assert left_behind(behind.owner, 2) == [CLEAN, CLEAN]


def test_one_sync_at_a_time(behind: Store, store: Store) -> None:
    """Its lock is held while its connection works in transactions of its own, and is free afterwards."""
    slug = forgetful(store, rows=1)
    ((namespace,),) = ask(store, "SELECT id::text FROM memory.namespaces")
    with behind.connect("owner") as first, behind.connect("owner") as second:
        with one_sync(first, str(namespace), slug):
            assert first.execute("SELECT 1").fetchall() == [(1,)]
            with pytest.raises(Refused, match="Another sync"), one_sync(second, str(namespace), slug):
                pass
        with one_sync(second, str(namespace), slug):
            pass
    assert left_behind(behind.owner, 2) == [CLEAN, CLEAN]


def test_promises_are_validated_as_the_reader(behind: Store, store: Store) -> None:
    from slowwave.dagster.checks import Promise, validate  # an import of seconds

    forgetful(store, rows=1)
    promise = Promise(
        "the login",
        "SELECT id AS namespace_id, current_user::text AS login FROM memory.namespaces",
        "ExpectColumnValuesToBeInSet",
        {"column": "login", "value_set": ["slowwave_reader"]},
    )
    assert all(result.success for result in validate(behind, ["acme"], {"login": promise}).values())
    assert left_behind(behind.owner, 2) == [CLEAN, CLEAN]
