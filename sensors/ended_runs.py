"""Reactions to the end of a run: a crash is written to the ledger, and a changed namespace is audited again."""

from collections.abc import Iterator

import dagster as dg

from jobs.apply import apply_job
from jobs.nights import reaudit_job
from jobs.undo import undo_job
from memory_assets.applied import APPLIED
from slowwave.store.connect import Store


@dg.run_failure_sensor(
    name="crashed_runs",
    minimum_interval_seconds=10,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Marks the night of a failed run as crashed.",
)
def crashed_runs(context: dg.RunFailureSensorContext, store: dg.ResourceParam[Store]) -> None:
    """Mark the night of a crashed run as crashed in the ledger."""
    _crash(context, store, "failed")


@dg.run_status_sensor(
    run_status=dg.DagsterRunStatus.CANCELED,
    name="cancelled_runs",
    minimum_interval_seconds=10,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Marks the night of a cancelled run as crashed.",
)
def cancelled_runs(context: dg.RunStatusSensorContext, store: dg.ResourceParam[Store]) -> None:
    """Mark the night of a run that a person terminated as crashed in the ledger."""
    _crash(context, store, "was cancelled")


@dg.run_status_sensor(
    run_status=dg.DagsterRunStatus.SUCCESS,
    name="reaudit",
    monitored_jobs=[apply_job, undo_job],
    request_job=reaudit_job,
    minimum_interval_seconds=5,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Audits a namespace again after a plan was applied or undone in it.",
)
def reaudit(context: dg.RunStatusSensorContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
    """Audit a namespace again after a run changed it. The run names the namespace."""
    kinds = {dg.DagsterEventType.ASSET_MATERIALIZATION, dg.DagsterEventType.ASSET_OBSERVATION}
    changed = {
        event.dagster_event.partition
        for event in context.instance.all_logs(context.dagster_run.run_id, of_type=kinds)
        if event.dagster_event and event.dagster_event.asset_key == APPLIED
    }
    for namespace in sorted(filter(None, changed)):
        yield dg.RunRequest(run_key=f"{context.dagster_run.run_id}:{namespace}", partition_key=namespace)


def _crash(context: dg.RunStatusSensorContext, store: Store, how: str) -> None:
    from slowwave.night.runs import crash_dagster_run

    run = context.dagster_run
    if crash_dagster_run(store, run.run_id, f"The Dagster run {run.run_id} {how}; its page tells why."):
        context.log.info(f"The night of run {run.run_id} is marked as crashed.")
