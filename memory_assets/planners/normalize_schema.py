"""``plan/normalize_schema``."""

from memory_assets.operations import planner
from slowwave.operations import Inputs, Proposal


@planner(
    tables=("entities", "relationships", "entity_aliases", "chunks", "documents", "conflicts", "rejections"),
    models=(),
)
def normalize_schema(inputs: Inputs) -> Proposal:
    """Types of live entities and relationships are renamed by the mappings in the settings, exactly as they are written there.

    An entity that would stand beside one of the same name and new type becomes one with it: *merge*, or *review* where their
    attributes differ. Without a mapping there is nothing to do. The audit `schema_drift` shows the types in use.
    """
    from slowwave.planners.normalize_schema import normalize_schema as run

    return run(inputs)
