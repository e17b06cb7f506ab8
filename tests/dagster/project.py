"""The Dagster project on a test's store, with a real instance that lasts as long as the test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from unittest.mock import patch

import dagster as dg

from slowwave.dagster import build_defs
from slowwave.store.connect import Store
from tests.dagster.quick_events import ephemeral


@dataclass(frozen=True)
class Project:
    """Definitions and instance together."""

    defs: dg.Definitions
    instance: dg.DagsterInstance
    store: Store

    def run(self, job: str, namespace: str | None = None, **options: Any) -> dg.ExecuteInProcessResult:
        """Execute a job here and now; a failure is in the result."""
        return self.defs.resolve_job_def(job).execute_in_process(
            instance=self.instance, partition_key=namespace, raise_on_error=False, **options
        )

    def night(
        self, *namespaces: str, operations: str = "", force: bool = True, **options: Any
    ) -> dg.ExecuteInProcessResult:
        """Run ``night_job`` for some namespaces."""
        config = {"namespaces": list(namespaces), "operations": operations, "force": force}
        return self.run("night_job", run_config={"ops": {"plan_nights": {"config": config}}}, **options)

    def materialize(self, namespace: str, *keys: str, **options: Any) -> dg.ExecuteInProcessResult:
        """Materialize assets of one partition, as the UI does."""
        job = self.defs.resolve_implicit_global_asset_job_def()
        chosen = [dg.AssetKey(key.split("/")) for key in keys]
        return job.execute_in_process(
            instance=self.instance,
            partition_key=namespace,
            asset_selection=chosen,
            raise_on_error=False,
            **options,
        )

    def materialized(self, key: str) -> list[dg.AssetMaterialization]:
        """Return the materializations of an asset, the newest first."""
        records = self.instance.fetch_materializations(dg.AssetKey(key.split("/")), limit=100).records
        return [record.asset_materialization for record in records if record.asset_materialization]

    def approve(self, namespace: str, **config: Any) -> dg.ExecuteInProcessResult:
        """The approval as the Launchpad would start it."""
        return self.run("approve_plan", namespace, run_config={"ops": {"night__approval": {"config": config}}})

    def apply(self, approval_id: str, **tags: str) -> dg.ExecuteInProcessResult:
        """The apply job for an approval."""
        config = {"ops": {"apply_approved_plan": {"config": {"approval_id": approval_id}}}}
        return self.run("apply_job", run_config=config, tags=tags)

    def metadata(self, result: dg.ExecuteInProcessResult, *key: str) -> dict[str, Any]:
        """What an asset's materialization in this run tells."""
        (found,) = [
            e.step_materialization_data.materialization.metadata
            for e in result.get_asset_materialization_events()
            if e.asset_key == dg.AssetKey(list(key))
        ]
        return dict(found)

    def tick(self, when: datetime, schedule: str = "nightly") -> dg.SkipReason | list[dg.RunRequest]:
        """What a schedule answers at that time."""
        context = dg.build_schedule_context(
            scheduled_execution_time=when,
            resources={"store": self.store},
            repository_def=self.defs.get_repository_def(),
        )
        # The builder takes an instance on disk alone, and its SQLite files triple what a night costs.
        with patch.object(dg.ScheduleEvaluationContext, "instance", self.instance):
            return self.defs.resolve_schedule_def(schedule)(context)

    def value(self, query: str, *parameters: object) -> Any:
        """One value from the database."""
        with self.store.connect("owner") as connection:
            row = connection.execute(query, parameters).fetchone()
            return row[0] if row else None


@contextmanager
def project(store: Store, *namespaces: str) -> Iterator[Project]:
    """The project with partitions for ``namespaces``."""
    with ephemeral() as instance:
        instance.add_dynamic_partitions("namespaces", list(namespaces))
        yield Project(build_defs({"store": store}), instance, store)


def failure(result: dg.ExecuteInProcessResult) -> str:
    """The sentence with which a run failed."""
    (event,) = [e for e in result.all_events if e.event_type == dg.DagsterEventType.STEP_FAILURE]
    error = event.step_failure_data.user_failure_data or event.step_failure_data.error
    return str(getattr(error, "description", None) or error)
