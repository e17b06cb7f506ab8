"""The two advisory locks of a namespace: one for claims, one for batches. Both are released when their transaction ends."""

from __future__ import annotations

from typing import Final

from slowwave.store.connect import Connection

_CLAIMS: Final = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 1))"
_BATCHES: Final = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"


def lock_claims(connection: Connection, namespace_id: str) -> None:
    """Inside a transaction: nobody else claims the namespace until it ends."""
    connection.execute(_CLAIMS, (namespace_id,))


def lock_batches(connection: Connection, namespace_id: str) -> None:
    """Inside a transaction: nobody else writes a batch to the namespace until it ends. Taken after ``lock_claims``."""
    connection.execute(_BATCHES, (namespace_id,))
