"""The project's definitions, with each step of ``tiled_night_job`` as a task of Celery: ``CODE_MODULE=deploy.celery.tiles``.

docs/scale.md has what it needs.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any, Final

import dagster as dg
from celery.result import AsyncResult
from dagster._core.execution.retries import RetryMode
from dagster_celery.core_execution_loop import core_celery_execution_loop
from dagster_celery.executor import CeleryExecutor, _submit_task  # pyright: ignore[reportPrivateUsage] - has no public name

from slowwave.dagster import build_defs
from slowwave.dagster.jobs import tiled_night_job
from slowwave.snapshots.files import base_path

POLL_SECONDS: Final = 10
"""Seconds between two reads of a run's state; the results of its tasks are polled each second."""


class _Run:
    """The state of a run in Dagster's database, where a person or a sensor may have ended it."""

    def __init__(self, instance: dg.DagsterInstance, run_id: str) -> None:
        self.instance, self.run_id = instance, run_id
        self.ended, self.read_at = False, time.monotonic()

    def has_ended(self) -> bool:
        if not self.ended and time.monotonic() - self.read_at >= POLL_SECONDS:
            run = self.instance.get_run_by_id(self.run_id)
            self.ended, self.read_at = run is None or run.is_finished, time.monotonic()
        return self.ended


class _Step:
    """The task of a step. It is ready as well once its run has ended, because a task whose worker is gone never has a result."""

    def __init__(self, task: AsyncResult, run: _Run) -> None:
        self.task, self.run = task, run

    def ready(self) -> bool:
        return self.task.ready() or self.run.has_ended()

    def get(self) -> Any:
        """Return the events of the step. The run is a task as well, and by default Celery lets no task read the result of another one."""
        if not self.task.ready():
            raise RuntimeError("The run was ended before this step.")
        return self.task.get(disable_sync_subtasks=False)

    def revoke(self) -> None:
        self.task.revoke()


class _StepTasks(CeleryExecutor):
    """``celery_executor`` for runs of ``CeleryRunLauncher``, where that of dagster-celery 0.29 fails (dagster-io/dagster#29660)."""

    def execute(self, plan_context: Any, execution_plan: Any) -> Generator[dg.DagsterEvent]:
        run = _Run(plan_context.instance, plan_context.run_id)

        def submit(*arguments: Any) -> _Step:
            return _Step(_submit_task(*arguments), run)

        yield from core_celery_execution_loop(plan_context, execution_plan, step_execution_fn=submit)


@dg.executor(name="step_tasks", requirements=dg.multiple_process_executor_requirements())
def step_tasks(_: dg.InitExecutorContext) -> dg.Executor:
    """Send each step to the broker that ``CELERY_BROKER_URL`` names."""
    return _StepTasks(RetryMode.ENABLED)


def _definitions() -> dg.Definitions:
    steps = dg.FilesystemIOManager(base_dir=f"{base_path().rstrip('/')}/steps")
    project = build_defs(resources={"io_manager": steps})
    others = [job for job in project.jobs or () if job.name != "tiled_night_job"]
    return dg.Definitions(
        assets=project.assets,
        asset_checks=project.asset_checks,
        jobs=[*others, tiled_night_job(executor=step_tasks)],
        schedules=project.schedules,
        sensors=project.sensors,
        resources=project.resources,
        executor=project.executor,
    )


defs = _definitions()
