"""The heartbeat of a run: when it has expired, and what refreshes it while the run is at work.

A run whose heartbeat has expired holds nothing: whoever claims its namespace next marks it as crashed (``slowwave.runs.claims``).
Heartbeats are written and compared by the clock of the database, so the clocks of hosts do not matter.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from threading import Event, Thread
from typing import Final

import psycopg

from slowwave.config.settings import Settings
from slowwave.errors import SettingsError, StoreError
from slowwave.runs.states import HOLDING
from slowwave.store.connect import Connection, Role, Store

_LOG: Final = logging.getLogger(__name__)

_REFRESH: Final = "UPDATE night.runs SET heartbeat_at = clock_timestamp() WHERE id = %s AND state = ANY(%s)"
_OVERLAY: Final = "SELECT settings FROM memory.namespaces WHERE slug = %s"

AHEAD_SECONDS: Final = 5
"""A heartbeat that is further in the future than this has expired: the database's clock was set back since, or the value is forged. Steps
of time synchronisation are smaller."""


def expiry_of(overlay: object) -> int:
    """Seconds after which a heartbeat has expired, by a namespace's own settings; the default where they are not valid."""
    try:
        return Settings.for_namespace(overlay if isinstance(overlay, Mapping) else {}).heartbeat_expiry_seconds
    except SettingsError:
        return int(Settings.model_fields["heartbeat_expiry_seconds"].default)


def heartbeat_expiry(connection: Connection, namespace: str) -> int:
    """Seconds after which a heartbeat has expired in a namespace."""
    row = connection.execute(_OVERLAY, (namespace,)).fetchone()
    return expiry_of(row[0] if row else {})


def has_expired(age_seconds: float, expiry_seconds: int) -> bool:
    """Return whether a heartbeat of this age, negative if it is in the future, no longer holds the namespace."""
    return not -AHEAD_SECONDS <= age_seconds <= expiry_seconds


@contextmanager
def beating(store: Store, role: Role, run_id: str, expiry_seconds: int) -> Generator[None]:
    """Refresh the heartbeat of a run while the block runs, on a connection and a thread of its own.

    Four times within ``expiry_seconds``, or every half minute; a block that is quicker costs no connection.
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
                while _refresh(connection, run_id):
                    if stop.wait(every):
                        return
                return
        except (psycopg.Error, StoreError) as problem:
            _LOG.warning("The heartbeat of run %s was not written (%s); trying again.", run_id, type(problem).__name__)


def _refresh(connection: Connection, run_id: str) -> bool:
    """False when the run holds nothing any more."""
    return connection.execute(_REFRESH, (run_id, list(HOLDING))).rowcount == 1
