"""``plan/prune_edges``."""

from memory_assets.operations import planner
from slowwave.operations import Inputs, Proposal


@planner(tables=("relationships", "entities", "chunks", "documents", "rejections"), models=())
def prune_edges(inputs: Inputs) -> Proposal:
    """Weak relationships of which every chunk is gone are retired, of the types that may be pruned (`ASSOCIATED_WITH` unless set).

    *Review* asks about weak ones that cite no chunk at all, that a standing document speaks for, or that join two pinned entities.
    With a score threshold set, those whose weight has faded with age are asked about as well.
    """
    from slowwave.planners.prune_edges import prune_edges as run

    return run(inputs)
