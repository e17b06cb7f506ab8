"""The project's code location without the runs that follow others. With ``NIGHTS=RUNNING`` its nights begin with the next minute."""

from __future__ import annotations

import os

import dagster as dg

from slowwave.dagster import build_defs
from slowwave.store.connect import Store


def _definitions() -> dg.Definitions:
    every = build_defs()
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
        sensors=[sensor for sensor in every.sensors or () if sensor.name != "automation"],
        resources=every.resources,
        executor=every.executor,
    )


defs = _definitions()
