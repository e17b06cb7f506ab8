"""The sensor ``approved_plans``: the one thing that starts apply.

An approval gets three attempts with growing pauses, then a finding. ``run_key`` is politeness: that nothing is applied twice
is held by the database.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

import dagster as dg

from jobs.apply import APPROVAL_TAG, apply_config, apply_job
from resources.store import STORE_PROBLEMS, error_text
from sensors.runs import IN_FLIGHT
from slowwave.plans.approval import KILL_SWITCH, apply_disabled, why_disabled
from slowwave.plans.signatures import half_signed
from slowwave.plans.waiting import waiting_approvals
from slowwave.store.connect import Store

PAUSES: Final = (timedelta(0), timedelta(minutes=1), timedelta(minutes=5))
"""Before each attempt, since the end of the one before."""


@dg.sensor(
    name="approved_plans",
    job_name=apply_job.name,
    minimum_interval_seconds=5,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Starts `apply_job` for approvals that are not applied yet, unless a kill switch is set.",
)
def approved_plans(
    context: dg.SensorEvaluationContext, store: dg.ResourceParam[Store]
) -> dg.SensorResult | dg.SkipReason:
    """Start an apply run for each approval in the database, including those of the command line and of policies."""
    if apply_disabled():
        return dg.SkipReason(f"{KILL_SWITCH} is set, so nothing is applied.")
    try:
        with store.connect("reader") as connection:
            if reason := why_disabled(connection):
                return dg.SkipReason(reason)
            reasons = [f"{one.namespace}: {one.sentence()}." for one in half_signed(connection)]
        waiting = waiting_approvals(store)
        requests = []
        for approval_id, namespace in waiting:
            attempt, reason = next_attempt(context.instance, approval_id, datetime.now(UTC))
            if attempt:
                requests.append(_request(approval_id, namespace, attempt))
            else:
                reasons.append(f"{namespace}: {reason}")
            if attempt is None:
                _give_up(store, approval_id, namespace)
    except STORE_PROBLEMS as problem:
        return dg.SkipReason(error_text(problem))
    if requests:
        return dg.SensorResult(run_requests=requests)
    return dg.SkipReason(" ".join(reasons) or "No approval waits.")


def next_attempt(instance: dg.DagsterInstance, approval_id: str, now: datetime) -> tuple[int | None, str]:
    """Return (number of the next attempt, ""), (0, reason to wait) or (None, reason to stop trying)."""
    records = instance.get_run_records(dg.RunsFilter(tags={APPROVAL_TAG: approval_id}))
    if any(record.dagster_run.status in IN_FLIGHT for record in records):
        return 0, "a run is in flight."
    made = len(records)
    if made >= len(PAUSES):
        return None, f"{made} attempts failed; see its finding and the runs."
    ended = max((record.end_time or record.update_timestamp.timestamp() for record in records), default=0.0)
    due = datetime.fromtimestamp(ended, UTC) + PAUSES[made]
    if now < due:
        return 0, f"attempt {made + 1} follows at {due:%H:%M:%S} UTC."
    return made + 1, ""


def _request(approval_id: str, namespace: str, attempt: int) -> dg.RunRequest:
    return dg.RunRequest(
        run_key=f"{approval_id}:{attempt}",
        run_config=apply_config(approval_id),
        tags={APPROVAL_TAG: approval_id, "dagster/partition": namespace},  # one run a namespace, see dagster.yaml
    )


def _give_up(store: Store, approval_id: str, namespace: str) -> None:
    from slowwave.plans.waiting import give_up

    give_up(store, approval_id, namespace, len(PAUSES))
