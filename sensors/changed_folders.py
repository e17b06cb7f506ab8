"""The sensor ``changed_folders``: a folder that says something else than its namespace is synced."""

import hashlib

import dagster as dg

from jobs.corpora import corpus_sync_job
from resources.store import STORE_PROBLEMS, error_text
from slowwave.store.connect import Store


@dg.sensor(
    name="changed_folders",
    job_name=corpus_sync_job.name,
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Starts `corpus_sync_job` for namespaces that follow a folder in which files have changed, or whose embedding model has.",
)
def changed_folders(
    context: dg.SensorEvaluationContext, store: dg.ResourceParam[Store]
) -> dg.SensorResult | dg.SkipReason:
    """Sync folders that changed. Each state is tried once: a folder that cannot be synced waits until a person repairs it."""
    from slowwave.wiki.corpus.sync import folder_states

    try:
        with store.connect("reader") as connection:
            states = folder_states(connection, context.instance.get_dynamic_partitions("namespaces"))
    except STORE_PROBLEMS as problem:
        return dg.SkipReason(error_text(problem))
    requests: list[dg.RunRequest] = []
    for name in dict.fromkeys(state.namespace for state in states if state.changed):
        prints = "".join(state.fingerprint for state in states if state.namespace == name)
        key = hashlib.sha256(prints.encode()).hexdigest()[:16]
        requests.append(dg.RunRequest(run_key=f"{name}:{key}", partition_key=name))
    if requests:
        return dg.SensorResult(run_requests=requests)
    problems = " ".join(f"{state.namespace}: {state.problem}" for state in states if state.problem)
    return dg.SkipReason(problems[:2000] or f"Nothing has changed in {len(states):,} folders.")
