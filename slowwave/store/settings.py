"""Settings: one Pydantic model of ``SLOWWAVE_`` variables, overlaid by the settings of a namespace."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from datetime import UTC, tzinfo
from typing import Any, Final, Literal, TypeVar
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
from slowwave.store.operation_settings import Operations

# Settings: one Pydantic model, from ``SLOWWAVE_`` variables, overlaid by a namespace's own ``settings``.
#
# Names and defaults follow khora's where it has the setting. Database addresses live in ``slowwave.store.connect``:
# settings are fingerprinted, stored with plans and shown; secrets are not settings.

PREFIX: Final = "SLOWWAVE_"

PROGRAM_VARIABLES: Final = frozenset(
    f"{PREFIX}{name}"
    for name in (
        *("HOME", "DATABASE_URL", "APPLY_DATABASE_URL", "DAGSTER_URL", "SNAPSHOTS", "DISABLE_APPLY", "TOKEN"),
        *("WEBHOOK_URL", "WEBHOOK_SECRET", "NOTIFY_URL", "DIGEST_URL", "REVIEW_URL"),
        *("EMBEDDING_API_KEY", "JUDGE_API_KEY", "WRITER_API_KEY", "SEARCH_API_KEY"),
    )
)
"""Variables with our prefix that are no settings: addresses, keys, folders and the switch of apply."""

OPERATORS: Final = (
    frozenset(  # addresses, schedules, and whether a program is run in a folder whose configuration it obeys
        (
            *(
                "embedding_endpoint",
                "judge_endpoint",
                "writer_endpoint",
                "search_endpoint",
                "report_base_path",
                "workspace_path",
                "pages_git",
            ),
            "wake_profiles",
            *("nightly_hour", "nightly_days", "time_zone", "nights_per_run"),
        )
    )
)

_BY_DAY: Final = frozenset(
    (
        *("recall_log_share", "wake_profiles", "screening_on_write", "max_write_bytes"),
        *("search_model", "search_endpoint", "search_timeout_seconds", "search_steps", "search_max_tokens_per_day"),
        *("nightly_hour", "nightly_days", "time_zone", "nights_per_run"),
    )
)
"""Settings of what agents ask for, and of schedules: no plan rests on them."""


class Expertise(BaseModel):
    """The types a namespace declares; ``schema_drift`` compares the store with them."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    entity_types: tuple[str, ...] = ()
    relationship_types: tuple[str, ...] = ()


Options = TypeVar("Options", bound=BaseModel)


class _Environment(EnvSettingsSource):
    """Read variables, and decode the options of operations that have no model here."""

    def __call__(self) -> dict[str, Any]:
        found = super().__call__()
        for operation, given in found.get("operations", {}).items():
            if operation not in Operations.model_fields:  # its options are declared elsewhere, and may be lists
                found["operations"][operation] = {name: _decoded(value) for name, value in given.items()}
        return found


def _decoded(value: object) -> object:
    """Parse the value of a variable as JSON; text that is not JSON stays as it is."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


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

    Environment variables: ``SLOWWAVE_`` and the field's name, for ``operations`` ``SLOWWAVE_OPERATIONS__NAME__OPTION``.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_nested_delimiter="__", extra="ignore", frozen=True)

    enabled: bool = Field(default=True, description="Whether nights are planned at all.")
    default_mode: Literal["dry-run", "apply"] = Field(
        default="dry-run", description="What a dream does unless its caller says."
    )

    operations: Operations = Field(default=Operations(), description="What is set of each operation: see below.")
    expertise: Expertise | None = Field(default=None, description="Declared entity and relationship types.")

    cooccurrence_edge_weight: float = Field(
        default=0.2, ge=0, le=1, description="Weight of an ASSOCIATED_WITH edge in PageRank."
    )
    recall_window_days: int = Field(
        default=90, ge=1, description="Recall events older than this no longer count as use."
    )
    frequency_cap: int = Field(default=20, ge=1, description="Recalls at which the frequency signal saturates.")

    source_precedence: tuple[str, ...] = Field(
        default=("human", "canonical", "tool", "model", "consolidation", "import"),
        description="Sources, the most trusted first.",
    )
    writer_endpoint: str = Field(default="", description="Base URL of the OpenAI-compatible server of that model.")
    writer_timeout_seconds: float = Field(default=30.0, gt=0, description="How long one text may take.")

    reflection_mode: Literal["coordinated", "always"] = Field(
        default="coordinated", description="Whether the cadence gates below hold; always ignores them."
    )
    nightly_hour: int = Field(default=3, ge=0, le=23, description="Hour at which the schedule plans nights.")
    nightly_days: tuple[int, ...] = Field(
        default=(1, 2, 3, 4, 5, 6, 7),
        description="Weekdays on which it does, 1 for Monday; on the last of them with the weekly operations.",
    )
    time_zone: str = Field(default="UTC", description="Time zone of the schedules, as in Europe/Berlin.")
    nights_per_run: int = Field(default=50, ge=1, le=1000, description="Namespaces that one run of Dagster serves.")
    gate_min_hours: float = Field(default=24.0, ge=0, description="Hours between two scheduled nights (too_soon).")
    gate_min_new_records: int = Field(
        default=5, ge=0, description="New memories that a scheduled night needs (too_few_new_records)."
    )
    gate_min_sessions: int = Field(
        default=5, ge=0, description="New sessions that a scheduled weekly night needs (too_few_sessions)."
    )
    dates_write: Literal["beside", "replace"] = Field(
        default="beside", description="Whether the ISO date follows a relative one in brackets or takes its place."
    )
    dates_zone: str = Field(default="UTC", description="Zone of authors whose memories name none.")
    consolidation_model: str = Field(
        default="", description="Model that words summaries and shortened memories; empty takes the sources' sentences."
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
    )
    workspace_path: str = Field(
        default="",
        description="Folder with a folder a namespace for MEMORY.md and DREAMS.md; empty keeps pages in the store.",
    )
    pages_git: bool = Field(default=False, description="Commit pages in the workspace folder with git.")

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
    blast_radius_housekeeping_share: float = Field(
        default=0.3,
        ge=0,
        le=1,
        description="Share of a table's live rows, and of each type's, that a plan may retire or reword in all where the rest of it is "
        "housekeeping (small talk archived, memories joined that tell the same); of that, what is beyond waits for the next night.",
    )
    recall_floor: float = Field(default=-0.01, le=0, description="Lowest allowed bound of the change in Recall@10.")
    recall_probe_queries: int = Field(default=500, ge=1, description="Most recent recall events that are replayed.")
    plan_expiry_days: int = Field(default=7, ge=1, description="Days until a plan can no longer be approved.")
    snapshot_keep_nights: int = Field(
        default=3, ge=1, description="Snapshots of a namespace that are kept, beside those of plans that wait."
    )

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
    )
    search_model: str = Field(
        default="", description="Model that helps searches by day, in the steps of search_steps; empty means none."
    )
    search_endpoint: str = Field(default="", description="Base URL of the OpenAI-compatible server of that model.")
    search_timeout_seconds: float = Field(
        default=5.0, gt=0, description="How long it may take; the plain order answers then."
    )
    search_steps: tuple[SearchStep, ...] = Field(
        default=(),
        description="What it does: expand and plan word queries, rerank and select order results, research answers, active_plan and "
        "active_compose plan and word reminders, subject chooses whom a statement is about where that is in doubt.",
    )
    search_max_tokens_per_day: int = Field(
        default=200_000, ge=0, description="Tokens that it may cost a namespace in 24 hours; 0 is no limit."
    )
    wake_profiles: str = Field(
        default="", description="File (TOML) of wake profiles beside those that come along; empty means none."
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
    variables = {k: os.environ[k] for k in os.environ if k.upper().startswith(PREFIX)}
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
