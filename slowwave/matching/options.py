"""Options of matching: thresholds of merges and questions, from the settings of a namespace or by default."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Protocol, TypeVar

from pydantic import BaseModel, Field, field_validator

Options = TypeVar("Options", bound=BaseModel)


class DedupeEntitiesOptions(BaseModel):
    """Options of ``dedupe_entities``."""

    default_threshold: float = Field(
        default=0.90,
        ge=0,
        le=1,
        description="Cosine under which a pair becomes a question, unless names that mean the same have an equal identifier.",
    )
    per_type_thresholds: dict[str, float] = Field(default_factory=dict, description="The same, per type.")
    verifier_band_low: float = Field(default=0.78, ge=0, le=1, description="Cosine from which a pair is compared.")
    review_pairs_per_row: float = Field(
        default=2.0,
        ge=0,
        le=100,
        description="Doubtful pairs that a person is asked about, at most, for each entity; 0 asks about none.",
        json_schema_extra={"why": "How many questions the reviewers have time for."},
    )
    unique_sources: tuple[str, ...] = Field(
        default=(),
        description="Sources free of duplicates within themselves; `*` means each.",
        json_schema_extra={"why": "Only the user knows that a source, such as a CRM, has no duplicates."},
    )
    identity: dict[str, tuple[str, ...]] = Field(
        default_factory=dict,
        description="Properties that together identify the entities of a type: equal values merge unasked, different ones never.",
        json_schema_extra={"why": "Only the owner of the schema knows that an email belongs to one person."},
    )

    @field_validator("identity")
    @classmethod
    def check_identity(cls, value: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        """Refuse a type without properties, a property without a name, and a type that is declared twice."""
        for type_, properties in value.items():
            if not properties or not all(name.strip() for name in properties):
                raise ValueError(
                    f'the identity of {type_[:64]!r} names no property; write a list of names, such as ["email"]'
                )
        times = Counter(type_.strip().casefold() for type_ in value)
        if twice := sorted(type_ for type_ in value if times[type_.strip().casefold()] > 1):
            raise ValueError(
                f"{' and '.join(map(repr, twice[:2]))[:140]} are spellings of one type; declare its identity once"
            )
        return value


class RecomputeCentroidsOptions(BaseModel):
    """Options of ``recompute_centroids``."""

    lev_threshold: int = Field(default=2, ge=0, description="Names this close keep the mean vector.")
    min_intra_cluster_cosine: float = Field(
        default=0.88,
        ge=0,
        le=1,
        description="Smallest cosine between two members of a cluster; a cluster with a smaller one is reported and not merged.",
    )


class MatchSettings(Protocol):
    """Settings that hold the options of matching, such as those of a namespace."""

    def options(self, operation: str, declared: type[Options]) -> Options:
        """Return the options of an operation."""
        ...


@dataclass(frozen=True, slots=True)
class DefaultSettings:
    """Settings for callers that have none: every option has its default, whatever the environment is."""

    def options(self, operation: str, declared: type[Options]) -> Options:
        """Return the options of an operation with their defaults."""
        return declared()
