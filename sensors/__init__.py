"""The sensors of this project: partitions follow the store, an approval starts apply, changed folders start nights."""

from jobs import JOBS
from slowwave.dagster import build_sensors

SENSORS = build_sensors(JOBS)
"""``approval_sensor`` is the one that starts ``apply_job``."""
