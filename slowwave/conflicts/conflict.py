"""A conflict: two rows of one table that cannot both be true, why, and what they said when that was seen.

Rows that say the same stand behind one of them. What a row says is its content without provenance, weights and times, so that a
verdict about two rows holds as long as they say the same, whatever else happens to them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from slowwave.mutations.cells import canonical_json

Reason = Literal["object", "number", "date", "polarity", "low_similarity", "property_contradiction", "reversed"]
Table = Literal["relationships", "memory_facts", "memories"]

REASONS: Final[Mapping[str, str]] = {
    "object": "name different objects of a predicate that takes one",
    "number": "state different numbers",
    "date": "state different dates",
    "polarity": "assert and deny the same, or use terms that exclude each other",
    "low_similarity": "describe one thing in ways that have little in common",
    "property_contradiction": "have different values of a shared property",
    "reversed": "run both ways, and their type runs one way only",
}
"""Reason → what two rows do, in words."""

SAID: Final[Mapping[str, tuple[str, ...]]] = {
    "relationships": ("source_entity_id", "target_entity_id", "relationship_type", "description", "properties"),
    "memory_facts": ("subject", "predicate", "object", "fact_text"),
    "memories": ("kind", "subject", "current_version_id"),
}
"""Table → the columns in which its rows say something."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Rows ``a`` < ``b``; ``also_a`` and ``also_b`` say the same as they do. ``evidence`` is JSON; of memory it holds
    predicates and property keys alone.

    ``seen`` is the SHA-256 of what both said; ``evidence["said"]`` has the hash of each. A conflict is ``doubtful`` when the rule that
    found it is wrong often enough that only a person should decide it.
    """

    table: str
    a: str
    b: str
    reason: str
    seen: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    also_a: tuple[str, ...] = ()
    also_b: tuple[str, ...] = ()

    @property
    def doubtful(self) -> bool:
        """Whether only a person should decide it."""
        return bool(self.evidence.get("doubtful"))

    @property
    def pattern(self) -> str:
        """Return the name under which the rule that found it is measured (``slowwave.config.decides_alone``): "memories: texts"."""
        rule = str(self.evidence.get("rule", ""))
        return f"{self.table}: {relation_pattern(str(self.evidence['predicate'])) if rule == 'relation' else rule}"

    def to_json(self) -> dict[str, object]:
        """As findings hold it, under ``conflict``."""
        return {
            "table": self.table,
            "row_a_id": self.a,
            "row_b_id": self.b,
            "reason": self.reason,
            "evidence": {**self.evidence, **({"also": self.also()} if self.also_a or self.also_b else {})},
            "seen": self.seen,
        }

    def also(self) -> dict[str, list[str]]:
        """The rows behind each of the two."""
        return {"a": list(self.also_a), "b": list(self.also_b)}


def relation_pattern(relation: str) -> str:
    """Return the name of the pattern that reads a relation; what a thing is or is described as is one pattern ("is (day)")."""
    return "description" if relation.endswith(")") else f"relation {relation}"


def said_hash(table: str, row: Mapping[str, object]) -> str:
    """SHA-256 of what a row says: its columns of ``SAID``."""
    return hashlib.sha256(canonical_json([table, *(row[c] for c in SAID[table])]).encode()).hexdigest()


def seen_hash(said: Sequence[str]) -> str:
    """SHA-256 of what several rows say, in whatever order."""
    return hashlib.sha256(canonical_json(sorted(said)).encode()).hexdigest()
