"""Which namespaces a check looks at."""

import dagster as dg

from slowwave.store.connect import Store
from slowwave.store.namespaces import namespaces


def namespaces_of(context: dg.AssetCheckExecutionContext, store: Store) -> list[str]:
    """The run's partition, else every namespace of the store."""
    run = context.op_execution_context
    return [run.partition_key] if run.has_partition_key else namespaces(store)
