"""``dream_now``: a dream that runs immediately, with one type for its outcome."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from threading import TIMEOUT_MAX
from typing import Final, Literal

import psycopg

from slowwave.errors import (
    DeepPassEscaped,
    DeepPassUnfinished,
    DreamApplyDisabled,
    DreamCancelled,
    DreamDisabledError,
    DreamLockUnavailable,
    Refused,
    SlowwaveError,
)
from slowwave.night.night import OPERATIONS
from slowwave.night.run_events import in_words, level_of_run
from slowwave.night.runs import Night
from slowwave.night.sinks import Callback
from slowwave.night.status import gate
from slowwave.operations import named
from slowwave.plans.commands import Undecided, argument, undecided
from slowwave.store.connect import Store
from slowwave.store.migrate import open_store
from slowwave.store.namespaces import namespace_settings
from slowwave.store.runs import find_run, resume_command
from slowwave.surfaces.api.dreams import (
    DreamProgress,
    DreamResult,
    Mode,
    TimeLimit,
    check_approver,
    dream,
    mode_of,
    slug_of,
)
from slowwave.text.quotation import plain_reason
from slowwave.text.tokens import counted
from slowwave.wiki.deep.loop import OPERATION, Talks
from slowwave.wiki.deep.run import DeepPass, run_deep

# ``dream_now``: a dream that an agent or a person requests now, with one type for all outcomes.
#
# The outcomes are those of nexo's tool (nexo 3.4, 3.5). In addition, the outcome names the gate, the run is in the ledger, and the reason
# is stored with it. ``slowwave.surfaces.api.dreams`` plans and applies; the code below only reports the outcome.

Outcome = Literal[
    "completed", "skipped", "locked", "awaiting_approval", "errored", "timed_out", "check_failed", "escape_audit"
]
"""The outcome of a call; each call has exactly one."""

NO_REASON: Final = "no reason given"


@dataclass(frozen=True, slots=True)
class DreamOutcome:
    """The outcome of a dream.

    ``message`` is a sentence. ``gate`` is the gate that was closed if the outcome is ``skipped``. ``duration_ms`` is the time of the
    whole call. ``counts`` are those of the plan and of what was applied. Outcomes:

    - ``completed``: there is nothing to decide, or everything that a policy or the approver approved is applied.
    - ``awaiting_approval``: a plan is pending.
    - ``check_failed``: a plan is pending, and its probes refuse an approval without force.
    - ``timed_out``: the run was cancelled; what it had applied stays applied, and the run can be resumed.
    """

    outcome: Outcome
    namespace: str
    reason: str
    message: str
    gate: str = ""
    run_id: str = ""
    plan_hash: str = ""
    apply_runs: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    duration_ms: float = 0.0

    def to_json(self) -> dict[str, object]:
        """Return the outcome as the JSON values that the command line prints."""
        return asdict(self)


def dream_now(
    namespace: str,
    reason: str = "",
    mode: Mode = "dry-run",
    ops: str | Collection[str] | None = None,
    approver: str | None = None,
    wait: float = 0.0,
    timeout: float | None = None,
    store: Store | None = None,
    callbacks: Sequence[Callback] = (),
) -> DreamOutcome:
    """Plan a night now and return its outcome; with ``mode="apply"`` apply what a policy or ``approver`` approves.

    ``reason`` is stored with the run, in one line of at most 500 characters, without its secrets. The gates ``disabled`` and
    ``read_only`` apply, and ``unchanged`` if neither ``ops`` nor ``approver`` is given. The gates of cadence do not apply, because the
    dream was requested. ``wait`` is the number of seconds to wait for a namespace that another run holds; a run whose process is gone is
    abandoned. After ``timeout`` seconds the run is cancelled, which takes effect before its next step or batch.

    Only an invalid request raises: ``Refused`` for an unknown namespace, operation, mode or approver, and for an invalid time.
    """
    began, store = time.monotonic(), store or open_store()
    why = plain_reason(reason) or NO_REASON
    _refuse_nonsense(mode, ops, approver, wait, timeout)
    with store.connect("reader") as connection:
        slug = slug_of(connection, namespace)
    watch = _Watch(store, timeout)
    try:
        envelope = _dream(store, slug, why, mode, ops, approver, wait, callbacks, watch)
    finally:
        watch.stop()
    return replace(envelope, duration_ms=(time.monotonic() - began) * 1000)


def _dream(
    store: Store,
    slug: str,
    why: str,
    mode: Mode,
    ops: str | Collection[str] | None,
    approver: str | None,
    wait: float,
    callbacks: Sequence[Callback],
    watch: _Watch,
) -> DreamOutcome:
    try:
        with store.connect("reader") as connection:
            settings = namespace_settings(connection, slug)
        closed = gate(store, slug, settings, force=True)
        if closed and closed.gate != "locked" and not (closed.gate == "unchanged" and (ops or approver)):
            return DreamOutcome("skipped", slug, why, closed.sentence, gate=closed.gate)
        result = dream(
            slug,
            mode,
            ops=ops,
            approver=approver,
            store=store,
            wait=wait if watch.seconds is None else min(wait, watch.seconds),
            abandon=True,
            on_progress=watch.see,
            callbacks=callbacks,
            reason=why,
        )
    except DreamLockUnavailable as problem:
        if watch.run_id:  # this run held the lock and lost it
            return DreamOutcome("errored", slug, why, str(problem), run_id=watch.run_id)
        return DreamOutcome("locked", slug, why, str(problem))
    except (DreamDisabledError, DreamApplyDisabled) as problem:
        return DreamOutcome("skipped", slug, why, str(problem), gate="disabled", run_id=watch.run_id)
    except Exception as problem:  # noqa: BLE001 - whatever went wrong is an outcome
        return _failed(store, slug, why, problem, watch)
    with store.connect("reader") as connection:
        left = undecided(connection, result.plan_hash)
    return _outcome(result, why, watch, left)


def _outcome(result: DreamResult, why: str, watch: _Watch, left: Undecided | None) -> DreamOutcome:
    """Build the outcome of a finished dream."""
    outcome, message = _verdict(result, watch, left)
    counts = {**_planned(result), **(result.run.counts if result.apply_runs else {})}
    return DreamOutcome(
        outcome,
        result.run.namespace,
        why,
        message,
        run_id=result.plan_run_id,
        plan_hash=result.plan_hash,
        apply_runs=result.apply_runs,
        counts={name: n for name, n in counts.items() if n},
    )


def _verdict(result: DreamResult, watch: _Watch, left: Undecided | None) -> tuple[Outcome, str]:
    waiting = sum(op.pending for op in result.ops)
    if result.state == "cancelled":
        kept = (
            "Changes that it applied are kept. To do the rest: "
            f"`{resume_command(result.run.mode, result.run.namespace)}`."
        )
        if watch.fired:
            return "timed_out", f"The run was cancelled after {watch.seconds:g} s. {kept}"
        return "errored", f"A person cancelled the run. {kept}"
    if result.apply_runs:
        more = f" {counted(waiting, 'item waits', 'items wait')} for a person." if waiting else ""
        return "completed", f"{_applied(result)}{more}"
    if not result.plan_hash or result.state == "completed":
        return "completed", "There is nothing new to decide."
    show = f"slowwave plans show {argument(result.run.namespace)}"
    failed = _list(result.metadata.get("needs_force"))
    if failed:
        return "check_failed", (
            f"Plan {result.plan_hash[:12]} did not pass its probes: {' '.join(failed)} If it is right all the same: "
            f"`{left.approve() if left else show}`."
        )
    if result.state == "approved":
        return (
            "completed",
            f"A policy approved plan {result.plan_hash[:12]}: `slowwave apply {argument(result.run.namespace)}`.",
        )
    return "awaiting_approval", f"{counted(waiting, 'item waits', 'items wait')}: `{left.approve() if left else show}`."


def _applied(result: DreamResult) -> str:
    """Describe the result of applying the approved items, including those that were stale or failed."""
    stale, failed = sum(op.skipped_stale for op in result.ops), sum(op.failed for op in result.ops)
    if not stale and not failed:
        return "What was approved is applied."
    applied = sum(op.applied for op in result.ops)
    causes = [f"{stale:,} stale, as their rows had changed"] if stale else []
    causes += [f"{failed:,} failed"] if failed else []
    return f"Items that were applied: {applied:,}; not applied: {' and '.join(causes)}. The next night looks at those again."


def _planned(result: DreamResult) -> dict[str, int]:
    return {
        "planned": sum(op.planned for op in result.ops),
        "deferred": sum(op.deferred for op in result.ops),
    }


def _failed(store: Store, slug: str, why: str, problem: Exception, watch: _Watch) -> DreamOutcome:
    """Build the outcome of a failed dream, with the error text that the namespace's redaction allows.

    A refused approval becomes the outcome ``check_failed``.
    """
    message = str(problem) if isinstance(problem, SlowwaveError) else type(problem).__name__
    try:
        with store.connect("reader") as connection:
            if isinstance(problem, Refused) and watch.plan_run_id:
                run = find_run(connection, watch.plan_run_id)
                return DreamOutcome(
                    "check_failed",
                    *(slug, why, message),
                    run_id=run.run_id,
                    plan_hash=run.plan_hash,
                    counts=run.counts,
                )
            message = in_words(problem, level_of_run(connection, watch.run_id)) if watch.run_id else message
    except (SlowwaveError, psycopg.Error):  # the database itself failed
        message = message if isinstance(problem, SlowwaveError) else type(problem).__name__
    return DreamOutcome("errored", slug, why, message, run_id=watch.plan_run_id)


class _Watch(TimeLimit):
    """The time limit of a dream; it follows the runs of the dream step by step and keeps the id of the plan run."""

    plan_run_id = ""

    def see(self, progress: DreamProgress) -> None:
        """Record a step of the dream and apply the time limit to its run."""
        if progress.phase == "plan":
            self.plan_run_id = progress.run_id
        self.applies_to(progress.run_id)


def _refuse_nonsense(
    mode: str, ops: str | Collection[str] | None, approver: str | None, wait: float, timeout: float | None
) -> None:
    """Raise ``Refused`` for arguments that are always invalid."""
    mode_of(mode)
    named(ops, OPERATIONS)
    check_approver(approver)
    if math.isnan(wait) or wait < 0:
        raise Refused("The time to wait is a number of seconds, 0 or more. Nothing was done.")
    if timeout is not None and not 0 < timeout <= TIMEOUT_MAX:
        raise Refused("A timeout is a number of seconds above 0. Nothing was done.")


def _list(value: object) -> list[str]:
    return [str(part) for part in value] if isinstance(value, list) else []


# ``dream_now`` with a deep pass that is requested now. The type of the outcome is the same (nexo 3.4, 3.5).

_REASONS: Final = 3  # refusal reasons that an outcome includes
_AGAIN: Final = "Begin another one when that is mended."


def deep_now(
    namespace: str,
    reason: str = "",
    wait: float = 0.0,
    timeout: float | None = None,
    store: Store | None = None,
    callbacks: Sequence[Callback] = (),
    *,
    force: bool = True,
    trigger: str = "manual",
    dagster_run_id: str = "",
    model: Talks | None = None,
) -> DreamOutcome:
    """Run a deep pass now, regardless of the schedule.

    ``force=False`` checks all gates, as the schedule does. The run takes the lock in any case and never breaks the lock of another run.
    ``timeout`` is in seconds and cancels the run as a user would. ``model`` replaces the configured model. Outcomes:

    - ``escape_audit``: the audit rejected the returned scratch copy, and it did not become a plan.
    - ``timed_out``: the time, the turns or the tokens were used up, and the work did not become a plan.
    - ``awaiting_approval``: a plan is pending.

    Raises ``Refused`` for an unknown namespace and for an invalid time.
    """
    if not wait >= 0 or (timeout is not None and not 0 < timeout <= TIMEOUT_MAX):
        raise Refused("Times are numbers of seconds: to wait 0 or more, a timeout above 0. Nothing was done.")
    clock, store = time.monotonic(), store or open_store()
    why = plain_reason(reason) or NO_REASON
    with store.connect("reader") as connection:
        slug = slug_of(connection, namespace)
    limit = TimeLimit(store, timeout)
    try:
        done = run_deep(
            *(store, slug),
            force=force,
            trigger=trigger,
            reason=why,
            wait=wait if timeout is None else min(wait, timeout),
            dagster_run_id=dagster_run_id,
            model=model,
            callbacks=callbacks,
            began=limit.applies_to,
        )
        found = _deep_pass_outcome(store, slug, why, done)
    except Exception as problem:  # noqa: BLE001 - whatever went wrong is an outcome
        found = _failed_deep_pass(store, slug, why, problem, limit.run_id, timed_out=limit.fired)
    finally:
        limit.stop()
    return replace(found, duration_ms=(time.monotonic() - clock) * 1000)


def _deep_pass_outcome(store: Store, slug: str, why: str, done: DeepPass) -> DreamOutcome:
    if done.closed:
        outcome: Outcome = "locked" if done.closed.gate == "locked" else "skipped"
        return DreamOutcome(outcome, slug, why, done.closed.sentence, gate=done.closed.gate)
    night = done.night
    plan_hash = night.plan.plan_hash if night and night.plan and night.new_items else ""
    refused, why_refused = _refused(night)
    counts = {
        **{"planned": night.new_items if night else 0, "refused": refused},
        **{"files": len(done.files), "turns": done.turns},
    }
    counts = {name: n for name, n in counts.items() if n}
    nothing = f"There is nothing new to decide.{why_refused}"
    made = DreamOutcome("completed", slug, why, nothing, run_id=done.run_id, counts=counts)
    if not plan_hash or night is None:
        return made
    with store.connect("reader") as connection:
        left = undecided(connection, plan_hash)
    show = f"slowwave plans show {argument(slug)}"
    failed = " ".join(night.probes.needs_force) if night.probes else ""
    if failed:
        message = (
            f"Plan {plan_hash[:12]} did not pass its probes: {failed} If it is right all the same: "
            f"`{left.approve() if left else show}`.{why_refused}"
        )
        return replace(made, outcome="check_failed", message=message, plan_hash=plan_hash)
    wait = "1 item waits" if night.new_items == 1 else f"{night.new_items:,} items wait"
    message = f"{wait}: `{left.approve() if left else show}`.{why_refused}"
    return replace(made, outcome="awaiting_approval", message=message, plan_hash=plan_hash)


def _refused(night: Night | None) -> tuple[int, str]:
    """Return how many changes of the model are in no plan, and the reasons as text that follows a sentence."""
    report = night.proposals.get(OPERATION) if night else None
    count = int(report.numbers.get("refused", 0)) if report else 0
    if report is None or not count:
        return 0, ""
    why = list(dict.fromkeys(finding.message for finding in report.findings[:count]))
    more = f" And {len(why) - _REASONS:,} more." if len(why) > _REASONS else ""
    changes = "1 change" if count == 1 else f"{count:,} changes"
    return (
        count,
        f" {changes} of the model's {'is' if count == 1 else 'are'} in no plan. {' '.join(why[:_REASONS])}{more}",
    )


def _failed_deep_pass(
    store: Store, slug: str, why: str, problem: Exception, run_id: str, *, timed_out: bool
) -> DreamOutcome:
    match problem:
        case DreamLockUnavailable() if not run_id:
            return DreamOutcome("locked", slug, why, str(problem))
        case DreamDisabledError():
            return DreamOutcome("skipped", slug, why, str(problem), gate="disabled", run_id=run_id)
        case DeepPassEscaped():
            return DreamOutcome(
                "escape_audit", slug, why, str(problem), run_id=run_id, counts={"escapes": len(problem.escapes)}
            )
        case DeepPassUnfinished():
            return DreamOutcome("timed_out", slug, why, f"{problem} {_AGAIN}", run_id=run_id)
        case DreamCancelled() if timed_out:
            return DreamOutcome("timed_out", slug, why, f"The time was up. {problem}", run_id=run_id)
        case _:
            pass
    message = str(problem)
    if run_id:
        with store.connect("reader") as connection:
            message = in_words(problem, level_of_run(connection, run_id))
    return DreamOutcome("errored", slug, why, message, run_id=run_id)
