"""Settings: one Pydantic model of ``SLOWWAVE_`` variables, overlaid by the settings of a namespace."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from datetime import UTC, tzinfo
from typing import Any, Final, Literal, NamedTuple, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from slowwave.errors import SettingsError, plain_fault
from slowwave.models.embedding_models import OFFLINE_MODELS, default_model
from slowwave.models.panel import SearchStep

# Settings: one Pydantic model, from ``SLOWWAVE_`` variables, overlaid by a namespace's own ``settings``.
#
# Names and defaults follow khora's where it has the setting. Database addresses live in ``slowwave.store.connect``:
# settings are fingerprinted, stored with plans and shown; secrets are not settings.

PREFIX: Final = "SLOWWAVE_"

KHORA_PREFIX: Final = "KHORA_DREAM_"
KHORA_KILL_SWITCH: Final = f"{KHORA_PREFIX}DISABLE_APPLY"
"""It stops apply here too (``slowwave.plans.approval``) and is no setting."""
KHORA_SETTINGS: Final[Mapping[str, str]] = {
    "enabled": "enabled",
    "default_mode": "default_mode",
    "ops.dedupe_entities": "operations.dedupe_entities.enabled",
    "ops.prune_edges": "operations.prune_edges.enabled",
    "ops.recompute_centroids": "operations.recompute_centroids.enabled",
    "ops.compact_facts": "operations.purge_expired.enabled",
    "ops.cluster_events": "operations.dedupe_memories.events_enabled",
    "dedupe_entities_enabled": "operations.dedupe_entities.enabled",
    "source_chunk_ids_gc_enabled": "operations.gc_references.enabled",
    "centroid_recompute_enabled": "operations.recompute_centroids.enabled",
    "prune_edges_enabled": "operations.prune_edges.enabled",
    "contradiction_detect_enabled": "operations.contradictions.enabled",
    "contradiction_reconcile_enabled": "operations.resolve_conflicts.enabled",
    "community_summary_enabled": "operations.community_summaries.enabled",
    "normalize_schema_enabled": "operations.normalize_schema.enabled",
    "llm_max_tokens_per_run": "llm_max_tokens_per_run",
    "llm_max_tokens_per_namespace_per_day": "llm_max_tokens_per_namespace_per_day",
    "retention_days": "retention_days",
    "retention_runs_per_namespace": "retention_runs_per_namespace",
    "report_file_sink_enabled": "report_file_sink_enabled",
    "report_event_sink_enabled": "report_event_sink_enabled",
    "report_collector_sink_enabled": "report_collector_sink_enabled",
    "redact_text": "redact_text",
    "dream_op_types": "dream_op_types",
    "dream_decisions": "dream_decisions",
    "cooccurrence_edge_weight": "cooccurrence_edge_weight",
    "orphan_pr_percentile_threshold": "operations.orphans.pr_percentile_threshold",
    "source_chunk_ids_gc_min_dead": "operations.gc_references.min_dead",
    "centroid_lev_threshold": "operations.recompute_centroids.lev_threshold",
    "centroid_min_intra_cluster_cosine": "operations.recompute_centroids.min_intra_cluster_cosine",
    "dedupe_entities_default_threshold": "operations.dedupe_entities.default_threshold",
    "dedupe_entities_per_type_thresholds": "operations.dedupe_entities.per_type_thresholds",
    "dedupe_verifier_band_low": "operations.dedupe_entities.verifier_band_low",
    "dedupe_verifier_timeout_seconds": "judge_timeout_seconds",
    "dedupe_verifier_min_confidence": "judge_confidence",
    "prune_edges_target_predicates": "operations.prune_edges.target_predicates",
    "prune_edges_confidence_threshold": "operations.prune_edges.confidence_threshold",
    "contradiction_detect_similarity_threshold": "operations.contradictions.similarity_threshold",
    "contradiction_reconcile_timeout_seconds": "judge_timeout_seconds",
    "contradiction_reconcile_min_confidence": "judge_confidence",
    "community_summary_min_size": "operations.community_summaries.min_size",
    "community_summary_model": "operations.community_summaries.model",
    "community_summary_max_members_per_prompt": "operations.community_summaries.max_members_per_prompt",
    "normalize_schema_mapping": "operations.normalize_schema.mapping",
    "abstention_drift_min_samples": "operations.abstention_drift.min_samples",
    "abstention_drift_sample_cap": "operations.abstention_drift.sample_cap",
    "fact_compaction_retention_days": "operations.purge_expired.retention_days",
    "event_clustering_cosine_threshold": "operations.dedupe_memories.events_cosine_threshold",
    "event_clustering_window_days": "operations.dedupe_memories.events_window_days",
}
"""khora's settings whose variables are read here as well, each with our setting, as a path with dots."""

PROGRAM_VARIABLES: Final = frozenset(
    f"{PREFIX}{name}"
    for name in (
        *(
            "HOME",
            "DATABASE_URL",
            "APPLY_DATABASE_URL",
            "REPLICA_URL",
            "DAGSTER_URL",
            "SNAPSHOTS",
            "SNAPSHOT_CACHE_GIB",
            "DISABLE_APPLY",
            "TOKEN",
        ),
        *("WEBHOOK_URL", "WEBHOOK_SECRET", "NOTIFY_URL", "DIGEST_URL", "REVIEW_URL"),
        *("EMBEDDING_API_KEY", "JUDGE_API_KEY", "WRITER_API_KEY", "SEARCH_API_KEY"),
    )
)
"""Variables with our prefix that are no settings: addresses, keys, folders, the limit of their cache and the switch of apply."""

OPERATORS: Final = (
    frozenset(  # addresses, schedules, and whether a program is run in a folder whose configuration it obeys
        (
            *(
                "embedding_endpoint",
                "judge_endpoint",
                "writer_endpoint",
                "search_endpoint",
                "nli_model",
                "reranker_model",
                "report_base_path",
                "workspace_path",
                "pages_git",
            ),
            "wake_profiles",
            *("nightly_hour", "nightly_days", "time_zone", "nights_per_run", "night_run_tags", "worker_memory_gib"),
        )
    )
)

_BY_DAY: Final = frozenset(
    (
        *("recall_log_share", "wake_profiles", "screening_on_write", "max_write_bytes"),
        "reranker_model",
        *("search_model", "search_endpoint", "search_timeout_seconds", "search_steps", "search_max_tokens_per_day"),
        *("nightly_hour", "nightly_days", "time_zone", "nights_per_run", "night_run_tags", "worker_memory_gib"),
        "questions_per_night",
    )
)
"""Settings of what agents ask for, of schedules and of reviews: no plan rests on them."""


class Expertise(BaseModel):
    """The types a namespace declares; ``schema_drift`` compares the store with them."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    entity_types: tuple[str, ...] = ()
    relationship_types: tuple[str, ...] = ()


Options = TypeVar("Options", bound=BaseModel)


class KhoraVariable(NamedTuple):
    """A variable of khora's that is set: its name, our setting as a path (empty if there is none), and its text."""

    name: str
    setting: str
    value: str

    @property
    def ours(self) -> str:
        """Return the variable of our setting."""
        return f"{PREFIX}{self.setting.replace('.', '__')}".upper()


def khora_variables(environment: Mapping[str, str]) -> list[KhoraVariable]:
    """Return khora's variables that are set, in alphabetical order, except those whose setting a variable of ours sets.

    khora writes its switches ``OPS__NAME`` or ``OPS_NAME``.
    """
    known = {name.replace(".", mark).upper(): path for name, path in KHORA_SETTINGS.items() for mark in ("__", "_")}
    upper = {name.upper() for name in environment}
    set_here = [
        KhoraVariable(name, known.get(name.upper().removeprefix(KHORA_PREFIX), ""), environment[name])
        for name in sorted(environment)
        if name.upper().startswith(KHORA_PREFIX)
    ]
    return [one for one in set_here if not one.setting or one.ours not in upper]


class _Environment(EnvSettingsSource):
    """Read variables, khora's where ours are not set, and decode the options of operations, which may be lists and mappings."""

    def __call__(self) -> dict[str, Any]:
        found = super().__call__()
        for operation, given in found.get("operations", {}).items():
            if isinstance(given, dict):
                found["operations"][operation] = {name: _decoded(value) for name, value in given.items()}
        read: dict[str, KhoraVariable] = {}
        for one in khora_variables(os.environ):
            other = read.setdefault(one.setting, one)
            if one.setting and _decoded(other.value) != _decoded(one.value):
                raise SettingsError(
                    f"{other.name} and {one.name} set the same thing to different values. Set {one.ours} to the one that is right, or "
                    "remove one of the two."
                )
            *sections, field = one.setting.split(".")
            place = found
            for section in sections:
                place = place.setdefault(section, {})
            if field:
                place.setdefault(field, _decoded(one.value))
        return found


def _decoded(value: object) -> object:
    """Parse the value of a variable as JSON; text that is not JSON stays as it is."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


class OperationSettings(BaseModel):
    """Settings of one operation: its switch, and the options that it declares next to its function (``Settings.options``)."""

    model_config = ConfigDict(extra="allow", frozen=True)
    enabled: bool | None = None


def zone_of(name: str) -> tzinfo:
    """Return the time zone of that name. Raises ``ValueError`` if this machine knows none."""
    if name == "UTC":  # without data of time zones as well
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("this machine knows no such time zone") from None


class Settings(BaseSettings):
    """The settings of a night.

    Environment variables: ``SLOWWAVE_`` and the field's name, for ``operations`` ``SLOWWAVE_OPERATIONS__NAME__OPTION``; where such a
    variable is not set, khora's (``KHORA_SETTINGS``).
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_nested_delimiter="__", extra="ignore", frozen=True)

    enabled: bool = Field(default=True, description="Whether nights are planned at all.")
    default_mode: Literal["dry-run", "apply"] = Field(
        default="dry-run", description="What a dream does unless its caller says."
    )

    operations: dict[str, OperationSettings] = Field(
        default_factory=dict, description="Switch and options of each operation: see below."
    )
    expertise: Expertise | None = Field(
        default=None,
        description="Declared entity and relationship types.",
        json_schema_extra={"why": "The schema of a namespace is its owner's; khora takes it with each call."},
    )

    cooccurrence_edge_weight: float = Field(
        default=0.2, ge=0, le=1, description="Weight of an ASSOCIATED_WITH edge in PageRank."
    )
    recall_window_days: int = Field(
        default=90, ge=1, description="Recall events older than this no longer count as use."
    )

    source_precedence: tuple[str, ...] = Field(
        default=("human", "canonical", "tool", "model", "consolidation", "import"),
        description="Sources, the most trusted first.",
        json_schema_extra={"why": "Teams differ in whether a tool or a model is to be believed first."},
    )
    writer_endpoint: str = Field(
        default="",
        description="Base URL of the OpenAI-compatible server of that model.",
        json_schema_extra={"why": "The address of the user's own server."},
    )
    writer_timeout_seconds: float = Field(default=30.0, gt=0, description="How long one text may take.")

    reflection_mode: Literal["coordinated", "always"] = Field(
        default="coordinated", description="Whether the cadence gates below hold; always ignores them."
    )
    nightly_hour: int = Field(
        default=3,
        ge=0,
        le=23,
        description="Hour at which the schedule plans nights.",
        json_schema_extra={"why": "When agents and people are idle."},
    )
    nightly_days: tuple[int, ...] = Field(
        default=(1, 2, 3, 4, 5, 6, 7),
        description="Weekdays on which it does, 1 for Monday; on the last of them with the weekly operations.",
        json_schema_extra={"why": "Teams that review on some days only."},
    )
    time_zone: str = Field(
        default="UTC",
        description="Time zone of the schedules, as in Europe/Berlin.",
        json_schema_extra={"why": "Where the team works."},
    )
    nights_per_run: int = Field(
        default=50,
        ge=1,
        le=1000,
        description="Namespaces that one run of Dagster serves.",
        json_schema_extra={"why": "Large deployments spread the runs over more workers."},
    )
    night_run_tags: dict[int, dict[str, Any]] = Field(
        default={},
        description="Tags of a night's run in Dagster, by the rows of its namespaces from which they hold, as JSON.",
        json_schema_extra={"why": "Launchers that take resources from tags, such as dagster-k8s/config."},
    )
    worker_memory_gib: float = Field(
        default=0.0,
        ge=0,
        description="Memory of one process of a night, in GiB; 0 sets no limit. The night of a namespace "
        "that would need more is refused before it begins.",
        json_schema_extra={"why": "Workers have different amounts of memory."},
    )
    gate_min_hours: float = Field(
        default=24.0,
        ge=0,
        description="Hours between two scheduled nights (too_soon), and between two nights that agents request.",
    )
    gate_min_new_records: int = Field(
        default=5, ge=0, description="New memories that a scheduled night needs (too_few_new_records)."
    )
    gate_min_sessions: int = Field(
        default=5, ge=0, description="New sessions that a scheduled weekly night needs (too_few_sessions)."
    )
    dates_write: Literal["beside", "replace"] = Field(
        default="beside",
        description="Whether the ISO date follows a relative one in brackets or takes its place.",
        json_schema_extra={"why": 'Readers who find "yesterday (2026-11-27)" too long.'},
    )
    dates_zone: str = Field(
        default="UTC",
        description="Zone of authors whose memories name none.",
        json_schema_extra={"why": "Where the authors live."},
    )
    consolidation_model: str = Field(
        default="",
        description="Model that words summaries, merged and shortened memories and weekly reflections; empty takes the sources' sentences.",
        json_schema_extra={"why": "A user's own model; Plugged.in always uses one."},
    )
    relevance_half_life_days: dict[str, float] = Field(
        default_factory=lambda: {"user": 10_000.0, "reference": 10_000.0, "feedback": 365.0, "project": 90.0},
        description="Days in which recency falls by half, per kind; 90 for other kinds.",
    )
    signals_compat: bool = Field(
        default=False, description="nexo's original signals: no window, cap 6, weights of 0.94, no gate on days."
    )
    screening_on_import: Literal["block", "quarantine", "warn"] = Field(
        default="warn", description="What an import does with rows that hold a secret or an injection."
    )
    screening_on_write: Literal["block", "redact", "quarantine", "warn"] = Field(
        default="block",
        description="What is done with pages that agents write and that hold a secret, an order to a model or hidden characters, and "
        "with statements that hold such an order.",
    )
    max_write_bytes: int = Field(
        default=10_240,
        ge=256,
        le=256_000,
        description="Bytes (UTF-8) that an agent may write in one call.",
    )
    import_longest_text: int = Field(
        default=100_000,
        ge=1_000,
        le=10_000_000,
        description="Characters of an imported text; a longer one is refused by its line.",
        json_schema_extra={"why": "Stores with whole documents as one text."},
    )
    workspace_path: str = Field(
        default="",
        description="Folder with a folder a namespace for MEMORY.md and DREAMS.md; empty keeps pages in the store.",
        json_schema_extra={"why": "Where people and agents read the pages; nexo-rs has a workspace folder."},
    )
    pages_git: bool = Field(
        default=False,
        description="Commit pages in the workspace folder with git.",
        json_schema_extra={"why": "Users who keep the workspace in git, as nexo-rs does."},
    )

    questions_per_night: int = Field(
        default=50,
        ge=1,
        le=10_000,
        description="Questions of a plan that a review lists first, those that settle most; a group of one form is one question, and the "
        "rest is shown on demand.",
        json_schema_extra={"why": "How much time a person has for a review, only their team knows."},
    )
    blast_radius_share: float = Field(
        default=0.02,
        ge=0,
        le=1,
        description="Share of a table's live rows, and of each type's, that a plan may retire or reword; of their tokens twice that.",
        json_schema_extra={"why": "A first clean-up of a neglected store, or a more cautious owner."},
    )
    blast_radius_rows: int = Field(
        default=25,
        ge=0,
        description="Rows of a table or type that a plan may retire or reword where that is more.",
        json_schema_extra={"why": "The same for small namespaces, where a share is less than a row."},
    )
    blast_radius_housekeeping_share: float = Field(
        default=0.3,
        ge=0,
        le=1,
        description="Share of a table's live rows, and of each type's, that a plan may retire or reword in all where the rest of it is "
        "housekeeping (small talk archived, memories joined that tell the same); of that, what is beyond waits for the next night.",
        json_schema_extra={"why": "A first night over an imported store of mostly duplicates."},
    )
    recall_floor: float = Field(
        default=-0.01,
        le=0,
        description="Lowest allowed bound of the change in Recall@10.",
        json_schema_extra={"why": "How much recall an owner gives up for a smaller memory; 0 is none."},
    )
    plan_expiry_days: int = Field(
        default=7,
        ge=1,
        description="Days until a plan can no longer be approved.",
        json_schema_extra={"why": "Teams that review every second week."},
    )
    snapshot_keep_nights: int = Field(
        default=3,
        ge=1,
        description="Snapshots of a namespace that are kept, beside those of plans that wait.",
        json_schema_extra={"why": "Disk space, and how long a plan can be examined."},
    )

    batch_items: int = Field(
        default=500,
        ge=1,
        description="Items in one apply transaction.",
        json_schema_extra={"why": "Databases on which a transaction must be short from the first batch on."},
    )
    heartbeat_expiry_seconds: int = Field(
        default=300, ge=1, description="Age at which a running apply may be taken over."
    )

    apply_max_replication_lag_seconds: float = Field(
        default=10.0,
        ge=0,
        description="Apply waits while a replica is further behind; 0 is off.",
        json_schema_extra={"why": "Deployments with replicas that agents read."},
    )
    apply_max_batch_seconds: float = Field(
        default=5.0,
        ge=0,
        description="A batch that takes longer is followed by a pause and smaller ones; 0 is off.",
        json_schema_extra={"why": "Deployments whose agents write during the night."},
    )

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
    report_base_path: str = Field(
        default="",
        description="Folder of report files; empty is reports in SLOWWAVE_HOME.",
        json_schema_extra={"why": "A volume for reports in a container."},
    )
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
        default=0,
        ge=0,
        description="Days that before-images are kept, and so undo is possible; 0 is for ever.",
        json_schema_extra={"why": "Privacy rules that limit how long replaced text is kept."},
    )
    freshness_audit_days: int = Field(
        default=2,
        ge=1,
        description="Days without an audit after which a check warns.",
        json_schema_extra={"why": "Schedules with fewer nights than one every second day."},
    )
    freshness_plan_days: int = Field(
        default=3,
        ge=1,
        description="Days a plan may wait before a check warns.",
        json_schema_extra={"why": "Teams that review once a week."},
    )

    embedding_model: str = Field(
        default_factory=default_model,
        description="Model of new namespaces: all-minilm-l6-v2-int8, fast-use-v3 where that is not installed, or an endpoint's.",
    )
    embedding_endpoint: str = Field(
        default="", description="Base URL of an OpenAI-compatible server that has the model; empty means offline."
    )

    recall_log_share: float = Field(
        default=1.0,
        ge=0,
        le=1,
        description="Share of searches, wakes, reminders and pages read that are logged as recalls; 0 logs none.",
        json_schema_extra={"why": "Privacy, and agents with very many recalls."},
    )
    search_model: str = Field(
        default="", description="Model that helps searches by day, in the steps of search_steps; empty means none."
    )
    search_endpoint: str = Field(
        default="",
        description="Base URL of the OpenAI-compatible server of that model.",
        json_schema_extra={"why": "The address of the user's own server."},
    )
    search_timeout_seconds: float = Field(
        default=5.0, gt=0, description="How long it may take; the plain order answers then."
    )
    search_steps: tuple[SearchStep, ...] = Field(
        default=(),
        description="What it does: expand and plan word queries, rerank and select order results, research answers, active_plan and "
        "active_compose plan and word reminders, subject chooses whom a statement is about where that is in doubt.",
    )
    search_max_tokens_per_day: int = Field(
        default=200_000,
        ge=0,
        description="Tokens that it may cost a namespace in 24 hours; 0 is no limit.",
        json_schema_extra={"why": "The price that an operator accepts for a namespace."},
    )
    reranker_model: str = Field(
        default="",
        description="Folder or name of an ONNX cross-encoder with one output that orders the results of searches; empty means none.",
        json_schema_extra={"why": "The user's own model, whose licence, size and time are theirs to choose."},
    )
    wake_profiles: str = Field(
        default="",
        description="File (TOML) of wake profiles beside those that come along; empty means none.",
        json_schema_extra={"why": "Users' own agents and their sections."},
    )

    judge_models: tuple[str, ...] = Field(
        default=(), description="Two models that judge doubtful pairs when a plan is made; empty means none."
    )
    judge_endpoint: str = Field(
        default="",
        description="Base URL of the OpenAI-compatible server of both.",
        json_schema_extra={"why": "The address of the user's own server."},
    )
    judge_confidence: float = Field(default=0.6, ge=0, le=1, description="How sure both must be for a merge.")
    judge_timeout_seconds: float = Field(default=30.0, gt=0, description="How long one answer may take.")
    nli_model: str = Field(
        default="",
        description="Folder or name of an ONNX model of natural language inference that compares near memories; empty means none.",
        json_schema_extra={"why": "The user's own model, whose licence and size are theirs to choose."},
    )
    nli_threshold: float = Field(
        default=0.9,
        gt=0.5,
        le=1,
        description="Probability of a contradiction from which that model asks for a question, together with the words in common.",
        json_schema_extra={"why": "Models differ: `slowwave conflicts calibrate PAIRS` shows what each value finds."},
    )

    @field_validator("judge_models")
    @classmethod
    def _two_or_none(cls, models: tuple[str, ...]) -> tuple[str, ...]:
        if models and (len(models) != 2 or models[0] == models[1] or not all(models)):
            raise ValueError("two different models are needed, or none")
        return models

    @field_validator("nightly_days")
    @classmethod
    def _weekdays(cls, days: tuple[int, ...]) -> tuple[int, ...]:
        if not days or not set(days) <= set(range(1, 8)):
            raise ValueError("at least one weekday is needed, from 1 for Monday to 7 for Sunday")
        return tuple(sorted(set(days)))

    @field_validator("time_zone")
    @classmethod
    def _known_zone(cls, name: str) -> str:
        zone_of(name)
        return name

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources, the first before the second: settings given by name, and variables. There are no files."""
        return init_settings, _Environment(settings_cls)

    @classmethod
    def for_namespace(cls, overlay: Mapping[str, object]) -> Settings:
        """Return the environment's settings, overlaid by those of a namespace.

        Unknown names are ignored, and so are addresses and ``pages_git``: users who may write a namespace's settings must not be able to
        send its memory and the key elsewhere, or to run git. The endpoint serves the model that variables name, so a namespace with an
        offline model does not use it. Raises ``SettingsError`` for an invalid value.
        """
        known = {k: v for k, v in overlay.items() if k in cls.model_fields and k not in OPERATORS}
        if known.get("embedding_model") in OFFLINE_MODELS:
            known["embedding_endpoint"] = ""
        asked = _asked(known)
        if asked in _made:
            return _made[asked]
        try:
            made = cls.model_validate(known)  # what is given goes over variables, option by option
        except ValidationError as problem:
            raise _refused(problem) from None
        if len(_made) >= _KEPT:
            _made.pop(next(iter(_made)), None)  # the oldest
        if asked:
            _made[asked] = made
        return made

    def switch(self, operation: str) -> bool | None:
        """Return whether the settings switch an operation on or off, or None if they leave that to its declaration."""
        given = self.operations.get(operation)
        return given.enabled if given else None

    def options(self, operation: str, declared: type[Options]) -> Options:
        """Return the options that an operation declares, with their defaults.

        Raises ``SettingsError`` for an invalid value.
        """
        given = self.operations.get(operation)
        try:
            return declared.model_validate(given.model_extra or {} if given else {})
        except ValidationError as problem:
            raise _refused(problem, "operations", operation) from None

    def fingerprint(self) -> str:
        """Return the SHA-256 of the canonical JSON of all settings that a plan may rest on."""
        values = self.model_dump(mode="json", exclude=set(_BY_DAY))
        return hashlib.sha256(json.dumps(values, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


_KEPT: Final = 64
_made: Final[dict[str, Settings]] = {}
"""What was asked for → the settings that it gave: a night asks eight times for the same, and reading them takes milliseconds."""


def _asked(known: Mapping[str, Any]) -> str:
    """Return the inputs of the settings as JSON: the given values and the variables; empty if they have no JSON."""
    variables = {k: os.environ[k] for k in os.environ if k.upper().startswith((PREFIX, KHORA_PREFIX))}
    try:
        return json.dumps([known, variables], sort_keys=True)
    except (TypeError, ValueError):
        return ""


def _refused(problem: ValidationError, *place: str) -> SettingsError:
    """Build the error that names the first invalid setting."""
    first = problem.errors()[0]
    path = (*place, *(str(part) for part in first["loc"]))
    return SettingsError(
        f"The setting {'.'.join(path)} cannot be {first['input']!r}: {plain_fault(first['msg'])}. "
        f"Correct it in the namespace's settings, or the variable SLOWWAVE_{'__'.join(path).upper()}."
    )
