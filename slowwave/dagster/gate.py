"""The gate: people approve, reject and undo in jobs of the Launchpad, one sensor starts apply, another reports decisions made elsewhere.

The rules of the gate belong to ``slowwave.plans.gate`` for every surface, and exactly-once to the database. The configuration of these jobs
is declared as plain strings and not as ``dg.Config``: a string of ``dg.Config`` may be written as ``{env: NAME}``, and an approver's note
would then show a secret of this process.
"""

import json
import re
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import dagster as dg

from slowwave.dagster.events import applied_metadata
from slowwave.dagster.layout import DEFAULT, STORE_PROBLEMS, Layout, error_text, namespaces, reported_failures
from slowwave.night.executor import ApplyResult, apply_approval
from slowwave.night.undo import Undoing, undo_run
from slowwave.operations import permits
from slowwave.plans.commands import argument
from slowwave.plans.gate import approve, countersign, reject
from slowwave.plans.signatures import half_signed
from slowwave.plans.switches import apply_disabled, why_disabled
from slowwave.plans.waiting import DecisionOnRecord, decisions_since, give_up, waiting_approvals
from slowwave.store.connect import Store
from slowwave.text.tokens import counted

IN_FLIGHT: Final = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.MANAGED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
"""The states of runs of Dagster that have not ended."""

_HASH: Final = re.compile(r"[0-9a-f]{12,64}")
_ITEM: Final = re.compile(r"[0-9a-fA-F-]{4,36}")
_OPERATION: Final = re.compile(r"[a-z_]{4,40}")
_RUN: Final = re.compile(r"last|[0-9a-fA-F-]{4,36}")

# Approval.

APPROVE_CONFIG: Final = {
    "plan_hash": dg.Field(str, description="SHA-256 of the plan, as its page shows it; 12 characters or more."),
    "approver": dg.Field(str, description="Who approves: 2 to 64 letters, digits or . _ @ -"),
    "items": dg.Field(
        [str], default_value=[], description="Item ids, for a part of the plan; by default all but review items."
    ),
    "without": dg.Field(
        [str], default_value=[], description="Item ids, or names of whole operations, that are left out."
    ),
    "include_review": dg.Field(bool, default_value=False, description="Approve the review items as well."),
    "countersign": dg.Field(
        bool, default_value=False, description="Sign what somebody else approved, where one signature is not enough."
    ),
    "force": dg.Field(bool, default_value=False, description="Approve although a probe failed; needs a note."),
    "note": dg.Field(str, default_value="", description="Why, for whoever reads the approval later."),
}


def approve_job(layout: Layout = DEFAULT) -> dg.JobDefinition:
    """Build ``approve_plan``, the job in which a person approves a plan or adds a further approval."""

    @dg.op(name="night__approval", config_schema=APPROVE_CONFIG, out=dg.Out(dg.Nothing))
    def sign(context: dg.OpExecutionContext, store: dg.ResourceParam[Store]) -> None:
        """Approve one plan. Take the link in the plan's summary, type your name and launch; the apply job follows by itself.

        A wrong hash, a plan that was superseded, rejected or applied, an expired plan and a blank name are each refused with a sentence,
        and nothing is written.
        """
        checked = _checked_approval(context.op_config)
        with reported_failures():
            metadata = (
                _countersigned(store, context.partition_key, checked)
                if checked.pop("countersign")
                else _approved(store, context.partition_key, checked)
            )
        context.log_event(
            dg.AssetMaterialization(layout.key("night", "approval"), metadata=metadata, partition=context.partition_key)
        )

    @dg.job(
        name="approve_plan",
        partitions_def=namespaces,
        description="Approve a plan. Opened, filled in, by the link in the plan's summary.",
    )
    def approve_plan() -> None:
        """Run one op."""
        sign()

    return approve_plan


def _approved(store: Store, namespace: str, checked: dict[str, Any]) -> dict[str, Any]:
    signed = approve(store, namespace, permits=permits(), channel="launchpad", **checked)
    return {
        "approval_id": signed.id,
        "plan_hash": signed.plan_hash,
        "approver": signed.approver,
        "channel": "launchpad",
        "approved_items": len(signed.item_ids),
        "forced": signed.forced,
        **({"signatures": signed.lacks} if signed.lacks else {}),
    }


def _countersigned(store: Store, namespace: str, checked: dict[str, Any]) -> dict[str, Any]:
    """Add a further approval to a plan that others approved."""
    if checked["items"] or checked["without"] or checked["include_review"] or checked["force"]:
        raise dg.Failure(
            "A further signature covers all that was approved: leave items, without, include_review and force out. Nothing was signed.",
            allow_retries=False,
        )
    done = countersign(
        *(store, namespace, checked["plan_hash"]),
        signed_by=checked["approver"],
        channel="launchpad",
        note=checked["note"],
    )
    return {
        "plan_hash": done.plan_hash,
        "countersigned_by": done.signed_by,
        "channel": "launchpad",
        "approved_items": done.items,
        "signatures_missing": done.missing,
    }


def _checked_approval(config: dict[str, Any]) -> dict[str, Any]:
    """Check the run configuration and return the arguments of ``approve``."""
    left_out = [name.strip() for name in config["without"]]
    _refuse_form(config["plan_hash"], config["items"], "approved")
    if not all(_ITEM.fullmatch(name) or _OPERATION.fullmatch(name) for name in left_out):
        raise dg.Failure(
            "What is left out is named by an item's id, 4 or more of its first characters, or an operation's name. Nothing was approved.",
            allow_retries=False,
        )
    return {**config, "items": config["items"] or None, "without": left_out}


def _refuse_form(plan_hash: str, items: list[str], done: str) -> None:
    """Refuse a value that is not a hash or an item id, without repeating it. ``done`` names the action that was not done."""
    if not _HASH.fullmatch(plan_hash.strip()):
        raise dg.Failure(
            f"The plan hash must be 12 to 64 characters of 0-9 and a-f. Copy it from the plan's page. Nothing was {done}.",
            allow_retries=False,
        )
    if not all(_ITEM.fullmatch(item.strip()) for item in items):
        raise dg.Failure(
            f"An item is named by its id, or by 4 or more of its first characters. Nothing was {done}.",
            allow_retries=False,
        )


# Rejection.

REJECT_CONFIG: Final = {
    "plan_hash": dg.Field(str, description="SHA-256 of the plan, as its page shows it; 12 characters or more."),
    "rejected_by": dg.Field(str, description="Who rejects: 2 to 64 letters, digits or . _ @ -"),
    "reason": dg.Field(str, description="Why: what is rejected is not proposed again unless its rows change."),
    "items": dg.Field([str], default_value=[], description="Item ids, for a part of the plan; by default all of it."),
}


def reject_job(layout: Layout = DEFAULT) -> dg.JobDefinition:
    """Build ``reject_plan``, the job in which a person rejects a plan or some of its items."""

    @dg.op(config_schema=REJECT_CONFIG, out=dg.Out(dg.Nothing))
    def reject_plan_items(context: dg.OpExecutionContext, store: dg.ResourceParam[Store]) -> None:
        """Reject a plan, or some of its items. Applied items stay applied; approvals of the plan that are not applied end."""
        config, namespace = context.op_config, context.partition_key
        plan_hash = config["plan_hash"].strip()
        _refuse_form(plan_hash, config["items"], "rejected")
        with reported_failures():
            rejected = reject(
                *(store, namespace, plan_hash),
                rejected_by=config["rejected_by"],
                reason=config["reason"],
                items=config["items"] or None,
            )
        metadata = {"plan_hash": plan_hash, "rejected_by": config["rejected_by"], "rejected_items": rejected}
        context.log_event(dg.AssetObservation(layout.key("night", "approval"), metadata=metadata, partition=namespace))

    @dg.job(
        name="reject_plan",
        partitions_def=namespaces,
        description="Reject a plan. Opened, filled in, by the link on the plan's page.",
    )
    def reject_plan() -> None:
        """Run one op."""
        reject_plan_items()

    return reject_plan


# Apply. The approval's id is all that can be configured: neither the database nor the items nor a plan.

APPROVAL_TAG: Final = "slowwave/approval"
"""Tag of every run that the sensor starts, by which its attempts are counted."""

_RETRY_WAIT: Final = 600.0
"""Seconds that a retried run waits for the namespace: twice the default age at which a heartbeat expires."""

_NAMED_ITEMS: Final = 3
"""Failed items whose reasons the failure of the op gives."""


def apply_job(layout: Layout = DEFAULT) -> dg.JobDefinition:
    """Build ``apply_job``, which applies the items that an approval names. ``approval_sensor`` starts it."""

    @dg.op(
        config_schema={"approval_id": dg.Field(str, description="Id of the approval (UUID); the sensor fills it in.")},
        out=dg.Out(dg.Nothing),
    )
    def apply_approved_plan(context: dg.OpExecutionContext, store: dg.ResourceParam[Store]) -> None:
        """Apply the items of the approval in batches. An approval that is applied already succeeds and changes nothing."""
        with reported_failures():
            result = apply_approval(
                store,
                _approval_id(context.op_config["approval_id"]),
                dagster_run_id=context.run_id,
                # The run that this one retries holds the namespace until its heartbeat has expired.
                wait=_RETRY_WAIT if "dagster/parent_run_id" in context.run.tags else 0.0,
                progress=lambda done, total: context.log.info(f"{done:,} of {total:,} items"),
            )
        metadata = applied_metadata(
            *(
                layout.seen_by(context.run.remote_job_origin),
                result.namespace,
                result.run_id,
                result.plan_hash,
                result.counts,
            ),
            state=result.state,
        )
        if result.state != "completed":
            raise dg.Failure(
                f"Run {result.run_id} was {result.state}; the batches that it committed stay applied. "
                f"`slowwave apply {argument(result.namespace)}` goes on.",
                metadata=metadata,
                allow_retries=False,
            )
        context.log_event(
            dg.AssetMaterialization(layout.key("night", "applied"), metadata=metadata, partition=result.namespace)
        )
        if result.failed:
            raise dg.Failure(_failed_items(result), metadata=metadata, allow_retries=False)

    @dg.job(name="apply_job", description="Apply an approved plan. Started by `approval_sensor`.")
    def job() -> None:
        """Run one op."""
        apply_approved_plan()

    return job


def apply_config(approval_id: str) -> dict[str, object]:
    """Return the run config of ``apply_job``."""
    return {"ops": {"apply_approved_plan": {"config": {"approval_id": approval_id}}}}


def _approval_id(text: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise dg.Failure(
            "approval_id must be the UUID of an approval. Apply follows an approval and nothing else.",
            allow_retries=False,
        ) from None


def _failed_items(result: ApplyResult) -> str:
    reasons = " ".join(f"{item}: {reason}" for item, reason in list(result.failed.items())[:_NAMED_ITEMS])
    return (
        f"{counted(len(result.failed), 'item')} failed and changed nothing; all other approved items are applied. {reasons} "
        "Approve an item again by its id to try it again."
    )


PAUSES: Final = (timedelta(0), timedelta(minutes=1), timedelta(minutes=5))
"""Time before each attempt, since the end of the one before."""


def approval_sensor(job: dg.JobDefinition) -> dg.SensorDefinition:
    """Build ``approval_sensor``, the one thing that starts apply; ``job`` is that of ``apply_job()``.

    An approval gets three attempts with growing pauses, then a finding. The keys of its runs only avoid needless runs: the database
    ensures that nothing is applied twice.
    """

    @dg.sensor(
        name="approval_sensor",
        job_name=job.name,
        minimum_interval_seconds=5,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Starts `apply_job` for approvals that are not applied yet, unless a kill switch is set.",
    )
    def sensor(context: dg.SensorEvaluationContext, store: dg.ResourceParam[Store]) -> dg.SensorResult | dg.SkipReason:
        """Start an apply run for each approval in the database, including those of the command line and of policies."""
        if name := apply_disabled():
            return dg.SkipReason(f"{name} is set, so nothing is applied.")
        requests: list[dg.RunRequest] = []
        try:
            with store.connect("reader") as connection:
                if reason := why_disabled(connection):
                    return dg.SkipReason(reason)
                reasons = [f"{one.namespace}: {one.sentence()}." for one in half_signed(connection)]
            for approval_id, namespace in waiting_approvals(store):
                attempt, reason = next_attempt(context.instance, approval_id, datetime.now(UTC))
                if attempt:
                    requests.append(
                        dg.RunRequest(
                            run_key=f"{approval_id}:{attempt}",
                            run_config=apply_config(approval_id),
                            # dagster.yaml limits runs by this tag to one for each namespace.
                            tags={APPROVAL_TAG: approval_id, "dagster/partition": namespace},
                        )
                    )
                else:
                    reasons.append(f"{namespace}: {reason}")
                if attempt is None:
                    give_up(store, approval_id, namespace, len(PAUSES))
        except STORE_PROBLEMS as problem:
            return dg.SkipReason(error_text(problem))
        if requests:
            return dg.SensorResult(run_requests=requests)
        return dg.SkipReason(" ".join(reasons) or "No approval waits.")

    return sensor


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


# Undo.

UNDO_CONFIG: Final = {
    "run": dg.Field(str, description="Id of the apply run or its first characters, or `last`."),
    "namespace": dg.Field(str, default_value="", description="Which namespace's `last`, where there are several."),
    "items": dg.Field([str], default_value=[], description="Ids of the items to undo; by default all."),
    "leave_changed": dg.Field(
        bool, default_value=False, description="Leave items whose rows were changed later; undo all others."
    ),
}


def undo_job(layout: Layout = DEFAULT) -> dg.JobDefinition:
    """Build ``undo_job``, which undoes an apply run or some of its items exactly."""

    @dg.op(config_schema=UNDO_CONFIG, out=dg.Out(dg.Nothing))
    def undo_applied_run(context: dg.OpExecutionContext, store: dg.ResourceParam[Store]) -> None:
        """Restore the rows that the run changed. If later changes rest on it, nothing is undone, unless those items may be left."""
        config = context.op_config
        run, items = config["run"].strip(), [item.strip() for item in config["items"]]
        if not all(_RUN.fullmatch(name) for name in (run, *items)):
            raise dg.Failure(
                "A run is named by `last`, its id or 4 or more of its first characters, an item likewise. Nothing was undone.",
                allow_retries=False,
            )
        with reported_failures():
            result = undo_run(
                *(store, run),
                items=items or None,
                namespace=config["namespace"].strip() or None,
                leave_changed=config["leave_changed"],
                dagster_run_id=context.run_id,
                wait=_RETRY_WAIT if "dagster/parent_run_id" in context.run.tags else 0.0,
                announce=lambda about: context.log.info(_announcement(about)),
            )
        metadata = undo_metadata(result.run_id, {"undone_items": len(result.items), "left_items": len(result.left)})
        context.log_event(
            dg.AssetMaterialization(
                layout.key("night", "applied"),
                metadata={**metadata, "undo_of": result.undo_of},
                partition=result.namespace,
            )
        )

    @dg.job(name="undo_job", description="Undo an apply run exactly, or some of its items.")
    def job() -> None:
        """Run one op."""
        undo_applied_run()

    return job


def undo_metadata(run_id: str, counts: dict[str, int]) -> dict[str, Any]:
    """Return the metadata of an undo, which changes what is applied and is therefore an event of ``night/applied``."""
    return {"run_id": run_id, "state": "undone", **{name: n for name, n in counts.items() if n}}


def _announcement(about: Undoing) -> str:
    items = ", ".join(f"{n:,} of {name}" for name, n in about.operations.items()) or "nothing"
    return f"Undoing {about.mode} run {about.run_id} of {about.namespace}, begun {about.started_at:%Y-%m-%d %H:%M} UTC: {items}."


# Decisions that were made outside of Dagster, for the lineage.

MOST_EVENTS: Final = 100
"""Events of one tick: the others follow with the next."""

LOOK_BACK: Final = timedelta(minutes=10)
"""How much later than its instant a decision may be committed: those of this time are known by their names."""

_EVER: Final = "1970-01-01T00:00:00+00:00"


def decisions_sensor(layout: Layout = DEFAULT) -> dg.SensorDefinition:
    """Build ``decisions``, which reports approvals, applies and undos of the command line, the review page and policies."""

    @dg.sensor(
        name="decisions",
        minimum_interval_seconds=15,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Reports to `night/approval` and `night/applied` what was approved, applied or undone outside of Dagster.",
    )
    def decisions(
        context: dg.SensorEvaluationContext, store: dg.ResourceParam[Store]
    ) -> dg.SensorResult | dg.SkipReason:
        """Report each decision once. The sensor starts nothing."""
        cursor: Any = json.loads(context.cursor) if context.cursor else {"at": _EVER, "known": {}}
        newest, known = datetime.fromisoformat(cursor["at"]), dict[str, str](cursor["known"])
        since = newest - LOOK_BACK if context.cursor else newest
        try:
            found = decisions_since(store, since, list(known), MOST_EVENTS)
        except STORE_PROBLEMS as problem:
            return dg.SkipReason(error_text(problem))
        if not found:
            return dg.SkipReason("Nothing was decided elsewhere.")
        known |= {one.key: one.at.astimezone(UTC).isoformat() for one in found}
        newest = max(newest, *(one.at.astimezone(UTC) for one in found))
        kept = {key: at for key, at in known.items() if datetime.fromisoformat(at) >= newest - LOOK_BACK}
        return dg.SensorResult(
            asset_events=[_decision_event(layout.seen_by(context.code_location_origin), one) for one in found],
            cursor=json.dumps({"at": newest.isoformat(), "known": kept}),
        )

    return decisions


def _decision_event(layout: Layout, one: DecisionOnRecord) -> dg.AssetMaterialization:
    counts = {name: n for name, n in one.counts.items() if isinstance(n, int)}
    metadata: dict[str, Any]
    if one.what == "approval":
        metadata = {
            "approval_id": one.id,
            "plan_hash": one.plan_hash,
            "approver": one.who,
            "channel": one.channel,
            **counts,
        }
        return dg.AssetMaterialization(layout.key("night", "approval"), metadata=metadata, partition=one.namespace)
    metadata = (
        applied_metadata(layout, one.namespace, one.id, one.plan_hash, counts)
        if one.what == "applied"
        else undo_metadata(one.id, counts)
    )
    return dg.AssetMaterialization(layout.key("night", "applied"), metadata=metadata, partition=one.namespace)
