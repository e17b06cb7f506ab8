"""``audit/decay_due``."""

from memory_assets.operations import audit
from slowwave.operations import Inputs
from slowwave.reports.model import Report


@audit(tables=("memories", "memory_versions"), models=())
def decay_due(inputs: Inputs) -> Report:
    """How many memories have been in their stage for its days, and how many will be within a week and a month.

    Pinned memories, shocks, procedures and instructions never decay. The planner `decay_transition` proposes the next stage of those that
    are due.
    """
    from slowwave.audits.decay_due import decay_due as run

    return run(inputs)
