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
    """Two rows of ``table`` that cannot both be true, and the values in which they differ. ``kind`` says how."""

    table: str
    ids: tuple[str, str]
    subject: str
    values: tuple[str, str]
    kind: str = "values"


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
class NegativeExample:
    """Rows of ``table`` that ``problem`` must not be found in: together where they are several, alone where it is one."""

    problem: str
    kind: str
    table: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rename:
    """A row of ``table`` whose type the namespace's settings map to another; ``merges_into`` is the row that has its name there."""

    table: str
    row_id: str
    old: str
    new: str
    merges_into: str = ""


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """All that was planted in one namespace. ``orphans`` must be reported, ``orphan_traps`` must not.

    ``superseded`` are facts as (older, newer), ``expired`` rows as (table, id), ``retired`` all rows that are no longer live;
    ``communities`` is how many there must be at least, ``abstention`` the audit's recommendation. ``traps`` are those of the problems
    that have no field of their own for them.
    """

    namespace: str
    duplicates: tuple[DuplicateGroup, ...]
    merge_traps: tuple[MergeTrap, ...]
    contradictions: tuple[PlantedContradiction, ...]
    dead_references: tuple[DeadReference, ...]
    orphans: tuple[str, ...]
    orphan_traps: tuple[str, ...]
    schema_drift: SchemaDrift
    relative_dates: tuple[RelativeDate, ...]
    duplicate_facts: tuple[tuple[str, ...], ...]
    superseded: tuple[tuple[str, str], ...]
    weak_edges: tuple[str, ...]
    renames: tuple[Rename, ...]
    duplicate_events: tuple[tuple[str, ...], ...]
    expired: tuple[tuple[str, str], ...]
    retired: tuple[tuple[str, str], ...]
    communities: int
    abstention: str
    traps: tuple[NegativeExample, ...]

    def traps_of(self, problem: str) -> tuple[NegativeExample, ...]:
        """Its traps, in the order of planting."""
        return tuple(trap for trap in self.traps if trap.problem == problem)

    def as_dict(self) -> dict[str, Any]:
        """The key as JSON values."""
        return asdict(self)
