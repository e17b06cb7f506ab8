"""``night/approval``: a person's signature, from the Launchpad. The gate itself is ``slowwave.plans.gate``, for every surface.

The configuration is plain strings, for which Dagster reads no environment variable: ``{env: NAME}`` is refused at launch.
Nothing typed here is shown again, but the approver's name.
"""

import re
from typing import Any, Final

import dagster as dg

from memory_assets.partitions import namespaces
from memory_assets.snapshot import PLAN
from resources.store import STORE_PROBLEMS, error_text
from slowwave.plans.gate import approve
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
    "force": dg.Field(bool, default_value=False, description="Approve although a probe failed; needs a note."),
    "note": dg.Field(str, default_value="", description="Why, for whoever reads the approval later."),
}


@dg.asset(
    key=["night", "approval"],
    deps=[PLAN],
    config_schema=CONFIG,
    partitions_def=namespaces,
    group_name="gate",
    kinds={"postgres"},
)
def approval(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]) -> dg.MaterializeResult:
    """A signature on one plan. Take the link in the plan's summary, type your name, launch; the apply job follows by itself.

    A wrong hash, a plan that was superseded, rejected or applied, one that expired, a blank name: each is refused with a
    sentence, and nothing is written.
    """
    config = context.op_execution_context.op_config
    try:
        signed = approve(store, context.partition_key, channel="launchpad", **_checked(config))
    except STORE_PROBLEMS as refusal:
        raise dg.Failure(error_text(refusal), allow_retries=False) from None
    return dg.MaterializeResult(
        metadata={
            "approval_id": signed.id,
            "plan_hash": signed.plan_hash,
            "approver": signed.approver,
            "approved_items": len(signed.item_ids),
            "forced": signed.forced,
        }
    )


def _checked(config: dict[str, Any]) -> dict[str, Any]:
    """The arguments of ``approve``; what is not of the form of a hash or an item id is refused without being repeated."""
    if not _HASH.fullmatch(config["plan_hash"].strip()):
        raise dg.Failure(
            "The plan hash must be 12 to 64 characters of 0-9 and a-f. Copy it from the plan's page. Nothing was approved.",
            allow_retries=False,
        )
    left_out = [name.strip() for name in config["without"]]
    if not all(_ITEM.fullmatch(item.strip()) for item in config["items"]) or not all(
        _ITEM.fullmatch(name) or _OPERATION.fullmatch(name) for name in left_out
    ):
        raise dg.Failure(
            "An item is named by its id, or by 4 or more of its first characters; what is left out may be an operation too. "
            "Nothing was approved.",
            allow_retries=False,
        )
    return {**config, "items": config["items"] or None, "without": left_out}
