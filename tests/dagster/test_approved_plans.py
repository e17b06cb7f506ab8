"""One sensor starts apply: once for an approval, again after a failure, never beside a run, and not for ever."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest

from slowwave.dagster.gate import APPROVAL_TAG, PAUSES, apply_config, apply_job, approval_sensor, next_attempt
from slowwave.plans.gate import Approval
from slowwave.plans.switches import KILL_SWITCH
from slowwave.store.connect import Store
from tests.dagster.project import Project, project
from tests.nights import new_world, write_a_plan
from tests.permitting import approve


def approved(store: Store, **options: object) -> Approval:
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    return approve(store, world.slug, plan.plan_hash, approver="mara", **options)  # type: ignore[arg-type]


def tick(p: Project) -> dg.SensorResult | dg.SkipReason:
    found = approval_sensor(apply_job())(dg.build_sensor_context(instance=p.instance, resources={"store": p.store}))
    assert isinstance(found, (dg.SensorResult, dg.SkipReason))
    return found


def requests(found: dg.SensorResult | dg.SkipReason) -> list[dg.RunRequest]:
    return list(found.run_requests or []) if isinstance(found, dg.SensorResult) else []


def run_of(p: Project, approval: Approval, status: dg.DagsterRunStatus) -> dg.DagsterRun:
    job = p.defs.resolve_job_def("apply_job")
    return p.instance.create_run_for_job(
        job, run_config=apply_config(approval.id), tags={APPROVAL_TAG: approval.id}, status=status
    )


def test_an_approval_is_applied_by_the_run_that_the_sensor_asks_for(store: Store) -> None:
    """From the row in the database to the applied plan; then nothing waits any more."""
    approval = approved(store)
    with project(store, approval.namespace) as p:
        (request,) = requests(tick(p))
        assert request.run_key == f"{approval.id}:1"
        assert request.tags["dagster/partition"] == approval.namespace
        result = p.run("apply_job", run_config=request.run_config, tags=dict(request.tags))
        assert result.success
        found = tick(p)
    assert isinstance(found, dg.SkipReason)
    assert found.skip_message == "No approval waits."


def test_it_waits_while_the_kill_switch_is_set(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The switch is looked at before anything else, and the tick says which one it is."""
    approval = approved(store)
    monkeypatch.setenv(KILL_SWITCH, "yes")
    with project(store, approval.namespace) as p:
        found = tick(p)
    assert isinstance(found, dg.SkipReason)
    assert KILL_SWITCH in (found.skip_message or "")


@pytest.mark.parametrize("status", [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED])
def test_it_waits_while_a_run_for_that_approval_is_in_flight(store: Store, status: dg.DagsterRunStatus) -> None:
    """A run that takes long is no reason for a second one."""
    approval = approved(store)
    with project(store, approval.namespace) as p:
        run_of(p, approval, status)
        assert requests(tick(p)) == []


def test_attempts_pause_longer_each_time_and_end_in_a_finding(store: Store) -> None:
    """At once, a minute later, five minutes later; then one finding that says what to do, and silence."""
    approval = approved(store)
    with project(store, approval.namespace) as p:
        for made in range(len(PAUSES)):
            now = datetime.now(UTC)
            if made:
                attempt, reason = next_attempt(p.instance, approval.id, now)
                assert (attempt, "follows at" in reason) == (0, True)
                assert requests(tick(p)) == []
            later = now + PAUSES[made] + timedelta(seconds=5)
            assert next_attempt(p.instance, approval.id, later) == (made + 1, "")
            run = run_of(p, approval, dg.DagsterRunStatus.STARTED)
            p.instance.report_run_failed(run)
        for _ in range(2):
            found = tick(p)
            assert isinstance(found, dg.SkipReason)
            assert "3 attempts failed" in (found.skip_message or "")
        assert p.value("SELECT count(*) FROM night.findings WHERE operation = 'apply'") == 1
        assert "slowwave apply" in p.value("SELECT message FROM night.findings WHERE operation = 'apply'")


def test_a_partial_approval_does_not_block_the_rest(store: Store) -> None:
    """Two signatures on one plan are two approvals and two runs."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    first = approve(store, world.slug, plan.plan_hash, approver="mara", items=[plan.items[0].id])
    second = approve(store, world.slug, plan.plan_hash, approver="zoe")
    with project(store, world.slug) as p:
        assert [r.run_key for r in requests(tick(p))] == [f"{first.id}:1", f"{second.id}:1"]


def test_a_store_that_cannot_be_read_is_a_skip() -> None:
    """The daemon shows why, without the password."""
    with project(Store("postgresql://me:hunter2@127.0.0.1:1/none")) as p:
        found = tick(p)
    assert isinstance(found, dg.SkipReason)
    assert "does not answer" in (found.skip_message or "")
    assert "hunter2" not in (found.skip_message or "")
