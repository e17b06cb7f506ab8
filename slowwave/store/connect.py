"""Connect to the store: where it is, which database it is, and paths made of names of namespaces and runs."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from slowwave.errors import NoAnswer, StoreError
from slowwave.store import logins as idle
from slowwave.store.logins import LOGINS, ROLES, Connection, Role, checked, passwords

# Where the store is and who connects to it.
#
# Addresses and passwords live here and nowhere else: in environment variables (``SLOWWAVE_DATABASE_URL``,
# ``SLOWWAVE_APPLY_DATABASE_URL``) or, for the embedded server, in files that only their owner can read. A ``Store`` never shows
# them. Every role has a connection of its own; with a single external address the code takes a role by ``SET ROLE``.

_URL: Final = "SLOWWAVE_DATABASE_URL"
_APPLY_URL: Final = "SLOWWAVE_APPLY_DATABASE_URL"


@dataclass(frozen=True, slots=True)
class Store:
    """A database that holds ``memory`` and ``night``. ``logins`` are addresses of roles that have a login of their own."""

    owner: str = field(repr=False)
    logins: Mapping[str, str] = field(default_factory=dict, repr=False)
    embedded: bool = False

    @classmethod
    def from_environment(cls) -> Store:
        """The store named by the environment, else the embedded server's, started when it is not running."""
        if url := os.environ.get(_URL, "").strip():
            apply_url = os.environ.get(_APPLY_URL, "").strip()
            return cls(checked(_URL, url), {"applier": checked(_APPLY_URL, apply_url)} if apply_url else {})
        from slowwave.store import server

        running = server.start()
        return cls.embedded_in(running.url("slowwave"), running.home)

    @classmethod
    def embedded_in(cls, address: str, home: Path) -> Store:
        """The store at an address of the embedded server, whoever's it is: one login a role, the owner's as well.

        Their passwords sit in a 0600 file in ``home``.
        """
        known = passwords(home / "logins.json")
        return cls(
            as_login(address, LOGINS["owner"], known["owner"]),
            {role: as_login(address, LOGINS[role], known[role]) for role in ROLES},
            embedded=True,
        )

    @contextmanager
    def connect(self, role: Role) -> Generator[Connection]:
        """A connection in autocommit mode and UTC that may do what ``role`` may; use ``connection.transaction()`` to write.

        It is the block's alone. One that another block is through with is used again (``slowwave.store.logins``), the owner's never: it
        migrates and administrates, and nobody else may be connected then. One on which anything was raised is closed.
        """
        if role == "owner":
            with self._opened(role) as connection:
                yield connection
            return
        key = (self.logins.get(role, self.owner), "" if role in self.logins else role)
        connection = idle.take(key) or self._opened(role)
        try:
            if key[1]:
                self._act_as(connection, role)
            yield connection
        except BaseException:
            connection.close()
            raise
        idle.give_back(key, connection)

    def _opened(self, role: Role) -> Connection:
        """A new connection with the login that ``role`` has."""
        address = self.logins.get(role, self.owner)
        try:
            return psycopg.connect(
                address,
                autocommit=True,
                application_name=f"slowwave-{role}",
                options="-c timezone=UTC",
                connect_timeout=10,
            )
        except psycopg.OperationalError as problem:
            finding = f"The database at {_place(address)} does not answer as {role} ({_first_line(problem)})."
            raise NoAnswer(finding, self._remedy(role)) from None

    def _remedy(self, role: Role) -> str:
        if self.embedded:
            return "It is the embedded server: `slowwave stop` ends what is left of it, and the next command starts it anew."
        return (
            f"Start it, or correct host, database, user or password in {_APPLY_URL if role in self.logins else _URL}."
        )

    def _act_as(self, connection: Connection, role: Role) -> None:
        """Take a role that has no login of its own."""
        try:
            connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(f"slowwave_{role}")))
        except psycopg.errors.Error as problem:
            raise StoreError(
                f"The login of SLOWWAVE_DATABASE_URL may not act as slowwave_{role} ({_first_line(problem)}). "
                "`slowwave doctor` prints the GRANT that it lacks."
            ) from None

    def address(self) -> str:
        """host:port/database, for people; never a user or a password."""
        return _place(self.owner)

    def sqlalchemy_url(self) -> str:
        """The owner's address for SQLAlchemy with psycopg 3. Holds the password: for engines only."""
        from sqlalchemy import URL

        parts = conninfo_to_dict(self.owner)
        if "," in str(parts.get("host")) or "," in str(parts.get("port")):
            raise StoreError(
                "Migrations write to one server: name the one that takes writes in SLOWWAVE_DATABASE_URL, alone."
            )
        url = URL.create(
            "postgresql+psycopg",
            username=_text(parts.get("user")),
            password=_text(parts.get("password")),
            host=_text(parts.get("host")),
            port=int(str(parts["port"])) if parts.get("port") else None,
            database=_text(parts.get("dbname")),
        )
        return url.render_as_string(hide_password=False)


def as_login(address: str, user: str, password: str) -> str:
    """A ``postgresql://`` address with another user in it."""
    parts = urlsplit(address)
    there = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"{quote(user, safe='')}:{quote(password, safe='')}@{there}").geturl()


def _place(address: str) -> str:
    """host:port/database of an address."""
    parts = conninfo_to_dict(address)
    return f"{parts.get('host', 'localhost')}:{parts.get('port', 5432)}/{parts.get('dbname', '')}"


def _first_line(problem: Exception) -> str:
    text = str(problem).strip().splitlines()
    return re.sub(r"password=\S+", "password=…", text[0]) if text else type(problem).__name__


def _text(value: object) -> str | None:
    return None if value is None else str(value)


# Which database this is: what keeps apart the files of several databases that share a folder.

_STORE_AND_DATABASE: Final = """
SELECT (SELECT id::text FROM night.store), (SELECT oid FROM pg_database WHERE datname = current_database())
"""
_SERVER: Final = "SELECT system_identifier FROM pg_control_system()"


def identity(store: Store) -> str:
    """16 hexadecimal digits that no other database has: neither one made for itself, nor a copy, nor one restored from a dump.

    Made of the store's own id, which a copy shares, of the database's number on its server, and of the server's identifier where the
    login may read it. So a database that moves to another server is another one, and its files are written anew.
    """
    with store.connect("reader") as connection:
        row = connection.execute(_STORE_AND_DATABASE).fetchone()
        if row is None or row[0] is None:
            raise StoreError(
                "The store has lost its id (the row of night.store), so its files cannot be distinguished from another store's. "
                "Restore it from a backup, or INSERT a new id as the owner: snapshots then begin anew."
            )
        try:
            server = connection.execute(_SERVER).fetchone()
        except psycopg.errors.InsufficientPrivilege:
            server = None
    return hashlib.sha256(f"{row[0]}|{row[1]}|{server[0] if server else ''}".encode()).hexdigest()[:16]


# Allocators whose free memory can be given back (``slowwave.snapshots.export``), chosen before any thread begins.

_ARENA_MAX: Final = -8
"""glibc's number of ``M_ARENA_MAX``."""


def trimmable() -> None:
    """One arena for all threads of this process and of those that it starts, and the C library's allocator for kernels of Arrow that are
    given no pool, with which DuckDB scans tables.

    ``malloc_trim`` leaves the end of each other arena as it is, and Arrow's own pool keeps what its threads freed. It has to come before
    Arrow is loaded. Who has set either in the environment keeps it; other C libraries have no arenas.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    if "MALLOC_ARENA_MAX" not in os.environ:
        os.environ["MALLOC_ARENA_MAX"] = "1"
        with suppress(AttributeError, OSError, TypeError):
            ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


# Names of namespaces and runs as parts of paths: of snapshots, reports and pages. They come from outside, and may hold anything.

_PLAIN_NAME: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,63}")
_NOT_PLAIN: Final = re.compile(r"[^0-9A-Za-z_-]+")


def path_part(name: str) -> str:
    """A name as one part of a path: itself when it is plain letters, digits, ``_`` and ``-``, else what is plain of it, a dot
    and a hash: no plain name has a dot, so nobody can call a namespace as another one's folder is called."""
    if _PLAIN_NAME.fullmatch(name):
        return name
    plain = _NOT_PLAIN.sub("-", name).strip("-_")[:48] or "namespace"
    return f"{plain}.{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:12]}"
