"""The end of a run without a result is a crash in the ledger."""

from __future__ import annotations

import dagster as dg

from slowwave.dagster.sensors import cancelled_runs, crashed_runs
from slowwave.night.runs import begin
from slowwave.store.connect import Store
from tests.dagster.project import Project, project
from tests.memories import ask
from tests.nights import new_world, write_a_plan


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


def test_a_night_of_a_run_that_died_is_marked_as_crashed(store: Store) -> None:
    """The process was killed half way: the ledger does not show nights that plan for ever, and other runs keep their state."""
    world, other = new_world(store), new_world(store, 400)
    write_a_plan(store, world)
    with project(store, world.slug, other.slug) as p:
        result = p.night("no such namespace")
        assert not result.success
        for name in (world.slug, other.slug):
            begin(store, name, dagster_run_id=result.run_id)
        crashed_runs(ended(p, result, dg.DagsterEventType.RUN_FAILURE).for_run_failure())
        found = ask(store, "SELECT state, error FROM night.runs WHERE dagster_run_id = %s", result.run_id)
        assert [state for state, _ in found] == ["crashed", "crashed"]
        assert all(result.run_id in str(error) for _, error in found)
        assert p.value("SELECT count(*) FROM night.runs WHERE state = 'awaiting_approval'") == 1


def test_the_end_of_an_applied_plan_is_not_rewritten(store: Store) -> None:
    """A run that ended well stays as it is, whatever a sensor is told about it."""
    world = new_world(store)
    write_a_plan(store, world)
    with project(store, world.slug) as p:
        result = p.materialize(world.slug, "audit/census")
        ask(store, "UPDATE night.runs SET dagster_run_id = %s", result.run_id)
        cancelled_runs(ended(p, result, dg.DagsterEventType.RUN_SUCCESS))
        assert p.value("SELECT state FROM night.runs WHERE dagster_run_id = %s", result.run_id) == "awaiting_approval"
