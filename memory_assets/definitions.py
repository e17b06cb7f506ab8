"""Everything that Dagster loads, put together. A code location of your own writes ``defs = slowwave.dagster.build_defs()`` instead."""

import dagster as dg

from jobs import JOBS, SCHEDULES
from memory_assets import ASSETS, CHECKS
from resources import RESOURCES
from sensors import SENSORS

defs = dg.Definitions(
    assets=ASSETS,
    asset_checks=CHECKS,
    jobs=list(JOBS.values()),
    schedules=SCHEDULES,
    sensors=SENSORS,
    resources=RESOURCES,
    # A run is one process: a night is one step, and namespaces share it.
    executor=dg.in_process_executor,
)
