"""Connect to the store: its address, its identity, and paths made of names of namespaces and runs."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict

from slowwave.errors import NoAnswer, StoreError
from slowwave.store import logins as idle
from slowwave.store.logins import LOGINS, ROLES, Connection, Role, Session, checked, passwords

# The address of the store, and its connections.
#
# Addresses and passwords come only from environment variables (``SLOWWAVE_DATABASE_URL``, ``SLOWWAVE_APPLY_DATABASE_URL``) or, for the
# embedded server, from files that only their owner can read. A ``Store`` never shows them. Every role has a separate connection; with a
# single external address the code takes a role by ``SET ROLE``.

_URL: Final = "SLOWWAVE_DATABASE_URL"
_APPLY_URL: Final = "SLOWWAVE_APPLY_DATABASE_URL"
_REPLICA_URL: Final = "SLOWWAVE_REPLICA_URL"

OTHER_STORE: Final = (f"{_REPLICA_URL} leads to another store than {_URL}.", "Set it to a replica of that database.")
"""The finding about a replica of another database, and its remedy."""


@dataclass(frozen=True, slots=True)
class Store:
    """A database with the schemas ``memory`` and ``night``.

    ``owner`` is the owner's address; ``logins`` are the addresses of roles that have a dedicated login. ``replica`` is the address of a
    replica from which snapshots are read, empty if there is none. ``variable`` names the variable that ``owner`` comes from.
    """

    owner: str = field(repr=False)
    logins: Mapping[str, str] = field(default_factory=dict, repr=False)
    embedded: bool = False
    replica: str = field(default="", repr=False)
    variable: str = _URL

    @classmethod
    def from_environment(cls) -> Store:
        """Return the store that the environment names, else the embedded server's, which is started if necessary."""
        if url := os.environ.get(_URL, "").strip():
            apply_url = os.environ.get(_APPLY_URL, "").strip()
            replica = os.environ.get(_REPLICA_URL, "").strip()
            return cls(
                checked(_URL, url),
                {"applier": checked(_APPLY_URL, apply_url)} if apply_url else {},
                replica=checked(_REPLICA_URL, replica) if replica else "",
            )
        from slowwave.store import server

        running = server.start()
        return cls.embedded_in(running.url("slowwave"), running.home)

    @classmethod
    def embedded_in(cls, address: str, home: Path) -> Store:
        """Return the store at an address of the embedded server, with one login per role and one for the owner.

        The user in the address does not matter. The passwords are in a file in ``home`` with mode 0600.
        """
        known = passwords(home / "logins.json")
        return cls(
            as_login(address, LOGINS["owner"], known["owner"]),
            {role: as_login(address, LOGINS[role], known[role]) for role in ROLES},
            embedded=True,
        )

    @contextmanager
    def connect(self, role: Role) -> Generator[Connection]:
        """Connect with the rights of ``role``, in autocommit mode and UTC; use ``connection.transaction()`` to write.

        The connection belongs to the block alone. One that another block has returned is used again (``slowwave.store.logins``), except
        the owner's, who migrates and administrates while no one else may be connected. A connection is closed if the block raises.
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

    def _opened(self, role: Role) -> Session:
        """Open a new connection with the login of ``role``.

        Raises ``NoAnswer`` if the server does not answer.
        """
        address = self.logins.get(role, self.owner)
        try:
            return Session.open(address, f"slowwave-{role}")
        except psycopg.OperationalError as problem:
            finding = f"The database at {_place(address)} does not answer as {role} ({_first_line(problem)})."
            raise NoAnswer(finding, self._remedy(role)) from None

    def _remedy(self, role: Role) -> str:
        if self.embedded:
            return "It is the embedded server: `slowwave stop` ends what is left of it, and the next command starts it anew."
        return f"Start it, or correct host, database, user or password in {_APPLY_URL if role in self.logins else self.variable}."

    def _act_as(self, connection: Session, role: Role) -> None:
        """Take a role that has no dedicated login, by ``SET ROLE``."""
        try:
            connection.act_as(f"slowwave_{role}")
        except psycopg.errors.Error as problem:
            remedy = (
                "Take the login of SLOWWAVE_DATABASE_URL, or grant it the role in the database that the replica follows."
                if self.variable == _REPLICA_URL
                else "`slowwave doctor` prints the GRANT that it lacks."
            )
            finding = f"The login of {self.variable} may not act as slowwave_{role} ({_first_line(problem)})."
            raise StoreError(f"{finding} {remedy}") from None

    def read_from(self) -> Store:
        """Return the store that snapshots are read from: the replica if there is one."""
        return Store(self.replica, variable=_REPLICA_URL) if self.replica else self

    def address(self) -> str:
        """Return host:port/database for users; never a user or a password."""
        return _place(self.owner)

    def sqlalchemy_url(self) -> str:
        """Return the owner's address for SQLAlchemy with psycopg 3.

        It contains the password: for engines only. Raises ``StoreError`` for an address of several servers.
        """
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
    """Return a ``postgresql://`` address with another user and password in it."""
    parts = urlsplit(address)
    there = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"{quote(user, safe='')}:{quote(password, safe='')}@{there}").geturl()


def _place(address: str) -> str:
    """Return host:port/database of an address."""
    parts = conninfo_to_dict(address)
    return f"{parts.get('host', 'localhost')}:{parts.get('port', 5432)}/{parts.get('dbname', '')}"


def _first_line(problem: Exception) -> str:
    text = str(problem).strip().splitlines()
    return re.sub(r"password=\S+", "password=…", text[0]) if text else type(problem).__name__


def _text(value: object) -> str | None:
    return None if value is None else str(value)


# The identity of the database, which separates the files of several databases that share a folder.

_STORE_AND_DATABASE: Final = """
SELECT (SELECT id::text FROM night.store), (SELECT oid FROM pg_database WHERE datname = current_database())
"""
_SERVER: Final = "SELECT system_identifier FROM pg_control_system()"


def identity(store: Store) -> str:
    """Return 16 hexadecimal digits that identify the database, different for a new one, a copy and a restored dump.

    They are derived from the store's id, which a copy shares, the database's number on its server, and the server's identifier if the
    login may read it. A database that moves to another server therefore becomes another one, and its files are written anew.
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


# Names of namespaces and runs as parts of paths: of snapshots, reports and pages. They come from outside and may contain any character.

_PLAIN_NAME: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,63}")
_NOT_PLAIN: Final = re.compile(r"[^0-9A-Za-z_-]+")


def path_part(name: str) -> str:
    """Return a name as one part of a path: unchanged if it has only letters, digits, ``_`` and ``-``.

    Other names become their plain characters, a dot and a hash. No plain name has a dot, so no namespace can have the name of another
    one's folder.
    """
    if _PLAIN_NAME.fullmatch(name):
        return name
    plain = _NOT_PLAIN.sub("-", name).strip("-_")[:48] or "namespace"
    return f"{plain}.{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:12]}"
