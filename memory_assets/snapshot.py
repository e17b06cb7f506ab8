"""The snapshot assets: one namespace at one instant, one asset a table. Exporting belongs to ``slowwave.night.night``."""

from collections.abc import Iterator

import dagster as dg

from memory_assets.folders import FOLDERS
from memory_assets.metadata import snapshot_metadata
from memory_assets.operations import OPERATIONS_TAG, WEEKLY_OPERATIONS
from memory_assets.partitions import namespaces
from memory_assets.stores import TABLES, observed
from resources.redaction import discreet, level_now
from resources.tables import mapped_snapshot
from slowwave.night.snapshot import Result
from slowwave.operations import named
from slowwave.snapshots.snapshot import SNAPSHOT_TABLES
from slowwave.store.connect import Store
from slowwave.store.tables import VECTORS

PLAN = dg.AssetKey(["night", "plan"])

ABOUT = {
    **{
        name: f"Rows of `{table.schema}.{name}`, retired ones included, sorted by id."
        for name, table in SNAPSHOT_TABLES.items()
    },
    "decisions": "What was decided about merges, the newest 10,000, with the rows as the plans showed them.",
    **{name: f"Vectors of `memory.{owner}` by the namespace's current model." for name, owner in VECTORS.items()},
}


@dg.multi_asset(
    name="snapshot",
    outs={
        name: dg.AssetOut(
            key=["snapshot", name],
            description=text,
            group_name="snapshot",
            kinds={"postgres", "arrow"},
            dagster_type=dg.Any,
        )
        for name, text in ABOUT.items()
    },
    can_subset=False,
    deps=[FOLDERS, TABLES],
    partitions_def=namespaces,
    description="One REPEATABLE READ transaction copies the namespace to Arrow files, which everything after it reads.",
)
def snapshot(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]) -> Iterator[dg.Output[Result]]:
    """Export all tables together: a night reads one instant, and never the live store."""
    from slowwave.night.night import OPERATIONS  # brings all of the engine, which definitions do without
    from slowwave.night.runs import at_work, resume
    from slowwave.night.snapshot import take_snapshot
    from slowwave.sources.following import look_at_store

    with discreet(level_now(store, context.partition_key)):
        if PLAN in context.job_def.asset_layer.selected_asset_keys:  # a re-audit is no night and opens no run
            trigger = "schedule" if "dagster/schedule_name" in context.run.tags else "manual"
            run = context.run
            asked = run.tags.get(OPERATIONS_TAG)
            some = (
                named(asked, OPERATIONS) if asked != WEEKLY_OPERATIONS else None
            )  # weekly ones come besides the nightly
            resume(
                store,
                context.partition_key,
                run.run_id,
                trigger=trigger,
                parent_run_id=run.parent_run_id,
                parameters={"weekly": True}
                if asked == WEEKLY_OPERATIONS
                else None
                if some is None
                else {"ops": sorted(some)},
            )
        with at_work(store, context.run.run_id):
            look_at_store(store, context.partition_key)
            location = take_snapshot(store, context.partition_key)
    taken = mapped_snapshot(location)
    if seen := observed(store, context.partition_key, taken.table("memories").num_rows):
        context.log_event(seen)
    for name in ABOUT:
        yield dg.Output(Result(location, None), name, metadata=snapshot_metadata(taken, name))
