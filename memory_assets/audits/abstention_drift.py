"""``audit/abstention_drift``."""

from memory_assets.operations import audit
from slowwave.operations import Inputs
from slowwave.reports.model import Report


@audit(tables=("recall_events",), models=())
def abstention_drift(inputs: Inputs) -> Report:
    """Whether the thresholds under which the agent says nothing still fit the scores that its recalls get.

    Tell it the agent's thresholds by `SLOWWAVE_ABSTENTION_MIN_TOP_SCORE` and `SLOWWAVE_ABSTENTION_COMBINED_THRESHOLD`; the scores
    come from `memory.log_recall`.
    """
    from slowwave.audits.abstention_drift import abstention_drift as run

    return run(inputs)
