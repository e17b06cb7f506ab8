"""PostgreSQL that many workers share: PgBouncer before every command, a streaming replica for snapshots, and a bound on connections."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx
import psycopg
import pytest

from slowwave.errors import StoreError
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.runs import Night
from slowwave.night.several import run_nights
from slowwave.night.undo import undo_run
from slowwave.snapshots import export
from slowwave.snapshots.export import export_snapshot
from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.store.logins import Session, close_idle
from slowwave.store.server import create_database
from tests.clusters import cloned, dropped, fast_folder
from tests.dreamers import forgetful
from tests.memories import ask
from tests.permitting import approve
from tests.poolers import ABSENT, PGBOUNCER, left_behind, pooled, through
from tests.waiting import until
from tests.wiki.serving import bearer

pytestmark = [pytest.mark.scale, pytest.mark.slow]

# Every command through PgBouncer in transaction mode, with three connections of the server for each login.

SIZE: Final = 3
CLEAN: Final = (True, "0", "0", 0, 0, 0, 0)
"""A connection of the server as it was opened."""

SAID: Final = {
    "2026-11-02T09:05:00Z": "The insurer visits the north pier tomorrow.",
    "2026-11-03T10:00:00Z": "Night crane work always needs a second person.",
    "2026-11-04T10:00:00Z": "Night crane work always needs a second person",
    "2026-11-18T08:00:00Z": "The wind limit of the cranes is 20 metres per second.",
    "2026-11-18T08:10:00Z": "The wind limit of the cranes is 17 metres per second.",
}


@pytest.fixture
def behind(postgres: server.Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """An empty database behind a PgBouncer, reached by one address; nothing is migrated."""
    create_database(postgres.url, "behind_a_pooler")
    try:
        direct = Store.embedded_in(postgres.url("behind_a_pooler"), postgres.home)
        with pooled(postgres, tmp_path_factory.mktemp("pgbouncer"), SIZE) as port:
            yield Store(
                through(direct.owner, port), {role: through(address, port) for role, address in direct.logins.items()}
            )
            close_idle()
    finally:
        dropped(postgres, "behind_a_pooler")


@pytest.mark.skipif(PGBOUNCER is None, reason=ABSENT)
@pytest.mark.parametrize("own_login", [False, True], ids=["one login", "a login for apply"])
def test_every_command_works_through_pgbouncer(behind: Store, programs: Path, tmp_path: Path, own_login: bool) -> None:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("SLOWWAVE_")},
        **{"SLOWWAVE_DATABASE_URL": behind.owner, "SLOWWAVE_HOME": str(tmp_path / "home")},
        **({"SLOWWAVE_APPLY_DATABASE_URL": behind.logins["applier"]} if own_login else {}),
        "SLOWWAVE_EMBEDDING_MODEL": os.environ["SLOWWAVE_EMBEDDING_MODEL"],
    }

    def slowwave(*arguments: str, given: str = "") -> str:
        done = subprocess.run(
            [programs / "slowwave", *arguments],
            **{"env": environment, "input": given, "capture_output": True, "text": True, "check": False},
        )
        assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    said = [{"namespace": "diary", "role": "user", "created_at": at, "content": text} for at, text in SAID.items()]
    (tmp_path / "messages.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in said))
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "cranes.md").write_text("# Cranes\n\nCrane 4 was painted.\n")

    slowwave("migrate")
    slowwave("doctor")
    slowwave("import", "messages", str(tmp_path / "messages.jsonl"))
    slowwave("import", "messages", str(tmp_path / "messages.jsonl"))
    slowwave("corpus", "add", "notes", str(folder), "--profile", "plain")
    slowwave("corpus", "sync", "notes")
    before = slowwave("namespace", "digest", "diary")
    slowwave("night", "ALL", "--jobs", "2")
    plan = json.loads(slowwave("plans", "show", "diary", "--json"))
    question = next(item["id"] for item in plan["items"] if item["decision"] == "review")
    slowwave("plans", "list", "diary")
    slowwave("plans", "diff", "diary")
    slowwave("why", "diary", question)
    slowwave("plans", "approve", "diary", plan["plan_hash"], "--by", "mara")
    slowwave("plans", "revoke", "diary", plan["plan_hash"], "--by", "mara", "--reason", "Test.")
    slowwave("plans", "review", "diary", "--by", "mara", given="y\n")
    slowwave("plans", "review", "diary", "--by", "mara", "--sign")
    applied = json.loads(slowwave("apply", "diary", "--json"))
    assert sum(run["counts"]["applied"] for run in applied) >= 2
    assert slowwave("namespace", "digest", "diary") != before
    for run in reversed(applied):
        slowwave("undo", "diary", run["run_id"])
    assert slowwave("namespace", "digest", "diary") == before
    done = subprocess.run(
        [programs / "slowwave", "dev", "--prepare"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode
    assert "leads to a pooler" in " ".join(done.stderr.split())
    if own_login:
        assert left_behind(behind.owner, SIZE) == left_behind(behind.logins["applier"], SIZE) == [CLEAN] * SIZE
        return
    slowwave("night", "diary", "--force")
    slowwave("status", "--json")
    slowwave("runs", "list", "diary")
    assert "insurer" in slowwave("search", "diary", "who visits the pier")
    slowwave("remember", "diary", "Prefers tea.", "--subject", "Mara", "--scope", "person", "--kind", "preference")
    assert "tea" in slowwave("history", "diary", "Mara")
    slowwave("forget", "diary", "Mara", "--kind", "preference", "--reason", "Asked.")
    slowwave("forget", "diary", "--match", "crane", "--reason", "Asked.")
    slowwave("wake", "diary")
    slowwave("active", "diary", "cranes")
    slowwave("conflicts", "list", "diary")
    slowwave("policies", "accept", "diary", "gc_references", "--by", "mara")
    slowwave("policies", "list", "diary")
    slowwave("switch", "apply", "off", "--by", "mara", "--note", "Test.")
    slowwave("switch", "apply", "on", "--by", "mara", "--note", "Test.")
    token = json.loads(slowwave("tokens", "new", "diary", "--json"))["token"]
    _serve(environment, tmp_path / "log", token)
    assert left_behind(behind.owner, SIZE) == [CLEAN] * SIZE


def _serve(environment: dict[str, str], log: Path, token: str) -> None:
    """Start the server, and let agents write and search at the same time, more of them than the pooler has connections."""
    program = str(Path(sys.executable).with_name("slowwave"))
    with (
        log.open("wb") as out,
        subprocess.Popen([program, "serve", "--port", "0"], env=environment, stdout=out, stderr=out) as process,
    ):
        try:
            address = until(lambda: re.search(r"(http://127\.0\.0\.1:\d+)", log.read_text()))[1]
            with (
                httpx.Client(base_url=address, headers=bearer(token), timeout=120) as client,
                ThreadPoolExecutor(8) as pool,
            ):

                def agent(n: int) -> int:
                    claim = {"content": f"Likes pier {n}.", "subject": "Mara", "action": "add"}
                    written = client.post("/v1/memory-write", json=claim)
                    found = client.post("/v1/search", json={"query": "pier"})
                    return max(written.status_code, found.status_code)

                assert set(pool.map(agent, range(12))) == {200}
        finally:
            process.terminate()


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
    with pytest.raises(StoreError, match="SLOWWAVE_REPLICA_URL leads to another store"):  # one without our tables
        export_snapshot(Store(store.owner, store.logins, replica=postgres.url("postgres")), slug)
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


# Connections of a worker.

MOST: Final = 8
"""The most connections that one process has at once, idle ones included, as docs/scale.md states. Measured: 6."""


def test_a_worker_has_eight_connections_at_most(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nights of four namespaces, apply and undo, by one login and by one for each role, while heartbeats connect as well."""
    opened: list[Session] = []
    most = 0
    connect = Session.open

    def counted(address: str, name: str) -> Session:
        nonlocal most
        opened.append(connect(address, name))
        most = max(most, sum(not one.closed for one in opened))
        return opened[-1]

    slugs = [forgetful(store, f"acme-{n}", rows=6, heartbeat_expiry_seconds=1) for n in range(8)]
    close_idle()
    monkeypatch.setattr(Session, "open", counted)
    for place, names in ((store, slugs[:4]), (Store(store.owner), slugs[4:])):
        for slug, night in run_nights(place, names, ops="gc_references", force=True):
            assert isinstance(night, Night)
            assert night.plan
            approval = approve(place, slug, night.plan.plan_hash, approver="mara")
            undo_run(place, apply_approval(place, approval.id).run_id)
    assert 3 <= most <= MOST
