"""The systems that the benchmark measures: Slowwave and three controls that read no text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Final

import pyarrow as pa

from benchmarks.maintenance.adapter import LiveText, MemorySystem, Question, Statement
from benchmarks.remembered import given, memory_id
from slowwave.changes.simulate import simulate
from slowwave.night.proof import prove
from slowwave.operations import PLANNERS, Inputs
from slowwave.operations.registry import run_planner
from slowwave.operations.setting_names import check_settings
from slowwave.plans.items import Item
from slowwave.plans.seal import Header
from slowwave.snapshots.memories import active_memories
from slowwave.snapshots.models import load_models, run_models
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.configured_models import embedder_for

SHARE: Final = 0.2
"""Share of the statements that the deleting controls remove."""

_NO_CHANGE: Final = frozenset(("absolutize_dates", "redact_or_quarantine"))
"""Operations whose questions are about dates and secrets, not about changes of facts."""


class DoNothing:
    """A system that keeps all statements and asks nothing."""

    name = "do nothing"

    def __init__(self) -> None:
        self._kept: list[Statement] = []

    def load(self, statements: Sequence[Statement]) -> None:
        """Store the statements."""
        self._kept = list(statements)

    def maintain(self) -> None:
        """Leave everything as it is."""

    def live(self) -> list[LiveText]:
        """Return all statements that are left."""
        return [LiveText(one.text, frozenset((one.id,))) for one in self._kept]

    def questions(self) -> list[Question]:
        """Return nothing."""
        return []


class KeepNewest(DoNothing):
    """A system that deletes the oldest fifth of its statements."""

    name = "keep newest"

    def maintain(self) -> None:
        """Delete the oldest ``SHARE``."""
        self._kept = sorted(self._kept, key=lambda one: one.at)[round(SHARE * len(self._kept)) :]


class DeleteRandomly(DoNothing):
    """A system that deletes a fifth of its statements, chosen by a seed."""

    name = "delete randomly"

    def maintain(self) -> None:
        """Delete a random ``SHARE``."""
        rng = Random(len(self._kept))  # noqa: S311 - a benchmark that anyone can repeat
        deleted = set(rng.sample(self._kept, round(SHARE * len(self._kept))))
        self._kept = [one for one in self._kept if one not in deleted]


class Slowwave:
    """A night at default settings over a snapshot, without a database: planners, proof, and the approved items simulated.

    Every item is approved except questions, which nobody answers.
    """

    name = "Slowwave"
    settings: Mapping[str, object] = {}
    """Settings of the namespace, over the defaults."""

    def __init__(self) -> None:
        self._snapshot = given([])
        self._items: tuple[Item, ...] = ()

    def load(self, statements: Sequence[Statement]) -> None:
        """Make a memory of each statement, with a vector of the default model, and plan an hour after the last one.

        Notes are semantic memories, messages episodic ones, as the importers make them.
        """
        times = pa.array([one.at for one in statements], pa.timestamp("us", tz="UTC"))
        snapshot = given([one.text for one in statements], now=statements[-1].at + timedelta(hours=1))
        columns = {
            "valid_from": times,
            "recorded_at": times,
            "kind": pa.array([{"note": "semantic", "message": "episodic"}[one.kind] for one in statements]),
            "author": pa.array([one.author for one in statements]),
            "session_id": pa.array([one.session for one in statements]),
        }
        memories = _with_columns(snapshot.table("memories"), columns)
        versions = _with_columns(snapshot.table("memory_versions"), {"recorded_at": times})
        self._snapshot = replace(
            snapshot,
            settings=self.settings,
            tables={**snapshot.tables, "memories": memories, "memory_versions": versions},
        )

    def maintain(self) -> None:
        """Plan a night, prove it, and simulate what would be applied."""
        snapshot, settings = self._snapshot, check_settings(self.settings)
        models = run_models(load_models(), snapshot, settings)
        inputs = Inputs(snapshot, models, settings, embed=embedder_for(settings).embed)
        proposals = {name: run_planner(planner, inputs) for name, planner in PLANNERS.items()}
        header = Header(snapshot.namespace_id, snapshot.namespace, snapshot.snapshot_id, settings.fingerprint())
        plan, _ = prove(header, [item for one in proposals.values() for item in one.items], inputs, proposals)
        self._items = plan.items
        self._snapshot = simulate(snapshot, [item for item in plan.items if not item.is_question])

    def live(self) -> list[LiveText]:
        """Return the active memories, each with the statements that were merged into it."""
        memories = self._snapshot.table("memories")
        into = dict(zip(memories["id"].to_pylist(), memories["merged_into"].to_pylist(), strict=True))
        marked = {
            k
            for item in self._items
            if item.operation == "mark_ended_statements" and not item.is_question
            for k in _statements(item, self._snapshot)
        }
        sources: dict[str, set[int]] = {}
        for k in range(len(memories)):
            if k not in marked:
                sources.setdefault(_survivor(memory_id(k), into), set()).add(k)
        active = active_memories(self._snapshot)
        return [
            LiveText(str(text), frozenset(sources.get(id_, ())))
            for id_, text in zip(active["id"].to_pylist(), active["text"].to_pylist(), strict=True)
        ]

    def questions(self) -> list[Question]:
        """Return the questions of the plan."""
        return [
            Question(_statements(item, self._snapshot), "other" if item.operation in _NO_CHANGE else "change")
            for item in self._items
            if item.is_question
        ]


class SlowwaveNewestWins(Slowwave):
    """Slowwave in a namespace that lets the newest value of every form of statement end the older ones unasked."""

    name = "Slowwave, newest wins"
    settings: Mapping[str, object] = {"operations": {"resolve_conflicts": {"newest_wins": ["frames"]}}}


ADAPTERS: Final[Sequence[Callable[[], MemorySystem]]] = (
    Slowwave,
    SlowwaveNewestWins,
    DoNothing,
    KeepNewest,
    DeleteRandomly,
)


def _with_columns(table: pa.Table, columns: Mapping[str, pa.Array]) -> pa.Table:
    for name, column in columns.items():
        at = table.schema.get_field_index(name)
        table = table.set_column(at, table.schema.field(at), column.cast(table.schema.field(at).type))
    return table


def _survivor(id_: str, into: Mapping[str, str | None]) -> str:
    while merged := into.get(id_):
        id_ = merged
    return id_


def _statements(item: Item, snapshot: Snapshot) -> frozenset[int]:
    """Return the statements that an item is about: those that it changes, and those that its evidence names."""
    known = {memory_id(k): k for k in range(snapshot.table("memories").num_rows)}
    named = (value for value in item.evidence.values() if isinstance(value, str))
    return frozenset(known[row] for row in (*item.mutation.row_ids(), *item.sources, *named) if row in known)
