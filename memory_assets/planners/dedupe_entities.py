"""``plan/dedupe_entities``."""

from memory_assets.operations import planner
from slowwave.operations import Inputs, Proposal


@planner(
    tables=(
        *("entities", "entity_aliases", "relationships", "chunks", "documents"),
        *("rejections", "conflicts", "decisions", "entity_vectors"),
    ),
    models=(),
)
def dedupe_entities(inputs: Inputs) -> Proposal:
    """Entities that are one thing under several names: *merge* where the evidence agrees, *review* where a person should look.

    Vectors alone never merge, and a pair with differing numbers, dates, versions or identifiers is never merged, nor one that
    a person rejected before. What people approved, rejected or undid teaches the weights. The survivor keeps every alias, source,
    counter and attribute, and gets its vector at once. The plan shows the evidence of its weakest merges step by step.
    """
    from slowwave.planners.dedupe_entities import dedupe_entities as run

    return run(inputs)
