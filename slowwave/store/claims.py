"""Claims of a namespace, one run at a time; requests of users to a run; and the rows of runs that plan or write."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeVar

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from slowwave.errors import DreamCancelled, DreamLockUnavailable, DreamRunStuckError, Refused
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.migrate import refuse_other_schema
from slowwave.store.namespaces import namespace_id
from slowwave.store.runs import (
    AHEAD_SECONDS,
    HOLDING,
    Mode,
    Run,
    State,
    expiry_of,
    find_run,
    has_expired,
    heartbeat_expiry,
    insert_run,
    last_run,
    lock_batches,
    lock_claims,
    move_run,
    resume_command,
    sources,
    state_of,
    this_process,
)

# Claims: a namespace is held by one run at a time, of any kind, as long as its heartbeat has not expired.
#
# A claim is a row of ``night.runs`` in state ``planning`` or ``applying``. Claims are serialised by a lock of the namespace
# (``slowwave.store.runs``). Batches have a separate lock, so a claim is answered at once while a batch is being written. A run whose
# heartbeat has expired holds nothing: the next run marks it as crashed, or reports it.

_POLL_SECONDS: Final = 0.25
_T = TypeVar("_T")

Stuck = Literal["take over", "raise"]
"""Handling of a run whose heartbeat has expired: mark it as crashed and continue, or raise an error with its name."""

_HOLDERS: Final = """
SELECT id::text AS run_id, mode, state, process, trunc(age)::bigint AS age, age BETWEEN -%(ahead)s AND %(expiry)s AS alive
FROM (SELECT id, mode, state, process, heartbeat_at, extract(epoch FROM clock_timestamp() - heartbeat_at) AS age FROM night.runs
  WHERE namespace_id = %(namespace_id)s AND state = ANY(%(holding)s)) r
ORDER BY alive DESC, heartbeat_at DESC
"""
_EXPIRED: Final = "The heartbeat expired: the process is gone."
_CRASH: Final = """
UPDATE night.runs SET state = 'crashed', finished_at = heartbeat_at, error = %(error)s
WHERE id = ANY(%(runs)s::uuid[]) AND state = ANY(%(sources)s)
"""


@dataclass(frozen=True, slots=True)
class Holder:
    """A run that holds a namespace, and the age of its heartbeat in seconds, negative if it is in the future."""

    run_id: str
    mode: Mode
    state: State
    process: str
    age: int
    alive: bool


def holders(connection: Connection, namespace_id: str, expiry_seconds: int) -> list[Holder]:
    """Return the runs whose state claims the namespace, those that are alive first."""
    with connection.cursor(row_factory=class_row(Holder)) as cursor:
        asked = {
            "namespace_id": namespace_id,
            "expiry": expiry_seconds,
            "ahead": AHEAD_SECONDS,
            "holding": list(HOLDING),
        }
        return cursor.execute(_HOLDERS, asked).fetchall()


def make_room(
    connection: Connection,
    namespace: str,
    namespace_id: str,
    expiry_seconds: int,
    *,
    stuck: Stuck = "take over",
    own: str = "",
) -> None:
    """Take the lock of claims and check that no run holds the namespace, inside the caller's transaction.

    A run whose heartbeat has expired is marked as crashed; with ``stuck="raise"`` it raises ``DreamRunStuckError``, unless it is ``own``.
    Raises ``StoreError`` if the schema is that of another version of Slowwave.
    A run that is alive raises ``DreamLockUnavailable`` at once.
    """
    refuse_other_schema(connection)
    lock_claims(connection, namespace_id)
    found = holders(connection, namespace_id, expiry_seconds)
    _refuse_alive(namespace, found)
    for gone in found:
        if stuck == "raise" and gone.run_id != own:
            raise DreamRunStuckError(_stuck_sentence(namespace, gone), gone.run_id, gone.age)
    if found:
        lock_batches(connection, namespace_id)  # a batch that is being written ends first, and may prove its run alive
        _refuse_alive(namespace, holders(connection, namespace_id, expiry_seconds))
        crashed = {"runs": [gone.run_id for gone in found], "error": _EXPIRED, "sources": sources("crashed", HOLDING)}
        connection.execute(_CRASH, crashed)


def patiently(claim: Callable[[], _T], wait: float) -> _T:
    """Call ``claim``, and retry it for up to ``wait`` seconds while another run holds the namespace."""
    deadline = time.monotonic() + wait
    while True:
        try:
            return claim()
        except DreamLockUnavailable:
            left = deadline - time.monotonic()
            if left <= 0:
                raise
            time.sleep(min(_POLL_SECONDS, left))


def _refuse_alive(namespace: str, found: list[Holder]) -> None:
    for one in found:
        if one.alive:
            doing = "is planning" if one.state == "planning" else "is writing to"
            raise DreamLockUnavailable(
                f"Run {one.run_id} {doing} {namespace}{f', in process {one.process}' if one.process else ''} (heartbeat "
                f"{max(0, one.age)} s ago). "
                f"Wait for it, or cancel it: `slowwave runs cancel {one.run_id}`; add --dead if its process is gone."
            )


def _stuck_sentence(namespace: str, gone: Holder) -> str:
    resume = "" if gone.mode in ("undo", "deep") else f"Resume it with `resume_from={gone.run_id!r}`, or "
    age = f"{gone.age} s old" if gone.age >= 0 else f"{-gone.age} s in the future of the database's clock"
    start_anew = f"{resume}mark it as crashed and start a new run with `abandon=True`."
    return (
        f"Run {gone.run_id} ({gone.mode}) holds {namespace}, and its heartbeat is {age}: its process has ended. "
        f"Changes that it committed are kept. {start_anew[0].upper()}{start_anew[1:]}"
    )


# The row of a run that writes: its claim on the namespace, the checks before every batch, its progress and its end.
#
# A partial unique index allows one run in state ``applying`` per namespace. Every claim has a unique token, which is stored in the row's
# progress. So a process whose heartbeat had expired, and whose run another process has resumed, can detect that it no longer owns the run.

_RESUME: Final = """
UPDATE night.runs SET state = 'applying', trigger = 'resume', process = %(process)s, heartbeat_at = clock_timestamp(), finished_at = NULL,
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
    """The claim of a run on its namespace."""

    run_id: str
    namespace: str
    namespace_id: str
    token: str
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class ControlRequests:
    """The requests of users to a run under way."""

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
    """Open a run that writes to the namespace: the unfinished one of the same approval, under its id, or a new one.

    Call it in the transaction of ``claims.make_room``. Raises ``psycopg.errors.UniqueViolation`` if another run writes to the namespace
    nevertheless.
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
    """Return the requests of users to a run.

    Raises ``DreamLockUnavailable`` if the claim is no longer valid.
    """
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
    """Record the progress of a run: items done, items in all, and why it waits, if it does; this refreshes its heartbeat.

    Return False, and change nothing, if the run no longer belongs to this claim.
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
    """End the run in a state, with its counts; return False, and change nothing, if it no longer belongs to this claim."""
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
        "process": this_process(),
        "sources": sources("applying"),
        "progress": Jsonb({"claim": token}),
    }
    row = connection.execute(_RESUME, asked).fetchone()
    return str(row[0]) if row else None


# Requests of a person to a run, from any process: cancel, pause, resume. The run checks for them between its batches or steps.

PAUSE_POLL_SECONDS: Final = 0.25
"""Interval in seconds at which a paused run checks whether it may resume."""

_UNFINISHED: Final[tuple[State, ...]] = ("crashed", "paused", "refused")
"""States of an apply run that the next attempt for its approval resumes automatically."""

_ASK_TO_CANCEL: Final = "UPDATE night.runs SET cancel_requested_at = now() WHERE id = %(run)s AND state = %(state)s"
_CANCEL: Final = """
UPDATE night.runs SET state = 'cancelled', cancel_requested_at = now(), finished_at = clock_timestamp()
WHERE id = %(run)s AND state = ANY(%(sources)s)
"""
_CANCEL_REST: Final = """
UPDATE night.runs SET state = 'cancelled', cancel_requested_at = now()
WHERE id = %(run)s AND mode = 'apply' AND state = ANY(%(sources)s)
"""
_HOLDING: Final = """
SELECT r.id::text FROM night.runs r JOIN memory.namespaces n ON n.id = r.namespace_id
WHERE n.slug = %(namespace)s AND r.state = ANY(%(holding)s) ORDER BY r.heartbeat_at LIMIT 1
"""
_PAUSE: Final = """
UPDATE night.runs SET pause_requested_at = CASE WHEN %(pause)s THEN coalesce(pause_requested_at, now()) END
WHERE id = %(run)s AND state = ANY(%(holding)s)
"""


def request_cancel(store: Store, name: str | None, namespace: str | None = None, *, dead: bool = False) -> Run:
    """Cancel a run, given by its id, its first characters or ``last`` (see ``runs.last_run``); return its new state.

    Without a name it is the run that holds ``namespace``. ``dead`` states that its process is gone, so that its namespace is free at
    once. If the process is alive after all, it ends its batch first and then finds that it was cancelled, so nothing is written twice.

    A run that writes stops after its batch: what it committed stays. A run that plans has written nothing and is cancelled at once, as is
    a run whose process is gone. A run that crashed or was stopped by the kill switch is no longer started automatically. A cancelled run
    can be resumed. Raises ``Refused`` if there is nothing to cancel.
    """
    with store.connect("approver") as connection:
        run_id = _holding(connection, namespace) if name is None else _named(connection, name, namespace).run_id
        with connection.transaction():
            run = _locked(connection, run_id)
            if run.stuck or (dead and run.holding):
                lock_batches(connection, run.namespace_id)  # a process that still writes ends its batch first
                run = find_run(connection, run_id)
            if not _cancel(connection, run, dead=dead):
                ended = find_run(connection, run_id)  # it may have ended at this moment
                raise Refused(f"Run {run_id} is {ended.state}, so there is nothing to cancel.")
        return find_run(connection, run_id)


def cancel_rest(connection: Connection, run_id: str) -> bool:
    """Cancel an unfinished apply run, so that its rest is not applied automatically; a user may still resume it.

    Return False for a run that ended, is under way, or applies nothing.
    """
    asked = {"run": run_id, "sources": sources("cancelled", _UNFINISHED)}
    return connection.execute(_CANCEL_REST, asked).rowcount == 1


def request_pause(store: Store, name: str, namespace: str | None = None) -> Run:
    """Pause a run after its batch or step; it keeps its namespace and its heartbeat until it is resumed or cancelled."""
    return _set_pause(store, name, namespace, pause=True)


def request_resume(store: Store, name: str, namespace: str | None = None) -> Run:
    """Resume a paused run."""
    return _set_pause(store, name, namespace, pause=False)


def _cancel(connection: Connection, run: Run, *, dead: bool) -> bool:
    """Cancel a run, or request it; return False if nothing is left to cancel, possibly since a moment ago."""
    if run.state == "applying" and run.alive and not dead:
        return connection.execute(_ASK_TO_CANCEL, {"run": run.run_id, "state": run.state}).rowcount == 1
    if run.holding or (run.mode == "apply" and run.state in _UNFINISHED):
        asked = {"run": run.run_id, "sources": sources("cancelled", (run.state,))}
        return connection.execute(_CANCEL, asked).rowcount == 1
    return False


def _set_pause(store: Store, name: str, namespace: str | None, *, pause: bool) -> Run:
    with store.connect("approver") as connection:
        run_id = _named(connection, name, namespace).run_id
        with connection.transaction():
            run = _locked(connection, run_id)
            asked = {"run": run_id, "pause": pause, "holding": list(HOLDING)}
            if not run.alive or connection.execute(_PAUSE, asked).rowcount != 1:
                raise Refused(_nothing_under_way(find_run(connection, run_id), pause=pause))
        return find_run(connection, run_id)


def _nothing_under_way(run: Run, *, pause: bool) -> str:
    state = f"{run.state}, and its process has ended" if run.stuck else run.state
    unfinished = run.stuck or run.state in ("crashed", "cancelled", "paused", "refused")
    rest = f" To do the rest: `{resume_command(run.mode, run.namespace, run.undo_of)}`." if unfinished else ""
    return f"Run {run.run_id} is {state}: there is nothing under way to {'pause' if pause else 'resume'}.{rest}"


def _holding(connection: Connection, namespace: str | None) -> str:
    """Return the run that holds a namespace, and refuse a namespace that no run holds."""
    row = connection.execute(_HOLDING, {"namespace": namespace, "holding": list(HOLDING)}).fetchone()
    if row is None:
        raise Refused(
            f"No run holds {namespace}, so there is nothing to cancel. `slowwave namespace list` lists the namespaces."
        )
    return str(row[0])


def _named(connection: Connection, name: str, namespace: str | None) -> Run:
    return last_run(connection, namespace) if name == "last" else find_run(connection, name, namespace=namespace)


def _locked(connection: Connection, run_id: str) -> Run:
    """Return the current row of a run, and keep others from claiming its namespace."""
    lock_claims(connection, find_run(connection, run_id).namespace_id)
    return find_run(connection, run_id)


# The row of a run that plans: inserted, reopened, held from step to step, and linked to the plan that it wrote.
#
# A plan run writes no memory, so any process may mark it as crashed if its process has ended, and it may plan again under the same id.

_REOPEN: Final = """
UPDATE night.runs SET state = 'planning', trigger = 'resume', process = %(process)s, heartbeat_at = clock_timestamp(), finished_at = NULL,
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
WHERE r.dagster_run_id = %s AND r.mode = 'plan' AND r.state = 'planning' ORDER BY r.started_at DESC
"""
_CLAIMS_OF: Final = """
SELECT r.dagster_run_id, n.slug AS namespace, r.state, n.settings AS overlay,
  trunc(extract(epoch FROM clock_timestamp() - r.heartbeat_at))::bigint AS age
FROM night.runs r JOIN memory.namespaces n ON n.id = r.namespace_id
WHERE r.dagster_run_id = ANY(%(dagster_runs)s)
  AND (r.state = ANY(%(holding)s) OR (r.state = 'crashed' AND r.error = %(expired)s))
ORDER BY r.heartbeat_at
"""
_FORGET_TURNS: Final = """
UPDATE night.runs SET progress = progress - 'turns' WHERE namespace_id = %(namespace)s AND mode = 'deep' AND state <> 'planning'
  AND jsonb_exists(progress, 'turns') AND coalesce(finished_at, heartbeat_at) < %(before)s
"""


@dataclass(frozen=True, slots=True)
class ActivePlanRun:
    """A plan run in state ``planning``, and its namespace."""

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
    """Open a run in state ``planning``, which holds the namespace, and return its id; see ``make_room``.

    A ``deep`` run is never reopened, so its id is the fencing token of its worker: once it no longer holds the namespace, neither its
    progress nor its plan is written.
    """
    with connection.transaction():
        scope = namespace_id(connection, namespace)
        make_room(connection, namespace, scope, heartbeat_expiry(connection, namespace), stuck=stuck)
        return insert_run(
            connection, scope, mode, trigger=trigger, dagster_run_id=dagster_run_id, parameters=parameters
        )


def reopen_plan_run(connection: Connection, run: Run, *, stuck: Stuck = "take over") -> None:
    """Reopen a plan run that crashed, was cancelled or has an expired heartbeat, to plan again under its id.

    Raises ``Refused`` if it was continued elsewhere in the meantime, and as ``make_room``.
    """
    with connection.transaction():
        make_room(
            connection, run.namespace, run.namespace_id, run.heartbeat_expiry_seconds, stuck=stuck, own=run.run_id
        )
        asked = {"run": run.run_id, "process": this_process(), "sources": sources("planning")}
        changed = connection.execute(_REOPEN, asked)
        if changed.rowcount != 1:
            raise Refused(f"Run {run.run_id} went on elsewhere at this moment. `slowwave runs show {run.run_id}`")


def check_cancelled(store: Store, run_id: str, progress: Mapping[str, object] | None = None) -> None:
    """Record the progress of a plan run between its steps, refresh its heartbeat, and wait while a user paused it.

    Raises ``DreamCancelled`` if a user cancelled it, ``DreamLockUnavailable`` if it lost its namespace to another run.
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
    """Attach the plan that a run wrote to it, in the same transaction, and end its work in state ``to``.

    Raises as ``check_cancelled`` if the run is no longer planning; the plan must not be written then either.
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
    """Record why a plan run ended without a plan; return False, and change nothing, if it was no longer planning."""
    return move_run(connection, run_id, "cancelled" if cancelled else "crashed", ("planning",), error=error)


def under_way(connection: Connection, dagster_run_id: str) -> Sequence[ActivePlanRun]:
    """Return the plan runs of a Dagster run that are planning, the newest first."""
    with connection.cursor(row_factory=class_row(ActivePlanRun)) as cursor:
        return cursor.execute(_UNDER_WAY, (dagster_run_id,)).fetchall()


@dataclass(frozen=True, slots=True)
class DagsterClaim:
    """The claim of a Dagster run on a namespace, alive or expired, and the age of its heartbeat in seconds."""

    dagster_run_id: str
    namespace: str
    state: State
    overlay: object
    age: int

    @property
    def lost(self) -> bool:
        """Return whether the heartbeat has expired, noticed or not."""
        return self.state not in HOLDING or has_expired(self.age, expiry_of(self.overlay))


def dagster_claims(connection: Connection, dagster_run_ids: Sequence[str]) -> dict[str, DagsterClaim]:
    """Return a claim of each given Dagster run: one that is alive, or else its newest one, which has expired.

    A run without a claim, such as one between two namespaces, is left out.
    """
    asked = {"dagster_runs": list(dagster_run_ids), "holding": list(HOLDING), "expired": _EXPIRED}
    with connection.cursor(row_factory=class_row(DagsterClaim)) as cursor:
        claims = cursor.execute(_CLAIMS_OF, asked).fetchall()
    return {claim.dagster_run_id: claim for claim in sorted(claims, key=lambda claim: not claim.lost)}


def forget_turns(connection: Connection, namespace_id: str, before: datetime) -> int:
    """Delete the messages of models in deep runs that ended before an instant; return the number of runs."""
    return connection.execute(_FORGET_TURNS, {"namespace": namespace_id, "before": before}).rowcount


def _ended(connection: Connection, run_id: str) -> DreamCancelled | DreamLockUnavailable:
    state = state_of(connection, run_id)
    if state == "cancelled":
        return DreamCancelled(f"Run {run_id} was cancelled, and nothing was planned.")
    return DreamLockUnavailable(
        f"Run {run_id} holds its namespace no longer (it is {state or 'gone'}): its heartbeat had expired, and another "
        "run may plan now. Nothing was planned by this one."
    )
