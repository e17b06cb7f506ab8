"""Options of audits and planners, in the order of a night: one model for each operation that has options.

A declaration names its model (``Operation.options``), and ``Settings.options`` reads it from the settings of a namespace. ``why`` states
who changes an option, unless ``scripts.settings_page`` names a system from which it comes.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BaseModel, Field, field_validator


class OrphansOptions(BaseModel):
    """Options of ``orphans``."""

    pr_percentile_threshold: float = Field(
        default=5.0, ge=0, le=100, description="Bottom share of PageRank that is called weak."
    )


class AbstentionDriftOptions(BaseModel):
    """Options of ``abstention_drift``."""

    min_samples: int = Field(default=1000, ge=0, description="Scored recalls that a recommendation needs.")
    sample_cap: int = Field(default=1024, ge=1, description="Newest recalls that are compared.")
    min_top_score: float = Field(
        default=0.0,
        ge=0,
        description="The agent's threshold on the best hit; 0 when it has none.",
        json_schema_extra={"why": "The threshold is in the agent's configuration, which Slowwave cannot read."},
    )
    combined_threshold: float = Field(
        default=0.0,
        ge=0,
        description="The agent's threshold on all hits together; 0 when it has none.",
        json_schema_extra={"why": "The threshold is in the agent's configuration, which Slowwave cannot read."},
    )


class ContradictionsOptions(BaseModel):
    """Options of ``contradictions``."""

    similarity_threshold: float = Field(
        default=0.5, ge=0, le=1, description="Descriptions of one edge less similar than this are compared."
    )


class NeighbourGraphOptions(BaseModel):
    """Options of ``neighbour_graph``."""

    top_k: int = Field(default=3, ge=1, le=20, description="Nearest memories that the neighbour graph keeps.")
    similarity: float = Field(
        default=0.75,
        ge=0.1,
        le=0.99,
        description="Cosine from which two memories are neighbours.",
        json_schema_extra={"why": "Models differ: an endpoint's model may give unrelated texts higher cosines."},
    )


class RedactOrQuarantineOptions(BaseModel):
    """Options of ``redact_or_quarantine``."""

    policy: Literal["block", "redact", "quarantine", "warn"] = Field(
        default="quarantine", description="Treatment of memories that hold a secret or an injection."
    )


class PrivacyOptions(BaseModel):
    """Options of ``backfill_privacy``."""

    classes: tuple[Literal["credentials", "financial", "health", "legal", "contact", "personal"], ...] = Field(
        default=("credentials", "financial", "health", "legal", "contact", "personal"),
        description="Privacy classes that memories may get.",
        json_schema_extra={"why": "Owners decide which classes their agents shall distinguish."},
    )


class ResolveConflictsOptions(BaseModel):
    """Options of ``resolve_conflicts``."""

    policy: Literal["manual", "keep_newest", "evidence_weighted", "source_precedence", "two_judges"] = Field(
        default="evidence_weighted",
        description="How a loser is proposed; manual proposes none.",
        json_schema_extra={"why": "Each namespace has its own rule for which of two statements to believe."},
    )
    low_importance: float = Field(
        default=0.0, ge=0, le=1, description="Of two memories below this, the newer wins without a person; 0 asks."
    )
    newest_wins: tuple[str, ...] = Field(
        default=(),
        description="Relations, types or predicates whose newest value ends the older ones unasked; frames: all statements of one form.",
        json_schema_extra={
            "why": "Which facts of a namespace simply change, such as where people live, only its owner knows."
        },
    )


class DedupeMemoriesOptions(BaseModel):
    """Options of ``dedupe_memories``."""

    cosine_threshold: float = Field(
        default=0.92, ge=0, le=1, description="Cosine at which two memories may state the same."
    )
    events_enabled: bool = Field(default=True, description="Nightly: merge events that are one event.")
    events_cosine_threshold: float = Field(
        default=0.95, ge=0, le=1, description="Cosine at which two events of one subject may be one."
    )
    events_window_days: int = Field(default=7, ge=0, description="Days that events of one cluster may lie apart.")


class ConsolidateClustersOptions(BaseModel):
    """Options of ``consolidate_clusters``."""

    min_cluster_size: int = Field(default=3, ge=2, le=20, description="Memories that a summary needs.")
    cohesion: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Cosine that every two members of a summary have; empty: a value that fits the embedding model.",
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


class WeeklyReflectionsOptions(BaseModel):
    """Options of ``weekly_reflections``."""

    min_memories: int = Field(
        default=5,
        ge=2,
        le=100,
        description="Memories of one subject in one week that a reflection needs.",
        json_schema_extra={"why": "How much an agent writes down in a week depends on the agent."},
    )
    max_tokens: int = Field(
        default=120,
        ge=30,
        le=500,
        description="Tokens of a reflection.",
        json_schema_extra={"why": "How much context a reader can spend on a week depends on the reader."},
    )


class NormalizeSchemaOptions(BaseModel):
    """Options of ``normalize_schema``."""

    mapping: dict[str, str] = Field(
        default_factory=dict, description="Old type to new type, for entities and relationships alike."
    )
    entity_types: dict[str, str] = Field(
        default_factory=dict,
        description="The same for entity types alone.",
        json_schema_extra={"why": "A name may be a type of both kinds; khora has one mapping."},
    )
    relationship_types: dict[str, str] = Field(
        default_factory=dict,
        description="The same for relationship types alone.",
        json_schema_extra={"why": "A name may be a type of both kinds; khora has one mapping."},
    )


class PruneEdgesOptions(BaseModel):
    """Options of ``prune_edges``."""

    target_predicates: tuple[str, ...] = Field(
        default=("ASSOCIATED_WITH",),
        description="Relationship types that may be pruned.",
        json_schema_extra={"why": "A name may be a type of both kinds; khora has one mapping."},
    )
    confidence_threshold: float = Field(
        default=0.4, ge=0, le=1, description="Edges below this confidence are candidates."
    )
    score_threshold: float = Field(
        default=0.0,
        ge=0,
        description="Weight times recency below which an edge is a candidate as well; 0 is off.",
        json_schema_extra={"why": "For graphs whose writer states a weight and no confidence."},
    )
    half_life_days: float = Field(
        default=90.0,
        gt=0,
        description="Days in which an edge's recency falls by half.",
        json_schema_extra={"why": "With score_threshold: graphs age at their own speed."},
    )


class GcReferencesOptions(BaseModel):
    """Options of ``gc_references``."""

    min_dead: int = Field(default=1, ge=1, description="Dead references a row needs before it is cleaned.")


class ArchiveStaleOptions(BaseModel):
    """Options of ``archive_stale``."""

    policy: Literal["stale", "natural_selection"] = Field(
        default="stale", description="Which memories are archived: unread and faded, or the least relevant."
    )
    effective_importance: float = Field(
        default=0.2, ge=0, le=1, description="Effective importance below which an unread memory is stale."
    )
    min_age_hours: float = Field(default=168.0, ge=0, description="Least age of a stale memory.")
    relevance_floor: float = Field(default=0.1, ge=0, description="Relevance below which a memory is archived.")
    ring_cap: int = Field(
        default=1000, ge=1, description="Memories of one term (working, short or long) that are kept."
    )


SIGNAL_WEIGHTS: Final = {
    "frequency": 0.24,
    "relevance": 0.30,
    "recency": 0.15,
    "diversity": 0.15,
    "consolidation": 0.10,
    "selected_rate": 0.06,
}
"""Default weights of the recall signals, which sum to 1; nexo has the first five."""


class PromoteMemoriesOptions(BaseModel):
    """Options of ``promote_memories``."""

    min_score: float = Field(default=0.35, ge=0, le=1, description="Score that a promotion needs.")
    min_recalls: int = Field(default=3, ge=1, description="Recalls that a promotion needs.")
    min_queries: int = Field(default=2, ge=1, description="Distinct questions that a promotion needs.")
    max_per_night: int = Field(default=20, ge=1, description="Promotions of one night, the best first.")
    weights: dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = Field(
        default_factory=lambda: {**SIGNAL_WEIGHTS},
        description="Weight of each recall signal in the score; signals that are not named keep theirs.",
    )

    @field_validator("weights")
    @classmethod
    def complete_weights(cls, value: dict[str, float]) -> dict[str, float]:
        """Add the default weights of signals that are not named; refuse unknown signals and weights that are all zero."""
        weights = SIGNAL_WEIGHTS | value
        if unknown := sorted(weights.keys() - SIGNAL_WEIGHTS):
            raise ValueError(f"there is no signal {unknown[0][:64]!r}; the signals are {', '.join(SIGNAL_WEIGHTS)}")
        if not any(weights.values()):
            raise ValueError("all weights are 0, so every score would be 0; give one signal a weight")
        return weights


class BackfillTagsOptions(BaseModel):
    """Options of ``backfill_tags``."""

    scope: Literal["promoted", "all"] = Field(
        default="promoted",
        description="Whether concept tags are for promoted memories or for all.",
        json_schema_extra={"why": "Agents that filter by tags need them on every memory."},
    )


class DecayTransitionOptions(BaseModel):
    """Options of ``decay_transition``."""

    days: dict[str, int] = Field(
        default_factory=lambda: {"full": 7, "compressed": 30, "summary": 90, "essence": 365},
        description="Days in each stage before the next.",
    )
    tokens: dict[str, int] = Field(
        default_factory=lambda: {"full": 500, "compressed": 250, "summary": 150, "essence": 50},
        description="Tokens that a memory has in each stage.",
    )


class ReembedOptions(BaseModel):
    """Options of ``reembed``."""

    max_per_night: int = Field(
        default=5_000,
        ge=0,
        description="Vectors that a night makes for memories and chunks without one; for entities as many.",
        json_schema_extra={"why": "After a change of the model: how much of a paid or slow endpoint a night may use."},
    )


class CommunitySummariesOptions(BaseModel):
    """Options of ``community_summaries``."""

    min_size: int = Field(default=5, ge=2, description="Members that a community needs for a summary.")
    max_members_per_prompt: int = Field(
        default=20, ge=1, description="Members that a summary quotes, the most mentioned first."
    )
    model: str = Field(default="", description="Model that writes summaries; empty takes sentences from the sources.")


class PurgeExpiredOptions(BaseModel):
    """Options of ``purge_expired``."""

    retention_days: int = Field(
        default=365, ge=7, description="Days after which a retired row may be purged; never under 7."
    )
