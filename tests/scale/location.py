"""The project's code location, with nights every minute, and without the runs that follow others."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from slowwave.dagster import Timetable, build_defs


class EveryMinute(Timetable):
    """Nights every minute: the keys of their runs name the date, so only the first tick starts any. Other schedules as always."""

    def cron(self, after: int = 0, minute: int = 0, *, days: Sequence[int] | None = None) -> str:
        return super().cron(after, minute, days=days) if after else "* * * * *"


def _without_followers() -> dg.Definitions:
    every = build_defs(timetable=EveryMinute.from_settings())
    return dg.Definitions(
        assets=every.assets,
        asset_checks=every.asset_checks,
        jobs=every.jobs,
        schedules=every.schedules,
        sensors=[sensor for sensor in every.sensors or () if sensor.name != "automation"],
        resources=every.resources,
        executor=every.executor,
    )


defs = _without_followers()
