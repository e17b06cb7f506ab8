"""The row of a run that writes: its claim on the namespace, what is asked of it before every batch, its progress and its end.

A partial unique index admits one run in state ``applying`` a namespace. Every claim has a token of its own, kept in the row's progress.
So a process whose heartbeat had expired, and whose run another one has resumed, can tell that the run is no longer its own.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from slowwave.errors import DreamLockUnavailable
from slowwave.runs.ledger import insert_run
from slowwave.runs.states import State, sources
from slowwave.store.connect import Connection

_RESUME: Final = """
UPDATE night.runs SET state = 'applying', trigger = 'resume', heartbeat_at = clock_timestamp(), finished_at = NULL,
  cancel_requested_at = NULL, pause_requested_at = NULL, error = NULL, progress = %(progress)s,
  dagster_run_id = coalesce(nullif(%(dagster_run)s, ''), dagster_run_id)
WHERE id = (SELECT id FROM night.runs WHERE namespace_id = %(namespace_id)s AND mode = 'apply' AND approval_id = %(approval)s
  AND state = ANY(%(sources)s) ORDER BY started_at DESC LIMIT 1) AND state = ANY(%(sources)s)
RETURNING id::text
"""
_CONTROL_REQUESTS: Final = """
SELECT cancel_requested_at IS NOT NULL OR state = 'cancelled' AS cancel, pause_requested_at IS NOT NULL AS pause FROM night.runs
WHERE id = %(run)s AND state IN ('applying', 'cancelled') AND progress ->> 'claim' = %(token)s
"""
_PROGRESS: Final = """
UPDATE night.runs SET progress = %(progress)s, heartbeat_at = clock_timestamp()
WHERE id = %(run)s AND state = 'applying' AND progress ->> 'claim' = %(token)s
"""
_END: Final = """
UPDATE night.runs SET state = %(to)s, (finished_at, heartbeat_at) = (SELECT moment, moment FROM clock_timestamp() AS moment),
  error = %(error)s, counts = coalesce(%(counts)s, counts), pause_requested_at = NULL
WHERE id = %(run)s AND state = ANY(%(sources)s) AND progress ->> 'claim' = %(token)s
"""


@dataclass(frozen=True, slots=True)
class NamespaceClaim:
    """A run that holds its namespace."""

    run_id: str
    namespace: str
    namespace_id: str
    token: str
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class ControlRequests:
    """What a person asked of a run under way."""

    cancel: bool
    pause: bool


def open_claim(
    connection: Connection,
    namespace: str,
    namespace_id: str,
    mode: Literal["apply", "undo"],
    *,
    plan_hash: str | None = None,
    approval_id: str | None = None,
    undo_of: str | None = None,
    dagster_run_id: str = "",
) -> NamespaceClaim:
    """A run that writes to the namespace: the unfinished one of the same approval, under its own id, or a new one.

    Inside the transaction in which the caller made room (``claims.make_room``). Raises ``psycopg.errors.UniqueViolation`` where another
    run writes to the namespace all the same.
    """
    token = str(uuid.uuid4())
    if run_id := _resume(connection, namespace_id, approval_id, dagster_run_id, token):
        return NamespaceClaim(run_id, namespace, namespace_id, token, resumed=True)
    run_id = insert_run(
        connection,
        namespace_id,
        mode,
        trigger="sensor" if dagster_run_id else "manual",
        plan_hash=plan_hash,
        approval_id=approval_id,
        undo_of=undo_of,
        dagster_run_id=dagster_run_id,
        progress={"claim": token},
    )
    return NamespaceClaim(run_id, namespace, namespace_id, token)


def control_requests(connection: Connection, claim: NamespaceClaim) -> ControlRequests:
    """What a person asks of the run; raises ``DreamLockUnavailable`` when the claim no longer holds."""
    with connection.cursor(row_factory=class_row(ControlRequests)) as cursor:
        found = cursor.execute(_CONTROL_REQUESTS, {"run": claim.run_id, "token": claim.token}).fetchone()
    if found is None:
        raise DreamLockUnavailable(
            f"Run {claim.run_id} lost its claim on {claim.namespace}: its heartbeat had expired. What it committed stands."
        )
    return found


def note_progress(
    connection: Connection, claim: NamespaceClaim, phase: str, done: int, total: int, note: str = ""
) -> bool:
    """Write how far the run is: items done and in all, and why it waits when it does. This refreshes its heartbeat.

    False when the run is no longer this claim's, and then it stays as it is.
    """
    progress = {"claim": claim.token, "phase": phase, "done": done, "total": total, "note": note}
    written = {"run": claim.run_id, "token": claim.token, "progress": Jsonb(progress)}
    return connection.execute(_PROGRESS, written).rowcount == 1


def end_claim(
    connection: Connection,
    claim: NamespaceClaim,
    to: State,
    *,
    counts: Mapping[str, int] | None = None,
    error: str | None = None,
) -> bool:
    """End the run in a state, with what it came to; False when the run is no longer this claim's, and then it stays as it is."""
    ended = {
        "run": claim.run_id,
        "token": claim.token,
        "to": to,
        "sources": sources(to, ("applying",)),
        "counts": None if counts is None else Jsonb(dict(counts)),
        "error": error,
    }
    return connection.execute(_END, ended).rowcount == 1


def _resume(
    connection: Connection, namespace_id: str, approval_id: str | None, dagster_run_id: str, token: str
) -> str | None:
    asked = {
        "namespace_id": namespace_id,
        "approval": approval_id,
        "dagster_run": dagster_run_id,
        "sources": sources("applying"),
        "progress": Jsonb({"claim": token}),
    }
    row = connection.execute(_RESUME, asked).fetchone()
    return str(row[0]) if row else None
