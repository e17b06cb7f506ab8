"""``plan/archive_stale``."""

from memory_assets.operations import planner
from slowwave.operations import Inputs, Proposal


@planner(
    tables=("memories", "memory_versions", "promotions", "conflicts", "rejections"),
    models=("recall_signals",),
)
def archive_stale(inputs: Inputs) -> Proposal:
    """Memories that nobody has use for are archived: they leave recall and stay in the store.

    Never what is pinned, a shock, procedural or instructions, what was recalled in the window, what stands promoted or what is in an open
    conflict. Off unless asked for. The audit `relevance` shows what memories are worth.
    """
    from slowwave.planners.archive_stale import archive_stale as run

    return run(inputs)
