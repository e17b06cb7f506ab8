"""Planners: each reads a snapshot and proposes items; none writes anything."""

from __future__ import annotations

from typing import Final

from slowwave.operations import Planner
from slowwave.planners.absolutize_dates import absolutize_dates
from slowwave.planners.accept_external_edits import accept_external_edits
from slowwave.planners.archive_stale import archive_stale
from slowwave.planners.backfill_tags import backfill_tags
from slowwave.planners.community_summaries import community_summaries
from slowwave.planners.compile_pages import compile_pages
from slowwave.planners.consolidate_clusters import consolidate_clusters
from slowwave.planners.decay_transition import decay_transition
from slowwave.planners.dedupe_entities import dedupe_entities
from slowwave.planners.dedupe_facts import dedupe_facts
from slowwave.planners.dedupe_memories import dedupe_memories
from slowwave.planners.gc_references import gc_references
from slowwave.planners.normalize_schema import normalize_schema
from slowwave.planners.promote_memories import promote_memories
from slowwave.planners.prune_edges import prune_edges
from slowwave.planners.purge_expired import purge_expired
from slowwave.planners.recompute_centroids import recompute_centroids
from slowwave.planners.redact_or_quarantine import redact_or_quarantine
from slowwave.planners.reembed import reembed
from slowwave.planners.resolve_conflicts import resolve_conflicts
from slowwave.planners.supersede_facts import supersede_facts

PLANNERS: Final[dict[str, Planner]] = {
    "redact_or_quarantine": redact_or_quarantine,
    "accept_external_edits": accept_external_edits,
    "resolve_conflicts": resolve_conflicts,
    "dedupe_facts": dedupe_facts,
    "supersede_facts": supersede_facts,
    "dedupe_memories": dedupe_memories,
    "consolidate_clusters": consolidate_clusters,
    "dedupe_entities": dedupe_entities,
    "recompute_centroids": recompute_centroids,
    "normalize_schema": normalize_schema,
    "prune_edges": prune_edges,  # before gc_references, which would empty the arrays that it decides on
    "gc_references": gc_references,
    "absolutize_dates": absolutize_dates,
    "archive_stale": archive_stale,
    "promote_memories": promote_memories,
    "backfill_tags": backfill_tags,
    "decay_transition": decay_transition,
    "reembed": reembed,
    "community_summaries": community_summaries,
    "purge_expired": purge_expired,
    "compile_pages": compile_pages,
}
"""Operation → planner, in the order in which the sealer prefers them."""
