"""The two locks of a namespace, one for claims and one for batches: rows that a transaction holds until it ends.

They are rows and no advisory locks, whose keys any login could compute and hold. A wait for a lock has an end, and the refusal names the
sessions that hold it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Final

import psycopg

from slowwave.errors import DreamLockUnavailable
from slowwave.store.connect import Connection

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
"""  # noqa: S608 - a constant of ours
"""Sessions in a transaction that wrote or locked anything, the longest first. One of them holds what a statement waited for."""


def lock_claims(connection: Connection, namespace_id: str) -> None:
    """Inside a transaction: keep others from claiming the namespace until it ends."""
    _lock(connection, namespace_id, _CLAIMS)


def lock_batches(connection: Connection, namespace_id: str) -> None:
    """Inside a transaction: keep others from writing a batch to the namespace until it ends. Taken after ``lock_claims``."""
    _lock(connection, namespace_id, _BATCHES)


@contextmanager
def naming_waits(connection: Connection) -> Generator[None]:
    """Outside of a transaction: turn a lock that a statement of the block waited for in vain into a refusal that names sessions."""
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
        with connection.transaction():  # a savepoint, so that the holder can be asked for after the wait
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
