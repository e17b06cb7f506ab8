"""Nights, applies and undos by Celery workers that are killed, paused, out of date or without disk: nothing twice, nothing lost.

Every process is started by ``deploy/celery/start.sh`` with the settings beside it, in a home of its own. The machines share PostgreSQL, the
folder of snapshots and Redis. Only the heartbeat expires sooner than by default.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from slowwave.dagster.jobs import night_config
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.operations import permits
from slowwave.plans.gate import approve
from slowwave.snapshots.export import export_snapshot
from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.store.tables import EXPORTED
from tests.clusters import dropped
from tests.huge import NAME, items_of, load_huge
from tests.memories import ask, remember
from tests.scale.conftest import require_program
from tests.waiting import until

pytestmark = pytest.mark.scale

ROOT: Final = Path(__file__).parents[2]
EXPIRY: Final = 15
"""Seconds after which a heartbeat expires; the default is 300."""

PASSWORD: Final = "sesame-of-the-broker"

MEMORY: Final = frozenset(table.name for table in EXPORTED)
SLOW: Final = {"batch_items": 1, "apply_max_batch_seconds": 0.000001}
"""Settings of a namespace by which every item is a batch, and a second passes before the next one."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def connection_url(address: str, database: str) -> str:
    return re.sub(r"/[^/]*$", f"/{database}", address)


@dataclass
class Machines:
    """The processes by name, each the leader of a group that is killed and paused as a machine is."""

    store: Store
    folder: Path
    dagster: str
    environment: dict[str, str]
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, *command: str, **variables: str) -> None:
        home = self.folder / name
        home.mkdir(exist_ok=True)
        with (self.folder / f"{name}.log").open("ab") as log:
            script = ["deploy/celery/start.sh", *command]
            if blocks := variables.pop(
                "FILE_BLOCKS", ""
            ):  # no file may be larger, as on a disk that is full; the log is a pipe
                script = ["sh", "-c", f'(ulimit -f {blocks}; exec "$@") 2>&1 | cat', "sh", *script]
            self.running[name] = subprocess.Popen(
                script,
                env={**self.environment, "SLOWWAVE_HOME": str(home), **variables},
                cwd=ROOT,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def send(self, name: str, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.running[name].pid, number)

    def kill(self, name: str) -> None:
        self.send(name, signal.SIGKILL)
        self.running.pop(name).wait()

    def serve(self, *, nights: bool) -> None:
        """Start the code server, with the schedule of nights or without, and the daemon."""
        self.start("code", "code", NIGHTS="RUNNING" if nights else "STOPPED")
        code = self.running["code"]
        until(lambda: "Started Dagster code server" in self.log("code") or code.poll() is not None, pause=0.2)
        self.start("daemon", "daemon")

    def worker(self, name: str, **variables: str) -> None:
        self.start(name, "worker", name, **variables)

    def now(self) -> float:
        """Seconds by the clock of PostgreSQL."""
        return float(self.events("SELECT extract(epoch FROM clock_timestamp())")[0][0])

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def events(self, query: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Rows of a query in Dagster's database."""
        with psycopg.connect(self.dagster, autocommit=True) as connection:
            return connection.execute(query.encode(), parameters).fetchall()

    def process_of(self, dagster_run: str) -> int:
        """The id of the process that executes a run, as Dagster recorded it."""
        query = "SELECT event FROM event_logs WHERE run_id = %s AND event LIKE '%%Started process for run%%'"
        ((event,), *_) = until(lambda: self.events(query, dagster_run), seconds=30)
        return int(re.findall(r"\(pid: (\d+)\)", event)[0])

    def worker_of(self, dagster_run: str) -> str:
        """The name of the worker that executes a run; empty if that has ended."""
        try:
            group = os.getpgid(self.process_of(dagster_run))
        except ProcessLookupError:
            return ""
        return next((name for name, process in self.running.items() if process.pid == group), "")

    def runs(self, job: str) -> list[tuple[str, str, dict[str, str]]]:
        """Id, status and tags of the runs of a job, the oldest first."""
        rows = self.events("SELECT run_id, status, run_body FROM runs WHERE pipeline_name = %s ORDER BY id", job)
        return [(run, status, json.loads(body).get("tags", {})) for run, status, body in rows]

    def status(self, dagster_run: str) -> str:
        return str(self.events("SELECT status FROM runs WHERE run_id = %s", dagster_run)[0][0])

    def restart_broker(self) -> None:
        self.send("broker", signal.SIGTERM)
        assert self.running.pop("broker").wait(30) == 0
        self.start("broker", "broker")

    def failure(self, dagster_run: str) -> list[str]:
        """The sentences with which a run and its step failed."""
        kinds = "('STEP_FAILURE', 'PIPELINE_FAILURE')"
        query = f"SELECT event FROM event_logs WHERE run_id = %s AND dagster_event_type IN {kinds} ORDER BY id"
        found = [json.loads(event)["dagster_event"] for (event,) in self.events(query, dagster_run)]
        data = [event["event_specific_data"] or {} for event in found]
        sentences = [(one.get("user_failure_data") or {}).get("description") for one in data]
        return [sentence or event["message"] for sentence, event in zip(sentences, found, strict=True)]

    def launch(self, job: str, config: Mapping[str, object]) -> str:
        """Start a run by hand, through the queue of runs."""
        home = self.folder / "launcher"
        (home / "dagster").mkdir(parents=True, exist_ok=True)
        (home / "dagster" / "dagster.yaml").write_text(Path(self.environment["DAGSTER_SETTINGS"]).read_text())
        before = {run for run, *_ in self.runs(job)}
        workspace = ("-w", "deploy/celery/workspace.yaml")
        subprocess.run(
            ["dagster", "job", "launch", *workspace, "-j", job, "--config-json", json.dumps(config)],
            env={**self.environment, "DAGSTER_HOME": str(home / "dagster"), "CODE_HOST": "127.0.0.1"},
            cwd=ROOT,
            check=True,
            capture_output=True,
        )
        (run,) = {run for run, *_ in self.runs(job)} - before
        return run

    def steps(self, dagster_run: str, kind: str) -> dict[str, str]:
        """The last event of a kind of each step of a run."""
        query = "SELECT step_key, event FROM event_logs WHERE run_id = %s AND dagster_event_type = %s AND step_key <> '' ORDER BY id"
        return dict(self.events(query, dagster_run, kind))

    def tiles(self, dagster_run: str) -> dict[str, str]:
        """The name of the worker that took each tile of a run."""
        found = {
            step: re.search(r'"text": "(\w+)@', event)
            for step, event in self.steps(dagster_run, "ENGINE_EVENT").items()
        }
        return {step: name[1] for step, name in found.items() if name and step.startswith("search_tile")}

    def failed_at(self, dagster_run: str) -> float:
        """Seconds by the clock of the machine at which a run was first reported as failed."""
        kind = "dagster_event_type = 'PIPELINE_FAILURE'"
        query = (
            f"SELECT extract(epoch FROM min(timestamp) AT TIME ZONE 'UTC') FROM event_logs WHERE run_id = %s AND {kind}"
        )
        return float(self.events(query, dagster_run)[0][0])

    def password_found(self) -> list[str]:
        """The files of logs and the tables of Dagster in which the broker's password is."""
        logs = [path.name for path in self.folder.glob("*.log") if PASSWORD in path.read_text(errors="replace")]
        tables = self.events("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'")
        return logs + [
            name
            for (name,) in tables
            if self.events(f"SELECT 1 FROM {name} one WHERE position(%s IN one::text) > 0 LIMIT 1", PASSWORD)
        ]

    def night_runs(self, state: str, mode: str) -> list[tuple[str, str]]:
        """Dagster run and namespace of the runs of the ledger in a state."""
        found = ask(
            self.store,
            "SELECT r.dagster_run_id, n.slug FROM night.runs r JOIN memory.namespaces n ON n.id = r.namespace_id "
            "WHERE r.state = %s AND r.mode = %s AND r.dagster_run_id <> ''",
            state,
            mode,
        )
        return [(str(run), str(name)) for run, name in found]

    def stop_during(
        self, mode: str, state: str, *, done: int = 0, number: signal.Signals = signal.SIGKILL
    ) -> tuple[str, str, str]:
        """Stop the worker that is planning or applying now; return the Dagster run, the namespace and the worker.

        The group is paused first, so that what was seen is still true when it is killed.
        """
        while True:
            run, name = until(lambda: self.night_runs(state, mode), seconds=300, pause=0.005)[0]
            if not (worker := self.worker_of(run)):
                continue
            self.send(worker, signal.SIGSTOP)
            held = ask(
                self.store,
                "SELECT coalesce((progress ->> 'done')::int, 0), coalesce((progress ->> 'total')::int, 0) FROM night.runs "
                "WHERE dagster_run_id = %s AND state = %s AND mode = %s",
                *(run, state, mode),
            )
            if held and int(str(held[0][0])) >= done:
                break
            self.send(worker, signal.SIGCONT)
        if number is signal.SIGKILL:
            self.kill(worker)
        return run, name, worker


@pytest.fixture
def machines(store: Store, postgres: server.Server, tmp_path: Path) -> Iterator[Machines]:
    """Broker and migrated databases; each test starts its other processes."""
    require_program("redis-server", "redis-server")
    database = f"dagster_{uuid.uuid4().hex[:12]}"
    server.create_database(postgres.url, database)
    address = connection_url(store.owner, database)
    broker, code = free_port(), free_port()
    shipped = (ROOT / "deploy" / "celery" / "dagster.yaml").read_text()
    settings = tmp_path / "dagster.yaml"
    settings.write_text(shipped.replace("max_concurrent_runs: 4", "max_concurrent_runs: 2"))
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("SLOWWAVE_")},
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "SLOWWAVE_DATABASE_URL": store.owner,
        "SLOWWAVE_APPLY_DATABASE_URL": store.logins["applier"],
        "SLOWWAVE_DAGSTER_URL": address.replace("postgresql://", "postgresql+psycopg2://", 1),
        "SLOWWAVE_SNAPSHOTS": str(tmp_path / "snapshots"),
        "SLOWWAVE_EMBEDDING_MODEL": os.environ["SLOWWAVE_EMBEDDING_MODEL"],
        "SLOWWAVE_HEARTBEAT_EXPIRY_SECONDS": str(EXPIRY),
        "SLOWWAVE_NIGHTS_PER_RUN": "6",
        **{"BROKER_PORT": str(broker), "CODE_PORT": str(code), "CODE_MODULE": "tests.scale.location"},
        "BROKER_PASSWORD": PASSWORD,
        "CELERY_BROKER_URL": f"redis://:{PASSWORD}@127.0.0.1:{broker}/0",
        "CELERY_RESULT_BACKEND": f"redis://:{PASSWORD}@127.0.0.1:{broker}/1",
        **{"DAGSTER_SETTINGS": str(settings), "WORKER_RUNS": "1", "OMP_NUM_THREADS": "1"},
    }
    made = Machines(store, tmp_path, postgres.url(database), environment)
    try:
        made.start("migrate", "migrate")
        assert made.running.pop("migrate").wait(120) == 0, made.log("migrate")
        made.start("broker", "broker")
        yield made
        assert made.password_found() == []
    finally:
        for name in list(made.running):
            made.send(name, signal.SIGCONT)
            made.kill(name)
        dropped(postgres, database)


def fill(store: Store, count: int, copies: int = 6, settings: Mapping[str, object] | None = None) -> list[str]:
    """Namespaces in which so many sentences are there twice, which the nights fold without a question."""
    names = [f"user-{n:02}" for n in range(count)]
    for name in names:
        texts = [
            f"The release of part {n} of the harbour is on 2026-03-{n + 1:02}." for n in range(copies) for _ in (0, 1)
        ]
        remember(
            store,
            name,
            settings,
            memories=[
                {"id": f"{name} m{n}", "kind": "episodic", "current_version_id": f"{name} v{n}"}
                for n in range(len(texts))
            ],
            memory_versions=[
                {"id": f"{name} v{n}", "memory_id": f"{name} m{n}", "content": t} for n, t in enumerate(texts)
            ],
        )
    return names


def rows(store: Store, names: list[str]) -> dict[str, dict[str, object]]:
    """The rows of memory of some namespaces by table, and their vectors."""
    found: dict[str, dict[str, object]] = {}
    for name in names:
        taken = export_snapshot(store, name)
        tables = {table: sorted(taken.table(table).to_pylist(), key=repr) for table in MEMORY}
        vectors = {
            kind: sorted(zip(one.ids.to_pylist(), one.matrix.tolist(), strict=True))
            for kind, one in taken.vectors.items()
            if len(one)
        }
        found[name] = {**tables, **vectors}
    return found


def planned(store: Store) -> dict[str, list[str]]:
    """The plan hashes of each namespace."""
    found = ask(
        store, "SELECT n.slug, p.plan_hash FROM night.plans p JOIN memory.namespaces n ON n.id = p.namespace_id"
    )
    hashes: dict[str, list[str]] = {}
    for name, plan in found:
        hashes.setdefault(str(name), []).append(str(plan))
    return hashes


def approve_all(store: Store, names: list[str]) -> int:
    """Approve the plans of namespaces; return the number of items."""
    plans = planned(store)
    return sum(len(approve(store, name, plans[name][0], approver="mara", permits=permits()).item_ids) for name in names)


def assert_applied_once(store: Store, items: int) -> None:
    """Every approved item is applied, and the journal has each of them from one run."""
    assert ask(store, "SELECT count(*) FROM night.plan_items WHERE status = 'applied'") == [(items,)]
    assert ask(store, "SELECT count(DISTINCT item_id) FROM night.journal") == [(items,)]
    twice = "SELECT item_id FROM night.journal GROUP BY item_id HAVING count(DISTINCT run_id) > 1"
    assert ask(store, twice) == []


def undo_all(store: Store) -> None:
    """Undo every apply run."""
    for (run,) in ask(store, "SELECT id::text FROM night.runs WHERE mode = 'apply' AND state = 'completed'"):
        undo_run(store, str(run))


def test_killed_workers_lose_no_night_and_apply_nothing_twice(machines: Machines) -> None:
    """24 namespaces, a worker killed while it plans and one while it applies, a broker restarted in between."""
    store = machines.store
    names = fill(store, 24)
    ask(store, "UPDATE memory.namespaces SET settings = settings || %s WHERE slug = %s", json.dumps(SLOW), names[0])
    before = rows(store, names)
    machines.worker("one")
    machines.worker("two")
    machines.serve(nights=True)

    lost, name, _ = machines.stop_during("plan", "planning")
    killed = machines.now()
    until(lambda: machines.status(lost) == "FAILURE", seconds=240, pause=0.1)
    reported = machines.now() - killed
    machines.restart_broker()
    machines.worker("three")
    until(lambda: len(planned(store)) == len(names), seconds=400, pause=0.5)
    until(
        lambda: all(machines.status(run) in ("SUCCESS", "FAILURE") for run, *_ in machines.runs("night_job")),
        seconds=60,
        pause=0.5,
    )
    assert all(len(plans) == 1 for plans in planned(store).values())
    nights = machines.runs("night_job")
    assert [run for run, status, _ in nights if status != "SUCCESS"] == [lost]
    assert [tags["dagster/retry_number"] for _, _, tags in nights if tags.get("dagster/parent_run_id") == lost] == ["1"]
    assert f"for {name}, is" in machines.failure(lost)[0]

    items = approve_all(store, names[:1])
    lost_apply, name, _ = machines.stop_during("apply", "applying", done=2)
    killed = machines.now()
    items += approve_all(store, names[1:])
    machines.restart_broker()
    until(lambda: machines.status(lost_apply) == "FAILURE", seconds=240, pause=0.1)
    reported_apply = machines.now() - killed
    machines.worker("four")
    until(lambda: ask(store, "SELECT count(*) FROM night.applied") == [(len(names),)], seconds=400, pause=0.5)
    applied = machines.now() - killed
    assert_applied_once(store, items)
    assert f"for {name}, is" in machines.failure(lost_apply)[0]
    undo_all(store)
    assert rows(store, names) == before
    print(
        f"\nreported as failed {reported:.0f} s after the kill in planning, {reported_apply:.0f} s after that in apply, all applied after "
        f"{applied:.0f} s (heartbeat {EXPIRY} s); {len(names)} plans, {items} items applied once and undone exactly"
    )
    for job in ("night_job", "apply_job"):
        print(job, [(status, tags.get("dagster/retry_number")) for _, status, tags in machines.runs(job)])


def test_two_daemons_make_one_night_for_each_namespace(machines: Machines) -> None:
    """Both evaluate the same schedule; the keys of runs and the ledger leave one plan for each namespace."""
    names = fill(machines.store, 6, copies=3)
    machines.environment["SLOWWAVE_NIGHTS_PER_RUN"] = "2"
    machines.worker("one", WORKER_RUNS="2")
    machines.serve(nights=True)
    machines.start("other", "daemon")
    until(lambda: len(planned(machines.store)) == len(names), seconds=300, pause=0.5)
    until(
        lambda: all(status in ("SUCCESS", "FAILURE") for _, status, _ in machines.runs("night_job")),
        seconds=90,
        pause=0.5,
    )
    assert all(len(plans) == 1 for plans in planned(machines.store).values())
    assert all("Evaluating schedule `nightly`" in machines.log(name) for name in ("daemon", "other"))
    print("\n", [(status, tags.get("dagster/run_key")) for _, status, tags in machines.runs("night_job")])


@pytest.mark.parametrize("skewed", [False, True], ids=["one clock", "clocks ten minutes apart"])
def test_paused_workers_that_continue_find_their_claims_lost(machines: Machines, skewed: bool) -> None:
    """A worker is paused while it plans, another while it applies; both continue after their runs were retried elsewhere."""
    clocks = [shifted_clock(machines.folder, seconds) for seconds in (300, -300)] if skewed else [{}, {}]
    store = machines.store
    names = fill(store, 2)
    ask(store, "UPDATE memory.namespaces SET settings = settings || %s WHERE slug = %s", json.dumps(SLOW), names[0])
    before = rows(store, names)
    for name, clock in zip(("one", "two"), clocks, strict=True):
        machines.worker(name, **clock)
    machines.serve(nights=False)
    first = machines.launch("night_job", night_config(names))
    _, _, worker = machines.stop_during("plan", "planning", number=signal.SIGSTOP)
    paused = machines.now()
    until(lambda: machines.status(first) == "FAILURE", seconds=240, pause=0.1)
    reported = machines.now() - paused
    until(lambda: len(planned(store)) == len(names), seconds=240, pause=0.2)
    taken = machines.now() - paused
    machines.send(worker, signal.SIGCONT)
    until(lambda: "the worker plans nothing more" in " ".join(machines.failure(first)), seconds=240, pause=0.2)
    assert {len(plans) for plans in planned(store).values()} == {1}

    items = approve_all(store, names)
    lost, _, worker = machines.stop_during("apply", "applying", done=2, number=signal.SIGSTOP)
    until(lambda: ask(store, "SELECT count(*) FROM night.applied") == [(len(names),)], seconds=300, pause=0.2)
    machines.send(worker, signal.SIGCONT)
    until(lambda: "lost its claim" in " ".join(machines.failure(lost)), seconds=240, pause=0.2)
    assert_applied_once(store, items)
    undo_all(store)
    assert rows(store, names) == before
    print(
        f"\nplanning reported as failed after {reported:.0f} s, planned by the other worker after {taken:.0f} s; {items} items applied once"
    )


def test_killed_process_of_a_living_worker_is_retried_once_its_heartbeat_has_expired(machines: Machines) -> None:
    """As for want of memory: Celery reports the task as failed, and Dagster fails and retries the run before the claim is free."""
    store = machines.store
    (name,) = fill(store, 1)
    ask(store, "UPDATE memory.namespaces SET settings = settings || %s", json.dumps(SLOW))
    before = rows(store, [name])
    run_night(store, name)
    items = approve_all(store, [name])
    machines.worker("one")
    machines.serve(nights=False)
    run, *_ = machines.stop_during("apply", "applying", done=2, number=signal.SIGSTOP)
    os.kill(machines.process_of(run), signal.SIGKILL)
    machines.send("one", signal.SIGCONT)
    killed = machines.now()
    until(lambda: machines.status(run) == "FAILURE", seconds=240, pause=0.1)
    reported = machines.now() - killed
    until(lambda: ask(store, "SELECT count(*) FROM night.applied") == [(1,)], seconds=300, pause=0.2)
    applied = machines.now() - killed
    assert_applied_once(store, items)
    undo_all(store)
    assert rows(store, [name]) == before
    statuses = [(status, tags.get("dagster/retry_number")) for _, status, tags in machines.runs("apply_job")]
    print(f"\nfailed after {reported:.0f} s, applied after {applied:.0f} s: {statuses}")


def test_lost_tiles_and_runs_that_hold_no_namespace_are_tried_again(machines: Machines) -> None:
    """One worker is killed before the first claim of its night, another one while it searches a tile, each run on its own."""
    store = machines.store
    (early,) = fill(store, 1, copies=1)
    load_huge(store, 1_500)
    machines.environment["SILENT_SECONDS"] = "15"
    machines.worker("one")
    machines.serve(nights=False)
    night = {"namespace": NAME, "operations": "dedupe_entities,dedupe_memories", "tiles": 4}

    with psycopg.connect(store.owner) as other:  # as another transaction that changes the ledger
        other.execute("LOCK TABLE night.runs IN EXCLUSIVE MODE")
        lost = machines.launch("night_job", night_config([early]))
        waiting = "SELECT pid FROM pg_locks WHERE relation = 'night.runs'::regclass AND NOT granted"
        until(lambda: ask(store, waiting), seconds=60)
        assert machines.worker_of(lost) == "one"
        machines.kill("one")
        assert machines.status(lost) == "STARTED"
        ask(store, f"SELECT pg_terminate_backend(pid) FROM ({waiting}) one")
    killed = machines.now()

    for name in ("two", "three", "four"):
        machines.worker(name)
    tiled = machines.launch("tiled_night_job", {"ops": {"divide_candidate_search": {"config": night}}})
    until(lambda: machines.status(tiled) == "STARTED", seconds=60)
    waiter = machines.worker_of(tiled)

    def searching() -> dict[str, str]:
        begun = machines.steps(tiled, "STEP_START").keys() - machines.steps(tiled, "STEP_SUCCESS").keys()
        return {step: one for step, one in machines.tiles(tiled).items() if one != waiter and step in begun}

    while True:
        step, worker = next(iter(until(searching, seconds=60, pause=0.005).items()))
        machines.send(worker, signal.SIGSTOP)
        if step in searching():
            break
        machines.send(worker, signal.SIGCONT)
    machines.kill(worker)
    killed_tile = machines.now()

    until(lambda: "FAILURE" == machines.status(lost) == machines.status(tiled), seconds=120)
    reported, reported_tile = machines.failed_at(lost) - killed, machines.failed_at(tiled) - killed_tile
    assert all("stored no event" in machines.failure(run)[0] for run in (lost, tiled))
    assert ask(store, "SELECT count(*) FROM night.runs WHERE dagster_run_id = ANY(%s)", [lost, tiled]) == [(0,)]
    until(lambda: planned(store).keys() == {early, NAME}, seconds=120, pause=0.2)
    finished = machines.now() - killed_tile

    for job in ("night_job", "tiled_night_job"):
        until(lambda job=job: [status for _, status, _ in machines.runs(job)] == ["FAILURE", "SUCCESS"], seconds=60)
    again = machines.runs("tiled_night_job")[1][0]
    every, second = machines.tiles(tiled), machines.tiles(again)
    assert waiter not in every.values()
    assert len(set(every.values())) == 2
    assert len(every) >= 2
    assert set(second) == {step}
    until(lambda: "An exception was thrown" in machines.failure(tiled)[-1], seconds=60)  # its process has ended
    assert not list(machines.folder.glob("*/dagster/storage/*/search_tile*"))
    items = items_of(store)
    assert run_night(store, NAME, ops=str(night["operations"])).plan
    assert items_of(store) == items
    print(
        f"\nfailed {reported:.0f} s after the kill before a claim, {reported_tile:.0f} s after that of a tile; planned "
        f"after {finished:.0f} s; {len(every)} tiles by {sorted(set(every.values()))}, {len(second)} again by {second[step]}"
    )


_CLOCK: Final = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int failed = real(id, now);
  if (!failed && id == CLOCK_REALTIME) now->tv_sec += atoi(getenv("CLOCK_SHIFT"));
  return failed;
}
"""
"""The time of day of a process, shifted. libfaketime 0.9.10 shifts the clock of timeouts as well, and Python 3.11 then sleeps for ever."""


def shifted_clock(folder: Path, seconds: int) -> dict[str, str]:
    """The variables of a process whose clock is so many seconds ahead."""
    source, library = folder / "clock.c", folder / "clock.so"
    if not library.exists():
        source.write_text(_CLOCK)
        compiler = require_program("gcc", "gcc")
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return {"LD_PRELOAD": str(library), "CLOCK_SHIFT": str(seconds)}


_WITHOUT_MODEL: Final = """
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "onnxruntime" else found(name, package)
"""


def test_worker_that_is_not_like_the_others_refuses_in_one_sentence(machines: Machines, tmp_path: Path) -> None:
    """Without the model, without disk, or with the code of another version: nothing is planned, nothing is applied."""
    store = machines.store
    names = fill(store, 2, copies=300)
    plan = run_night(store, names[0]).plan
    assert plan
    before = rows(store, names)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(_WITHOUT_MODEL)
    machines.serve(nights=False)

    def refusal(**variables: str) -> str:
        machines.worker("odd", **variables)
        run = machines.launch("night_job", night_config(names[1:]))
        until(lambda: machines.status(run) in ("SUCCESS", "FAILURE"), seconds=240, pause=0.2)
        assert machines.status(run) == "FAILURE"
        machines.kill("odd")
        return machines.failure(run)[0]

    site = str(tmp_path / "site")
    model = refusal(PYTHONPATH=site, SLOWWAVE_EMBEDDING_MODEL="all-minilm-l6-v2-int8")
    assert model.startswith(f"{names[1]}: ")
    assert 'Install it by `pip install "slowwave[minilm]"`' in model
    disk = refusal(FILE_BLOCKS="128")
    assert disk.startswith(f"{names[1]}: The snapshot cannot be written to ")
    assert "File too large. Nothing of it stays." in disk
    ask(store, "UPDATE night.alembic_version SET version_num = '9999_newer'")
    version = refusal()
    assert version.startswith(
        f"{names[1]}: The database is at migration 9999_newer, and this version of Slowwave works with"
    )
    approve(store, names[0], plan.plan_hash, approver="mara", permits=permits())
    machines.worker("odd")
    until(lambda: any(status == "FAILURE" for _, status, _ in machines.runs("apply_job")), pause=0.2)
    assert "Nothing was planned or written." in machines.failure(machines.runs("apply_job")[0][0])[0]
    assert planned(store).keys() == {names[0]}
    assert rows(store, names) == before
    assert ask(store, "SELECT count(*) FROM night.journal") == [(0,)]
