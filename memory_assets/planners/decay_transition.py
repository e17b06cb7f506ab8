"""``plan/decay_transition``."""

from memory_assets.operations import planner
from slowwave.operations import Inputs, Proposal


@planner(
    tables=("memories", "memory_versions", "memory_vectors", "rejections"),
    models=(),
)
def decay_transition(inputs: Inputs) -> Proposal:
    """Memories that have been in their stage for its days are told shorter: full, compressed, summary, essence, and then the archive.

    Every stage's text is a version, and the older ones stay. Memories that are often read or confirmed take longer, failed ones less;
    pinned ones, shocks, procedures and instructions (memory blocks, personas, lists of rules) do not decay. Lists are shortened by whole
    items, and what cannot be told well in so few words stays as it is. The evidence names what a shorter text no longer says.
    """
    from slowwave.planners.decay_transition import decay_transition as run

    return run(inputs)
