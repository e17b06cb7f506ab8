"""Nights of many small namespaces by runs of Dagster, in CPU seconds of programs and server.

``python -m benchmarks.grouped [COUNT …] [--rows 300] [--write]``. For each count of namespaces, a store of generated rows gets a tick of
the schedule, which asks every namespace whether a night is due, and the runs that it requests, three at a time; then a second tick, and
the runs of a day on which nothing has changed, as a person starts them.

Runs are processes of ``dagster job execute`` with an instance in the same PostgreSQL and all events. The report counts what Dagster stores
and times the partition page of an asset. A store alike stands for ``slowwave night ALL``, up to 300 namespaces. ``--write`` writes
docs/scale.md.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import psycopg
import yaml
from rich.console import Console

from benchmarks.generate import Generated, fill, make
from benchmarks.machine import commit
from benchmarks.report import Part, put, show
from slowwave.dagster import Timetable
from slowwave.dagster.jobs import night_config
from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.surfaces.cli.dev import instance_environment
from slowwave.surfaces.cli.session import open_store

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "scale.md"
MARKS: Final = ("<!-- namespaces -->", "<!-- end of namespaces -->")
PORT: Final = 3997
AT_ONCE: Final = 3
PEER_LIMIT: Final = 300
ROWS_PER_ENTITY: Final = 7
"""An entity, its chunk, three relationships, a fact and a memory."""

PAGE_QUERY: Final = """
query($key: [String!]!) { assetNodes(assetKeys: [{path: $key}]) {
  partitionKeys
  assetPartitionStatuses { ... on DefaultPartitionStatuses { materializedPartitions failedPartitions unmaterializedPartitions } }
} }
"""


def generated(count: int, rows: int) -> Iterator[Generated]:
    """Make namespaces of about so many rows each, with 20 recalls."""
    for n in range(count):
        made = make(max(rows // ROWS_PER_ENTITY, 6), now=datetime.now(UTC), slug=f"user-{n:04}", seed=n)
        yield replace(made, tables={**made.tables, "recall_events": made.tables["recall_events"].slice(0, 20)})


def postgres_seconds() -> float:
    """Return the CPU seconds of all PostgreSQL servers of this machine, with those of their ended children."""
    ticks = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "comm").read_text().startswith("postgres"):
                ticks += sum(int(n) for n in (process / "stat").read_text().rsplit(")", 1)[1].split()[11:15])
        except OSError:
            continue
    return ticks / os.sysconf("SC_CLK_TCK")


def measured(commands: Iterable[Sequence[str]], environment: Mapping[str, str]) -> tuple[float, float, list[str]]:
    """Run commands, three at a time; return the CPU seconds of their processes and of PostgreSQL, the wall time, and what they printed."""

    def run(command: Sequence[str]) -> str:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)[:200]} failed.\n{done.stderr[-3000:]}")
        return done.stdout

    before, server_before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), postgres_seconds(), time.perf_counter()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        printed = list(pool.map(run, commands))
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    time.sleep(1)  # until backends that ended are counted for their parent
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent + postgres_seconds() - server_before, wall, printed


@contextmanager
def filled(count: int, rows: int) -> Generator[tuple[Store, dict[str, str]]]:
    """Yield a store with namespaces in a server of its own, and the environment of its programs."""
    with tempfile.TemporaryDirectory(prefix="slowwave-grouped-") as folder:
        os.environ["SLOWWAVE_HOME"] = folder
        try:
            store = open_store()
            fill(store, *generated(count, rows))
            yield store, dict(os.environ)
        finally:
            server.stop(Path(folder))


def counted(store: Store, query: str) -> int:
    """Return the number that a query of the store finds."""
    with store.connect("reader") as connection:
        return int(str((connection.execute(query.encode()).fetchone() or (0,))[0]))


def tick() -> None:
    """Evaluate the nightly schedule as the daemon does, and print what it cost and requested, as JSON."""
    begun = time.process_time()
    import dagster as dg

    from memory_assets.definitions import defs

    repository = defs.get_repository_def()
    loaded = time.process_time() - begun
    store = open_store()
    with dg.DagsterInstance.get() as instance, store.connect("reader") as connection:
        names = [str(slug) for (slug,) in connection.execute("SELECT slug FROM memory.namespaces ORDER BY slug")]
        if new := sorted(set(names) - set(instance.get_dynamic_partitions("namespaces"))):
            instance.add_dynamic_partitions("namespaces", new)
        wall, cpu, server_cpu = time.perf_counter(), time.process_time(), postgres_seconds()
        with dg.build_schedule_context(
            instance=instance,
            scheduled_execution_time=datetime.now(UTC),
            repository_def=repository,
            resources={"store": store},
        ) as context:
            found: Any = defs.resolve_schedule_def("nightly")(context)
        requested = [] if isinstance(found, dg.SkipReason) else [request.run_config for request in found]
        spent = {
            "cpu": time.process_time() - cpu + postgres_seconds() - server_cpu,
            "wall": time.perf_counter() - wall,
            "loaded": loaded,
        }
    print(json.dumps({**spent, "requested": requested}))


def partition_page(environment: Mapping[str, str]) -> float:
    """Return the seconds in which the webserver answers what the page of the asset ``night/plan`` asks for, the second time."""
    command = [program("dagster-webserver"), "-m", "memory_assets.definitions", "-p", str(PORT), "-h", "127.0.0.1"]
    query = json.dumps({"query": PAGE_QUERY, "variables": {"key": ["night", "plan"]}})
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as web:
        try:
            for _ in range(120):
                time.sleep(1)
                with suppress(OSError):
                    asked(query)
                    break
            begun = time.perf_counter()
            (node,) = asked(query)["data"]["assetNodes"]
            taken = time.perf_counter() - begun
        finally:
            web.terminate()
    if not node["partitionKeys"]:
        raise SystemExit("The page knows no partitions.")
    return taken


def asked(query: str) -> Any:
    """Return the answer of the webserver to a query of GraphQL."""
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=120)
    try:
        connection.request("POST", "/graphql", query, {"Content-Type": "application/json"})
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def program(name: str) -> str:
    """Return the path of a program of this environment."""
    return str(Path(sys.executable).with_name(name))


def by_dagster(count: int, rows: int) -> dict[str, float]:
    """Return the figures of nights by the schedule: a first night of every namespace, then one without a change."""
    found: dict[str, float] = {"namespaces": count}
    with filled(count, rows) as (store, environment):
        home = Path(environment["SLOWWAVE_HOME"])
        subprocess.run([program("slowwave"), "dev", "--prepare"], env=environment, check=True, capture_output=True)
        environment |= instance_environment(home)
        subprocess.run([program("dagster"), "instance", "migrate"], env=environment, check=True, capture_output=True)
        evaluate = [[sys.executable, "-c", "from benchmarks.grouped import tick; tick()"]]

        def runs(configs: Iterable[object], name: str) -> list[list[str]]:
            commands: list[list[str]] = []
            for n, config in enumerate(configs):
                file = home / f"{name}-{n}.yaml"
                file.write_text(yaml.safe_dump(config))
                job = ["-m", "memory_assets.definitions", "-j", "night_job", "-c", str(file)]
                commands.append([program("dagster"), "job", "execute", *job])
            return commands

        first = json.loads(measured(evaluate, environment)[2][0].splitlines()[-1])
        found["night"], found["wall"], _ = measured(runs(first["requested"], "first"), environment)
        plans = counted(store, "SELECT count(*) FROM night.plans")
        if plans != count:
            raise SystemExit(f"{plans:,} plans of {count:,} namespaces: the figures would be of failed nights.")
        with psycopg.connect(environment["SLOWWAVE_DAGSTER_URL"].replace("+psycopg2", "")) as connection:
            (events,) = connection.execute("SELECT count(*) FROM event_logs").fetchone() or (0,)
        second = json.loads(measured(evaluate, environment)[2][0].splitlines()[-1])
        names = [f"user-{n:04}" for n in range(count)]
        groups = [names[n : n + Timetable().nights_per_run] for n in range(0, count, Timetable().nights_per_run)]
        found["unchanged"], _, _ = measured(runs(map(night_config, groups), "second"), environment)
        found |= {
            "first_tick": first["cpu"],
            "second_tick": second["cpu"],
            "tick_wall": max(first["wall"], second["wall"]),
        }
        found |= {"requested_again": len(second["requested"]), "loaded": second["loaded"], "events": int(events)}
        found["page"] = partition_page(environment)
    return found


def by_command(count: int, rows: int) -> float:
    """Return the CPU seconds of ``slowwave night ALL``."""
    with filled(count, rows) as (_, environment):
        return measured([[program("slowwave"), "night", "ALL"]], environment)[0]


def part(found: Sequence[Mapping[str, float]], rows: int) -> Part:
    """Return the figures of all counts as a table."""
    lines: list[list[str]] = []
    for one in found:
        n = one["namespaces"]
        lines.append(
            [
                f"{n:,.0f}",
                f"{one['wall'] / 60:.1f} min",
                f"{one['night'] / n:.2f} s",
                f"{one['command'] / n:.2f} s" if "command" in one else "",
                f"{one['second_tick'] / n * 1000:.1f} ms",
                f"{one['unchanged'] / n * 1000:.0f} ms",
                f"{one['tick_wall']:.1f} s",
                f"{one['events'] / n:.0f}",
                f"{one['loaded']:.1f} s",
                f"{one['page']:.2f} s",
            ]
        )
    return Part(
        f"Nights of namespaces with {rows} rows",
        "By the schedule, three runs at a time on two cores; CPU seconds with those of PostgreSQL.",
        [
            "namespaces",
            "all nights",
            "CPU of one",
            "`slowwave night ALL`",
            "unchanged, by schedule",
            "unchanged, in a run",
            "tick",
            "rows of Dagster",
            "definitions",
            "page of an asset",
        ],
        lines,
    )


def main() -> None:
    """Measure each count and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("counts", nargs="*", type=int, default=[100])
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    found: list[dict[str, float]] = []
    for count in given.counts:
        found.append(by_dagster(count, given.rows))
        if count <= PEER_LIMIT:
            found[-1]["command"] = by_command(count, given.rows)
        print(json.dumps(found[-1]), flush=True)
    table = part(found, given.rows)
    show([table], Console())
    if given.write:
        put(
            [table],
            PAGE,
            MARKS,
            f"`python -m benchmarks.grouped {' '.join(map(str, given.counts))}`, commit {commit()}.",
        )


if __name__ == "__main__":
    main()
