"""What a person asks of a run from any process: stop, wait, go on. The run itself looks at it between its batches or steps."""

from __future__ import annotations

import shlex
from typing import Final

from slowwave.errors import Refused
from slowwave.runs.locks import lock_batches, lock_claims
from slowwave.runs.run import Run, find_run, last_run
from slowwave.runs.states import HOLDING, State, sources
from slowwave.store.connect import Connection, Store

PAUSE_POLL_SECONDS: Final = 0.25
"""How often a run that a person paused looks whether it may go on."""

_UNFINISHED: Final[tuple[State, ...]] = ("crashed", "paused", "refused")
"""States of an apply run that the next attempt at its approval goes on with by itself."""

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
    """Cancel a run, named by its id, its first characters or ``last`` of a namespace (see ``run.last_run``); returns it as it is then.

    ``dead`` says that its process is gone, so that its namespace is free at once. Without a name it is the run that holds ``namespace``.
    If the process is alive after all, it ends its batch first and then finds itself cancelled, so nothing is written twice.

    A run that writes stops after its batch: what it committed stands. One that plans has written nothing and is cancelled at once, and
    so is one whose process is gone. A run that crashed or was stopped by the kill switch is started no more by itself. Whatever
    is cancelled can be gone on with.
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
    """Cancel an apply run that did not end: the rest of it is not to follow by itself. A person may still go on with it.

    False for a run that ended, is under way, or applies nothing.
    """
    asked = {"run": run_id, "sources": sources("cancelled", _UNFINISHED)}
    return connection.execute(_CANCEL_REST, asked).rowcount == 1


def request_pause(store: Store, name: str, namespace: str | None = None) -> Run:
    """Let a run wait after its batch or step. It keeps its namespace and its heartbeat until it is resumed or cancelled."""
    return _set_pause(store, name, namespace, pause=True)


def request_resume(store: Store, name: str, namespace: str | None = None) -> Run:
    """Let a paused run go on."""
    return _set_pause(store, name, namespace, pause=False)


def _cancel(connection: Connection, run: Run, *, dead: bool) -> bool:
    """False when the run is, or has come meanwhile, where nothing is left to cancel."""
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
    state = f"{run.state}, and its process is gone" if run.stuck else run.state
    return (
        f"Run {run.run_id} is {state}: there is nothing under way to {'pause' if pause else 'resume'}. "
        f"What was not finished goes on with `slowwave dream {shlex.quote(run.namespace)} --resume-from {run.run_id}`."
    )


def _holding(connection: Connection, namespace: str | None) -> str:
    """Return the run that holds a namespace, and refuse a namespace that no run holds."""
    row = connection.execute(_HOLDING, {"namespace": namespace, "holding": list(HOLDING)}).fetchone()
    if row is None:
        raise Refused(
            f"No run holds {namespace}, so there is nothing to cancel. `slowwave namespaces` lists the namespaces."
        )
    return str(row[0])


def _named(connection: Connection, name: str, namespace: str | None) -> Run:
    return last_run(connection, namespace) if name == "last" else find_run(connection, name, namespace=namespace)


def _locked(connection: Connection, run_id: str) -> Run:
    """The run as it stands, while nobody else claims its namespace."""
    lock_claims(connection, find_run(connection, run_id).namespace_id)
    return find_run(connection, run_id)
