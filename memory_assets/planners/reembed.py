"""``plan/reembed``."""

from memory_assets.operations import planner
from slowwave.operations import Inputs, Proposal


@planner(
    tables=("memories", "memory_versions", "chunks", "memory_vectors", "chunk_vectors", "rejections"),
    models=(),
)
def reembed(inputs: Inputs) -> Proposal:
    """Memories and chunks without a vector of the namespace's model get one; similarity does not see them until then.

    Vectors that are zero or not finite are replaced. A night makes as many as `reembed_max_per_night` says; entities get
    theirs from `recompute_centroids`.
    """
    from slowwave.planners.reembed import reembed as run

    return run(inputs)
