"""Runs in the ledger: their rows, the table of state transitions, locks of a namespace, and heartbeats."""

from __future__ import annotations

import logging
import os
import shlex
import socket
import uuid
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import InitVar, dataclass, field
from datetime import datetime
from threading import Event, Thread
from typing import Final, Literal, LiteralString

import psycopg
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from slowwave.errors import DreamLockUnavailable, Refused, SettingsError, StoreError
from slowwave.store.connect import Store
from slowwave.store.logins import Connection, Role
from slowwave.store.namespaces import unknown_namespace
from slowwave.store.settings import Settings

# The states of a run, and the table of allowed transitions.
#
# The trigger ``states`` of ``night.runs`` refuses other transitions in the database; a test compares the two. Every statement that changes
# a state takes the allowed source states from here, so a process that loses a race changes nothing and notices it.

Mode = Literal["plan", "apply", "undo", "deep"]
"""The purpose of a run. The state of a ``plan`` run continues as that of its plan, and so does that of a ``deep`` run, whose plan results
from a model's work on a scratch copy. ``apply`` and ``undo`` runs write."""

State = Literal[
    "planning",
    "applying",
    "paused",
    "crashed",
    "cancelled",
    "refused",
    "awaiting_approval",
    "approved",
    "completed",
    "empty",
    "rejected",
    "expired",
    "superseded",
]
"""``empty`` occurs only in rows of earlier versions: a plan run that finds nothing is ``completed``. A ``refused`` run was stopped by a
rule, and its error states the reason: an undo that was not possible exactly and changed nothing, or an apply whose committed batches
remain and which the next attempt resumes."""

TRANSITIONS: Final[Mapping[State, frozenset[State]]] = {
    "planning": frozenset({"awaiting_approval", "completed", "crashed", "cancelled"}),
    "applying": frozenset({"completed", "crashed", "cancelled", "paused", "refused"}),
    "paused": frozenset({"applying", "cancelled"}),
    "crashed": frozenset({"planning", "applying", "cancelled"}),
    "cancelled": frozenset({"planning", "applying"}),
    "awaiting_approval": frozenset({"approved", "rejected", "expired", "superseded"}),
    "approved": frozenset({"awaiting_approval", "rejected", "superseded"}),
    "completed": frozenset(),
    "refused": frozenset({"applying", "cancelled"}),
    "empty": frozenset(),
    "rejected": frozenset(),
    "expired": frozenset(),
    "superseded": frozenset(),
}
"""State → the states that may follow it. A run is inserted as ``planning`` or ``applying``."""

HOLDING: Final[tuple[State, ...]] = ("planning", "applying")
"""The states of a run that holds its namespace."""


def sources(to: State, among: Iterable[State] | None = None) -> list[State]:
    """Return the states from which a run may change to ``to``: all of them, or those in ``among``.

    Raises ``ValueError`` for a state in ``among`` that ``to`` may not follow: the database would refuse the statement.
    """
    allowed: list[State] = [state for state, after in TRANSITIONS.items() if to in after]
    if among is None:
        return allowed
    chosen = list(among)
    if beyond := [state for state in chosen if state not in allowed]:
        raise ValueError(f"A run that is {', '.join(beyond)} cannot become {to}.")
    return chosen


# The heartbeat of a run: its expiry, and its renewal while the run is active.
#
# A run whose heartbeat has expired holds nothing: the next claim of its namespace marks it as crashed (``slowwave.store.claims``).
# Heartbeats are written and compared by the database's clock, so the clocks of hosts do not matter.

_LOG: Final = logging.getLogger(__name__)

_REFRESH: Final = "UPDATE night.runs SET heartbeat_at = clock_timestamp() WHERE id = %s AND state = ANY(%s)"
_OVERLAY: Final = "SELECT settings FROM memory.namespaces WHERE slug = %s"

AHEAD_SECONDS: Final = 5
"""A heartbeat that is further in the future than this number of seconds has expired: the database's clock was set back since, or the value
is forged. Steps of time synchronisation are smaller."""


def expiry_of(overlay: object) -> int:
    """Return the seconds after which a heartbeat expires by a namespace's settings, or the default if these are not valid."""
    try:
        return Settings.for_namespace(overlay if isinstance(overlay, Mapping) else {}).heartbeat_expiry_seconds
    except SettingsError:
        return int(Settings.model_fields["heartbeat_expiry_seconds"].default)


def heartbeat_expiry(connection: Connection, namespace: str) -> int:
    """Return the seconds after which a heartbeat expires in a namespace."""
    row = connection.execute(_OVERLAY, (namespace,)).fetchone()
    return expiry_of(row[0] if row else {})


def has_expired(age_seconds: float, expiry_seconds: int) -> bool:
    """Return whether a heartbeat of this age, negative if it is in the future, no longer holds the namespace."""
    return not -AHEAD_SECONDS <= age_seconds <= expiry_seconds


@contextmanager
def beating(store: Store, role: Role, run_id: str, expiry_seconds: int) -> Generator[None]:
    """Refresh the heartbeat of a run while the block runs, with a dedicated connection and thread.

    Four times within ``expiry_seconds``, at least every 30 seconds; a shorter block opens no connection.
    """
    stop = Event()
    every = min(30.0, expiry_seconds / 4)
    thread = Thread(target=_beat, args=(store, role, run_id, every, stop), name=f"heartbeat-{run_id[:8]}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _beat(store: Store, role: Role, run_id: str, every: float, stop: Event) -> None:
    while not stop.wait(every):
        try:
            with store.connect(role) as connection:
                while _refresh(connection, run_id):
                    if stop.wait(every):
                        return
                return
        except (psycopg.Error, StoreError) as problem:
            _LOG.warning("The heartbeat of run %s was not written (%s); trying again.", run_id, type(problem).__name__)


def _refresh(connection: Connection, run_id: str) -> bool:
    """Refresh the heartbeat; return False if the run no longer holds its namespace."""
    with connection.transaction():
        connection.execute(_BE_PATIENT, ("5s",))  # a process that ends the run may hold its row for long
        return connection.execute(_REFRESH, (run_id, list(HOLDING))).rowcount == 1


# Runs in the ledger: find one by name, with its state, progress and heartbeat. Nothing here changes a run.

_MODES: Final[tuple[Mode, ...]] = ("plan", "apply", "undo", "deep")
_NAMED: Final = 20  # maximum number of namespaces in a refusal
_LEAST: Final = 4  # minimum number of characters of an abbreviated id

_SELECT: Final = """
SELECT r.id::text AS run_id, r.namespace_id::text AS namespace_id, n.slug AS namespace, r.mode, r.state, r.trigger,
  coalesce(r.plan_hash, '') AS plan_hash, coalesce(r.approval_id::text, '') AS approval_id, coalesce(r.undo_of::text, '') AS undo_of,
  r.started_at, r.finished_at, r.heartbeat_at,
  trunc(extract(epoch FROM clock_timestamp() - r.heartbeat_at))::bigint AS heartbeat_age_seconds,
  r.cancel_requested_at IS NOT NULL AS cancel_requested, r.pause_requested_at IS NOT NULL AS pause_requested,
  r.counts, coalesce(r.error, '') AS error, r.parameters, r.progress, r.process, coalesce(r.dagster_run_id, '') AS dagster_run_id,
  n.settings AS overlay
FROM night.runs r JOIN memory.namespaces n ON n.id = r.namespace_id
"""
_NEWEST: Final = """
WHERE r.mode = ANY(%(modes)s) AND (%(namespace)s::text IS NULL OR n.slug = %(namespace)s)
ORDER BY r.started_at DESC, r.id LIMIT 1
"""
_BY_ID: Final = """
WHERE r.id BETWEEN %(first)s::uuid AND %(last)s::uuid AND r.mode = ANY(%(modes)s) ORDER BY r.started_at DESC LIMIT 2
"""
_OF_NAMESPACE: Final = """
WHERE (%(namespace_id)s::uuid IS NULL OR r.namespace_id = %(namespace_id)s)
ORDER BY r.started_at DESC, r.id LIMIT %(limit)s OFFSET %(offset)s
"""
_NAMESPACES: Final = "SELECT slug FROM memory.namespaces ORDER BY slug"


@dataclass(frozen=True, slots=True)
class Run:
    """One row of ``night.runs``; ids that a run does not have are empty.

    Ages are seconds at the time of reading, by the database's clock. ``process`` is the machine, or pod, and the id of the process that
    works on it or did so last, and ``dagster_run_id`` the run of Dagster in which it does. ``overlay`` are the settings of its namespace,
    which determine the expiry of its heartbeat.
    """

    run_id: str
    namespace_id: str
    namespace: str
    mode: Mode
    state: State
    trigger: str
    plan_hash: str
    approval_id: str
    undo_of: str
    started_at: datetime
    finished_at: datetime | None
    heartbeat_at: datetime
    heartbeat_age_seconds: int
    cancel_requested: bool
    pause_requested: bool
    counts: Mapping[str, int]
    error: str
    parameters: Mapping[str, object]
    progress: Mapping[str, object]
    process: str
    dagster_run_id: str
    overlay: InitVar[object]
    heartbeat_expiry_seconds: int = field(init=False)

    def __post_init__(self, overlay: object) -> None:
        object.__setattr__(self, "heartbeat_expiry_seconds", expiry_of(overlay))
        object.__setattr__(self, "counts", _numbers(self.counts))

    @property
    def holding(self) -> bool:
        """Return whether the run claims its namespace, by its state."""
        return self.state in HOLDING

    @property
    def stuck(self) -> bool:
        """Return whether the run claims its namespace and its heartbeat has expired."""
        return self.holding and has_expired(self.heartbeat_age_seconds, self.heartbeat_expiry_seconds)

    @property
    def alive(self) -> bool:
        """Return whether the run is under way: it claims its namespace and its heartbeat has not expired."""
        return self.holding and not self.stuck

    @property
    def reason(self) -> str:
        """Return the reason that the requester gave; empty if there is none."""
        return str(self.parameters.get("reason", ""))

    @property
    def duration_seconds(self) -> float:
        """Return the seconds from the start of the run to the end of its work, or to its last heartbeat.

        The work of a plan run ends when the plan is written.
        """
        return ((self.finished_at or self.heartbeat_at) - self.started_at).total_seconds()


def resume_command(mode: str, namespace: str, undo_of: str = "") -> str:
    """Return the command that does the rest of an unfinished run: apply resumes the run, the others start a new one."""
    name = shlex.quote(namespace)
    return {
        "apply": f"slowwave apply {name}",
        "deep": f"slowwave night {name} --deep",
        "plan": f"slowwave night {name}",
        "undo": f"slowwave undo {undo_of}",
    }[mode]


def find_run(
    connection: Connection,
    name: str,
    modes: Sequence[Mode] = _MODES,
    namespace: str | None = None,
) -> Run:
    """Find a run by its id or the first characters of it; ``last`` is the newest of ``modes``, in ``namespace`` if given.

    Raises ``Refused`` if no run or several match, and for a run of another namespace than the given one.
    """
    what = "run" if len(modes) > 1 else f"{modes[0]} run"
    listed = f"`slowwave runs list {shlex.quote(namespace) if namespace else 'NAMESPACE'}` lists"
    if name == "last":
        found = _read(connection, _NEWEST, modes=list(modes), namespace=namespace)
    else:
        bounds = id_range(name)
        found = _read(connection, _BY_ID, first=bounds[0], last=bounds[1], modes=list(modes)) if bounds else []
    if name == "last" and not found:
        raise Refused(
            f"{namespace or 'The store'} has no {what} yet, so there is no last one. Nothing was done. {listed} what there was."
        )
    if len(found) != 1:
        message = f"names more than one {what}" if found else f"is no {what}{f' of {namespace}' if namespace else ''}"
        short = f" The first {_LEAST} characters are the least that name one." if 0 < len(name) < _LEAST else ""
        raise Refused(f"{name[:64]!r} {message}. {listed} them.{short}")
    if namespace is not None and found[0].namespace != namespace:
        raise Refused(f"Run {found[0].run_id} is one of {found[0].namespace}, not of {namespace}. Nothing was done.")
    return found[0]


def last_run(connection: Connection, namespace: str | None, modes: Sequence[Mode] = _MODES) -> Run:
    """Return the newest run of a namespace, for a command that changes something based on it.

    Without ``namespace`` the store must have only one. Raises ``Refused`` otherwise, and for an unknown namespace.
    """
    known = [str(s) for (s,) in connection.execute(_NAMESPACES)]
    if namespace is None and len(known) > 1:
        shown = ", ".join(known[:_NAMED]) + (f" and {len(known) - _NAMED} more" if len(known) > _NAMED else "")
        raise Refused(f"'last' of which namespace? There are {shown}. Put its name before `last`. Nothing was done.")
    if namespace is not None and namespace not in known:
        raise unknown_namespace(connection, namespace)
    return find_run(connection, "last", modes, namespace)


def runs_of(connection: Connection, namespace_id: str | None, limit: int, offset: int = 0) -> list[Run]:
    """Return runs of a namespace, or of all if it is None, newest first: at most ``limit``, after the first ``offset``."""
    return _read(connection, _OF_NAMESPACE, namespace_id=namespace_id, limit=limit, offset=offset)


def id_range(prefix: str) -> tuple[str, str] | None:
    """Return the first and the last id that begin with ``prefix``, for an index scan; None if no id can begin with it."""
    digits = prefix.strip().lower().replace("-", "")
    if not _LEAST <= len(digits) <= 32 or set(digits) - set("0123456789abcdef"):
        return None
    return str(uuid.UUID(digits.ljust(32, "0"))), str(uuid.UUID(digits.ljust(32, "f")))


def _numbers(stored: Mapping[str, object]) -> dict[str, int]:
    return {name: number for name, number in stored.items() if isinstance(number, int)}


def _read(connection: Connection, condition: LiteralString, **parameters: object) -> list[Run]:
    with connection.cursor(row_factory=class_row(Run)) as cursor:
        return cursor.execute(_SELECT + condition, parameters).fetchall()


# Rows of ``night.runs``: insert one, and change its state by compare-and-set.
#
# ``slowwave.store.claims`` has the statements for single kinds of run. No other module writes to the table.

_INSERT: Final = """
INSERT INTO night.runs (id, namespace_id, mode, state, trigger, plan_hash, approval_id, undo_of, dagster_run_id, parameters, progress,
  process, started_at, heartbeat_at)
VALUES (%(id)s, %(namespace_id)s, %(mode)s, %(state)s, %(trigger)s, %(plan_hash)s, %(approval_id)s, %(undo_of)s,
  nullif(%(dagster_run_id)s, ''), %(parameters)s, %(progress)s, %(process)s, clock_timestamp(), clock_timestamp())
"""
_MOVE: Final = """
UPDATE night.runs SET state = %(to)s, finished_at = coalesce(finished_at, clock_timestamp()),
  heartbeat_at = CASE WHEN finished_at IS NULL THEN clock_timestamp() ELSE heartbeat_at END,
  error = coalesce(%(error)s, error), counts = coalesce(%(counts)s, counts)
WHERE id = %(run)s AND state = ANY(%(sources)s)
"""
_STATE: Final = "SELECT state FROM night.runs WHERE id = %s"


def insert_run(
    connection: Connection,
    namespace_id: str,
    mode: Mode,
    *,
    trigger: str,
    plan_hash: str | None = None,
    approval_id: str | None = None,
    undo_of: str | None = None,
    dagster_run_id: str = "",
    parameters: Mapping[str, object] | None = None,
    progress: Mapping[str, object] | None = None,
) -> str:
    """Insert a run that holds the namespace, in the first state of its mode; return its id.

    The caller has ensured in the same transaction that no other run holds the namespace (``claims.make_room``).
    """
    run_id = str(uuid.uuid4())
    begins: State = "planning" if mode in ("plan", "deep") else "applying"
    connection.execute(
        _INSERT,
        {
            "id": run_id,
            "namespace_id": namespace_id,
            "mode": mode,
            "state": begins,
            "trigger": trigger,
            "plan_hash": plan_hash,
            "approval_id": approval_id,
            "undo_of": undo_of,
            "dagster_run_id": dagster_run_id,
            "parameters": Jsonb(dict(parameters or {})),
            "progress": Jsonb(dict(progress or {})),
            "process": this_process(),
        },
    )
    return run_id


def this_process() -> str:
    """Return the machine, or pod, and the id of this process, as a run records it."""
    return f"{socket.gethostname()} {os.getpid()}"


def move_run(
    connection: Connection,
    run_id: str,
    to: State,
    come_from: Iterable[State],
    *,
    counts: Mapping[str, object] | None = None,
    error: str | None = None,
) -> bool:
    """Change the state of a run from one of ``come_from`` to ``to``, by compare-and-set.

    Return False if it was in none of them. The first such change sets its end and refreshes its heartbeat for the last time; for a plan,
    that is when it was written. Later changes, by users or by expiry, only change the state. Raises ``ValueError`` for a transition that
    ``TRANSITIONS`` does not allow.
    """
    changed = connection.execute(
        _MOVE,
        {
            "run": run_id,
            "to": to,
            "sources": sources(to, come_from),
            "error": error,
            "counts": None if counts is None else Jsonb(dict(counts)),
        },
    )
    return changed.rowcount == 1


def state_of(connection: Connection, run_id: str) -> str:
    """Return the current state of a run; empty if it does not exist."""
    row = connection.execute(_STATE, (run_id,)).fetchone()
    return str(row[0]) if row else ""


# The two locks of a namespace, one for claims and one for batches: rows that a transaction locks until it ends.
#
# They are rows rather than advisory locks, whose keys any login could compute and hold. Waiting for a lock has a limit, and the refusal
# names the sessions that hold it.

PATIENCE: Final = "30s"
"""How long a transaction that writes waits for any lock: longer than a batch of another run takes."""

_CLAIMS: Final = 1
_BATCHES: Final = 0

_BE_PATIENT: Final = "SELECT set_config('lock_timeout', %s, true)"
_TRY: Final = "SELECT memory.try_lock_name(%s, %s)"
_LOCK: Final = "SELECT memory.lock_name(%s, %s)"
_SESSION: Final = "SELECT a.pid, a.usename::text, a.state, left(a.query, 200) FROM pg_stat_activity a"
_HOLDERS: Final = f"{_SESSION} WHERE a.pid IN (SELECT memory.name_holders(%s, %s))"
_IN_THE_WAY: Final = f"""
{_SESSION} WHERE a.pid <> pg_backend_pid() AND a.pid IN (SELECT l.pid FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
  WHERE l.granted AND l.mode <> 'AccessShareLock' AND c.relnamespace <> 'pg_catalog'::regnamespace
  AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))
ORDER BY a.xact_start NULLS LAST, a.pid LIMIT 3
"""
"""SQL: sessions in a transaction that wrote or locked anything, the oldest transaction first. One of them holds the lock that a statement
waited for."""


def lock_claims(connection: Connection, namespace_id: str) -> None:
    """Keep others from claiming the namespace until the caller's transaction ends."""
    _lock(connection, namespace_id, _CLAIMS)


def lock_batches(connection: Connection, namespace_id: str) -> None:
    """Keep others from writing a batch to the namespace until the caller's transaction ends; taken after ``lock_claims``."""
    _lock(connection, namespace_id, _BATCHES)


@contextmanager
def naming_waits(connection: Connection) -> Generator[None]:
    """Turn the timeout of a lock in the block into a refusal that names the sessions in the way.

    Use it outside of a transaction. Raises ``DreamLockUnavailable``.
    """
    try:
        yield
    except psycopg.errors.LockNotAvailable as problem:
        rows = connection.execute(_IN_THE_WAY.encode()).fetchall()
        raise _refusal("A lock on rows or on a table", rows) from problem


def _lock(connection: Connection, namespace_id: str, seed: int) -> None:
    connection.execute(_BE_PATIENT, (PATIENCE,))
    free = connection.execute(_TRY, (namespace_id, seed)).fetchone()
    if free and free[0]:
        return
    try:
        with connection.transaction():  # a savepoint, so that the holder can be queried after the wait
            connection.execute(_LOCK, (namespace_id, seed))
    except psycopg.errors.LockNotAvailable as problem:
        rows = connection.execute(_HOLDERS.encode(), (namespace_id, seed)).fetchall()
        raise _refusal(f"The lock of the namespace ({PATIENCE} of waiting)", rows) from problem


def _refusal(what: str, rows: Sequence[tuple[object, ...]]) -> DreamLockUnavailable:
    shown = "; ".join(
        f"pid {pid}, login {login or 'unknown'}, {f'{state}, statement: {query}' if state else 'whose statement this login may not see'}"
        for pid, login, state, query in rows
    )
    held = f"It is held by {shown}." if shown else "The session that held it is gone by now."
    first = f" Or end it: `SELECT pg_terminate_backend({rows[0][0]})`." if rows else ""
    return DreamLockUnavailable(
        f"{what} was not free in time, so nothing more was written; what was committed before stays. {held} "
        f"Let that session commit or roll back, then try again.{first}"
    )
