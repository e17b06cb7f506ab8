"""``plan/dedupe_facts``."""

from memory_assets.operations import planner
from slowwave.operations import Inputs, Proposal


@planner(tables=("memory_facts", "chunks", "conflicts", "rejections"), models=())
def dedupe_facts(inputs: Inputs) -> Proposal:
    """Facts that say the same in other letters become one: the surest stays, with the sources of all and the earliest start.

    Same means subject, predicate and object without regard to case, spaces, punctuation and accents; numbers, dates and
    negations must be equal.
    """
    from slowwave.planners.dedupe_facts import dedupe_facts as run

    return run(inputs)
