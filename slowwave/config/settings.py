"""Settings: one Pydantic model, from ``SLOWWAVE_`` variables, overlaid by a namespace's own ``settings``.

Names and defaults follow khora's where it has the setting. Database addresses live in ``slowwave.store.connect``:
settings are fingerprinted, stored with plans and shown; secrets are not settings.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from slowwave.errors import SettingsError

_OPERATORS: Final = frozenset(  # addresses, and whether a program is run in a folder whose configuration it obeys
    ("embedding_endpoint", "judge_endpoint", "writer_endpoint", "report_base_path", "workspace_path", "pages_git")
)


class Expertise(BaseModel):
    """The types a namespace declares; ``schema_drift`` compares the store with them."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    entity_types: tuple[str, ...] = ()
    relationship_types: tuple[str, ...] = ()


class OperationSettings(BaseModel):
    """What is set of one operation that has no fields of its own in ``Settings``: its switch, and options that it declares itself."""

    model_config = ConfigDict(extra="allow", frozen=True)
    enabled: bool | None = None


Options = TypeVar("Options", bound=BaseModel)


class Settings(BaseSettings):
    """Every knob of a night. Environment: ``SLOWWAVE_`` + the field's name."""

    model_config = SettingsConfigDict(env_prefix="SLOWWAVE_", env_nested_delimiter="__", extra="ignore", frozen=True)

    enabled: bool = Field(default=True, description="Whether nights are planned at all.")
    default_mode: Literal["dry-run", "apply"] = Field(
        default="dry-run", description="What a dream does unless its caller says."
    )

    dedupe_entities_enabled: bool = Field(default=True, description="Nightly: merge entities that are one thing.")
    centroid_recompute_enabled: bool = Field(
        default=True, description="Nightly: vectors for entities without one and for the survivors of merges."
    )
    source_chunk_ids_gc_enabled: bool = Field(default=True, description="Nightly: drop dead references.")
    prune_edges_enabled: bool = Field(default=True, description="Nightly: retire weak edges that nothing supports.")
    contradiction_detect_enabled: bool = Field(default=True, description="Nightly: look for rows that contradict.")
    contradiction_reconcile_enabled: bool = Field(default=True, description="Nightly: propose who is right.")
    community_summary_enabled: bool = Field(default=False, description="Nightly: summaries of communities.")
    normalize_schema_enabled: bool = Field(default=True, description="Nightly: rename types by the mappings.")
    dedupe_facts_enabled: bool = Field(default=True, description="Nightly: merge facts that say the same.")
    supersede_facts_enabled: bool = Field(default=True, description="Nightly: close facts that newer ones replace.")
    cluster_events_enabled: bool = Field(default=True, description="Nightly: merge events that are one event.")
    compact_facts_enabled: bool = Field(default=False, description="Nightly: purge what is past its retention.")
    redact_or_quarantine_enabled: bool = Field(default=True, description="Nightly: act on what the safety scan finds.")
    accept_external_edits_enabled: bool = Field(
        default=True, description="Nightly: take note of memories that an outside dreamer rewrote."
    )
    dedupe_memories_enabled: bool = Field(default=True, description="Nightly: merge memories that tell the same.")
    consolidate_clusters_enabled: bool = Field(
        default=False, description="Nightly: one summary for memories of one matter; the weekly night has it anyway."
    )
    decay_transition_enabled: bool = Field(
        default=False, description="Nightly: shorten ageing memories; the weekly night has it anyway."
    )
    absolutize_dates_enabled: bool = Field(default=True, description="Nightly: write out relative dates.")
    archive_stale_enabled: bool = Field(default=False, description="Nightly: archive what nobody has use for.")
    promote_memories_enabled: bool = Field(default=True, description="Nightly: promote memories that recall proves.")
    backfill_tags_enabled: bool = Field(default=True, description="Nightly: concept tags.")
    reembed_enabled: bool = Field(default=True, description="Nightly: vectors for memories and chunks without one.")
    compile_pages_enabled: bool = Field(default=True, description="Nightly: MEMORY.md and DREAMS.md.")

    operations: dict[str, OperationSettings] = Field(
        default_factory=dict,
        description="Switch (`enabled`) and options of operations that have no settings of their own here, by name.",
    )
    expertise: Expertise | None = Field(default=None, description="Declared entity and relationship types.")
    frequency_delta_threshold: float = Field(
        default=0.5, ge=0, le=1, description="Relative change of a type's count that is reported."
    )

    cooccurrence_edge_weight: float = Field(
        default=0.2, ge=0, le=1, description="Weight of an ASSOCIATED_WITH edge in PageRank."
    )
    orphan_pr_percentile_threshold: float = Field(
        default=5.0, ge=0, le=100, description="Bottom share of PageRank called weak."
    )
    recall_window_days: int = Field(
        default=90, ge=1, description="Recall events older than this no longer count as use."
    )
    frequency_cap: int = Field(default=20, ge=1, description="Recalls at which the frequency signal saturates.")

    source_chunk_ids_gc_min_dead: int = Field(
        default=1, ge=1, description="Dead references a row needs before it is cleaned."
    )

    dedupe_entities_default_threshold: float = Field(
        default=0.90,
        ge=0,
        le=1,
        description="Cosine a merge needs where a type has too few rows to learn weights; else where a pair disagrees in something.",
    )
    dedupe_entities_per_type_thresholds: dict[str, float] = Field(
        default_factory=dict, description="The same, per type."
    )
    dedupe_verifier_band_low: float = Field(
        default=0.78, ge=0, le=1, description="Cosine from which a pair is looked at."
    )
    dedupe_entities_expected_precision: float = Field(
        default=0.99, ge=0.5, le=1, description="Expected share of right merges in a plan."
    )
    dedupe_entities_unique_sources: tuple[str, ...] = Field(
        default=(), description="Sources free of duplicates within themselves; `*` means each."
    )
    prune_edges_target_predicates: tuple[str, ...] = Field(
        default=("ASSOCIATED_WITH",), description="Relationship types that may be pruned."
    )
    prune_edges_confidence_threshold: float = Field(
        default=0.4, ge=0, le=1, description="Edges below this confidence are candidates."
    )
    prune_edges_score_threshold: float = Field(
        default=0.0, ge=0, description="Weight times recency below which an edge is a candidate as well; 0 is off."
    )
    prune_edges_half_life_days: float = Field(
        default=90.0, gt=0, description="Days in which an edge's recency falls by half."
    )
    contradiction_detect_similarity_threshold: float = Field(
        default=0.5, ge=0, le=1, description="Descriptions of one edge less similar than this are looked at."
    )
    contradiction_reconcile_policy: Literal[
        "manual", "keep_newest", "evidence_weighted", "source_precedence", "two_judges"
    ] = Field(default="evidence_weighted", description="How a loser is proposed; manual proposes none.")
    source_precedence: tuple[str, ...] = Field(
        default=("human", "canonical", "tool", "model", "consolidation", "import"),
        description="Sources, the most trusted first.",
    )
    community_summary_min_size: int = Field(default=5, ge=2, description="Members a community needs for a summary.")
    community_summary_max_members_per_prompt: int = Field(
        default=20, ge=1, description="Members that a summary quotes, the most mentioned first."
    )
    community_summary_model: str = Field(
        default="", description="Model that writes summaries; empty takes sentences from the sources."
    )
    community_resolution: float = Field(default=1.0, gt=0, description="Above 1: more and smaller communities.")
    writer_endpoint: str = Field(default="", description="Base URL of the OpenAI-compatible server of that model.")
    writer_timeout_seconds: float = Field(default=30.0, gt=0, description="How long one text may take.")
    normalize_schema_mapping: dict[str, str] = Field(
        default_factory=dict, description="Old type to new type, for entities and relationships alike."
    )
    normalize_schema_entity_types: dict[str, str] = Field(
        default_factory=dict, description="The same for entity types alone."
    )
    normalize_schema_relationship_types: dict[str, str] = Field(
        default_factory=dict, description="The same for relationship types alone."
    )
    abstention_drift_min_samples: int = Field(
        default=1000, ge=0, description="Scored recalls that a recommendation needs."
    )
    abstention_drift_sample_cap: int = Field(default=1024, ge=1, description="Newest recalls that are looked at.")
    abstention_min_top_score: float = Field(
        default=0.0, ge=0, description="The agent's threshold on the best hit; 0 when it has none."
    )
    abstention_combined_threshold: float = Field(
        default=0.0, ge=0, description="The agent's threshold on all hits together; 0 when it has none."
    )
    fact_compaction_retention_days: int = Field(
        default=365, ge=7, description="Days after which a retired row may be purged; never under 7."
    )
    event_clustering_cosine_threshold: float = Field(
        default=0.95, ge=0, le=1, description="Cosine at which two events of one subject may be one."
    )
    event_clustering_window_days: int = Field(
        default=7, ge=0, description="Days that events of one cluster may lie apart."
    )
    centroid_lev_threshold: int = Field(default=2, ge=0, description="Names this close keep the mean vector.")
    centroid_min_intra_cluster_cosine: float = Field(
        default=0.88,
        ge=0,
        le=1,
        description="Smallest cosine between two members of a cluster that gets a mean vector.",
    )

    reflection_mode: Literal["coordinated", "always"] = Field(
        default="coordinated", description="Whether the cadence gates below hold; always ignores them."
    )
    gate_min_hours: float = Field(default=24.0, ge=0, description="Hours between two scheduled nights (too_soon).")
    gate_min_new_records: int = Field(
        default=5, ge=0, description="New memories that a scheduled night needs (too_few_new_records)."
    )
    gate_min_sessions: int = Field(
        default=5, ge=0, description="New sessions that a scheduled weekly night needs (too_few_sessions)."
    )
    memory_dedupe_cosine_threshold: float = Field(
        default=0.92, ge=0, le=1, description="Cosine at which two memories may tell the same."
    )
    neighbour_top_k: int = Field(default=3, ge=1, le=20, description="Nearest memories that the neighbour graph keeps.")
    neighbour_similarity: float = Field(
        default=0.75, ge=0.1, le=0.99, description="Cosine from which two memories are neighbours."
    )
    conflict_low_importance: float = Field(
        default=0.3, ge=0, le=1, description="Of two memories below this, the newer wins without a person."
    )
    dates_write: Literal["beside", "replace"] = Field(
        default="beside", description="Whether the ISO date follows a relative one in brackets or takes its place."
    )
    dates_zone: str = Field(default="UTC", description="Zone of authors whose memories name none.")
    consolidation_min_cluster_size: int = Field(default=3, ge=2, le=20, description="Memories a summary needs.")
    consolidation_cohesion: float = Field(
        default=0.8, ge=0, le=1, description="Cosine that every two members of a summary have."
    )
    consolidation_max_clusters_per_run: int = Field(default=10, ge=1, le=100, description="Summaries a night.")
    consolidation_max_input_tokens: int = Field(
        default=1500, ge=100, le=10_000, description="Tokens of one summary's sources; larger clusters are split."
    )
    consolidation_max_output_tokens: int = Field(default=300, ge=50, le=2_000, description="Tokens of a summary.")
    consolidation_cooldown_days: int = Field(
        default=7, ge=1, le=90, description="Days until a summary may become part of another one."
    )
    consolidation_model: str = Field(
        default="", description="Model that words summaries and shortened memories; empty takes the sources' sentences."
    )
    decay_days: dict[str, int] = Field(
        default_factory=lambda: {"full": 7, "compressed": 30, "summary": 90, "essence": 365},
        description="Days in each stage before the next.",
    )
    decay_tokens: dict[str, int] = Field(
        default_factory=lambda: {"full": 500, "compressed": 250, "summary": 150, "essence": 50},
        description="Tokens that a memory has in each stage.",
    )
    exempt_instructions: bool = Field(
        default=True,
        description="Memory blocks, personas and lists of rules do not age: never shortened, summed up or archived for it.",
    )
    relevance_half_life_days: dict[str, float] = Field(
        default_factory=lambda: {"user": 10_000.0, "reference": 10_000.0, "feedback": 365.0, "project": 90.0},
        description="Days in which recency falls by half, per kind; 90 for other kinds.",
    )
    relevance_decay_rate: float = Field(default=0.01, ge=0, description="Loss of importance an hour.")
    archive_policy: Literal["stale", "natural_selection"] = Field(
        default="stale", description="Which memories archive_stale takes: unread and faded, or the least relevant."
    )
    archive_effective_importance: float = Field(
        default=0.2, ge=0, le=1, description="Effective importance below which an unread memory is stale."
    )
    archive_min_age_hours: float = Field(default=168.0, ge=0, description="Age that a stale memory has.")
    natural_selection_floor: float = Field(default=0.1, ge=0, description="Relevance below which a memory goes.")
    natural_selection_ring_cap: int = Field(default=1000, ge=1, description="Memories that a ring holds.")
    reembed_max_per_night: int = Field(
        default=5_000,
        ge=0,
        description="Vectors that a night makes for memories and chunks without one; for entities as many.",
    )
    signals_compat: bool = Field(
        default=False, description="nexo's original signals: no window, cap 6, weights of 0.94, no gate on days."
    )
    promote_min_score: float = Field(default=0.35, ge=0, le=1, description="Score that a promotion needs.")
    promote_min_recalls: int = Field(default=3, ge=1, description="Recalls that a promotion needs.")
    promote_min_queries: int = Field(default=2, ge=1, description="Distinct questions that a promotion needs.")
    promote_min_days: int = Field(default=2, ge=1, description="Distinct days that a promotion needs.")
    promote_max_per_night: int = Field(default=20, ge=1, description="Promotions of one night, the best first.")
    promote_revoke_score: float = Field(
        default=0.1, ge=0, le=1, description="Score below which a promotion is revoked."
    )
    backfill_tags_scope: Literal["promoted", "all"] = Field(
        default="promoted", description="Whether concept tags are for promoted memories or for all."
    )
    screening_policy: Literal["block", "redact", "quarantine", "warn"] = Field(
        default="quarantine", description="What is done with memories that hold a secret or an injection."
    )
    screening_on_import: Literal["block", "quarantine", "warn"] = Field(
        default="warn", description="What an import does with rows that hold a secret or an injection."
    )
    import_longest_text: int = Field(
        default=100_000,
        ge=1_000,
        le=10_000_000,
        description="Characters of an imported text; a longer one is refused by its line.",
    )
    workspace_path: str = Field(
        default="",
        description="Folder with a folder a namespace for MEMORY.md and DREAMS.md; empty keeps pages in the store.",
    )
    pages_git: bool = Field(default=False, description="Commit pages in the workspace folder with git.")
    pages_max_lines: int = Field(default=200, ge=10, description="Lines of an index page.")
    pages_max_bytes: int = Field(default=25_000, ge=1_000, description="Bytes of an index page.")

    blast_radius_share: float = Field(
        default=0.02,
        ge=0,
        le=1,
        description="Share of a table's live rows, and of each type's, that a plan may retire or reword; of their tokens twice that.",
    )
    blast_radius_rows: int = Field(
        default=25, ge=0, description="Rows of a table or type that a plan may retire or reword where that is more."
    )
    blast_radius_small_share: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="Share of a small table or type that those rows may be at most, so that no plan retires all of one.",
    )
    recall_floor: float = Field(default=-0.01, le=0, description="Lowest allowed bound of the change in Recall@10.")
    recall_probe_queries: int = Field(default=500, ge=1, description="Most recent recall events that are replayed.")
    plan_expiry_days: int = Field(default=7, ge=1, description="Days until a plan can no longer be approved.")
    snapshot_keep_nights: int = Field(default=3, ge=1, description="Snapshots of a namespace that are kept.")

    auto_approve: tuple[str, ...] = Field(default=(), description="Low-risk operations that a policy approves.")
    batch_items: int = Field(default=500, ge=1, description="Items in one apply transaction.")
    heartbeat_expiry_seconds: int = Field(
        default=300, ge=1, description="Age at which a running apply may be taken over."
    )

    apply_max_replication_lag_seconds: float = Field(
        default=10.0, ge=0, description="Apply waits while a replica is further behind; 0 is off."
    )
    apply_max_batch_seconds: float = Field(
        default=5.0, ge=0, description="A batch that takes longer is followed by a pause and smaller ones; 0 is off."
    )
    apply_pause_seconds: float = Field(default=1.0, ge=0, description="Pause between batches when the database lags.")

    llm_max_tokens_per_run: int = Field(
        default=200_000, ge=0, description="Tokens that a run may spend; 0 is no limit."
    )
    llm_max_tokens_per_namespace_per_day: int = Field(
        default=1_000_000, ge=0, description="Tokens that a namespace may spend in 24 hours; 0 is no limit."
    )

    report_file_sink_enabled: bool = Field(default=False, description="Write report files of every run.")
    report_event_sink_enabled: bool = Field(
        default=False, description="Send events to the webhook; the callbacks of a call always get them."
    )
    report_collector_sink_enabled: bool = Field(default=False, description="Emit OpenTelemetry spans and metrics.")
    report_base_path: str = Field(default="", description="Folder of report files; empty is reports in SLOWWAVE_HOME.")
    dream_op_types: tuple[str, ...] = Field(default=(), description="Operations whose events are sent; empty is all.")
    dream_decisions: tuple[str, ...] = Field(default=(), description="Decisions whose events are sent; empty is all.")
    redact_text: Literal["none", "summary", "all"] = Field(
        default="summary", description="Memory text in reports, sinks and metadata: whole, its beginning, or none."
    )
    retention_days: int = Field(default=30, ge=0, description="Days that reports and findings are kept.")
    retention_runs_per_namespace: int = Field(
        default=50, ge=0, description="Runs whose reports and findings are kept all the same."
    )
    undo_retention_days: int = Field(
        default=0, ge=0, description="Days that before-images are kept, and so undo is possible; 0 is for ever."
    )
    freshness_audit_days: int = Field(default=2, ge=1, description="Days without an audit after which a check warns.")
    freshness_plan_days: int = Field(default=3, ge=1, description="Days a plan may wait before a check warns.")
    freshness_idle_nights: int = Field(
        default=3, ge=1, description="Applies in a row that may change nothing before a check warns."
    )

    embedding_model: str = Field(
        default="fast-use-v3", description="Model of new vectors; the offline default comes as a wheel."
    )
    embedding_endpoint: str = Field(
        default="", description="Base URL of an OpenAI-compatible server; empty means offline."
    )

    judge_models: tuple[str, ...] = Field(
        default=(), description="Two models that judge doubtful pairs when a plan is made; empty means none."
    )
    judge_endpoint: str = Field(default="", description="Base URL of the OpenAI-compatible server of both.")
    judge_confidence: float = Field(default=0.6, ge=0, le=1, description="How sure both must be for a merge.")
    judge_pairs: int = Field(
        default=100, ge=0, description="Pairs that a plan asks them about, the most probable first."
    )
    judge_token_budget: int = Field(default=200_000, ge=0, description="Tokens that a plan may spend on them.")
    judge_timeout_seconds: float = Field(default=30.0, gt=0, description="How long one answer may take.")

    @field_validator("judge_models")
    @classmethod
    def _two_or_none(cls, models: tuple[str, ...]) -> tuple[str, ...]:
        if models and (len(models) != 2 or models[0] == models[1] or not all(models)):
            raise ValueError("two different models are needed, or none")
        return models

    @classmethod
    def for_namespace(cls, overlay: Mapping[str, object]) -> Settings:
        """Environment settings with a namespace's own on top; an unknown name is ignored, and so are addresses and ``pages_git``:
        whoever may write a namespace's settings must not send its memory, and the key, elsewhere, nor have git run."""
        known = {k: v for k, v in overlay.items() if k in cls.model_fields and k not in _OPERATORS}
        try:
            return cls.model_validate({**cls().model_dump(), **known})
        except ValidationError as problem:
            first = problem.errors()[0]
            name = ".".join(str(part) for part in first["loc"])
            raise SettingsError(
                f"The setting {name} cannot be {first['input']!r}: {first['msg']}. "
                f"Correct it in the namespace's settings, or the variable SLOWWAVE_{name.upper()}."
            ) from None

    def options(self, operation: str, declared: type[Options]) -> Options:
        """What is set of the options that an operation declares, and their defaults. Raises ``SettingsError`` for what cannot be."""
        given = self.operations.get(operation)
        try:
            return declared.model_validate(given.model_extra or {} if given else {})
        except ValidationError as problem:
            first = problem.errors()[0]
            name = "__".join(("operations", operation, *(str(part) for part in first["loc"])))
            raise SettingsError(
                f"The setting {name} cannot be {first['input']!r}: {first['msg']}. "
                f"Correct it in the namespace's settings, or the variable SLOWWAVE_{name.upper()}."
            ) from None

    def fingerprint(self) -> str:
        """SHA-256 of the canonical JSON of all settings."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()
