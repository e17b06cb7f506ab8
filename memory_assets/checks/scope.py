"""The namespaces that a check covers."""

import dagster as dg

from slowwave.store.connect import Store
from slowwave.store.namespaces import namespaces


def namespaces_of(context: dg.AssetCheckExecutionContext, store: Store) -> list[str]:
    """Return the run's partition, or every namespace of the store if the run has no partition."""
    run = context.op_execution_context
    return [run.partition_key] if run.has_partition_key else namespaces(store)
