"""Sensors: partitions follow the store; folders, proposals and requests of agents start jobs; messages are sent; crashes go to the ledger.

``slowwave.dagster.gate`` holds the sensors of approvals and decisions.
"""

import hashlib
import json
import time
from collections.abc import Iterable
from typing import Final

import dagster as dg

from slowwave.dagster.gate import IN_FLIGHT
from slowwave.dagster.jobs import namespaces_in, night_config
from slowwave.dagster.layout import DEFAULT, STORE_PROBLEMS, Layout, Timetable, error_text
from slowwave.dagster.layout import namespaces as partitions
from slowwave.night.status import due
from slowwave.store.claims import dagster_claims
from slowwave.store.connect import Store
from slowwave.store.namespaces import namespaces as stored_namespaces
from slowwave.text.tokens import counted

_RUNNING: Final = dg.DefaultSensorStatus.RUNNING

# Partitions.


@dg.sensor(
    name="namespaces",
    minimum_interval_seconds=10,
    default_status=_RUNNING,
    description="Keeps the partitions equal to the store's namespaces.",
)
def namespaces_sensor(
    context: dg.SensorEvaluationContext, store: dg.ResourceParam[Store]
) -> dg.SensorResult | dg.SkipReason:
    """Keep the partitions equal to the namespaces of the store. If the store cannot be read, the tick is skipped."""
    try:
        wanted = stored_namespaces(store)
    except STORE_PROBLEMS as problem:
        return dg.SkipReason(error_text(problem))
    records = context.instance.get_run_records(dg.RunsFilter(statuses=IN_FLIGHT))
    in_flight = {name for record in records for name in namespaces_in(record.dagster_run)}
    add, delete = partition_changes(wanted, context.instance.get_dynamic_partitions(str(partitions.name)), in_flight)
    if not add and not delete:
        return dg.SkipReason(f"The partitions are those of the store: {len(wanted)}.")
    requests = [
        *([partitions.build_add_request(add)] if add else []),
        *([partitions.build_delete_request(delete)] if delete else []),
    ]
    return dg.SensorResult(dynamic_partitions_requests=requests)


def partition_changes(
    wanted: Iterable[str], existing: Iterable[str], in_flight: Iterable[str]
) -> tuple[list[str], list[str]]:
    """Return the partitions to add and to delete. One with a run in flight stays: deleting it would throw the run's work away."""
    wanted, existing = set(wanted), set(existing)
    return sorted(wanted - existing), sorted(existing - wanted - set(in_flight))


# Folders.

QUIET: Final = 60.0
"""Seconds for which nobody may have written before a night begins: whoever edits a file edits the next one."""


def changed_folders_sensor(job: dg.JobDefinition) -> dg.SensorDefinition:
    """Build ``changed_folders``, which starts ``corpus_sync_job`` for folders whose files differ from their documents."""

    @dg.sensor(
        name="changed_folders",
        job_name=job.name,
        minimum_interval_seconds=30,
        default_status=_RUNNING,
        description="Starts `corpus_sync_job` for namespaces whose followed folders or embedding model have changed.",
    )
    def changed_folders(
        context: dg.SensorEvaluationContext, store: dg.ResourceParam[Store]
    ) -> dg.SensorResult | dg.SkipReason:
        """Sync folders that changed. Each state is tried once: a folder that cannot be synced waits until a person repairs it."""
        from slowwave.wiki.corpus.sync import folder_states

        try:
            with store.connect("reader") as connection:
                states = folder_states(connection, context.instance.get_dynamic_partitions(str(partitions.name)))
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

    return changed_folders


def changed_trees_sensor(job: dg.JobDefinition, timetable: Timetable | None = None) -> dg.SensorDefinition:
    """Build ``changed_trees``, which starts a night for a connected folder in which files have changed."""
    when = timetable or Timetable.from_settings()

    @dg.sensor(
        name="changed_trees",
        job_name=job.name,
        minimum_interval_seconds=60,
        default_status=_RUNNING,
        description="Starts `night_job` for folders that are worked on in place, a minute after the last of their files was written.",
    )
    def changed_trees(
        context: dg.SensorEvaluationContext, store: dg.ResourceParam[Store]
    ) -> dg.SensorResult | dg.SkipReason:
        """Request one night for each state of a folder, by the run's key. One that fails is repeated after another edit or at night."""
        from slowwave.sources.following import tree_states

        try:
            with store.connect("reader") as connection:
                states = tree_states(connection, context.instance.get_dynamic_partitions(str(partitions.name)))
            sizes = when.sizes(store, [state.namespace for state in states])
        except STORE_PROBLEMS as problem:
            return dg.SkipReason(error_text(problem))
        changed = [state for state in states if state.changed]
        now = time.time()
        requests = [
            dg.RunRequest(
                run_key=f"{state.namespace}:{state.fingerprint}",
                run_config=night_config([state.namespace]),
                tags=when.run_tags.get(sizes[state.namespace]),
            )
            for state in changed
            if not now - QUIET < state.newest <= now
        ]
        if requests:
            return dg.SensorResult(run_requests=requests)
        if changed:
            return dg.SkipReason(f"Files of {changed[0].namespace} are being written: a night follows a minute later.")
        problems = " ".join(f"{state.namespace}: {state.problem}" for state in states if state.problem)
        return dg.SkipReason(problems[:2000] or f"Nothing has changed in {len(states):,} connected folders.")

    return changed_trees


# Proposals of agents.

WAITING_TAG: Final = "slowwave/proposals"
"""Tag of every run that the sensor starts: a fingerprint of what waited then, by which the attempts are counted."""

ATTEMPTS: Final = 3


def open_proposals_sensor(job: dg.JobDefinition) -> dg.SensorDefinition:
    """Build ``open_proposals``, which starts ``proposals_job`` where proposals wait.

    Dagster stores nothing of a proposal but its namespace. The database ensures that none is sealed twice.
    """

    @dg.sensor(
        name="open_proposals",
        job_name=job.name,
        minimum_interval_seconds=30,
        default_status=_RUNNING,
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
        known = set(context.instance.get_dynamic_partitions(str(partitions.name)))
        requests: list[dg.RunRequest] = []
        reasons: list[str] = []
        for name, mark in waiting.items():
            key = f"{name}:{mark}"
            made = context.instance.get_run_records(dg.RunsFilter(tags={WAITING_TAG: key}))
            if name not in known or any(record.dagster_run.status in IN_FLIGHT for record in made):
                reasons.append(f"{name}: its partition is to come, or a run is in flight.")
            elif len(made) >= ATTEMPTS:
                reasons.append(
                    f"{name}: {len(made)} attempts failed; see the runs, and `slowwave proposals plan {name}`."
                )
            else:
                tags = {WAITING_TAG: key}
                requests.append(dg.RunRequest(run_key=f"{key}:{len(made) + 1}", partition_key=name, tags=tags))
        if requests:
            return dg.SensorResult(run_requests=requests)
        return dg.SkipReason(" ".join(reasons) or "Nothing waits.")

    return open_proposals


# Nights that agents request.


def requested_nights_sensor(job: dg.JobDefinition, timetable: Timetable | None = None) -> dg.SensorDefinition:
    """Build ``requested_nights``, which starts ``night_job`` where an agent requested a night."""
    when = timetable or Timetable.from_settings()

    @dg.sensor(
        name="requested_nights",
        job_name=job.name,
        minimum_interval_seconds=30,
        default_status=_RUNNING,
        description="Starts `night_job` for namespaces in which an agent requested a night (`dream_now`).",
    )
    def requested_nights(
        context: dg.SensorEvaluationContext, store: dg.ResourceParam[Store]
    ) -> dg.SensorResult | dg.SkipReason:
        """Request one run for each request, whose id is the run's key. The night that begins takes the request."""
        from slowwave.night.runs import open_requests

        try:
            known = set(context.instance.get_dynamic_partitions(str(partitions.name)))
            found = {name: request for name, request in open_requests(store).items() if name in known}
            closed = {name: due(store, name, force=True).closed for name in found}
            sizes = when.sizes(store, list(found))
        except STORE_PROBLEMS as problem:
            return dg.SkipReason(error_text(problem))
        # The night of an unchanged namespace closes the request. Other gates open later, and the key is still unused then.
        held = {name: one for name, one in closed.items() if one and one.gate != "unchanged"}
        requests = [
            dg.RunRequest(run_key=request.id, run_config=night_config([name]), tags=when.run_tags.get(sizes[name]))
            for name, request in found.items()
            if name not in held
        ]
        if requests:
            return dg.SensorResult(run_requests=requests)
        return dg.SkipReason(" ".join(map(str, held.values()))[:2000] or "No agent requested a night.")

    return requested_nights


# Messages to endpoints.


@dg.sensor(
    name="pending_notices",
    minimum_interval_seconds=30,
    default_status=_RUNNING,
    description="Sends messages that are pending for a webhook, if the daemon's environment names its address.",
)
def pending_notices(store: dg.ResourceParam[Store]) -> dg.SkipReason:
    """Send messages that an endpoint did not accept at the end of a run. The sensor starts nothing."""
    from slowwave.night.delivery import deliver

    try:
        sent = deliver(store, seconds=10.0)
    except STORE_PROBLEMS as problem:
        return dg.SkipReason(error_text(problem))
    return dg.SkipReason(f"Sent {counted(sent, 'message')}." if sent else "Nothing could be sent.")


# Runs that ended without a result.


@dg.run_failure_sensor(
    name="crashed_runs",
    minimum_interval_seconds=10,
    default_status=_RUNNING,
    description="Marks the nights of a failed run as crashed.",
)
def crashed_runs(context: dg.RunFailureSensorContext, store: dg.ResourceParam[Store]) -> None:
    """Mark the nights of a failed run as crashed in the ledger."""
    _crash(context, store, "failed")


@dg.run_status_sensor(
    run_status=dg.DagsterRunStatus.CANCELED,
    name="cancelled_runs",
    minimum_interval_seconds=10,
    default_status=_RUNNING,
    description="Marks the nights of a cancelled run as crashed.",
)
def cancelled_runs(context: dg.RunStatusSensorContext, store: dg.ResourceParam[Store]) -> None:
    """Mark the nights of a run that a person terminated as crashed in the ledger."""
    _crash(context, store, "was cancelled")


def _crash(context: dg.RunStatusSensorContext, store: Store, how: str) -> None:
    from slowwave.night.runs import crash_dagster_run

    run = context.dagster_run
    if crashed := crash_dagster_run(store, run.run_id, f"The Dagster run {run.run_id} {how}; its page tells why."):
        context.log.info(f"{crashed:,} nights of run {run.run_id} are marked as crashed.")


_HOLDING_JOBS: Final = ("night_job", "tiled_night_job", "apply_job", "undo_job")
"""Jobs that hold a namespace while they do what takes long, except for tiles, each of which stores events."""

SILENT_SECONDS: Final = 1_800
"""Seconds for which a run of such a job may neither hold a namespace nor store an event, as while it looks for changes in a large store."""


@dg.sensor(
    name="lost_runs",
    minimum_interval_seconds=30,
    default_status=_RUNNING,
    description="Reports runs as failed whose worker is gone: the heartbeat of their night, apply or undo has expired, or for half an "
    "hour they have neither held a namespace nor stored an event.",
)
def lost_runs(context: dg.SensorEvaluationContext, store: dg.ResourceParam[Store]) -> dg.SkipReason:
    """Report lost runs as failed, so that Dagster may retry them.

    Some launchers report a run as started for ever when its machine is gone. The database knows better: its heartbeat has expired. A run
    that holds no namespace has no heartbeat. The cursor has its last event and the instant at which the sensor first saw that event.
    """
    runs = context.instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED]))
    try:
        with store.connect("reader") as connection:
            claims = dagster_claims(connection, [run.run_id for run in runs]) if runs else {}
    except STORE_PROBLEMS as problem:
        return dg.SkipReason(error_text(problem))
    now = time.time()
    seen: dict[str, list[float]] = json.loads(context.cursor or "{}")
    silent: dict[str, list[float]] = {}
    lost: dict[str, str] = {}
    for run in runs:
        if claim := claims.get(run.run_id):
            if claim.lost:
                lost[run.run_id] = (
                    f"The last heartbeat of this run, for {claim.namespace}, is {claim.age:,} s old: its worker is gone or paused. What it "
                    "committed is kept. A worker that continues finds that it lost its claim and writes nothing more."
                )
        elif run.job_name in _HOLDING_JOBS:
            events = context.instance.get_records_for_run(run.run_id, limit=1, ascending=False).records
            last = float(events[0].storage_id if events else 0)
            before, since = seen.get(run.run_id, (last, now))
            silent[run.run_id] = [last, since if before == last else now]
            if (age := now - silent[run.run_id][1]) > SILENT_SECONDS:
                lost[run.run_id] = (
                    f"This run has held no namespace and stored no event for {age:,.0f} s: its worker is gone or paused. What it committed "
                    "is kept. A worker that continues applies and plans nothing a second time."
                )
    for run in runs:
        if reason := lost.get(run.run_id):
            context.instance.report_run_failed(run, reason)
    context.update_cursor(json.dumps({run_id: at for run_id, at in silent.items() if run_id not in lost}))
    return dg.SkipReason(f"Reported {counted(len(lost), 'lost run')} as failed." if lost else "No run is lost.")


# Assets that follow others.


def automation_sensor(layout: Layout = DEFAULT) -> dg.AutomationConditionSensorDefinition:
    """Build ``automation``, which materializes ``night/status`` and ``night/reaudit`` when what they follow was updated."""
    return dg.AutomationConditionSensorDefinition(
        "automation",
        target=dg.AssetSelection.assets(layout.key("night", "status"), layout.key("night", "reaudit")),
        minimum_interval_seconds=30,
        default_status=_RUNNING,
        description="Audits a namespace again after an apply or undo, and renews the status page after plans and decisions.",
    )
