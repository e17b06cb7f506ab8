"""What every operation takes and gives: ``Inputs`` in, a ``Report`` from audits and a ``Proposal`` from planners."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from slowwave.language.chat import Chat
from slowwave.plans.items import Item
from slowwave.reports.model import Report
from slowwave.settings import Settings
from slowwave.snapshot import Snapshot

if TYPE_CHECKING:
    from slowwave.matching.evidence import Model  # brings SciPy, which definitions do without

Embed = Callable[[Sequence[str]], np.ndarray]
"""Texts → (n, d) float32, unit rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """All that an operation may read or ask. It has no connection to the store.

    ``models`` are the SQL models' results by name; ``baselines`` the ``details`` of the previous night's reports by operation.
    With ``focus`` a planner may confine itself to what these rows take part in; ``learnt`` is what planners have learnt tonight, by
    operation, and need not learn again.
    """

    snapshot: Snapshot
    models: Mapping[str, pa.Table]
    settings: Settings
    baselines: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    embed: Embed | None = None
    judges: tuple[Chat, ...] = ()
    focus: frozenset[str] | None = None
    learnt: Mapping[str, Model] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a planner proposes, with its account of what it looked at.

    For a second look at the outcome: what it has ``learnt``, and the ids of rows that its items bring ``nearer`` to each other
    without writing to them.
    """

    items: tuple[Item, ...]
    report: Report
    learnt: Model | None = None
    nearer: tuple[str, ...] = ()


Audit = Callable[[Inputs], Report]
Planner = Callable[[Inputs], Proposal]
