"""``dream_now`` with a deep pass: one that somebody asks for at once, and the same envelope for whatever comes of it (nexo 3.4, 3.5)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from threading import TIMEOUT_MAX
from typing import Final

from slowwave.api.asked import slug_of
from slowwave.api.dream_outcome import NO_REASON, DreamOutcome, Outcome
from slowwave.api.time_limit import TimeLimit
from slowwave.deep.loop import OPERATION, Talks
from slowwave.errors import (
    DeepPassEscaped,
    DeepPassUnfinished,
    DreamCancelled,
    DreamDisabledError,
    DreamLockUnavailable,
    Refused,
)
from slowwave.night.deep_run import DeepPass, run_deep
from slowwave.night.outcome import Night
from slowwave.night.runs import plain_reason
from slowwave.plans.commands import argument, undecided
from slowwave.reports.redaction import in_words, level_of_run
from slowwave.reports.sinks import Callback
from slowwave.store.connect import Store
from slowwave.store.opening import open_store

_REASONS: Final = 3  # why changes were refused, that an outcome tells
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
    """A deep pass now, whatever the schedule says; ``force`` off asks all gates, as the schedule does.

    ``escape_audit``: the scratch copy came back as it must not, and nothing became a plan. ``timed_out``: time, turns or tokens were up,
    and neither did anything. ``awaiting_approval``: a plan waits. The lock is taken whoever asks; another run's is left alone.
    ``timeout`` is in seconds and ends the run as a person would. ``model`` takes the place of the one that is set. Raises ``Refused``
    for an unknown namespace and for a time that is none.
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
        found = _outcome(store, slug, why, done)
    except Exception as problem:  # noqa: BLE001 - whatever went wrong is an outcome
        found = _failed(store, slug, why, problem, limit.run_id, timed_out=limit.fired)
    finally:
        limit.stop()
    return replace(found, duration_ms=(time.monotonic() - clock) * 1000)


def _outcome(store: Store, slug: str, why: str, done: DeepPass) -> DreamOutcome:
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
    """How many changes of the model are in no plan, and why, in words that follow a sentence."""
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


def _failed(store: Store, slug: str, why: str, problem: Exception, run_id: str, *, timed_out: bool) -> DreamOutcome:
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
