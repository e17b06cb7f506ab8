"""The jobs and schedules of this project: nights, the decisions of people, apply and undo, retention, folders, checks, the status page.

``apply_job`` is a job and never an asset, so that "Materialize all" cannot reach it, and only ``sensors`` start it.
"""

from slowwave.dagster import build_jobs, build_schedules

JOBS = build_jobs()
"""Job by name."""

SCHEDULES = build_schedules(JOBS)
"""The nightly schedule and those that follow it; ``SLOWWAVE_NIGHTLY_HOUR``, ``_NIGHTLY_DAYS`` and ``_TIME_ZONE`` set when they run."""
