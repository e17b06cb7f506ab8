"""``audit/relative_dates``."""

from memory_assets.operations import audit
from slowwave.operations import Inputs
from slowwave.reports.model import Report


@audit(tables=("memories", "memory_versions"), models=())
def relative_dates(inputs: Inputs) -> Report:
    """Memories that say "yesterday", "last week" or "in two days": how many, of which kinds, and what cannot be told and why.

    Such words mean another day each time they are read. The planner `absolutize_dates` proposes to write the dates out.
    """
    from slowwave.audits.relative_dates import relative_dates as run

    return run(inputs)
