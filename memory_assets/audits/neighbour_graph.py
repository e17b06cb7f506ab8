"""``audit/neighbour_graph``."""

from memory_assets.operations import audit
from slowwave.operations import Inputs
from slowwave.reports.model import Report


@audit(tables=("memories", "memory_versions", "memory_vectors"), models=())
def neighbour_graph(inputs: Inputs) -> Report:
    """Which memories lie near which: the nearest of each by the stored vectors, how near they are, and how many have no vector.

    Memories that tell the same are merged by `dedupe_memories`; many about one matter are summed up by `consolidate_clusters`.
    """
    from slowwave.audits.neighbour_graph import neighbour_graph as run

    return run(inputs)
