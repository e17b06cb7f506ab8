"""Definitions of a code location: ``build_defs()`` is the one line that it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from slowwave.dagster import gate, jobs, sensors
from slowwave.dagster.assets import build_assets
from slowwave.dagster.checks import build_checks
from slowwave.dagster.jobs import build_schedules
from slowwave.dagster.layout import DEFAULT, EnvironmentStore, Layout, Timetable


def build_jobs(layout: Layout = DEFAULT, executor: dg.ExecutorDefinition | None = None) -> dict[str, Any]:
    """Build all jobs, by name; ``executor`` runs the tiles of ``tiled_night_job``, by default in processes of one machine."""
    made = [
        jobs.night_job(layout),
        jobs.tiled_night_job(layout, executor),
        gate.approve_job(layout),
        gate.reject_job(layout),
        gate.apply_job(layout),
        gate.undo_job(layout),
        *jobs.checks_jobs(layout),
        jobs.retention_job(),
        jobs.corpus_sync_job(layout),
        jobs.deep_job(),
        jobs.proposals_job(layout),
        jobs.status_job(layout),
    ]
    return {job.name: job for job in made}


def build_sensors(
    built: Mapping[str, Any], layout: Layout = DEFAULT, timetable: Timetable | None = None
) -> list[dg.SensorDefinition]:
    """Build all sensors; ``built`` are the jobs by name. The runs of nights have the tags of ``timetable``."""
    return [
        sensors.namespaces_sensor,
        sensors.changed_folders_sensor(built["corpus_sync_job"]),
        sensors.changed_trees_sensor(built["night_job"], timetable),
        sensors.open_proposals_sensor(built["proposals_job"]),
        sensors.requested_nights_sensor(built["night_job"], timetable),
        gate.approval_sensor(built["apply_job"]),
        gate.decisions_sensor(layout),
        sensors.pending_notices,
        sensors.crashed_runs,
        sensors.cancelled_runs,
        sensors.lost_runs,
        sensors.automation_sensor(layout),
    ]


def build_resources(overrides: Mapping[str, object] | None = None) -> dict[str, object]:
    """Build the resources, of which ``overrides`` replaces those with the same name (``store``)."""
    return {"store": EnvironmentStore(), **(overrides or {})}


def build_defs(
    resources: Mapping[str, object] | None = None,
    *,
    key_prefix: Sequence[str] = (),
    groups: Mapping[str, str] | None = None,
    location: str = "slowwave",
    owners: Sequence[str] = ("team:memory",),
    timetable: Timetable | None = None,
    executor: dg.ExecutorDefinition | None = None,
) -> dg.Definitions:
    """Build the definitions of a code location.

    - ``resources`` replace resources with the same name; ``store`` may be a ``slowwave.Store`` or a resource that makes one.
    - ``key_prefix`` comes before the key of every asset, and ``groups`` renames groups (``snapshot``, ``models``, ``audits``,
      ``planners``, ``gate``, ``corpora``, ``stores``).
    - ``location`` is the name of this code location, which links to the Launchpad contain.
    - ``timetable`` says when the schedules run, and how many namespaces and which tags a run has; by default
      ``SLOWWAVE_NIGHTLY_HOUR``, ``_NIGHTLY_DAYS``, ``_TIME_ZONE``, ``_NIGHTS_PER_RUN`` and ``_NIGHT_RUN_TAGS`` do.
    - ``executor`` runs the steps; by default each run is one process, because its steps are few.
    """
    layout = Layout(tuple(key_prefix), dict(groups or {}), location, tuple(owners))
    when = timetable or Timetable.from_settings()
    built = build_jobs(layout, executor)
    return dg.Definitions(
        assets=build_assets(layout, when),
        asset_checks=build_checks(layout),
        jobs=list(built.values()),
        schedules=build_schedules(built, when),
        sensors=build_sensors(built, layout, when),
        resources=build_resources(resources),
        executor=executor or dg.in_process_executor,
    )
