"""``audit/contradictions``."""

from memory_assets.operations import audit
from slowwave.operations import Inputs
from slowwave.reports.model import Report


@audit(
    tables=(
        *("entities", "entity_aliases", "relationships", "memory_facts"),
        *("memories", "memory_versions", "memory_vectors"),
    ),
    models=(),
)
def contradictions(inputs: Inputs) -> Report:
    """Relationships, facts and memories that cannot both be true: other objects, numbers, dates, polarity, properties, direction.

    A description that says something else as well is no contradiction. Each pair becomes a row of `night.conflicts` with the plan;
    `slowwave conflicts list` shows them, and `slowwave conflicts resolve` rules on one. The planner `resolve_conflicts` proposes
    which row is retired.
    """
    from slowwave.audits.contradictions import contradictions as run

    return run(inputs)
