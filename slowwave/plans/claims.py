"""Who holds a namespace: one run at a time, whatever it does, for as long as its heart beats.

A claim is a row of ``night.runs`` in state ``planning`` or ``applying``. Claims are made one after another under an advisory lock of
the namespace; batches have another one, so that whoever asks is answered at once while a batch is being written. A run whose
heartbeat has expired holds nothing: it is marked as crashed by whoever comes next, or named to them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from typing import Final, Literal, TypeVar

import psycopg

from slowwave.errors import DreamLockUnavailable, DreamRunStuckError, SettingsError, StoreError
from slowwave.settings import Settings
from slowwave.store.connect import Connection, Role, Store

_LOG: Final = logging.getLogger(__name__)
_POLL_SECONDS: Final = 0.25
_T = TypeVar("_T")

HOLDING: Final = ("planning", "applying")
"""The states of a run that holds its namespace."""

Stuck = Literal["take over", "raise"]
"""What to do about a run whose heartbeat has expired: mark it as crashed and go on, or name it."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A run that holds a namespace, and the age of its heartbeat in seconds."""

    run_id: str
    mode: str
    state: str
    age: int
    alive: bool


def expiry_of(overlay: object) -> int:
    """Seconds after which a heartbeat has expired, by a namespace's own settings; the default where they are not valid."""
    try:
        return Settings.for_namespace(overlay if isinstance(overlay, Mapping) else {}).heartbeat_expiry_seconds
    except SettingsError:
        return int(Settings.model_fields["heartbeat_expiry_seconds"].default)


def lock_claims(connection: Connection, namespace_id: str) -> None:
    """Inside a transaction: nobody else claims the namespace until it ends."""
    connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 1))", (namespace_id,))


def lock_batches(connection: Connection, namespace_id: str) -> None:
    """Inside a transaction: nobody else writes a batch to the namespace until it ends. Taken after ``lock_claims``."""
    connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (namespace_id,))


def holders(connection: Connection, namespace_id: str, expiry_seconds: int) -> list[Holder]:
    """The runs that say they hold the namespace, those that are alive first."""
    rows = connection.execute(
        "SELECT id::text, mode, state, extract(epoch FROM clock_timestamp() - heartbeat_at)::float FROM night.runs "
        "WHERE namespace_id = %s AND state = ANY(%s) ORDER BY heartbeat_at DESC",
        (namespace_id, list(HOLDING)),
    )
    aged = ((str(i), str(m), str(s), float(str(age))) for i, m, s, age in rows)
    return [Holder(i, m, s, max(0, int(age)), age <= expiry_seconds) for i, m, s, age in aged]


def make_room(
    connection: Connection,
    namespace: str,
    namespace_id: str,
    expiry_seconds: int,
    *,
    stuck: Stuck = "take over",
    own: str = "",
) -> None:
    """Inside a transaction: take the lock of claims and see that nobody holds the namespace.

    A run whose heartbeat has expired is marked as crashed; with ``stuck="raise"`` it raises ``DreamRunStuckError``, unless it is
    ``own``. One that is alive raises ``DreamLockUnavailable`` at once.
    """
    lock_claims(connection, namespace_id)
    found = holders(connection, namespace_id, expiry_seconds)
    _refuse_alive(namespace, found)
    for gone in found:
        if stuck == "raise" and gone.run_id != own:
            raise DreamRunStuckError(_stuck_sentence(namespace, gone), gone.run_id, gone.age)
    if found:
        lock_batches(connection, namespace_id)  # a batch that is being written ends first, and may prove its run alive
        _refuse_alive(namespace, holders(connection, namespace_id, expiry_seconds))
        connection.execute(
            "UPDATE night.runs SET state = 'crashed', finished_at = heartbeat_at, "
            "error = 'The heartbeat expired: the process is gone.' WHERE id = ANY(%s::uuid[]) AND state = ANY(%s)",
            ([gone.run_id for gone in found], list(HOLDING)),
        )


def patiently(claim: Callable[[], _T], wait: float) -> _T:
    """``claim()``, tried again for up to ``wait`` seconds while another run holds the namespace."""
    deadline = time.monotonic() + wait
    while True:
        try:
            return claim()
        except DreamLockUnavailable:
            left = deadline - time.monotonic()
            if left <= 0:
                raise
            time.sleep(min(_POLL_SECONDS, left))


@contextmanager
def beating(store: Store, role: Role, run_id: str, expiry_seconds: int) -> Generator[None]:
    """The heart of a run beats while the block runs, on a connection and a thread of its own.

    It beats four times within ``expiry_seconds``, or every half minute; a block that is quicker costs no connection.
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
                connection.execute("SET lock_timeout = '5s'")  # whoever ends the run may hold its row for long
                while _beat_once(connection, run_id):
                    if stop.wait(every):
                        return
                return
        except (psycopg.Error, StoreError) as problem:
            _LOG.warning("The heartbeat of run %s was not written (%s); trying again.", run_id, type(problem).__name__)


def _beat_once(connection: Connection, run_id: str) -> bool:
    """False when the run holds nothing any more."""
    return (
        connection.execute(
            "UPDATE night.runs SET heartbeat_at = clock_timestamp() WHERE id = %s AND state = ANY(%s)",
            (run_id, list(HOLDING)),
        ).rowcount
        == 1
    )


def _refuse_alive(namespace: str, found: list[Holder]) -> None:
    for one in found:
        if one.alive:
            doing = "is planning" if one.state == "planning" else "is writing to"
            raise DreamLockUnavailable(
                f"Run {one.run_id} {doing} {namespace} (heartbeat {one.age} s ago). "
                f"Wait for it, or cancel it: `slowwave runs cancel {one.run_id}`."
            )


def _stuck_sentence(namespace: str, gone: Holder) -> str:
    resume = "" if gone.mode == "undo" else f"Go on with it: `slowwave dream {namespace} --resume-from {gone.run_id}`. "
    return (
        f"Run {gone.run_id} ({gone.mode}) holds {namespace}, and its heartbeat is {gone.age} s old: the process is gone. "
        f"What it committed stands. {resume}Or give it up and begin anew with --abandon."
    )
