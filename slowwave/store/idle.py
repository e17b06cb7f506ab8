"""Open connections of this process that wait to be used again: a few, each for one address, login and role.

``Store.connect`` takes one from here and gives it back, so a process that asks for the store fifty times connects a few times. What is
given back is as new: no transaction, setting, role, cursor, temporary table, lock or channel is left. What the server ended meanwhile is
not handed out. How many connections are in use is no matter of this module, and no thread belongs to it.

A pool with workers (``psycopg_pool``) connects in a thread of its own and tries again until a time is over: whoever asks would wait, and be
shown the time instead of what the server said.
"""

from __future__ import annotations

import atexit
import os
import selectors
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

import psycopg
from psycopg.pq import TransactionStatus

MOST: Final = 4
"""Idle connections of a process, whatever they are for: a night needs one a role, and many processes share a server."""

SECONDS: Final = 30.0
"""After which an idle connection is no longer used: a proxy between may have forgotten it without a word.

It is closed by whoever connects or gives back next; a process that does neither keeps it until it ends.
"""

_RESET: Final = """
CLOSE ALL; RESET SESSION AUTHORIZATION; RESET ALL; UNLISTEN *; SELECT pg_advisory_unlock_all(); DISCARD TEMP; DISCARD SEQUENCES
"""
"""``DISCARD ALL`` but for prepared statements: psycopg makes those by itself, and would not know that they are gone."""

Key = tuple[str, str]
"""Address with login, and the role that is taken on it (empty when the login has its own)."""
Connection = psycopg.Connection[tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class _Waiting:
    key: Key
    connection: Connection
    since: float


@dataclass(slots=True)
class _Idle:
    """Those that wait, the oldest first; one lock, held for no statement."""

    waiting: list[_Waiting] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


_idle = _Idle()
_AT_HAND: Final[ContextVar[dict[Key, Connection] | None]] = ContextVar("at_hand", default=None)
"""Those that the blocks of one piece of work hand on to each other, by what they are for."""

_inherited: list[_Idle] = []  # a child that closed its parent's connections would end the parent's sessions


def take(key: Key) -> Connection | None:
    """The connection that was given back last for this key, if it is still one; the caller owns it from now on."""
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


def give_back(key: Key, connection: Connection) -> None:
    """Let a connection wait to be used again, or close it: in the middle of a statement, changed, or one too many."""
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
    """The blocks of this thread hand a connection on to the next of the same key until this ends, and then it is made as new: for work of
    many small steps, of which none sets anything that outlasts its transaction. To make it as new is a statement of a fifth of a
    millisecond, and a small namespace's night has twenty such steps."""
    at_hand: dict[Key, Connection] = {}
    token = _AT_HAND.set(at_hand)
    try:
        yield
    finally:
        _AT_HAND.reset(token)
        while at_hand:
            give_back(*at_hand.popitem())


def close_idle() -> None:
    """Close what waits: at the end of the process, and before a database is copied, to which nobody may be connected then."""
    with _idle.lock:
        over, _idle.waiting = _idle.waiting, []
    for one in over:
        one.connection.close()


def _unharmed(connection: Connection) -> bool:
    """Whether the server sent nothing meanwhile. What it sends to an idle connection is that it ends."""
    if connection.closed:
        return False
    with selectors.DefaultSelector() as selector:
        selector.register(connection.fileno(), selectors.EVENT_READ)
        return not selector.select(0)


def _at_rest(connection: Connection) -> bool:
    """End the transaction that a block has left open; False when the connection is in the middle of something, or changed."""
    try:
        if connection.info.transaction_status == TransactionStatus.INTRANS:
            connection.commit()
        if connection.info.transaction_status != TransactionStatus.IDLE or not connection.autocommit:
            return False
        connection.isolation_level = connection.read_only = connection.deferrable = None
    except psycopg.Error:
        return False
    return True


def _as_new(connection: Connection) -> bool:
    """Bring a connection that is at rest to where it was when it was opened; False when it cannot be."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(_RESET)
    except psycopg.Error:
        return False
    return True


def _forget() -> None:
    """In a child of a fork: its parent's connections are left alone."""
    global _idle
    _inherited.append(_idle)
    _idle = _Idle()


os.register_at_fork(after_in_child=_forget)
atexit.register(close_idle)
