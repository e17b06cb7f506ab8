"""``audit/session_backlog``."""

from memory_assets.operations import audit
from slowwave.operations import Inputs
from slowwave.reports.model import Report


@audit(tables=("memories", "memory_versions", "documents"), models=())
def session_backlog(inputs: Inputs) -> Report:
    """Sessions that came in since the last night, and those that no summary has taken up: how many, how large, how old.

    Numbers only. The weekly operations wait for new sessions; see the settings whose names begin with `gate_`.
    """
    from slowwave.audits.session_backlog import session_backlog as run

    return run(inputs)
