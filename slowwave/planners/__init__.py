"""Planners: each reads a snapshot and proposes items; none writes anything."""

from __future__ import annotations

from typing import Final

from slowwave.operations import Planner
from slowwave.planners.community_summaries import community_summaries
from slowwave.planners.dedupe_entities import dedupe_entities
from slowwave.planners.dedupe_facts import dedupe_facts
from slowwave.planners.dedupe_memories import dedupe_memories
from slowwave.planners.gc_references import gc_references
from slowwave.planners.normalize_schema import normalize_schema
from slowwave.planners.prune_edges import prune_edges
from slowwave.planners.purge_expired import purge_expired
from slowwave.planners.recompute_centroids import recompute_centroids
from slowwave.planners.resolve_conflicts import resolve_conflicts
from slowwave.planners.supersede_facts import supersede_facts

PLANNERS: Final[dict[str, Planner]] = {
    "resolve_conflicts": resolve_conflicts,
    "dedupe_facts": dedupe_facts,
    "supersede_facts": supersede_facts,
    "dedupe_memories": dedupe_memories,
    "dedupe_entities": dedupe_entities,
    "recompute_centroids": recompute_centroids,
    "normalize_schema": normalize_schema,
    "prune_edges": prune_edges,  # before gc_references, which would empty the arrays that it decides on
    "gc_references": gc_references,
    "community_summaries": community_summaries,
    "purge_expired": purge_expired,
}
"""Operation → planner, in the order in which the sealer prefers them."""
