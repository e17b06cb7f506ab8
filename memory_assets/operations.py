"""Every audit and planner of the library as an asset, made from what it declares.

An operation declares the tables and models that it reads; it is given these and no others, so the lineage in the UI is true.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import dagster as dg

from memory_assets.checks.pages import page_checks, page_results
from memory_assets.metadata import operation_metadata
from memory_assets.partitions import namespaces
from resources.redaction import discreet, level_at
from resources.tables import mapped_snapshot
from slowwave.night.snapshot import Result, one_location
from slowwave.operations import Inputs, Operation, Proposal, named, operations, run_audit, run_planner, weekly
from slowwave.plans.report import Report
from slowwave.snapshots.snapshot import Vectors
from slowwave.store.connect import Store
from slowwave.store.settings import Settings

OPERATIONS_TAG: Final = "slowwave/ops"
"""Run tag that names the operations of a night."""

WEEKLY_OPERATIONS: Final = "weekly"
"""The tag's value for what the settings switch on, and the weekly operations."""


def operation_assets() -> list[dg.AssetsDefinition]:
    """Define an asset for every audit and planner, in the order of a night."""
    return [_asset(made) for made in operations().values()]


def operation_key(made: Operation[Any]) -> dg.AssetKey:
    """``audit/<name>`` or ``plan/<name>``."""
    return dg.AssetKey(["audit" if made.kind == "audit" else "plan", made.name])


def _asset(made: Operation[Any]) -> dg.AssetsDefinition:
    """Define an asset whose value is the report of an audit or the proposal of a planner."""

    @dg.asset(
        key=operation_key(made),
        ins=_ins(made.reads, made.models),
        partitions_def=namespaces,
        group_name=f"{made.kind}s",
        kinds={"python"},
        description=made.description,
        check_specs=page_checks(made.name),
    )
    def asset(
        context: dg.AssetExecutionContext, store: dg.ResourceParam[Store], **results: Result
    ) -> Iterator[dg.Output[Result] | dg.AssetCheckResult]:
        from slowwave.night.runs import at_work

        location = one_location(results)
        level = level_at(location)
        with discreet(level), at_work(store, context.run.run_id):
            inputs = read_declared(store, results)
            ops = operations_of(context, inputs.settings)
            value = _run(operations()[made.name], inputs, ops)
            report, items = (value.report, len(value.items)) if isinstance(value, Proposal) else (value, None)
            metadata = operation_metadata(report, level, items)
        yield dg.Output(Result(location, value), metadata=metadata)
        yield from page_results({made.name: report})

    return asset


def _run(made: Operation[Any], inputs: Inputs, ops: Collection[str] | None) -> Report | Proposal:
    return run_audit(made, inputs, ops) if made.kind == "audit" else run_planner(made, inputs, ops)


def operations_of(context: dg.AssetExecutionContext, settings: Settings) -> frozenset[str] | None:
    """Return the operations that the run's tag names: `weekly`, `all` or names separated by commas.

    None means that the settings decide.
    """
    asked = context.run.tags.get(OPERATIONS_TAG)
    return weekly(settings) if asked == WEEKLY_OPERATIONS else named(asked, operations())


def read_declared(store: Store, results: Mapping[str, Result]) -> Inputs:
    """Read inputs with only the snapshot tables and models in ``results``. Results of several snapshots are refused."""
    from slowwave.night.night import read_inputs  # brings all of the engine, which definitions do without

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
    """Return the values of model assets in named inputs, by model."""
    return {name.removeprefix("model_"): value for name, value in given.items() if name.startswith("model_")}


def _ins(tables: tuple[str, ...], models: tuple[str, ...]) -> dict[str, dg.AssetIn]:
    return {
        **{f"snapshot_{name}": dg.AssetIn(["snapshot", name]) for name in tables},
        **{f"model_{name}": dg.AssetIn(["model", name]) for name in models},
    }
