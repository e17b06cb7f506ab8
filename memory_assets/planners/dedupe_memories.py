"""``plan/dedupe_memories``."""

from memory_assets.operations import planner
from slowwave.operations import Inputs, Proposal


@planner(
    tables=("memories", "memory_versions", "memory_vectors", "chunks", "documents", "conflicts", "rejections"),
    models=(),
)
def dedupe_memories(inputs: Inputs) -> Proposal:
    """Memories that tell the same become one: the survivor keeps its text and takes tags, sources and counts of the others.

    They must have kind, scope, subject, author and audience in common and be near the survivor; events besides within the window. What
    contradicts, or differs in a number, a date or a negation, is never merged, nor is a pinned memory absorbed.
    """
    from slowwave.planners.dedupe_memories import dedupe_memories as run

    return run(inputs)
