"""``audit/tombstones``."""

from memory_assets.operations import audit
from slowwave.operations import Inputs
from slowwave.reports.model import Report


@audit(
    tables=("memory_facts", "relationships", "entities", "memories", "chunks", "documents"),
    models=(),
)
def tombstones(inputs: Inputs) -> Report:
    """Rows that were retired and are still kept: how many, how old, and which names have the most of them.

    Says how many are older than `SLOWWAVE_FACT_COMPACTION_RETENTION_DAYS`; the planner `purge_expired` proposes to delete those.
    """
    from slowwave.audits.tombstones import tombstones as run

    return run(inputs)
