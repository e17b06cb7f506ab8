"""``audit/dead_references``."""

from memory_assets.operations import audit
from slowwave.operations import Inputs
from slowwave.reports.model import Report
from slowwave.store.tables import VECTORS


@audit(
    tables=("entities", "relationships", "memories", "memory_facts", "chunks", "documents", *VECTORS),
    models=("dead_references",),
)
def dead_references(inputs: Inputs) -> Report:
    """Provenance that names chunks or documents which are gone, and rows that have no vector.

    Shows how long the reference arrays are and which rows hold the most dead ids. The planner `gc_references` proposes to
    take them out.
    """
    from slowwave.audits.dead_references import dead_references as run

    return run(inputs)
