"""Names that settings of operations had when all settings stood in one list. They hold wherever settings are given; some are khora's."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Final

FORMER_NAMES: Final[Mapping[str, tuple[str, str]]] = {
    "frequency_delta_threshold": ("schema_drift", "frequency_delta_threshold"),
    "orphan_pr_percentile_threshold": ("orphans", "pr_percentile_threshold"),
    "abstention_drift_min_samples": ("abstention_drift", "min_samples"),
    "abstention_drift_sample_cap": ("abstention_drift", "sample_cap"),
    "abstention_min_top_score": ("abstention_drift", "min_top_score"),
    "abstention_combined_threshold": ("abstention_drift", "combined_threshold"),
    "contradiction_detect_enabled": ("contradictions", "enabled"),
    "contradiction_detect_similarity_threshold": ("contradictions", "similarity_threshold"),
    "neighbour_top_k": ("neighbour_graph", "top_k"),
    "neighbour_similarity": ("neighbour_graph", "similarity"),
    "redact_or_quarantine_enabled": ("redact_or_quarantine", "enabled"),
    "screening_policy": ("redact_or_quarantine", "policy"),
    "accept_external_edits_enabled": ("accept_external_edits", "enabled"),
    "contradiction_reconcile_enabled": ("resolve_conflicts", "enabled"),
    "contradiction_reconcile_policy": ("resolve_conflicts", "policy"),
    "conflict_low_importance": ("resolve_conflicts", "low_importance"),
    "dedupe_facts_enabled": ("dedupe_facts", "enabled"),
    "supersede_facts_enabled": ("supersede_facts", "enabled"),
    "dedupe_memories_enabled": ("dedupe_memories", "enabled"),
    "memory_dedupe_cosine_threshold": ("dedupe_memories", "cosine_threshold"),
    "cluster_events_enabled": ("dedupe_memories", "events_enabled"),
    "event_clustering_cosine_threshold": ("dedupe_memories", "events_cosine_threshold"),
    "event_clustering_window_days": ("dedupe_memories", "events_window_days"),
    "consolidate_clusters_enabled": ("consolidate_clusters", "enabled"),
    "consolidation_min_cluster_size": ("consolidate_clusters", "min_cluster_size"),
    "consolidation_cohesion": ("consolidate_clusters", "cohesion"),
    "consolidation_max_clusters_per_run": ("consolidate_clusters", "max_clusters_per_run"),
    "consolidation_max_input_tokens": ("consolidate_clusters", "max_input_tokens"),
    "consolidation_max_output_tokens": ("consolidate_clusters", "max_output_tokens"),
    "consolidation_cooldown_days": ("consolidate_clusters", "cooldown_days"),
    "dedupe_entities_enabled": ("dedupe_entities", "enabled"),
    "dedupe_entities_default_threshold": ("dedupe_entities", "default_threshold"),
    "dedupe_entities_per_type_thresholds": ("dedupe_entities", "per_type_thresholds"),
    "dedupe_verifier_band_low": ("dedupe_entities", "verifier_band_low"),
    "dedupe_entities_expected_precision": ("dedupe_entities", "expected_precision"),
    "dedupe_entities_unique_sources": ("dedupe_entities", "unique_sources"),
    "centroid_recompute_enabled": ("recompute_centroids", "enabled"),
    "centroid_lev_threshold": ("recompute_centroids", "lev_threshold"),
    "centroid_min_intra_cluster_cosine": ("recompute_centroids", "min_intra_cluster_cosine"),
    "normalize_schema_enabled": ("normalize_schema", "enabled"),
    "normalize_schema_mapping": ("normalize_schema", "mapping"),
    "normalize_schema_entity_types": ("normalize_schema", "entity_types"),
    "normalize_schema_relationship_types": ("normalize_schema", "relationship_types"),
    "prune_edges_enabled": ("prune_edges", "enabled"),
    "prune_edges_target_predicates": ("prune_edges", "target_predicates"),
    "prune_edges_confidence_threshold": ("prune_edges", "confidence_threshold"),
    "prune_edges_score_threshold": ("prune_edges", "score_threshold"),
    "prune_edges_half_life_days": ("prune_edges", "half_life_days"),
    "source_chunk_ids_gc_enabled": ("gc_references", "enabled"),
    "source_chunk_ids_gc_min_dead": ("gc_references", "min_dead"),
    "absolutize_dates_enabled": ("absolutize_dates", "enabled"),
    "archive_stale_enabled": ("archive_stale", "enabled"),
    "archive_policy": ("archive_stale", "policy"),
    "archive_effective_importance": ("archive_stale", "effective_importance"),
    "archive_min_age_hours": ("archive_stale", "min_age_hours"),
    "natural_selection_floor": ("archive_stale", "relevance_floor"),
    "natural_selection_ring_cap": ("archive_stale", "ring_cap"),
    "promote_memories_enabled": ("promote_memories", "enabled"),
    "promote_min_score": ("promote_memories", "min_score"),
    "promote_min_recalls": ("promote_memories", "min_recalls"),
    "promote_min_queries": ("promote_memories", "min_queries"),
    "promote_min_days": ("promote_memories", "min_days"),
    "promote_max_per_night": ("promote_memories", "max_per_night"),
    "promote_revoke_score": ("promote_memories", "revoke_score"),
    "backfill_tags_enabled": ("backfill_tags", "enabled"),
    "backfill_tags_scope": ("backfill_tags", "scope"),
    "decay_transition_enabled": ("decay_transition", "enabled"),
    "decay_days": ("decay_transition", "days"),
    "decay_tokens": ("decay_transition", "tokens"),
    "reembed_enabled": ("reembed", "enabled"),
    "reembed_max_per_night": ("reembed", "max_per_night"),
    "community_summary_enabled": ("community_summaries", "enabled"),
    "community_summary_min_size": ("community_summaries", "min_size"),
    "community_summary_max_members_per_prompt": ("community_summaries", "max_members_per_prompt"),
    "community_summary_model": ("community_summaries", "model"),
    "community_resolution": ("community_summaries", "resolution"),
    "compact_facts_enabled": ("purge_expired", "enabled"),
    "fact_compaction_retention_days": ("purge_expired", "retention_days"),
    "compile_pages_enabled": ("compile_pages", "enabled"),
    "pages_max_lines": ("compile_pages", "max_lines"),
    "pages_max_bytes": ("compile_pages", "max_bytes"),
}
"""Former name → operation and option."""

SEALED_NAMES: Final[Mapping[tuple[str, str], str]] = {place: name for name, place in FORMER_NAMES.items()}
"""Operation and option → the name under which a fingerprint holds it."""

_warned: Final[set[str]] = set()


def nested(given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by name with those under former names put where they belong; a setting that has both is what its present name says.

    Each former name is warned of once a process.
    """
    found = {name: value for name, value in given.items() if name not in FORMER_NAMES}
    operations = found.get("operations", {})
    if len(found) == len(given) or not isinstance(operations, Mapping):
        return found
    merged = {name: dict(options) if isinstance(options, Mapping) else options for name, options in operations.items()}
    for name in given.keys() & FORMER_NAMES.keys():
        operation, option = FORMER_NAMES[name]
        if name not in _warned:
            _warned.add(name)
            present = f"operations.{operation}.{option}"
            warnings.warn(
                f"The setting {name} is called {present} now: SLOWWAVE_{present.replace('.', '__').upper()} instead of "
                f"SLOWWAVE_{name.upper()}. The former name still holds.",
                FutureWarning,
                stacklevel=2,
            )
        options = merged.setdefault(operation, {})
        if isinstance(options, dict):
            options.setdefault(option, given[name])
    return {**found, "operations": merged}
