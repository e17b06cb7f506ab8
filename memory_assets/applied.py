"""``night/applied``: what was applied, for the lineage. It cannot be materialized; only the apply job reports it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import dagster as dg

from memory_assets.launchpad import undoing
from memory_assets.partitions import namespaces

APPLIED: Final = dg.AssetKey(["night", "applied"])

applied = dg.AssetSpec(
    APPLIED,
    deps=[["night", "approval"], ["proposals", "plans"]],
    description="The approved items, applied to the namespace by `apply_job`, which a sensor starts after an approval. "
    "`undo_job` takes a run back exactly.",
    group_name="gate",
    kinds={"postgres"},
    partitions_def=namespaces,
)


def applied_metadata(
    namespace: str, run_id: str, plan_hash: str, counts: Mapping[str, int], state: str = "completed"
) -> dict[str, Any]:
    """Return the counts of an apply run and the links that undo it."""
    undo = undoing(namespace, run_id) if counts.get("applied") else {}
    return {**undo, "run_id": run_id, "plan_hash": plan_hash, "state": state, **counts}
