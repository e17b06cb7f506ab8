"""``audit/relevance``."""

from memory_assets.operations import audit
from slowwave.operations import Inputs
from slowwave.reports.model import Report


@audit(tables=("memories", "memory_versions"), models=())
def relevance(inputs: Inputs) -> Report:
    """What memories are worth now: effective importance, which fades with age, and relevance, which comes from use.

    Shows both per kind and ring, and how many memories do not fade because they are pinned, shocks, procedural or instructions. The planner
    `archive_stale` proposes to archive what is worth least.
    """
    from slowwave.audits.relevance import relevance as run

    return run(inputs)
