"""Dagster's storage in PostgreSQL, with connections that are used again.

dagster-postgres opens a connection for every statement, and a night asks its storage thousands of times: to let those in, and to learn
the catalogue anew for each, was more work for the server than all that was asked.
"""

from typing import Any, Final, Self

from dagster._serdes import ConfigurableClassData
from dagster_postgres import DagsterPostgresStorage
from dagster_postgres.utils import pg_url_from_config
from sqlalchemy import Engine, create_engine

_ENGINES: Final[dict[str, Engine]] = {}
"""By address: a process makes an instance for every look of a sensor, and all of them share its connections."""


class KeptConnections(DagsterPostgresStorage):
    """The same storage: a process keeps two connections, opens more where threads ask at once, and looks once for the tables."""

    def __init__(self, postgres_url: str, inst_data: ConfigurableClassData | None = None) -> None:
        engine = _ENGINES.get(postgres_url)
        super().__init__(postgres_url, should_autocreate_tables=engine is None, inst_data=inst_data)
        if engine is None:
            made = create_engine(
                postgres_url,
                isolation_level="AUTOCOMMIT",
                pool_size=2,
                max_overflow=-1,
                pool_pre_ping=True,  # the server may have ended it meanwhile
            )
            engine = _ENGINES.setdefault(postgres_url, made)
        for part in (self._run_storage, self._event_log_storage, self._schedule_storage):
            part._engine = engine

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Any) -> Self:
        """Build the storage from the configuration that ``dagster.yaml`` gives."""
        return cls(pg_url_from_config(config_value), inst_data)
