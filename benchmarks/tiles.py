"""The candidate search of one huge namespace in one process and in tiles: CPU, wall seconds and memory of each process.

``python -m benchmarks.tiles [ENTITIES] [MEMORIES] [--write]``. The namespace is generated and saved as a snapshot, without a database:
memories are notes without a subject, so that all of them are compared with each other. The same planners run without and with tiles, and
their plans must have one hash. ``--write`` writes the tables into ``docs/scale.md``.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from sqlalchemy import ARRAY, Boolean, Column, DateTime, Double, Integer
from sqlalchemy.dialects.postgresql import JSONB

from benchmarks.generate import MODEL, make
from benchmarks.machine import load
from slowwave.matching.tiles import Run, in_threads
from slowwave.night.tiles import processes, save_searches
from slowwave.operations import PLANNERS, Inputs, permits, run_planner
from slowwave.plans.items import Item
from slowwave.plans.seal import Header, seal
from slowwave.snapshots.export import tight_memory
from slowwave.snapshots.files import load_snapshot, save_snapshot
from slowwave.snapshots.snapshot import SNAPSHOT_TABLES, Snapshot, Vectors, arrow_schema
from slowwave.snapshots.tiles import Tile, found_in, search_tile
from slowwave.store.settings import Settings
from slowwave.store.tables import few_collections

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "scale.md"
WORKERS: Final = (1, 2, 4)
TILES: Final = 16
SEARCHING: Final = ("dedupe_entities", "dedupe_memories")
_MARKS: Final = ("<!-- tiles: begin -->", "<!-- tiles: end -->")
_AS_THE_PROGRAM: Final = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}


def main() -> None:
    """Measure every step in a process of its own, and print or write the tables."""
    sizes = [int(a) for a in sys.argv[1:] if a.isdecimal()]
    entities, memories = (*sizes, *(400_000, 200_000)[len(sizes) :])
    with tempfile.TemporaryDirectory(prefix="slowwave-tiles-", dir=os.environ.get("BENCH_FOLDER")) as folder:
        say(f"generate {entities:,} entities and {memories:,} memories")
        location = step("generate", folder, entities, memories)["location"]
        steps = {"divide": step("divide", location)}
        tiles = [Tile(*tile) for tile in steps["divide"]["tiles"]]
        searched = {workers: search(tiles, workers) for workers in sorted(WORKERS, reverse=True)}
        steps["join and plan"] = step("plan", location, steps["divide"]["tiles"])
        steps["one process"] = step("plan", location, [])
    hashes = {steps[name]["hash"] for name in ("one process", "join and plan")}
    if len(hashes) > 1:
        raise SystemExit(f"The plans differ: {hashes}.")
    text = "\n".join(page(entities, memories, steps, searched))
    print(text)
    if "--write" in sys.argv:
        before, _, rest = PAGE.read_text().partition(_MARKS[0])
        PAGE.write_text(f"{before}{_MARKS[0]}\n{text}\n{_MARKS[1]}{rest.partition(_MARKS[1])[2]}")


def say(what: str) -> None:
    """Print progress."""
    print(f"{datetime.now(UTC):%H:%M:%S} {what}", file=sys.stderr, flush=True)


def step(name: str, *arguments: object) -> dict[str, Any]:
    """Run one step in a process of its own; return what it printed last."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.tiles", f"--{name}", json.dumps(arguments)],
        env=os.environ | _AS_THE_PROGRAM,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"The step {name} failed.")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    say(f"{name}: { ({k: v for k, v in found.items() if k != 'tiles'}) }")
    return found


def measured(work: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """Return what a step returns, with its CPU and wall seconds, and the peak memory of its process in MB."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    return {**found, "wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "peak": peak()}


def peak() -> float:
    """Return the peak resident memory of this process in MB, mapped files included."""
    status = Path("/proc/self/status")
    if status.exists():  # the other figure includes the process that this one was forked from
        return next(int(line.split()[1]) / 1_000 for line in status.read_text().splitlines() if "VmHWM" in line)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_000_000


# The steps.


def generate(folder: str, entities: int, memories: int) -> Mapping[str, Any]:
    """Save a generated namespace as a snapshot."""
    now = datetime(2026, 11, 1, tzinfo=UTC)
    made = make(entities, now=now, slug="huge")
    given = dict(made.tables)
    notes = {"kind": pa.repeat("note", memories), "subject": pa.repeat("", memories)}
    given["memories"] = _with(given["memories"].slice(0, memories), notes)
    given["memory_versions"] = given["memory_versions"].slice(0, memories)
    vectors = {name: pair for name, pair in made.vectors.items() if name != "chunk_vectors"}
    ids, matrix = vectors["memory_vectors"]
    vectors["memory_vectors"] = ids.slice(0, memories), matrix[:memories]
    snapshot = Snapshot(
        namespace_id=made.namespace_id,
        namespace=made.slug,
        snapshot_id="generated",
        taken_at=now,
        change_counter=1,
        settings=made.settings,
        tables={name: _table(name, given.get(name), now) for name in SNAPSHOT_TABLES},
        vectors={
            name: _sorted(*vectors[name]) if name in vectors else Vectors.empty(MODEL)
            for name in ("entity_vectors", "chunk_vectors", "memory_vectors")
        },
    )
    return {"location": save_snapshot(snapshot, folder).location}


def _with(table: pa.Table, columns: Mapping[str, pa.Array]) -> pa.Table:
    for name, column in columns.items():
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def _sorted(ids: pa.Array, matrix: np.ndarray) -> Vectors:
    order = np.argsort(ids.to_numpy(zero_copy_only=False))
    return Vectors(MODEL, ids.take(pa.array(order)), matrix[order])


def _table(name: str, given: pa.Table | None, now: datetime) -> pa.Table:
    """Return a table of the snapshot; columns that were not generated have their defaults."""
    schema = arrow_schema(SNAPSHOT_TABLES[name])
    if given is None:
        return schema.empty_table()
    columns = [
        given[field.name].cast(field.type)
        if field.name in given.column_names
        else pa.array([_default(SNAPSHOT_TABLES[name].columns[field.name], now)], field.type).take(
            pa.array(np.zeros(len(given), np.int64))
        )
        for field in schema
    ]
    return pa.table(columns, schema=schema).sort_by("id")


def _default(column: Column[Any], now: datetime) -> Any:
    if column.nullable:
        return None
    argument: Any = getattr(column.server_default, "arg", "")
    text = str(argument).partition("::")[0].strip("'")
    match column.type:
        case DateTime():
            return now
        case ARRAY():
            return []
        case JSONB():
            return text or "{}"
        case Boolean():
            return text == "true"
        case Integer() | Double():
            return float(text or 0) if isinstance(column.type, Double) else int(float(text or 0))
        case _:
            return text


@few_collections()
@tight_memory()
def plan(location: str, tiles: list[list[Any]]) -> Mapping[str, Any]:
    """Run the planners that search, with the results of tiles or without any; return the hash of their plan."""
    snapshot = load_snapshot(location)
    run: Run = found_in([Tile(*tile) for tile in tiles]) if tiles else in_threads
    inputs = Inputs(snapshot, {}, Settings.for_namespace(snapshot.settings), search=run, ops=frozenset(SEARCHING))
    items: list[Item] = []
    for name in SEARCHING:
        items += run_planner(PLANNERS[name], inputs, SEARCHING).items
    sealed = seal(Header(snapshot.namespace_id, snapshot.namespace, "generated", "benchmark"), items, permits())
    return {"hash": sealed.plan_hash, "items": len(sealed.items)}


def divide(location: str) -> Mapping[str, Any]:
    """Save the searches of both planners in tiles."""
    return {"tiles": save_searches(location, load_snapshot(location).settings, SEARCHING, TILES)}


def search(tiles: list[Tile], workers: int) -> dict[str, float]:
    """Search all tiles in so many processes; return seconds, and the peak memory of the largest process."""
    began = time.perf_counter()
    cpu: dict[int, float] = {}
    peaks: list[float] = []
    with processes(workers) as pool:
        for pid, spent, most in pool.map(search_and_measure, tiles):
            cpu[pid] = cpu.get(pid, 0) + spent
            peaks.append(most)
    found = {
        "wall": time.perf_counter() - began,
        "cpu": sum(cpu.values()),
        "most": max(cpu.values()),
        "peak": max(peaks),
    }
    say(f"{workers} workers: {found}")
    return found


def search_and_measure(tile: Tile) -> tuple[int, float, float]:
    """Search a tile; return the process, its CPU seconds for the tile, and its peak memory so far."""
    began = time.process_time()
    search_tile(tile)
    return os.getpid(), time.process_time() - began, peak()


# The tables.


def page(
    entities: int, memories: int, steps: Mapping[str, Mapping[str, Any]], searched: Mapping[int, Mapping[str, float]]
) -> list[str]:
    """Return the lines of the tables."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    titles = {
        "one process": "both planners without tiles",
        "divide": "divide: snapshot to tables of the searches",
        "join and plan": "both planners with the results of the tiles",
    }
    return [
        f"{entities:,} generated entities and {memories:,} memories, {len(steps['divide']['tiles'])} tiles, commit {commit}, "
        f"{os.cpu_count()} cores with a load of {load()} from other work. The plan had one hash with and without tiles.",
        "",
        "| step, one process | CPU s | wall s | peak MB |",
        "| --- | ---: | ---: | ---: |",
        *(
            f"| {title} | {steps[name]['cpu']:,.0f} | {steps[name]['wall']:,.0f} | {steps[name]['peak']:,.0f} |"
            for name, title in titles.items()
        ),
        "",
        "| workers that search the tiles | CPU s of all | CPU s of the busiest | wall s | peak MB of the largest |",
        "| ---: | ---: | ---: | ---: | ---: |",
        *(
            f"| {n} | {found['cpu']:,.0f} | {found['most']:,.0f} | {found['wall']:,.0f} | {found['peak']:,.0f} |"
            for n, found in sorted(searched.items())
        ),
    ]


_STEPS: Final[Mapping[str, Callable[..., Mapping[str, Any]]]] = {"generate": generate, "plan": plan, "divide": divide}

if __name__ == "__main__":
    asked = sys.argv[1].removeprefix("--") if len(sys.argv) > 1 else ""
    if asked in _STEPS:
        given = json.loads(sys.argv[2])
        print(json.dumps(measured(lambda: _STEPS[asked](*given))))
    else:
        main()
