"""``approve_plan``: a person's signature, from the Launchpad. The gate itself is ``slowwave.plans.gate``, for every surface.

The configuration is plain strings, for which Dagster reads no environment variable: ``{env: NAME}`` is refused at launch.
Nothing typed here is shown again, but the approver's name.
"""

import re
from typing import Any, Final

import dagster as dg

from memory_assets.approval import APPROVAL
from memory_assets.partitions import namespaces
from resources.store import STORE_PROBLEMS, error_text
from slowwave.operations import permits
from slowwave.plans.gate import approve, countersign
from slowwave.store.connect import Store

_HASH: Final = re.compile(r"[0-9a-f]{12,64}")
_ITEM: Final = re.compile(r"[0-9a-fA-F-]{4,36}")
_OPERATION: Final = re.compile(r"[a-z_]{4,40}")

CONFIG: Final = {
    "plan_hash": dg.Field(str, description="SHA-256 of the plan, as its page shows it; 12 characters or more."),
    "approver": dg.Field(str, description="Who signs: 2 to 64 letters, digits or . _ @ -"),
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


@dg.op(name="night__approval", config_schema=CONFIG)
def sign(context: dg.OpExecutionContext, store: dg.ResourceParam[Store]) -> None:
    """Approve one plan. Take the link in the plan's summary, type your name and launch; the apply job follows by itself.

    A wrong hash, a plan that was superseded, rejected or applied, an expired plan and a blank name are each refused with a sentence, and
    nothing is written.
    """
    checked = _checked(context.op_config)
    if checked.pop("countersign"):
        _countersign(context, store, checked)
        return
    try:
        signed = approve(store, context.partition_key, permits=permits(), channel="launchpad", **checked)
    except STORE_PROBLEMS as refusal:
        raise dg.Failure(error_text(refusal), allow_retries=False) from None
    metadata: dict[str, Any] = {
        "approval_id": signed.id,
        "plan_hash": signed.plan_hash,
        "approver": signed.approver,
        "channel": "launchpad",
        "approved_items": len(signed.item_ids),
        "forced": signed.forced,
        **({"signatures": signed.lacks} if signed.lacks else {}),
    }
    context.log_event(dg.AssetMaterialization(APPROVAL, metadata=metadata, partition=context.partition_key))


def _countersign(context: dg.OpExecutionContext, store: Store, checked: dict[str, Any]) -> None:
    """Add a further approval to a plan that others approved."""
    if checked["items"] or checked["without"] or checked["include_review"] or checked["force"]:
        raise dg.Failure(
            "A further signature is under all that was approved: leave items, without, include_review and force out. Nothing was signed.",
            allow_retries=False,
        )
    try:
        done = countersign(
            store,
            context.partition_key,
            checked["plan_hash"],
            signed_by=checked["approver"],
            channel="launchpad",
            note=checked["note"],
        )
    except STORE_PROBLEMS as refusal:
        raise dg.Failure(error_text(refusal), allow_retries=False) from None
    metadata = {
        "plan_hash": done.plan_hash,
        "countersigned_by": done.signed_by,
        "channel": "launchpad",
        "approved_items": done.items,
        "signatures_missing": done.missing,
    }
    context.log_event(dg.AssetMaterialization(APPROVAL, metadata=metadata, partition=context.partition_key))


@dg.job(
    name="approve_plan",
    partitions_def=namespaces,
    executor_def=dg.in_process_executor,
    description="Sign a plan. Opened, filled in, by the link in the plan's summary.",
)
def approve_plan() -> None:
    """One op."""
    sign()


def refuse_form(plan_hash: str, items: list[str], what: str) -> None:
    """Refuse a value that is not a hash or an item id, without repeating it. ``what`` names the action that was not done."""
    if not _HASH.fullmatch(plan_hash.strip()):
        raise dg.Failure(
            f"The plan hash must be 12 to 64 characters of 0-9 and a-f. Copy it from the plan's page. Nothing was {what}.",
            allow_retries=False,
        )
    if not all(_ITEM.fullmatch(item.strip()) for item in items):
        raise dg.Failure(
            f"An item is named by its id, or by 4 or more of its first characters. Nothing was {what}.",
            allow_retries=False,
        )


def _checked(config: dict[str, Any]) -> dict[str, Any]:
    """Check the run configuration and return the arguments of ``approve``."""
    left_out = [name.strip() for name in config["without"]]
    refuse_form(config["plan_hash"], config["items"], "approved")
    if not all(_ITEM.fullmatch(name) or _OPERATION.fullmatch(name) for name in left_out):
        raise dg.Failure(
            "What is left out is named by an item's id, 4 or more of its first characters, or an operation's name. Nothing was approved.",
            allow_retries=False,
        )
    return {**config, "items": config["items"] or None, "without": left_out}
