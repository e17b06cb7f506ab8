"""``proposals/plans``: which proposals became plans, for the lineage. It cannot be materialized; only ``proposals_job`` reports it."""

from __future__ import annotations

from typing import Final

import dagster as dg

from memory_assets.partitions import namespaces

PROPOSALS: Final = dg.AssetKey(["proposals", "plans"])

proposals = dg.AssetSpec(
    PROPOSALS,
    description="What agents proposed by day, sealed by `proposals_job` as plans that wait for approval beside the night's; a sensor "
    "starts it where `operations.proposed_changes.enabled` is on.",
    group_name="gate",
    kinds={"postgres"},
    partitions_def=namespaces,
)
