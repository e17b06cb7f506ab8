"""``night/approval``: approvals of plans, for the lineage.

The asset cannot be materialized: ``approve_plan``, the command line and the review page report the approvals of people.
"""

from __future__ import annotations

from typing import Final

import dagster as dg

from memory_assets.partitions import namespaces
from memory_assets.snapshot import PLAN

APPROVAL: Final = dg.AssetKey(["night", "approval"])

approval = dg.AssetSpec(
    APPROVAL,
    deps=[PLAN],
    description="Signatures on plans, whoever took them: the Launchpad of `approve_plan`, which the link in the plan's summary opens, the "
    "command line, the review page, a policy. The sensor `approved_plans` applies what they name.",
    group_name="gate",
    kinds={"postgres"},
    partitions_def=namespaces,
)
