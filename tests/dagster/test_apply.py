"""The apply job: what an approval names, once, and no matter who asks how often."""

from __future__ import annotations

import uuid

import dagster as dg
import pytest

from slowwave.plans.switches import KILL_SWITCH
from slowwave.store.connect import Store
from tests.dagster.project import failure, project
from tests.nights import new_world, write_a_plan
from tests.permitting import approve


def test_an_approval_is_applied_once_and_asking_again_succeeds(store: Store) -> None:
    """A second run changes nothing and is green: the plan was applied, and red would say that it was not."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    approval = approve(store, world.slug, plan.plan_hash, approver="mara")
    with project(store, world.slug) as jobs:
        first = jobs.apply(approval.id)
        assert first.success
        journal = jobs.value("SELECT count(*) FROM night.journal")
        second = jobs.apply(approval.id)
        assert second.success
        assert jobs.value("SELECT count(*) FROM night.journal") == journal > 0
        assert jobs.value("SELECT count(*) FROM night.applied") == 1
        assert jobs.value("SELECT dagster_run_id FROM night.runs WHERE mode = 'apply'") == first.run_id
        records = jobs.instance.fetch_materializations(dg.AssetKey(["night", "applied"]), limit=5).records
    assert [r.partition_key for r in records] == [world.slug] * 2
    shown = records[0].asset_materialization
    assert shown
    assert shown.metadata["applied"].value == len(approval.item_ids)


@pytest.mark.parametrize(
    ("approval_id", "sentence"),
    [(str(uuid.UUID(int=7)), "There is no approval"), ("last", "must be the UUID"), ("' OR true", "must be the UUID")],
)
def test_apply_follows_an_approval_and_nothing_else(store: Store, approval_id: str, sentence: str) -> None:
    """An id of nothing, and what is no id."""
    world = new_world(store)
    write_a_plan(store, world)
    with project(store, world.slug) as jobs:
        result = jobs.apply(approval_id)
        assert not result.success
        assert sentence in failure(result)
        assert jobs.value("SELECT count(*) FROM night.runs WHERE mode = 'apply'") == 0


def test_the_kill_switch_and_a_read_only_namespace_stop_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both say so in a sentence, and the approval stays good for later."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    approval = approve(store, world.slug, plan.plan_hash, approver="mara")
    with project(store, world.slug) as jobs:
        monkeypatch.setenv(KILL_SWITCH, "1")
        assert f"{KILL_SWITCH} is set" in failure(jobs.apply(approval.id))
        monkeypatch.delenv(KILL_SWITCH)
        with store.connect("owner") as owner:
            owner.execute("UPDATE memory.namespaces SET read_only = true")
        assert "read-only" in failure(jobs.apply(approval.id))
        with store.connect("owner") as owner:
            owner.execute("UPDATE memory.namespaces SET read_only = false")
        assert jobs.apply(approval.id).success


def test_neither_items_nor_a_database_can_be_configured(store: Store) -> None:
    """The approval's id is the whole configuration, and no environment variable is read into it."""
    with project(store) as jobs:
        for config in (
            {"approval_id": {"env": "HOME"}},
            {"approval_id": str(uuid.uuid4()), "items": []},
            {"approval_id": str(uuid.uuid4()), "dsn": "postgresql://evil.example"},
        ):
            with pytest.raises(dg.DagsterInvalidConfigError):
                jobs.run("apply_job", run_config={"ops": {"apply_approved_plan": {"config": config}}})
