"""``plan/dedupe_memories``."""

from memory_assets.operations import planner
from slowwave.operations import Inputs, Proposal


@planner(
    tables=("memories", "memory_versions", "memory_vectors", "chunks", "documents", "conflicts", "rejections"),
    models=(),
)
def dedupe_memories(inputs: Inputs) -> Proposal:
    """Events that were noted twice become one: the survivor keeps its text and takes tags, sources and counts of the others.

    They must have scope, subject and author in common, lie within the window, and be near the survivor. What differs in a number,
    a date or a negation is never merged.
    """
    from slowwave.planners.dedupe_memories import dedupe_memories as run

    return run(inputs)
