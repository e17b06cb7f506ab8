"""Planners: each reads a snapshot and proposes items; none writes anything."""

from __future__ import annotations

from typing import Final

from slowwave.operations import Planner
from slowwave.planners.dedupe_entities import dedupe_entities
from slowwave.planners.gc_references import gc_references
from slowwave.planners.recompute_centroids import recompute_centroids

PLANNERS: Final[dict[str, Planner]] = {
    "dedupe_entities": dedupe_entities,
    "recompute_centroids": recompute_centroids,
    "gc_references": gc_references,
}
"""Operation → planner, in the order in which the sealer prefers them."""
