"""The plan run of a night in the ledger, the result of the night, and its events."""

from __future__ import annotations

import time
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from psycopg.rows import class_row

from slowwave.errors import DreamCancelled, DreamDisabledError, DreamLockUnavailable, SettingsError, SlowwaveError
from slowwave.night.run_events import (
    LlmCalled,
    LlmThrottled,
    OperationEvent,
    Stream,
    in_words,
    item_event,
    level_of_run,
)
from slowwave.night.sinks import Callback, sinks_for
from slowwave.operations import Inputs, khora_kinds
from slowwave.operations.setting_names import Config, with_config
from slowwave.plans.items import Item
from slowwave.plans.report import Numbers, Report
from slowwave.plans.seal import DreamScope, Plan
from slowwave.store.claims import (
    Stuck,
    crash_plan_run,
    open_plan_run,
    patiently,
    under_way,
)
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_settings
from slowwave.store.runs import heartbeat_expiry
from slowwave.store.settings import Settings
from slowwave.text.quotation import plain_reason, quotable
from slowwave.text.tokens import counted

# The result of a night: its reports, its plan and what the plan proved.


@dataclass(frozen=True, slots=True)
class Probes:
    """The results of a plan's probes, computed before anyone sees the plan.

    ``results`` holds JSON by probe and ``sentences`` one sentence for each. ``needs_force`` lists what needs force to approve. ``waits``
    are those of the sentences that state what was left for another night.
    """

    results: Mapping[str, object]
    sentences: tuple[str, ...]
    needs_force: tuple[str, ...]
    waits: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "results", quotable(self.results))  # they name the values that would be lost


@dataclass(frozen=True, slots=True, eq=False)
class Night:
    """The result of a night.

    - ``new_items`` is 0 if there is nothing to decide; ``why_nothing`` then has the sentences that state why.
    - ``repeated`` is the number of new items that an earlier plan has as well, pending: decided items, which each plan has anew.
    - ``skipped`` states why there was no night, and ``removed_store`` names the disconnected store if that is the reason.
    - ``held_back`` is the number of proposals that cannot enter a plan, and the reason; ``unplanned`` are these proposals.
    - ``rejected`` is the number of questions that accepted policies rejected.
    - ``settled`` are the ids of the items that policies approved or rejected.
    - ``lapsed`` is the number of approved items of earlier plans that were not applied before this plan superseded them, without those
      that a policy decided again.
    - ``state`` is the state of the plan, see ``slowwave.plans.items``.
    """

    namespace: str
    run_id: str = ""
    snapshot_id: str = ""
    reports: Mapping[str, Report] = field(default_factory=dict)
    proposals: Mapping[str, Report] = field(default_factory=dict)
    plan: Plan | None = None
    state: str = ""
    probes: Probes | None = None
    new_items: int = 0
    carried_items: int = 0
    repeated: int = field(default=0, kw_only=True)
    skipped: str = ""
    removed_store: str = ""
    why_nothing: tuple[str, ...] = ()
    held_back: tuple[int, str] = (0, "")
    unplanned: Sequence[Item] = ()
    rejected: int = 0
    settled: frozenset[str] = frozenset()
    lapsed: int = 0

    def pending(self, *, questions: bool) -> int:
        """Count the items of the plan that no policy settled: its questions, or the items that planners decided."""
        items = self.plan.items if self.plan else ()
        return sum(i.is_question == questions and i.id not in self.settled for i in items)

    def lapse(self) -> str:
        """Return the sentence about approvals that this night's plan superseded before they were applied, or an empty string."""
        if not self.lapsed:
            return ""
        return (
            f"{counted(self.lapsed, 'item')} of an earlier plan had been approved and not applied. This plan supersedes that approval: "
            "approve them again here, if they are still proposed."
        )

    def to_json(self) -> dict[str, object]:
        """Return the night as the command line's ``--json`` shows it."""
        return {
            "namespace": self.namespace,
            "run_id": self.run_id,
            "snapshot_id": self.snapshot_id,
            "plan_hash": self.plan.plan_hash if self.plan else None,
            "state": self.state,
            "new_items": self.new_items,
            "carried_items": self.carried_items,
            "decided_items": self.pending(questions=False),
            "questions": self.pending(questions=True),
            "rejected_items": self.rejected,
            "lapsed_items": self.lapsed,
            "deferred_items": len(self.plan.deferred) if self.plan else 0,
            "items": per_operation(self.plan.items) if self.plan else {},
            "audits": {name: {"headline": r.headline, "numbers": dict(r.numbers)} for name, r in self.reports.items()},
            "planners": {
                name: {"headline": r.headline, "numbers": dict(r.numbers)} for name, r in self.proposals.items()
            },
            "probes": dict(self.probes.results) if self.probes else {},
            "skipped": self.skipped,
            "why_nothing": list(self.why_nothing),
        }


def per_operation(items: Sequence[Item]) -> dict[str, dict[str, int]]:
    """Return operation → decision → number of items."""
    counts: dict[str, dict[str, int]] = {}
    for item in items:
        decisions = counts.setdefault(item.operation, {})
        decisions[item.decision] = decisions.get(item.decision, 0) + 1
    return counts


# Events of a night for the stream, reported as it runs.


def open_stream(
    store: Store, run_id: str, namespace: str, callbacks: Sequence[Callback] = (), *, dagster_run_id: str = ""
) -> Stream:
    """Open the run's event stream with the sinks that the namespace's settings switch on."""
    with store.connect("reader") as connection:
        try:
            settings = namespace_settings(connection, namespace)
        except SettingsError:  # it ends the run with a message
            return Stream(run_id, namespace)
    sinks = sinks_for(settings, callbacks, store, dagster_run_id=dagster_run_id, kinds=khora_kinds)
    return Stream(run_id, namespace, sinks, settings.redact_text)


def report_done(stream: Stream, phase: str, report: Report, items: int = 0) -> None:
    """Report the result of an audit or a planner to the stream."""
    if not stream.sinks:
        return
    stream.emit(
        OperationEvent(
            run_id=stream.run_id,
            namespace=stream.namespace,
            at=datetime.now(UTC),
            op_id=report.operation,
            phase=phase,
            op_type=report.operation,
            decision=report.skipped or ("planned" if phase == "plan" else "audit_complete"),
            outputs={"headline": report.headline, "numbers": Numbers(report.numbers), "items": items},
            started_at=datetime.fromisoformat(report.started_at) if report.started_at else None,
            duration_ms=report.seconds * 1000,
        )
    )


def completed(stream: Stream, night: Night, inputs: Inputs, began: float) -> None:
    """Report to the stream what the plan holds, what models cost, and that the run is over."""
    if not stream.sinks or night.plan is None:
        return
    run, namespace, now = stream.run_id, stream.namespace, datetime.now(UTC)
    for call in inputs.budget.calls:
        stream.emit(
            LlmCalled(
                run_id=run,
                namespace=namespace,
                at=call.at,
                op_type=call.operation,
                model=call.model,
                input_tokens=call.input,
                output_tokens=call.output,
                duration_ms=call.seconds * 1000,
            )
        )
    if inputs.budget.refused:
        stream.emit(LlmThrottled(run_id=run, namespace=namespace, at=now, calls=inputs.budget.refused))
    stream.emit(
        *(item_event(stream, item, "plan", "pending") for item in night.plan.items),
        *(item_event(stream, item, "plan", "deferred") for item in night.plan.deferred_items),
    )
    counts = {"planned": night.new_items, "carried": night.carried_items, "deferred": len(night.plan.deferred)}
    state = "approved" if night.state == "partly_approved" else night.state  # the run's, as the ledger has it
    stream.ended("plan", state, counts, began, len(night.plan.items))


# The plan run of a night in the ledger: its beginning, its end, and the Dagster run that it belongs to.
#
# Planning itself belongs to ``slowwave.night.night``. The row of the run and the claim on a namespace belong to ``slowwave.store.runs``,
# and whether a night is due to ``slowwave.night.status``.

_LAST_WHOLE: Final = """
SELECT n.settings AS overlay, r.settings_fingerprint, r.started_at,
  (SELECT count(*) FROM memory.changes c WHERE c.namespace_id = n.id) = r.change_counter AS unchanged, removed.store AS removed
FROM memory.namespaces n
LEFT JOIN LATERAL (SELECT s.name AS store FROM night.store_namespaces k JOIN night.stores s ON s.name = k.store
  WHERE k.namespace_id = n.id AND s.disconnected_at IS NOT NULL) removed ON true
LEFT JOIN LATERAL (SELECT * FROM night.runs r
  WHERE r.namespace_id = n.id AND r.mode = 'plan' AND r.change_counter IS NOT NULL
  AND r.parameters - 'reason' - 'weekly' = '{}' ORDER BY r.started_at DESC LIMIT 1) r ON true
WHERE n.slug = %s AND (removed.store IS NOT NULL
  OR (r.state IN ('awaiting_approval', 'approved', 'completed', 'rejected') AND NOT EXISTS (
    SELECT 1 FROM night.conflicts v
    WHERE v.namespace_id = n.id AND v.resolved_at > r.started_at AND position(':' in v.resolved_by) = 0)
  AND NOT EXISTS (SELECT 1 FROM night.withdrawals w WHERE w.namespace_id = n.id AND w.recorded_at > r.started_at)))
"""
_LAST_NIGHTS: Final = """
SELECT r.night, r.weekly, extract(epoch FROM now() - coalesce(r.night, n.recorded_at))::float / 3600 AS hours,
  extract(epoch FROM now() - coalesce(r.weekly, n.recorded_at))::float / 86400 AS weekly_days
FROM memory.namespaces n, LATERAL (
  SELECT max(started_at) AS night, max(started_at) FILTER (WHERE parameters ->> 'weekly' = 'true') AS weekly FROM night.runs
  WHERE namespace_id = n.id AND mode = 'plan' AND state NOT IN ('planning', 'crashed', 'cancelled', 'paused')
  AND started_at <= clock_timestamp() AND parameters - 'reason' - 'weekly' = '{}') r
WHERE n.id = %s
"""


@dataclass(frozen=True, slots=True)
class _LastWhole:
    """The last valid plan run of the whole namespace, the namespace's own settings now, and whether rows changed since.

    ``removed`` names the namespace's store if that is disconnected; there may be no run then.
    """

    overlay: object
    settings_fingerprint: str | None
    started_at: datetime | None
    unchanged: bool | None
    removed: str | None


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The reason why a night would find nothing new: no change ``since`` the last one, or the store was ``removed``."""

    since: datetime | None
    removed: str = ""

    @property
    def why(self) -> str:
        """Return the reason as a phrase that follows a name or a colon."""
        if self.removed:
            return f"its store {self.removed} was removed, so its rows are not read: connect it again (docs/stores.md says how)"
        return f"unchanged since the night of {self.since:%Y-%m-%d %H:%M} UTC"


def unchanged(store: Store, namespace: str) -> Unchanged | None:
    """Return why a night would find nothing new, or None if it may find something.

    There is nothing new if change counter, settings and verdicts are those of the last valid night of the whole namespace, or if the
    namespace belongs to a disconnected store, whose rows are not read.
    """
    with store.connect("reader") as connection, connection.cursor(row_factory=class_row(_LastWhole)) as cursor:
        last = cursor.execute(_LAST_WHOLE, (namespace,)).fetchone()
    if last is not None and last.removed:
        return Unchanged(last.started_at, last.removed)
    if last is None or not last.unchanged:
        return None
    overlay: Mapping[str, object] = last.overlay if isinstance(last.overlay, dict) else {}
    if Settings.for_namespace(overlay).fingerprint() != last.settings_fingerprint:
        return None
    return Unchanged(last.started_at)


@dataclass(frozen=True, slots=True)
class LastNights:
    """The start of a namespace's last night and of the last one with the weekly operations; None if there was none.

    ``hours`` is the age of the former, ``weekly_days`` the age of the latter. If there was none, they are the age of the namespace.
    """

    night: datetime | None
    weekly: datetime | None
    hours: float
    weekly_days: float


def last_nights(connection: Connection, namespace_id: str) -> LastNights:
    """Return the last finished nights of a namespace, requested by any user.

    Dry runs and runs of selected operations or rows, or as of another instant, do not count as nights. Nor does a night that starts later
    than now: the clock was wrong, and it would hold back all nights until that time.
    """
    with connection.cursor(row_factory=class_row(LastNights)) as cursor:
        return cursor.execute(_LAST_NIGHTS, (namespace_id,)).fetchone() or LastNights(None, None, 0.0, 0.0)


_SINCE: Final = """
SELECT max(r.started_at) FROM night.runs r JOIN memory.namespaces n ON n.id = r.namespace_id
WHERE n.slug = %s AND r.mode = 'plan' AND r.started_at >= %s AND r.state NOT IN ('planning', 'crashed', 'cancelled', 'paused')
  AND r.parameters - 'reason' - 'weekly' = '{}' AND (r.parameters ->> 'weekly' = 'true' OR NOT %s)
"""


def night_since(store: Store, namespace: str, since: datetime, *, weekly: bool) -> datetime | None:
    """Return the start of the last finished night since an instant, with ``weekly`` of one with the weekly operations; None without one."""
    with store.connect("reader") as connection:
        row = connection.execute(_SINCE, (namespace, since, weekly)).fetchone()
    return row[0] if row and isinstance(row[0], datetime) else None


# Requests of agents for a night. The next night of the whole namespace takes the open one, whoever starts that night.

_OPEN_REQUESTS: Final = """
SELECT n.slug AS namespace, q.id::text, q.reason, q.agent, coalesce(q.token_id, '') AS token_id
FROM memory.night_requests q JOIN memory.namespaces n ON n.id = q.namespace_id
WHERE q.taken_at IS NULL AND (%(namespace)s::text IS NULL OR n.slug = %(namespace)s) ORDER BY q.recorded_at, q.id
"""
_TAKE_REQUEST: Final = """
UPDATE memory.night_requests SET taken_at = now(), run_id = nullif(%(run)s, '')::uuid, outcome = left(%(outcome)s, 500)
WHERE id = %(id)s AND taken_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class NightRequest:
    """An open request of an agent for a night of a namespace. ``reason`` and ``agent`` are untrusted text."""

    namespace: str
    id: str
    reason: str
    agent: str
    token_id: str

    def reason_of_run(self) -> str:
        """Return the reason of a run that takes the request: who requested it, and why."""
        by = f"token {self.token_id}" if self.token_id else "a program without a token"
        why = f": {self.reason}" if self.reason else ""
        return f"requested by {by}{f' ({self.agent})' if self.agent else ''}{why}"


def open_requests(store: Store, namespace: str | None = None) -> dict[str, NightRequest]:
    """Return the open request of each namespace that has one, or of ``namespace`` alone, the oldest first."""
    with store.connect("reader") as connection, connection.cursor(row_factory=class_row(NightRequest)) as cursor:
        found = cursor.execute(_OPEN_REQUESTS, {"namespace": namespace}).fetchall()
    return {request.namespace: request for request in found}


def take_request(store: Store, request: NightRequest, *, run_id: str = "", outcome: str = "") -> None:
    """Mark a request as taken by a run, or by a night that had no run for the reason in ``outcome``."""
    with store.connect("planner") as connection:
        connection.execute(_TAKE_REQUEST, {"id": request.id, "run": run_id, "outcome": outcome})


def begin(
    store: Store,
    namespace: str,
    *,
    trigger: str = "manual",
    dagster_run_id: str = "",
    parameters: Mapping[str, object] | None = None,
    stuck: Stuck = "take over",
    wait: float = 0.0,
) -> str:
    """Open the plan run, which holds the namespace from now on, and return its id.

    Raises ``DreamDisabledError`` if nights are off in the namespace, and ``DreamLockUnavailable`` while another run holds it, at once or
    after ``wait`` seconds. A run whose heartbeat has expired is marked as crashed, because planning writes no memory; with
    ``stuck="raise"`` it raises ``DreamRunStuckError``.
    """
    with store.connect("planner") as connection:
        if not _enabled(connection, namespace):
            raise DreamDisabledError(
                f"Nights are off in {namespace}: `enabled` is false in its settings or in SLOWWAVE_ENABLED. Nothing was planned."
            )
        return patiently(
            lambda: open_plan_run(
                connection,
                namespace,
                trigger=trigger,
                dagster_run_id=dagster_run_id,
                parameters=parameters,
                stuck=stuck,
            ),
            wait,
        )


def _enabled(connection: Connection, namespace: str) -> bool:
    try:
        return namespace_settings(connection, namespace).enabled
    except SettingsError:  # the run starts, and ends with the message
        return True


def parameters(
    ops: Collection[str] | None,
    scope: DreamScope,
    *,
    now: datetime | None = None,
    with_weekly: bool = False,
    reason: str = "",
    dry_run: bool = False,
    config: Config | None = None,
) -> dict[str, object]:
    """Build the parameters of a run as the ledger stores them.

    ``now`` is the instant as of which the run plans, ``with_weekly`` adds the weekly operations, ``reason`` is why it was requested. A
    ``dry_run`` checks everything as a night does, but its plan replaces no night's plan. ``config`` are settings of this run alone.
    """
    return {
        **({"ops": sorted(ops)} if ops is not None else {}),
        **({"scope": scope.to_json()} if scope.narrows else {}),
        **({"now": now.astimezone(UTC).isoformat()} if now else {}),
        **({"weekly": True} if with_weekly else {}),
        **({"reason": plain_reason(reason)} if reason.strip() else {}),
        **({"dry_run": True} if dry_run else {}),
        **({"config": with_config({}, config)} if config is not None else {}),
    }


def crash(store: Store, run_id: str, problem: BaseException, *, cancelled: bool = False) -> None:
    """Mark a plan run that ended with an error as crashed, or as cancelled if ``cancelled`` or if a person cancelled it.

    A run that lost its namespace is left alone, because it belongs to another process now.
    """
    if isinstance(problem, DreamLockUnavailable):
        return
    with store.connect("planner") as connection:
        error = in_words(problem, level_of_run(connection, run_id))
        crash_plan_run(connection, run_id, error, cancelled=cancelled or isinstance(problem, DreamCancelled))


@contextmanager
def ending(
    store: Store, run_id: str, stream: Stream, began: float, *, cancels: type[SlowwaveError] = DreamCancelled
) -> Generator[None]:
    """End the run and report to its stream whatever the block raises; close the stream in any case.

    An error of the kind ``cancels``, or a cancellation by a person, is no failure.
    """
    try:
        yield
    except (DreamCancelled, cancels) as problem:
        crash(store, run_id, problem, cancelled=True)
        stream.ended("plan", "cancelled", {}, began)
        raise
    except BaseException as problem:
        crash(store, run_id, problem)
        stream.failed("plan", problem, began)
        raise
    finally:
        stream.close()


def crash_dagster_run(store: Store, dagster_run_id: str, reason: str) -> int:
    """Mark the plan runs of a Dagster run that ended without a plan; return how many there were.

    An apply run records itself why it ended, or its heartbeat shows it: it may continue while its Dagster run is given up.
    """
    with store.connect("planner") as connection:
        crashed = [
            run
            for run in under_way(connection, dagster_run_id)
            if crash_plan_run(connection, run.run_id, error=reason[:500])
        ]
    for run in crashed:
        with closing(open_stream(store, run.run_id, run.namespace, dagster_run_id=dagster_run_id)) as stream:
            stream.failed("plan", SlowwaveError(reason), time.monotonic())
    return len(crashed)


def expiry(store: Store, namespace: str) -> int:
    """Return the seconds after which a run's heartbeat expires in the namespace."""
    with store.connect("reader") as connection:
        return heartbeat_expiry(connection, namespace)
