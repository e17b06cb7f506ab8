"""A night that ran outside of Dagster, as events of its instance: materializations, checks and metadata, as the assets give them.

``slowwave.surfaces.cli.nights`` finds this module where an instance is configured. Nothing is computed again: what a night read and
sealed is written down as it is, and a step of ``night_job`` would have written the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import dagster as dg

from dbt_like_sql.assets import model_events
from memory_assets.checks.pages import page_results
from memory_assets.metadata import operation_metadata, snapshot_metadata
from memory_assets.plan import plan_metadata
from memory_assets.snapshot import ABOUT, PLAN
from memory_assets.status import STATUS, status_metadata
from memory_assets.stores import observed
from slowwave.night.plan_page import page_of
from slowwave.night.run_events import level_of
from slowwave.night.runs import Night
from slowwave.night.status import morning_page
from slowwave.operations import Inputs, Proposal
from slowwave.store.connect import Store

Reported = dg.AssetMaterialization | dg.AssetCheckEvaluation | dg.AssetObservation


def report_night(
    night: Night,
    inputs: Inputs,
    proposals: Mapping[str, Proposal],
    instance: dg.DagsterInstance | None = None,
    *,
    whole: bool = True,
    store: Store | None = None,
) -> int:
    """Write a night to ``instance``, else to that of the environment; returns how many events it is. The partition is made where it is new.

    Not ``whole``, it is its plan alone: an event takes its storage some twenty milliseconds, and a night is a hundred of them. With the
    ``store`` that it was of, it is told as well of which tables of another store it read, as a snapshot of Dagster's observes them.
    Raises what Dagster raises for an instance that cannot be opened or reached.
    """
    instance = instance or dg.DagsterInstance.get()
    events: list[Reported] = list(night_events(night, inputs, proposals)) if whole else [plan_event(night, inputs)]
    rows = inputs.snapshot.table("memories").num_rows
    if whole and store is not None and (seen := observed(store, night.namespace, rows)):
        events.insert(0, seen)
    instance.add_dynamic_partitions("namespaces", [night.namespace])
    for event in events:
        instance.report_runless_asset_event(event)
    return len(events)


def report_status(store: Store, instance: dg.DagsterInstance | None = None) -> None:
    """Write how all namespaces stand to ``instance``, else to that of the environment, as ``status_job`` does."""
    page, standing = morning_page(store)
    event = dg.AssetMaterialization(STATUS, metadata=status_metadata(page, standing))
    (instance or dg.DagsterInstance.get()).report_runless_asset_event(event)


def night_events(night: Night, inputs: Inputs, proposals: Mapping[str, Proposal]) -> Iterator[Reported]:
    """Yield the events of a night in its order, with as much memory text as ``redact_text`` allows."""
    snapshot, namespace = inputs.snapshot, night.namespace
    level = level_of(snapshot.settings)
    for name in ABOUT:
        yield _made(["snapshot", name], snapshot_metadata(snapshot, name), namespace)
    for key, metadata, checks in model_events(inputs.models, level):
        yield _made(key.path, metadata, namespace)
        yield from _checked(checks)
    for name, report in night.reports.items():
        yield _made(["audit", name], operation_metadata(report, level), namespace)
    yield from _checked(page_results(night.reports))
    for name, proposal in proposals.items():
        yield _made(["plan", name], operation_metadata(proposal.report, level, len(proposal.items)), namespace)
    yield plan_event(night, inputs)


def plan_event(night: Night, inputs: Inputs) -> dg.AssetMaterialization:
    """Return the event that holds the plan's page."""
    page = page_of(night, inputs.settings.plan_expiry_days, level_of(inputs.snapshot.settings))
    return _made(PLAN.path, plan_metadata(page, night.run_id), night.namespace)


def _made(path: Iterable[str], metadata: Mapping[str, Any], namespace: str) -> dg.AssetMaterialization:
    return dg.AssetMaterialization(list(path), metadata=metadata, partition=namespace)


def _checked(results: Iterable[dg.AssetCheckResult]) -> Iterator[dg.AssetCheckEvaluation]:
    for result in results:
        if result.asset_key is not None and result.check_name is not None:
            yield dg.AssetCheckEvaluation(
                asset_key=result.asset_key,
                check_name=result.check_name,
                passed=result.passed,
                metadata=result.metadata,
                severity=result.severity,
                description=result.description,
            )
