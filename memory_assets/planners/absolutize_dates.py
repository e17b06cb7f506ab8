"""``plan/absolutize_dates``."""

from memory_assets.operations import planner
from slowwave.operations import Inputs, Proposal


@planner(tables=("memories", "memory_versions", "memory_vectors", "rejections"), models=())
def absolutize_dates(inputs: Inputs) -> Proposal:
    """Relative dates of a memory are written out as ISO dates, as they were meant on the day it was told, in its author's zone.

    The new text is a new version; the former one stays on record. Quotations, code, addresses and titles are never touched, and a
    pinned memory is only reported.
    """
    from slowwave.planners.absolutize_dates import absolutize_dates as run

    return run(inputs)
