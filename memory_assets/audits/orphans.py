"""``audit/orphans``."""

from memory_assets.operations import audit
from slowwave.operations import Inputs
from slowwave.reports.model import Report


@audit(tables=("relationships",), models=("live_entities", "live_relationships", "recall_signals"))
def orphans(inputs: Inputs) -> Report:
    """Entities that hardly anything leads to, that were mentioned at most once and that no recall touched in the window.

    *Isolated* ones have no edge at all; *weak* ones are in the bottom percentile of PageRank, where a mere co-occurrence
    counts a fifth of a named relationship. Nothing is archived here.
    """
    from slowwave.audits.orphans import orphans as run

    return run(inputs)
