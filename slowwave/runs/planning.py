"""The row of a run that plans: opened, reopened, held while it goes from step to step, and joined to the plan that it wrote.

A plan run writes no memory, so one whose process is gone may be marked as crashed by anybody, and may plan again under its own id.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from slowwave.errors import DreamCancelled, DreamLockUnavailable, Refused
from slowwave.runs.claims import Stuck, make_room
from slowwave.runs.control import PAUSE_POLL_SECONDS
from slowwave.runs.heartbeat import heartbeat_expiry
from slowwave.runs.ledger import insert_run, move_run, state_of
from slowwave.runs.run import Run
from slowwave.runs.states import State, sources
from slowwave.store.connect import Connection, Store
from slowwave.store.namespaces import namespace_id

_REOPEN: Final = """
UPDATE night.runs SET state = 'planning', trigger = 'resume', heartbeat_at = clock_timestamp(), finished_at = NULL,
  cancel_requested_at = NULL, pause_requested_at = NULL, error = NULL, progress = '{}'
WHERE id = %(run)s AND mode = 'plan' AND state = ANY(%(sources)s)
"""
_STEP: Final = """
UPDATE night.runs SET heartbeat_at = clock_timestamp(), progress = coalesce(%(progress)s, progress)
WHERE id = %(run)s AND state = 'planning' RETURNING pause_requested_at IS NOT NULL
"""
_PLANNED: Final = """
UPDATE night.runs SET state = %(to)s, plan_hash = %(plan)s, change_counter = %(change_counter)s,
  settings_fingerprint = %(settings)s, counts = %(counts)s,
  (finished_at, heartbeat_at) = (SELECT moment, moment FROM clock_timestamp() AS moment)
WHERE id = %(run)s AND state = ANY(%(sources)s)
"""
_UNDER_WAY: Final = """
SELECT r.id::text AS run_id, n.slug AS namespace FROM night.runs r JOIN memory.namespaces n ON n.id = r.namespace_id
WHERE r.dagster_run_id = ANY(%(dagster_runs)s) AND r.mode = 'plan' AND r.state = 'planning' ORDER BY r.started_at DESC
"""
_ADOPT: Final = """
UPDATE night.runs SET dagster_run_id = %(dagster_run)s, heartbeat_at = clock_timestamp() WHERE id = %(run)s AND state = 'planning'
"""
_NEWEST: Final = """
SELECT id::text, state FROM night.runs WHERE dagster_run_id = %s AND mode = 'plan' ORDER BY started_at DESC LIMIT 1
"""
_FORGET_TURNS: Final = """
UPDATE night.runs SET progress = progress - 'turns' WHERE namespace_id = %(namespace)s AND mode = 'deep' AND state <> 'planning'
  AND jsonb_exists(progress, 'turns') AND coalesce(finished_at, heartbeat_at) < %(before)s
"""


@dataclass(frozen=True, slots=True)
class ActivePlanRun:
    """A plan run that is planning, and its namespace."""

    run_id: str
    namespace: str


def open_plan_run(
    connection: Connection,
    namespace: str,
    *,
    trigger: str = "manual",
    dagster_run_id: str = "",
    parameters: Mapping[str, object] | None = None,
    stuck: Stuck = "take over",
    mode: Literal["plan", "deep"] = "plan",
) -> str:
    """Open a run in state ``planning``, which holds the namespace from now on; returns its id. See ``claims.make_room``.

    A ``deep`` run is never opened again, so its id is the fencing token of whoever works in its name: once it holds the namespace no
    longer, neither its progress nor its plan is written.
    """
    with connection.transaction():
        scope = namespace_id(connection, namespace)
        make_room(connection, namespace, scope, heartbeat_expiry(connection, namespace), stuck=stuck)
        return insert_run(
            connection, scope, mode, trigger=trigger, dagster_run_id=dagster_run_id, parameters=parameters
        )


def reopen_plan_run(connection: Connection, run: Run, *, stuck: Stuck = "take over") -> None:
    """A plan run that crashed or was cancelled, or whose heartbeat has expired, plans again under its own id."""
    with connection.transaction():
        make_room(
            connection, run.namespace, run.namespace_id, run.heartbeat_expiry_seconds, stuck=stuck, own=run.run_id
        )
        changed = connection.execute(_REOPEN, {"run": run.run_id, "sources": sources("planning")})
        if changed.rowcount != 1:
            raise Refused(f"Run {run.run_id} went on elsewhere at this moment. `slowwave runs status {run.run_id}`")


def check_cancelled(store: Store, run_id: str, progress: Mapping[str, object] | None = None) -> None:
    """Between the steps of a plan run: note its progress, refresh its heartbeat, wait while a person paused it.

    Raises ``DreamCancelled`` when a person cancelled it, ``DreamLockUnavailable`` when it lost its namespace to another run.
    """
    step = {"run": run_id, "progress": Jsonb(dict(progress)) if progress is not None else None}
    with store.connect("planner") as connection:
        while True:
            row = connection.execute(_STEP, step).fetchone()
            if row is None:
                raise _ended(connection, run_id)
            if not row[0]:
                return
            time.sleep(PAUSE_POLL_SECONDS)


def end_plan_run(
    connection: Connection,
    run_id: str,
    to: State,
    plan_hash: str,
    *,
    settings_fingerprint: str,
    change_counter: int | None,
    counts: Mapping[str, int],
) -> None:
    """Join a run to the plan that it wrote, in the same transaction, and end its work in state ``to``.

    Raises as ``check_cancelled`` does when the run is planning no longer, and then the plan must not be written either.
    """
    planned = {
        "run": run_id,
        "to": to,
        "sources": sources(to, ("planning",)),
        "plan": plan_hash,
        "change_counter": change_counter,
        "settings": settings_fingerprint,
        "counts": Jsonb(dict(counts)),
    }
    if connection.execute(_PLANNED, planned).rowcount != 1:
        raise _ended(connection, run_id)


def crash_plan_run(connection: Connection, run_id: str, error: str, *, cancelled: bool = False) -> bool:
    """Say on a plan run why it ended without a plan; False when it was planning no longer, and then it stays as it is."""
    return move_run(connection, run_id, "cancelled" if cancelled else "crashed", ("planning",), error=error)


def under_way(connection: Connection, *dagster_run_ids: str) -> Sequence[ActivePlanRun]:
    """The plan runs of these Dagster runs that are planning, the newest first."""
    with connection.cursor(row_factory=class_row(ActivePlanRun)) as cursor:
        return cursor.execute(_UNDER_WAY, {"dagster_runs": list(dagster_run_ids)}).fetchall()


def adopt(connection: Connection, run_id: str, dagster_run_id: str) -> bool:
    """A plan run under way belongs to this Dagster run from now on, and its heartbeat is refreshed; False when it is planning no longer."""
    return connection.execute(_ADOPT, {"run": run_id, "dagster_run": dagster_run_id}).rowcount == 1


def refuse_cancelled(connection: Connection, dagster_run_id: str) -> None:
    """Raise ``DreamCancelled`` when the newest plan run of a Dagster run was cancelled."""
    row = connection.execute(_NEWEST, (dagster_run_id,)).fetchone()
    if row and row[1] == "cancelled":
        raise DreamCancelled(f"Run {row[0]} was cancelled, and nothing was planned.")


def forget_turns(connection: Connection, namespace_id: str, before: datetime) -> int:
    """Let go of what models said in deep runs that ended before an instant; returns how many runs that were."""
    return connection.execute(_FORGET_TURNS, {"namespace": namespace_id, "before": before}).rowcount


def _ended(connection: Connection, run_id: str) -> DreamCancelled | DreamLockUnavailable:
    state = state_of(connection, run_id)
    if state == "cancelled":
        return DreamCancelled(
            f"Run {run_id} was cancelled, and nothing was planned. Plan again under its id with --resume-from."
        )
    return DreamLockUnavailable(
        f"Run {run_id} holds its namespace no longer (it is {state or 'gone'}): its heartbeat had expired, and another "
        "run may plan now. Nothing was planned by this one."
    )
