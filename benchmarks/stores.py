"""``python -m benchmarks.stores [DATA] [--users 1000] [--each 100] [--some 0] [--jobs 2] [--people 3] [--write]``: other stores, at size.

First a collection of Mem0 with many users (``benchmarks.store_rows``): what looking for changes, auditing all users and planning for all of
them cost, beside nights of some of them one by one, and what an apply costs beside one bare UPDATE of the same rows under the same indexes.
Then what the stores' own clients find before and after a night (``benchmarks.store_clients``). CPU is that of this process and of
PostgreSQL; wall seconds are those of a machine that does other work as well.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from psycopg import sql
from rich.console import Console

from benchmarks.machine import Memory, commit, cpu_seconds, load, machine, server_cpu_seconds
from benchmarks.nights import DATA
from benchmarks.report import Part, put, show
from benchmarks.store_clients import HEADER, SAYS, calendar_told, langgraph, mem0, memorybank_told, tried
from benchmarks.store_rows import collection
from slowwave.bindings.connect import connect_store, note_changes
from slowwave.bindings.stores import let_write
from slowwave.changes.cells import OVERLAY
from slowwave.models.embedder import Embedder, OfflineEmbedder
from slowwave.models.embedding_models import STATIC_MODEL
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.runs import Night
from slowwave.night.several import run_nights
from slowwave.night.undo import undo_run
from slowwave.operations import AUDITS, permits
from slowwave.plans.gate import approve
from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.store.migrate import open_store
from slowwave.store.namespaces import namespaces

PAGE: Final = Path(__file__).parents[1] / "docs" / "stores-benchmarks.md"
MARKS: Final = ("<!-- stores -->", "<!-- end of stores -->")
END: Final = datetime(2026, 11, 20, tzinfo=UTC)
ALONE: Final = 20
"""Users whose nights are run one by one."""

INDEXED: Final = (20, 250)
"""Users and memories of each in the collection with a vector index to which plans are applied."""

_BARE: Final = """UPDATE {} SET payload = payload || '{{"expiration_date": "1970-01-01"}}' WHERE id = ANY(%s::uuid[])"""


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of the wall, and of CPU: this process with those that it started and waited for, and PostgreSQL."""

    wall: float
    own: float
    server: float

    def row(self, name: str, users: int, note: str = "") -> list[str]:
        """A line of the table."""
        each = (self.own + self.server) / users * 1_000
        return [name, f"{users:,}", f"{self.wall:.1f}", f"{self.own:.1f}", f"{self.server:.1f}", f"{each:.0f}", note]


def scale(
    store: Store, users: int, each: int, some: int, jobs: int, embedder: Embedder, say: Callable[[str], None]
) -> Part:
    """What many users cost, of whom the nights of ``some`` are run."""
    say("filling")
    with ProcessPoolExecutor(
        1, mp_context=multiprocessing.get_context("spawn")
    ) as apart:  # what it takes is not a night's
        rows = apart.submit(_fill, store, users, each).result()
    connect_store(store, "mem0", parameters={"collection": "memories"}, embedding_model=embedder.model, grant=True)
    let_write(store, "mem0", grant=True)
    names = [n for n in namespaces(store) if n.startswith("mem0-")][: some or users]
    few = names[:ALONE]
    found = [_cost(store, lambda: note_changes(store)).row("looking for changes", users)]
    say("auditing")
    found.append(_cost(store, lambda: _all(store, names, ops=list(AUDITS), jobs=jobs)).row("all audits", len(names)))
    say("planning")
    items: list[int] = []
    with Memory() as memory:
        planned = _cost(store, lambda: items.append(_all(store, names, jobs=jobs)))
    found.append(planned.row("planning", len(names), f"{items[0]:,} items, peak {memory.peak_mb:,.0f} MB"))
    say("one by one")
    list(run_nights(store, few[:1], force=True))  # loads what a process loads once
    alone = _cost(store, lambda: [run_night(store, name, force=True) for name in few])
    found.append(alone.row("reference: nights one by one", len(few)))
    return Part(
        f"{rows:,} memories of {users:,} users of Mem0",
        f"The table has no index by user. Processes: {jobs}; the figures include loading their packages. The peak is that of all "
        "processes together, and memory pages that they share count once (PSS). CPU per user is in milliseconds and includes "
        "PostgreSQL's.",
        ("step", "users", "wall s", "CPU s", "PostgreSQL s", "ms per user", ""),
        found,
    )


def _fill(store: Store, users: int, each: int) -> int:
    with store.connect("owner") as connection:
        return collection(connection, "memories", users, each, END, OfflineEmbedder(), hnsw=False)


def _all(store: Store, names: Sequence[str], ops: Sequence[str] | None = None, *, jobs: int = 1) -> int:
    items = 0
    for name, night in run_nights(store, names, force=True, ops=ops, jobs=jobs):
        if not isinstance(night, Night):
            raise SystemExit(f"{name}: {night}")
        items += len(night.plan.items) if night.plan else 0
    return items


def applying(store: Store, embedder: Embedder, say: Callable[[str], None]) -> Part:
    """What applying plans costs beside a bare UPDATE of the rows that they write."""
    users, each = INDEXED
    say("filling a table with a vector index")
    with store.connect("owner") as connection:
        rows = collection(connection, "indexed", users, each, END, embedder, hnsw=True)
    given = {"collection": "indexed"}
    connect_store(store, "mem0", parameters=given, name="indexed", embedding_model=embedder.model, grant=True)
    let_write(store, "indexed", grant=True)
    plans = [
        (name, night.plan)
        for name, night in run_nights(store, [n for n in namespaces(store) if n.startswith("indexed-")], force=True)
        if isinstance(night, Night) and night.plan and any(i.decision != "review" for i in night.plan.items)
    ]
    signed = [
        approve(store, name, p.plan_hash, approver="bench", permits=permits(), force=True, note="Measured.")
        for name, p in plans
    ]
    written = sorted(
        {
            w.cell.row
            for _, plan in plans
            for i in plan.items
            if i.decision != "review" and i.mutation.physical
            for w in i.mutation.physical.writes
            if w.cell.table != OVERLAY
        }
    )
    say("applying")
    runs: list[str] = []
    applied = _cost(store, lambda: runs.extend(apply_approval(store, s.id).run_id for s in signed))
    undone = _cost(store, lambda: [undo_run(store, run) for run in reversed(runs)])
    with store.connect("owner") as connection:
        bare = _cost(store, lambda: connection.execute(sql.SQL(_BARE).format(sql.Identifier("indexed")), (written,)))

    def line(name: str, cost: Cost) -> list[str]:
        spent = cost.own + cost.server
        each_row, ratio = cost.wall / len(written) * 1_000, spent / max(bare.own + bare.server, 1e-9)
        return [name, f"{cost.wall:.2f}", f"{spent:.2f}", f"{each_row:.1f}", f"{ratio:.2f}"]

    return Part(
        f"{len(signed)} plans on {rows:,} memories under a vector index (HNSW, {embedder.dimensions} numbers)",
        f"They write {len(written):,} rows. CPU of this process and of PostgreSQL; the ratio is of CPU.",
        ("step", "wall s", "CPU s", "ms a row", "ratio"),
        [line("apply", applied), line("undo", undone), line("reference: one bare UPDATE of the same rows", bare)],
    )


def _cost(store: Store, call: Callable[[], object]) -> Cost:
    began, own, of_server = time.monotonic(), cpu_seconds(), _postgres(store)
    call()
    return Cost(time.monotonic() - began, cpu_seconds() - own, _postgres(store) - of_server)


def _postgres(store: Store) -> float:
    """CPU seconds of the embedded server: of its processes, and of those that it has had."""
    with store.connect("reader") as connection:
        row = connection.execute("SELECT pg_backend_pid()").fetchone()
    return server_cpu_seconds(str(row[0])) if row else 0.0


def measured(
    data: Path | None, users: int, each: int, some: int, jobs: int, people: int, say: Callable[[str], None]
) -> list[Part]:
    """All tables, in one database."""
    embedder, store = OfflineEmbedder(), open_store()
    found: list[Part] = []
    if users:
        found.append(scale(store, users, each, some, jobs, embedder, say))
        found.append(applying(store, embedder, say))
    lines: list[list[str]] = []
    sets = {"conversations made for it": calendar_told(people, END)} if people else {}
    if people and data and (data / "memorybank" / "messages.jsonl").exists():
        sets["memorybank"] = memorybank_told(data / "memorybank")
    for name, told in sets.items():
        say(f"{name}: Mem0's client")
        with (
            tempfile.TemporaryDirectory(prefix="slowwave-bench-") as folder,
            mem0(store, Path(folder), embedder) as client,
        ):
            lines.append(tried(store, client, name, told, embedder))
        say(f"{name}: LangGraph's client")
        with langgraph(store, embedder) as client:
            lines.append(tried(store, client, name, told, embedder))
    if lines:
        found.append(Part("Results of the stores' own clients", SAYS, HEADER, lines))
    return found


def main() -> None:
    """Measure on an embedded server of its own, in a temporary home."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", default=DATA, help="folder with memorybank")
    parser.add_argument("--users", type=int, default=1_000, help="users of the large collection; 0: none")
    parser.add_argument("--each", type=int, default=100, help="memories of each")
    parser.add_argument(
        "--people", type=int, default=3, help="generated conversations that clients are asked about; 0: no clients"
    )
    parser.add_argument("--some", type=int, default=0, help="users whose nights are run; 0: all")
    parser.add_argument("--jobs", type=int, default=2, help="processes that share the users")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.parent.name}/{PAGE.name}")
    given = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory(prefix="slowwave-bench-") as home:
        os.environ |= {"SLOWWAVE_HOME": home, "SLOWWAVE_EMBEDDING_MODEL": STATIC_MODEL}
        os.environ.pop("SLOWWAVE_DATABASE_URL", None)
        before = load()
        try:
            with console.status("starting") as status:
                found = measured(
                    given.data, given.users, given.each, given.some, given.jobs, given.people, status.update
                )
        finally:
            server.stop(Path(home))
    show(found, Console(width=150))
    on = ", ".join(f"{name}: {value}" for name, value in machine().items())
    says = f"Measured on {datetime.now(UTC):%Y-%m-%d} at commit {commit()}; {on}; load before {before}, after {load()}."
    console.print(says)
    if given.write:
        put(found, PAGE, MARKS, says)


if __name__ == "__main__":
    main()
