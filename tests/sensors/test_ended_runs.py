"""What follows the end of a run: a crash in the ledger, an audit after a change."""

from __future__ import annotations

import dagster as dg
import pytest

from sensors.ended_runs import cancelled_runs, crashed_runs, reaudit
from slowwave.store.connect import Store
from tests.memories import ask
from tests.memory_assets.project import Project, project
from tests.nights import new_world, write_a_plan
from tests.permitting import approve
from tests.stand_ins import instead


def ended(p: Project, result: dg.ExecuteInProcessResult, kind: dg.DagsterEventType) -> dg.RunStatusSensorContext:
    """A status sensor's context for the end of a run."""
    run = p.instance.get_run_by_id(result.run_id)
    assert run
    (event,) = [e for e in result.all_events if e.event_type == kind]
    return dg.build_run_status_sensor_context(
        sensor_name="test",
        dagster_event=event,
        dagster_instance=p.instance,
        dagster_run=run,
        resources={"store": p.store},
    )


def test_a_night_that_fails_is_marked_as_crashed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planner fell over half way: the ledger does not show a night that plans for ever, and other runs keep their state."""
    world = new_world(store)
    write_a_plan(store, world)

    def broken(_: object) -> None:
        raise RuntimeError("out of paper")

    instead(monkeypatch, "census", broken)
    with project(store, world.slug) as p:
        result = p.run("night_job", world.slug, asset_selection=p.some("audit/census", "night/plan"))
        assert not result.success
        state = "SELECT state FROM night.runs WHERE dagster_run_id = %s"
        assert p.value(state, result.run_id) == "planning"
        crashed_runs(ended(p, result, dg.DagsterEventType.RUN_FAILURE).for_run_failure())
        assert p.value(state, result.run_id) == "crashed"
        assert result.run_id in p.value("SELECT error FROM night.runs WHERE dagster_run_id = %s", result.run_id)
        assert p.value("SELECT count(*) FROM night.runs WHERE state = 'awaiting_approval'") == 1


def test_the_end_of_an_applied_plan_is_not_rewritten(store: Store) -> None:
    """A run that ended well stays as it is, whatever a sensor is told about it."""
    world = new_world(store)
    write_a_plan(store, world)
    with project(store, world.slug) as p:
        result = p.run("reaudit_job", world.slug, asset_selection=p.some())
        ask(store, "UPDATE night.runs SET dagster_run_id = %s", result.run_id)
        cancelled_runs(ended(p, result, dg.DagsterEventType.RUN_SUCCESS))
        assert p.value("SELECT state FROM night.runs WHERE dagster_run_id = %s", result.run_id) == "awaiting_approval"


def test_after_apply_the_namespace_is_audited_again(store: Store) -> None:
    """The run says which namespace it changed, whoever started it; the request is for that one."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    approval = approve(store, world.slug, plan.plan_hash, approver="mara")
    with project(store, world.slug) as p:
        result = p.apply(approval.id)
        (request,) = list(reaudit(ended(p, result, dg.DagsterEventType.RUN_SUCCESS)))
        assert isinstance(request, dg.RunRequest)
        assert request.partition_key == world.slug
        audit = p.run("reaudit_job", world.slug)
        assert audit.success
        checks = {e.check_name: e.passed for e in audit.get_asset_check_evaluations()}
    assert checks["cells_changed_are_cells_planned"]
    assert checks["event_chain_verifies"]
    assert all(checks.values()), checks
