"""``audit/safety_scan``."""

from memory_assets.operations import audit
from slowwave.operations import Inputs
from slowwave.reports.model import Report


@audit(tables=("memories", "memory_versions", "chunks", "entities", "pages"), models=())
def safety_scan(inputs: Inputs) -> Report:
    """Secrets, orders to models, hidden characters and look-alike words in what recall shows, and memories without a privacy class.

    Findings name the row, the rule and the place, never what stands there. The planner `redact_or_quarantine` proposes what to do about
    memories; a person who looked at one may set its attribute `screening` to `cleared`.
    """
    from slowwave.audits.safety_scan import safety_scan as run

    return run(inputs)
