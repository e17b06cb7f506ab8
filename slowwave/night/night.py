"""A night: snapshot, SQL models, audits, planners, probes, sealed plan. Everything but approval and apply.

Each step is a function that the Dagster assets call one by one; ``run_night`` is the same sequence in one process, for the
command line, the demo and the Python API. A step reads the snapshot's files and the ledger, never the live memory tables.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from slowwave.bindings.changes import note_change
from slowwave.night.filtered import filtered, plan_summary
from slowwave.night.followers import followers
from slowwave.night.inputs import read_inputs
from slowwave.night.outcome import Night
from slowwave.night.proof import prove
from slowwave.night.runs import begin, ending, expiry, parameters, unchanged
from slowwave.night.snapshot import snapshot_of_night
from slowwave.night.stream import completed, open_stream, report_done
from slowwave.operations import AUDITS, PLANNERS, Inputs, Proposal, named, run_audit, run_planner
from slowwave.operations.setting_names import check_setting_names
from slowwave.plans.conflicts import conflicts_in, write_conflicts
from slowwave.plans.gate import approve_by_policy
from slowwave.plans.ledger import (
    pending_review,
    unless_decided,
    write_findings,
    write_plan,
)
from slowwave.plans.policies import Decisions, decide_by_policies, decide_carried
from slowwave.plans.scope import DreamScope
from slowwave.plans.seal import AS_OF, Header
from slowwave.reports.model import Report
from slowwave.reports.sinks import Callback
from slowwave.runs.heartbeat import beating, expiry_of
from slowwave.runs.planning import check_cancelled
from slowwave.snapshots.memory_release import release, tight_memory
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.collector import few_collections
from slowwave.store.connect import Connection, Store
from slowwave.texts.screened import each_text_once

Progress = Callable[[str], None]
"""Called with the name of the step that begins."""

OPERATIONS: Final = (*AUDITS, *PLANNERS)
"""Every audit and planner by name."""

Finished = Callable[[Night, Inputs, Mapping[str, Proposal]], None]
"""Called with a night that is done, what it read, and what its planners proposed. It raises nothing: the night stands."""

_IS_DRY_RUN: Final = "SELECT parameters ? 'dry_run' FROM night.runs WHERE id = %s"


@dataclass(frozen=True, slots=True)
class ReadTogether:
    """What was looked at for the nights of several namespaces at once.

    ``noted`` says that changes of connected stores were noted just now (``slowwave.bindings.changes``), so that nobody looks again.
    ``snapshot`` is the namespace as it was read with others a moment ago: it is small, so the run says seldom where it is; where anything
    happened since, it is read again. ``base`` is where the snapshots of this database lie, for whoever knows it already.
    """

    noted: bool = False
    snapshot: Snapshot | None = None
    base: str = ""


_ALONE: Final = ReadTogether()

STEPS: Final = len(OPERATIONS) + 3
"""How often a night says that a step begins: snapshot, models, each operation, the plan with its probes."""


_SELDOM: Final = 0.5
"""Seconds after which a small namespace's night says again where it is, and asks whether somebody wants it to pause: each time is a commit.
One that is over sooner never does; it writes no plan all the same when it was cancelled."""


@each_text_once()
@few_collections()
@tight_memory()
def run_night(
    store: Store,
    namespace: str,
    *,
    force: bool = False,
    trigger: str = "manual",
    ops: str | Collection[str] | None = None,
    scope: DreamScope | None = None,
    progress: Progress | None = None,
    callbacks: Sequence[Callback] = (),
    run_id: str = "",
    now: datetime | None = None,
    shared: ReadTogether = _ALONE,
    done: Finished | None = None,
) -> Night:
    """One night for one namespace in this process. ``ops`` names the operations (``all`` for every one), else the settings do.

    An unchanged namespace is skipped unless ``force``, or operations, a scope or ``now`` are given; one of a disconnected store is always
    skipped. ``run_id`` is a run that is open
    already. ``now`` plans as if it were that instant: ages, windows and what has ended follow it, and on unchanged data the same instant
    gives the same plan. It is no journey in time: rows are those that the store holds today, and apply stamps the real instant.
    ``shared`` is what was looked at with other namespaces (``slowwave.night.several``).
    ``done`` is called at the end of a night that made a plan, not of one that was skipped.
    Raises ``DreamDisabledError`` when nights are off in the namespace, ``DreamLockUnavailable`` while another run holds it,
    ``DreamCancelled`` when a person cancelled this one.
    """
    check_setting_names({})
    scope = scope or DreamScope()
    names = named(ops if ops is not None else scope.op_kinds, OPERATIONS)
    asked_for_all = names is None and not scope.narrows and now is None
    same = unchanged(store, namespace)
    if not shared.noted and not (same and same.removed):
        for follower in followers():
            follower.before_night(store, namespace)
        note_change(store, namespace)
        same = unchanged(store, namespace)  # it may have noted changes
    if same and (same.removed or (asked_for_all and not force)):
        return Night(namespace, skipped=same.why, removed_store=same.removed)
    run_id = run_id or begin(store, namespace, trigger=trigger, parameters=parameters(names, scope, now=now))
    say = _steps(store, run_id, progress, every=0.0 if shared.snapshot is None else _SELDOM)
    stream, began = open_stream(store, run_id, namespace, callbacks), time.monotonic()
    stream.started("plan", trigger)
    with ending(store, run_id, stream, began):
        with beating(store, "planner", run_id, _expiry(store, namespace, shared.snapshot)):
            say("snapshot")
            with stream.phase("snapshot"):
                snapshot = snapshot_of_night(
                    store, namespace, shared.base, now=now, exported=shared.snapshot, run_id=run_id
                )
            say("models")
            inputs = read_inputs(store, snapshot, run_id=run_id)
            reports: dict[str, Report] = {}
            with stream.phase("audit") as phase:
                for name, audit in AUDITS.items():
                    say(name)
                    reports[name] = run_audit(audit, inputs, names)
                    report_done(stream, "audit", reports[name])
                    phase.operations += 1
            proposals: dict[str, Proposal] = {}
            with stream.phase("plan") as phase:
                for name, planner in PLANNERS.items():
                    say(name)
                    proposals[name] = run_planner(planner, inputs, names)
                    report_done(stream, "plan", proposals[name].report, len(proposals[name].items))
                    phase.operations += 1
            say("plan")
            with stream.phase("probe"):
                night = make_plan(store, run_id, inputs, reports, proposals, scope=scope, ops=names, now=now)
        completed(stream, night, inputs, began)
        if done:
            done(night, inputs, proposals)
        return night


def _expiry(store: Store, namespace: str, exported: Snapshot | None) -> int:
    return expiry(store, namespace) if exported is None else expiry_of(exported.settings)


def _steps(store: Store, run_id: str, tell: Progress | None, *, every: float) -> Progress:
    """What says that a step begins: to the ledger at each, or at the first after so many seconds, where a person may cancel or pause the
    run, and to whoever waits."""
    begun, last = 0, time.monotonic()

    def say(step: str) -> None:
        nonlocal begun, last
        if time.monotonic() - last >= every:
            last = time.monotonic()
            release()
            check_cancelled(store, run_id, {"phase": step, "done": begun, "total": STEPS})
        begun += 1
        if tell:
            tell(step)

    return say


@each_text_once()
@few_collections()
@tight_memory()
def make_plan(
    store: Store,
    run_id: str,
    inputs: Inputs,
    reports: Mapping[str, Report],
    proposals: Mapping[str, Proposal],
    *,
    scope: DreamScope | None = None,
    ops: Collection[str] | None = None,
    now: datetime | None = None,
    by: str = "",
) -> Night:
    """Seal the planners' items, prove the plan, write it, and let the namespace's policy approve what it may.

    A plan as of an instant (``now``) is sealed under that instant instead of its snapshot's id, so that the same is one plan.
    """
    scope = scope or DreamScope()
    snapshot, settings = inputs.snapshot, inputs.settings
    sealed_as = f"{now.astimezone(UTC):%Y%m%dT%H%M%S{AS_OF}%f}" if now else snapshot.snapshot_id
    header = Header(snapshot.namespace_id, snapshot.namespace, sealed_as, settings.fingerprint())
    made_of = filtered(store, snapshot, proposals, scope)
    plan, probes = prove(header, made_of.lowered.items, inputs, proposals, scope=scope, ops=ops)
    if now:
        plan = unless_decided(store, plan, snapshot.snapshot_id)
    carried = pending_review(store, snapshot.namespace_id) & {i.id for i in plan.items}
    state = write_plan(
        store,
        plan,
        run_id=run_id,
        expiry_days=settings.plan_expiry_days,
        probes=probes.results,
        summary=plan_summary(plan, probes, made_of, inputs, reports, proposals, by),
        carried=carried,
        change_counter=snapshot.change_counter,
    )
    plan = replace(plan, written={})
    with store.connect("planner") as connection, connection.transaction():
        warnings = {name: [f for f in report.findings if f.severity != "info"] for name, report in reports.items()}
        write_findings(connection, snapshot.namespace_id, run_id, warnings)
        _write_conflicts(connection, run_id, snapshot, reports, proposals)
    decided, by_setting = Decisions(), None
    if state == "awaiting_approval" and not _only_looks(store, run_id):
        by_setting = approve_by_policy(store, snapshot.namespace, plan.plan_hash, settings)
        decided = decide_by_policies(store, snapshot.namespace, plan.plan_hash)
        if by_setting or decided.approvals:
            done = len(decided.items()) + (len(by_setting.item_ids) if by_setting else 0)
            state = "approved" if done == len(plan.items) else "partly_approved"
    elif state == "empty" and carried and not _only_looks(store, run_id):
        decided = decide_carried(store, snapshot.namespace, carried)
    return Night(
        snapshot.namespace,
        run_id,
        snapshot.snapshot_id,
        reports,
        {name: p.report for name, p in proposals.items()},
        plan,
        state,
        probes,
        len(plan.items) - len(carried),
        len(carried),
        why_nothing=(*made_of.why_nothing(proposals, len(carried)), *probes.waits)
        if len(plan.items) == len(carried)
        else (),
        held_back=made_of.not_planned,
        rejected=len(decided.rejected),
        settled=decided.items().union(by_setting.item_ids if by_setting else ()),
    )


def _only_looks(store: Store, run_id: str) -> bool:
    """Whether the run is a dry-run: what it plans is for people to read, and no policy signs it."""
    with store.connect("reader") as connection:
        row = connection.execute(_IS_DRY_RUN, (run_id,)).fetchone()
    return bool(row and row[0])


def _write_conflicts(
    connection: Connection,
    run_id: str,
    snapshot: Snapshot,
    reports: Mapping[str, Report],
    proposals: Mapping[str, Proposal],
) -> None:
    """What the audit found, and what judges said of it; without the audit only the latter."""
    audit, planner = reports.get("contradictions"), proposals.get("resolve_conflicts")
    report_done = [*([audit] if audit else []), *([planner.report] if planner else [])]
    complete = audit is not None and not audit.skipped
    found = conflicts_in(report_done)
    if found or complete:
        write_conflicts(connection, snapshot.namespace_id, run_id, found, snapshot, complete=complete)
