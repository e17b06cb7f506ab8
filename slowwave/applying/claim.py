"""The claim of an apply or undo run on its namespace, and what is asked of it before every batch.

A claim is a row of ``night.runs`` in state ``applying``: a partial unique index admits one a namespace, and no run that plans may be
alive beside it (``slowwave.plans.claims``). Every claim has a token of its own, kept in the row's progress. So a process whose heartbeat
had expired, and whose run another one has resumed, can tell that the run is no longer its own.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import psycopg
from psycopg.types.json import Jsonb

from slowwave.applying.switches import refuse_unwritable
from slowwave.errors import DreamLockUnavailable
from slowwave.plans.claims import Stuck, lock_batches, make_room, patiently
from slowwave.store.connect import Connection

RESUMABLE: Final = ("crashed", "cancelled", "paused")
"""States of an apply run that goes on under its own id when its approval is applied again."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A run that holds its namespace."""

    run_id: str
    namespace: str
    namespace_id: str
    token: str
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a person asked of a run under way."""

    cancel: bool
    pause: bool


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
    stuck: Stuck = "take over",
    own: str = "",
    wait: float = 0.0,
) -> Claim:
    """Claim a namespace for an apply or undo run; an unfinished run for the same approval is resumed under its own id.

    Raises ``DreamApplyDisabled`` when nothing may be written, ``DreamLockUnavailable`` while another run holds the namespace, at once or
    after ``wait`` seconds. A run whose heartbeat has expired is taken over; with ``stuck="raise"`` it raises ``DreamRunStuckError``
    unless it is ``own``.
    """

    def claim() -> Claim:
        with connection.transaction():
            namespace_id = refuse_unwritable(connection, namespace)
            make_room(connection, namespace, namespace_id, expiry_seconds, stuck=stuck, own=own)
            token = str(uuid.uuid4())
            if run_id := _resume(connection, namespace_id, approval_id, dagster_run_id, token):
                return Claim(run_id, namespace, namespace_id, token, resumed=True)
            run_id = str(uuid.uuid4())
            connection.execute(
                "INSERT INTO night.runs (id, namespace_id, mode, state, trigger, plan_hash, approval_id, undo_of, dagster_run_id, "
                "progress, started_at, heartbeat_at) VALUES (%s, %s, %s, 'applying', %s, %s, %s, %s, nullif(%s, ''), %s, "
                "clock_timestamp(), clock_timestamp())",
                (
                    *(run_id, namespace_id, mode, "sensor" if dagster_run_id else "manual", plan_hash, approval_id),
                    *(undo_of, dagster_run_id, Jsonb({"claim": token})),
                ),
            )
            return Claim(run_id, namespace, namespace_id, token)

    try:
        return patiently(claim, wait)
    except psycopg.errors.UniqueViolation:
        raise DreamLockUnavailable(f"Another run began to write to {namespace} at this moment. Try again.") from None


def lock_batch(connection: Connection, claim: Claim) -> bool:
    """Inside a batch's transaction: take the namespace's lock, and see that the claim still holds and that it may be written.

    False when a person asked to cancel. Raises when the claim was taken over, the kill switch is set or the namespace is read-only.
    The heart beats elsewhere: a row locked here would hide it for as long as the batch takes.
    """
    refuse_unwritable(connection, claim.namespace)
    lock_batches(connection, claim.namespace_id)
    return not wishes(connection, claim).cancel


def wishes(connection: Connection, claim: Claim) -> Wishes:
    """What a person asks of the run; raises ``DreamLockUnavailable`` when the claim no longer holds."""
    row = connection.execute(
        "SELECT state, cancel_requested_at IS NOT NULL, pause_requested_at IS NOT NULL FROM night.runs "
        "WHERE id = %s AND state IN ('applying', 'cancelled') AND progress ->> 'claim' = %s",
        (claim.run_id, claim.token),
    ).fetchone()
    if row is None:
        raise DreamLockUnavailable(
            f"Run {claim.run_id} lost its claim on {claim.namespace}: its heartbeat had expired. What it committed stands."
        )
    return Wishes(cancel=bool(row[1]) or row[0] == "cancelled", pause=bool(row[2]))


def note_progress(connection: Connection, claim: Claim, phase: str, done: int, total: int, note: str = "") -> None:
    """Write how far the run is: items done and in all, and why it waits when it does. The heart beats with it."""
    progress = {"claim": claim.token, "phase": phase, "done": done, "total": total, "note": note}
    connection.execute(
        "UPDATE night.runs SET progress = %s, heartbeat_at = clock_timestamp() "
        "WHERE id = %s AND state = 'applying' AND progress ->> 'claim' = %s",
        (Jsonb(progress), claim.run_id, claim.token),
    )


def end_claim(
    connection: Connection,
    claim: Claim,
    state: str,
    *,
    counts: Mapping[str, int] | None = None,
    error: str | None = None,
) -> bool:
    """End the run in a state, with what it came to; False when the run is no longer this claim's, and then it stays as it is."""
    changed = connection.execute(
        "UPDATE night.runs SET state = %s, finished_at = clock_timestamp(), heartbeat_at = clock_timestamp(), error = %s, "
        "counts = coalesce(%s, counts), pause_requested_at = NULL WHERE id = %s AND state = 'applying' AND progress ->> 'claim' = %s",
        (state, error, Jsonb(dict(counts)) if counts is not None else None, claim.run_id, claim.token),
    )
    return changed.rowcount == 1


def _resume(
    connection: Connection, namespace_id: str, approval_id: str | None, dagster_run_id: str, token: str
) -> str | None:
    row = connection.execute(
        "UPDATE night.runs SET state = 'applying', trigger = 'resume', heartbeat_at = clock_timestamp(), finished_at = NULL, "
        "cancel_requested_at = NULL, pause_requested_at = NULL, error = NULL, progress = %s, "
        "dagster_run_id = coalesce(nullif(%s, ''), dagster_run_id) WHERE id = (SELECT id FROM night.runs WHERE namespace_id = %s "
        "AND mode = 'apply' AND approval_id = %s AND state = ANY(%s) ORDER BY started_at DESC LIMIT 1) RETURNING id::text",
        (Jsonb({"claim": token}), dagster_run_id, namespace_id, approval_id, list(RESUMABLE)),
    ).fetchone()
    return str(row[0]) if row else None
