"""``plan/compile_pages``."""

from memory_assets.operations import planner
from slowwave.operations import Inputs, Proposal


@planner(tables=("memories", "memory_versions", "promotions", "pages", "rejections"), models=())
def compile_pages(inputs: Inputs) -> Proposal:
    """MEMORY.md and DREAMS.md are rendered from the ledger: what is promoted, and what the nights did.

    A page whose inputs are unchanged is left as it is. Files follow the rows when the plan is applied; what a person wrote around a
    page stays.
    """
    from slowwave.planners.compile_pages import compile_pages as run

    return run(inputs)
