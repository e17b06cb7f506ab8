"""Dagster's event log for tests: an ephemeral instance's, without what that does again for every statement.

An ephemeral instance opens a connection for each statement, and asks its tables for every input of every asset whether they are there and
whether they hold the partition. A night has thousands of both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import dagster as dg
from dagster._core.storage.event_log import InMemoryEventLogStorage
from sqlalchemy import Connection, create_engine


class QuickEvents(InMemoryEventLogStorage):
    """The same log on one connection that it holds, with its partitions beside it."""

    def __init__(self) -> None:
        super().__init__()
        # Steps log from threads as well; the lock of the log lets one at a time in.
        self._one = create_engine(self._engine.url, connect_args={"check_same_thread": False}).connect()
        self._known: set[tuple[str, str]] = set()

    @contextmanager
    def _connect(self) -> Iterator[Connection]:
        with self._db_lock, self._one.begin():
            yield self._one

    def has_table(self, table_name: str) -> bool:
        """All were made with the log."""
        return True

    def add_dynamic_partitions(self, partitions_def_name: str, partition_keys: Sequence[str]) -> None:
        super().add_dynamic_partitions(partitions_def_name, partition_keys)
        self._known |= {(partitions_def_name, key) for key in partition_keys}

    def delete_dynamic_partition(self, partitions_def_name: str, partition_key: str) -> None:
        super().delete_dynamic_partition(partitions_def_name, partition_key)
        self._known.discard((partitions_def_name, partition_key))

    def has_dynamic_partition(self, partitions_def_name: str, partition_key: str) -> bool:
        return (partitions_def_name, partition_key) in self._known

    def dispose(self) -> None:
        self._one.engine.dispose()
        self._one.close()
        super().dispose()


@contextmanager
def ephemeral() -> Iterator[dg.DagsterInstance]:
    """An ephemeral instance with that log."""
    with dg.DagsterInstance.ephemeral() as made:
        quick = QuickEvents()
        quick.register_instance(made)
        made._event_storage.dispose()
        made._event_storage = quick
        yield made
