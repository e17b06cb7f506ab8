"""Undo by the id of an item, undo that a person cancels or a later change blocks, and the events of each."""

from __future__ import annotations

from collections import Counter

import pytest

from slowwave.errors import DreamCancelled, Refused, UndoBlocked
from slowwave.night.executor import apply_approval
from slowwave.night.run_events import Event, RunCompleted, RunStarted
from slowwave.night.undo import Undoing, undo_run
from slowwave.plans.seal import Plan
from slowwave.store.claims import request_cancel
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.memories import ask
from tests.nights import new_world, write_a_plan
from tests.permitting import approve
from tests.worlds import World


def apply_plan(store: Store) -> tuple[World, Plan, str]:
    """Apply a plan of several operations; return its world, the plan, and the run."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    approval = approve(store, world.slug, plan.plan_hash, approver="mara")
    return world, plan, apply_approval(store, approval.id).run_id


def run_states(store: Store) -> list[object]:
    return [state for (state,) in ask(store, "SELECT state FROM night.runs WHERE mode = 'undo' ORDER BY started_at")]


def test_undo_run_item_id_undoes_that_item_alone(store: Store) -> None:
    world, plan, run = apply_plan(store)
    item = next(i for i in plan.items if i.decision != "review")
    with pytest.raises(Refused, match="is an item, and has no parts"):
        undo_run(store, item.id[:12], items=[item.id])
    undone = undo_run(store, item.id[:12])
    assert (undone.undo_of, undone.items, undone.operations) == (run, (item.id,), {item.operation: 1})
    with pytest.raises(Refused, match=r"is undone already\.$"):
        approve(store, world.slug, plan.plan_hash, approver="mara", items=[item.id])
    again = undo_run(store, item.id)
    assert (again.undo_of, again.items) == (run, ()), "an item that is undone already stays as it is"


def test_undo_run_whole_run_announces_and_counts_operations(store: Store) -> None:
    """The operator sees the counts before anything is undone, and the same counts afterwards."""
    _, plan, run = apply_plan(store)
    expected = Counter(i.operation for i in plan.items if i.decision != "review")
    announced: list[Undoing] = []
    events: list[Event] = []
    undone = undo_run(store, run, announce=announced.append, callbacks=[events.append])
    assert (announced[0].operations, undone.operations) == (expected, expected)
    (started,) = [e for e in events if isinstance(e, RunStarted)]
    (completed,) = [e for e in events if isinstance(e, RunCompleted)]
    assert (started.mode, started.trigger) == ("undo", "manual")
    assert (completed.state, completed.counts) == ("completed", {"undone": len(undone.items)})


def test_undo_run_cancelled_before_it_writes_changes_nothing(store: Store) -> None:
    world, _, run = apply_plan(store)
    before = digest(store, world.slug)
    events: list[Event] = []

    def cancel(event: Event) -> None:
        events.append(event)
        if isinstance(event, RunStarted):
            request_cancel(store, event.run_id)

    with pytest.raises(DreamCancelled, match="nothing was undone"):
        undo_run(store, run, callbacks=[cancel])
    assert digest(store, world.slug) == before
    assert run_states(store) == ["cancelled"]
    assert [e.state for e in events if isinstance(e, RunCompleted)] == ["cancelled"]
    assert undo_run(store, run).items, "it can be undone later"


def test_undo_run_blocked_by_later_change_ends_refused(store: Store) -> None:
    _, plan, run = apply_plan(store)
    row = next(i for i in plan.items if i.operation == "archive_stale").mutation.row_ids()[0]
    ask(store, "UPDATE memory.memories SET state = 'cold' WHERE id = %s RETURNING id", row)
    events: list[Event] = []
    with pytest.raises(UndoBlocked, match=row):
        undo_run(store, run, callbacks=[events.append])
    assert run_states(store) == ["refused"]
    assert [e.state for e in events if isinstance(e, RunCompleted)] == ["refused"]
