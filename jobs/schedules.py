"""The schedules: a night a namespace, unless a gate is closed for it, the alarms, and retention."""

import dagster as dg

from jobs.deep import deep_job
from jobs.nights import freshness_job, night_job
from jobs.retention import retention_job
from jobs.status import status_job
from memory_assets.operations import OPERATIONS_TAG, WEEKLY_OPERATIONS
from resources.store import STORE_PROBLEMS, error_text
from slowwave.night.status import NIGHTLY_HOUR
from slowwave.plans.ledger import expire_plans
from slowwave.sources.following import look_at_stores
from slowwave.store.connect import Store
from slowwave.store.namespaces import namespaces


@dg.schedule(
    name="nightly",
    job=night_job,
    cron_schedule=f"0 {NIGHTLY_HOUR} * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description=f"At {NIGHTLY_HOUR:02}:00 UTC: a night for every namespace for which no gate is closed; on Sundays with the weekly "
    "operations where they have enough to do.",
)
def nightly(
    context: dg.ScheduleEvaluationContext, store: dg.ResourceParam[Store]
) -> list[dg.RunRequest] | dg.SkipReason:
    """Partitions that the sensor has not made yet are left to the next night; a closed gate is reported by its name."""
    from slowwave.night.status import due

    sunday = context.scheduled_execution_time.isoweekday() == 7
    try:
        expire_plans(store)
        folders = look_at_stores(store)
        known = set(context.instance.get_dynamic_partitions("namespaces"))
        nights = {name: due(store, name, weekly=sunday) for name in namespaces(store) if name in known}
    except STORE_PROBLEMS as problem:
        return dg.SkipReason(error_text(problem))
    skipped = [str(one.closed) for one in nights.values() if one.closed]
    date = f"{context.scheduled_execution_time:%Y-%m-%d}"
    requests = [
        dg.RunRequest(
            run_key=f"{date}:{name}",
            partition_key=name,
            tags={OPERATIONS_TAG: WEEKLY_OPERATIONS} if one.weekly else None,
        )
        for name, one in nights.items()
        if one.night
    ]
    if not requests:
        return dg.SkipReason(" ".join(skipped) or "There is no namespace yet.")
    for sentence in (*skipped, *folders):
        context.log.info(sentence)
    return requests


@dg.schedule(
    name="weekly_deep",
    job=deep_job,
    cron_schedule="0 5 * * 0",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="On Sundays at 05:00 UTC: a deep pass for every namespace in which it is switched on and for which no gate is closed.",
)
def weekly_deep(
    context: dg.ScheduleEvaluationContext, store: dg.ResourceParam[Store]
) -> list[dg.RunRequest] | dg.SkipReason:
    """Request a deep pass for each namespace after the nightly schedule.

    A closed gate is reported by its name, except in namespaces whose deep pass is off.
    """
    from slowwave.wiki.deep.run import deep_gates

    try:
        known = set(context.instance.get_dynamic_partitions("namespaces"))
        found = {name: closed for name, closed in deep_gates(store).items() if name in known}
    except STORE_PROBLEMS as problem:
        return dg.SkipReason(error_text(problem))
    for closed in found.values():
        if closed is not None and closed.gate != "disabled":
            context.log.info(str(closed))
    date = f"{context.scheduled_execution_time:%Y-%m-%d}"
    requests = [
        dg.RunRequest(run_key=f"deep:{date}:{name}", partition_key=name)
        for name, closed in found.items()
        if closed is None
    ]
    return requests or dg.SkipReason(" ".join(str(c) for c in found.values() if c) or "There is no namespace yet.")


freshness_alarms = dg.ScheduleDefinition(
    name="freshness_alarms",
    job=freshness_job,
    cron_schedule="0 */6 * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Every six hours: warns of namespaces that nobody audits, plans that nobody reads, applies that change nothing.",
)

daily_retention = dg.ScheduleDefinition(
    name="daily_retention",
    job=retention_job,
    cron_schedule="30 4 * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="At 04:30 UTC: removes what is past its retention, in every namespace.",
)

morning_status = dg.ScheduleDefinition(
    name="morning_status",
    job=status_job,
    cron_schedule=f"0 {NIGHTLY_HOUR + 3} * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description=f"At {NIGHTLY_HOUR + 3:02}:00 UTC, after the nights: how every namespace stands, as a page, and to the webhook if there is "
    "one.",
)
