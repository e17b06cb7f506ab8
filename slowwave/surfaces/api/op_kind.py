"""Names of operations as an enum, for code that matches on them."""

from __future__ import annotations

from enum import StrEnum


class OpKind(StrEnum):
    """Every operation of Slowwave, audits first, in the order of a night.

    Members are strings: wherever the API takes or returns the name of an operation, a member equals it. Operations that other packages
    bring (entry points ``slowwave.operations``) have no member.
    """

    CENSUS = "census"
    SCHEMA_DRIFT = "schema_drift"
    ORPHANS = "orphans"
    DEAD_REFERENCES = "dead_references"
    DEAD_LINKS = "dead_links"
    TOMBSTONES = "tombstones"
    ABSTENTION_DRIFT = "abstention_drift"
    PAGE_HEALTH = "page_health"
    CONTRADICTIONS = "contradictions"
    NEIGHBOUR_GRAPH = "neighbour_graph"
    RELEVANCE = "relevance"
    RELATIVE_DATES = "relative_dates"
    DECAY_DUE = "decay_due"
    SAFETY_SCAN = "safety_scan"
    SESSION_BACKLOG = "session_backlog"
    REDACT_OR_QUARANTINE = "redact_or_quarantine"
    ACCEPT_EXTERNAL_EDITS = "accept_external_edits"
    BACKFILL_PRIVACY = "backfill_privacy"
    RESOLVE_CONFLICTS = "resolve_conflicts"
    DEDUPE_FACTS = "dedupe_facts"
    SUPERSEDE_FACTS = "supersede_facts"
    ARCHIVE_SMALL_TALK = "archive_small_talk"
    DEDUPE_MEMORIES = "dedupe_memories"
    CONSOLIDATE_CLUSTERS = "consolidate_clusters"
    DEDUPE_ENTITIES = "dedupe_entities"
    RECOMPUTE_CENTROIDS = "recompute_centroids"
    NORMALIZE_SCHEMA = "normalize_schema"
    PRUNE_EDGES = "prune_edges"
    GC_REFERENCES = "gc_references"
    ABSOLUTIZE_DATES = "absolutize_dates"
    ARCHIVE_STALE = "archive_stale"
    MARK_ENDED_STATEMENTS = "mark_ended_statements"
    TOPIC_MEMORIES = "topic_memories"
    PROMOTE_MEMORIES = "promote_memories"
    WEEKLY_REFLECTIONS = "weekly_reflections"
    BACKFILL_TAGS = "backfill_tags"
    PROMOTE_PAGES = "promote_pages"
    DECAY_TRANSITION = "decay_transition"
    REEMBED = "reembed"
    COMMUNITY_SUMMARIES = "community_summaries"
    PURGE_EXPIRED = "purge_expired"
    COMPILE_PAGES = "compile_pages"
    CANONICAL_PAGES = "canonical_pages"
    DEEP_PASS = "deep_pass"  # noqa: S105 - no password
    DIGEST_SESSIONS = "digest_sessions"
    EXTRACT_CLAIMS = "extract_claims"
    IMPORT_CORPUS = "import_corpus"
    PROPOSED_CHANGES = "proposed_changes"
