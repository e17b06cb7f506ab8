"""Everything that Dagster loads, put together. ``build_defs`` takes other resources, for tests and for other deployments."""

from __future__ import annotations

from collections.abc import Mapping

import dagster as dg

from dbt_like_sql.assets import model_assets
from jobs.apply import apply_job
from jobs.approve import approve_plan
from jobs.corpora import corpus_sync_job
from jobs.deep import deep_job
from jobs.nights import checks_job, freshness_job, night_job, reaudit_job
from jobs.proposals import proposals_job
from jobs.reject import reject_plan
from jobs.retention import retention_job
from jobs.schedules import daily_retention, freshness_alarms, morning_status, nightly, weekly_deep
from jobs.status import status_job
from jobs.undo import undo_job
from memory_assets.applied import applied
from memory_assets.approval import approval
from memory_assets.checks.contract import contract
from memory_assets.checks.freshness import freshness
from memory_assets.checks.invariants import invariants
from memory_assets.folders import folders
from memory_assets.operations import operation_assets
from memory_assets.partitions import namespaces
from memory_assets.plan import plan
from memory_assets.proposals import proposals
from memory_assets.snapshot import snapshot
from memory_assets.status import status
from memory_assets.stores import tables
from resources.store import environment_store
from resources.tables import night_files
from sensors.approved_plans import approved_plans
from sensors.changed_folders import changed_folders
from sensors.changed_trees import changed_trees
from sensors.decisions import decisions
from sensors.ended_runs import cancelled_runs, crashed_runs, reaudit
from sensors.namespaces import namespaces as namespaces_sensor
from sensors.open_proposals import open_proposals
from sensors.pending_notices import pending_notices

OWNERS = ["team:memory"]


def build_defs(resources: Mapping[str, object] | None = None) -> dg.Definitions:
    """Build all definitions. ``resources`` replace resources with the same name (``store``, ``io_manager``)."""
    assets = [
        folders,
        tables,
        snapshot,
        model_assets(namespaces),
        *operation_assets(),
        plan,
        proposals,
        approval,
        applied,
        status,
    ]
    return dg.Definitions(
        assets=dg.map_asset_specs(lambda spec: spec.replace_attributes(owners=OWNERS), assets),
        asset_checks=[invariants, freshness, contract],
        jobs=[
            night_job,
            approve_plan,
            reject_plan,
            apply_job,
            undo_job,
            reaudit_job,
            checks_job,
            freshness_job,
            retention_job,
            corpus_sync_job,
            deep_job,
            proposals_job,
            status_job,
        ],
        schedules=[nightly, weekly_deep, freshness_alarms, daily_retention, morning_status],
        sensors=[
            namespaces_sensor,
            changed_folders,
            changed_trees,
            open_proposals,
            approved_plans,
            decisions,
            pending_notices,
            reaudit,
            crashed_runs,
            cancelled_runs,
        ],
        resources={"store": environment_store, "io_manager": night_files, **(resources or {})},
        executor=dg.in_process_executor,
    )


defs = build_defs()
