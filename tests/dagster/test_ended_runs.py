"""The end of a run without a result is a crash in the ledger."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest
from dagster._core.test_utils import create_run_for_test

from slowwave.dagster import assets
from slowwave.dagster.sensors import SILENT_SECONDS, cancelled_runs, crashed_runs, lost_runs
from slowwave.night.runs import begin
from slowwave.store.connect import Store
from tests.dagster.project import Project, failure, project
from tests.dreamers import dead_run
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


def test_lost_runs_fails_started_runs_whose_heartbeats_have_expired(store: Store) -> None:
    """A run that holds a namespace still, or none, is left alone; so is one that is over."""
    world, other = new_world(store), new_world(store, 400)
    with project(store, world.slug, other.slug) as p:
        lost, alive, between = (
            create_run_for_test(p.instance, "night_job", status=dg.DagsterRunStatus.STARTED).run_id for _ in range(3)
        )
        ended = create_run_for_test(p.instance, "night_job", status=dg.DagsterRunStatus.SUCCESS).run_id
        for run, mode, state, age in (
            (lost, "plan", "planning", 400),
            (lost, "plan", "completed", 900),
            (alive, "apply", "crashed", 900),
            (alive, "undo", "applying", 200),
            (between, "plan", "completed", 900),
            (ended, "plan", "planning", 400),
        ):
            row = dead_run(store, world.slug if run != alive else other.slug, mode, state, age)
            ask(store, "UPDATE night.runs SET dagster_run_id = %s WHERE id = %s", run, row)
        ask(
            store, "UPDATE night.runs SET error = 'The heartbeat expired: the process is gone.' WHERE state = 'crashed'"
        )
        answer = lost_runs(dg.build_sensor_context(p.instance, resources={"store": store}))
        assert isinstance(answer, dg.SkipReason)
        assert answer.skip_message == "Reported 1 lost run as failed."
        status = {run: getattr(p.instance.get_run_by_id(run), "status", None) for run in (lost, alive, between)}
        started = dg.DagsterRunStatus.STARTED
        assert status == {lost: dg.DagsterRunStatus.FAILURE, alive: started, between: started}
        ask(store, "UPDATE night.runs SET heartbeat_at = heartbeat_at - interval '1 hour' WHERE state = 'applying'")
        lost_runs(dg.build_sensor_context(p.instance, resources={"store": store}))
        assert getattr(p.instance.get_run_by_id(alive), "status", None) == dg.DagsterRunStatus.FAILURE


def test_lost_runs_fails_a_run_that_holds_no_namespace_and_reports_nothing(store: Store) -> None:
    """An event in between, a claim, and a job that never holds a namespace keep a run; the cursor forgets runs that ended."""
    world = new_world(store)
    with project(store, world.slug) as p:
        started = {
            name: create_run_for_test(p.instance, job, status=dg.DagsterRunStatus.STARTED)
            for name, job in (
                ("lost", "apply_job"),
                ("tiles", "tiled_night_job"),
                ("reporting", "night_job"),
                ("holding", "undo_job"),
                ("other", "retention_job"),
            )
        }
        for run in started.values():
            p.instance.report_engine_event("It runs.", run)
        holding = dead_run(store, world.slug, "undo", "applying", 10)
        ask(store, "UPDATE night.runs SET dagster_run_id = %s WHERE id = %s", started["holding"].run_id, holding)

        def tick(cursor: str | None) -> tuple[str, dict[str, list[float]]]:
            with dg.build_sensor_context(p.instance, cursor=cursor, resources={"store": store}) as context:
                answer = lost_runs(context)
                assert isinstance(answer, dg.SkipReason)
                return str(answer.skip_message), json.loads(context.cursor or "")

        answer, first = tick(None)
        silent = {started[name].run_id for name in ("lost", "tiles", "reporting")}
        assert (answer, set(first)) == ("No run is lost.", silent)
        assert tick(json.dumps(first)) == ("No run is lost.", first), "the first instant is kept"
        p.instance.report_engine_event("It runs still.", started["reporting"])
        late = {run: [event, since - SILENT_SECONDS - 1] for run, (event, since) in first.items()}
        answer, kept = tick(json.dumps(late))
        assert (answer, set(kept)) == ("Reported 2 lost runs as failed.", {started["reporting"].run_id})
        states = {name: getattr(p.instance.get_run_by_id(run.run_id), "status", None) for name, run in started.items()}
        assert [name for name, status in states.items() if status == dg.DagsterRunStatus.FAILURE] == ["lost", "tiles"]
        assert tick(json.dumps(kept))[0] == "No run is lost."


def test_run_that_was_failed_elsewhere_begins_no_further_night(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker was paused, its run was retried by another one, and it continues."""
    world, other = new_world(store), new_world(store, 400)
    monkeypatch.setattr(assets, "has_ended", lambda *_: True)
    with project(store, world.slug, other.slug) as p:
        result = p.night(world.slug, other.slug)
        assert (
            failure(result)
            == f"This run was ended while its worker was at {world.slug}: the worker plans nothing more."
        )
        assert p.value("SELECT count(*) FROM night.runs") == 1


def test_retried_run_plans_a_namespace_that_its_parent_holds(store: Store) -> None:
    """Its parent was failed a moment ago, so its heartbeat is young and the sensor has not run yet."""
    world = new_world(store)
    with project(store, world.slug) as p:
        parent = create_run_for_test(p.instance, "night_job", status=dg.DagsterRunStatus.STARTED)
        begin(store, world.slug, dagster_run_id=parent.run_id)
        tags = {"dagster/parent_run_id": parent.run_id, "dagster/root_run_id": parent.run_id}
        config = {"ops": {"plan_nights": {"config": {"namespaces": [world.slug], "force": True}}}}
        job = p.defs.resolve_job_def("night_job")
        refused = job.execute_in_process(config, instance=p.instance, tags=tags, raise_on_error=False)
        assert "is planning" in failure(refused)
        p.instance.report_run_failed(parent)
        assert job.execute_in_process(config, instance=p.instance, tags=tags, raise_on_error=False).success
        assert p.value("SELECT count(*) FROM night.runs WHERE state = 'crashed'") == 1


def test_retry_of_a_scheduled_run_leaves_out_namespaces_that_had_their_night(store: Store) -> None:
    """Weekly nights plan unchanged namespaces as well, but not twice for one tick of the schedule."""
    world = new_world(store)
    at = datetime.now(UTC) - timedelta(minutes=1)
    tags = {"dagster/schedule_name": "nightly", ".dagster/scheduled_execution_time": at.isoformat()}
    with project(store, world.slug) as p:
        for _ in range(2):
            assert p.night(world.slug, operations="weekly", force=False, tags=tags).success
        assert p.value("SELECT count(*) FROM night.runs") == 1
        later = {**tags, ".dagster/scheduled_execution_time": datetime.now(UTC).isoformat()}
        assert p.night(world.slug, operations="weekly", force=False, tags=later).success
        assert p.value("SELECT count(*) FROM night.runs") == 2


def test_schema_of_another_version_refuses_all_namespaces_in_one_sentence(store: Store) -> None:
    world, other = new_world(store), new_world(store, 400)
    ask(store, "UPDATE night.alembic_version SET version_num = '9999_newer'")
    with project(store, world.slug, other.slug) as p:
        sentence = failure(p.night(world.slug, other.slug))
    assert sentence.startswith(
        f"{world.slug}, {other.slug}: The database is at migration 9999_newer, and this version of Slowwave"
    )
    assert sentence.count("Nothing was planned or written.") == 1
    assert ask(store, "SELECT count(*) FROM night.runs") == [(0,)]
