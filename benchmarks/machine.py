"""The machine that figures were measured on: what it is, how busy it is, and how much memory a process has taken."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

import numpy as np


def machine() -> dict[str, str]:
    """Cores, processor, memory and versions, in words."""
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text().splitlines() if listed.exists() else []
    return {
        "cores": str(os.cpu_count()),
        "processor": next(
            (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown"
        ),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "Python": sys.version.split()[0],
        "NumPy": np.__version__,
    }


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
