"""Bring a database to this version's schema, make partitions ahead, and open the store of the environment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import psycopg

from slowwave.errors import Refused, StoreError
from slowwave.store.connect import Store
from slowwave.store.logins import narrow, provide

if TYPE_CHECKING:
    from alembic.config import Config


# Monthly partitions of ``memory.recall_events``, created in advance, since agents that log recalls may not create any.

_MONTHS_AHEAD: Final = 3

_ENSURE_PARTITIONS: Final = "SELECT memory.ensure_recall_partitions(now(), now() + make_interval(months => %s))"


def make_partitions_ahead(store: Store) -> None:
    """Create the missing partitions of this month and the next three, as the owner, and move earlier events into them.

    It does not wait for readers of the events: rows without a partition stay in the default partition until the next run.
    """
    with store.connect("owner") as connection:
        try:
            with connection.transaction():
                connection.execute("SET LOCAL lock_timeout = '1s'")
                connection.execute(_ENSURE_PARTITIONS, (_MONTHS_AHEAD,))
        except (psycopg.errors.LockNotAvailable, psycopg.errors.InsufficientPrivilege):
            return


# Migration of a database to this version's schema.

_SCRIPTS: Final = Path(__file__).with_name("migrations")

_ADVISORY_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtext('slowwave migrate'))"
_CREATE_SCHEMA: Final = "CREATE SCHEMA IF NOT EXISTS night"
_INDEX_VECTOR_MODELS: Final = "SELECT memory.index_vector_model(model, dimensions) FROM memory.vector_models"
_VERSION_TABLE: Final = "SELECT to_regclass('night.alembic_version')"
_VERSION: Final = "SELECT version_num FROM night.alembic_version"


def _config() -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    return config


def migrate(store: Store) -> list[str]:
    """Create roles, run pending migrations and build the search indexes of registered models, in one transaction.

    Return the revisions that were pending, oldest first; a new database lacked all of them. Concurrent processes wait for each other.
    Raises ``StoreError`` if this login may not, with the statements for an administrator if roles are the reason.
    """
    from alembic import command
    from sqlalchemy import create_engine, text
    from sqlalchemy.exc import DBAPIError
    from sqlalchemy.pool import NullPool

    pending = pending_migrations(store)  # it reports if a database is not reachable, or is of a newer version
    engine = create_engine(store.sqlalchemy_url(), poolclass=NullPool)
    try:
        with engine.begin() as connection:
            connection.execute(text(_ADVISORY_LOCK))
            session = cast("psycopg.Connection[Any]", connection.connection.driver_connection)
            provide(session)
            connection.execute(text(_CREATE_SCHEMA))
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            connection.execute(text(_INDEX_VECTOR_MODELS))
            narrow(session)
    except (psycopg.Error, DBAPIError) as problem:
        cause = problem.orig if isinstance(problem, DBAPIError) else problem
        message = str(cause).strip().splitlines()[0]
        raise StoreError(
            f"The migration stopped and nothing of it stands: {message.rstrip('.')}. `slowwave doctor` says what the database lacks."
        ) from None
    make_partitions_ahead(store)
    return pending


def pending_migrations(store: Store) -> list[str]:
    """Return the revisions that the database lacks, oldest first; Alembic is imported only if there may be some.

    Raises ``StoreError`` for a database at a revision that this version does not know: a newer version has migrated it.
    """
    with store.connect("owner") as connection:
        known = connection.execute(_VERSION_TABLE).fetchone()
        row = connection.execute(_VERSION).fetchone() if known and known[0] else None
    current = str(row[0]) if row else "base"
    if current == newest_revision():
        return []
    from alembic.script import ScriptDirectory

    script = ScriptDirectory.from_config(_config())
    if current not in ("base", *(r.revision for r in script.walk_revisions())):
        raise StoreError(
            f"The database at {store.address()} is at migration {current[:20]}, and the last that this version of Slowwave knows is "
            f"{newest_revision()}: a newer version has migrated it. Install that version or a later one. Nothing was changed."
        )
    return [r.revision for r in reversed(list(script.iterate_revisions("head", current)))]


def newest_revision() -> str:
    """Return the revision of this version's schema: migration files are named by number, and there are no branches."""
    return max(file.name.split("_")[0] for file in (_SCRIPTS / "versions").glob("[0-9]*_*.py"))


# The store that the environment names, ready for use.


def open_store() -> Store:
    """Return the store of the environment, with all migrations applied.

    The embedded store is migrated automatically. Raises ``Refused`` for another one with pending migrations, which `slowwave migrate`
    applies.
    """
    store = Store.from_environment()
    if pending_migrations(store):
        if not store.embedded:
            raise Refused(
                f"The database at {store.address()} lacks migrations of this version. Run `slowwave migrate` as its owner."
            )
        migrate(store)
    return store
