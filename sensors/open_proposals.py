"""The sensor ``open_proposals``: what agents proposed is sealed as plans, and what tokens decided of them is signed or rejected.

Nothing of a proposal stands in Dagster but its namespace. That none is sealed twice is held by the database.
"""

from typing import Final

import dagster as dg

from jobs.proposals import proposals_job
from resources.store import STORE_PROBLEMS, error_text
from sensors.runs import IN_FLIGHT
from slowwave.store.connect import Store

WAITING_TAG: Final = "slowwave/proposals"
"""On every run that the sensor starts: what waited then, by its fingerprint, of which the attempts are counted."""

ATTEMPTS: Final = 3


@dg.sensor(
    name="open_proposals",
    job_name=proposals_job.name,
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Starts `proposals_job` where proposals wait, in namespaces with `operations.proposed_changes.enabled`.",
)
def open_proposals(
    context: dg.SensorEvaluationContext, store: dg.ResourceParam[Store]
) -> dg.SensorResult | dg.SkipReason:
    """Request a run for open proposals: three attempts, new ones after a change, and never two runs at once."""
    from slowwave.wiki.proposals import waiting_proposals

    try:
        waiting = waiting_proposals(store)
    except STORE_PROBLEMS as problem:
        return dg.SkipReason(error_text(problem))
    known = set(context.instance.get_dynamic_partitions("namespaces"))
    requests, reasons = [], []
    for name, mark in waiting.items():
        key = f"{name}:{mark}"
        made = context.instance.get_run_records(dg.RunsFilter(tags={WAITING_TAG: key}))
        if name not in known or any(record.dagster_run.status in IN_FLIGHT for record in made):
            reasons.append(f"{name}: its partition is to come, or a run is in flight.")
        elif len(made) >= ATTEMPTS:
            reasons.append(f"{name}: {len(made)} attempts failed; see the runs, and `slowwave proposals plan {name}`.")
        else:
            tags = {WAITING_TAG: key}
            requests.append(dg.RunRequest(run_key=f"{key}:{len(made) + 1}", partition_key=name, tags=tags))
    return dg.SensorResult(run_requests=requests) if requests else dg.SkipReason(" ".join(reasons) or "Nothing waits.")
