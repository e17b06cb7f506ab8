"""``plan/gc_references``."""

from memory_assets.operations import planner
from slowwave.operations import Inputs, Proposal


@planner(
    tables=("entities", "relationships", "memories", "memory_facts", "chunks", "documents", "rejections"),
    models=("dead_references",),
)
def gc_references(inputs: Inputs) -> Proposal:
    """Dead chunk and document ids are taken out of the provenance of live rows; every living id stays.

    The audit `dead_references` shows the same rows and how much of their arrays is dead.
    """
    from slowwave.planners.gc_references import gc_references as run

    return run(inputs)
