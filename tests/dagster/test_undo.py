"""The undo job: a run taken back, or a sentence that says what stands in the way."""

from __future__ import annotations

from typing import Any

import dagster as dg

from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.dagster.project import Project, failure, project
from tests.memories import ask
from tests.nights import new_world, write_a_plan
from tests.permitting import approve


def undo(jobs: Project, **config: Any) -> dg.ExecuteInProcessResult:
    return jobs.run("undo_job", run_config={"ops": {"undo_applied_run": {"config": config}}})


def test_undo_restores_the_namespace_and_tells_the_lineage(store: Store) -> None:
    """Apply, undo by ``last``, and every column is as it was; an observation says so on ``night/applied``."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    approval = approve(store, world.slug, plan.plan_hash, approver="mara")
    with project(store, world.slug) as jobs:
        before = digest(store, world.slug)
        assert jobs.apply(approval.id).success
        assert digest(store, world.slug) != before
        result = undo(jobs, run="last")
        assert result.success
        assert digest(store, world.slug) == before
        (event,) = result.get_asset_materialization_events()
        assert (event.asset_key, event.partition) == (dg.AssetKey(["night", "applied"]), world.slug)
        seen = jobs.metadata(result, "night", "applied")
    assert seen["undone_items"].value == len(approval.item_ids)


def test_items_on_which_later_changes_stand_are_left_where_that_is_asked_for(store: Store) -> None:
    """The materialization says how many."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    approval = approve(store, world.slug, plan.plan_hash, approver="mara")
    with project(store, world.slug) as jobs:
        assert jobs.apply(approval.id).success
        cells = [w.cell for i in plan.items for w in i.mutation.writes if w.cell.column == "invalidated_at"]
        ask(store, f"UPDATE memory.{cells[0].table} SET invalidated_at = '2031-01-01Z' WHERE id = %s", cells[0].row)
        assert "--leave-changed" in failure(undo(jobs, run="last"))
        result = undo(jobs, run="last", leave_changed=True)
        seen = jobs.metadata(result, "night", "applied")
    assert (seen["undone_items"].value, seen["left_items"].value) == (len(approval.item_ids) - 1, 1)


def test_one_item_can_be_taken_back(store: Store) -> None:
    """By the first characters of its id."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    approval = approve(store, world.slug, plan.plan_hash, approver="mara")
    with project(store, world.slug) as jobs:
        assert jobs.apply(approval.id).success
        assert undo(jobs, run="last", items=[plan.items[0].id[:8]]).success
        status = "SELECT status FROM night.plan_items WHERE item_id = %s"
        assert jobs.value(status, plan.items[0].id) == "undone"
        assert jobs.value(status, plan.items[1].id) == "applied"


def test_what_is_no_run_is_refused(store: Store) -> None:
    """Nothing to undo, and what is no name of a run."""
    world = new_world(store)
    with project(store, world.slug) as jobs:
        assert "no apply run" in failure(undo(jobs, run="last"))
        assert "A run is named by" in failure(undo(jobs, run="%"))
        assert "A run is named by" in failure(undo(jobs, run="last", items=["x"]))
