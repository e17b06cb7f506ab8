"""``plan/purge_expired``."""

from memory_assets.operations import planner
from slowwave.operations import Inputs, Proposal


@planner(
    tables=(
        *("memory_facts", "relationships", "memories", "memory_versions", "promotions", "communities"),
        *("entities", "pages", "conflicts", "rejections", "memory_vectors"),
    ),
    models=(),
)
def purge_expired(inputs: Inputs) -> Proposal:
    """Rows retired longer ago than the retention are deleted: the only operation that deletes, and off unless it is switched on.

    Never anything that a live row names or that is pinned, never within seven days, and no policy approves it. The plan and the
    journal hold every row whole, so undo puts it back; what retired it can no longer be undone before that.
    """
    from slowwave.planners.purge_expired import purge_expired as run

    return run(inputs)
