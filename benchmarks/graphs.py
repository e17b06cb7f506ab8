"""``python -m benchmarks.graphs [--nodes 20000 100000 1000000] [--write]``: PageRank and communities, and how their cost grows.

``slowwave.matching.graphs`` runs beside networkx, on sizes that it can take. Every case is a process of its own, which loads the graph,
runs, and says wall and CPU seconds of the algorithm alone, reading the ids included, and the peak memory of the whole process.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median_low
from typing import Any, Final

import networkx as nx
import numpy as np
import pyarrow as pa
import scipy.sparse  # so that loading it is in nobody's time
from numpy.typing import NDArray
from rich.console import Console

from benchmarks import columns
from benchmarks.machine import load, machine, peak_mb
from benchmarks.report import Part, show
from slowwave.matching.graphs import communities, modularity, pagerank

PAGE: Final = Path(__file__).with_suffix(".md")
EDGES: Final = 5
"""Edges a node."""
GROUP: Final = 200
MIXING: Final = 0.2
"""Of the planted communities: how many nodes one has, and the share of edges that goes anywhere."""
MILLION: Final = 1_000_000
REPEATED: Final = 100_000
"""Up to here a case is the median of three runs, beyond it one."""
NETWORKX: Final = {"PageRank": 100_000, "communities": 20_000}
"""Up to here networkx runs: beyond it takes many minutes."""
EXPECTED_SECONDS: Final = {"PageRank": 3.0, "communities": 40.0}
CLOSE: Final = 1e-6

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Case:
    """One algorithm at one size. ``start_mb`` is what the process held before it ran, ``peak_mb`` the most it ever held.

    ``difference`` is the greatest from networkx's ranks, relative to these; ``quality`` modularity, ``agreement`` adjusted Rand with
    what was planted.
    """

    nodes: int
    edges: int
    job: str
    method: str
    wall: float
    cpu: float
    start_mb: float
    peak_mb: float
    difference: float | None = None
    quality: float | None = None
    agreement: float | None = None


@dataclass(frozen=True, slots=True)
class Figures:
    """All cases, the modularity of what was planted by size, and the machine."""

    cases: tuple[Case, ...]
    planted: dict[int, float]
    machine: dict[str, str]

    def find(self, nodes: int, job: str, method: str) -> Case | None:
        """One case."""
        return next((c for c in self.cases if (c.nodes, c.job, c.method) == (nodes, job, method)), None)


def planted(nodes: int, seed: int = 0) -> tuple[Ints, Ints, Ints]:
    """Groups (n,) of about ``GROUP`` nodes, and both ends of ``EDGES`` · n edges, of which ``MIXING`` go anywhere."""
    random = np.random.default_rng([nodes, seed])
    groups = max(2, nodes // GROUP)
    group = random.integers(0, groups, nodes)
    order, sizes = np.argsort(group, kind="stable"), np.bincount(group, minlength=groups)
    starts = np.cumsum(sizes) - sizes
    source = random.integers(0, nodes, EDGES * nodes)
    own = group[source]
    inside = order[starts[own] + (random.random(len(source)) * sizes[own]).astype(np.int64)]
    return group, source, np.where(random.random(len(source)) < MIXING, random.integers(0, nodes, len(source)), inside)


def adjusted_rand(a: Ints, b: Ints) -> float:
    """Hubert & Arabie 1985: 1 for equal partitions, about 0 for unrelated ones."""

    def pairs(counts: Ints) -> float:
        return float((counts * (counts - 1.0)).sum()) / 2

    together = pairs(np.unique(a * (int(b.max()) + 1) + b, return_counts=True)[1])
    one, two = pairs(np.bincount(a)), pairs(np.bincount(b))
    chance = one * two / pairs(np.array([len(a)]))
    return (together - chance) / ((one + two) / 2 - chance)


def _networkx(source: Ints, target: Ints, nodes: int, kind: type[nx.Graph]) -> nx.Graph:
    weight: dict[tuple[int, int], float] = {}
    for pair in zip(source.tolist(), target.tolist(), strict=True):
        weight[pair] = weight.get(pair, 0.0) + 1.0
    graph = kind()
    graph.add_nodes_from(range(nodes))
    graph.add_weighted_edges_from((a, b, w) for (a, b), w in weight.items())
    return graph


def _their_ranks(ids: Any, source: Ints, target: Ints) -> np.ndarray:
    """networkx stops at its tolerance times the number of nodes; here it is to stop where Slowwave does."""
    graph = _networkx(source, target, len(ids), nx.DiGraph)
    ranks = nx.pagerank(graph, tol=1e-10 / len(ids), max_iter=1_000)
    return np.array([ranks[n] for n in range(len(ids))])


def _their_communities(ids: Any, source: Ints, target: Ints) -> Ints:
    low, high = np.minimum(source, target), np.maximum(source, target)
    sets = nx.community.louvain_communities(_networkx(low[low < high], high[low < high], len(ids), nx.Graph), seed=0)
    labels = np.empty(len(ids), np.int64)
    for n, members in enumerate(sets):
        labels[list(members)] = n
    return labels


METHODS: Final[dict[str, dict[str, Callable[[Any, Any, Any], np.ndarray]]]] = {
    "PageRank": {"integers": pagerank, "UUIDs": pagerank, "networkx": _their_ranks},
    "communities": {"integers": communities, "UUIDs": communities, "networkx": _their_communities},
}
"""Job → method; Slowwave's are named by what the ids are."""


def measure(sizes: Sequence[int], say: Callable[[str], None]) -> Figures:
    """All methods at all sizes, one process after the other."""
    environment = machine() | {"networkx": nx.__version__, "SciPy": scipy.__version__, "load before": load()}
    cases, q = list[Case](), dict[int, float]()
    with tempfile.TemporaryDirectory(prefix="slowwave-graphs-") as folder:
        for nodes in sizes:
            path = Path(folder) / f"{nodes}.npz"
            say(f"{nodes:,}: graph")
            group, source, target = planted(nodes)
            q[nodes] = modularity(group, source, target, np.ones(len(source)))
            np.savez(path, group=group, source=source, target=target)
            del group, source, target
            for job, methods in METHODS.items():
                for method in methods:
                    if method == "networkx" and nodes > NETWORKX[job]:
                        continue
                    say(f"{nodes:,}: {job}, {method}")
                    cases.append(Case(**_child(job, method, path)))
                ranks = [path.with_name(f"{m}.npy") for m in methods]
                if job == "PageRank" and nodes <= NETWORKX[job]:
                    cases = [_compared(c, *ranks) if c.nodes == nodes and c.job == job else c for c in cases]
    environment["load after"] = load()
    return Figures(tuple(cases), q, environment)


def _child(job: str, method: str, path: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.graphs", "--child", json.dumps([job, method, str(path)])],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{job} by {method} failed, so there are no figures:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _case(job: str, method: str, path: Path) -> Case:
    """Measure in this process; what was found goes to a file beside the graph."""
    held = np.load(path)
    source, target, nodes = held["source"], held["target"], len(held["group"])
    given: tuple[Any, Any, Any] = (np.arange(nodes), source, target)
    if method == "UUIDs":
        ids = columns.ids(np.random.default_rng(0), nodes)
        given = (ids, ids.take(pa.array(source)), ids.take(pa.array(target)))
    run, before = METHODS[job][method], peak_mb()
    times = list[tuple[float, float]]()
    found = np.empty(0)
    for _ in range(3 if nodes <= REPEATED and method != "networkx" else 1):
        wall, cpu = time.perf_counter(), time.process_time()
        found = run(*given)
        times.append((time.perf_counter() - wall, time.process_time() - cpu))
    wall, cpu = median_low(w for w, _ in times), median_low(c for _, c in times)
    case = Case(nodes, len(source), job, method, wall, cpu, before, peak_mb())
    np.save(path.with_name(f"{method}.npy"), found)
    if job == "PageRank":
        return case
    q = modularity(found, source, target, np.ones(len(source)))
    return Case(**asdict(case) | {"quality": q, "agreement": adjusted_rand(found, held["group"])})


def _compared(case: Case, integers: Path, uuids: Path, theirs: Path) -> Case:
    if case.method == "networkx":
        return case
    own, other = np.load(integers if case.method == "integers" else uuids), np.load(theirs)
    return Case(**asdict(case) | {"difference": float(np.abs(own / other - 1).max())})


Row = list[str]


def parts(figures: Figures) -> list[Part]:
    """Everything that is shown, in order."""
    return [*(_cases_part(figures, job) for job in METHODS), _growth_part(figures), _expected_part(figures)]


def _cases_part(figures: Figures, job: str) -> Part:
    rows = list[Row]()
    for case in (c for c in figures.cases if c.job == job):
        ours = figures.find(case.nodes, job, "integers")
        row = [f"{case.nodes:,}", f"{case.edges:,}", case.method, f"{case.wall:.2f}", f"{case.cpu:.2f}"]
        row.append(f"x{case.cpu / ours.cpu:.1f}" if ours and case is not ours else "")
        if job == "PageRank":
            row.append("" if case.difference is None else f"{case.difference:.0e}")
        else:
            row += [f"{case.quality:.4f}", f"{figures.planted[case.nodes]:.4f}", f"{case.agreement:.3f}"]
        rows.append([*row, f"{case.peak_mb:,.0f}", f"{case.peak_mb - case.start_mb:,.0f}"])
    header = ["nodes", "edges", "ids or peer", "wall s", "CPU s", "CPU to integers"]
    if job == "PageRank":
        says = (
            "Directed, to an L1 change of 1e-10. networkx gets a tolerance that stops it there too; its default stops after a few "
            "sweeps in a large graph. The difference is the greatest of all nodes, relative to networkx's rank."
        )
        return Part(job, says, [*header, "difference", "peak MB", "beyond the graph"], rows)
    says = (
        f"Undirected; planted communities of {GROUP} nodes with {MIXING:.0%} of the edges anywhere. networkx has Louvain. In the largest "
        "graphs modularity itself prefers to join planted communities (its resolution limit), so there agreement falls while "
        "modularity stays at that of the planted ones or above."
    )
    return Part(
        "Communities",
        says,
        [*header, "modularity", "of the planted", "adjusted Rand", "peak MB", "beyond the graph"],
        rows,
    )


def _growth_part(figures: Figures) -> Part:
    rows = list[Row]()
    sizes = sorted(figures.planted)
    for a, b in pairwise(sizes):
        row = [f"{a:,} to {b:,}", f"x{b / a:.1f}"]
        for job in METHODS:
            small, large = figures.find(a, job, "integers"), figures.find(b, job, "integers")
            row.append(f"x{large.cpu / small.cpu:.1f}" if small and large else "")
        rows.append(row)
    says = "CPU with integers as ids. A large graph gets fewer rounds of Leiden: ten up to 100,000 edges, two from 340,000."
    return Part("Growth", says, ["nodes", "edges", "PageRank", "communities"], rows)


def _expected_part(figures: Figures) -> Part:
    rows = list[Row]()
    for job, seconds in EXPECTED_SECONDS.items():
        if case := figures.find(MILLION, job, "integers"):
            verdict = "met" if case.wall < seconds else "met by CPU" if case.cpu < seconds else "**not met**"
            measured = f"{case.wall:.1f} s ({case.cpu:.1f} s CPU)"
            rows.append([f"{job}: a million nodes, five million edges", f"under {seconds:g} s", measured, verdict])
    differences = [c.difference for c in figures.cases if c.difference is not None]
    if differences:
        worst = max(differences)
        verdict = "met" if worst < CLOSE else "**not met**"
        rows.append(["PageRank: greatest difference from networkx", f"under {CLOSE:.0e}", f"{worst:.0e}", verdict])
    pairs = [
        (c, p) for c in figures.cases if (p := figures.find(c.nodes, "communities", "networkx")) and c.job == p.job
    ]
    gains = [c.quality - p.quality for c, p in pairs if c is not p and c.quality is not None and p.quality is not None]
    if gains:
        verdict = "met" if min(gains) > -0.002 else "**not met**"
        rows.append(["Communities: modularity beyond networkx's", "at least -0.002", f"{min(gains):+.4f}", verdict])
    return Part("Expected", "On this machine under its load.", ["what", "expected", "measured", "verdict"], rows)


def markdown(figures: Figures) -> str:
    """The page ``benchmarks/graphs.md``."""
    environment = ", ".join(f"{name}: {value}" for name, value in figures.machine.items())
    lines = [
        "# Graphs",
        "",
        "How fast are PageRank and community detection on large graphs, compared with networkx? `python -m benchmarks.graphs --write` "
        f"writes this page. Each case is one process and, up to {REPEATED:,} nodes, the median of three runs (networkx: one). Seconds "
        "are those of the call, which includes reading the ids; peak is the resident memory of the whole process. The load includes "
        "other work on the machine: compare ratios and CPU, not wall seconds.",
        "",
        "`slowwave.matching.graphs.pagerank(nodes, source, target, weight=None, damping=0.85)` and "
        "`slowwave.matching.graphs.communities(nodes, source, target, weight=None, resolution=1.0, seed=0)` take arrays of ids of one "
        "hashable type. Ranks equal those of networkx. Communities come from the Leiden algorithm (graspologic-native): the same graph "
        "and seed give the same labels, whatever the order of nodes and edges.",
        "",
        f"Machine: {environment}.",
    ]
    for part in parts(figures):
        lines += ["", f"## {part.title}", "", part.says, ""]
        lines.append("| " + " | ".join(part.header) + " |")
        lines.append("| --- |" + " ---: |" * (len(part.header) - 1))
        lines += ["| " + " | ".join(row) + " |" for row in part.rows]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print, and write the page if asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.graphs", description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[20_000, 100_000, MILLION])
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.parent.name}/{PAGE.name} as well")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        job, method, path = json.loads(given.child)
        print(json.dumps(asdict(_case(job, method, Path(path)))))
        return
    console = Console()
    with console.status("starting") as status:
        figures = measure(sorted(set(given.nodes)), status.update)
    show(parts(figures), console)
    if given.write:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(markdown(figures))
        console.print(f"Written: {PAGE}")


if __name__ == "__main__":
    main()
