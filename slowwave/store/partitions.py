"""The monthly partitions of ``memory.recall_events`` that will be needed: made ahead, since agents that log recalls may not make any."""

from __future__ import annotations

from typing import Final

import psycopg

from slowwave.store.connect import Store

_MONTHS_AHEAD: Final = 3

_ENSURE_PARTITIONS: Final = "SELECT memory.ensure_recall_partitions(now(), now() + make_interval(months => %s))"


def make_partitions_ahead(store: Store) -> None:
    """As the owner, make the partitions of this month and the next three that are missing; events that came before move into theirs.

    Whoever reads the events is not waited for: what is not made now lies in the default partition until the next time.
    """
    with store.connect("owner") as connection:
        try:
            with connection.transaction():
                connection.execute("SET LOCAL lock_timeout = '1s'")
                connection.execute(_ENSURE_PARTITIONS, (_MONTHS_AHEAD,))
        except (psycopg.errors.LockNotAvailable, psycopg.errors.InsufficientPrivilege):
            return
