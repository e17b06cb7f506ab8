"""Settings of each operation, such as ``settings.operations.prune_edges.half_life_days``.

They are set by variables such as ``SLOWWAVE_OPERATIONS__PRUNE_EDGES__HALF_LIFE_DAYS`` or in a namespace's settings, such as
``{"operations": {"prune_edges": {"half_life_days": 30}}}``. Settings that several operations share are in ``slowwave.store.settings``. An
operation that is not named here has its switch ``enabled`` and the options that are declared next to its function
(``slowwave.operations.operation.Operation``).
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from slowwave.matching.options import DedupeEntitiesOptions, RecomputeCentroidsOptions, SwitchedOn


class OperationSettings(BaseModel):
    """Settings of an operation without a model here: its switch, and the options that it declares itself."""

    model_config = ConfigDict(extra="allow", frozen=True)
    enabled: bool | None = None


class _Off(BaseModel):
    model_config = ConfigDict(frozen=True)
    enabled: bool = False


class SchemaDriftOptions(SwitchedOn):
    """Settings of ``schema_drift``."""

    frequency_delta_threshold: float = Field(
        default=0.5, ge=0, le=1, description="Relative change of a type's count that is reported."
    )


class OrphansOptions(SwitchedOn):
    """Settings of ``orphans``."""

    pr_percentile_threshold: float = Field(
        default=5.0, ge=0, le=100, description="Bottom share of PageRank called weak."
    )


class AbstentionDriftOptions(SwitchedOn):
    """Settings of ``abstention_drift``."""

    min_samples: int = Field(default=1000, ge=0, description="Scored recalls that a recommendation needs.")
    sample_cap: int = Field(default=1024, ge=1, description="Newest recalls that are looked at.")
    min_top_score: float = Field(
        default=0.0, ge=0, description="The agent's threshold on the best hit; 0 when it has none."
    )
    combined_threshold: float = Field(
        default=0.0, ge=0, description="The agent's threshold on all hits together; 0 when it has none."
    )


class ContradictionsOptions(SwitchedOn):
    """Settings of ``contradictions``."""

    similarity_threshold: float = Field(
        default=0.5, ge=0, le=1, description="Descriptions of one edge less similar than this are looked at."
    )


class NeighbourGraphOptions(SwitchedOn):
    """Settings of ``neighbour_graph``."""

    top_k: int = Field(default=3, ge=1, le=20, description="Nearest memories that the neighbour graph keeps.")
    similarity: float = Field(
        default=0.75, ge=0.1, le=0.99, description="Cosine from which two memories are neighbours."
    )


class RedactOrQuarantineOptions(SwitchedOn):
    """Settings of ``redact_or_quarantine``."""

    policy: Literal["block", "redact", "quarantine", "warn"] = Field(
        default="quarantine", description="What is done with memories that hold a secret or an injection."
    )


class AcceptExternalEditsOptions(SwitchedOn):
    """Settings of ``accept_external_edits``."""


class ResolveConflictsOptions(SwitchedOn):
    """Settings of ``resolve_conflicts``."""

    policy: Literal["manual", "keep_newest", "evidence_weighted", "source_precedence", "two_judges"] = Field(
        default="evidence_weighted", description="How a loser is proposed; manual proposes none."
    )
    low_importance: float = Field(
        default=0.3, ge=0, le=1, description="Of two memories below this, the newer wins without a person."
    )


class DedupeFactsOptions(SwitchedOn):
    """Settings of ``dedupe_facts``."""


class SupersedeFactsOptions(SwitchedOn):
    """Settings of ``supersede_facts``."""


class DedupeMemoriesOptions(SwitchedOn):
    """Settings of ``dedupe_memories``."""

    cosine_threshold: float = Field(
        default=0.92, ge=0, le=1, description="Cosine at which two memories may tell the same."
    )
    events_enabled: bool = Field(default=True, description="Nightly: merge events that are one event.")
    events_cosine_threshold: float = Field(
        default=0.95, ge=0, le=1, description="Cosine at which two events of one subject may be one."
    )
    events_window_days: int = Field(default=7, ge=0, description="Days that events of one cluster may lie apart.")


class ConsolidateClustersOptions(_Off):
    """Settings of ``consolidate_clusters``."""

    min_cluster_size: int = Field(default=3, ge=2, le=20, description="Memories a summary needs.")
    cohesion: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Cosine that every two members of a summary have; empty: what cohesion_deviations says of the embedding model.",
    )
    cohesion_deviations: float = Field(
        default=7.0,
        ge=1,
        le=20,
        description="Standard deviations above the embedding model's cosine of unrelated texts that every two members lie at least.",
    )
    max_clusters_per_run: int = Field(
        default=100,
        ge=1,
        le=1000,
        description="Summaries a night, as far as the cap of what a plan may retire reaches.",
    )
    max_input_tokens: int = Field(
        default=1500, ge=100, le=10_000, description="Tokens of one summary's sources; larger clusters are split."
    )
    max_output_tokens: int = Field(default=300, ge=50, le=2_000, description="Tokens of a summary.")
    cooldown_days: int = Field(
        default=7, ge=1, le=90, description="Days until a summary may become part of another one."
    )


class NormalizeSchemaOptions(SwitchedOn):
    """Settings of ``normalize_schema``."""

    mapping: dict[str, str] = Field(
        default_factory=dict, description="Old type to new type, for entities and relationships alike."
    )
    entity_types: dict[str, str] = Field(default_factory=dict, description="The same for entity types alone.")
    relationship_types: dict[str, str] = Field(
        default_factory=dict, description="The same for relationship types alone."
    )


class PruneEdgesOptions(SwitchedOn):
    """Settings of ``prune_edges``."""

    target_predicates: tuple[str, ...] = Field(
        default=("ASSOCIATED_WITH",), description="Relationship types that may be pruned."
    )
    confidence_threshold: float = Field(
        default=0.4, ge=0, le=1, description="Edges below this confidence are candidates."
    )
    score_threshold: float = Field(
        default=0.0, ge=0, description="Weight times recency below which an edge is a candidate as well; 0 is off."
    )
    half_life_days: float = Field(default=90.0, gt=0, description="Days in which an edge's recency falls by half.")


class GcReferencesOptions(SwitchedOn):
    """Settings of ``gc_references``."""

    min_dead: int = Field(default=1, ge=1, description="Dead references a row needs before it is cleaned.")


class AbsolutizeDatesOptions(SwitchedOn):
    """Settings of ``absolutize_dates``."""


class MarkEndedStatementsOptions(SwitchedOn):
    """Settings of ``mark_ended_statements``."""


class ArchiveStaleOptions(_Off):
    """Settings of ``archive_stale``."""

    policy: Literal["stale", "natural_selection"] = Field(
        default="stale", description="Which memories archive_stale takes: unread and faded, or the least relevant."
    )
    effective_importance: float = Field(
        default=0.2, ge=0, le=1, description="Effective importance below which an unread memory is stale."
    )
    min_age_hours: float = Field(default=168.0, ge=0, description="Age that a stale memory has.")
    relevance_floor: float = Field(default=0.1, ge=0, description="Relevance below which a memory goes.")
    ring_cap: int = Field(default=1000, ge=1, description="Memories that a ring holds.")


class PromoteMemoriesOptions(SwitchedOn):
    """Settings of ``promote_memories``."""

    min_score: float = Field(default=0.35, ge=0, le=1, description="Score that a promotion needs.")
    min_recalls: int = Field(default=3, ge=1, description="Recalls that a promotion needs.")
    min_queries: int = Field(default=2, ge=1, description="Distinct questions that a promotion needs.")
    min_days: int = Field(default=2, ge=1, description="Distinct days that a promotion needs.")
    max_per_night: int = Field(default=20, ge=1, description="Promotions of one night, the best first.")
    revoke_score: float = Field(default=0.1, ge=0, le=1, description="Score below which a promotion is revoked.")


class BackfillTagsOptions(SwitchedOn):
    """Settings of ``backfill_tags``."""

    scope: Literal["promoted", "all"] = Field(
        default="promoted", description="Whether concept tags are for promoted memories or for all."
    )


class DecayTransitionOptions(_Off):
    """Settings of ``decay_transition``."""

    days: dict[str, int] = Field(
        default_factory=lambda: {"full": 7, "compressed": 30, "summary": 90, "essence": 365},
        description="Days in each stage before the next.",
    )
    tokens: dict[str, int] = Field(
        default_factory=lambda: {"full": 500, "compressed": 250, "summary": 150, "essence": 50},
        description="Tokens that a memory has in each stage.",
    )


class ReembedOptions(SwitchedOn):
    """Settings of ``reembed``."""

    max_per_night: int = Field(
        default=5_000,
        ge=0,
        description="Vectors that a night makes for memories and chunks without one; for entities as many.",
    )


class CommunitySummariesOptions(_Off):
    """Settings of ``community_summaries``."""

    min_size: int = Field(default=5, ge=2, description="Members a community needs for a summary.")
    max_members_per_prompt: int = Field(
        default=20, ge=1, description="Members that a summary quotes, the most mentioned first."
    )
    model: str = Field(default="", description="Model that writes summaries; empty takes sentences from the sources.")
    resolution: float = Field(default=1.0, gt=0, description="Above 1: more and smaller communities.")


class PurgeExpiredOptions(_Off):
    """Settings of ``purge_expired``."""

    retention_days: int = Field(
        default=365, ge=7, description="Days after which a retired row may be purged; never under 7."
    )


class CompilePagesOptions(SwitchedOn):
    """Settings of ``compile_pages``."""

    max_lines: int = Field(default=200, ge=10, description="Lines of an index page.")
    max_bytes: int = Field(default=25_000, ge=1_000, description="Bytes of an index page.")


class DeepPassOptions(_Off):
    """Settings of ``deep_pass``."""

    model: str = Field(default="", description="Model that works on the scratch copy; empty means no deep pass.")
    answer_seconds: float = Field(default=120.0, gt=0, description="How long one answer of the model may take.")
    timeout_seconds: float = Field(
        default=300.0, ge=10, le=86_400, description="How long a whole pass may take; its work is thrown away then."
    )
    max_turns: int = Field(default=30, ge=1, le=200, description="Turns of the model; its work is thrown away then.")
    max_calls: int = Field(default=200, ge=1, le=5_000, description="Calls of tools.")
    max_read_bytes: int = Field(default=2_000_000, ge=1_000, description="Bytes that tools read to the model.")
    max_written_bytes: int = Field(default=1_000_000, ge=1_000, description="Bytes that it may write.")
    max_tokens: int = Field(default=400_000, ge=0, description="Tokens that a pass may spend; 0 is no limit.")
    max_tokens_per_week: int = Field(
        default=1_000_000, ge=0, description="Tokens that passes of a namespace may spend in seven days; 0 is no limit."
    )
    loss_share: float = Field(
        default=0.1, ge=0, le=1, description="Share of what was handed out that a pass may take away; more fails it."
    )
    loss_characters: int = Field(
        default=2_000, ge=0, description="Characters that it may take away where that is more, but never half of all."
    )
    min_hours: float = Field(default=24.0, ge=1, description="Hours between two scheduled passes (too_soon).")
    scan_minutes: float = Field(default=10.0, ge=0, description="Minutes after any pass, failed or not (scanned).")
    min_sessions: int = Field(
        default=5, ge=1, description="Sessions since the last pass that a scheduled one needs (too_few_sessions)."
    )


class Operations(BaseModel):
    """The settings of every operation, in the order of a night; ``of`` also finds operations without a model here."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, OperationSettings] = Field(init=False)  # pyright: ignore[reportIncompatibleVariableOverride]

    schema_drift: SchemaDriftOptions = SchemaDriftOptions()
    orphans: OrphansOptions = OrphansOptions()
    abstention_drift: AbstentionDriftOptions = AbstentionDriftOptions()
    contradictions: ContradictionsOptions = ContradictionsOptions()
    neighbour_graph: NeighbourGraphOptions = NeighbourGraphOptions()
    redact_or_quarantine: RedactOrQuarantineOptions = RedactOrQuarantineOptions()
    accept_external_edits: AcceptExternalEditsOptions = AcceptExternalEditsOptions()
    resolve_conflicts: ResolveConflictsOptions = ResolveConflictsOptions()
    dedupe_facts: DedupeFactsOptions = DedupeFactsOptions()
    supersede_facts: SupersedeFactsOptions = SupersedeFactsOptions()
    dedupe_memories: DedupeMemoriesOptions = DedupeMemoriesOptions()
    consolidate_clusters: ConsolidateClustersOptions = ConsolidateClustersOptions()
    dedupe_entities: DedupeEntitiesOptions = DedupeEntitiesOptions()
    recompute_centroids: RecomputeCentroidsOptions = RecomputeCentroidsOptions()
    normalize_schema: NormalizeSchemaOptions = NormalizeSchemaOptions()
    prune_edges: PruneEdgesOptions = PruneEdgesOptions()
    gc_references: GcReferencesOptions = GcReferencesOptions()
    absolutize_dates: AbsolutizeDatesOptions = AbsolutizeDatesOptions()
    mark_ended_statements: MarkEndedStatementsOptions = MarkEndedStatementsOptions()
    archive_stale: ArchiveStaleOptions = ArchiveStaleOptions()
    promote_memories: PromoteMemoriesOptions = PromoteMemoriesOptions()
    backfill_tags: BackfillTagsOptions = BackfillTagsOptions()
    decay_transition: DecayTransitionOptions = DecayTransitionOptions()
    reembed: ReembedOptions = ReembedOptions()
    community_summaries: CommunitySummariesOptions = CommunitySummariesOptions()
    purge_expired: PurgeExpiredOptions = PurgeExpiredOptions()
    compile_pages: CompilePagesOptions = CompilePagesOptions()
    deep_pass: DeepPassOptions = DeepPassOptions()

    def get(self, operation: str) -> OperationSettings | SwitchedOn | _Off | None:
        """Return the settings of an operation, or None if it has no model here and nothing is set."""
        found = (
            getattr(self, operation)
            if operation in Operations.model_fields
            else (self.model_extra or {}).get(operation)
        )
        return found if isinstance(found, (OperationSettings, SwitchedOn, _Off)) else None
