"""The gate in the UI: what the Launchpad sends is signed or refused with a sentence, and can neither leak nor redirect."""

from __future__ import annotations

import dagster as dg
import pytest

from slowwave.dagster.events import decision_links
from slowwave.dagster.gate import apply_job, approval_sensor
from slowwave.dagster.layout import DEFAULT
from slowwave.plans.gate import set_rule
from slowwave.store.connect import Store
from tests.dagster.project import failure, project
from tests.nights import new_world, write_a_plan


def test_a_name_and_a_hash_sign_the_plan(store: Store) -> None:
    """The approval is the gate's own row, and its materialization says who signed what."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    with project(store, world.slug) as gate:
        result = gate.approve(world.slug, plan_hash=plan.plan_hash, approver="mara", note="looks right")
        assert result.success
        shown = gate.metadata(result, "night", "approval")
        row = gate.value("SELECT to_jsonb(a) FROM night.approvals a")
    assert (row["channel"], row["approver"], row["plan_hash"]) == ("launchpad", "mara", plan.plan_hash)
    assert shown["approval_id"].value == row["id"]
    assert (
        shown["approved_items"].value == len(row["item_ids"]) == len([i for i in plan.items if i.decision != "review"])
    )
    assert "looks right" not in str(shown)


def test_a_part_of_a_plan_can_be_signed(store: Store) -> None:
    """Items by their first characters, as they are shown."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    with project(store, world.slug) as gate:
        result = gate.approve(world.slug, plan_hash=plan.plan_hash[:12], approver="mara", items=[plan.items[0].id[:8]])
        assert result.success
        assert gate.value("SELECT item_ids::text[] FROM night.approvals") == [plan.items[0].id]


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"plan_hash": "f" * 64}, "is no plan of"),
        ({"plan_hash": "please"}, "12 to 64 characters"),
        ({"approver": ""}, "must be named"),
        ({"approver": "mara reyes"}, "must be named"),
        ({"items": ["%' OR 1=1"]}, "named by its id"),
        ({"force": True}, "needs a reason"),
    ],
)
def test_what_is_wrong_is_refused_with_a_sentence(store: Store, config: dict[str, object], sentence: str) -> None:
    """The run is red, its message says why, and nothing is written."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    with project(store, world.slug) as gate:
        result = gate.approve(world.slug, **{"plan_hash": plan.plan_hash, "approver": "mara", **config})
        assert not result.success
        assert sentence in failure(result)
        assert gate.value("SELECT count(*) FROM night.approvals") == 0


def test_a_superseded_and_an_expired_plan_are_refused(store: Store) -> None:
    """The link of last week's page still opens; it signs nothing."""
    world, other = new_world(store, 7), new_world(store, 400)
    _, old = write_a_plan(store, world)
    _, new = write_a_plan(store, world)
    _, late = write_a_plan(store, other, expiry_days=0)
    with project(store, world.slug, other.slug) as gate:
        result = gate.approve(world.slug, plan_hash=old.plan_hash, approver="mara")
        assert f"superseded by {new.plan_hash[:12]}" in failure(result)
        result = gate.approve(other.slug, plan_hash=late.plan_hash, approver="mara")
        assert "expired on" in failure(result)
        assert gate.value("SELECT count(*) FROM night.approvals") == 0


@pytest.mark.parametrize("field", ["plan_hash", "approver", "note"])
def test_the_environment_cannot_be_read_into_an_approval(
    store: Store, field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dagster puts environment variables into most configuration; here that would put a password into a note."""
    monkeypatch.setenv("SECRET_OF_THE_HOST", "hunter2")
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    config = {"plan_hash": plan.plan_hash, "approver": "mara", field: {"env": "SECRET_OF_THE_HOST"}}
    with project(store, world.slug) as gate:
        with pytest.raises(dg.DagsterInvalidConfigError) as refused:
            gate.approve(world.slug, **config)
        assert "hunter2" not in str(refused.value)
        assert gate.value("SELECT count(*) FROM night.approvals") == 0


def test_a_missing_name_is_refused_before_anything_runs(store: Store) -> None:
    """The link leaves the name open; launching without one is not possible."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    with project(store, world.slug) as gate:
        for config in ({}, {"approver": None}):
            with pytest.raises(dg.DagsterInvalidConfigError):
                gate.approve(world.slug, plan_hash=plan.plan_hash, **config)
        assert not gate.instance.get_runs()


def test_somebody_else_signs_as_well_where_one_signature_is_not_enough(store: Store) -> None:
    """The plan's page links to it, the sensor says what it waits for, and the second name makes the approval count."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    rule = set_rule(store, world.slug, signatures=2, set_by="root")
    told = decision_links(DEFAULT, world.slug, plan.plan_hash, rule=rule)["signatures"].value or ""
    assert ("2 people have to sign" in told, "countersign" in told) == (True, True)
    with project(store, world.slug) as gate:
        first = gate.approve(world.slug, plan_hash=plan.plan_hash, approver="mara")
        assert "one more signature needed" in str(gate.metadata(first, "night", "approval")["signatures"].value)
        context = dg.build_sensor_context(instance=gate.instance, resources={"store": store})
        waiting = approval_sensor(apply_job())(context)
        assert isinstance(waiting, dg.SkipReason)
        assert "Signed by mara, one more signature needed" in str(waiting.skip_message)
        same = gate.approve(world.slug, plan_hash=plan.plan_hash, approver="mara", countersign=True)
        assert "somebody else" in failure(same)
        assert not gate.approve(
            world.slug, plan_hash=plan.plan_hash, approver="otto", countersign=True, items=["abcd"]
        ).success
        second = gate.approve(world.slug, plan_hash=plan.plan_hash, approver="otto", countersign=True)
        assert gate.metadata(second, "night", "approval")["signatures_missing"].value == 0
        assert isinstance(approval_sensor(apply_job())(context), dg.SensorResult)
