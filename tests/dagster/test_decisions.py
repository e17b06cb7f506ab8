"""What is decided by the command line reaches the lineage once; what Dagster's own jobs decide is told by them alone."""

from __future__ import annotations

import dagster as dg

from slowwave.dagster.gate import decisions_sensor
from slowwave.night.executor import apply_approval
from slowwave.night.undo import undo_run
from slowwave.plans.waiting import decisions_since
from slowwave.store.connect import Store
from tests.dagster.project import project
from tests.memories import ask
from tests.nights import new_world, write_a_plan
from tests.permitting import approve

Event = tuple[str, str, str | None]


def tick(store: Store, instance: dg.DagsterInstance, cursor: str | None) -> tuple[list[Event], str | None]:
    """(kind, asset, partition) of what is told, and the cursor after it."""
    found = decisions_sensor()(dg.build_sensor_context(instance=instance, cursor=cursor, resources={"store": store}))
    if isinstance(found, dg.SkipReason):
        return [], cursor
    assert isinstance(found, dg.SensorResult)
    told = [(type(e).__name__, e.asset_key.to_user_string(), e.partition) for e in found.asset_events]
    return told, found.cursor


def test_a_signature_an_apply_and_an_undo_are_told_once(store: Store) -> None:
    """In their order, and a tick later there is nothing to tell; a late commit within the time looked back is."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    signed = approve(store, world.slug, plan.plan_hash, approver="mara", items=[plan.items[0].id])
    with project(store, world.slug) as gate:
        told, cursor = tick(store, gate.instance, None)
        assert told == [("AssetMaterialization", "night/approval", world.slug)]
        assert tick(store, gate.instance, cursor) == ([], cursor)
        run = apply_approval(store, signed.id).run_id
        undo_run(store, run)
        told, cursor = tick(store, gate.instance, cursor)
        assert told == [
            ("AssetMaterialization", "night/applied", world.slug),
            ("AssetMaterialization", "night/applied", world.slug),
        ]
        assert tick(store, gate.instance, cursor) == ([], cursor)
        assert gate.approve(world.slug, plan_hash=plan.plan_hash, approver="olaf", items=[plan.items[1].id]).success
        assert tick(store, gate.instance, cursor) == ([], cursor)


def test_more_than_one_tick_tells_follows_with_the_next(store: Store) -> None:
    """The oldest first."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    ids = [approve(store, world.slug, plan.plan_hash, approver="mara", items=[i.id]).id for i in plan.items[:3]]
    (since,) = ask(store, "SELECT min(recorded_at) FROM night.approvals")[0]
    first = decisions_since(store, since, [], 2)
    assert [one.id for one in first] == ids[:2]
    assert [one.id for one in decisions_since(store, since, [one.key for one in first], 2)] == ids[2:]
