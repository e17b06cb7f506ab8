"""``python -m benchmarks.pairs [--rows 10000 50000 200000] [--million] [--write]``: exact pairs of vectors, and how their cost grows.

The kernel of ``slowwave.matching.vectors`` runs beside a blocked NumPy sgemm with the same number of workers and, where
``faiss`` can be imported, faiss' flat index. Every case is a process of its own, which loads the vectors, runs, and says wall
and CPU seconds of the search alone and the peak memory of the whole process. One module: the process that measures runs this file again.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median_low
from typing import Any, Final

import numpy as np
import threadpoolctl
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.machine import load, machine, peak_mb
from benchmarks.report import Part, show
from slowwave.matching.vectors import pairs_above

PAGE: Final = Path(__file__).parents[1] / "docs" / "pairs.md"
THRESHOLD: Final = 0.90
DIMENSIONS: Final = 384
MILLION: Final = 1_000_000
REPEATED_ROWS: Final = 50_000
"""Up to here a case is the median of three runs, beyond it one."""
FLAT_ROWS: Final = 50_000
"""Up to here faiss runs: beyond it takes many minutes."""
EXPECTED_RATIO, EXPECTED_AT, EXPECTED_PEAK_MB, EXPECTED_SECONDS = 4.0, 200_000, 700.0, 300.0

_ENERGY: Final = {32: 0.50, 64: 0.64, 128: 0.81}
_MEAN_COSINE, _SD_COSINE = 0.136, 0.103
_BOUNDS: Final = {24: 2.7e-3, 32: 4.3e-4, 48: 5.2e-5, 64: 2.2e-5}  # pairs of real vectors whose bound reaches .90
_COPIES, _NEAR = (0.90, 0.995), (0.75, 0.90)
_CENTRE: Final = 0.139  # squared length of the mean before near copies are planted
_PLANTED: Final = 0.1  # share of rows that are near copies, and of those that are hard negatives
_TOPICS: Final = 3_500
_UNEVEN: Final = 0.26  # log of how far rows differ in their share of the first 32 axes
_CHUNK: Final = 10_000

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Found = tuple[Ints, Ints]


def vectors(rows: int, path: Path, seed: int = 0) -> None:
    """Write (rows, 384) unit vectors in float32 like sentence embeddings to a ``.npy`` file, a chunk at a time.

    A Gaussian with the principal energies of real vectors around their mean; topics of unequal size and tightness, and rows of
    unequal distance from the principal axes, which give the bounds of real vectors their long tail. Then every tenth row
    becomes a near copy (cosine .90 to .995) and every tenth a hard negative (.75 to .90) of a random earlier one.
    """
    random = np.random.default_rng([rows, seed])
    spread = np.sqrt(_spectrum())
    turn = np.linalg.qr(random.standard_normal((DIMENSIONS, DIMENSIONS)))[0].astype(np.float32)
    centres = random.standard_normal((_TOPICS, DIMENSIONS), np.float32) * spread
    tightness = random.uniform(0.3, 0.8, _TOPICS).astype(np.float32)
    popularity = np.arange(1, _TOPICS + 1) ** -0.5
    out = np.lib.format.open_memmap(path, "w+", np.float32, (rows, DIMENSIONS))
    for start in range(0, rows, _CHUNK):
        size = min(_CHUNK, rows - start)
        topic = random.choice(_TOPICS, size, p=popularity / popularity.sum())
        held = tightness[topic, None]
        x = np.sqrt(1 - held) * random.standard_normal((size, DIMENSIONS), np.float32) * spread
        x += np.sqrt(held) * centres[topic]
        x[:, :32] *= np.exp(_UNEVEN * random.standard_normal((size, 1), np.float32) - _UNEVEN**2)
        x[:, 0] += np.sqrt(_CENTRE)
        x = _unit(x) @ turn
        kind = random.permutation(size) / size
        own = np.flatnonzero(kind >= 2 * _PLANTED)
        for low, (least, most) in ((0.0, _COPIES), (_PLANTED, _NEAR)):
            at = np.flatnonzero((kind >= low) & (kind < low + _PLANTED))
            of = x[random.choice(own, len(at))]
            if start:
                earlier = random.random(len(at)) < start / (start + size)
                of[earlier] = out[random.integers(0, start, int(earlier.sum()))]
            aside = x[at] - x[random.choice(own, len(at))]
            aside = _unit(aside - np.einsum("ij,ij->i", aside, of)[:, None] * of)
            cosine = random.uniform(least, most, (len(at), 1)).astype(np.float32)
            x[at] = cosine * of + np.sqrt(1 - cosine**2) * aside
        out[start : start + size] = _unit(x)
    out.flush()


def _spectrum() -> Floats:
    """Energies of the principal axes (384,): .145 in the first, where the mean lies, a falling rest with the sums of ``_ENERGY``."""
    energy = np.zeros(DIMENSIONS)
    first = 0.145
    ends = [(1, first), *_ENERGY.items(), (DIMENSIONS, 1.0)]
    for (low, before), (high, after) in pairwise(ends):
        falling = np.arange(low + 1, high + 1) ** -1.05
        energy[low:high] = falling / falling.sum() * (after - before)
    energy[0] = first - _CENTRE
    return energy.astype(np.float32)


def _unit(x: Floats) -> Floats:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def moments(path: Path, sample: int = 4_096) -> dict[str, float]:
    """What a sample of written vectors reaches of what is told of real ones."""
    matrix = np.load(path, mmap_mode="r")
    x = np.asarray(matrix[np.linspace(0, len(matrix) - 1, min(sample, len(matrix))).astype(np.int64)])
    upper = np.triu_indices(len(x), 1)
    cosines = (x @ x.T)[upper]
    energy, axes = np.linalg.eigh((x.T @ x).astype(np.float64))
    share = np.cumsum(energy[::-1]) / energy.sum()
    shape = {"mean cosine": float(cosines.mean()), "its standard deviation": float(cosines.std())}
    shape |= {f"energy in {k} axes": float(share[k - 1]) for k in _ENERGY}
    rotated = x @ axes[:, ::-1].astype(np.float32)
    for k in _BOUNDS:
        p = rotated[:, :k]
        bounds = np.c_[p, np.sqrt(np.maximum(0, 1 - np.einsum("ij,ij->i", p, p)))]
        shape[f"bounds over {k} axes ≥ .90"] = float(np.mean((bounds @ bounds.T)[upper] >= THRESHOLD))
    return shape


def kernel(matrix: Floats, workers: int) -> Found:
    """What is measured."""
    i, j, _ = pairs_above(matrix, THRESHOLD, workers=workers)
    return i, j


def sgemm(matrix: Floats, workers: int) -> Found:
    """The reference: tiles of 1,024 x 2,048 of the upper triangle, one BLAS thread each, and what reaches the threshold."""
    n = len(matrix)

    def stripe(top: int) -> tuple[list[Ints], list[Ints]]:
        buffer = np.empty(1_024 * 2_048, np.float32)
        rows, columns = list[Ints](), list[Ints]()
        for left in range(top - top % 2_048, n, 2_048):
            a, b = matrix[top : top + 1_024], matrix[left : left + 2_048]
            products = buffer[: len(a) * len(b)].reshape(len(a), len(b))
            np.matmul(a, b.T, out=products)
            hits = np.flatnonzero(products >= np.float32(THRESHOLD))
            i, j = hits // len(b) + top, hits % len(b) + left
            upper = j > i
            rows.append(i[upper])
            columns.append(j[upper])
        return rows, columns

    with threadpoolctl.threadpool_limits(1, "blas"), ThreadPoolExecutor(workers) as pool:
        found = list(pool.map(stripe, range(0, n, 1_024)))
    i = np.concatenate([part for rows, _ in found for part in rows])
    j = np.concatenate([part for _, columns in found for part in columns])
    order = np.lexsort((j, i))
    return i[order], j[order]


def flat(matrix: Floats, workers: int) -> Found:
    """``faiss.IndexFlatIP.range_search`` of all rows against all."""
    import faiss  # optional: no dependency of ours

    faiss.omp_set_num_threads(workers)
    index = faiss.IndexFlatIP(DIMENSIONS)
    index.add(matrix)
    ends, _, found = index.range_search(matrix, THRESHOLD)
    i = np.repeat(np.arange(len(matrix)), np.diff(ends).astype(np.int64))
    i, j = i[found > i], found[found > i]
    order = np.lexsort((j, i))
    return i[order], j[order]


METHODS: Final[dict[str, Callable[[Floats, int], Found]]] = {
    "Slowwave": kernel,
    "blocked sgemm": sgemm,
    "faiss flat": flat,
}


@dataclass(frozen=True, slots=True)
class Case:
    """What one process measured; ``differing`` pairs are not those of the sgemm, ``wrong`` ones by more than 1e-6."""

    rows: int
    method: str
    wall: float
    cpu: float
    peak_mb: float
    pairs: int
    differing: int | None = None
    wrong: int | None = None

    @property
    def over_mb(self) -> float:
        """Peak beyond the vectors."""
        return self.peak_mb - self.rows * DIMENSIONS * 4 / 1e6


@dataclass(frozen=True, slots=True)
class Figures:
    """All cases of a run in order, the moments of the vectors of each size, and the machine."""

    cases: tuple[Case, ...]
    moments: dict[int, dict[str, float]]
    machine: dict[str, str]

    def find(self, rows: int, method: str) -> Case | None:
        """The case, where it ran."""
        return next((c for c in self.cases if (c.rows, c.method) == (rows, method)), None)

    @property
    def sizes(self) -> list[int]:
        """Rows, ascending."""
        return sorted(self.moments)


def measure(sizes: Sequence[int], workers: int, say: Callable[[str], None]) -> Figures:
    """All methods at all sizes, one process after the other."""
    machine = _machine(workers)
    cases, reached = list[Case](), dict[int, dict[str, float]]()
    for rows in sizes:
        with tempfile.TemporaryDirectory(prefix="slowwave-pairs-") as folder:
            path = Path(folder) / "vectors.npy"
            say(f"{rows:,}: vectors")
            reached[rows] = _child("vectors", path, rows, workers)
            for method in METHODS:
                if rows >= MILLION and method != "Slowwave":
                    continue
                if method == "faiss flat" and (rows > FLAT_ROWS or not importlib.util.find_spec("faiss")):
                    continue
                say(f"{rows:,}: {method}")
                cases.append(Case(**_child(method, path, rows, workers)))
            cases = [_compared(c, path) if c.rows == rows else c for c in cases]
    machine["load after"] = load()
    return Figures(tuple(cases), reached, machine)


def _child(what: str, path: Path, rows: int, workers: int) -> dict[str, Any]:
    """``_answer`` of a process that did nothing else."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.pairs", "--child", json.dumps([what, str(path), rows, workers])],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{what} with {rows:,} rows failed, so there are no figures:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _answer(what: str, path: Path, rows: int, workers: int) -> dict[str, Any]:
    if what != "vectors":
        return asdict(_case(path, rows, what, workers))
    vectors(rows, path)
    return moments(path)


def _case(path: Path, rows: int, method: str, workers: int) -> Case:
    """Measure in this process; the pairs go to a file beside the vectors."""
    matrix = np.load(path)
    times = list[tuple[float, float]]()
    found: Found | None = None
    for _ in range(3 if rows <= REPEATED_ROWS and method != "faiss flat" else 1):
        wall, cpu = time.perf_counter(), time.process_time()
        found = METHODS[method](matrix, workers)
        times.append((time.perf_counter() - wall, time.process_time() - cpu))
    assert found is not None
    peak = peak_mb()
    np.save(_pairs_file(path, method), np.stack(found))
    return Case(rows, method, median_low(w for w, _ in times), median_low(c for _, c in times), peak, len(found[0]))


def _pairs_file(path: Path, method: str) -> Path:
    return path.with_name(f"{method}.npy")


def _compared(case: Case, path: Path) -> Case:
    """The case with the pairs that it and the sgemm do not share."""
    if case.method == "blocked sgemm" or not _pairs_file(path, "blocked sgemm").exists():
        return case
    own, other = (np.load(_pairs_file(path, m)) for m in (case.method, "blocked sgemm"))
    codes = np.setxor1d(own[0] * case.rows + own[1], other[0] * case.rows + other[1])
    matrix = np.load(path, mmap_mode="r")
    a, b = (matrix[at].astype(np.float64) for at in (codes // case.rows, codes % case.rows))
    cosine = np.einsum("ij,ij->i", a, b) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    wrong = int(np.count_nonzero(np.abs(cosine - THRESHOLD) > 1e-6))
    return Case(**asdict(case) | {"differing": len(codes), "wrong": wrong})


Row = list[str]


def parts(figures: Figures) -> list[Part]:
    """Everything that is shown, in order."""
    return [_cases_part(figures), _growth_part(figures), _expected_part(figures), _vectors_part(figures)]


def _cases_part(figures: Figures) -> Part:
    rows = list[Row]()
    for case in figures.cases:
        row = [f"{case.rows:,}", case.method, f"{case.wall:.2f}", f"{case.cpu:.2f}"]
        ours = figures.find(case.rows, "Slowwave")
        row += (
            [f"x{case.wall / ours.wall:.1f}", f"x{case.cpu / ours.cpu:.1f}"] if ours and case is not ours else ["", ""]
        )
        row += [f"{case.pairs:,}", "" if case.differing is None else f"{case.differing} ({case.wrong})"]
        rows.append([*row, f"{case.peak_mb:,.0f}", f"{case.over_mb:,.0f}"])
    says = (
        f"All pairs at a cosine ≥ {THRESHOLD:.2f} in {DIMENSIONS} dimensions. A ratio says how much longer than Slowwave a method "
        "took. Differing pairs were not found by both it and the sgemm; in brackets those farther than 1e-6 from the threshold."
    )
    header = ["rows", "method", "wall s", "CPU s", "wall to ours", "CPU to ours", "pairs", "differing", "peak MB"]
    return Part("Exact pairs", says, [*header, "beyond the vectors"], rows)


def _growth_part(figures: Figures) -> Part:
    rows = list[Row]()
    for a, b in pairwise(figures.sizes):
        row = [f"{a:,} to {b:,}", f"x{(b / a) ** 2:.1f}"]
        for method in ("Slowwave", "blocked sgemm"):
            small, large = figures.find(a, method), figures.find(b, method)
            row.append(f"x{large.cpu / small.cpu:.1f}" if small and large else "")
        small, large = figures.find(a, "Slowwave"), figures.find(b, "Slowwave")
        row += [f"{2e9 * c.cpu / c.rows**2:.2f}" if c else "" for c in (small, large)]
        rows.append(row)
    says = (
        "CPU grows with the square of the rows, once the rotation, which grows with the rows, is paid. Memory beyond the vectors "
        "grows with the rows: the rotated prefixes."
    )
    header = ["rows", "pairs of rows", "CPU, Slowwave", "CPU, blocked sgemm", "ns a pair before", "ns a pair after"]
    return Part("Growth", says, header, rows)


def _expected_part(figures: Figures) -> Part:
    rows = list[Row]()

    def expect(what: str, expected: str, measured: str, met: bool) -> None:
        rows.append([what, expected, measured, "met" if met else "**not met**"])

    ours, theirs = figures.find(EXPECTED_AT, "Slowwave"), figures.find(EXPECTED_AT, "blocked sgemm")
    if ours and theirs:
        wall, cpu = theirs.wall / ours.wall, theirs.cpu / ours.cpu
        enough = min(wall, cpu) >= EXPECTED_RATIO
        expect(
            f"Times the blocked sgemm at {EXPECTED_AT:,} rows",
            f"{EXPECTED_RATIO:g}",
            f"{wall:.1f} wall, {cpu:.1f} CPU",
            enough,
        )
    own = [c for c in figures.cases if c.method == "Slowwave"]
    wrong = [c.wrong for c in own if c.wrong is not None]
    if wrong:
        expect("Pairs that differ from the sgemm's by more than 1e-6", "0", str(sum(wrong)), not sum(wrong))
    over = max(c.over_mb for c in own)
    expect(
        "Peak memory beyond the vectors",
        f"under {EXPECTED_PEAK_MB:,.0f} MB",
        f"{over:,.0f} MB",
        over < EXPECTED_PEAK_MB,
    )
    million = figures.find(MILLION, "Slowwave")
    if million:
        each, workers = million.cpu / int(figures.machine["workers"]), figures.machine["workers"]
        took = f"{each:,.0f} s ({million.wall:,.0f} s wall)"
        expect(
            f"A million rows: CPU of each of {workers} workers",
            f"under {EXPECTED_SECONDS:,.0f} s",
            took,
            each < EXPECTED_SECONDS,
        )
    return Part("Expected", _extrapolated(figures, million), ["what", "expected", "measured", "verdict"], rows)


def _extrapolated(figures: Figures, million: Case | None) -> str:
    reference = next((c for n in reversed(figures.sizes) if (c := figures.find(n, "blocked sgemm"))), None)
    if not million or not reference:
        return "On this machine under its load."
    factor = (million.rows / reference.rows) ** 2
    wall, cpu = reference.wall * factor, reference.cpu * factor
    return (
        "On this machine under its load. The sgemm did not run at a million rows: from its "
        f"{reference.rows:,} rows by the square it would take {wall:,.0f} s ({cpu:,.0f} s CPU), that is "
        f"x{wall / million.wall:.1f} wall and x{cpu / million.cpu:.1f} CPU."
    )


def _vectors_part(figures: Figures) -> Part:
    shape = {"mean cosine": _MEAN_COSINE, "its standard deviation": _SD_COSINE}
    shape |= {f"energy in {k} axes": v for k, v in _ENERGY.items()}
    shape |= {f"bounds over {k} axes ≥ .90": v for k, v in _BOUNDS.items()}
    rows = [
        [name, f"{real:.2g}" if real < 0.01 else f"{real:.3f}"]
        + [f"{v:.2g}" if (v := figures.moments[n][name]) < 0.01 else f"{v:.3f}" for n in figures.sizes]
        for name, real in shape.items()
    ]
    says = (
        "Generated, with the moments of 80,000 MiniLM vectors of short descriptions, and with as many pairs that a few axes do not "
        "tell apart. A tenth of the rows are near copies (.90 to .995) and a tenth hard negatives (.75 to .90) of another row."
    )
    return Part("The vectors", says, ["moment", "real", *(f"{n:,} rows" for n in figures.sizes)], rows)


def markdown(figures: Figures) -> str:
    """The page ``docs/pairs.md``."""
    machine = ", ".join(f"{name}: {value}" for name, value in figures.machine.items())
    lines = [
        "# Pairs of vectors",
        "",
        "How fast does Slowwave find all pairs of similar vectors exactly, compared with a matrix product and faiss? `python -m "
        "benchmarks.pairs --million --write` writes this page (`make bench-pairs` prints it without the million). Each case is one "
        f"process and, up to {REPEATED_ROWS:,} rows, the median of three runs (faiss: one). Seconds are those of the search alone; "
        "peak is the resident memory of the whole process. The load includes other work on the machine: compare ratios and CPU, not "
        "wall seconds.",
        "",
        f"Machine: {machine}.",
    ]
    for part in parts(figures):
        lines += ["", f"## {part.title}", "", part.says, ""]
        lines.append("| " + " | ".join(part.header) + " |")
        lines.append("| --- |" + " ---: |" * (len(part.header) - 1))
        lines += ["| " + " | ".join(row) + " |" for row in part.rows]
    return "\n".join(lines) + "\n"


def _machine(workers: int) -> dict[str, str]:
    blas = next((lib for lib in threadpoolctl.threadpool_info() if lib["user_api"] == "blas"), {})
    return machine() | {
        "workers": str(workers),
        "BLAS": f"{blas.get('internal_api', 'unknown')} {blas.get('version', '')} for {blas.get('architecture', 'unknown')}",
        "OPENBLAS_CORETYPE": os.environ.get("OPENBLAS_CORETYPE", "not set"),
        "load before": load(),
    }


def main() -> None:
    """Measure, print, and write the page if asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pairs", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 50_000, 200_000])
    parser.add_argument(
        "--million", action="store_true", help="a million rows as well, without references: takes minutes"
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.parent.name}/{PAGE.name} as well")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        what, path, rows, workers = json.loads(given.child)
        print(json.dumps(_answer(what, Path(path), rows, workers)))
        return
    console = Console()
    sizes = sorted({*given.rows, *([MILLION] if given.million else [])})
    with console.status("starting") as status:
        figures = measure(sizes, given.workers, status.update)
    show(parts(figures), console)
    if given.write:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(markdown(figures))
        console.print(f"Written: {PAGE}")


if __name__ == "__main__":
    main()
