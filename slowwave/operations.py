"""What every operation takes and gives: ``Inputs`` in, a ``Report`` from audits and a ``Proposal`` from planners."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from slowwave.plans.items import Item
from slowwave.reports.model import Report
from slowwave.settings import Settings
from slowwave.snapshot import Snapshot

Embed = Callable[[Sequence[str]], np.ndarray]
"""Texts → (n, d) float32, unit rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """All that an operation may read. It has no connection to the store.

    ``models`` are the SQL models' results by name; ``baselines`` the ``details`` of the previous night's reports by operation.
    """

    snapshot: Snapshot
    models: Mapping[str, pa.Table]
    settings: Settings
    baselines: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    embed: Embed | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a planner proposes, with its account of what it looked at."""

    items: tuple[Item, ...]
    report: Report


Audit = Callable[[Inputs], Report]
Planner = Callable[[Inputs], Proposal]
