"""Options of matching: thresholds of merges and questions, from the settings of a namespace or by default."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field


class SwitchedOn(BaseModel):
    """The switch of an operation that is on by default; its options are fields of a subclass."""

    model_config = ConfigDict(frozen=True)
    enabled: bool = True


class DedupeEntitiesOptions(SwitchedOn):
    """Options of ``dedupe_entities``."""

    default_threshold: float = Field(
        default=0.90,
        ge=0,
        le=1,
        description="Cosine under which a pair becomes a question, unless names that mean the same have an equal identifier.",
    )
    per_type_thresholds: dict[str, float] = Field(default_factory=dict, description="The same, per type.")
    verifier_band_low: float = Field(default=0.78, ge=0, le=1, description="Cosine from which a pair is looked at.")
    expected_precision: float = Field(
        default=0.99, ge=0.5, le=1, description="Expected share of right merges in a plan."
    )
    review_pairs_per_row: float = Field(
        default=2.0,
        ge=0,
        le=100,
        description="Doubtful pairs that a person is asked about, at most, for each entity; 0 asks about none.",
    )
    unique_sources: tuple[str, ...] = Field(
        default=(), description="Sources free of duplicates within themselves; `*` means each."
    )


class RecomputeCentroidsOptions(SwitchedOn):
    """Options of ``recompute_centroids``."""

    lev_threshold: int = Field(default=2, ge=0, description="Names this close keep the mean vector.")
    min_intra_cluster_cosine: float = Field(
        default=0.88,
        ge=0,
        le=1,
        description="Smallest cosine between two members of a cluster; a cluster with a smaller one is reported and not merged.",
    )


class MatchOperations(Protocol):
    """The options of the two operations that matching takes its thresholds from."""

    @property
    def dedupe_entities(self) -> DedupeEntitiesOptions:
        """Return the thresholds of merges and questions."""
        ...

    @property
    def recompute_centroids(self) -> RecomputeCentroidsOptions:
        """Return the options that state how near the members of a cluster have to be."""
        ...


class MatchSettings(Protocol):
    """Settings that hold the options of matching, such as those of a namespace."""

    @property
    def operations(self) -> MatchOperations:
        """Return the options by operation."""
        ...


@dataclass(frozen=True, slots=True)
class DefaultOperations:
    """The options of both operations with their defaults."""

    dedupe_entities: DedupeEntitiesOptions = field(default_factory=DedupeEntitiesOptions)
    recompute_centroids: RecomputeCentroidsOptions = field(default_factory=RecomputeCentroidsOptions)


@dataclass(frozen=True, slots=True)
class DefaultSettings:
    """Settings for callers that have none: every option has its default, whatever the environment is."""

    operations: DefaultOperations = field(default_factory=DefaultOperations)
