"""``audit/census``."""

from memory_assets.operations import audit
from slowwave.operations import Inputs
from slowwave.reports.model import Report
from slowwave.store.tables import EXPORTED, VECTORS


@audit(tables=(*(table.name for table in EXPORTED), *VECTORS), models=("type_census",))
def census(inputs: Inputs) -> Report:
    """What the namespace holds: rows and live rows by table and type, vectors, recalls, tokens, age.

    The figures are the denominators of every other report. Rows without a vector are warned about, since similarity does not
    see them.
    """
    from slowwave.audits.census import census as run

    return run(inputs)
