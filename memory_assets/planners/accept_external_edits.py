"""``plan/accept_external_edits``."""

from memory_assets.operations import planner
from slowwave.operations import Inputs, Proposal


@planner(tables=("memories", "memory_versions", "memory_vectors", "rejections"), models=())
def accept_external_edits(inputs: Inputs) -> Proposal:
    """Memories that an outside dreamer rewrote are marked as seen and get the vector of their text; its reports are counted once.

    A memory was rewritten when its attribute `dreamed_at` is set and `dreamed_processed` is not. No text is touched.
    """
    from slowwave.planners.accept_external_edits import accept_external_edits as run

    return run(inputs)
