"""How an audit or a planner of the library becomes an asset. One file an operation lies in ``audits/`` and ``planners/``.

An operation declares the tables and models that it reads; it is given these and no others, so the lineage in the UI is true.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import dagster as dg

from memory_assets.metadata import report_metadata
from memory_assets.partitions import namespaces
from resources.redaction import discreet, level_at
from resources.tables import mapped_snapshot
from slowwave.operations import Audit, Inputs, Planner, named, run_audit, run_planner, weekly
from slowwave.results import Result, one_location
from slowwave.settings import Settings
from slowwave.snapshot import Vectors
from slowwave.store.connect import Store

OPERATIONS_TAG: Final = "slowwave/ops"
"""Run tag that names the operations of a night."""

WEEKLY_OPERATIONS: Final = "weekly"
"""The tag's value for what the settings switch on, and the weekly operations."""


def audit(*, tables: tuple[str, ...], models: tuple[str, ...]) -> Callable[[Audit], dg.AssetsDefinition]:
    """An asset ``audit/<name>`` from a function of ``Inputs``; its docstring is what the operator reads."""

    def decorate(run: Audit) -> dg.AssetsDefinition:
        @dg.asset(
            key=["audit", run.__name__],
            ins=_ins(tables, models),
            partitions_def=namespaces,
            group_name="audits",
            kinds={"python"},
            description=inspect.getdoc(run),
        )
        def asset(
            context: dg.AssetExecutionContext, store: dg.ResourceParam[Store], **results: Result
        ) -> dg.MaterializeResult[Result]:
            from slowwave.night_runs import at_work

            location = one_location(results)
            level = level_at(location)
            with discreet(level), at_work(store, context.run.run_id):
                inputs = read_declared(store, results)
                report = run_audit(run.__name__, run, inputs, operations_of(context, inputs.settings))
                return dg.MaterializeResult(value=Result(location, report), metadata=report_metadata(report, level))

        return asset

    return decorate


def planner(*, tables: tuple[str, ...], models: tuple[str, ...]) -> Callable[[Planner], dg.AssetsDefinition]:
    """An asset ``plan/<name>`` whose value is the items that the planner proposes."""

    def decorate(run: Planner) -> dg.AssetsDefinition:
        @dg.asset(
            key=["plan", run.__name__],
            ins=_ins(tables, models),
            partitions_def=namespaces,
            group_name="planners",
            kinds={"python"},
            description=inspect.getdoc(run),
        )
        def asset(
            context: dg.AssetExecutionContext, store: dg.ResourceParam[Store], **results: Result
        ) -> dg.MaterializeResult[Result]:
            from slowwave.night_runs import at_work

            location = one_location(results)
            level = level_at(location)
            with discreet(level), at_work(store, context.run.run_id):
                inputs = read_declared(store, results)
                proposal = run_planner(run.__name__, run, inputs, operations_of(context, inputs.settings))
                return dg.MaterializeResult(
                    value=Result(location, proposal),
                    metadata={"items": len(proposal.items), **report_metadata(proposal.report, level)},
                )

        return asset

    return decorate


def operations_of(context: dg.AssetExecutionContext, settings: Settings) -> frozenset[str] | None:
    """The operations that the run's tag names: `weekly`, `all` or names separated by commas; None leaves it to the settings."""
    from slowwave.night import OPERATIONS  # brings all of the engine, which definitions do without

    asked = context.run.tags.get(OPERATIONS_TAG)
    return weekly(settings, OPERATIONS) if asked == WEEKLY_OPERATIONS else named(asked, OPERATIONS)


def read_declared(store: Store, results: Mapping[str, Result]) -> Inputs:
    """Inputs with the snapshot tables and models among ``results`` only; those of several snapshots are refused."""
    from slowwave.night import read_inputs  # brings all of the engine, which definitions do without

    whole = mapped_snapshot(one_location(results))
    given = {name: result.value for name, result in results.items()}
    tables = {name.removeprefix("snapshot_"): value for name, value in given.items() if name.startswith("snapshot_")}
    snapshot = replace(
        whole,
        tables={name: table for name, table in tables.items() if not isinstance(table, Vectors)},
        vectors={
            name: vectors if name in tables else Vectors.empty(vectors.model) for name, vectors in whole.vectors.items()
        },
    )
    return read_inputs(store, snapshot, models_among(given))


def models_among(given: Mapping[str, object]) -> dict[str, object]:
    """The values of model assets among named inputs, by model."""
    return {name.removeprefix("model_"): value for name, value in given.items() if name.startswith("model_")}


def _ins(tables: tuple[str, ...], models: tuple[str, ...]) -> dict[str, dg.AssetIn]:
    return {
        **{f"snapshot_{name}": dg.AssetIn(["snapshot", name]) for name in tables},
        **{f"model_{name}": dg.AssetIn(["model", name]) for name in models},
    }
