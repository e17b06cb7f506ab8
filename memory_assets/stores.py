"""``store/tables``: where the rows of a connected store lie, at the head of the lineage. A snapshot observes it; nobody materializes it."""

from __future__ import annotations

from typing import Final

import dagster as dg

from memory_assets.partitions import namespaces
from slowwave.store.connect import Store

TABLES: Final = dg.AssetKey(["store", "tables"])

tables = dg.AssetSpec(
    TABLES,
    description="The tables of stores that are not ours, of which snapshots are read: Mem0's, LangGraph's, any that is connected. "
    "Which they are stands in the observations; a namespace of our own memory has none.",
    group_name="stores",
    kinds={"postgres"},
    partitions_def=namespaces,
)


def observed(store: Store, namespace: str, rows: int) -> dg.AssetObservation | None:
    """Return the observation of the store that a snapshot with ``rows`` memories was read from; None for Slowwave's own schema."""
    from slowwave.bindings.stores import connected_store
    from slowwave.store.namespaces import namespace_id

    with store.connect("reader") as connection:
        found = connected_store(connection, namespace_id(connection, namespace))
    if found is None:
        return None
    of = found[0]
    named = {name: f"{bound.schema}.{bound.table}" for name, bound in of.binding.tables.items()}
    return dg.AssetObservation(
        TABLES,
        partition=namespace,
        metadata={
            "store": of.name,
            "binding": of.binding.title,
            "writing": of.writing,
            "tables": dg.MetadataValue.json(named),
            "dagster/table_name": next(iter(named.values())),
            "dagster/row_count": rows,
        },
    )
