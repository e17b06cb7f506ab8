"""The nightly schedule: one run a namespace, unless nothing has changed in it since its last night."""

import dagster as dg

from jobs.nights import night_job
from resources.store import STORE_PROBLEMS, told
from slowwave.plans.ledger import expire_plans, namespaces
from slowwave.store.connect import Store


@dg.schedule(
    name="nightly",
    job=night_job,
    cron_schedule="0 3 * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="At 03:00 UTC: a night for every namespace that has changed since its last one.",
)
def nightly(
    context: dg.ScheduleEvaluationContext, store: dg.ResourceParam[Store]
) -> list[dg.RunRequest] | dg.SkipReason:
    """Partitions that the sensor has not made yet are left to the next night."""
    from slowwave.night import unchanged

    try:
        expire_plans(store)
        known = set(context.instance.get_dynamic_partitions("namespaces"))
        reasons = {name: unchanged(store, name) for name in namespaces(store) if name in known}
    except STORE_PROBLEMS as problem:
        return dg.SkipReason(told(problem))
    skipped = [f"{name} is {reason}." for name, reason in reasons.items() if reason]
    night = f"{context.scheduled_execution_time:%Y-%m-%d}"
    requests = [
        dg.RunRequest(run_key=f"{night}:{name}", partition_key=name) for name, reason in reasons.items() if not reason
    ]
    if not requests:
        return dg.SkipReason(" ".join(skipped) or "There is no namespace yet.")
    for sentence in skipped:
        context.log.info(sentence)
    return requests
