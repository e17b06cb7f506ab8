"""``plan/supersede_facts``."""

from memory_assets.operations import planner
from slowwave.operations import Inputs, Proposal


@planner(tables=("memory_facts", "chunks", "conflicts", "rejections"), models=())
def supersede_facts(inputs: Inputs) -> Proposal:
    """Facts that a later one has replaced end when it began. They stay on record: they were true in their day.

    Only where a predicate takes one object at a time, which is learnt from the facts; the table shows what was learnt. Where they
    say too little, a person is asked.
    """
    from slowwave.planners.supersede_facts import supersede_facts as run

    return run(inputs)
