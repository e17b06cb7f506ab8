"""The assets: a namespace's night from snapshot to plan, and what people and jobs do with the plan.

A night is one function of the library (``slowwave.night``), so it is one step here: an asset for each audit and planner, and a body that
calls the function for the selected ones and yields their events. An operation declares the models that it reads, from which the lineage
follows. Apply is a job and never an asset, because whatever can be materialized is swept up by "Materialize all". Approval is an external
asset for the same reason: jobs report it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import dagster as dg

from slowwave.dagster.checks import contract_results, evaluation, invariant_results
from slowwave.dagster.events import (
    PAGE_CHECKS,
    Reported,
    model_check,
    night_events,
    operation_key,
    status_metadata,
    store_observation,
)
from slowwave.dagster.layout import (
    DEFAULT,
    Layout,
    Timetable,
    level_now,
    namespaces,
    redacted_errors,
    reported_failures,
)
from slowwave.errors import DreamDisabledError, SlowwaveError
from slowwave.night.run_events import in_words, says_itself
from slowwave.operations import AUDITS, Operation, operations
from slowwave.plans.signatures import read_rule
from slowwave.snapshots.models import SqlModel, load_models
from slowwave.store.connect import Store

if TYPE_CHECKING:
    from slowwave.night.night import Tiles

_NAMED_FAILURES: Final = 10
"""Failed namespaces that the failure of a run names."""

_FOLLOWS: Final = dg.AutomationCondition.any_deps_updated().since_last_handled() & ~dg.AutomationCondition.in_progress()
"""Materialize again after an update of a dependency, even if that came while the last materialization ran."""

_FRESH: Final = dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=72), warn_window=timedelta(hours=36))
"""A night and a half without any plan is a warning, a weekend a failure. The check ``namespaces_are_audited`` asks of each namespace."""


def build_assets(
    layout: Layout = DEFAULT, timetable: Timetable | None = None
) -> list[dg.AssetsDefinition | dg.AssetSpec]:
    """Build all assets; a run of a backfill serves as many namespaces as one of the schedule (``timetable``)."""
    assets = [
        *_external_assets(layout),
        night_assets(layout, (timetable or Timetable.from_settings()).nights_per_run),
        _reaudit(layout),
        _status(layout),
    ]
    owned = dg.map_asset_specs(lambda spec: spec.replace_attributes(owners=list(layout.owners)), assets)
    return list(owned)


# The night.


def night_assets(layout: Layout, nights_per_run: int) -> dg.AssetsDefinition:
    """Define snapshot, models, audits, planners and plan as one step that runs what is selected.

    The selected operations run with a plan if ``night/plan`` is selected, otherwise on a snapshot of their own and without a run in the
    ledger. If all audits are selected, or the plan without any operation, the settings of the namespace decide which operations run.
    """
    models = load_models()
    made = list(operations().values())

    @dg.multi_asset(
        name="night",
        specs=[
            _snapshot_spec(layout),
            *(_model_spec(layout, model) for model in models),
            *(_operation_spec(layout, one) for one in made),
            _plan_spec(layout),
        ],
        check_specs=[
            *(model_check(layout, model) for model in models),
            *(
                dg.AssetCheckSpec(name, asset=layout.key("audit", audit), description=about)
                for name, (audit, _, about) in PAGE_CHECKS.items()
            ),
        ],
        can_subset=True,
        partitions_def=namespaces,
        backfill_policy=dg.BackfillPolicy.multi_run(nights_per_run),
    )
    def night(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]) -> Iterator[Reported]:
        """Run the selected part of a night for each namespace of the run."""
        selected = context.selected_asset_keys
        chosen = {one.name for one in made if operation_key(layout, one.kind, one.name) in selected}
        ops = None if chosen.issuperset(AUDITS) else chosen
        if layout.key("night", "plan") in selected:
            yield from planned_nights(
                context, store, layout, context.partition_keys, ops=ops or None, force=True, only=selected
            )
            return
        keep_connections(context.instance)
        failed: dict[str, str] = {}
        for name in context.partition_keys:
            try:
                yield from _selected_operations(context, store, layout, name, chosen, ops=ops, only=selected)
            except dg.Failure as failure:
                if len(context.partition_keys) == 1:
                    raise
                context.log.error(f"{name}: {failure.description}")
                failed[name] = str(failure.description)
        _fail_with(failed, len(context.partition_keys))

    return night


def planned_nights(
    context: dg.OpExecutionContext | dg.AssetExecutionContext,
    store: Store,
    layout: Layout,
    names: Sequence[str],
    *,
    ops: str | Collection[str] | None = None,
    force: bool = False,
    only: Collection[dg.AssetKey] | None = None,
    tiles: "Tiles | None" = None,
) -> Iterator[Reported]:
    """Run a night for each namespace and yield its events, with ``only`` those of some assets. ``tiles`` are those of a single one.

    A namespace in which nothing changed, or whose nights are off, has no events. One that fails is named at the end, in the failure of
    the step, and does not stop the others.
    """
    from slowwave.night.several import run_nights  # brings all of the engine, which definitions do without
    from slowwave.sources.following import look_at_stores

    if not names:
        return
    keep_connections(context.instance)
    _release_parent(context, store)
    failed: dict[str, str] = {}
    finished: list[Any] = []
    level = level_now(store, *names)
    with reported_failures(), redacted_errors(level):
        trigger = "schedule" if "dagster/schedule_name" in context.run.tags else "manual"
        if len(names) > 1 and trigger == "manual":  # the schedule has looked at all stores, once for all of its runs
            for problem in look_at_stores(store):
                context.log.warning(problem)
        layout = layout.seen_by(context.run.remote_job_origin)
        for name, found in run_nights(
            *(store, names),
            force=force,
            ops=ops,
            trigger=trigger,
            dagster_run_id=context.run.run_id,
            since=_scheduled_at(context.run),
            done=lambda *night: finished.append(night),
            tiles=tiles,
        ):
            for night, inputs, proposals in finished:
                with store.connect("reader") as connection:
                    rule = read_rule(connection, night.namespace)
                rows = inputs.snapshot.table("memories").num_rows
                if seen := store_observation(layout, store, night.namespace, rows):
                    yield seen
                yield from night_events(night, inputs, proposals, layout=layout, only=only, rule=rule)
            finished.clear()
            if isinstance(found, DreamDisabledError):
                context.log.info(f"{name}: {found}")
            elif isinstance(found, SlowwaveError):
                # An error of DuckDB quotes the value that it met.
                failed[name] = str(found) if says_itself(found) else in_words(found, level)
                context.log.error(f"{name}: {failed[name]}")
            elif found.skipped:
                context.log.info(f"{name}: {found.skipped}.")
            if has_ended(context.instance, context.run.run_id):
                raise dg.Failure(
                    f"This run was ended while its worker was at {name}: the worker plans nothing more.",
                    allow_retries=False,
                )
    _fail_with(failed, len(names))


def _release_parent(context: dg.OpExecutionContext | dg.AssetExecutionContext, store: Store) -> None:
    """End the plan runs of the failed run that this run retries, as the sensor ``crashed_runs`` may not have done so yet.

    Their worker may only be paused: the run that it continues is no longer planning, so it seals nothing.
    """
    from slowwave.night.runs import crash_dagster_run

    parent = context.run.tags.get("dagster/parent_run_id")
    if parent and has_ended(context.instance, parent):
        crash_dagster_run(
            store, parent, f"The Dagster run {parent} ended without a plan; {context.run.run_id} retries it."
        )


def _scheduled_at(run: dg.DagsterRun) -> datetime | None:
    """Return the instant for which a schedule asked for the run; a run that retries it has the same."""
    at = run.tags.get(".dagster/scheduled_execution_time")
    return datetime.fromisoformat(at) if at else None


def has_ended(instance: dg.DagsterInstance, run_id: str) -> bool:
    """Return whether Dagster reports that a run is over, from whatever process."""
    run = instance.get_run_by_id(run_id)
    return run is not None and run.is_finished


def _fail_with(failed: Mapping[str, str], asked: int) -> None:
    """Raise the failure of a run in which some namespaces failed; return if none did."""
    if not failed:
        return
    alike: dict[str, list[str]] = {}
    for name, reason in list(failed.items())[:_NAMED_FAILURES]:
        alike.setdefault(reason, []).append(name)
    named = " ".join(f"{', '.join(names)}: {reason}" for reason, names in alike.items())
    others = f" {len(failed) - _NAMED_FAILURES:,} more are in the log." if len(failed) > _NAMED_FAILURES else ""
    metadata = {"failed": len(failed), "succeeded": asked - len(failed)}
    raise dg.Failure(named + others, metadata=metadata, allow_retries=False)


def _selected_operations(
    context: dg.AssetExecutionContext,
    store: Store,
    layout: Layout,
    name: str,
    chosen: Collection[str],
    *,
    ops: Collection[str] | None = None,
    only: Collection[dg.AssetKey] | None = None,
) -> Iterator[Reported]:
    """Run audits and planners without a plan, and yield their events."""
    from slowwave.night.night import run_some

    with reported_failures(), redacted_errors(level_now(store, name)):
        night, inputs, proposals = run_some(store, name, chosen, ops=ops)
        if seen := store_observation(layout, store, name, inputs.snapshot.table("memories").num_rows):
            yield seen
        layout = layout.seen_by(context.run.remote_job_origin)
        yield from night_events(night, inputs, proposals, layout=layout, only=only)


def keep_connections(instance: dg.DagsterInstance) -> None:
    """Let this process reuse its connections to Dagster's storage, as the webserver does.

    dagster-postgres opens a connection for every statement of a run, which is right for a run with few events. With sixty events for each
    of fifty namespaces it costs seven times as much as writing them.
    """
    instance.optimize_for_webserver(statement_timeout=60_000, pool_recycle=3_600, max_overflow=20)


def _snapshot_spec(layout: Layout) -> dg.AssetSpec:
    return dg.AssetSpec(
        layout.key("snapshot"),
        deps=[layout.key("corpus", "folders"), layout.key("store", "tables")],
        skippable=True,
        description="One REPEATABLE READ transaction copies the namespace to Arrow files, which everything after it reads.",
        group_name=layout.group("snapshot"),
        kinds={"postgres", "arrow"},
    )


def _model_spec(layout: Layout, model: SqlModel) -> dg.AssetSpec:
    parents = [layout.key("model", name) for name in model.parents]
    return dg.AssetSpec(
        layout.key("model", model.name),
        deps=[*parents, *([layout.key("snapshot")] if model.sources else [])],
        skippable=True,
        description=f"{model.description}\n\n```sql\n{model.sql.strip()}\n```",
        group_name=layout.group("models"),
        kinds={"duckdb", "sql"},
    )


def _operation_spec(layout: Layout, made: Operation[Any]) -> dg.AssetSpec:
    """Declare an audit or a planner, which depends on the snapshot and on the models that it reads."""
    return dg.AssetSpec(
        operation_key(layout, made.kind, made.name),
        deps=[layout.key("snapshot"), *(layout.key("model", name) for name in made.models)],
        skippable=True,
        description=made.description,
        group_name=layout.group(f"{made.kind}s"),
        kinds={"python"},
        metadata={"reads": ", ".join(made.reads)},
    )


def _plan_spec(layout: Layout) -> dg.AssetSpec:
    return dg.AssetSpec(
        layout.key("night", "plan"),
        deps=[operation_key(layout, made.kind, made.name) for made in operations().values()],
        skippable=True,
        description="""Seal the night's plan under one hash and prove it before anyone sees it. It changes nothing.

Of items that conflict, the stronger one stays and the others wait for another night. The probes simulate the plan and check whether
recall suffers, whether a statement would be lost, how much changes, and whether a second night would find more to do. **Approve N
items, leave M questions open** opens the Launchpad: type your name and launch. The approved items are applied exactly, or not at all.""",
        group_name=layout.group("gate"),
        kinds={"python", "postgres"},
        freshness_policy=_FRESH,
    )


# Assets that only follow others: the audits after a change, and the status page.


def _reaudit(layout: Layout) -> dg.AssetsDefinition:
    @dg.asset(
        key=layout.key("night", "reaudit"),
        deps=[layout.key("night", "applied")],
        partitions_def=namespaces,
        automation_condition=_FOLLOWS,
        group_name=layout.group("gate"),
        kinds={"python"},
        description="The audits again, on a new snapshot, with the checks of what was applied. It follows every apply and undo.",
    )
    def reaudit(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]) -> Iterator[Any]:
        """Report under the keys of the audits and checks, so that their pages show the namespace as it is now."""
        name, applied = context.partition_key, layout.key("night", "applied")
        keep_connections(context.instance)
        events = list(_selected_operations(context, store, layout, name, AUDITS))
        yield from events
        with reported_failures():
            results = [
                *invariant_results(store, [name], applied),
                *contract_results(store, [name], applied),
            ]
        yield from (evaluation(result, name) for result in results)
        failed = sum(not result.passed for result in results)
        audits = {layout.key("audit", name) for name in AUDITS}.intersection(event.asset_key for event in events)
        yield dg.MaterializeResult(metadata={"audits": len(audits), "checks": len(results), "failed_checks": failed})

    return reaudit


def _status(layout: Layout) -> dg.AssetsDefinition:
    @dg.asset(
        key=layout.key("night", "status"),
        deps=[layout.key("night", name) for name in ("plan", "approval", "applied")],
        automation_condition=_FOLLOWS,
        freshness_policy=_FRESH,
        group_name=layout.group("gate"),
        kinds={"markdown"},
        description="The status of every namespace: what waits for a person first, with its command. It follows plans, approvals and "
        "applied changes, and a schedule sends it each morning to the webhook if one is set. `slowwave status` shows the same.",
    )
    def status(
        context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]
    ) -> Iterator[dg.MaterializeResult[Any]]:
        """Write the page; if the schedule asked for it, send it as well. The page is in the UI even if the webhook fails."""
        from slowwave.night.delivery import endpoint
        from slowwave.night.status import morning_page, send_page

        with reported_failures():
            page, statuses = morning_page(store)
        yield dg.MaterializeResult(metadata=status_metadata(page, statuses))
        if "dagster/schedule_name" in context.run.tags:
            with reported_failures():
                if endpoint("status") is not None:
                    context.log.info(f"Sent to {send_page(store, page)}.")

    return status


# Assets that nobody materializes: jobs, sensors and snapshots report them.


def _external_assets(layout: Layout) -> list[dg.AssetSpec]:
    plan, approval = layout.key("night", "plan"), layout.key("night", "approval")
    proposals = layout.key("proposals", "plans")
    return [
        dg.AssetSpec(
            layout.key("corpus", "folders"),
            description="The folders of Markdown that a namespace follows, as they were synced: its documents, chunks, vectors and links. "
            "`corpus_sync_job` syncs them, which a sensor starts when a file has changed.",
            group_name=layout.group("corpora"),
            kinds={"markdown"},
            partitions_def=namespaces,
        ),
        dg.AssetSpec(
            layout.key("store", "tables"),
            description="The tables of stores that are not ours, from which snapshots are read: Mem0's, LangGraph's, any other. "
            "The observations name them; a namespace of our own memory has none.",
            group_name=layout.group("stores"),
            kinds={"postgres"},
            partitions_def=namespaces,
        ),
        dg.AssetSpec(
            proposals,
            description="What agents proposed by day, sealed by `proposals_job` as plans that wait for approval beside the night's; a "
            "sensor starts it where `operations.proposed_changes.enabled` is on.",
            group_name=layout.group("gate"),
            kinds={"postgres"},
            partitions_def=namespaces,
        ),
        dg.AssetSpec(
            approval,
            deps=[plan],
            description="Approvals of plans from every surface: the Launchpad of `approve_plan`, which the link in the plan's summary "
            "opens, the command line, the review page, a policy. `approval_sensor` starts the job that applies them.",
            group_name=layout.group("gate"),
            kinds={"postgres"},
            partitions_def=namespaces,
        ),
        dg.AssetSpec(
            layout.key("night", "applied"),
            deps=[approval, proposals],
            description="The approved items, applied to the namespace by `apply_job`, which a sensor starts after an approval. "
            "`undo_job` takes a run back exactly.",
            group_name=layout.group("gate"),
            kinds={"postgres"},
            partitions_def=namespaces,
        ),
    ]
