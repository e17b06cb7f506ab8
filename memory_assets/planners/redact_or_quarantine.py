"""``plan/redact_or_quarantine``."""

from memory_assets.operations import planner
from slowwave.operations import Inputs, Proposal


@planner(tables=("memories", "memory_versions", "memory_vectors", "rejections"), models=())
def redact_or_quarantine(inputs: Inputs) -> Proposal:
    """Memories with a secret, an order to a model or hidden text leave recall, or get a version without the secret.

    What is done is the setting `screening_policy`. Items say which rules and where, and quote nothing. Pinned memories are only told of;
    those whose attribute `screening` is `cleared` are left alone.
    """
    from slowwave.planners.redact_or_quarantine import redact_or_quarantine as run

    return run(inputs)
