"""What figures were measured on: the machine, how busy it is, the commit, and how much memory a process has taken."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np

PAGES: Final = (":(exclude,top)docs", ":(exclude,top,glob)benchmarks/*.md")
"""Pathspecs that leave out the pages that benchmarks write."""


def machine() -> dict[str, str]:
    """Commit, cores, processor, memory and versions, in words."""
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text().splitlines() if listed.exists() else []
    return {
        "commit": commit(),
        "cores": str(os.cpu_count()),
        "processor": next(
            (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown"
        ),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "Python": sys.version.split()[0],
        "NumPy": np.__version__,
    }


def commit() -> str:
    """The commit of this checkout, with a plus where tracked files other than pages differ from it; unknown outside of one."""

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", *words], cwd=Path(__file__).parent, capture_output=True, text=True, check=False)

    head = git("rev-parse", "--short=7", "HEAD").stdout.strip()
    if not head:
        return "unknown"
    return head + "+" * bool(git("diff", "--quiet", "HEAD", "--", ":/", *PAGES).returncode)


def load() -> str:
    """Processes that wanted to run in the last 1, 5 and 15 minutes."""
    return ", ".join(f"{n:.1f}" for n in os.getloadavg())


def peak_mb() -> float:
    """Of this process alone: on Linux ``getrusage`` also counts what its parent had before."""
    status = Path("/proc/self/status")
    if status.exists():
        peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(peak.split()[1]) * 1_024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1_024) / 1e6


def cpu_seconds() -> float:
    """Of this process and of all that it started, those included that have ended."""
    if not Path("/proc/self/stat").exists():
        spent = os.times()
        return spent.user + spent.system + spent.children_user + spent.children_system
    stats = _stats()
    return sum(stats[pid][1] + stats[pid][2] for pid in _family(stats) if pid in stats) / os.sysconf("SC_CLK_TCK")


def server_cpu_seconds(backend: str) -> float:
    """Of the PostgreSQL server that has this process: of all its processes, and of those that it has had; 0 where ``/proc`` has none."""
    stats = _stats()
    if backend not in stats:
        return 0.0
    of = stats[backend][0]
    ticks = sum(own for parent, own, _ in stats.values() if parent == of) + stats[of][1] + stats[of][2]
    return ticks / os.sysconf("SC_CLK_TCK")


class Memory:
    """How much this process and all that it started hold while the block runs, looked at a few times a second.

    Where Linux tells it, a page that several share counts once (the sum of their proportional set sizes): processes that are copies of one
    hold most of what they have loaded together, and the sum of their resident sizes would count it for each. Elsewhere 0.
    """

    def __init__(self) -> None:
        self.peak_mb = 0.0
        self._over = threading.Event()
        self._looking = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Memory:
        self._looking.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._looking.join()

    def _look(self) -> None:
        while not self._over.wait(0.3):
            self.peak_mb = max(self.peak_mb, sum(map(_proportional_mb, _family(_stats()))))


def _proportional_mb(pid: str) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended, or there is no such file
        return 0.0
    return sum(int(line.split()[1]) * 1_024 / 1e6 for line in lines if line.startswith("Pss:"))


def _family(stats: Mapping[str, tuple[str, int, int]]) -> set[str]:
    """This process, those that it started, those that they started."""
    found = {str(os.getpid())}
    while more := {pid for pid, (parent, _, _) in stats.items() if parent in found} - found:
        found |= more
    return found


def _stats() -> dict[str, tuple[str, int, int]]:
    """Process → its parent, its own ticks, and those of children that have ended."""
    found: dict[str, tuple[str, int, int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found[path.parent.name] = fields[1], int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
    return found
