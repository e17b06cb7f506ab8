"""Slowwave in Dagster: factories of assets, jobs, sensors and schedules, for this repository's project and for other code locations.

A code location of your own needs two lines, after ``pip install "slowwave[dagster]"``::

    from slowwave.dagster import build_defs

    defs = build_defs()

This package is the only one that imports Dagster.
"""

from slowwave.dagster.assets import build_assets
from slowwave.dagster.checks import build_checks
from slowwave.dagster.definitions import build_defs, build_jobs, build_resources, build_sensors
from slowwave.dagster.gate import apply_job, approval_sensor
from slowwave.dagster.jobs import build_schedules
from slowwave.dagster.layout import EnvironmentStore, Layout, Timetable

__all__ = [
    "EnvironmentStore",
    "Layout",
    "Timetable",
    "apply_job",
    "approval_sensor",
    "build_assets",
    "build_checks",
    "build_defs",
    "build_jobs",
    "build_resources",
    "build_schedules",
    "build_sensors",
]
