"""A code location of your own Dagster deployment that contains Slowwave.

Install `slowwave[dagster]`, set SLOWWAVE_DATABASE_URL, and run `dagster dev -f definitions.py`, or add this file to your workspace.
"""

import dagster as dg

from slowwave.dagster import Timetable, build_defs


@dg.asset
def conversations() -> int:
    """Stand for an asset of your own, such as the table from which memories are imported."""
    return 0


defs = dg.Definitions.merge(
    dg.Definitions(assets=[conversations]),
    build_defs(
        key_prefix=["memory"],
        location="definitions.py",  # as `dagster dev -f` calls it; a workspace may give it another name
        owners=["team:data"],
        timetable=Timetable(hour=2, days=(1, 2, 3, 4, 5), time_zone="Europe/Berlin", nights_per_run=20),
    ),
)
