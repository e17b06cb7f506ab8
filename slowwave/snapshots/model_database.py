"""The DuckDB in which models are asked: a connection in memory that can reach nothing else, and what is offered on it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import pyarrow as pa

if TYPE_CHECKING:  # which takes a while to load
    import duckdb

SOURCE_SCHEMA: Final = "snapshot"
"""The schema in which models find a snapshot's tables."""

_CREATE_SOURCE_SCHEMA: Final = f"create schema {SOURCE_SCHEMA}"


@dataclass(slots=True)
class ModelDatabase:
    """A connection, the schema of each source that it has a view of, the names that are some table's now, and of which nothing's."""

    connection: duckdb.DuckDBPyConnection
    views: dict[str, pa.Schema] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    rowless: dict[str, pa.Schema] = field(default_factory=dict)

    def offer(self, source: str, table: pa.Table) -> None:
        """Let models read a table of a snapshot. A view stays as it is for the next snapshot, and so does a table without a row: most of
        a store that is not ours have none."""
        name, schema = f"source_{source}", table.schema
        if table.num_rows or self.rowless.get(name) != schema:
            self.register(name, table if table.num_rows else schema.empty_table())
            if not table.num_rows:
                self.taken.discard(name)
                self.rowless[name] = schema
        if self.views.get(source) != schema:
            self.connection.execute(f"create or replace view {SOURCE_SCHEMA}.{source} as select * from {name}")  # noqa: S608
            self.views[source] = schema

    def register(self, name: str, table: pa.Table) -> None:
        """Give a table a name until ``forget``."""
        self.connection.register(name, table)
        self.taken.add(name)
        self.rowless.pop(name, None)

    def forget(self) -> None:
        """Nothing of the snapshot stays."""
        for name in self.taken:
            self.connection.unregister(name)
        self.taken.clear()


_HELD: Final[ContextVar[list[ModelDatabase] | None]] = ContextVar("held", default=None)
"""The connection that waits for the next snapshot, where the models of several run one after another."""


@contextmanager
def one_database() -> Generator[None]:
    """Models of snapshots that follow each other share a DuckDB connection until this ends: to open one takes longer than to ask a small
    namespace's questions. Nothing of a snapshot stays in it for the next."""
    held: list[ModelDatabase] = []
    token = _HELD.set(held)
    try:
        yield
    finally:
        _HELD.reset(token)
        for database in held:
            database.connection.close()


@contextmanager
def model_database() -> Generator[ModelDatabase]:
    """A connection on which no snapshot is offered; one on which anything was raised is closed."""
    held = _HELD.get()
    database = held.pop() if held else _opened()
    try:
        yield database
        if held is None:
            return
        database.forget()
        held.append(database)
    finally:
        if held is None or database not in held:
            database.connection.close()


def _opened() -> ModelDatabase:
    database = ModelDatabase(_connection())
    database.connection.execute(_CREATE_SOURCE_SCHEMA)
    return database


def _connection() -> duckdb.DuckDBPyConnection:
    """A connection that models cannot leave: neither files nor extensions nor the variables of this process."""
    import duckdb

    connection = duckdb.connect(
        ":memory:",
        config={
            "threads": 1,  # a second one costs a third more CPU, and adds numbers up in another order each time
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "enable_external_access": False,
            "temp_directory": "",
        },
    )
    connection.execute("set python_enable_replacements = false; set timezone = 'UTC'; set lock_configuration = true")
    return connection
