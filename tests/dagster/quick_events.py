"""Dagster's event log for tests: an ephemeral instance's, without what that does again for every statement.

An ephemeral instance opens a connection for each statement, composes the same INSERT for each event, and asks its tables for every input
of every asset whether they are there, whether they hold the partition, and how its data's version is tagged. A night has thousands of all
these. When it is made, it runs through a hundred migrations to note the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final
from unittest.mock import patch

import dagster as dg
from dagster._core.events import ASSET_CHECK_EVENTS, ASSET_EVENTS
from dagster._core.storage.event_log import InMemoryEventLogStorage
from dagster._core.storage.event_log.schema import SqlEventLogStorageTable
from sqlalchemy import Connection, create_engine

_ONE_ROW: Final = SqlEventLogStorageTable.insert()


class QuickEvents(InMemoryEventLogStorage):
    """The same log on one connection that it holds, with its partitions and their tags beside it; nobody takes an asset out of it."""

    def __init__(self) -> None:
        super().__init__()
        # Steps log from threads as well; the lock of the log lets one at a time in.
        self._one = create_engine(self._engine.url, connect_args={"check_same_thread": False}).connect()
        self._known: set[tuple[str, str]] = set()
        self._tags: dict[tuple[str, str], dict[str, Mapping[str, str]]] = {}
        """(asset, type of event) → partition → tags of its last event."""

    @contextmanager
    def _connect(self) -> Iterator[Connection]:
        with self._db_lock, self._one.begin():
            yield self._one

    def has_table(self, table_name: str) -> bool:
        """All were made with the log."""
        return True

    def _has_asset_key_col_on_connection(self, conn: Connection, column_name: str) -> bool:
        """The tables are those of this version."""
        return True

    def store_event(self, event: dg.EventLogEntry) -> None:
        """Events of no asset, which nobody follows, are a row and nothing else."""
        kind = event.dagster_event_type if event.is_dagster_event else None
        if kind in ASSET_EVENTS or kind in ASSET_CHECK_EVENTS or self._handlers[event.run_id]:
            super().store_event(event)
            return
        with self._connect() as connection:
            connection.execute(_ONE_ROW, self._event_to_row(event))
        self._storage_id += 1

    def _store_asset_event_tags(
        self, conn: Connection, events: Sequence[dg.EventLogEntry], event_ids: Sequence[int]
    ) -> None:
        super()._store_asset_event_tags(conn, events, event_ids)
        for event in events:
            told = event.get_dagster_event()
            if told.asset_key and told.partition:
                of_asset = self._tags.setdefault((told.asset_key.to_string(), told.event_type_value), {})
                of_asset[told.partition] = self._tags_for_asset_event(event)

    def get_latest_tags_by_partition(
        self,
        asset_key: dg.AssetKey,
        event_type: dg.DagsterEventType,
        tag_keys: Sequence[str],
        asset_partitions: Sequence[str] | None = None,
        **cursors: Any,
    ) -> Mapping[str, Mapping[str, str]]:
        """As they were written; only who asks about a stretch of the log has it read."""
        if any(cursor is not None for cursor in cursors.values()):
            return super().get_latest_tags_by_partition(asset_key, event_type, tag_keys, asset_partitions, **cursors)
        found = {
            partition: {key: tags[key] for key in tag_keys if key in tags}
            for partition, tags in self._tags.get((asset_key.to_string(), event_type.value), {}).items()
            if asset_partitions is None or partition in asset_partitions
        }
        return {partition: tags for partition, tags in found.items() if tags}

    def add_dynamic_partitions(self, partitions_def_name: str, partition_keys: Sequence[str]) -> None:
        super().add_dynamic_partitions(partitions_def_name, partition_keys)
        self._known |= {(partitions_def_name, key) for key in partition_keys}

    def delete_dynamic_partition(self, partitions_def_name: str, partition_key: str) -> None:
        super().delete_dynamic_partition(partitions_def_name, partition_key)
        self._known.discard((partitions_def_name, partition_key))

    def has_dynamic_partition(self, partitions_def_name: str, partition_key: str) -> bool:
        return (partitions_def_name, partition_key) in self._known

    def dispose(self) -> None:
        self._one.close()
        self._one.engine.dispose()
        super().dispose()


@contextmanager
def ephemeral() -> Iterator[dg.DagsterInstance]:
    """An ephemeral instance with that log."""
    with (
        patch("dagster._core.storage.event_log.in_memory.stamp_alembic_rev"),
        patch("dagster._core.storage.runs.in_memory.stamp_alembic_rev"),
    ):
        new, quick = dg.DagsterInstance.ephemeral(), QuickEvents()
    with new as made:
        quick.register_instance(made)
        made._event_storage.dispose()
        made._event_storage = quick
        yield made
