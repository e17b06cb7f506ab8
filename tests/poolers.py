"""A PgBouncer with the settings of ``deploy/pgbouncer.ini`` before a server of ours."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import psycopg

from slowwave.store import server
from slowwave.store.logins import LOGINS
from tests.clusters import administrator, fast_folder
from tests.waiting import until

PGBOUNCER: Final = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
ABSENT: Final = "pgbouncer is not installed: apt-get install pgbouncer"

_SHIPPED: Final = Path(__file__).parents[1] / "deploy" / "pgbouncer.ini"
_VERIFIERS: Final = re.findall(r"^; +(SELECT .*)$", _SHIPPED.read_text(), re.MULTILINE)
_OVERRIDES: Final = """
[databases]
* = host={host} port={port}
%include {shipped}
listen_addr = 127.0.0.1
listen_port = {own}
auth_file = {folder}/users
default_pool_size = {size}
"""
"""Addresses and the size of the pool; all other settings are shipped. A second section ``[pgbouncer]`` would reset them."""


@contextmanager
def pooled(postgres: server.Server, folder: Path, size: int) -> Iterator[int]:
    """The port of a PgBouncer that lets each of ``LOGINS`` have ``size`` connections of the server at once."""
    assert PGBOUNCER
    with fast_folder(folder) as home:
        own = _free_port()
        (verifiers,) = _VERIFIERS
        ours = ", ".join(f"'{login}'" for login in LOGINS.values())
        query = verifiers.replace("'memory_owner', 'memory_writer'", ours)
        found = administrator(postgres).execute(query.encode()).fetchall()
        assert len(found) == len(LOGINS)
        (home / "users").write_text("".join(f"{line}\n" for (line,) in found))
        text = _OVERRIDES.format(
            shipped=_SHIPPED, host=postgres.host, port=postgres.port, own=own, folder=home, size=size
        )
        (home / "pgbouncer.ini").write_text(text)
        user = ("-u", "nobody") if os.geteuid() == 0 else ()
        with (
            (home / "log").open("wb") as log,
            subprocess.Popen([PGBOUNCER, *user, home / "pgbouncer.ini"], stdout=log, stderr=log) as process,
        ):
            try:
                until(lambda: process.poll() is None and _answers(own))
                yield own
            finally:
                process.terminate()


def through(address: str, port: int) -> str:
    """An address with the pooler's port instead of the server's."""
    parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=f"{parts.netloc.rpartition(':')[0]}:{port}"))


def left_behind(address: str, size: int) -> list[tuple[object, ...]]:
    """What clients left on the ``size`` connections of the server: role, time zone, timeouts, temporary tables and advisory locks."""
    found: list[tuple[object, ...]] = []
    clients = [psycopg.connect(address, prepare_threshold=None) for _ in range(size)]
    for client in clients:  # each holds its transaction, so each has another connection of the server
        found += client.execute(
            "SELECT current_user = session_user, current_setting('lock_timeout'), current_setting('statement_timeout'),"
            " (SELECT count(*) FROM pg_class WHERE relpersistence = 't'),"
            " (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()),"
            " (SELECT count(*) FROM pg_prepared_statements), (SELECT count(*) FROM pg_listening_channels())"
        ).fetchall()
    for client in clients:
        client.close()
    return found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False
