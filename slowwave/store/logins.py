"""Logins and roles: checked addresses, reuse of open connections, file ownership, and the rights of roles."""

from __future__ import annotations

import atexit
import json
import os
import pwd
import re
import secrets
import selectors
import threading
import time
from collections.abc import Generator, Iterable, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, LiteralString, Self

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import Row

from slowwave.errors import StoreError

if TYPE_CHECKING:
    from psycopg.abc import Params, Query
    from psycopg.copy import Writer

# Idle connections of this process for reuse: a few, each for one address, login and role.
#
# ``Store.connect`` takes one from here and returns it, so a process that uses the store fifty times connects a few times. Returned
# connections are reset: no transaction, setting, role, cursor, temporary table, lock or channel remains. Connections that the server ended
# meanwhile are not reused. The number of connections in use is not limited here, and no thread is involved.
#
# A pool with workers (``psycopg_pool``) connects in a thread and retries until a timeout: the caller would wait, and would see the timeout
# instead of the server's message.

MOST: Final = 4
"""Maximum number of idle connections of a process, in total: a night needs one per role, and many processes share a server."""

SECONDS: Final = 30.0
"""Seconds after which an idle connection is no longer used, because a proxy in between may have dropped it silently.

It is closed when a connection is next requested or returned; a process that does neither keeps it until it ends.
"""

_RESET: Final = """
CLOSE ALL; RESET SESSION AUTHORIZATION; RESET ALL; SET timezone = 'UTC'; UNLISTEN *; SELECT pg_advisory_unlock_all(); DISCARD TEMP;
DISCARD SEQUENCES
"""
"""``DISCARD ALL`` without prepared statements: psycopg creates those itself, and would not notice that they are gone."""

Key = tuple[str, str]
"""Address with login, and the role that is set on it (empty if the login has its rights directly)."""
Connection = psycopg.Connection[tuple[object, ...]]

_OPEN: Final = "SELECT set_config('timezone', 'UTC', false), pg_backend_pid()"


class Session(psycopg.Connection[tuple[object, ...]]):
    """A connection in UTC that also works through a pooler in transaction mode, such as PgBouncer.

    Such a pooler may run each transaction on another connection of the server, which other clients use before and after. Nothing may
    then outlast a transaction: statements are not prepared on the server, and ``role`` is taken anew in each transaction. A statement
    outside of a transaction gets one.
    """

    pooled: bool = False
    role: str = ""
    _depth: int = 0

    @classmethod
    def open(cls, address: str, name: str) -> Session:
        """Connect in autocommit mode, and find out whether a pooler is in between. Raises psycopg errors.

        The time zone is set by a statement, as PgBouncer refuses options of the server at the start of a connection. A pooler answers
        with a process id that is not that of the server's process.
        """
        connection = cls.connect(address, autocommit=True, application_name=name, connect_timeout=10)
        row = connection.execute(_OPEN).fetchone()
        if row and row[1] != connection.info.backend_pid:
            connection.pooled, connection.prepare_threshold = True, None
        return connection

    def act_as(self, role: str) -> None:
        """Take a role, for the session or, behind a pooler, for each transaction. Raises psycopg errors."""
        if self.pooled:
            if self.role != role:
                self.role, self.cursor_factory = role, _PooledCursor
                with self.transaction():  # takes the role once, so that a missing right is reported here
                    pass
            return
        self.execute(_set_role("SET", role))

    @contextmanager
    def transaction(
        self, savepoint_name: str | None = None, force_rollback: bool = False
    ) -> Generator[psycopg.Transaction]:
        """Open a transaction or a savepoint, as psycopg does."""
        with super().transaction(savepoint_name, force_rollback) as begun:
            if self.role and not self._depth:
                psycopg.Cursor(self).execute(_set_role("SET LOCAL", self.role))
            self._depth += 1
            try:
                yield begun
            finally:
                self._depth -= 1

    def in_transaction(self) -> AbstractContextManager[object]:
        """Return a context that opens a transaction unless one is open."""
        return nullcontext() if self._depth else self.transaction()


class _PooledCursor(psycopg.Cursor[Row]):
    """A cursor of a ``Session`` with a role behind a pooler: each of its statements is in a transaction."""

    def execute(
        self, query: Any, params: Params | None = None, *, prepare: bool | None = None, binary: bool | None = None
    ) -> Self:
        with self._in_transaction():
            return super().execute(query, params, prepare=prepare, binary=binary)

    def executemany(self, query: Query, params_seq: Iterable[Params], *, returning: bool = False) -> None:
        with self._in_transaction():
            super().executemany(query, params_seq, returning=returning)

    @contextmanager
    def copy(
        self, statement: Query, params: Params | None = None, *, writer: Writer | None = None
    ) -> Generator[psycopg.Copy]:
        with self._in_transaction(), super().copy(statement, params, writer=writer) as copy:
            yield copy

    def _in_transaction(self) -> AbstractContextManager[object]:
        connection = self.connection
        assert isinstance(connection, Session)  # noqa: S101 - only ``Session.act_as`` makes such cursors
        return connection.in_transaction()


def _set_role(verb: LiteralString, role: str) -> sql.Composed:
    return sql.SQL("{} ROLE {}").format(sql.SQL(verb), sql.Identifier(role))


def another(connection: Connection) -> Session:
    """Open another connection with the address and login of one. Raises psycopg errors."""
    info = connection.info
    return Session.open(make_conninfo(info.dsn, password=info.password or None), "slowwave-lock")


@dataclass(frozen=True, slots=True)
class _Waiting:
    key: Key
    connection: Session
    since: float


@dataclass(slots=True)
class _Idle:
    """Idle connections, the oldest first; the lock is never held during a statement."""

    waiting: list[_Waiting] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


_idle = _Idle()
_AT_HAND: Final[ContextVar[dict[Key, Session] | None]] = ContextVar("at_hand", default=None)
"""Connections that the blocks of one unit of work pass on to each other, by key."""

_inherited: list[_Idle] = []  # if a child closed its parent's connections, it would end the parent's sessions


def take(key: Key) -> Session | None:
    """Return the connection that was returned last for this key, if it is still usable; the caller owns it from then on."""
    at_hand = (_AT_HAND.get() or {}).pop(key, None)
    if at_hand is not None:
        if _unharmed(at_hand):
            return at_hand
        at_hand.close()
    while True:
        with _idle.lock:
            found = next((w for w in reversed(_idle.waiting) if w.key == key), None)
            if found is not None:
                _idle.waiting.remove(found)
        if found is None:
            return None
        if time.monotonic() - found.since < SECONDS and _unharmed(found.connection):
            return found.connection
        found.connection.close()


def give_back(key: Key, connection: Session) -> None:
    """Keep a connection for reuse, or close it if it is inside a statement, changed, or one too many."""
    at_hand = _AT_HAND.get()
    if at_hand is not None and key not in at_hand and _at_rest(connection):
        at_hand[key] = connection
        return
    if not (_at_rest(connection) and _as_new(connection)):
        connection.close()
        return
    now = time.monotonic()
    with _idle.lock:
        _idle.waiting.append(_Waiting(key, connection, now))
        over = [w for n, w in enumerate(reversed(_idle.waiting)) if n >= MOST or now - w.since >= SECONDS]
        _idle.waiting = [w for w in _idle.waiting if w not in over]
    for one in over:
        one.connection.close()


@contextmanager
def handed_on() -> Generator[None]:
    """Let the blocks of this thread pass connections on without a reset, which happens only when this context ends.

    For work of many small steps, none of which sets anything that outlasts its transaction. A reset is a statement of a fifth of a
    millisecond, and the night of a small namespace has twenty such steps or more.
    """
    at_hand: dict[Key, Session] = {}
    token = _AT_HAND.set(at_hand)
    try:
        yield
    finally:
        _AT_HAND.reset(token)
        while at_hand:
            give_back(*at_hand.popitem())


def close_idle() -> None:
    """Close the idle connections: at the end of the process, and before a database is copied, when no one may be connected."""
    with _idle.lock:
        over, _idle.waiting = _idle.waiting, []
    for one in over:
        one.connection.close()


def _unharmed(connection: Connection) -> bool:
    """Return whether the connection is open and the server has sent nothing since.

    The only thing that it sends to an idle connection is that it ends.
    """
    if connection.closed:
        return False
    with selectors.DefaultSelector() as selector:
        selector.register(connection.fileno(), selectors.EVENT_READ)
        return not selector.select(0)


def _at_rest(connection: Connection) -> bool:
    """End a transaction that a block left open; return False if the connection is inside a statement, or changed."""
    try:
        if connection.info.transaction_status == TransactionStatus.INTRANS:
            connection.commit()
        if connection.info.transaction_status != TransactionStatus.IDLE or not connection.autocommit:
            return False
        connection.isolation_level = connection.read_only = connection.deferrable = None
    except psycopg.Error:
        return False
    return True


def _as_new(connection: Session) -> bool:
    """Reset a connection to the state in which it was opened; return False if that fails.

    Behind a pooler nothing outlasts a transaction, and the statement would reset a connection of the server that others use.
    """
    if connection.pooled:
        return True
    try:
        with connection.cursor() as cursor:
            cursor.execute(_RESET)
    except psycopg.Error:
        return False
    return True


def _forget() -> None:
    """Leave the parent's connections alone in a forked child."""
    global _idle
    _inherited.append(_idle)
    _idle = _Idle()


os.register_at_fork(after_in_child=_forget)
atexit.register(close_idle)


# Addresses of databases as users enter them: checked before use, and never repeated in a message.
#
# A part of an address may be a password, or a part of one that was not percent-encoded, so a refusal names the variable and the fault of
# its form and shows none of it. ``slowwave.store.connect`` connects.

_FORM: Final = "It reads like postgresql://user:password@host:5432/database."
_ENCODE: Final = "Write @ : / ? # and % in a user's name or a password as %40 %3A %2F %3F %23 and %25."
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_NAME: Final = re.compile(r"[^\s@/:?#\[\]]*")


def checked(variable: str, address: str) -> str:
    """Return an address for psycopg, without SQLAlchemy's driver in its scheme; ``variable`` is where it comes from.

    Raises ``StoreError`` for a scheme other than PostgreSQL's, and for an address that libpq does not parse, or parses differently than
    meant.
    """
    address = address.strip()
    scheme = _SCHEME.match(address)
    if scheme:
        if not re.fullmatch(r"postgres(ql)?(\+\w+)?", scheme[1].lower()):
            raise StoreError(f"{variable} does not lead to PostgreSQL: its scheme is another one. {_FORM}")
        address = f"postgresql://{address[scheme.end() :]}"
    elif "=" not in address:
        raise StoreError(f"{variable} is not an address. {_FORM}")
    try:
        parts = conninfo_to_dict(address)
    except psycopg.ProgrammingError:
        raise StoreError(f"{variable} cannot be read as an address. {_FORM} {_ENCODE}") from None
    ports = str(parts.get("port") or "5432").split(",")
    if not all(re.fullmatch("[0-9]{1,5}", port) and 0 < int(port) < 65536 for port in ports):
        raise StoreError(f"{variable} names no port between 1 and 65535. {_FORM} {_ENCODE}")
    hosts = str(parts.get("host") or "").split(",")
    if not all(_is_host(host) for host in hosts) or (scheme and re.search("[@/]", str(parts.get("dbname") or ""))):
        raise StoreError(f"{variable} names no host and database that there can be. {_FORM} {_ENCODE}")
    return address


def _is_host(name: str) -> bool:
    """Return whether a text is a host name, an IPv4 or IPv6 address, or the folder of a socket."""
    return (name.startswith("/") and "@" not in name) or bool(
        _NAME.fullmatch(name) or re.fullmatch(r"[0-9A-Fa-f:.]+(%\w+)?", name)
    )


# Ownership of files that root creates: they belong to the account of the folder in which they are created.
#
# A service has its home folder, and sometimes an administrator runs a command as root. Files that root creates there are given to the
# service's account, which otherwise could neither read nor remove them. For any other account nothing happens.


def keeper(path: Path) -> tuple[int, int] | None:
    """Return the account and group of the folder that ``path`` is or will be in, if root runs this for another account.

    None if the process is not root's, the folder is root's, or its account has no name.
    """
    if os.geteuid() != 0:
        return None
    nearest = next((p for p in (path, *path.parents) if p.is_dir()), None)
    owner = nearest.stat() if nearest else None
    if owner is None or owner.st_uid == 0:
        return None
    try:
        pwd.getpwuid(owner.st_uid)
    except KeyError:
        return None
    return owner.st_uid, owner.st_gid


def hand_over(path: Path) -> None:
    """Give a file or folder that was just made to the owner of its folder; a symbolic link is not followed."""
    if found := keeper(path.parent):
        os.chown(path, *found, follow_symlinks=False)


def make_private(path: Path, mode: int = 0o700) -> None:
    """Create a folder and its missing parents with ``mode``, owned by the account that owns the existing parent."""
    for folder in (*reversed(path.parents), path):
        if not folder.is_dir():
            folder.mkdir(mode=mode, exist_ok=True)
            hand_over(folder)


# Roles of the store, and the embedded server's logins with their passwords, in a file that only its owner can read.

Role = Literal["owner", "reader", "planner", "approver", "applier", "server"]
ROLES: Final[tuple[Role, ...]] = ("reader", "planner", "approver", "applier", "server")
LOGINS: Final[Mapping[str, str]] = {
    "owner": "slowwave_owner",
    "dagster": "slowwave_dagster",
    **{role: f"slowwave_login_{role}" for role in ROLES},
}
"""Names in ``logins.json`` → logins of the embedded server; none is a superuser. ``slowwave.store.server`` creates them."""


def passwords(path: Path) -> dict[str, str]:
    """Return the passwords of the embedded server's logins.

    Missing ones are generated; the caller holds the lock of the server's start.
    """
    known = {str(k): str(v) for k, v in json.loads(path.read_text()).items()} if path.exists() else {}
    if known.keys() >= LOGINS.keys():
        return known
    known = {name: secrets.token_urlsafe(24) for name in LOGINS} | known
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(known, file)
    hand_over(temporary)
    temporary.replace(path)
    return known


# Rights of the roles of a store: what a login lacks to work with them, and what other roles must not be able to do in its database.
#
# The statements that repair them are built here, so that `slowwave migrate` runs, and `slowwave doctor` prints, the same ones. Roles belong
# to the whole server and dumps contain no rights on a database, so both are checked whenever migrations run.

RECORDER: Final = "slowwave_recorder"
"""Owner of the functions that run with their owner's rights. Nobody logs in as this role; its rights are those that the functions need."""

GROUPS: Final = (*(f"slowwave_{role}" for role in ROLES), RECORDER)
SET_IS_GRANTED: Final = (
    160000  # since then the creator of a role may grant it to others, and may use it only if that is granted
)

_HELD_ROLES: Final = """
SELECT g.name, r.rolname IS NOT NULL, quote_ident(u.name), coalesce(pg_has_role(u.name, r.oid, %(take)s), u.super),
  coalesce(pg_has_role(u.name, r.oid, 'USAGE'), u.super) OR g.name <> %(recorder)s
FROM unnest(%(groups)s::text[]) WITH ORDINALITY AS g (name, n)
CROSS JOIN LATERAL (SELECT rolname AS name, rolsuper AS super FROM pg_roles
  WHERE rolname = CASE WHEN g.name = %(recorder)s THEN current_user ELSE session_user END) u
LEFT JOIN pg_roles r ON r.rolname = g.name ORDER BY g.n
"""
"""``SET ROLE`` depends on the session user, ``ALTER OWNER`` on the current user."""

_PUBLIC_RIGHTS: Final = """
SELECT quote_ident(current_database()), quote_ident(current_user), has_database_privilege('public', current_database(), 'TEMPORARY'),
  has_database_privilege('public', current_database(), 'CREATE'),
  coalesce((SELECT has_schema_privilege('public', oid, 'CREATE') FROM pg_namespace WHERE nspname = 'public'), false)
"""
_OWNS_DATABASE: Final = "SELECT pg_has_role(datdba, 'USAGE') FROM pg_database WHERE datname = current_database()"
_DEFINERS: Final = """
SELECT format('%I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)),
  o.rolcanlogin OR o.rolsuper OR o.rolcreaterole OR o.rolcreatedb OR o.rolreplication OR o.rolbypassrls,
  EXISTS (SELECT 1 FROM pg_class c WHERE c.relowner = p.proowner AND c.relkind IN ('r', 'p', 'v', 'm', 'f')),
  EXISTS (SELECT 1 FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a WHERE a.grantee = 0),
  (SELECT substr(c, 13) FROM unnest(p.proconfig) AS c WHERE starts_with(c, 'search_path='))
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_roles o ON o.oid = p.proowner
WHERE p.prosecdef AND n.nspname NOT IN ('pg_catalog', 'information_schema')
  AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
ORDER BY 1
"""


def lacking(connection: psycopg.Connection[Any]) -> list[str]:
    """Return the statements without which this login cannot take the store's roles; empty if it can.

    It needs ``SET ROLE`` to each role, and the rights of ``slowwave_recorder`` without it, because migrations replace functions that this
    role owns.
    """
    modern = connection.info.server_version >= SET_IS_GRANTED
    take = "SET" if modern else "MEMBER"
    rows = connection.execute(_HELD_ROLES, {"take": take, "recorder": RECORDER, "groups": list(GROUPS)}).fetchall()
    made = [f"CREATE ROLE {role} NOLOGIN" for role, exists, *_ in rows if not exists]
    granted: list[str] = []
    for role, _, login, taken, inherited in rows:
        if taken and not inherited and not modern:
            granted.append(f"ALTER ROLE {login} INHERIT")
        elif not (taken and inherited):
            granted.append(f"GRANT {role} TO {login}{' WITH INHERIT TRUE, SET TRUE' if modern else ''}")
    return [*made, *granted]


def provide(connection: psycopg.Connection[Any]) -> None:
    """Create the missing roles and take those that this login may grant, inside the caller's transaction.

    Raises ``StoreError`` with the statements for an administrator if this login may not.
    """
    wanted = lacking(connection)
    try:
        for statement in wanted:
            try:
                with connection.transaction():
                    connection.execute(statement.encode())
            except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
                pass  # another database of this server made the role at the same time
    except psycopg.errors.InsufficientPrivilege:
        raise StoreError(
            "The migration did not begin: this login may not create or take the roles that the store's rights are given to. "
            "Let an administrator run these, then run `slowwave migrate` again:",
            *wanted,
        ) from None


def excess(connection: psycopg.Connection[Any]) -> list[str]:
    """Return statements that revoke unneeded rights from PUBLIC: temporary tables, and objects in the database or ``public``.

    Users who may create types and functions can try to have them run by others. Apply and imports do need temporary tables.
    """
    row = connection.execute(_PUBLIC_RIGHTS).fetchone()
    assert row is not None  # noqa: S101 - a SELECT without FROM
    database, login, temporary, create, public = row
    found: list[str] = []
    if temporary:
        found.append(f"GRANT TEMPORARY ON DATABASE {database} TO slowwave_applier, {login}")
        found.append(f"REVOKE TEMPORARY ON DATABASE {database} FROM PUBLIC")
    if create:
        found.append(f"REVOKE CREATE ON DATABASE {database} FROM PUBLIC")
    if public:
        found.append("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    return found


def narrow(connection: psycopg.Connection[Any]) -> None:
    """Run the statements of ``excess`` if this login owns the database; if not, `slowwave doctor` prints them."""
    row = connection.execute(_OWNS_DATABASE).fetchone()
    for statement in excess(connection) if row and row[0] else ():
        try:
            with connection.transaction():
                connection.execute(statement.encode())
        except psycopg.errors.InsufficientPrivilege:
            pass  # the schema public may have another owner in a database that came from PostgreSQL 14


def unsafe_definers(connection: psycopg.Connection[Any]) -> dict[str, list[str]]:
    """Return the functions that run with their owner's rights and are unsafe: signature → reasons.

    A safe one has an owner without login and attributes that owns no tables, no EXECUTE for PUBLIC, and a fixed search_path that ends
    with pg_temp and holds no schema that others may write to. Functions of extensions are not checked.
    """
    rows = connection.execute(_DEFINERS).fetchall()
    found: dict[str, list[str]] = {}
    for signature, powerful, owns, public, path in rows:
        wrong = {
            "its owner logs in, or has attributes": powerful,
            "its owner owns tables": owns,
            "PUBLIC may execute it": public,
            "its search_path is not fixed, with pg_temp last": path != "pg_catalog, pg_temp",
        }
        if reasons := [reason for reason, holds in wrong.items() if holds]:
            found[str(signature)] = reasons
    return found
