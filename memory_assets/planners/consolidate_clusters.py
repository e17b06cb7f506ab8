"""``plan/consolidate_clusters``."""

from memory_assets.operations import planner
from slowwave.operations import Inputs, Proposal


@planner(
    tables=("memories", "memory_versions", "memory_vectors", "chunks", "documents", "conflicts", "rejections"),
    models=(),
)
def consolidate_clusters(inputs: Inputs) -> Proposal:
    """Memories that lie close are told by one shorter text; they leave recall for it and stay linked to it.

    A summary stands for those whose numbers, dates, names and negations it all keeps; the others stay what they are. Its sentences
    are taken from the sources, or written by `SLOWWAVE_CONSOLIDATION_MODEL` and held against them.
    """
    from slowwave.planners.consolidate_clusters import consolidate_clusters as run

    return run(inputs)
