"""``audit/schema_drift``."""

from memory_assets.operations import audit
from slowwave.operations import Inputs
from slowwave.reports.model import Report


@audit(tables=(), models=("type_census",))
def schema_drift(inputs: Inputs) -> Report:
    """How far the types in use are from those that the namespace declares, and from those of the night before.

    Six lists: new, unused and strongly changed types, of entities and of relationships. Declare the types under `expertise`
    in the namespace's settings. Without a declaration nothing is new or unused; without a night before nothing has changed.
    """
    from slowwave.audits.schema_drift import schema_drift as run

    return run(inputs)
