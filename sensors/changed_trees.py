"""The sensor ``changed_trees``: a connected folder in which files have changed has a night."""

import time

import dagster as dg

from jobs.nights import night_job
from resources.store import STORE_PROBLEMS, error_text
from slowwave.store.connect import Store

QUIET = 60.0
"""Seconds for which nobody may have written before a night begins: whoever edits a file edits the next one."""


@dg.sensor(
    name="changed_trees",
    job_name=night_job.name,
    minimum_interval_seconds=60,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Starts `night_job` for folders that are worked on in place, a minute after the last of their files was written.",
)
def changed_trees(
    context: dg.SensorEvaluationContext, store: dg.ResourceParam[Store]
) -> dg.SensorResult | dg.SkipReason:
    """Request one night for each state of a folder, by the run's key.

    A night that fails is repeated after another edit or by the schedule.
    """
    from slowwave.sources.following import tree_states

    try:
        with store.connect("reader") as connection:
            states = tree_states(connection, context.instance.get_dynamic_partitions("namespaces"))
    except STORE_PROBLEMS as problem:
        return dg.SkipReason(error_text(problem))
    changed = [state for state in states if state.changed]
    now = time.time()
    ready = [state for state in changed if not now - QUIET < state.newest <= now]
    if ready:
        return dg.SensorResult(
            run_requests=[
                dg.RunRequest(run_key=f"{state.namespace}:{state.fingerprint}", partition_key=state.namespace)
                for state in ready
            ]
        )
    problems = " ".join(f"{state.namespace}: {state.problem}" for state in states if state.problem)
    if changed:
        return dg.SkipReason(f"Files of {changed[0].namespace} are being written: a night follows a minute later.")
    return dg.SkipReason(problems[:2000] or f"Nothing has changed in {len(states):,} connected folders.")
