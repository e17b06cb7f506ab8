"""Where the store is and who connects to it.

Addresses and passwords live here and nowhere else: in environment variables (``SLOWWAVE_DATABASE_URL``,
``SLOWWAVE_APPLY_DATABASE_URL``) or, for the embedded server, in files that only their owner can read. A ``Store`` never shows
them. Every role has a connection of its own; with a single external address the code takes a role by ``SET ROLE``.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from slowwave.errors import StoreError

Role = Literal["owner", "reader", "planner", "approver", "applier"]
ROLES: Final[tuple[Role, ...]] = ("reader", "planner", "approver", "applier")
Connection = psycopg.Connection[tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Store:
    """A database that holds ``memory`` and ``night``. ``logins`` are addresses of roles that have a login of their own."""

    owner: str = field(repr=False)
    logins: Mapping[str, str] = field(default_factory=dict, repr=False)
    embedded: bool = False

    @classmethod
    def from_environment(cls) -> Store:
        """The store named by the environment, else the embedded server's, started when it is not running."""
        if url := os.environ.get("SLOWWAVE_DATABASE_URL"):
            apply_url = os.environ.get("SLOWWAVE_APPLY_DATABASE_URL")
            return cls(plain_url(url), {"applier": plain_url(apply_url)} if apply_url else {})
        from slowwave.store import server

        running = server.start()
        return cls.embedded_in(running.url("slowwave"), running.home)

    @classmethod
    def embedded_in(cls, owner: str, home: Path) -> Store:
        """The store of an embedded server, with one login a role; their passwords sit in a 0600 file in ``home``."""
        passwords = _passwords(home / "logins.json")
        logins = {
            role: make_conninfo(owner, user=f"slowwave_login_{role}", password=password)
            for role, password in passwords.items()
        }
        return cls(owner, logins, embedded=True)

    def ensure_logins(self) -> None:
        """Create the embedded server's logins, or set their passwords again (they may come from another home)."""
        if not self.embedded:
            return
        with self.connect("owner") as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(hashtext('slowwave logins'))")
            for role, address in self.logins.items():
                name = sql.Identifier(f"slowwave_login_{role}")
                password = sql.Literal(conninfo_to_dict(address)["password"])
                exists = connection.execute(
                    "SELECT 1 FROM pg_roles WHERE rolname = %s", (f"slowwave_login_{role}",)
                ).fetchone()
                verb = sql.SQL("ALTER" if exists else "CREATE")
                connection.execute(sql.SQL("{} ROLE {} LOGIN PASSWORD {}").format(verb, name, password))
                connection.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(f"slowwave_{role}"), name))

    @contextmanager
    def connect(self, role: Role) -> Generator[Connection]:
        """A connection in autocommit mode and UTC that may do what ``role`` may; use ``connection.transaction()`` to write."""
        address = self.logins.get(role, self.owner)
        try:
            connection = psycopg.connect(
                address,
                autocommit=True,
                application_name=f"slowwave-{role}",
                options="-c timezone=UTC",
                connect_timeout=10,
            )
        except psycopg.OperationalError as problem:
            raise StoreError(
                f"The database at {self.address()} does not answer as {role} ({_first_line(problem)}). "
                "Start it, or correct SLOWWAVE_DATABASE_URL; `slowwave doctor` says more."
            ) from None
        with connection:
            if role != "owner" and role not in self.logins:
                try:
                    connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(f"slowwave_{role}")))
                except psycopg.errors.Error as problem:
                    raise StoreError(
                        f"The login of SLOWWAVE_DATABASE_URL may not act as slowwave_{role} ({_first_line(problem)}). "
                        "Run `slowwave doctor`, or GRANT that role to the login."
                    ) from None
            yield connection

    def address(self) -> str:
        """host:port/database, for people; never a user or a password."""
        parts = conninfo_to_dict(self.owner)
        return f"{parts.get('host', 'localhost')}:{parts.get('port', 5432)}/{parts.get('dbname', '')}"

    def sqlalchemy_url(self) -> str:
        """The owner's address for SQLAlchemy with psycopg 3. Holds the password: for engines only."""
        from sqlalchemy import URL

        parts = conninfo_to_dict(self.owner)
        url = URL.create(
            "postgresql+psycopg",
            username=_text(parts.get("user")),
            password=_text(parts.get("password")),
            host=_text(parts.get("host")),
            port=int(str(parts["port"])) if parts.get("port") else None,
            database=_text(parts.get("dbname")),
        )
        return url.render_as_string(hide_password=False)


def plain_url(url: str) -> str:
    """An address without SQLAlchemy's driver in the scheme."""
    return re.sub(r"^postgres(ql)?(\+\w+)?://", "postgresql://", url)


def _passwords(path: Path) -> dict[str, str]:
    if path.exists():
        return {str(k): str(v) for k, v in json.loads(path.read_text()).items()}
    made = {role: secrets.token_urlsafe(24) for role in ROLES}
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(made, file)
    try:
        os.link(temporary, path)  # the first of several processes wins, and all read the same file
    except FileExistsError:
        pass
    finally:
        temporary.unlink()
    return {str(k): str(v) for k, v in json.loads(path.read_text()).items()}


def _first_line(problem: Exception) -> str:
    text = str(problem).strip().splitlines()
    return re.sub(r"password=\S+", "password=…", text[0]) if text else type(problem).__name__


def _text(value: object) -> str | None:
    return None if value is None else str(value)
