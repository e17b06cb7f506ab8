"""Apply is no faster than the database can bear: smaller batches where they take long, none while a replica is behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from threading import Event, Thread
from types import SimpleNamespace

import psycopg
import psycopg2
import psycopg2.extras
import pytest

import slowwave
from slowwave.night import executor
from slowwave.night.executor import Throttle, replication_lag
from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from tests.dreamers import OPS, forgetful
from tests.memories import ask
from tests.waiting import until


class Replica:
    """A client that streams the server's log as a standby does, and tells how far it has replayed it: not at all while ``held``."""

    def __init__(self, address: str, start: str) -> None:
        self.held = Event()
        self._stop = Event()
        self._address, self._start = address, start
        self._thread = Thread(target=self._stream, daemon=True)

    def __enter__(self) -> Replica:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(10)

    def _stream(self) -> None:
        connection = psycopg2.connect(self._address, connection_factory=psycopg2.extras.PhysicalReplicationConnection)
        cursor = connection.cursor()
        cursor.start_replication(start_lsn=self._start)
        received = replayed = 0
        while not self._stop.is_set():
            while (message := cursor.read_message()) is not None:
                received = max(received, message.data_start + len(message.payload))
            if not self.held.is_set():
                replayed = received
            if received:
                cursor.send_feedback(write_lsn=received, flush_lsn=received, apply_lsn=replayed, force=True)
            self._stop.wait(0.05)
        connection.close()


@contextmanager
def replica(postgres: server.Server) -> Iterator[Replica]:
    """A replica of the test's server, streaming."""
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as admin:
        (start,) = admin.execute("SELECT pg_current_wal_flush_lsn()::text").fetchone() or ("",)
        streaming = "SELECT count(*) FROM pg_stat_replication"
        with Replica(postgres.url("postgres"), str(start)) as far:
            until(lambda: admin.execute(streaming).fetchone() == (1,))
            yield far


@pytest.fixture
def may_see_replicas(postgres: server.Server) -> Iterator[None]:
    """The applier may read how far replicas are."""
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as admin:
        admin.execute("GRANT pg_read_all_stats TO slowwave_login_applier")
        yield
        admin.execute("REVOKE pg_read_all_stats FROM slowwave_login_applier")


def _behind(postgres: server.Server, seconds: float) -> bool:
    """Write to the log, and see whether the replica is that far behind."""
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as admin:
        admin.execute("SELECT pg_logical_emit_message(true, 'test', 'x')")
        return (replication_lag(admin) or 0.0) > seconds


def test_batches_halve_where_they_take_long_and_grow_back() -> None:
    """Down to one item, up to the setting, one pause after each slow one; 0 switches it off."""
    throttle = Throttle.from_settings(
        Settings(batch_items=8, apply_max_batch_seconds=1.0, apply_max_replication_lag_seconds=0)
    )
    assert throttle.size == 8
    sizes = []
    for seconds in (2.0, 2.0, 1.1, 5.0, 0.7, 0.1, 0.1, 0.1, 0.1):
        throttle.took(seconds)
        sizes.append(throttle.size)
    assert sizes == [4, 2, 1, 1, 1, 2, 4, 8, 8]
    off = Throttle.from_settings(Settings(batch_items=8, apply_max_batch_seconds=0))
    off.took(1000)
    assert off.size == 8


def test_a_run_with_slow_batches_goes_on_in_smaller_ones_and_says_so(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four batches take 1.1 seconds by the clock of the run; then they are quick, and grow again."""
    slug = forgetful(store, rows=24, batch_items=8, apply_max_batch_seconds=1.0, default_mode="apply")
    clock = [0.0]
    done: list[int] = [0]
    notes: list[tuple[float, str]] = []

    def monotonic() -> float:
        clock[0] += 0.55 if len(done) < 5 else 0.05  # a batch and its items are timed: two steps of the clock
        return clock[0]

    def sleep(seconds: float) -> None:
        (run,) = [r for r in slowwave.dream_history(slug, store=store) if r.mode == "apply"]
        notes.append((seconds, slowwave.dream_status(run.run_id, store=store).waiting_for))

    def look(progress: slowwave.DreamProgress) -> None:
        if progress.phase == "apply":
            done.append(progress.done)

    monkeypatch.setattr(executor, "time", SimpleNamespace(monotonic=monotonic, sleep=sleep))
    result = slowwave.dream(slug, ops=OPS, approver="mara", store=store, on_progress=look)
    assert result.run.counts["applied"] == 24
    assert [b - a for a, b in pairwise(done)] == [8, 4, 2, 1, 1, 2, 4, 2]
    told = "The last batch took 1.1 s, so the next ones hold {} items."
    assert notes == [(executor.PAUSE_SECONDS, told.format(n)) for n in (4, 2, 1, 1)]


@pytest.mark.usefixtures("may_see_replicas")
def test_apply_waits_while_a_replica_is_behind(store: Store, postgres: server.Server) -> None:
    """The run keeps its namespace and says what it waits for; when the replica has caught up, it goes on by itself."""
    slug = forgetful(
        store,
        rows=12,
        batch_items=4,
        apply_max_replication_lag_seconds=0.5,
        heartbeat_expiry_seconds=8,
    )
    plan = slowwave.dream(slug, ops=OPS, store=store)
    results: list[slowwave.DreamResult] = []
    with replica(postgres) as far:
        far.held.set()
        until(lambda: _behind(postgres, 0.6))
        work = Thread(
            target=lambda: results.append(
                slowwave.dream(slug, "apply", approver="mara", resume_from=plan.run.run_id, store=store)
            )
        )
        work.start()
        until(lambda: slowwave.dream_history(slug, store=store)[0].mode == "apply")
        run_id = slowwave.dream_history(slug, store=store)[0].run_id
        until(lambda: "A replica is" in slowwave.dream_status(run_id, store=store).waiting_for)
        ask(store, "UPDATE night.runs SET heartbeat_at = heartbeat_at - interval '1 hour' WHERE id = %s", run_id)
        until(lambda: not slowwave.dream_status(run_id, store=store).stuck)
        status = slowwave.dream_status(run_id, store=store)
        assert (status.state, status.done, status.stuck) == ("applying", 0, False)
        assert "apply waits until it is under 0.5 s" in status.waiting_for
        far.held.clear()
        work.join()
    assert [r.state for r in results] == ["completed"]


def test_a_role_that_may_not_see_replicas_does_not_wait_for_them(store: Store, postgres: server.Server) -> None:
    """How far they are is unknown, which is no error."""
    slug = forgetful(store, rows=3, apply_max_replication_lag_seconds=0.1)
    with replica(postgres) as far:
        far.held.set()
        until(lambda: _behind(postgres, 0.3))
        with store.connect("applier") as connection:
            assert replication_lag(connection) is None
        result = slowwave.dream(slug, "apply", ops=OPS, approver="mara", store=store)
    assert result.state == "completed"
