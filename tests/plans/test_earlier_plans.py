"""Plans that earlier versions stored, with a guard for each cell instead of each row, are read, applied, learnt from and undone."""

from __future__ import annotations

import pytest

from slowwave.changes import mutation
from slowwave.changes.cells import Guard, seen_json
from slowwave.night.executor import apply_approval
from slowwave.night.undo import undo_run
from slowwave.operations.rejections import labelled_pairs
from slowwave.plans.ledger import read_plan
from slowwave.snapshots.export import export_snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.nights import new_world, write_a_plan
from tests.permitting import approve


def test_guards_by_cell_hold_like_guards_by_row(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same cells are guarded under the ids that were signed; what changed since makes the item stale."""
    world = new_world(store)
    before = digest(store, world.slug)
    with monkeypatch.context() as earlier:
        earlier.setattr(mutation, "guard_json", _by_cell)
        _, plan = write_a_plan(store, world)
    with store.connect("reader") as connection:
        read = {stored.id: stored.item for stored in read_plan(connection, plan.plan_hash).items}
    assert {i.id: set(i.mutation.seen()) for i in plan.items} == {k: set(i.mutation.seen()) for k, i in read.items()}
    assert any(len([*i.mutation.seen()]) > len(i.mutation.rows) for i in plan.items)
    merge = next(i for i in plan.items if i.decision == "merge")
    run = apply_approval(store, approve(store, world.slug, plan.plan_hash, approver="mara", items=[merge.id]).id)
    assert run.counts["applied"] == 1
    seen = labelled_pairs(export_snapshot(store, world.slug), merge.operation)
    assert seen.pairs, "the rows as the plan showed them teach the next night"
    assert None not in seen.rows["name"].to_pylist()
    undo_run(store, run.run_id)
    assert digest(store, world.slug) == before
    with store.connect("owner") as connection:
        connection.execute(
            "UPDATE memory.entities SET description = 'another' WHERE namespace_id = %s", (world.namespace_id,)
        )
    others = [i.id for i in plan.items if i.operation == merge.operation and i.id != merge.id]
    late = apply_approval(
        store, approve(store, world.slug, plan.plan_hash, approver="mara", items=others, include_review=True).id
    )
    assert (late.counts["applied"], late.counts["skipped_stale"]) == (0, len(others))


def _by_cell(guard: Guard) -> str:
    return ",".join(seen_json(cell, seen) for cell, seen in guard.cells())
