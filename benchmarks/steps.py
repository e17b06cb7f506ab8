"""What is measured: one step of a night on one filled database, in a process of its own.

``python -m benchmarks.steps STEP ARGUMENTS`` prints one line of JSON: wall and CPU seconds of the step alone, the peak resident
memory of the whole process, and facts about what was done. What a step needs is prepared before its clock runs. Running all
steps and telling about them belongs to ``benchmarks.speed``. A list of steps, long because there are many.
"""

from __future__ import annotations

import json
import pickle
import resource
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from psycopg import sql

from benchmarks.generate import fill, make, planted
from slowwave.changes.cells import Value, vector_literal, weighted_mean
from slowwave.changes.merges import Merge, merge_rows
from slowwave.changes.simulate import simulate
from slowwave.matching.graphs import pagerank
from slowwave.night import night
from slowwave.night.executor import apply_approval
from slowwave.night.proof import convergence_probe, touched
from slowwave.night.undo import undo_run
from slowwave.operations import AUDITS, PLANNERS, Inputs, Proposal, permits
from slowwave.plans.gate import approve
from slowwave.plans.items import Item
from slowwave.plans.ledger import read_plan, verify_sealed, write_plan
from slowwave.plans.probes.isolation import isolation_probe
from slowwave.plans.probes.radius import blast_radius
from slowwave.plans.probes.recall import recall_probe
from slowwave.plans.probes.texts import specifics_probe, statements_probe
from slowwave.plans.seal import Header, Plan, seal
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.files import load_snapshot, save_snapshot
from slowwave.snapshots.models import load_models, run_models
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store import server
from slowwave.store.claims import open_plan_run
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.store.logins import Connection
from slowwave.store.migrate import migrate
from slowwave.store.settings import Settings
from slowwave.store.tables import metadata

NAMESPACE: Final = "bench"


@dataclass(slots=True)
class Measured:
    """Seconds of the step, megabytes of its process, and what it did."""

    wall: float = 0.0
    cpu: float = 0.0
    peak_mb: float = 0.0
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bench:
    """Where a step works: a home with a running server, a database in it, and the step's own arguments."""

    home: Path
    database: str
    arguments: dict[str, Any]

    @property
    def store(self) -> Store:
        """The database, with a login for each role."""
        return Store.embedded_in(server.start(self.home).url(self.database), self.home)

    def snapshot(self) -> Snapshot:
        """The snapshot that the step ``export`` saved."""
        return load_snapshot(self.location())

    def location(self) -> str:
        """Where it lies; a clone (argument ``of``) has that of its template."""
        return (self.home / f"{self.arguments.get('of', self.database)}.location").read_text()

    def keep(self, name: str, value: object) -> None:
        """Keep a result for later steps, which are processes of their own."""
        Path(self.location(), f"{name}.pickle").write_bytes(pickle.dumps(value))

    def kept(self, name: str) -> Any:
        """Return a result of an earlier step."""
        return pickle.loads(Path(self.location(), f"{name}.pickle").read_bytes())  # noqa: S301 - this program wrote it

    def inputs(self) -> Inputs:
        """What audits and planners read. There is no embedder: the vectors are of a model that none can make."""
        snapshot = self.snapshot()
        models = {m.name: self.kept(m.name) for m in load_models()}
        return Inputs(snapshot, models, Settings.for_namespace(snapshot.settings), ops=frozenset(night.OPERATIONS))

    def proposals(self) -> dict[str, Proposal]:
        """What the planners' steps proposed, and what they have learnt."""
        return {name: self.kept(name) for name in PLANNERS}

    def plan(self, proposals: dict[str, Proposal] | None = None) -> tuple[Inputs, Plan, list[Item]]:
        """Inputs, the sealed plan, and those of its items that an approval covers."""
        inputs = self.inputs()
        items = [i for p in (proposals or self.proposals()).values() for i in p.items]
        plan = seal(_header(inputs.snapshot), items, permits())
        return inputs, plan, [i for i in plan.items if i.decision != "review"]


class _Clock:
    """Adds up the seconds of what runs within it."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0

    @contextmanager
    def run(self) -> Generator[None]:
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.wall += time.perf_counter() - wall
        self.cpu += time.process_time() - cpu

    def measured(self, **facts: object) -> Measured:
        return Measured(self.wall, self.cpu, facts=dict(facts))


def _timed(work: Callable[[], Any]) -> tuple[_Clock, Any]:
    """One run, the first in its process: what a night pays, cold caches included."""
    clock = _Clock()
    with clock.run():
        result = work()
    return clock, result


def fill_database(bench: Bench) -> Measured:
    """Load a made namespace, vector indexes and all."""
    store = bench.store
    migrate(store)
    size = int(bench.arguments["size"])
    made = make(size, now=datetime.now(UTC), slug=NAMESPACE)
    clock, _ = _timed(lambda: fill(store, made))
    return clock.measured(planted=dict(made.planted))


def export(bench: Bench) -> Measured:
    """All tables and vectors into memory; the files for later steps are written after the clock stops."""
    store = bench.store
    clock, snapshot = _timed(lambda: export_snapshot(store, NAMESPACE))
    location = save_snapshot(snapshot, str(bench.home / "snapshots" / bench.database)).location
    (bench.home / f"{bench.database}.location").write_text(location)
    rows = {name: len(t) for name, t in snapshot.tables.items() if len(t)}
    return clock.measured(rows=rows, vectors={n: len(v) for n, v in snapshot.vectors.items() if len(v)})


def copy_floor(bench: Bench) -> Measured:
    """The server's side of an export: the same rows by ``COPY … TO STDOUT``, their bytes thrown away."""
    store, snapshot = bench.store, bench.snapshot()
    statements = [
        sql.SQL("COPY (SELECT * FROM {} WHERE namespace_id = {}) TO STDOUT{}").format(
            sql.Identifier("memory", name),
            sql.Literal(snapshot.namespace_id),
            sql.SQL(" (FORMAT binary)" if name in snapshot.vectors else ""),
        )
        for name in (*snapshot.tables, *snapshot.vectors)
        if f"memory.{name}" in metadata.tables  # the ledger's are few
    ]

    def discard() -> int:
        size = 0
        with store.connect("reader") as connection, connection.transaction(), connection.cursor() as cursor:
            for statement in statements:
                with cursor.copy(statement) as copy:
                    size += sum(len(block) for block in copy)
        return size

    clock, size = _timed(discard)
    return clock.measured(bytes=size)


def save_and_load(bench: Bench) -> Measured:
    """A snapshot to files and mapped back."""
    snapshot, base = bench.snapshot(), str(bench.home / "copies" / bench.database)
    clock, _ = _timed(lambda: load_snapshot(save_snapshot(snapshot, base).location))
    return clock.measured()


def models(bench: Bench) -> Measured:
    """All SQL models, read, ordered and run."""
    snapshot = bench.snapshot()
    settings = Settings.for_namespace(snapshot.settings)
    clock, tables = _timed(lambda: run_models(load_models(), snapshot, settings))
    for name, table in tables.items():
        bench.keep(name, table)
    return clock.measured(rows={name: len(t) for name, t in tables.items()})


def audit(bench: Bench) -> Measured:
    """One audit, by name."""
    inputs, name = bench.inputs(), str(bench.arguments["name"])
    made = AUDITS[name]
    made.load()
    clock, report = _timed(lambda: made(inputs))
    return clock.measured(headline=report.headline)


def planner(bench: Bench) -> Measured:
    """One planner, by name."""
    inputs, name = bench.inputs(), str(bench.arguments["name"])
    made = PLANNERS[name]
    made.load()
    clock, proposal = _timed(lambda: made(inputs))
    bench.keep(name, proposal)
    return clock.measured(items=len(proposal.items), headline=proposal.report.headline)


def sealing(bench: Bench) -> Measured:
    """Conflicts and hash of all planners' items."""
    header = _header(bench.snapshot())
    items = [i for p in bench.proposals().values() for i in p.items]
    clock, plan = _timed(lambda: seal(header, items, permits()))
    return clock.measured(items=len(plan.items), deferred=len(plan.deferred_items))


def simulation(bench: Bench) -> Measured:
    """The plan made on the snapshot's tables."""
    inputs, _, items = bench.plan()
    clock, _ = _timed(lambda: simulate(inputs.snapshot, items))
    return clock.measured(items=len(items))


def probe(bench: Bench) -> Measured:
    """One probe, by name."""
    proposals = bench.proposals()
    inputs, plan, items = bench.plan(proposals)
    snapshot, settings, name = inputs.snapshot, inputs.settings, str(bench.arguments["name"])
    after = simulate(snapshot, items)
    sql_models = load_models()
    reviews = [i for i in plan.items if i.decision == "review"]
    learnt = {n: p.learnt for n, p in proposals.items() if p.learnt is not None}
    focus = touched(items, [*reviews, *plan.deferred_items]).union(*(p.nearer for p in proposals.values()))
    probes: dict[str, Callable[[], Any]] = {
        "specifics": lambda: specifics_probe(snapshot, after, items),
        "statements": lambda: statements_probe(snapshot, after, items),
        "recall": lambda: recall_probe(snapshot, after, settings, None),
        "blast_radius": lambda: blast_radius(snapshot, items, settings, permits(), after=after),
        "isolation": lambda: isolation_probe(snapshot, plan.items),
        "convergence": lambda: convergence_probe(
            replace(inputs, focus=focus, learnt=learnt),  # as a night looks again
            after,
            lambda changed: [i for plans in PLANNERS.values() for i in plans(changed).items],
            lambda changed: run_models(sql_models, changed, settings),
            deferred=plan.deferred_items,
            reviews=reviews,
        ),
    }
    for made in PLANNERS.values():
        made.load()
    clock, result = _timed(probes[name])
    return clock.measured(sentence=result.sentence())


def plan_write(bench: Bench) -> Measured:
    """The sealed plan into the ledger."""
    store, (inputs, plan, _) = bench.store, bench.plan()
    clock, _ = _timed(lambda: _write(store, inputs.snapshot, plan))
    return clock.measured(plan_hash=plan.plan_hash, items=len(plan.items))


def plan_read(bench: Bench) -> Measured:
    """The plan out of the ledger, its hash computed again: what approving and applying begin with."""

    store = bench.store

    def work() -> int:
        with store.connect("reader") as connection:
            plan = read_plan(connection, str(bench.arguments["plan_hash"]))
        verify_sealed(plan, "applied")
        return len(plan.items)

    clock, items = _timed(work)
    return clock.measured(items=items)


def whole_night(bench: Bench) -> Measured:
    """Snapshot, models, audits, planners, probes and the plan in the ledger, in one process; every operation with ``ops`` all."""
    store, ops = bench.store, bench.arguments.get("ops")
    began: list[tuple[str, float, float]] = []

    def note(step: str) -> None:
        began.append((step, time.perf_counter(), time.process_time()))

    clock, done = _timed(lambda: night.run_night(store, NAMESPACE, force=True, ops=ops, progress=note))
    note("end")
    spent = {
        step: [round(wall_end - wall, 3), round(cpu_end - cpu, 3)]
        for (step, wall, cpu), (_, wall_end, cpu_end) in pairwise(began)
    }
    found = done.probes.results["convergence"] if done.probes else {}
    return clock.measured(
        state=done.state,
        items=len(done.plan.items) if done.plan else 0,
        counts=done.to_json()["items"],
        deferred=len(done.plan.deferred) if done.plan else 0,
        spent=spent,
        remaining=found.get("items") if isinstance(found, dict) else None,
    )


def dagster_night(bench: Bench) -> Measured:
    """The same night as a run of ``night_job`` in one process, loading the definitions included, but not Python and what it imports."""
    import dagster as dg

    from slowwave.dagster import build_defs
    from slowwave.dagster.jobs import night_config

    store, ops = bench.store, bench.arguments.get("ops")

    def work() -> dg.ExecuteInProcessResult:
        made = build_defs({"store": store})
        with dg.DagsterInstance.ephemeral() as instance:
            instance.add_dynamic_partitions("namespaces", [NAMESPACE])
            config: Any = night_config([NAMESPACE], str(ops or ""))
            config["ops"]["plan_nights"]["config"]["force"] = True
            return made.resolve_job_def("night_job").execute_in_process(instance=instance, run_config=config)

    clock, done = _timed(work)
    return clock.measured(steps=len(done.get_step_success_events()))


def unchanged_night(bench: Bench) -> Measured:
    """The night after, in a namespace that nobody touched."""
    store = bench.store
    clock, done = _timed(lambda: night.run_night(store, NAMESPACE))
    return clock.measured(skipped=done.skipped)


def approval(bench: Bench) -> Measured:
    """Plan and sign items of one kind: what ``apply`` applies. Its own figures are not told; without items there is no approval."""
    store, kind = bench.store, str(bench.arguments["kind"])
    snapshot = export_snapshot(store, NAMESPACE)
    plan = seal(_header(snapshot), _items(snapshot, kind), permits())
    if not plan.items:
        return Measured(facts={"approval": ""})
    _write(store, snapshot, plan)
    signed = approve(store, NAMESPACE, plan.plan_hash, approver="bench", permits=permits(), include_review=True)
    return Measured(facts={"approval": signed.id, "items": len(signed.item_ids), "digest": digest(store, NAMESPACE)})


def apply(bench: Bench) -> Measured:
    """An approval, from reading the plan to the ``applied`` row."""
    store = bench.store
    clock, result = _timed(lambda: apply_approval(store, str(bench.arguments["approval"])))
    return clock.measured(counts=result.counts)


def undo(bench: Bench) -> Measured:
    """The run taken back whole; afterwards the digest is compared with that before apply."""
    store = bench.store
    clock, result = _timed(lambda: undo_run(store, "last"))
    exact = digest(store, NAMESPACE) == bench.arguments["digest"]
    return clock.measured(items=len(result.items), exact=exact)


def bare_update(bench: Bench) -> Measured:
    """The same cells by one plain UPDATE a table and nothing else, rolled back: no journal, no check, no events."""
    store, kind = bench.store, str(bench.arguments["kind"])
    cells = _cells(_items(export_snapshot(store, NAMESPACE), kind), only_vectors=kind == "merge_with_vectors")
    clock = _Clock()
    with store.connect("owner") as connection, connection.transaction(force_rollback=True):
        for table, (columns, rows) in cells.items():
            statement = _stage(connection, table, columns, rows)
            with clock.run():
                connection.execute(statement)
    return clock.measured(rows={table: len(rows) for table, (_, rows) in cells.items()})


def ranks(bench: Bench) -> Measured:
    """PageRank of the folded graph, both ways, as the audit ``orphans`` asks for it."""
    nodes, source, target, weight = _graph(bench)
    clock, scores = _timed(lambda: pagerank(nodes, source, target, weight))
    return clock.measured(nodes=len(scores), edges=len(source))


def ranks_networkx(bench: Bench) -> Measured:
    """The same by networkx, to the same error; its construction of the graph counts, as ours does."""
    import networkx

    nodes, source, target, weight = (a.tolist() for a in _graph(bench))

    def work() -> dict[int, float]:
        graph: Any = networkx.DiGraph()
        graph.add_nodes_from(nodes)
        for a, b, w in zip(source, target, weight, strict=True):
            if graph.has_edge(a, b):
                graph[a][b]["weight"] += w
            else:
                graph.add_edge(a, b, weight=w)
        return networkx.pagerank(graph, tol=1e-10 / len(nodes), max_iter=200)

    clock, scores = _timed(work)
    ours = pagerank(*_graph(bench))
    worst = max(abs(scores[n] - float(r)) for n, r in zip(nodes, ours, strict=True))
    return clock.measured(worst_difference=worst)


STEPS: Final[dict[str, Callable[[Bench], Measured]]] = {
    step.__name__: step
    for step in (
        *(fill_database, export, copy_floor, save_and_load, models, audit, planner, sealing, simulation, probe),
        *(
            plan_write,
            plan_read,
            whole_night,
            dagster_night,
            unchanged_night,
            approval,
            apply,
            undo,
            bare_update,
            ranks,
        ),
        ranks_networkx,
    )
}


def _header(snapshot: Snapshot) -> Header:
    return Header(snapshot.namespace_id, snapshot.namespace, snapshot.snapshot_id, "benchmark")


def _write(store: Store, snapshot: Snapshot, plan: Plan) -> None:
    with store.connect("planner") as connection:
        run_id = open_plan_run(connection, NAMESPACE)
    write_plan(store, plan, run_id=run_id, expiry_days=7, probes={}, summary={}, change_counter=snapshot.change_counter)


def _items(snapshot: Snapshot, kind: str) -> list[Item]:
    """What a planner proposes, by its name; ``merge`` and ``merge_with_vectors``: the planted clusters."""
    if kind in PLANNERS:
        settings = Settings.for_namespace(snapshot.settings)
        inputs = Inputs(snapshot, run_models(load_models(), snapshot, settings), settings)
        return list(PLANNERS[kind](inputs).items)
    vectors = snapshot.vectors["entity_vectors"]
    merges: list[Merge] = []
    for cluster in planted(snapshot.table("entities")):
        keep, absorb = cluster[0], cluster[1:]
        vector = None
        if kind == "merge_with_vectors":
            rows = vectors.rows_of(pa.array(sorted(cluster), pa.string()))
            vector = weighted_mean(np.asarray(vectors.matrix[rows]), np.ones(len(rows)))
        merges.append(Merge(keep, absorb, vector))
    return [Item("dedupe_entities", "merge", m) for m in merge_rows(snapshot, merges)]


_Cells = dict[str, tuple[list[str], list[list[Value]]]]


def _cells(items: Sequence[Item], *, only_vectors: bool) -> _Cells:
    """Table → (columns, rows of id and values) of everything that items set, instants and item ids as they would be stamped."""
    now = datetime.now(UTC).isoformat()
    values: dict[str, dict[str, dict[str, Value]]] = {}
    for item in items:
        for w in item.mutation.writes:
            if w.action != "add" and (w.cell.table == "entity_vectors") == only_vectors:
                value = {"set": w.value, "now": now, "item": item.id}[w.action]
                values.setdefault(w.cell.table, {}).setdefault(w.cell.row, {})[w.cell.column] = value
    cells: _Cells = {}
    for table, rows in values.items():
        columns = sorted({c for row in rows.values() for c in row})
        cells[table] = (columns, [[id_, *(row.get(c) for c in columns)] for id_, row in rows.items()])
    return cells


def _stage(connection: Connection, table: str, columns: Sequence[str], rows: Sequence[Sequence[Value]]) -> sql.Composed:
    """Load values into a temporary table; returns the one UPDATE that would write them (a NULL leaves the cell alone)."""
    target, staged = sql.Identifier("memory", table), sql.Identifier(f"staged_{table}")
    names = sql.SQL(", ").join(map(sql.Identifier, ["id", *columns]))
    connection.execute(sql.SQL("CREATE TEMPORARY TABLE {} AS SELECT {} FROM {} LIMIT 0").format(staged, names, target))
    with connection.cursor() as cursor, cursor.copy(sql.SQL("COPY {} ({}) FROM STDIN").format(staged, names)) as copy:
        for id_, *values in rows:
            if table == "entity_vectors":
                values = [vector_literal(str(v)) for v in values]
            copy.write_row([id_, *(list(v) if isinstance(v, tuple) else v for v in values)])
    connection.execute(sql.SQL("ANALYZE {}").format(staged))
    sets = sql.SQL(", ").join(sql.SQL("{0} = coalesce(s.{0}, t.{0})").format(sql.Identifier(c)) for c in columns)
    return sql.SQL("UPDATE {} t SET {} FROM {} s WHERE t.id = s.id").format(target, sets, staged)


def _graph(bench: Bench) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    tables = bench.inputs().models
    ids, edges = tables["live_entities"]["id"].combine_chunks(), tables["live_relationships"]
    ends = [
        pa.compute.index_in(edges[end], value_set=ids).to_numpy().astype(np.int64)
        for end in ("source_entity_id", "target_entity_id")
    ]
    weight = edges["weight"].to_numpy()
    both = (np.concatenate(ends), np.concatenate(ends[::-1]), np.concatenate([weight, weight]))
    return np.arange(len(ids)), *both


def _peak_mb() -> float:
    """The most memory that this process has held. Where Linux tells it (VmHWM), not what ``getrusage`` says: that begins with the
    peak of whoever started the process."""
    status = Path("/proc/self/status")
    if status.exists():
        memory_line = next((line for line in status.read_text().splitlines() if line.startswith("VmHWM:")), "")
        if memory_line:
            return int(memory_line.split()[1]) / 1_024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1_048_576 if sys.platform == "darwin" else 1_024)


def main(arguments: Sequence[str]) -> None:
    """Run one step and print its figures as JSON."""
    step, given = arguments[0], json.loads(arguments[1])
    # Pyarrow imports pandas at its first array, and screening loads its rules at its first text: once in a process, and at no step's cost.
    pa.array([0])
    import_module("slowwave.text.screening")
    measured = STEPS[step](Bench(Path(given.pop("home")), given.pop("database"), given))
    measured.peak_mb = _peak_mb()
    print(json.dumps(asdict(measured), default=str))


if __name__ == "__main__":
    main(sys.argv[1:])
