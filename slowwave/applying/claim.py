"""The claim of an apply or undo run: made only where something may be written, and looked at again in every batch.

Its row is that of ``slowwave.runs.writing``; whether anything may be written is asked of ``slowwave.applying.switches``.
"""

from __future__ import annotations

from typing import Final, Literal

import psycopg

from slowwave.applying.switches import refuse_unwritable
from slowwave.errors import DreamLockUnavailable
from slowwave.runs.claims import Stuck, make_room, patiently
from slowwave.runs.locks import lock_batches
from slowwave.runs.writing import NamespaceClaim, control_requests, open_claim
from slowwave.store.connect import Connection

_FEW_ROWS: Final = "SET LOCAL random_page_cost = 1.1"
"""A batch names its rows by their ids. At PostgreSQL's default, made for disks that turn, its statements would read whole tables."""


def claim_namespace(
    connection: Connection,
    namespace: str,
    mode: Literal["apply", "undo"],
    *,
    expiry_seconds: int,
    plan_hash: str | None = None,
    approval_id: str | None = None,
    undo_of: str | None = None,
    dagster_run_id: str = "",
    stuck: Stuck = "take over",
    own: str = "",
    wait: float = 0.0,
) -> NamespaceClaim:
    """Claim a namespace for an apply or undo run; an unfinished run for the same approval is resumed under its own id.

    Raises ``DreamApplyDisabled`` when nothing may be written, ``DreamLockUnavailable`` while another run holds the namespace, at once or
    after ``wait`` seconds. A run whose heartbeat has expired is taken over; with ``stuck="raise"`` it raises ``DreamRunStuckError``
    unless it is ``own``.
    """

    def claim() -> NamespaceClaim:
        with connection.transaction():
            namespace_id = refuse_unwritable(connection, namespace)
            make_room(connection, namespace, namespace_id, expiry_seconds, stuck=stuck, own=own)
            return open_claim(
                connection,
                namespace,
                namespace_id,
                mode,
                plan_hash=plan_hash,
                approval_id=approval_id,
                undo_of=undo_of,
                dagster_run_id=dagster_run_id,
            )

    try:
        return patiently(claim, wait)
    except psycopg.errors.UniqueViolation:
        raise DreamLockUnavailable(f"Another run began to write to {namespace} at this moment. Try again.") from None


def lock_batch(connection: Connection, claim: NamespaceClaim) -> bool:
    """Inside a batch's transaction: take the namespace's lock, and see that the claim still holds and that it may be written.

    False when a person asked to cancel. Raises when the claim was taken over, the kill switch is set or the namespace is read-only.
    The heartbeat is refreshed elsewhere: a row locked here would hide it for as long as the batch takes.
    """
    connection.execute(_FEW_ROWS)
    refuse_unwritable(connection, claim.namespace)
    lock_batches(connection, claim.namespace_id)
    return not control_requests(connection, claim).cancel
