"""Settings: one Pydantic model, from ``SLOWWAVE_`` variables, overlaid by a namespace's own ``settings``.

Names and defaults follow khora's where it has the setting. Database addresses live in ``slowwave.store.connect``:
settings are fingerprinted, stored with plans and shown; secrets are not settings.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from slowwave.errors import SettingsError

_ADDRESSES: Final = frozenset(("embedding_endpoint", "judge_endpoint"))


class Expertise(BaseModel):
    """The types a namespace declares; ``schema_drift`` compares the store with them."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    entity_types: tuple[str, ...] = ()
    relationship_types: tuple[str, ...] = ()


class Settings(BaseSettings):
    """Every knob of a night. Environment: ``SLOWWAVE_`` + the field's name."""

    model_config = SettingsConfigDict(env_prefix="SLOWWAVE_", extra="ignore", frozen=True)

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

    dedupe_entities_default_threshold: float = Field(default=0.90, ge=0, le=1, description="Cosine a merge needs.")
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
    centroid_lev_threshold: int = Field(default=2, ge=0, description="Names this close keep the mean vector.")
    centroid_min_intra_cluster_cosine: float = Field(
        default=0.88, ge=0, le=1, description="Every member's cosine to the core."
    )

    blast_radius_share: float = Field(
        default=0.02, ge=0, le=1, description="Share of live rows a plan may retire or reword."
    )
    blast_radius_rows: int = Field(
        default=25, ge=0, description="Rows that are always allowed, however small the namespace."
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
        """Environment settings with a namespace's own on top; an unknown name is ignored, and so is an address: whoever may write a
        namespace's settings must not send its memory, and the key, elsewhere."""
        known = {k: v for k, v in overlay.items() if k in cls.model_fields and k not in _ADDRESSES}
        try:
            return cls.model_validate({**cls().model_dump(), **known})
        except ValidationError as problem:
            first = problem.errors()[0]
            name = ".".join(str(part) for part in first["loc"])
            raise SettingsError(
                f"The setting {name} cannot be {first['input']!r}: {first['msg']}. "
                f"Correct it in the namespace's settings, or the variable SLOWWAVE_{name.upper()}."
            ) from None

    def fingerprint(self) -> str:
        """SHA-256 of the canonical JSON of all settings."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()
