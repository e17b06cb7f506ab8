"""``slowwave dev`` and ``stop``: start the UI and the daemon on this machine and end them, with the environment of Dagster processes.

This module prepares and starts Dagster; what Dagster loads is elsewhere. Dagster is started as a program and never imported.
"""

from __future__ import annotations

import getpass
import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import psycopg
import typer
from psycopg import sql

from slowwave.errors import Refused, StoreError
from slowwave.store import server
from slowwave.store.connect import as_login
from slowwave.store.logins import LOGINS, Session, passwords
from slowwave.surfaces.cli.serve import PORT as REVIEW_PORT
from slowwave.surfaces.cli.session import Json, has_review_packages, open_store, out, say, show_json

if TYPE_CHECKING:
    from sqlalchemy import URL


_PACKAGES = ("dagster", "dagster_webserver", "dagster_postgres", "psycopg2")
_HOST = "127.0.0.1"
REVIEW_URL = "SLOWWAVE_REVIEW_URL"

_DAGSTER_DATABASE: Final = "SELECT 1 FROM pg_database WHERE datname = 'dagster'"


def command(
    port: Annotated[int, typer.Option(help="Port of Dagster's pages.")] = 3000,
    prepare: Annotated[
        bool,
        typer.Option("--prepare", help="Prepare Dagster and start nothing; later nights report to it."),
    ] = False,
    review_as: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Reviewer on the review page; by default your account. An empty name starts no page.",
        ),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Print the log of its processes, several lines per second.")
    ] = False,
) -> None:
    """Start Dagster's pages, their daemon and the review page."""
    check_installation()
    if review_as and not has_review_packages():
        raise Refused(
            "The review page needs packages that are not installed. Install slowwave[serve], or leave out --review-as. "
            "Nothing was started."
        )
    open_store()
    if prepare:
        _migrate(dagster_environment())
    else:
        dev(port, _account() if review_as is None else review_as, verbose=verbose)


def check_installation() -> None:
    """Refuse to start outside a checkout or without the packages of the UI, before anything is started or written."""
    folder = Path.cwd()
    if not server.is_checkout(folder):
        raise StoreError(
            f"{folder} is no checkout of Slowwave: it has no workspace.yaml with deploy/dagster.yaml. "
            "Change to the checkout and try again; the command line works anywhere."
        )
    if missing := [package for package in _PACKAGES if importlib.util.find_spec(package) is None]:
        raise StoreError(
            f"The UI needs packages that are not installed ({', '.join(missing)}). Run `make up`, or install slowwave[dagster]."
        )


def _account() -> str:
    """Return the account that runs this if the review page can be served and its name may approve; else an empty text."""
    if not has_review_packages():
        return ""
    from slowwave.surfaces.review_page.guard import check_reviewer

    try:
        name = getpass.getuser()
        check_reviewer(name)
    except (OSError, KeyError, Refused):
        return ""
    return name


def dev(port: int = 3000, review_as: str = "", *, verbose: bool = False) -> NoReturn:
    """Start PostgreSQL if it is ours, migrate Dagster's tables, and become ``dagster dev`` on ``port``.

    With ``review_as`` the review page, to which plans link, runs next to it. Dagster's log of ordinary work is shown only with
    ``verbose``, because it would hide the link. Raises ``StoreError`` if something is missing: the extra ``dagster``, ``workspace.yaml``,
    a free port, a database.
    """
    environment = dagster_environment()
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError:
            raise StoreError(
                f"Port {port} is in use, perhaps by another UI. Open it, or start this one with --port."
            ) from None
    _migrate(environment)
    note_started(Path(environment["SLOWWAVE_HOME"]), port)
    if review_as:
        environment |= review_beside(review_as, port)
    # Dagster's warning recommends `dg dev`, a tool for authors that users of this project do not have.
    quiet = ["-W", "ignore:Function `dev_command` is superseded"]
    log = "info" if verbose else "warning"
    dagster = [sys.executable, *quiet, "-m", "dagster", "dev", "-w", "workspace.yaml", "--log-level", log]
    say(f"The UI and its daemon, on http://{_HOST}:{port} in a few seconds. Ctrl-C ends both.")
    out.file.flush()  # ``execve`` replaces this process, so its buffer would be lost
    # A process that a script starts in the background ignores SIGINT, and Dagster would inherit that: nothing could stop it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.execve(sys.executable, [*dagster, "-h", _HOST, "-p", str(port)], environment)  # noqa: S606 - Ctrl-C and signals go straight to Dagster


def review_beside(name: str, port: int | None = None) -> dict[str, str]:
    """Start the review page for one reviewer next to this process, and return the variable by which plans link to it.

    The link that lets the reviewer in is printed once something answers on ``port``, or at once without a port. The page ends when this
    process ends. The result is empty if its packages are not installed, or if the operator has named another page.
    """
    if not has_review_packages():
        return {}
    from slowwave.surfaces.review_page.guard import check_reviewer

    check_reviewer(name)
    if os.environ.get(REVIEW_URL):
        return {}
    try:
        bound = socket.create_server((_HOST, REVIEW_PORT), backlog=128)
    except OSError:
        bound = socket.create_server((_HOST, 0), backlog=128)  # another review page uses the default port
    with bound:
        page = [
            sys.executable,
            "-m",
            "slowwave.surfaces.review_page.beside",
            name,
            str(bound.fileno()),
            *([str(port)] if port else []),
        ]
        subprocess.Popen(page, pass_fds=(bound.fileno(),))
        return {REVIEW_URL: f"http://{_HOST}:{bound.getsockname()[1]}"}


def note_started(home: Path, port: int) -> None:
    """Record the process that serves the UI of a port, for ``slowwave stop``: this one, which becomes the UI."""
    (home / f"dev-{port}.pid").write_text(f"{os.getpid()}\n")


def dagster_environment() -> dict[str, str]:
    """Return the environment of a Dagster process in this folder: ours, plus its home, its storage and no telemetry.

    Starts the embedded server unless ``SLOWWAVE_DATABASE_URL`` or ``SLOWWAVE_DAGSTER_URL`` say that other servers hold both databases.
    """
    check_installation()
    folder, home = Path.cwd(), server.default_home()
    instance = home / "dagster"
    try:
        _write_settings(instance, (folder / "deploy" / "dagster.yaml").read_text())
    except OSError as problem:
        raise StoreError(
            f"{instance}, Dagster's home, cannot be written ({problem.strerror or problem}). Set SLOWWAVE_HOME to a folder of yours."
        ) from None
    return {**os.environ, "SLOWWAVE_HOME": str(home), **instance_environment(home)}


def instance_environment(home: Path) -> dict[str, str]:
    """Return the home and the storage of the instance of ``slowwave dev``.

    The embedded server is started as for ``dagster_environment``.
    """
    return {
        "SLOWWAVE_DAGSTER_URL": _storage(home),
        "DAGSTER_HOME": str(home / "dagster"),
        "DAGSTER_DISABLE_TELEMETRY": "1",
    }


def _write_settings(instance: Path, wanted: str) -> None:
    instance.mkdir(parents=True, exist_ok=True)
    settings = instance / "dagster.yaml"
    if not settings.exists() or settings.read_text() != wanted:
        temporary = settings.with_name(f"dagster.yaml.{os.getpid()}")
        temporary.write_text(wanted)
        temporary.replace(settings)  # atomic, so that running processes never read half a file


def _storage(home: Path) -> str:
    """Return the address of Dagster's database, with the driver whose errors dagster-postgres understands."""
    from sqlalchemy import make_url

    store, own = os.environ.get("SLOWWAVE_DATABASE_URL"), os.environ.get("SLOWWAVE_DAGSTER_URL")
    if not store:
        running = server.start(home)
        url = _parsed("SLOWWAVE_DAGSTER_URL", own) if own else make_url(_own_database(running))
    elif own:
        url = _parsed("SLOWWAVE_DAGSTER_URL", own)
    else:
        url = _beside(_parsed("SLOWWAVE_DATABASE_URL", store))
    return url.set(drivername="postgresql+psycopg2").render_as_string(hide_password=False)


def _own_database(running: server.Server) -> str:
    """Return the address of the embedded server's database ``dagster``, for the login that owns only that."""
    return as_login(running.url("dagster"), LOGINS["dagster"], passwords(running.home / "logins.json")["dagster"])


def _parsed(name: str, value: str) -> URL:
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(value.replace("postgres://", "postgresql://", 1))
    except (ArgumentError, ValueError):
        raise StoreError(
            f"{name} is not an address. It reads like postgresql://user:password@host:5432/database."
        ) from None
    if url.get_backend_name() != "postgresql":
        raise StoreError(
            f"{name} does not lead to PostgreSQL. It reads like postgresql://user:password@host:5432/database."
        )
    return url


def _beside(store: URL) -> URL:
    """Return a database ``dagster`` on the store's server; create it if it is missing."""
    try:
        address = store.set(drivername="postgresql").render_as_string(hide_password=False)
        with Session.open(address, "slowwave-dev") as connection:
            if connection.pooled:
                raise StoreError(
                    "SLOWWAVE_DATABASE_URL leads to a pooler such as PgBouncer, and Dagster's database must be reached without one. Set "
                    "SLOWWAVE_DAGSTER_URL to that database on the server itself."
                )
            if connection.execute(_DAGSTER_DATABASE).fetchone() is None:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier("dagster")))
    except (psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
        pass  # another process created it at the same moment
    except psycopg.Error as problem:
        reason = str(problem).strip().splitlines()[-1]
        raise StoreError(
            f"Dagster needs a separate database, which could not be created on {store.host or 'the local server'} ({reason}). "
            "Create a database and set SLOWWAVE_DAGSTER_URL to it."
        ) from None
    return store.set(database="dagster")


def _migrate(environment: dict[str, str]) -> None:
    """Create Dagster's tables once, before its processes would compete to do so."""
    from sqlalchemy import make_url

    command = [sys.executable, "-m", "dagster", "instance", "migrate"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        log = Path(environment["DAGSTER_HOME"], "migrate.log")
        secret = make_url(environment["SLOWWAVE_DAGSTER_URL"]).password
        output = done.stdout + done.stderr
        log.write_text(output.replace(str(secret), "…") if secret else output)
        raise StoreError(f"Dagster could not prepare its database. Look at {log}, then try again.")


# ``slowwave stop``: end what ``slowwave dev`` and the embedded server run on this machine, and print what that was.
#
# Only processes of this home are ended. They are identified by the files in which they were recorded and by their command lines: a
# process id that another program has now is left alone, and so are servers that the user runs.

_SECONDS: Final = 150.0
"""Seconds that a UI may take to end: it ends its daemon and its code servers first."""

_LEFT_SECONDS: Final = 10.0
"""Seconds that processes which a UI left behind may take to end by themselves, and again after SIGTERM."""


def stop(json: Json = False) -> None:
    """Stop what `slowwave dev` started and the embedded PostgreSQL."""
    home = server.default_home()
    ports = [port for port in _started(home) if _end(home, port)]
    postgres = (home / "postgres").is_dir() and server.is_running(home)
    if postgres:
        server.stop(home)
    if json:
        show_json({"home": str(home), "ui_ports": ports, "postgres": postgres})
        return
    for port in ports:
        say(f"Stopped the UI on port {port} with its daemon.")
    if postgres:
        say(f"Stopped the embedded PostgreSQL of {home}. Its data stays, and the next command starts it again.")
    if not ports and not postgres:
        say(f"No process of {home} is running.")


def is_running() -> bool:
    """Return whether a UI of ``slowwave dev`` with its daemon runs on this machine."""
    home = server.default_home()
    for port in _started(home):
        text = (home / f"dev-{port}.pid").read_text().strip()
        if text.isdecimal() and _is_ui(int(text), port):
            return True
    return False


def _started(home: Path) -> list[int]:
    """Return the ports of UIs that were started; they may have ended since."""
    names = (file.stem.removeprefix("dev-") for file in home.glob("dev-*.pid"))
    return sorted(int(name) for name in names if name.isdecimal())


def _end(home: Path, port: int) -> bool:
    """End the UI of a port and wait until it has ended; return False if it had ended by itself."""
    file = home / f"dev-{port}.pid"
    text = file.read_text().strip()
    pid = int(text) if text.isdecimal() else 0
    running = _is_ui(pid, port)
    if running:
        below = _below(pid)
        os.kill(pid, signal.SIGTERM)
        if not _wait(lambda: not _is_ui(pid, port), _SECONDS):
            raise StoreError(
                f"The UI on port {port} (process {pid}) does not end. Look at what it does, or end it with `kill -9 {pid}`."
            )
        _end_left(below)
    file.unlink(missing_ok=True)
    return running


def _end_left(processes: Mapping[int, tuple[str, ...]]) -> None:
    """End the processes that a UI left behind: its code servers and their runs, which need the database while they end."""

    def left() -> list[int]:
        known = _processes()
        return [pid for pid, command in processes.items() if pid in known and known[pid][1] == command]

    for number in (signal.SIGTERM, signal.SIGKILL):
        if _wait(lambda: not left(), _LEFT_SECONDS):
            return
        for pid in left():
            with suppress(ProcessLookupError):
                os.kill(pid, number)
    _wait(lambda: not left(), _LEFT_SECONDS)


def _wait(done: Callable[[], bool], seconds: float) -> bool:
    """Wait until something is done; return False if it is not after ``seconds``."""
    began = time.monotonic()
    while not done():
        if time.monotonic() - began > seconds:
            return False
        time.sleep(0.1)
    return True


def _below(pid: int) -> dict[int, tuple[str, ...]]:
    """Return the processes that a process started, directly or through others, with their command lines."""
    known = _processes()
    found = {pid}
    while more := {one for one, (parent, _) in known.items() if parent in found} - found:
        found |= more
    return {one: known[one][1] for one in found - {pid}}


def _processes() -> dict[int, tuple[int, tuple[str, ...]]]:
    """Return process id → parent and command line of all processes of this machine; an ended process has no command line."""
    found: dict[int, tuple[int, tuple[str, ...]]] = {}
    if Path("/proc/self").exists():
        for folder in Path("/proc").iterdir():
            if not folder.name.isdecimal():
                continue
            with suppress(OSError):
                words = (folder / "cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")
                parent = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[1]
                if words != [""]:
                    found[int(folder.name)] = int(parent), tuple(words)
        return found
    command = ("ps", "-A", "-ww", "-o", "pid=,ppid=,command=")
    for line in subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines():
        pid, parent, *words = line.split()
        found[int(pid)] = int(parent), tuple(words)
    return found


def _is_ui(pid: int, port: int) -> bool:
    """Return whether a process is a Dagster UI on this port, by its command line."""
    return {"dagster", "dev", str(port)} <= set(_processes().get(pid, (0, ()))[1])
