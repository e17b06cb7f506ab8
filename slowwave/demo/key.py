"""The answer key: what was planted in a demo namespace, written down while planting and never by looking for it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class DuplicateGroup:
    """Entities that are one thing. ``kind`` says how their names differ."""

    kind: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MergeTrap:
    """Two rows of ``table`` that look alike and must not be merged."""

    kind: str
    table: str
    ids: tuple[str, str]


@dataclass(frozen=True, slots=True)
class PlantedContradiction:
    """Two rows of ``table`` that cannot both be true, and the values in which they differ."""

    table: str
    ids: tuple[str, str]
    subject: str
    values: tuple[str, str]


@dataclass(frozen=True, slots=True)
class DeadReference:
    """A row whose ``source_chunk_ids`` name chunks that are absent or invalidated."""

    table: str
    row_id: str
    chunk_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RelativeDate:
    """A memory that says ``phrase``; ``resolved`` is the ISO date that its valid_from gives it (in UTC)."""

    memory_id: str
    phrase: str
    resolved: str


@dataclass(frozen=True, slots=True)
class SchemaDrift:
    """Types in use but not declared (new) and declared but not in use (unused)."""

    new_entity_types: tuple[str, ...]
    unused_entity_types: tuple[str, ...]
    new_relationship_types: tuple[str, ...]
    unused_relationship_types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """All that was planted in one namespace. ``orphans`` must be reported, ``orphan_traps`` must not."""

    namespace: str
    duplicates: tuple[DuplicateGroup, ...]
    merge_traps: tuple[MergeTrap, ...]
    contradictions: tuple[PlantedContradiction, ...]
    dead_references: tuple[DeadReference, ...]
    orphans: tuple[str, ...]
    orphan_traps: tuple[str, ...]
    schema_drift: SchemaDrift
    relative_dates: tuple[RelativeDate, ...]

    def as_dict(self) -> dict[str, Any]:
        """The key as JSON values."""
        return asdict(self)
