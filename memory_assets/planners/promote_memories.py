"""``plan/promote_memories``."""

from memory_assets.operations import planner
from slowwave.operations import Inputs, Proposal


@planner(
    tables=("memories", "memory_versions", "promotions", "rejections"),
    models=("recall_signals", "recall_signals_compat"),
)
def promote_memories(inputs: Inputs) -> Proposal:
    """Memories that recall has proven on several days and by several questions go to the long-term ring, the best first.

    A promotion is revoked when its memory is retired or recall no longer proves it. What screening finds something in is not
    promoted.
    """
    from slowwave.planners.promote_memories import promote_memories as run

    return run(inputs)
