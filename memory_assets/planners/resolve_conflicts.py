"""``plan/resolve_conflicts``."""

from memory_assets.operations import planner
from slowwave.operations import Inputs, Proposal


@planner(
    tables=(
        *("entities", "entity_aliases", "relationships", "memory_facts", "chunks", "documents"),
        *("memories", "memory_versions", "memory_vectors", "conflicts", "rejections"),
    ),
    models=(),
)
def resolve_conflicts(inputs: Inputs) -> Proposal:
    """Of two rows that contradict each other, the one that loses is retired; what is not clear is a *review*.

    What a person ruled is done as ruled and never asked again. Else the namespace's policy decides: the newer row, the better founded
    one, the more trusted source, or two models that agree and cite their sources. The plan shows what both rows say and why.
    """
    from slowwave.planners.resolve_conflicts import resolve_conflicts as run

    return run(inputs)
