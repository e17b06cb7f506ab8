"""``reject_plan``: a person's no to a plan or to some of its items, from the Launchpad. The gate itself is ``slowwave.plans.gate``."""

from typing import Final

import dagster as dg

from jobs.approve import refuse_form
from memory_assets.approval import APPROVAL
from memory_assets.partitions import namespaces
from resources.store import STORE_PROBLEMS, error_text
from slowwave.plans.gate import reject
from slowwave.store.connect import Store

CONFIG: Final = {
    "plan_hash": dg.Field(str, description="SHA-256 of the plan, as its page shows it; 12 characters or more."),
    "rejected_by": dg.Field(str, description="Who rejects: 2 to 64 letters, digits or . _ @ -"),
    "reason": dg.Field(str, description="Why: what is rejected is not proposed again unless its rows change."),
    "items": dg.Field([str], default_value=[], description="Item ids, for a part of the plan; by default all of it."),
}


@dg.op(config_schema=CONFIG)
def reject_plan_items(context: dg.OpExecutionContext, store: dg.ResourceParam[Store]) -> None:
    """Reject a plan, or some of its items. What is applied stands; approvals of the plan that are not applied hold no longer."""
    config, namespace = context.op_config, context.partition_key
    refuse_form(config["plan_hash"], config["items"], "rejected")
    try:
        rejected = reject(
            store,
            namespace,
            config["plan_hash"].strip(),
            rejected_by=config["rejected_by"],
            reason=config["reason"],
            items=config["items"] or None,
        )
    except STORE_PROBLEMS as refusal:
        raise dg.Failure(error_text(refusal), allow_retries=False) from None
    metadata = {
        "plan_hash": config["plan_hash"].strip(),
        "rejected_by": config["rejected_by"],
        "rejected_items": rejected,
    }
    context.log_event(dg.AssetObservation(APPROVAL, metadata=metadata, partition=namespace))


@dg.job(
    name="reject_plan",
    partitions_def=namespaces,
    executor_def=dg.in_process_executor,
    description="Reject a plan. Opened, filled in, by the link on the plan's page.",
)
def reject_plan() -> None:
    """One op."""
    reject_plan_items()
