"""``plan/recompute_centroids``."""

from memory_assets.operations import planner
from slowwave.operations import Inputs, Proposal


@planner(tables=("entities", "entity_vectors", "rejections"), models=())
def recompute_centroids(inputs: Inputs) -> Proposal:
    """Live entities without a vector get that of their text; similarity does not see them until then.

    A merge decides on its own vector and carries it: see `dedupe_entities`.
    """
    from slowwave.planners.recompute_centroids import recompute_centroids as run

    return run(inputs)
