"""What figures were measured on: the machine, how busy it is, the commit, and how much memory a process has taken."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np


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
    return head + "+" * bool(git("diff", "--quiet", "HEAD", "--", ":/", ":(exclude,top)docs").returncode)


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


def peak_of_children_mb() -> float:
    """Of the largest of the processes that this one started and waited for."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (1 if sys.platform == "darwin" else 1_024) / 1e6
