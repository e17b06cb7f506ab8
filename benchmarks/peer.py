"""What khora 0.26 took for the same work on the same kind of machine, from our own measurements of it (two shared cores, PostgreSQL 15).

A dry run of khora reads its rows anew for every operation; a night of ours reads them once, with ``export`` and the SQL models,
and then runs all operations on them. Both are shown. Seconds are medians of two or three runs, each in a process of its own.
"""

from __future__ import annotations

from typing import Final

DRY_RUN: Final[dict[str, tuple[str, dict[int, float]]]] = {
    "audit schema_drift": ("schema_drift_report", {2_000: 0.44, 10_000: 2.18, 50_000: 25.6}),
    "audit orphans": ("orphan_report", {2_000: 0.47, 10_000: 2.44, 50_000: 14.7}),
    "audit dead_references": ("source_chunk_ids_audit", {2_000: 0.05, 10_000: 0.09, 50_000: 0.34}),
    "audit tombstones": ("tombstone_audit", {2_000: 0.02, 10_000: 0.02, 50_000: 0.03}),
    "audit abstention_drift": ("abstention_drift_report", {2_000: 0.01, 10_000: 0.01, 50_000: 0.02}),
    "audit contradictions": ("contradiction_detect", {2_000: 0.16, 10_000: 1.23, 50_000: 6.7}),
    "planner resolve_conflicts": ("contradiction_reconcile (plan)", {2_000: 0.16, 10_000: 1.12, 50_000: 6.7}),
    "planner dedupe_memories": ("event_clustering", {2_000: 0.31, 10_000: 1.31, 50_000: 6.7}),
    "planner dedupe_entities": ("dedupe_entities", {2_000: 0.26, 10_000: 1.72, 50_000: 21.4}),
    "planner recompute_centroids": ("dedupe + centroid_recompute", {2_000: 22.2, 10_000: 699.5}),
    "planner gc_references": ("source_chunk_ids_gc", {2_000: 0.09, 10_000: 0.27, 50_000: 1.70}),
    "planner prune_edges": ("prune_edges", {2_000: 0.05, 10_000: 0.10, 50_000: 0.34}),
    "planner community_summaries": ("community_summary (plan)", {2_000: 0.45, 10_000: 2.49, 50_000: 14.9}),
    "planner purge_expired": ("fact_compaction", {2_000: 0.05, 10_000: 0.07, 50_000: 0.21}),
}
"""Step of ours → its operation and the seconds of its dry run by size (Python kernels, as pip installs them)."""

APPLY: Final[dict[str, tuple[str, dict[int, tuple[float, int]]]]] = {
    "gc_references": (
        "source_chunk_ids_gc",
        {2_000: (1.8, 611), 10_000: (21.7, 3_024), 50_000: (187.4, 14_983)},
    ),
    "merge": ("dedupe_entities", {2_000: (1.05, 159), 10_000: (8.8, 824), 50_000: (62.3, 3_849)}),
    "prune_edges": ("prune_edges", {2_000: (0.20, 117), 10_000: (0.84, 557), 50_000: (3.8, 2_979)}),
    "purge_expired": ("fact_compaction", {2_000: (0.33, 216), 10_000: (1.36, 966), 50_000: (6.1, 4_986)}),
    "dedupe_memories": ("event_clustering", {2_000: (2.1, 166), 10_000: (3.7, 910), 50_000: (21.9, 4_391)}),
}
"""What we apply → its operation, and (seconds, items) by size; plan included, no sink, nothing that could be undone."""
