"""Follow-up plans: questions that share a cell with a question of a night, planned again once that one is answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa

from slowwave.changes.cells import Cell
from slowwave.changes.simulate import simulate
from slowwave.night.proposal import seal_proposal
from slowwave.operations import PLANNERS, Inputs, Proposal, run_planner
from slowwave.plans.items import Item
from slowwave.plans.ledger import StoredItem, StoredPlan
from slowwave.plans.report import Report
from slowwave.plans.review.drafts import SessionPlan, follows, read_session
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store

TRIGGER: Final = "review"
"""Trigger of the runs that make plans from answers."""

# Follow-up plans: the questions of a night that share a cell with a question that was answered.
#
# Two such questions cannot be in one plan, because the items of a plan commute. So a plan asks one of them, and once that is answered the
# others are planned again for the memory that the answers lead to. The planners that asked run on the snapshot in which every yes and every
# decided item of the session is simulated, and what they ask is sealed as a plan like any other. It is read, answered and approved in the
# same session (``slowwave.plans.review.drafts``). A question about rows that a decided merge joins is thus asked about their survivor.

_LEFT: Final = "review pairs that wait"
"""The number under which a planner reports pairs that it leaves out because they share a row with one of its items."""


def leaves_questions(plan: StoredPlan) -> tuple[str, ...]:
    """Return the operations of a plan that left out questions.

    These questions are planned when no question of the operation is open.
    """
    planners = plan.summary.get("planners")
    reports = planners.items() if isinstance(planners, Mapping) else ()
    return tuple(sorted(name for name, report in reports if report.get("numbers", {}).get(_LEFT)))


def held_back(session: Sequence[SessionPlan]) -> list[tuple[StoredItem, str]]:
    """Return the questions of a session that follow from one of its questions, each with the id of a question that it shares a cell with.

    Cost: linear in the cells of the deferred questions and of the questions that hold them back.
    """
    late = [s for one in session for s in one.plan.items if s.status == "deferred" and s.is_question]
    if not late:
        return []
    asked = {s.id: s.item for one in session for s in one.plan.items if s.status != "deferred" and s.is_question}
    written: dict[Cell, str] = {}
    guarded: dict[Cell, str] = {}
    for id_, item in asked.items():
        written |= dict.fromkeys(item.writes(), id_)
        guarded |= dict.fromkeys(item.guards(), id_)
    found: dict[str, tuple[StoredItem, str]] = {}
    for stored in late:
        item = stored.item
        by = [*((c, written) for c in item.writes() | item.guards()), *((c, guarded) for c in item.writes())]
        if stored.id not in asked and (others := sorted(cells[c] for c, cells in by if c in cells)):
            found[stored.id] = (stored, others[0])
    return list(found.values())


def seal_follow_ups(store: Store, namespace: str, plan_hash: str, *, by: str) -> tuple[str, ...]:
    """Seal the questions that follow from a session's answers so far; return the hashes of their plans, one per operation.

    A question that shares a cell with an open question is held until that is answered. So is a question that shares a cell with a decided
    item that a reviewer skipped. Raises as ``run_night`` does.
    """
    session = read_session(store, namespace, plan_hash)
    taken = [s.item for one in session for s in one.covers.left]
    free = [stored for stored, _ in held_back(session) if _commute(stored.item, *_touched_cells(taken))]
    left = _left_out(session)
    done = [s.item for one in session for s in (*one.covers.yes, *one.covers.decided)]
    no = [s.item for one in session for s in one.covers.no]
    refused = {item.subject() for item in no}
    settled = {s.id for one in session for s in one.plan.items if s.status != "deferred"}
    tip, made = session[-1].plan.plan_hash, list[str]()
    for operation in sorted({*(stored.operation for stored in free), *left}):
        rows = {row for stored in free if stored.operation == operation for row in stored.item.rows()}

        def propose(
            inputs: Inputs,
            operation: str = operation,
            rows: frozenset[tuple[str, str]] = frozenset(rows),
            others: tuple[frozenset[Cell], frozenset[Cell]] = _touched_cells(taken),
        ) -> Proposal:
            planned = run_planner(PLANNERS[operation], inputs, {operation})
            items = tuple(
                item
                for item in planned.items
                if (item.is_question and item.id not in settled and item.subject() not in refused)
                and (_commute(item, *others) and (operation in left or not rows.isdisjoint(item.rows())))
            )
            return Proposal(
                items,
                Report(
                    operation,
                    "Questions that follow from answers.",
                    numbers={**planned.report.numbers, "items": len(items)},
                ),
            )

        night = seal_proposal(
            *(store, namespace, operation, propose),
            of=follows(tip),
            trigger=TRIGGER,
            by=by,
            after=lambda snapshot: _with_rejections(simulate(snapshot, done), no),
        )
        if night.plan and night.plan.items and night.state != "empty":
            made.append(night.plan.plan_hash)
            taken += night.plan.items
    return tuple(made)


def _with_rejections(snapshot: Snapshot, items: Sequence[Item]) -> Snapshot:
    """Return the snapshot as if the items were already rejected, so that planners turn to the pairs they left out for them."""
    table = snapshot.table("rejections")
    rows = [
        {"operation": item.operation, "subject": item.subject(), "row_ids": sorted(item.mutation.row_ids())}
        for item in items
    ]
    if not rows:
        return snapshot
    more = pa.Table.from_pylist([dict.fromkeys(table.column_names) | row for row in rows], schema=table.schema)
    return replace(snapshot, tables={**snapshot.tables, "rejections": pa.concat_tables([table, more])})


def _left_out(session: Sequence[SessionPlan]) -> set[str]:
    """Return the operations that left out questions in their last plan of this session and have no open question."""
    latest: dict[str, bool] = {}
    for one in session:
        asks = {s.operation for s in one.plan.items if s.is_question}
        latest |= {operation: operation in leaves_questions(one.plan) for operation in asks}
    open_ = {s.operation for one in session for s in one.covers.left if s.is_question and s.id not in one.drafts}
    return {operation for operation, left in latest.items() if left} - open_


def commute(item: Item, others: Sequence[Item]) -> bool:
    """Return whether an item conflicts with none of the others, so that all of them can be in one plan."""
    return _commute(item, *_touched_cells(others))


def _touched_cells(items: Sequence[Item]) -> tuple[frozenset[Cell], frozenset[Cell]]:
    """Return the cells that the items write and the cells that they depend on."""
    empty = frozenset[Cell]()
    return empty.union(*(i.writes() for i in items)), empty.union(*(i.guards() for i in items))


def _commute(item: Item, written: frozenset[Cell], guarded: frozenset[Cell]) -> bool:
    """Return whether an item conflicts with none of the items that write ``written`` and depend on ``guarded``."""
    return item.writes().isdisjoint(written) and item.writes().isdisjoint(guarded) and item.guards().isdisjoint(written)
