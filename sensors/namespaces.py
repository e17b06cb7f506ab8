"""The sensor ``namespaces``: a partition for every namespace of the store, and none for others."""

from collections.abc import Iterable

import dagster as dg

from memory_assets.partitions import namespaces as partitions
from resources.store import STORE_PROBLEMS, error_text
from sensors.runs import IN_FLIGHT
from slowwave.store.connect import Store
from slowwave.store.namespaces import namespaces as stored_namespaces


def partition_changes(
    wanted: Iterable[str], existing: Iterable[str], in_flight: Iterable[str]
) -> tuple[list[str], list[str]]:
    """(partitions to add, partitions to delete). One with a run in flight stays: deleting it would throw the run's work away."""
    wanted, existing = set(wanted), set(existing)
    return sorted(wanted - existing), sorted(existing - wanted - set(in_flight))


@dg.sensor(
    name="namespaces",
    minimum_interval_seconds=10,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Keeps the partitions equal to the store's namespaces.",
)
def namespaces(context: dg.SensorEvaluationContext, store: dg.ResourceParam[Store]) -> dg.SensorResult | dg.SkipReason:
    """Keep the partitions equal to the namespaces of the store. If the store cannot be read, the tick is skipped."""
    try:
        wanted = stored_namespaces(store)
    except STORE_PROBLEMS as problem:
        return dg.SkipReason(error_text(problem))
    records = context.instance.get_run_records(dg.RunsFilter(statuses=IN_FLIGHT))
    in_flight = [r.dagster_run.tags.get("dagster/partition", "") for r in records]
    add, delete = partition_changes(wanted, context.instance.get_dynamic_partitions("namespaces"), in_flight)
    if not add and not delete:
        return dg.SkipReason(f"The partitions are those of the store: {len(wanted)}.")
    requests = [
        *([partitions.build_add_request(add)] if add else []),
        *([partitions.build_delete_request(delete)] if delete else []),
    ]
    return dg.SensorResult(dynamic_partitions_requests=requests)
