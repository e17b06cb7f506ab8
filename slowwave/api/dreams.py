"""The Python API: a dream is a night for one namespace, planned and, where somebody approved it, applied.

``slowwave.dream`` and its companions have khora.dream's names and meaning (khora 3); what they return is typed, and true of the ledger:
every number is counted in the plan or in the journal, never kept beside them. Planning belongs to ``slowwave.night.night``, writing to
``slowwave.applying``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from slowwave.api.asked import Mode, check_approver, mode_of, slug_of
from slowwave.api.dream_results import (
    DreamProgress,
    DreamResult,
    DreamRun,
    DreamStatus,
    consolidations_of,
    dream_run,
    result_of,
    status_of,
)
from slowwave.api.json_values import mapping
from slowwave.applying.executor import apply_approval
from slowwave.applying.switches import refuse_unwritable
from slowwave.applying.undo import Undoing, UndoResult, undo_run
from slowwave.errors import DreamCancelled, DreamLockUnavailable, Refused
from slowwave.night.night import OPERATIONS, STEPS, Progress, run_night
from slowwave.night.runs import begin, parameters
from slowwave.operations import khora_kinds, named
from slowwave.plans.commands import argument
from slowwave.plans.gate import approve
from slowwave.plans.latest import find_plan
from slowwave.plans.scope import DreamScope
from slowwave.reports.sinks import Callback
from slowwave.runs.claims import Stuck, patiently
from slowwave.runs.control import request_cancel, request_pause, request_resume
from slowwave.runs.planning import reopen_plan_run
from slowwave.runs.run import Run, find_run, runs_of
from slowwave.runs.writing import NamespaceClaim
from slowwave.store.connect import Connection, Store
from slowwave.store.namespaces import namespace_id, namespace_settings
from slowwave.store.opening import open_store

_LOG: Final = logging.getLogger(__name__)

_PLAN_RUN: Final = "SELECT run_id::text FROM night.plans WHERE plan_hash = %s"
_UNAPPLIED: Final = "SELECT a.id::text FROM night.open_approvals a WHERE a.plan_hash = %s ORDER BY a.recorded_at"
_SIGNABLE: Final = """
SELECT count(*) FROM night.plan_items WHERE plan_hash = %s AND status = 'pending' AND decision <> 'review'
"""


def dream(
    namespace: str,
    mode: Mode | None = None,
    scope: DreamScope | None = None,
    ops: str | Collection[str] | None = None,
    approver: str | None = None,
    resume_from: str | None = None,
    store: Store | None = None,
    wait: float = 0.0,
    abandon: bool = False,
    force: bool = False,
    note: str = "",
    on_progress: Callable[[DreamProgress], None] | None = None,
    callbacks: Sequence[Callback] = (),
    reason: str = "",
    plan_hash: str | None = None,
) -> DreamResult:
    """Plan a night for a namespace (its name or id), and with ``mode="apply"`` apply what is approved.

    - ``mode`` is ``dry-run``, which writes no memory, or ``apply``; by default the namespace's ``default_mode``. Apply writes what a
      policy approves, and what ``approver``, a person's name, signs by this very call: everything but review items. With nothing
      approved the result's state is ``awaiting_approval``. Failed probes are refused, unless ``force`` with a ``note`` that says why.
    - ``plan_hash``, with ``mode="apply"``, names the plan that somebody has seen, by its hash or its first characters: that very plan is
      signed and applied, and nothing is planned. One that may not be approved any more is refused. Without it apply plans anew, and
      ``approver`` signs what nobody has looked at.
    - ``scope`` and ``ops`` narrow what is planned; the scope's ``op_kinds`` win over ``ops``. khora's kinds are understood. The plan of a
      dry-run, or of a part, stands beside a night's plan that waits or is approved, and never takes its place.
    - ``resume_from`` names a run that did not end (``last`` is the namespace's newest): an apply run goes on with what is left of its
      sealed plan, a plan run plans again, both under their own ids. One that is completed gives its result.
    - ``wait``: seconds to wait while another run holds the namespace. ``abandon`` marks a run whose process is gone as crashed.
    - ``reason`` is why it was asked for; it is kept with the run, in one line of at most 500 characters.
    - ``on_progress`` gets a ``DreamProgress``, ``callbacks`` every event of the runs; what they raise is logged, and the run goes on.

    Without ``store`` it is the one that the environment names. Raises ``DreamDisabledError`` (nights are off), ``DreamApplyDisabled``
    (the kill switch is set or the namespace is read-only, looked at before anything is planned), ``DreamLockUnavailable`` (another
    run holds the namespace), ``DreamRunStuckError`` (one does whose heartbeat has expired), ``DreamForbiddenOpError``, and
    ``Refused`` for what is unknown or may not be.
    """
    mode = mode_of(mode)
    check_approver(approver)
    if force and not note.strip():
        raise Refused("Forcing a plan whose probes failed needs a reason: give a note. Nothing was planned.")
    store = store or open_store()
    with store.connect("reader") as connection:
        slug = slug_of(connection, namespace)
        chosen: Mode = mode or namespace_settings(connection, slug).default_mode
        if chosen == "apply":
            refuse_unwritable(connection, slug)
    asked = _Asked(
        *(store, slug, chosen, approver, wait, "take over" if abandon else "raise", force, note),
        *(on_progress, callbacks, reason),
    )
    if plan_hash is not None:
        if chosen != "apply" or scope is not None or ops is not None or resume_from is not None:
            raise Refused(
                "A plan that is named by its hash is applied as it is: give mode apply and neither scope, operations nor a run to resume. "
                "Nothing was done."
            )
        return _apply_plan(asked, plan_hash)
    if resume_from is not None:
        return _resume(asked, resume_from, _given_scope(scope, ops))
    return _plan_and_apply(asked, _given_scope(scope, ops))


def dream_status(run_id: str, *, namespace: str | None = None, store: Store | None = None) -> DreamStatus:
    """A run as it stands, by its id, its first characters, or ``last`` (of ``namespace``, else of all).

    An unknown one is refused (khora gives an empty dict), and so is one of another namespace than the one named.
    """
    with (store or open_store()).connect("reader") as connection:
        return status_of(connection, find_run(connection, run_id, namespace=namespace))


def dream_history(namespace: str, limit: int = 20, *, store: Store | None = None) -> tuple[DreamRun, ...]:
    """The newest runs of a namespace, newest first, with their own times."""
    with (store or open_store()).connect("reader") as connection:
        scope = namespace_id(connection, slug_of(connection, namespace))
        runs = runs_of(connection, scope, limit)
        consolidated = consolidations_of(connection, runs)
        return tuple(dream_run(run, consolidated.get(run.run_id)) for run in runs)


def dream_cancel(run_id: str, *, namespace: str | None = None, store: Store | None = None) -> DreamStatus:
    """Cancel a run, whatever process it is in (see ``slowwave.runs.control``); refused when it is over (khora gives False).

    ``last`` is the newest run of ``namespace``, which a store with several must be given; so it is with pausing and resuming.
    """
    store = store or open_store()
    return dream_status(request_cancel(store, run_id, namespace).run_id, store=store)


def dream_pause(run_id: str, *, namespace: str | None = None, store: Store | None = None) -> DreamStatus:
    """Let a run wait after its batch or step; it keeps its namespace until it is resumed or cancelled."""
    store = store or open_store()
    return dream_status(request_pause(store, run_id, namespace).run_id, store=store)


def dream_resume(run_id: str, *, namespace: str | None = None, store: Store | None = None) -> DreamStatus:
    """Let a paused run go on. One whose process has ended is gone on with by ``dream(…, resume_from=…)``."""
    store = store or open_store()
    return dream_status(request_resume(store, run_id, namespace).run_id, store=store)


def dream_undo(
    target: str,
    items: Sequence[str] | None = None,
    operation: str | None = None,
    *,
    namespace: str | None = None,
    leave_changed: bool = False,
    announce: Callable[[Undoing], None] | None = None,
    store: Store | None = None,
    wait: float = 0.0,
    callbacks: Sequence[Callback] = (),
) -> UndoResult:
    """Take an apply run back exactly, or a part of it.

    ``target`` is a run's id or its first characters, an item's id, or ``last``: the newest apply run of ``namespace`` that changed
    something or is not finished, and a store with several namespaces must be given one. ``items`` and ``operation`` name a part of a run.
    ``leave_changed`` leaves items on which later changes stand and takes the others back. ``announce`` is called with the run and its items
    by operation before anything is undone.

    What is undone is not proposed again until its rows change. A second undo changes nothing, and its ``items`` are empty (khora: True).
    An unknown target is refused (khora: False). Raises ``JournalDamaged`` naming the entries that are not what was written when they
    were applied, ``UndoBlocked`` naming the rows on which later changes stand.
    """
    name = None if operation is None else khora_kinds().get(operation, operation)
    return undo_run(
        store or open_store(),
        target,
        items=items,
        operation=name,
        namespace=namespace,
        leave_changed=leave_changed,
        announce=announce,
        wait=wait,
        callbacks=callbacks,
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    """What one call asks for."""

    store: Store
    namespace: str
    mode: Mode
    approver: str | None
    wait: float
    stuck: Stuck
    force: bool
    note: str
    on_progress: Callable[[DreamProgress], None] | None
    callbacks: Sequence[Callback]
    reason: str = ""

    def report(self, progress: DreamProgress) -> None:
        """Tell whoever waits; what they raise is theirs."""
        if self.on_progress:
            try:
                self.on_progress(progress)
            except Exception as problem:  # noqa: BLE001 - who watches does not end the run
                _LOG.warning("on_progress raised %s; the run goes on.", type(problem).__name__)


def _given_scope(scope: DreamScope | None, ops: str | Collection[str] | None) -> DreamScope:
    """One scope of what the call gives, its operations by our names."""
    scope = scope or DreamScope()
    kinds = named(scope.op_kinds if scope.op_kinds is not None else ops, OPERATIONS)
    return DreamScope(kinds, scope.since, scope.until, scope.entity_ids, scope.document_ids)


def _plan_and_apply(asked: _Asked, scope: DreamScope) -> DreamResult:
    run_id = begin(
        asked.store,
        asked.namespace,
        parameters=parameters(scope.op_kinds, scope, reason=asked.reason, dry_run=asked.mode == "dry-run"),
        stuck=asked.stuck,
        wait=asked.wait,
    )
    return _plan(asked, run_id, scope, "manual")


def _plan(asked: _Asked, run_id: str, scope: DreamScope, trigger: str, now: datetime | None = None) -> DreamResult:
    try:
        night = run_night(
            asked.store,
            asked.namespace,
            force=True,
            trigger=trigger,
            scope=scope,
            progress=_steps(asked, run_id),
            callbacks=asked.callbacks,
            run_id=run_id,
            now=now,
        )
    except DreamCancelled:
        return result_of(asked.store, run_id, ())
    if asked.mode == "dry-run" or night.plan is None or night.state == "empty":
        return result_of(asked.store, run_id, ())
    return _sign_and_apply(asked, run_id, night.plan.plan_hash)


def _steps(asked: _Asked, run_id: str) -> Progress:
    begun = 0

    def step(name: str) -> None:
        nonlocal begun
        asked.report(DreamProgress(run_id, "plan", begun, STEPS, name))
        begun += 1

    return step


def _apply_plan(asked: _Asked, prefix: str) -> DreamResult:
    """Sign and apply a plan of the ledger; one of which nothing is left to sign or to apply is refused in the gate's words."""
    with asked.store.connect("reader") as connection:
        plan_hash = find_plan(connection, asked.namespace, prefix.strip())
        row = connection.execute(_PLAN_RUN, (plan_hash,)).fetchone()
        waiting = _unapplied(connection, plan_hash)
    if row is None or (not asked.approver and not waiting):
        raise Refused(
            f"Nothing of plan {plan_hash[:12]} is approved and unapplied, and the call names nobody who signs it: give an approver."
        )
    return _sign_and_apply(asked, str(row[0]), plan_hash, must_sign=not waiting)


def _unapplied(connection: Connection, plan_hash: str) -> list[str]:
    """Approvals of a plan that hold and are not applied yet, the oldest first."""
    rows = connection.execute(_UNAPPLIED, (plan_hash,))
    return [str(id_) for (id_,) in rows]


def _sign_and_apply(asked: _Asked, plan_run: str, plan_hash: str, *, must_sign: bool = False) -> DreamResult:
    """Sign what the call's approver may sign, and apply every approval of the plan that is not applied yet."""
    store = asked.store
    with store.connect("reader") as connection:
        row = connection.execute(_SIGNABLE, (plan_hash,)).fetchone()
    if asked.approver and (must_sign or (row and row[0])):
        approve(
            store,
            asked.namespace,
            plan_hash,
            approver=asked.approver,
            channel="dream",
            force=asked.force,
            note=asked.note,
        )
    with store.connect("reader") as connection:
        approvals = _unapplied(connection, plan_hash)
    applied: list[str] = []
    for approval in approvals:
        run_id, state = _apply(asked, approval)
        applied.append(run_id)
        if state != "completed":
            break
    return result_of(store, plan_run, tuple(applied))


def _apply(asked: _Asked, approval_id: str, own: str = "") -> tuple[str, str]:
    """Apply one approval; gives the run and the state it ended in."""
    claims: list[NamespaceClaim] = []

    def progress(done: int, total: int) -> None:
        run_id = claims[0].run_id if claims else own
        asked.report(DreamProgress(run_id, "apply", done, total, f"{done:,} of {total:,} items"))

    result = apply_approval(
        asked.store,
        approval_id,
        progress=progress,
        callbacks=asked.callbacks,
        claimed=claims.append,
        stuck=asked.stuck,
        own=own,
        wait=asked.wait,
    )
    return result.run_id, result.state


def _resume(asked: _Asked, name: str, scope: DreamScope) -> DreamResult:
    """Go on with a run that did not end, or give the result of one that did."""
    store = asked.store

    def not_alive() -> Run:
        with store.connect("reader") as connection:
            run = find_run(connection, name, namespace=asked.namespace)
        if run.alive:
            raise DreamLockUnavailable(
                f"Run {run.run_id} is alive (heartbeat {max(0, run.heartbeat_age_seconds)} s ago): there is nothing to resume. "
                f"Watch it with `slowwave runs status {run.run_id}`, or cancel it first."
            )
        return run

    run = patiently(not_alive, asked.wait)
    if run.mode == "undo":
        raise Refused(
            f"Run {run.run_id} is an undo, which is done whole or not at all: undo again instead of resuming."
        )
    if run.mode == "deep" and not run.plan_hash:
        raise Refused(
            f"Run {run.run_id} is a deep pass, whose scratch copy is gone: begin another one with "
            f"`slowwave dream-now {argument(run.namespace)} --deep --reason again` instead of resuming."
        )
    if run.mode == "apply":
        if run.state != "completed":
            with store.connect("reader") as connection:
                refuse_unwritable(connection, run.namespace)
            _apply(asked, run.approval_id, own=run.run_id)
        return result_of(store, _plan_run(store, run.plan_hash), (run.run_id,))
    if run.stuck or run.state in ("crashed", "cancelled"):
        stored = DreamScope.from_json({"op_kinds": run.parameters.get("ops"), **mapping(run.parameters.get("scope"))})
        with store.connect("planner") as connection:
            patiently(lambda: reopen_plan_run(connection, run, stuck=asked.stuck), asked.wait)
        now = datetime.fromisoformat(str(run.parameters["now"])) if run.parameters.get("now") else None
        return _plan(asked, run.run_id, scope if scope != DreamScope() else stored, "resume", now)
    if asked.mode == "apply" and run.state in ("awaiting_approval", "approved"):
        return _sign_and_apply(asked, run.run_id, run.plan_hash)
    return result_of(store, run.run_id, ())


def _plan_run(store: Store, plan_hash: str) -> str:
    with store.connect("reader") as connection:
        row = connection.execute(_PLAN_RUN, (plan_hash,)).fetchone()
    return str(row[0]) if row else ""
