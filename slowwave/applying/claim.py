"""Who may write to a namespace now: the kill switch, read-only namespaces, and the claim of one run at a time.

A claim is a row of ``night.runs`` in state ``applying``: a partial unique index admits one a namespace. It is taken over only when its
heartbeat has expired.
"""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass
from typing import Final

import psycopg

from slowwave.errors import DreamApplyDisabled, DreamLockUnavailable
from slowwave.store.connect import Connection

KILL_SWITCH: Final = "SLOWWAVE_DISABLE_APPLY"


@dataclass(frozen=True, slots=True)
class Claim:
    """A run that holds its namespace."""

    run_id: str
    namespace: str
    namespace_id: str


def apply_disabled() -> bool:
    """Whether the kill switch is set: any value but none, empty, 0, false and no."""
    return os.environ.get(KILL_SWITCH, "").strip().lower() not in ("", "0", "false", "no")


def refuse_disabled() -> None:
    """Raise when the kill switch is set."""
    if apply_disabled():
        raise DreamApplyDisabled(
            f"{KILL_SWITCH} is set, so nothing is written. Unset it to apply or undo; plans stay as they are."
        )


def claim_namespace(
    connection: Connection,
    namespace: str,
    mode: str,
    *,
    expiry_seconds: int,
    plan_hash: str | None = None,
    approval_id: str | None = None,
    undo_of: str | None = None,
    dagster_run_id: str = "",
) -> Claim:
    """Claim a namespace for an apply or undo run; an unfinished run for the same approval is resumed under its own id."""
    refuse_disabled()
    with connection.transaction():
        row = connection.execute(
            "SELECT id::text, read_only FROM memory.namespaces WHERE slug = %s", (namespace,)
        ).fetchone()
        if row is None or row[1]:
            raise DreamApplyDisabled(f"Namespace {namespace!r} is read-only or gone, so nothing is written to it.")
        namespace_id = str(row[0])
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (namespace_id,))
        _release_expired(connection, namespace_id, expiry_seconds)
        held = connection.execute(
            "SELECT id::text, extract(epoch FROM now() - heartbeat_at)::int FROM night.runs "
            "WHERE namespace_id = %s AND state = 'applying'",
            (namespace_id,),
        ).fetchone()
        if held:
            raise DreamLockUnavailable(
                f"Run {held[0]} is writing to {namespace} (heartbeat {held[1]} s ago). "
                f"Wait for it, or cancel it: `slowwave runs cancel {held[0]}`."
            )
        resumable = connection.execute(
            "SELECT id::text FROM night.runs WHERE namespace_id = %s AND mode = 'apply' AND approval_id = %s "
            "AND state IN ('crashed', 'cancelled') ORDER BY started_at DESC LIMIT 1",
            (namespace_id, approval_id),
        ).fetchone()
        if resumable:
            connection.execute(
                "UPDATE night.runs SET state = 'applying', heartbeat_at = now(), finished_at = NULL, cancel_requested_at = NULL, "
                "error = NULL, dagster_run_id = coalesce(nullif(%s, ''), dagster_run_id) WHERE id = %s",
                (dagster_run_id, resumable[0]),
            )
            return Claim(str(resumable[0]), namespace, namespace_id)
        run_id = str(uuid.uuid4())
        try:
            connection.execute(
                "INSERT INTO night.runs (id, namespace_id, mode, state, plan_hash, approval_id, undo_of, dagster_run_id) "
                "VALUES (%s, %s, %s, 'applying', %s, %s, %s, nullif(%s, ''))",
                (run_id, namespace_id, mode, plan_hash, approval_id, undo_of, dagster_run_id),
            )
        except psycopg.errors.UniqueViolation:
            raise DreamLockUnavailable(
                f"Another run began to write to {namespace} at this moment. Try again."
            ) from None
        return Claim(run_id, namespace, namespace_id)


def lock_batch(connection: Connection, claim: Claim) -> bool:
    """Inside a batch's transaction: take the namespace's lock, see that the claim still holds, and beat the heart.

    False when a person asked to cancel. Raises when the claim was taken over or the kill switch is set.
    """
    refuse_disabled()
    connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (claim.namespace_id,))
    row = connection.execute(
        "UPDATE night.runs SET heartbeat_at = clock_timestamp() WHERE id = %s AND state = 'applying' RETURNING cancel_requested_at",
        (claim.run_id,),
    ).fetchone()
    if row is None:
        raise DreamLockUnavailable(
            f"Run {claim.run_id} lost its claim on {claim.namespace}: its heartbeat had expired. What it committed stands."
        )
    return row[0] is None


def _release_expired(connection: Connection, namespace_id: str, expiry_seconds: int) -> None:
    connection.execute(
        "UPDATE night.runs SET state = 'crashed', error = 'The heartbeat expired: the process is gone.' WHERE namespace_id = %s "
        "AND state = 'applying' AND heartbeat_at < now() - make_interval(secs => %s)",
        (namespace_id, expiry_seconds),
    )
