"""PostgreSQL that many workers share: PgBouncer before every command, a streaming replica for snapshots, and a bound on connections."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from slowwave.errors import StoreError
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.snapshots import export
from slowwave.snapshots.export import export_snapshot
from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.store.logins import close_idle
from tests.clusters import cloned, fast_folder
from tests.dreamers import forgetful
from tests.memories import ask
from tests.permitting import approve
from tests.waiting import until

pytestmark = [pytest.mark.scale, pytest.mark.slow]

# Snapshots from a streaming replica.


@contextmanager
def replica_of(postgres: server.Server, folder: Path) -> Iterator[server.Server]:
    """A streaming replica of a server, from a base backup; it ends reads that are in the way of what it replays at once."""
    binaries = server._binaries()
    with fast_folder(folder) as home:
        account = server.account_for(postgres.home, binaries)
        account.own(home)
        data = home / "postgres"
        backup = ("-d", postgres.url("postgres"), "-D", data, "-R", "-X", "stream", "-c", "fast")
        assert account.run(binaries / "pg_basebackup", *backup, folder=home) == 0
        with (data / "postgresql.auto.conf").open("a") as file:
            file.write("hot_standby_feedback = off\nmax_standby_streaming_delay = 0\n")
        made = server.Server(home, postgres.host, server._free_port(), postgres.password)
        server._record(made, account)
        server._launch(home, binaries)
        try:
            yield server._recorded(home)
        finally:
            close_idle()
            server.stop(home)


@pytest.fixture(scope="module")
def replica(postgres: server.Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[server.Server]:
    with replica_of(postgres, tmp_path_factory.mktemp("replica")) as made:
        yield made


@pytest.fixture
def replicated(postgres: server.Server, store: Store, replica: server.Server, database: str) -> Iterator[Store]:
    """The store, whose snapshots come from the replica."""
    yield Store(store.owner, store.logins, replica=Store.embedded_in(replica.url(database), postgres.home).owner)
    close_idle()


def replay(replica: server.Server, database: str, verb: str) -> None:
    with psycopg.connect(replica.url(database), autocommit=True) as connection:
        connection.execute(f"SELECT pg_wal_replay_{verb}()".encode())


def test_nights_read_the_replica_and_miss_nothing_that_was_applied(replicated: Store) -> None:
    slug = forgetful(replicated, rows=6)
    night = run_night(replicated, slug, ops="gc_references")
    assert night.plan
    approval = approve(replicated, slug, night.plan.plan_hash, approver="mara")
    assert apply_approval(replicated, approval.id).counts["applied"] == 6
    again = run_night(replicated, slug, ops="gc_references", force=True)
    assert again.new_items == 0, "the snapshot after an apply holds what was applied"


def test_a_snapshot_waits_for_a_replica_that_is_behind(
    replicated: Store, replica: server.Server, database: str
) -> None:
    slug = forgetful(replicated, rows=2)
    export_snapshot(replicated, slug)
    replay(replica, database, "pause")
    try:
        ((name, now),) = ask(
            replicated, "UPDATE memory.entities SET name = 'Renamed' WHERE name ~ '^Part 000' RETURNING name, now()"
        )
        with ThreadPoolExecutor(1) as pool:
            reading = pool.submit(export_snapshot, replicated, slug)
            with pytest.raises(TimeoutError):
                reading.result(timeout=1)
            replay(replica, database, "resume")
            snapshot = reading.result(timeout=60)
    finally:
        replay(replica, database, "resume")
    assert name in snapshot.table("entities")["name"].to_pylist()
    assert snapshot.taken_at >= now


def test_a_night_on_a_replica_that_stays_behind_plans_nothing(
    replicated: Store, replica: server.Server, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    slug = forgetful(replicated, rows=2)
    export_snapshot(replicated, slug)
    monkeypatch.setattr(export, "REPLICA_SECONDS", 0.5)
    replay(replica, database, "pause")
    try:
        ask(replicated, "UPDATE memory.entities SET name = 'Renamed' WHERE name ~ '^Part 000' RETURNING name")
        with pytest.raises(StoreError, match=r"has been behind the store.*unset SLOWWAVE_REPLICA_URL"):
            run_night(replicated, slug, ops="gc_references")
    finally:
        replay(replica, database, "resume")
    assert ask(replicated, "SELECT count(*) FROM night.plans") == [(0,)]


def test_a_replica_of_another_store_is_refused(postgres: server.Server, store: Store) -> None:
    slug = forgetful(store, rows=1)
    with cloned(postgres, "template_slowwave") as name:
        other = Store.embedded_in(postgres.url(name), postgres.home)
        ask(other, "UPDATE night.store SET id = gen_random_uuid() RETURNING id")
        with pytest.raises(StoreError, match="SLOWWAVE_REPLICA_URL leads to another store"):
            export_snapshot(Store(store.owner, store.logins, replica=other.owner), slug)
        close_idle()


def test_a_read_that_the_replica_ends_is_explained(
    replicated: Store, replica: server.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table is locked, as a change of the schema does, while it is being read."""
    slug = forgetful(replicated, rows=2)
    read_rows = export.read_rows

    def slowly(connection: psycopg.Connection[tuple[object, ...]], *args: object, **options: object) -> object:
        if not ended:
            ended.append(True)
            connection.execute("SELECT count(*) FROM memory.entities")
            with psycopg.connect(replicated.owner, autocommit=True) as owner:
                owner.execute("BEGIN; LOCK TABLE memory.entities IN ACCESS EXCLUSIVE MODE; COMMIT")
                ((there,),) = owner.execute("SELECT pg_current_wal_insert_lsn()::text").fetchall()
            until(lambda: ask(Store(replicated.replica), f"SELECT pg_last_wal_replay_lsn() >= '{there}'") == [(True,)])
        return read_rows(connection, *args, **options)  # type: ignore[arg-type]

    ended: list[bool] = []
    monkeypatch.setattr(export, "read_rows", slowly)
    with pytest.raises(StoreError, match="hot_standby_feedback"):
        export_snapshot(replicated, slug)
