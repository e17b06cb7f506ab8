"""What a person asks of a run from any process: stop, wait, go on. The run itself looks at it between its batches or steps."""

from __future__ import annotations

from slowwave.errors import Refused
from slowwave.plans.claims import lock_batches, lock_claims
from slowwave.plans.ledger import namespace_id
from slowwave.plans.runs import Run, find_run, last_run
from slowwave.store.connect import Connection, Store


def request_cancel(store: Store, name: str, namespace: str | None = None) -> Run:
    """Cancel a run, named by its id, its first characters or ``last`` of a namespace (see ``runs.last_run``); returns it as it is then.

    A run that writes stops after its batch: what it committed stands. One that plans has written nothing and is cancelled at once, and
    so is one whose process is gone. A run that crashed or was stopped by the kill switch is started no more by itself. Whatever
    is cancelled can be gone on with.
    """
    with store.connect("approver") as connection:
        run_id = _named(connection, name, namespace).run_id
        with connection.transaction():
            run = _locked(connection, run_id)
            if run.stuck:
                lock_batches(connection, namespace_id(connection, run.namespace))  # whoever still writes ends its batch
                run = find_run(connection, run_id)
            if run.state == "applying" and run.alive:
                connection.execute("UPDATE night.runs SET cancel_requested_at = now() WHERE id = %s", (run_id,))
            elif run.holding or (run.mode == "apply" and run.state in ("crashed", "paused")):
                connection.execute(
                    "UPDATE night.runs SET state = 'cancelled', cancel_requested_at = now(), finished_at = clock_timestamp() "
                    "WHERE id = %s AND state = %s",
                    (run_id, run.state),
                )
            else:
                raise Refused(f"Run {run_id} is {run.state}, so there is nothing to cancel.")
        return find_run(connection, run_id)


def request_pause(store: Store, name: str, namespace: str | None = None) -> Run:
    """Let a run wait after its batch or step. It keeps its namespace, and its heart beats, until it is resumed or cancelled."""
    return _set_pause(store, name, namespace, pause=True)


def request_resume(store: Store, name: str, namespace: str | None = None) -> Run:
    """Let a paused run go on."""
    return _set_pause(store, name, namespace, pause=False)


def _set_pause(store: Store, name: str, namespace: str | None, *, pause: bool) -> Run:
    with store.connect("approver") as connection:
        run_id = _named(connection, name, namespace).run_id
        with connection.transaction():
            run = _locked(connection, run_id)
            if not run.alive:
                told = f"{run.state}, and its process is gone" if run.stuck else run.state
                raise Refused(
                    f"Run {run_id} is {told}: there is nothing under way to {'pause' if pause else 'resume'}. "
                    f"What was not finished goes on with `slowwave dream {run.namespace} --resume-from {run_id}`."
                )
            connection.execute(
                "UPDATE night.runs SET pause_requested_at = CASE WHEN %s THEN coalesce(pause_requested_at, now()) END WHERE id = %s",
                (pause, run_id),
            )
        return find_run(connection, run_id)


def _named(connection: Connection, name: str, namespace: str | None) -> Run:
    return last_run(connection, namespace) if name == "last" else find_run(connection, name, namespace=namespace)


def _locked(connection: Connection, run_id: str) -> Run:
    """The run as it stands, while nobody else claims its namespace."""
    lock_claims(connection, namespace_id(connection, find_run(connection, run_id).namespace))
    return find_run(connection, run_id)
