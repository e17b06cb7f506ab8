"""Rows of ``night.runs``: how one is inserted, and how it goes from state to state by compare-and-set.

What belongs to one kind of run lies beside it: ``planning`` and ``writing``, with ``claims`` for both. Everything that is written to
the table is written by this room.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Final

from psycopg.types.json import Jsonb

from slowwave.runs.states import Mode, State, sources
from slowwave.store.connect import Connection

_INSERT: Final = """
INSERT INTO night.runs (id, namespace_id, mode, state, trigger, plan_hash, approval_id, undo_of, dagster_run_id, parameters, progress,
  started_at, heartbeat_at)
VALUES (%(id)s, %(namespace_id)s, %(mode)s, %(state)s, %(trigger)s, %(plan_hash)s, %(approval_id)s, %(undo_of)s,
  nullif(%(dagster_run_id)s, ''), %(parameters)s, %(progress)s, clock_timestamp(), clock_timestamp())
"""
_MOVE: Final = """
UPDATE night.runs SET state = %(to)s, finished_at = coalesce(finished_at, clock_timestamp()),
  heartbeat_at = CASE WHEN finished_at IS NULL THEN clock_timestamp() ELSE heartbeat_at END,
  error = coalesce(%(error)s, error), counts = coalesce(%(counts)s, counts)
WHERE id = %(run)s AND state = ANY(%(sources)s)
"""
_STATE: Final = "SELECT state FROM night.runs WHERE id = %s"


def insert_run(
    connection: Connection,
    namespace_id: str,
    mode: Mode,
    *,
    trigger: str,
    plan_hash: str | None = None,
    approval_id: str | None = None,
    undo_of: str | None = None,
    dagster_run_id: str = "",
    parameters: Mapping[str, object] | None = None,
    progress: Mapping[str, object] | None = None,
) -> str:
    """Insert a run that holds the namespace from now on, in the state in which its mode begins; returns its id.

    The caller has seen to it that nobody else holds the namespace (``claims.make_room``), in the same transaction.
    """
    run_id = str(uuid.uuid4())
    begins: State = "planning" if mode in ("plan", "deep") else "applying"
    connection.execute(
        _INSERT,
        {
            "id": run_id,
            "namespace_id": namespace_id,
            "mode": mode,
            "state": begins,
            "trigger": trigger,
            "plan_hash": plan_hash,
            "approval_id": approval_id,
            "undo_of": undo_of,
            "dagster_run_id": dagster_run_id,
            "parameters": Jsonb(dict(parameters or {})),
            "progress": Jsonb(dict(progress or {})),
        },
    )
    return run_id


def move_run(
    connection: Connection,
    run_id: str,
    to: State,
    come_from: Iterable[State],
    *,
    counts: Mapping[str, object] | None = None,
    error: str | None = None,
) -> bool:
    """Compare-and-set: a run in one of the states ``come_from`` goes to ``to``. False when it was in none of them.

    It has finished, and its heartbeat is refreshed for the last time, when its work ended: a plan when it was written. What people and
    time make of a plan afterwards changes its state alone. Raises ``ValueError`` for a transition that ``states`` does not allow.
    """
    changed = connection.execute(
        _MOVE,
        {
            "run": run_id,
            "to": to,
            "sources": sources(to, come_from),
            "error": error,
            "counts": None if counts is None else Jsonb(dict(counts)),
        },
    )
    return changed.rowcount == 1


def state_of(connection: Connection, run_id: str) -> str:
    """The state of a run as it is now; empty when it is not there."""
    row = connection.execute(_STATE, (run_id,)).fetchone()
    return str(row[0]) if row else ""
