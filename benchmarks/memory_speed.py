"""``python -m benchmarks.memory_speed [--sizes 10000 100000]``: what the operations on memories cost, and how that grows.

Each size runs in a process of its own: a snapshot of made-up memories, every audit and planner of memories by itself, and the peak of
the process. Times are those of this machine now; what holds elsewhere is their growth and their shares.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from rich.console import Console

from benchmarks.machine import load, machine, peak_mb
from benchmarks.operations import looked, planned
from benchmarks.report import Part, put, show

PAGE: Final = Path(__file__).parents[1] / "docs" / "quality.md"
MARKS: Final = ("<!-- costs -->", "<!-- end of costs -->")


@dataclass(frozen=True, slots=True)
class Costs:
    """Of one size: seconds and what was found by operation, and the peak of the process in megabytes."""

    size: int
    seconds: Mapping[str, float]
    found: Mapping[str, int]
    peak: float
    before: float


def measure(size: int) -> Costs:
    """All operations once, in this process."""
    from benchmarks.remembered import remembered
    from slowwave.operations import AUDITS, PLANNERS, Inputs
    from slowwave.snapshots.models import load_models, run_models
    from slowwave.store.settings import Settings

    snapshot = remembered(size)
    settings = Settings.for_namespace({"operations": {"backfill_tags": {"scope": "all"}}})
    inputs = Inputs(snapshot, run_models(load_models(), snapshot, settings), settings)
    for made in (*AUDITS.values(), *PLANNERS.values()):
        made.load()
    before = peak_mb()
    seconds: dict[str, float] = {}
    found: dict[str, int] = {}
    for name in looked():
        began = time.perf_counter()
        found[name] = len(AUDITS[name](inputs).findings)
        seconds[name] = time.perf_counter() - began
    for name in planned():
        began = time.perf_counter()
        found[name] = len(PLANNERS[name](inputs).items)
        seconds[name] = time.perf_counter() - began
    return Costs(size, seconds, found, peak_mb(), before)


def part(costs: Sequence[Costs]) -> Part:
    """Seconds by operation and size; with two sizes the exponent of the growth between the last two."""
    rows = [_row(name, costs) for name in (*looked(), *planned())]
    totals = [sum(c.seconds[n] for n in planned()) for c in costs]
    rows.append(["all planners", *(cell for t in totals for cell in (f"{t:.2f}", "")), _growth(costs, totals)])
    rows.append(
        ["peak MB (before the first)", *(cell for c in costs for cell in (f"{c.peak:,.0f}", f"{c.before:,.0f}")), ""]
    )
    header = ["operation", *(cell for c in costs for cell in (f"{c.size:,}: s", "found")), "growth"]
    says = "Found: findings of audits, items of planners. Growth: the exponent of the time between the last two sizes."
    return Part("Memories", says, header, rows)


def _row(name: str, costs: Sequence[Costs]) -> list[str]:
    seconds = [c.seconds[name] for c in costs]
    cells = [cell for c in costs for cell in (f"{c.seconds[name]:.2f}", f"{c.found[name]:,}")]
    return [name, *cells, _growth(costs, seconds)]


def _growth(costs: Sequence[Costs], seconds: Sequence[float]) -> str:
    if len(costs) < 2 or min(seconds[-2:]) < 0.01:
        return ""
    return f"{math.log(seconds[-1] / seconds[-2]) / math.log(costs[-1].size / costs[-2].size):.1f}"


def main() -> None:
    """Measure each size in a child, and show the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory_speed", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000], metavar="MEMORIES")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.parent.name}/{PAGE.name}")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(asdict(measure(given.child))))
        return
    console = Console()
    costs: list[Costs] = []
    for size in sorted(given.sizes):
        with console.status(f"{size:,} memories"):
            child = [sys.executable, "-m", "benchmarks.memory_speed", "--child", str(size)]
            output = subprocess.run(child, check=True, capture_output=True, text=True).stdout
        costs.append(Costs(**json.loads(output.splitlines()[-1])))
    where = ", ".join(f"{name}: {value}" for name, value in machine().items()) + f", load: {load()}"
    show([part(costs)], console)
    console.print(where)
    if given.write:
        put([part(costs)], PAGE, MARKS, f"{where}.")
        console.print(f"Written: {PAGE}")


if __name__ == "__main__":
    main()
