"""Who holds a namespace: one run at a time, whatever it does, as long as its heartbeat has not expired.

A claim is a row of ``night.runs`` in state ``planning`` or ``applying``. Claims are made one after another under a lock of the
namespace (``slowwave.runs.locks``); batches have another one, so that whoever asks is answered at once while a batch is being written. A
run whose heartbeat has expired holds nothing: it is marked as crashed by whoever comes next, or named to them.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from psycopg.rows import class_row

from slowwave.errors import DreamLockUnavailable, DreamRunStuckError
from slowwave.runs.heartbeat import AHEAD_SECONDS
from slowwave.runs.locks import lock_batches, lock_claims
from slowwave.runs.states import HOLDING, Mode, State, sources
from slowwave.store.connect import Connection

_POLL_SECONDS: Final = 0.25
_T = TypeVar("_T")

Stuck = Literal["take over", "raise"]
"""What to do about a run whose heartbeat has expired: mark it as crashed and go on, or name it."""

_HOLDERS: Final = """
SELECT id::text AS run_id, mode, state, trunc(age)::bigint AS age, age BETWEEN -%(ahead)s AND %(expiry)s AS alive
FROM (SELECT id, mode, state, heartbeat_at, extract(epoch FROM clock_timestamp() - heartbeat_at) AS age FROM night.runs
  WHERE namespace_id = %(namespace_id)s AND state = ANY(%(holding)s)) r
ORDER BY alive DESC, heartbeat_at DESC
"""
_CRASH: Final = """
UPDATE night.runs SET state = 'crashed', finished_at = heartbeat_at, error = 'The heartbeat expired: the process is gone.'
WHERE id = ANY(%(runs)s::uuid[]) AND state = ANY(%(sources)s)
"""


@dataclass(frozen=True, slots=True)
class Holder:
    """A run that holds a namespace, and the age of its heartbeat in seconds, negative if it is in the future."""

    run_id: str
    mode: Mode
    state: State
    age: int
    alive: bool


def holders(connection: Connection, namespace_id: str, expiry_seconds: int) -> list[Holder]:
    """The runs that say they hold the namespace, those that are alive first."""
    with connection.cursor(row_factory=class_row(Holder)) as cursor:
        asked = {
            "namespace_id": namespace_id,
            "expiry": expiry_seconds,
            "ahead": AHEAD_SECONDS,
            "holding": list(HOLDING),
        }
        return cursor.execute(_HOLDERS, asked).fetchall()


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
        crashed = {"runs": [gone.run_id for gone in found], "sources": sources("crashed", HOLDING)}
        connection.execute(_CRASH, crashed)


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


def _refuse_alive(namespace: str, found: list[Holder]) -> None:
    for one in found:
        if one.alive:
            doing = "is planning" if one.state == "planning" else "is writing to"
            raise DreamLockUnavailable(
                f"Run {one.run_id} {doing} {namespace} (heartbeat {max(0, one.age)} s ago). "
                f"Wait for it, or cancel it: `slowwave runs cancel {one.run_id}`; add --dead if its process is gone."
            )


def _stuck_sentence(namespace: str, gone: Holder) -> str:
    resume = (
        ""
        if gone.mode in ("undo", "deep")
        else f"Go on with it: `slowwave dream {shlex.quote(namespace)} --resume-from {gone.run_id}`. "
    )
    age = f"{gone.age} s old" if gone.age >= 0 else f"{-gone.age} s in the future of the database's clock"
    return (
        f"Run {gone.run_id} ({gone.mode}) holds {namespace}, and its heartbeat is {age}: the process is gone. "
        f"What it committed stands. {resume}Or give it up and begin anew with --abandon."
    )
