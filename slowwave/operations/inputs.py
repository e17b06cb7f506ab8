"""What an operation takes and gives: ``Inputs`` in, a ``Report`` from audits and a ``Proposal`` from planners."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from slowwave.config.settings import Settings
from slowwave.language import Embed
from slowwave.language.budget import Budget
from slowwave.language.chat import Chat
from slowwave.plans.items import Item
from slowwave.reports.model import Report
from slowwave.snapshots.snapshot import Snapshot, Vectors

if TYPE_CHECKING:
    from slowwave.matching.evidence import WeightsByType  # brings SciPy, which definitions do without


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """All that an operation may read or ask. It has no connection to the store.

    ``budget`` is asked before every call of a model and charged what it cost; ``writer`` writes summaries of communities, ``consolidator``
    those of memories and shorter texts, when they are configured.
    ``models`` are the SQL models' results by name; ``baselines`` the ``details`` of the previous night's reports by operation.
    With ``focus`` a planner may confine itself to what these rows take part in; ``learnt`` is what planners have learnt tonight, by
    operation, and need not learn again. ``ops`` are the operations that the night was asked for by name; without them the settings say.
    ``worked`` is the scratch copy of a deep pass as it came back, which the planner of the deep pass reads; a night has none.
    """

    snapshot: Snapshot
    models: Mapping[str, pa.Table]
    settings: Settings
    baselines: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    embed: Embed | None = None
    judges: tuple[Chat, ...] = ()
    focus: frozenset[str] | None = None
    learnt: Mapping[str, WeightsByType] = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)
    writer: Chat | None = None
    consolidator: Chat | None = None
    ops: Collection[str] | None = None
    worked: object | None = None

    def only(self, tables: Collection[str], models: Collection[str]) -> Inputs:
        """The same with these tables, vector tables and models alone; no vector table is missing, and the others are empty."""
        snapshot = self.snapshot
        given = replace(
            snapshot,
            tables={name: table for name, table in snapshot.tables.items() if name in tables},
            vectors={
                name: vectors if name in tables else Vectors.empty(vectors.model)
                for name, vectors in snapshot.vectors.items()
            },
        )
        return replace(self, snapshot=given, models={name: self.models[name] for name in models if name in self.models})


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a planner proposes, with its account of what it looked at.

    For a second look at the outcome: what it has ``learnt``, and the ids of rows that its items bring ``nearer`` to each other
    without writing to them.
    """

    items: tuple[Item, ...]
    report: Report
    learnt: WeightsByType | None = None
    nearer: tuple[str, ...] = ()


BUDGET_SPENT: Final = "budget_spent"
"""In a planner's numbers: calls of models that the token budget of the run or the day did not allow."""
