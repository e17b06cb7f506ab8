"""A night: snapshot, SQL models, audits, planners, probes and the sealed plan, without approval and apply."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.bindings.connect import note_change
from slowwave.bindings.stores import why_not_writable
from slowwave.matching.tiles import Run, in_threads
from slowwave.models.cross_encoder import NliModel
from slowwave.night.followers import followers
from slowwave.night.proof import not_rejected, prove
from slowwave.night.runs import (
    Night,
    Probes,
    begin,
    completed,
    ending,
    expiry,
    night_since,
    open_requests,
    open_stream,
    parameters,
    per_operation,
    report_done,
    take_request,
    unchanged,
)
from slowwave.night.sinks import Callback
from slowwave.night.snapshot import listed_snapshot, snapshot_of_night
from slowwave.night.tiles import refuse_too_large, save_searches, searched_in_processes
from slowwave.operations import (
    AUDITS,
    BUDGET_SPENT,
    PLANNERS,
    WEEKLY,
    Inputs,
    Proposal,
    named,
    permits,
    run_audit,
    run_planner,
    weekly,
)
from slowwave.operations.options import CommunitySummariesOptions
from slowwave.operations.planners.redact_or_quarantine import OPERATION as SCREENING
from slowwave.operations.rejections import MERGING, REJECTED, rejected_merges
from slowwave.operations.setting_names import Config, check_settings, with_config
from slowwave.plans.conflicts import conflicts_in, write_conflicts
from slowwave.plans.items import Item
from slowwave.plans.ledger import open_budget, pending_items, unless_decided, write_findings, write_plan
from slowwave.plans.lowering import LoweredItems, lower_items
from slowwave.plans.policies import Decisions, decide_by_policies, decide_carried
from slowwave.plans.report import Report, why_nothing
from slowwave.plans.seal import AS_OF, DreamScope, Header, Plan, within
from slowwave.snapshots.export import release, tight_memory
from slowwave.snapshots.files import database_base, folder_of
from slowwave.snapshots.memories import active_memories
from slowwave.snapshots.models import ModelDatabase, load_models, run_models
from slowwave.snapshots.snapshot import Snapshot
from slowwave.snapshots.tiles import Tile, found_in, remove_tiles
from slowwave.store.claims import check_cancelled
from slowwave.store.configured_models import consolidator_for, embedder_for, judges_for, writer_for
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.runs import beating, expiry_of
from slowwave.store.tables import few_collections
from slowwave.text.findings import KNOWN
from slowwave.text.screened import each_text_once
from slowwave.text.tokens import counted

# The input of a night's operations: the snapshot, its models, settings, language models, and the figures of the previous night.

_BASELINES: Final = """
SELECT p.summary -> 'baselines' FROM night.plans p JOIN memory.namespaces n ON n.id = p.namespace_id WHERE n.slug = %s
  ORDER BY p.recorded_at DESC LIMIT 1
"""


def read_inputs(
    store: Store,
    snapshot: Snapshot,
    models: Mapping[str, pa.Table] | None = None,
    *,
    run_id: str = "",
    kept: list[ModelDatabase] | None = None,
) -> Inputs:
    """Build the input of audits and planners: the snapshot, its models, the namespace's settings and the last night's figures.

    Without ``run_id``, tokens are booked on the namespace's run that is planning. ``kept`` is that of ``run_models``.
    """
    settings = check_settings(snapshot.settings)
    embedder = embedder_for(settings)
    if models is None:
        models = run_models(load_models(), snapshot, settings, kept=kept)
    usable = snapshot.vectors["entity_vectors"].model in ("", embedder.model)
    return Inputs(
        snapshot,
        models,
        settings,
        baselines(store, snapshot.namespace),
        embedder.embed if usable else None,
        judges_for(settings),
        budget=open_budget(store, snapshot.namespace_id, settings, run_id),
        writer=writer_for(settings, settings.options("community_summaries", CommunitySummariesOptions).model),
        consolidator=consolidator_for(settings),
        nli=NliModel(settings.nli_model) if settings.nli_model else None,
    )


def baselines(store: Store, namespace: str) -> Mapping[str, Mapping[str, object]]:
    """Return the ``details`` of the reports of the last planned night."""
    with store.connect("reader") as connection:
        row = connection.execute(
            _BASELINES,
            (namespace,),
        ).fetchone()
    found: Any = row[0] if row else None
    return found if isinstance(found, dict) else {}


# The planners' proposals, which of them may enter a plan, and the summary of the night that the plan carries.


@dataclass(frozen=True, slots=True)
class FilteredProposals:
    """Hold the ``proposed`` items, and those that may enter the plan as the store holds their cells.

    ``rejected_by`` is the number of items of each operation that were rejected or undone before, ``out_of_scope`` the number outside the
    scope. ``held_back`` says why the store may not be written; then no item may enter the plan. ``unreadable`` items touch rows that the
    night leaves out.
    """

    proposed: Sequence[Item]
    rejected_by: Mapping[str, int]
    out_of_scope: int
    held_back: str
    lowered: LoweredItems
    unreadable: int = 0

    @property
    def rejected(self) -> int:
        """Return how many items were rejected or undone before."""
        return sum(self.rejected_by.values())

    @property
    def not_planned(self) -> tuple[int, str]:
        """Return how many proposals cannot enter a plan here, and why; 0 and an empty string if the store may be written."""
        return len(self.proposed) if self.held_back else 0, self.held_back

    def reports(self, proposals: Mapping[str, Proposal]) -> dict[str, Report]:
        """Return the planners' reports by operation; those with items that were rejected before state how many."""
        return {name: _with_rejected(p.report, self.rejected_by.get(name, 0)) for name, p in proposals.items()}

    def why_nothing(self, proposals: Mapping[str, Proposal], carried: int) -> tuple[str, ...]:
        """Return the reasons why the plan has nothing new, one sentence each; ``carried`` items are pending in the previous plan."""
        sentences = why_nothing(
            [p.report for p in proposals.values()],
            rejected=self.rejected,
            held_back=self.not_planned,
            out_of_scope=self.out_of_scope,
            carried=carried,
        )
        if self.unreadable:
            sentences = (
                *sentences,
                f"{counted(self.unreadable, 'proposal')} left out: rows that they touch hold values which no night can read. The census "
                "names the rows.",
            )
        return (*sentences, *self.lowered.sentences())


def filtered(
    store: Store, snapshot: Snapshot, proposals: Mapping[str, Proposal], scope: DreamScope, context: NightContext
) -> FilteredProposals:
    """Leave out items that were rejected for the same rows or are out of scope, and all items if the store is read-only."""
    proposed = [i for p in proposals.values() for i in p.items]
    with store.connect("reader") as connection:
        held_back = why_not_writable(connection, snapshot.namespace_id, context.unfit)
    considered = [] if held_back else proposed
    readable = _readable(snapshot, considered)
    items = not_rejected(snapshot, readable)
    rejected = Counter(i.operation for i in readable) - Counter(i.operation for i in items)
    subjects = {(i.operation, i.subject()) for i in readable if i.operation in MERGING}
    for operation in MERGING.keys() & proposals.keys():
        merges = rejected_merges(snapshot, operation, MERGING[operation])
        rejected[operation] += sum((operation, subject) not in subjects for subject in merges)
    items = without_secrets(snapshot, items)
    inside = within(scope, snapshot, items)
    lowered = lower_items(store, snapshot.namespace_id, inside, context.not_reworded)
    return FilteredProposals(
        proposed,
        rejected,
        len(items) - len(inside),
        held_back,
        lowered,
        unreadable=len(considered) - len(readable),
    )


def _with_rejected(report: Report, rejected: int) -> Report:
    """Add items of the planner that the night left out to those that the planner left out itself before a limit or a model."""
    if not rejected:
        return report
    sentence = (
        f"{counted(rejected, 'proposal was', 'proposals were')} rejected or undone before and left out of the plan."
    )
    numbers = {**report.numbers, REJECTED: report.numbers.get(REJECTED, 0) + rejected}
    return replace(report, headline=f"{report.headline} {sentence}", numbers=numbers)


def _readable(snapshot: Snapshot, items: Sequence[Item]) -> list[Item]:
    """Leave out items that touch or quote a row which no night can read, or the memory of such a version."""
    odd = {row.row_id for row in snapshot.left_out}
    if not odd:
        return list(items)
    versions = snapshot.table("memory_versions").select(["id", "memory_id"]).to_pylist()
    odd |= {str(version["memory_id"]) for version in versions if version["id"] in odd}
    return [i for i in items if odd.isdisjoint({*(row for _, row in i.rows()), *i.sources})]


def without_secrets(snapshot: Snapshot, items: Sequence[Item]) -> list[Item]:
    """Leave out items that would write or name a secret for which the plan has an item; remove it from the evidence of the others.

    Screening of a single text does not find a secret that only another text shows to be one. Time: linear in the items if there is one.
    """
    known = _known_secrets(snapshot, items)
    repeating = {i.mutation.rows[0].id for i in items if i.operation == SCREENING and "redacted" in i.evidence}
    if not known and not repeating:
        return list(items)
    from slowwave.text.screening import known_pattern  # its rules take a while to load

    secret = known_pattern(known)

    def cleaned(value: object) -> object:
        if isinstance(value, str):
            return secret.sub(f"[redacted: {KNOWN}]", value)
        if isinstance(value, Mapping):
            return {key: cleaned(part) for key, part in value.items()}
        return [cleaned(part) for part in value] if isinstance(value, (list, tuple)) else value

    kept: list[Item] = []
    for item in items:
        if item.operation != SCREENING:
            if not repeating.isdisjoint(row for _, row in item.rows()) or secret.search(item.mutation.canonical()):
                continue
            if (evidence := {key: cleaned(value) for key, value in item.evidence.items()}) != item.evidence:
                item = replace(item, evidence=evidence)
        kept.append(item)
    return kept


def _known_secrets(snapshot: Snapshot, items: Iterable[Item]) -> set[str]:
    """Return the secrets in memories for which items of ``redact_or_quarantine`` exist, without those that may occur by accident."""
    screened = {
        i.mutation.rows[0].id: i.evidence for i in items if i.operation == SCREENING and i.mutation.table == "memories"
    }
    if not screened:
        return set()
    from slowwave.text.screening import is_distinctive

    memories = active_memories(snapshot).select(["id", "text"])
    memories = memories.filter(pc.is_in(memories["id"], value_set=pa.array(sorted(screened), pa.string())))
    return {
        secret
        for id_, text in zip(*(memories[c].to_pylist() for c in ("id", "text")), strict=True)
        for start, end, rule, _ in screened[id_]["found"]  # type: ignore[union-attr]  # see ``_evidence`` of the planner
        if f"secret ({rule})" in screened[id_]["rules"] and is_distinctive(secret := text[start:end])  # type: ignore[operator]
    }


def plan_summary(
    plan: Plan,
    probes: Probes,
    made_of: FilteredProposals,
    inputs: Inputs,
    reports: Mapping[str, Report],
    planners: Mapping[str, Report],
    by: str = "",
) -> dict[str, object]:
    """Build the summary that the ledger stores with the plan, for pages, digests and the next night.

    The plan's hash does not cover it.
    """
    held_back, lowered = made_of.held_back, made_of.lowered
    every = {**reports, **planners}
    return {
        "items": per_operation(plan.items),
        "deferred": len(plan.deferred),
        "rejected_before": made_of.rejected,
        **({"held_back": per_operation(made_of.proposed), "why_held_back": held_back} if held_back else {}),
        "out_of_scope": made_of.out_of_scope,
        "budget_spent": sum(int(report.numbers.get(BUDGET_SPENT, 0)) for report in planners.values()),
        "skipped": {name: report.skipped for name, report in every.items() if report.skipped},
        "audits": {name: _report_json(report) for name, report in reports.items()},
        "planners": {name: _report_json(report) for name, report in planners.items()},
        "sentences": [*probes.sentences, *lowered.sentences()],
        **({"left_out": dict(lowered.off)} if lowered.off else {}),
        "needs_force": list(probes.needs_force),
        "snapshot_id": inputs.snapshot.snapshot_id,
        **({"proposed_by": [by]} if by else {}),
        "baselines": {**inputs.baselines, **{name: dict(r.details) for name, r in reports.items() if r.details}},
    }


def _report_json(report: Report) -> dict[str, object]:
    return {"headline": report.headline, "numbers": dict(report.numbers)}


# A night: snapshot, SQL models, audits, planners, probes, sealed plan. Approval and apply are not part of it.
#
# The command line, the demo, the Python API and Dagster all call ``run_night``, for several namespaces through ``slowwave.night.several``.
# A step reads the snapshot's files and the ledger, never the live memory tables.

Progress = Callable[[str], None]
"""Called with the name of the step that begins."""

OPERATIONS: Final = (*AUDITS, *PLANNERS)
"""Every audit and planner by name."""

Finished = Callable[[Night, Inputs, Mapping[str, Proposal]], None]
"""Called with a finished night, its input, and the proposals of its planners. It must not raise, because the night is already stored."""

_IS_FOR_PEOPLE: Final = "SELECT parameters ?| ARRAY['dry_run', 'config'] FROM night.runs WHERE id = %s"


@dataclass(frozen=True, slots=True)
class NightContext:
    """State that the nights of several namespaces share, and data that was read in advance for one of them.

    ``unfit`` and ``not_reworded`` map a connected store to the results of ``why_not_writable`` and ``lower_items``, which check it once.
    ``kept`` is the connection of the SQL models (``slowwave.snapshots.models.one_database``).
    ``noted`` says that changes of connected stores were just noted (``slowwave.bindings.connect``), so they are not checked again.
    ``snapshot`` is the namespace as it was read together with others a moment ago. It is small, so the run rarely reports its progress.
    If anything has happened since, the namespace is read again. ``base`` is the location of this database's snapshots, if the caller
    knows it.
    """

    noted: bool = False
    snapshot: Snapshot | None = None
    base: str = ""
    unfit: dict[str, str] = field(default_factory=dict)
    not_reworded: dict[str, str] = field(default_factory=dict)
    kept: list[ModelDatabase] | None = None


@dataclass(frozen=True, slots=True)
class Tiles:
    """The tiles of a night's candidate search, which other processes search, and the snapshot that they read, with its instant."""

    snapshot_id: str
    taken_at: datetime
    tiles: Sequence[Tile]


STEPS: Final = len(OPERATIONS) + 3
"""The number of steps that a night reports: snapshot, models, each operation, the plan with its probes."""


_SELDOM: Final = 0.5
"""Seconds between two reports of a night that is one of many, which also check for a request to pause: each one is a commit.
A shorter night reports nothing; if it was cancelled, it still writes no plan."""


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
    dagster_run_id: str = "",
    now: datetime | None = None,
    wait: float = 0.0,
    reason: str = "",
    context: NightContext | None = None,
    done: Finished | None = None,
    config: Config | None = None,
    since: datetime | None = None,
    jobs: int = 1,
    tiles: Tiles | None = None,
) -> Night:
    """Run one night for one namespace in this process.

    ``ops`` names the operations (``all`` for every one, ``weekly`` for those that the settings switch on and the weekly ones); without it
    the settings do. An unchanged namespace is skipped unless ``force``, operations, a scope or ``now`` are given. A namespace of a
    disconnected store is always skipped. ``run_id`` is a run that is already open, and ``dagster_run_id`` the run of Dagster that asks.
    A new run waits up to ``wait`` seconds while another run holds the namespace, and ``reason`` is stored with it. A new run of the whole
    namespace takes the open request of an agent, whose reason it stores if it has none.

    ``now`` plans as of that instant: ages, windows and ends follow it, and on unchanged data the same instant gives the same plan. The rows
    are still those that the store holds today, and apply records the real instant. ``context`` is shared with the nights of other
    namespaces (``slowwave.night.several``). ``done`` is called at the end of a night that made a plan, not of one that was skipped.
    ``config`` are settings of this plan alone, over those of the namespace (``with_config``). ``since`` is the instant for which a schedule
    asked for the night: a namespace that had such a night since then is skipped, even with the weekly operations.
    The candidate search is divided over ``jobs`` processes; the plan is the same. ``tiles`` were searched before, over a snapshot that the
    night then plans on. A namespace that had its night after that snapshot is skipped, as the night of other tiles may have been faster.

    Raises ``Refused`` if the namespace is too large for ``worker_memory_gib``, ``DreamDisabledError`` if nights are off in it,
    ``DreamLockUnavailable`` while another run holds it, and ``DreamCancelled`` if a person cancelled this run.
    """
    check_settings({})
    scope, context = scope or DreamScope(), context or NightContext()
    with_weekly = ops == WEEKLY
    names = None if with_weekly else named(ops if ops is not None else scope.op_kinds, OPERATIONS)
    whole = names is None and not scope.narrows and now is None and config is None
    same = unchanged(store, namespace)
    if tiles is None and not context.noted and not (same and same.removed):
        for follower in followers():
            follower.before_night(store, namespace)
        note_change(store, namespace)
        same = unchanged(store, namespace)  # it may have noted changes
    request = open_requests(store, namespace).get(namespace) if whole and not run_id else None
    if same and (same.removed or (whole and not with_weekly and not force)):
        if request:
            take_request(store, request, outcome=same.why)
        return Night(namespace, skipped=same.why, removed_store=same.removed)
    if since and whole and (had := night_since(store, namespace, since, weekly=with_weekly)):
        return Night(namespace, skipped=f"it had its night of this schedule at {had:%Y-%m-%d %H:%M} UTC")
    if tiles and whole and (had := night_since(store, namespace, tiles.taken_at, weekly=with_weekly)):
        return Night(
            namespace, skipped=f"it had a night at {had:%Y-%m-%d %H:%M} UTC, after the snapshot of these tiles"
        )
    if context.snapshot is None:
        refuse_too_large(store, namespace)
    if request:
        reason = reason or request.reason_of_run()
    run_id = run_id or begin(
        store,
        namespace,
        trigger=trigger,
        dagster_run_id=dagster_run_id,
        parameters=parameters(names, scope, now=now, reason=reason, with_weekly=with_weekly, config=config),
        wait=wait,
    )
    if request:
        take_request(store, request, run_id=run_id)
    say = _steps(store, run_id, progress, every=_SELDOM if context.noted else 0.0)
    stream = open_stream(store, run_id, namespace, callbacks, dagster_run_id=dagster_run_id)
    began = time.monotonic()
    stream.started("plan", trigger)
    with ending(store, run_id, stream, began):
        with beating(store, "planner", run_id, _expiry(store, namespace, context.snapshot)):
            say("snapshot")
            with stream.phase("snapshot"):
                snapshot = (
                    listed_snapshot(store, namespace, tiles.snapshot_id)
                    if tiles
                    else snapshot_of_night(
                        store, namespace, context.base, now=now, exported=context.snapshot, run_id=run_id
                    )
                )
            if config is not None:
                snapshot = replace(snapshot, settings=with_config(snapshot.settings, config))
            say("models")
            inputs = read_inputs(store, snapshot, run_id=run_id, kept=context.kept)
            if with_weekly:
                names = weekly(inputs.settings)
            reports: dict[str, Report] = {}
            with stream.phase("audit") as phase:
                for name, audit in AUDITS.items():
                    say(name)
                    reports[name] = run_audit(audit, inputs, names)
                    report_done(stream, "audit", reports[name])
                    phase.operations += 1
            proposals: dict[str, Proposal] = {}
            planned: list[Item] = []
            with (
                stream.phase("plan") as phase,
                _searching(store, inputs, names, jobs, tiles) as search,
            ):
                inputs = replace(inputs, search=search)
                for name, planner in PLANNERS.items():
                    say(name)
                    proposals[name] = run_planner(planner, replace(inputs, planned=planned), names)
                    planned += proposals[name].items
                    report_done(stream, "plan", proposals[name].report, len(proposals[name].items))
                    phase.operations += 1
            say("plan")
            inputs = replace(inputs, search=in_threads)
            with stream.phase("probe"):
                night = make_plan(
                    store, run_id, inputs, reports, proposals, scope=scope, ops=names, now=now, context=context
                )
        completed(stream, night, inputs, began)
        if done:
            done(night, inputs, proposals)
        return night


@contextmanager
def _searching(
    store: Store, inputs: Inputs, ops: Collection[str] | None, jobs: int, tiles: Tiles | None
) -> Generator[Run]:
    """Yield how the planners of a night search candidates: by ``tiles``, in several processes (``jobs``), or in this one."""
    if tiles:
        yield found_in(tiles.tiles)
        remove_tiles(_location(store, inputs.snapshot))  # not after a failure, so that the run can be continued from it
    elif jobs > 1:
        location = _location(store, inputs.snapshot)
        with searched_in_processes(location, inputs.snapshot.settings, ops, jobs) as search:
            yield search
    else:
        yield in_threads


def _location(store: Store, snapshot: Snapshot) -> str:
    return f"{folder_of(database_base(store), snapshot.namespace)}/{snapshot.snapshot_id}"


@each_text_once()
@few_collections()
@tight_memory()
def run_some(
    store: Store, namespace: str, operations: Collection[str], *, ops: Collection[str] | None = None
) -> tuple[Night, Inputs, dict[str, Proposal]]:
    """Run some audits and planners of a namespace on a new snapshot, without a run in the ledger and without a plan.

    Of ``operations``, those in ``ops`` run; without it, those that the settings switch on. Return a night with the reports, its input and
    the proposals, as ``Finished`` has them.
    """
    check_settings({})
    for follower in followers():
        follower.before_night(store, namespace)
    note_change(store, namespace)
    snapshot = snapshot_of_night(store, namespace)
    inputs = read_inputs(store, snapshot)
    reports = {name: run_audit(audit, inputs, ops) for name, audit in AUDITS.items() if name in operations}
    proposals = {name: run_planner(planner, inputs, ops) for name, planner in PLANNERS.items() if name in operations}
    night = Night(
        namespace,
        snapshot_id=snapshot.snapshot_id,
        reports=reports,
        proposals={name: proposal.report for name, proposal in proposals.items()},
    )
    return night, inputs, proposals


@each_text_once()
def divide_search(store: Store, namespace: str, count: int, *, ops: str | Collection[str] | None = None) -> Tiles:
    """Take a snapshot, and save its candidate searches in up to ``count`` tiles each, which other processes search before the night.

    ``ops`` are those of the night (``run_night``). Raises ``Refused`` if the namespace is too large for ``worker_memory_gib``.
    """
    check_settings({})
    refuse_too_large(store, namespace)
    for follower in followers():
        follower.before_night(store, namespace)
    note_change(store, namespace)
    snapshot = snapshot_of_night(store, namespace)
    settings = check_settings(snapshot.settings)
    names = weekly(settings) if ops == WEEKLY else named(ops, OPERATIONS)
    found = save_searches(_location(store, snapshot), snapshot.settings, names, count)
    return Tiles(snapshot.snapshot_id, snapshot.taken_at, found)


def _expiry(store: Store, namespace: str, exported: Snapshot | None) -> int:
    return expiry(store, namespace) if exported is None else expiry_of(exported.settings)


def _steps(store: Store, run_id: str, tell: Progress | None, *, every: float) -> Progress:
    """Return a callback that records the start of a step in the ledger, at most once every ``every`` seconds.

    When it does, a person may cancel or pause the run. ``tell`` is called at every step.
    """
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
    context: NightContext | None = None,
) -> Night:
    """Seal the planners' items, prove the plan, write it, and let the namespace's policies decide.

    A plan as of an instant (``now``) is sealed under that instant instead of its snapshot's id, so that equal plans are one plan.
    """
    scope, context = scope or DreamScope(), context or NightContext()
    snapshot, settings = inputs.snapshot, inputs.settings
    sealed_as = f"{now.astimezone(UTC):%Y%m%dT%H%M%S{AS_OF}%f}" if now else snapshot.snapshot_id
    header = Header(snapshot.namespace_id, snapshot.namespace, sealed_as, settings.fingerprint())
    made_of = filtered(store, snapshot, proposals, scope, context)
    planners = made_of.reports(proposals)
    plan, probes = prove(header, made_of.lowered.items, inputs, proposals, scope=scope, ops=ops, kept=context.kept)
    if now:
        plan = unless_decided(store, plan, snapshot.snapshot_id)
    carried, repeated = (ids & {i.id for i in plan.items} for ids in pending_items(store, snapshot.namespace_id))
    recorded = write_plan(
        store,
        plan,
        run_id=run_id,
        expiry_days=settings.plan_expiry_days,
        probes=probes.results,
        summary=plan_summary(plan, probes, made_of, inputs, reports, planners, by),
        carried=carried,
        change_counter=snapshot.change_counter,
    )
    plan, state = replace(plan, written={}), recorded.state
    with store.connect("planner") as connection, connection.transaction():
        warnings = {name: [f for f in report.findings if f.severity != "info"] for name, report in reports.items()}
        write_findings(connection, snapshot.namespace_id, run_id, warnings)
        _write_conflicts(connection, run_id, snapshot, reports, proposals)
    decided = Decisions()
    if state == "awaiting_approval" and not _is_for_people(store, run_id):
        decided = decide_by_policies(store, snapshot.namespace, plan.plan_hash, permits())
        if decided.approvals:
            state = "approved" if len(decided.items()) == len(plan.items) else "partly_approved"
    elif state == "empty" and carried and not _is_for_people(store, run_id):
        decided = decide_carried(store, snapshot.namespace, carried, permits())
    return Night(
        snapshot.namespace,
        run_id,
        snapshot.snapshot_id,
        reports,
        planners,
        plan,
        state,
        probes,
        len(plan.items) - len(carried),
        len(carried),
        why_nothing=(*made_of.why_nothing(proposals, len(carried)), *probes.waits)
        if len(plan.items) == len(carried)
        else (),
        held_back=made_of.not_planned,
        unplanned=tuple(made_of.proposed) if made_of.held_back else (),
        rejected=len(decided.rejected),
        settled=decided.items(),
        lapsed=len(recorded.lapsed - decided.items()),
        repeated=len(repeated),
    )


def _is_for_people(store: Store, run_id: str) -> bool:
    """Return whether only people decide on the run's plan: a dry run, or one with settings of its own, which policies do not know."""
    with store.connect("reader") as connection:
        row = connection.execute(_IS_FOR_PEOPLE, (run_id,)).fetchone()
    return bool(row and row[0])


def _write_conflicts(
    connection: Connection,
    run_id: str,
    snapshot: Snapshot,
    reports: Mapping[str, Report],
    proposals: Mapping[str, Proposal],
) -> None:
    """Store the conflicts that the audit found and the judges' verdicts on them; without the audit, only the latter."""
    audit, planner = reports.get("contradictions"), proposals.get("resolve_conflicts")
    report_done = [*([audit] if audit else []), *([planner.report] if planner else [])]
    complete = audit is not None and not audit.skipped
    found = conflicts_in(report_done)
    if found or complete:
        write_conflicts(connection, snapshot.namespace_id, run_id, found, snapshot, complete=complete)
