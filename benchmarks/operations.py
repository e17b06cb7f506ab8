"""Which operations are measured where, read from what they declare: a new one is measured without a list that names it."""

from __future__ import annotations

from typing import Any, Final

from slowwave.operations import AUDITS, PLANNERS, Operation

REFERRED: Final = ("gc_references", "merge", "merge_with_vectors")
"""What is applied and undone beside a bare UPDATE of the same cells; the merges stand for ``dedupe_entities``."""

UNAPPLIED: Final = frozenset(("dedupe_entities", "recompute_centroids", "reembed", "consolidate_clusters"))
"""Planners of which nothing is applied by itself: what stands in ``REFERRED``, and what needs an embedder."""


def looked() -> tuple[str, ...]:
    """Audits that read what memories say."""
    return tuple(name for name, made in AUDITS.items() if _of_memories(made))


def planned() -> tuple[str, ...]:
    """Planners that read what memories say, but the one that deletes."""
    return tuple(
        name for name, made in PLANNERS.items() if _of_memories(made) and not any(p.deletes for p in made.permits)
    )


def applied() -> tuple[str, ...]:
    """Planners of which all items are applied and undone, on a namespace of entities, facts and events."""
    return tuple(
        name
        for name, made in PLANNERS.items()
        if name not in REFERRED and name not in UNAPPLIED and (not _of_memories(made) or _of_graph(made))
    )


def _of_memories(made: Operation[Any]) -> bool:
    return "memory_versions" in made.reads


def _of_graph(made: Operation[Any]) -> bool:
    return not {"chunks", "relationships"}.isdisjoint(made.reads) or any(p.deletes for p in made.permits)
