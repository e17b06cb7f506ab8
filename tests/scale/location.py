"""The project's code location without the runs that follow others.

With ``NIGHTS=RUNNING`` its nights begin with the next minute. ``SILENT_SECONDS`` shortens the time in which ``lost_runs`` finds a run that
holds no namespace, and has that sensor evaluated as often as the daemon does. The tiles of ``tiled_night_job`` are tasks then.
"""

from __future__ import annotations

import os

import dagster as dg

from slowwave.dagster import build_defs, sensors
from slowwave.store.connect import Store

SILENT_SECONDS = os.environ.get("SILENT_SECONDS")


@dg.sensor(name="lost_runs", minimum_interval_seconds=1, default_status=dg.DefaultSensorStatus.RUNNING)
def lost_runs_at_once(context: dg.SensorEvaluationContext, store: dg.ResourceParam[Store]) -> object:
    return sensors.lost_runs(context)


def _definitions() -> dg.Definitions:
    every = build_defs()
    left_out = {"automation"}
    if SILENT_SECONDS:
        from deploy.celery import tiles

        every = tiles.defs
        sensors.SILENT_SECONDS = int(SILENT_SECONDS)  # type: ignore[misc]
        left_out.add("lost_runs")
    schedules = {
        schedule.name: schedule for schedule in every.schedules or () if isinstance(schedule, dg.ScheduleDefinition)
    }
    nightly = schedules.pop("nightly")

    @dg.schedule(
        name="nightly",
        job=nightly.job,
        cron_schedule="* * * * *",
        default_status=dg.DefaultScheduleStatus(os.environ.get("NIGHTS", "STOPPED")),
    )
    def once(context: dg.ScheduleEvaluationContext, store: dg.ResourceParam[Store]) -> object:
        """Evaluate the project's schedule until it has started runs."""
        if context.instance.get_runs(dg.RunsFilter(tags={"dagster/schedule_name": "nightly"}), limit=1):
            return dg.SkipReason("This night's runs were started.")
        return nightly(context)

    return dg.Definitions(
        assets=every.assets,
        asset_checks=every.asset_checks,
        jobs=every.jobs,
        schedules=[*schedules.values(), once],
        sensors=[
            *(sensor for sensor in every.sensors or () if sensor.name not in left_out),
            *((lost_runs_at_once,) if SILENT_SECONDS else ()),
        ],
        resources=every.resources,
        executor=every.executor,
    )


defs = _definitions()
