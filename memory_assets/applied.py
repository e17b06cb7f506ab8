"""``night/applied``: what was applied, for the lineage. It cannot be materialized; only the apply job reports it."""

from __future__ import annotations

import dagster as dg

from memory_assets.partitions import namespaces

applied = dg.AssetSpec(
    ["night", "applied"],
    deps=[["night", "approval"], ["proposals", "plans"]],
    description="The approved items, applied to the namespace by `apply_job`, which a sensor starts after an approval. "
    "`undo_job` takes a run back exactly.",
    group_name="gate",
    kinds={"postgres"},
    partitions_def=namespaces,
)
