"""The SQL models as assets ``model/<name>``: dependencies, columns and their lineage come from the SQL itself.

Reading and running models belongs to ``slowwave.snapshots.models``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import dagster as dg
import pyarrow as pa

from resources.redaction import discreet
from slowwave.night.run_events import Level, level_of, redact_rows
from slowwave.night.snapshot import Result, one_location
from slowwave.plans.report import markdown_table
from slowwave.snapshots.models import Check, SqlModel, check_models, column_lineage, load_models, run_models
from slowwave.snapshots.snapshot import load_snapshot
from slowwave.store.settings import Settings

_SAMPLE_ROWS: Final = 10


def model_assets(partitions: dg.PartitionsDefinition[str]) -> dg.AssetsDefinition:
    """Define all models as one step, so that DuckDB runs them in one connection.

    A selection runs the selected models and their ancestors.
    """
    models = load_models()
    sources = sorted({source for model in models for source in model.sources})

    @dg.multi_asset(
        name="models",
        ins={f"snapshot_{name}": dg.AssetIn(["snapshot", name]) for name in sources},
        outs={model.name: _out(model) for model in models},
        internal_asset_deps={model.name: _parents(model) for model in models},
        check_specs=[_check_spec(model, check) for model in models for check in model.checks],
        can_subset=True,
        partitions_def=partitions,
        description="Every SQL model over the snapshot's files, in DuckDB.",
    )
    def sql_models(
        context: dg.AssetExecutionContext, **results: Result
    ) -> Iterator[dg.Output[Result] | dg.AssetCheckResult]:
        """Run the selected models, parents first, and check what they promise."""
        location = one_location(results)
        snapshot = load_snapshot(location)
        level = level_of(snapshot.settings)
        chosen = context.op_execution_context.selected_output_names
        needed = _with_ancestors(models, chosen)
        with discreet(level):  # DuckDB quotes the values that it cannot convert
            tables = run_models(needed, snapshot, Settings.for_namespace(snapshot.settings))
        for model in needed:
            if model.name in chosen:
                yield dg.Output(
                    Result(location, tables[model.name]), model.name, metadata=_metadata(model, models, tables, level)
                )
                for check in model.checks:
                    spec = _check_spec(model, check)
                    if spec.key in context.selected_asset_check_keys:
                        yield _check_result(model, check, spec, tables)

    return sql_models


def model_events(
    tables: Mapping[str, pa.Table], level: Level
) -> Iterator[tuple[dg.AssetKey, dict[str, Any], list[dg.AssetCheckResult]]]:
    """Yield the events of every model with rows in ``tables``: its materialization with metadata, and the results of its checks."""
    models = load_models()
    for model in models:
        if model.name in tables:
            checks = [_check_result(model, check, _check_spec(model, check), tables) for check in model.checks]
            yield dg.AssetKey(["model", model.name]), _metadata(model, models, tables, level), checks


def _out(model: SqlModel) -> dg.AssetOut:
    return dg.AssetOut(
        key=["model", model.name],
        description=f"{model.description}\n\n```sql\n{model.sql.strip()}\n```",
        group_name="models",
        kinds={"duckdb", "sql"},
        is_required=False,
        dagster_type=dg.Any,
    )


def _parents(model: SqlModel) -> set[dg.AssetKey]:
    return {
        *(dg.AssetKey(["model", name]) for name in model.parents),
        *(dg.AssetKey(["snapshot", name]) for name in model.sources),
    }


def _with_ancestors(models: Sequence[SqlModel], names: set[str]) -> list[SqlModel]:
    """Return the models of ``names`` and all models that they are computed from, in the order of ``models``."""
    needed = set(names)
    for model in reversed(models):
        if model.name in needed:
            needed |= set(model.parents)
    return [model for model in models if model.name in needed]


def _metadata(
    model: SqlModel, models: Sequence[SqlModel], tables: Mapping[str, pa.Table], level: Level
) -> dict[str, Any]:
    """Return the metadata of a model's rows, with as much memory text as ``level`` allows.

    Each column states its source, because Dagster shows lineage pages only in some views.
    """
    table = tables[model.name]
    lineage = column_lineage(model, models)
    columns = [
        dg.TableColumn(
            field.name, str(field.type), "from " + ", ".join(".".join(origin) for origin in lineage.get(field.name, []))
        )
        for field in table.schema
    ]
    deps = {
        column: [dg.TableColumnDep(_key(origin), name) for origin, name in origins]
        for column, origins in lineage.items()
    }
    return {
        "dagster/row_count": table.num_rows,
        "dagster/column_schema": dg.TableSchema(columns=columns),
        "dagster/column_lineage": dg.TableColumnLineage(deps),
        "sample": dg.MetadataValue.md(markdown_table(_sample(table, level)) or "No rows."),
    }


def _sample(table: pa.Table, level: Level) -> list[dict[str, object]]:
    """Return the first rows as a table. The column names are those of the model, so they hold no memory."""
    rows = table.slice(0, _SAMPLE_ROWS).to_pylist()
    return [dict(zip(table.column_names, row.values(), strict=True)) for row in redact_rows(rows, level)]


def _key(table: str) -> dg.AssetKey:
    return dg.AssetKey(table.split(".") if "." in table else ["model", table])


def _check_spec(model: SqlModel, check: Check) -> dg.AssetCheckSpec:
    name = "_".join((check.kind, *check.columns))
    return dg.AssetCheckSpec(name, asset=["model", model.name], description=f"Of its file: {check}.")


def _check_result(
    model: SqlModel, check: Check, spec: dg.AssetCheckSpec, tables: Mapping[str, pa.Table]
) -> dg.AssetCheckResult:
    broken = check_models([replace(model, checks=(check,))], tables)
    return dg.AssetCheckResult(
        passed=not broken, asset_key=spec.asset_key, check_name=spec.name, description=" ".join(broken) or "It holds."
    )
