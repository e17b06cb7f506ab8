"""``plan/backfill_tags``."""

from memory_assets.operations import planner
from slowwave.operations import Inputs, Proposal


@planner(
    tables=("memories", "memory_versions", "promotions", "rejections"),
    models=("recall_signals", "recall_signals_compat"),
)
def backfill_tags(inputs: Inputs) -> Proposal:
    """Promoted memories, or all, get the concept tags of their subject and text; tags that they have stay.

    Which ones is a setting. A text that holds a secret gives no tags.
    """
    from slowwave.planners.backfill_tags import backfill_tags as run

    return run(inputs)
