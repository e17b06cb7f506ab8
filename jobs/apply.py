"""``apply_job``: what an approval names is applied. Exactly-once is the database's affair, see ``slowwave.night``.

The approval's id is all that can be configured: neither the database nor the items nor a plan.
"""

import uuid
from typing import Any, Final

import dagster as dg

from memory_assets.applied import APPLIED, applied_metadata
from resources.store import STORE_PROBLEMS, error_text
from slowwave.night.executor import ApplyResult, apply_approval
from slowwave.plans.commands import argument
from slowwave.store.connect import Store
from slowwave.text.tokens import counted

APPROVAL_TAG: Final = "slowwave/approval"
"""On every run that the sensor starts: its attempts are counted by it."""

_NAMED: Final = 3
"""Failed items whose reasons the failure of the op gives."""


def apply_config(approval_id: str) -> dict[str, object]:
    """Run config of ``apply_job``."""
    return {"ops": {"apply_approved_plan": {"config": {"approval_id": approval_id}}}}


@dg.op(config_schema={"approval_id": dg.Field(str, description="Id of the approval (UUID); the sensor fills it in.")})
def apply_approved_plan(context: dg.OpExecutionContext, store: dg.ResourceParam[Store]) -> None:
    """Apply what the approval names, in batches. One that is applied already succeeds and changes nothing."""
    try:
        result = apply_approval(
            store,
            _approval_id(context.op_config["approval_id"]),
            dagster_run_id=context.run_id,
            progress=lambda done, total: context.log.info(f"{done:,} of {total:,} items"),
        )
    except STORE_PROBLEMS as refusal:
        raise dg.Failure(error_text(refusal), allow_retries=False) from None
    if result.state != "completed":
        raise dg.Failure(
            f"Run {result.run_id} was {result.state}; what it committed stands. `slowwave apply {argument(result.namespace)}` goes on.",
            metadata=_metadata(result),
            allow_retries=False,
        )
    context.log_event(dg.AssetMaterialization(APPLIED, metadata=_metadata(result), partition=result.namespace))
    if result.failed:
        reasons = " ".join(f"{item}: {reason}" for item, reason in list(result.failed.items())[:_NAMED])
        raise dg.Failure(
            f"{counted(len(result.failed), 'item')} failed and changed nothing; what else was approved is done. {reasons} "
            "Approve an item again by its id to try it again.",
            metadata=_metadata(result),
            allow_retries=False,
        )


@dg.job(
    executor_def=dg.in_process_executor, description="Apply an approved plan. Started by the sensor `approved_plans`."
)
def apply_job() -> None:
    """One op."""
    apply_approved_plan()


def _approval_id(text: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise dg.Failure(
            "approval_id must be the UUID of an approval. Apply follows an approval and nothing else.",
            allow_retries=False,
        ) from None


def _metadata(result: ApplyResult) -> dict[str, Any]:
    return applied_metadata(result.namespace, result.run_id, result.plan_hash, result.counts, result.state)
