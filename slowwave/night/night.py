"""A night: snapshot, SQL models, audits, planners, probes, sealed plan. Everything but approval and apply.

Each step is a function that the Dagster assets call one by one; ``run_night`` is the same sequence in one process, for the
command line, the demo and the Python API. A step reads the snapshot's files and the ledger, never the live memory tables.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa
from psycopg.types.json import Jsonb

from slowwave.config.settings import Settings
from slowwave.errors import DreamCancelled
from slowwave.language.chat import judges_for
from slowwave.language.embedder import embedder_for
from slowwave.language.writer import writer_for
from slowwave.mutations.simulate import simulate
from slowwave.night.convergence import convergence_probe, touched
from slowwave.night.memory_release import few_collections, release
from slowwave.night.runs import begin, crash, expiry, parameters, unchanged
from slowwave.night.stream import completed, open_stream, told
from slowwave.operations import AUDITS, BUDGET_SPENT, PLANNERS, Inputs, Proposal, named, run_audit, run_planner
from slowwave.plans.conflicts import conflicts_in, write_conflicts
from slowwave.plans.gate import approve_by_policy
from slowwave.plans.items import Item
from slowwave.plans.ledger import (
    open_budget,
    pending_review,
    unless_decided,
    write_findings,
    write_plan,
)
from slowwave.plans.questions import questions
from slowwave.plans.scope import DreamScope, within
from slowwave.plans.seal import AS_OF, Arranged, Header, Plan, arrange, sealed
from slowwave.probes.isolation import isolation_probe
from slowwave.probes.specifics import specifics_probe, with_reviews
from slowwave.probes.subset import LIMITS, harm
from slowwave.reports.model import Report, why_nothing
from slowwave.reports.sinks import Callback
from slowwave.runs.heartbeat import beating
from slowwave.runs.planning import check_cancelled
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.files import database_base, load_snapshot, remove_snapshot, save_snapshot
from slowwave.snapshots.models import load_models, run_models
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Connection, Store
from slowwave.texts.quotation import Known, quotable
from slowwave.texts.screened import each_text_once

Progress = Callable[[str], None]
"""Called with the name of the step that begins."""

OPERATIONS: Final = (*AUDITS, *PLANNERS)
"""Every audit and planner by name."""

STEPS: Final = len(OPERATIONS) + 3
"""How often a night says that a step begins: snapshot, models, each operation, the plan with its probes."""


@dataclass(frozen=True, slots=True)
class Probes:
    """What a plan proved before anyone sees it: JSON by probe, a sentence each, and what needs force to approve."""

    results: Mapping[str, object]
    sentences: tuple[str, ...]
    needs_force: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "results", quotable(self.results))  # they name what would be lost


@dataclass(frozen=True, slots=True, eq=False)
class Night:
    """What a night produced. ``new_items`` is 0 when nothing is to be decided, and ``why_nothing`` has the sentences that say why;
    ``skipped`` names the gate that closed, if one did. ``state`` is the plan's, see ``slowwave.plans.states``.
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
    skipped: str = ""
    why_nothing: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """As the command line's ``--json`` shows it."""
        return {
            "namespace": self.namespace,
            "run_id": self.run_id,
            "snapshot_id": self.snapshot_id,
            "plan_hash": self.plan.plan_hash if self.plan else None,
            "state": self.state,
            "new_items": self.new_items,
            "carried_items": self.carried_items,
            "deferred_items": len(self.plan.deferred) if self.plan else 0,
            "items": _per_operation(self.plan.items) if self.plan else {},
            "audits": {name: {"headline": r.headline, "numbers": dict(r.numbers)} for name, r in self.reports.items()},
            "planners": {
                name: {"headline": r.headline, "numbers": dict(r.numbers)} for name, r in self.proposals.items()
            },
            "probes": dict(self.probes.results) if self.probes else {},
            "skipped": self.skipped,
            "why_nothing": list(self.why_nothing),
        }


@each_text_once()
@few_collections()
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
) -> Night:
    """One night for one namespace in this process. ``ops`` names the operations (``all`` for every one), else the settings do.

    An unchanged namespace is skipped unless ``force``, or operations, a scope or ``now`` are given; ``run_id`` is a run that is open
    already. ``now`` plans as if it were that instant: ages, windows and what has ended follow it, and on unchanged data the same instant
    gives the same plan. It is no journey in time: rows are those that the store holds today, and apply stamps the real instant.
    Raises ``DreamDisabledError`` when nights are off in the namespace, ``DreamLockUnavailable`` while another run holds it,
    ``DreamCancelled`` when a person cancelled this one.
    """
    scope = scope or DreamScope()
    names = named(ops if ops is not None else scope.op_kinds, OPERATIONS)
    asked_for_all = names is None and not scope.narrows and now is None
    if not force and asked_for_all and (reason := unchanged(store, namespace)):
        return Night(namespace, skipped=reason)
    run_id = run_id or begin(store, namespace, trigger=trigger, parameters=parameters(names, scope, now=now))
    say = _steps(store, run_id, progress)
    stream, began = open_stream(store, run_id, namespace, callbacks), time.monotonic()
    stream.started("plan", trigger)
    try:
        with beating(store, "planner", run_id, expiry(store, namespace)):
            say("snapshot")
            with stream.phase("snapshot"):
                snapshot = load_snapshot(take_snapshot(store, namespace, now=now))
            say("models")
            inputs = read_inputs(store, snapshot, run_id=run_id)
            reports: dict[str, Report] = {}
            with stream.phase("audit") as phase:
                for name, audit in AUDITS.items():
                    say(name)
                    reports[name] = run_audit(audit, inputs, names)
                    told(stream, "audit", reports[name])
                    phase.operations += 1
            proposals: dict[str, Proposal] = {}
            with stream.phase("plan") as phase:
                for name, planner in PLANNERS.items():
                    say(name)
                    proposals[name] = run_planner(planner, inputs, names)
                    told(stream, "plan", proposals[name].report, len(proposals[name].items))
                    phase.operations += 1
            say("plan")
            with stream.phase("probe"):
                night = make_plan(store, run_id, inputs, reports, proposals, scope=scope, ops=names, now=now)
        completed(stream, night, inputs, began)
        return night
    except DreamCancelled as problem:
        crash(store, run_id, problem)
        stream.ended("plan", "cancelled", {}, began)
        raise
    except BaseException as problem:
        crash(store, run_id, problem)
        stream.failed("plan", problem, began)
        raise
    finally:
        stream.close()


def _steps(store: Store, run_id: str, tell: Progress | None) -> Progress:
    """What says that a step begins: to the ledger, where a person may cancel or pause the run, and to whoever waits."""
    begun = 0

    def say(step: str) -> None:
        nonlocal begun
        release()
        check_cancelled(store, run_id, {"phase": step, "done": begun, "total": STEPS})
        begun += 1
        if tell:
            tell(step)

    return say


def take_snapshot(store: Store, namespace: str, base: str = "", *, now: datetime | None = None) -> str:
    """Export a namespace to files, note it in the ledger, and let go of old ones; returns the location.

    With ``now`` the snapshot says that it was taken at that instant; the ledger keeps the real one.
    """
    base = base or database_base(store)
    settings = Settings.for_namespace({})
    snapshot = export_snapshot(store, namespace, model=settings.embedding_model)
    dated = snapshot if now is None else replace(snapshot, taken_at=now.astimezone(UTC))
    location = save_snapshot(dated, base)
    with store.connect("planner") as connection:
        connection.execute(
            "INSERT INTO night.snapshots (id, namespace_id, location, change_counter, vector_model, row_counts, taken_at) "
            "VALUES (%s, %s, %s, %s, %s, %s, %s)",
            (
                *(snapshot.snapshot_id, snapshot.namespace_id, location, snapshot.change_counter),
                *(snapshot.vectors["entity_vectors"].model, Jsonb({k: len(t) for k, t in snapshot.tables.items()})),
                snapshot.taken_at,
            ),
        )
        old = connection.execute(
            "SELECT id, location FROM night.snapshots WHERE namespace_id = %s AND deleted_at IS NULL ORDER BY taken_at DESC, id OFFSET %s",
            (snapshot.namespace_id, Settings.for_namespace(snapshot.settings).snapshot_keep_nights),
        ).fetchall()
        gone = [str(id_) for id_, place in old if remove_snapshot(str(place), namespace, str(id_), base)]
        connection.execute("UPDATE night.snapshots SET deleted_at = now() WHERE id = ANY(%s)", (gone,))
    return location


def read_inputs(
    store: Store, snapshot: Snapshot, models: Mapping[str, pa.Table] | None = None, *, run_id: str = ""
) -> Inputs:
    """What audits and planners read and ask: the snapshot, its models, the namespace's settings and the last night's figures.

    Without ``run_id`` tokens are booked on the namespace's run that is planning.
    """
    settings = Settings.for_namespace(snapshot.settings)
    embedder = embedder_for(settings)
    if models is None:
        models = run_models(load_models(), snapshot, settings)
    usable = snapshot.vectors["entity_vectors"].model in ("", embedder.model)
    return Inputs(
        snapshot,
        models,
        settings,
        baselines(store, snapshot.namespace),
        embedder.embed if usable else None,
        judges_for(settings),
        budget=open_budget(store, snapshot.namespace, settings, run_id),
        writer=writer_for(settings),
        consolidator=writer_for(settings, "consolidation_model"),
    )


def baselines(store: Store, namespace: str) -> Mapping[str, Mapping[str, object]]:
    """``details`` of the reports of the last night that was planned."""
    with store.connect("reader") as connection:
        row = connection.execute(
            "SELECT p.summary -> 'baselines' FROM night.plans p JOIN memory.namespaces n ON n.id = p.namespace_id WHERE n.slug = %s "
            "ORDER BY p.recorded_at DESC LIMIT 1",
            (namespace,),
        ).fetchone()
    found: Any = row[0] if row else None
    return found if isinstance(found, dict) else {}


@each_text_once()
@few_collections()
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
) -> Night:
    """Seal the planners' items, prove the plan, write it, and let the namespace's policy approve what it may.

    A plan as of an instant (``now``) is sealed under that instant instead of its snapshot's id, so that the same is one plan.
    """
    scope = scope or DreamScope()
    snapshot, settings = inputs.snapshot, inputs.settings
    sealed_as = f"{now.astimezone(UTC):%Y%m%dT%H%M%S{AS_OF}%f}" if now else snapshot.snapshot_id
    header = Header(snapshot.namespace_id, snapshot.namespace, sealed_as, settings.fingerprint())
    proposed = [i for p in proposals.values() for i in p.items]
    items = not_rejected(snapshot, proposed)
    inside = within(scope, snapshot, items)
    plan, probes = prove(header, inside, inputs, proposals, scope=scope, ops=ops)
    if now:
        plan = unless_decided(store, plan, snapshot.snapshot_id)
    carried = pending_review(store, snapshot.namespace) & {i.id for i in plan.items}
    summary = {
        "items": _per_operation(plan.items),
        "deferred": len(plan.deferred),
        "rejected_before": len(proposed) - len(items),
        "out_of_scope": len(items) - len(inside),
        "budget_spent": sum(int(p.report.numbers.get(BUDGET_SPENT, 0)) for p in proposals.values()),
        "skipped": {
            name: report.skipped
            for name, report in (*reports.items(), *((n, p.report) for n, p in proposals.items()))
            if report.skipped
        },
        "audits": {name: {"headline": r.headline, "numbers": dict(r.numbers)} for name, r in reports.items()},
        "planners": {
            name: {"headline": p.report.headline, "numbers": dict(p.report.numbers)} for name, p in proposals.items()
        },
        "sentences": list(probes.sentences),
        "needs_force": list(probes.needs_force),
        "snapshot_id": snapshot.snapshot_id,
        "baselines": {**inputs.baselines, **{name: dict(r.details) for name, r in reports.items() if r.details}},
    }
    state = write_plan(
        store,
        plan,
        run_id=run_id,
        expiry_days=settings.plan_expiry_days,
        probes=probes.results,
        summary=summary,
        carried=carried,
        change_counter=snapshot.change_counter,
    )
    plan = replace(plan, written={})
    with store.connect("planner") as connection, connection.transaction():
        for name, report in reports.items():
            warnings = [f for f in report.findings if f.severity != "info"]
            write_findings(connection, snapshot.namespace, run_id, name, warnings)
        _write_conflicts(connection, run_id, snapshot, reports, proposals)
    if state == "awaiting_approval" and (
        signed := approve_by_policy(store, snapshot.namespace, plan.plan_hash, settings)
    ):
        state = "approved" if len(signed.item_ids) == len(plan.items) else "partly_approved"
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
        why_nothing=()
        if len(plan.items) > len(carried)
        else why_nothing(
            [p.report for p in proposals.values()],
            rejected=len(proposed) - len(items),
            out_of_scope=len(items) - len(inside),
            carried=len(carried),
        ),
    )


def _write_conflicts(
    connection: Connection,
    run_id: str,
    snapshot: Snapshot,
    reports: Mapping[str, Report],
    proposals: Mapping[str, Proposal],
) -> None:
    """What the audit found, and what judges said of it; without the audit only the latter."""
    audit, planner = reports.get("contradictions"), proposals.get("resolve_conflicts")
    told = [*([audit] if audit else []), *([planner.report] if planner else [])]
    complete = audit is not None and not audit.skipped
    found = conflicts_in(told)
    if found or complete:
        write_conflicts(connection, snapshot.namespace_id, run_id, found, snapshot, complete=complete)


def prove(
    header: Header,
    items: Sequence[Item],
    inputs: Inputs,
    proposals: Mapping[str, Proposal],
    *,
    scope: DreamScope | None = None,
    ops: Collection[str] | None = None,
) -> tuple[Plan, Probes]:
    """Seal items and check the future that they make. Merges that would lose a specific go to review and are sealed as that."""
    snapshot, settings = inputs.snapshot, inputs.settings
    order, read = list(PLANNERS), Known()
    arranged = arrange(items, order, read)
    decided = _decided(arranged)
    after = simulate(snapshot, decided)
    release()
    specifics = specifics_probe(snapshot, after, decided)
    asked = {i.id: replace(i, decision="review", risk="high") for i in items if i.id in specifics.items_losing()}
    if asked:
        arranged = arrange([asked.get(i.id, i) for i in items], order, read)
        decided = _decided(arranged)
        after = simulate(snapshot, decided)
    reviews = [i for i in arranged.items if i.decision == "review"]
    specifics = with_reviews(specifics, snapshot, after, reviews, {old: item.id for old, item in asked.items()})
    asks = questions(reviews, specifics.by_item(), only=specifics.items_losing())
    release()
    harmed = harm(snapshot, after, decided, settings, inputs.embed)
    recall, radius = harmed.recall, harmed.radius
    isolation = isolation_probe(snapshot, arranged.items)
    release()
    models = load_models()
    learnt = {name: p.learnt for name, p in proposals.items() if p.learnt is not None}
    focus = touched(decided, [*reviews, *arranged.deferred_items]).union(*(p.nearer for p in proposals.values()))
    convergence = convergence_probe(
        # what judges left open stays a question to a person, and what a model wrote is not written twice
        replace(inputs, judges=(), writer=None, consolidator=None, focus=focus, learnt=learnt),
        after,
        lambda changed: within(
            scope or DreamScope(),
            changed.snapshot,
            not_rejected(
                changed.snapshot,
                [i for p in PLANNERS.values() for i in run_planner(p, changed, ops).items],
            ),
        ),
        lambda changed: run_models(models, changed, settings),
        deferred=arranged.deferred_items,
        reviews=reviews,
    )
    probes = (convergence, recall, specifics, radius, isolation)
    return replace(sealed(header, arranged), questions=asks), Probes(
        results={
            "convergence": convergence.to_json(),
            "recall": recall.to_json(),
            "specifics": specifics.to_json(),
            "blast_radius": radius.to_json(),
            "isolation": isolation.to_json(),
            "limits": {name: getattr(settings, name) for name in LIMITS},
        },
        sentences=(*(p.sentence() for p in probes), *((harmed.advice,) if harmed.advice else ())),
        needs_force=harmed.needs_force(),
    )


def not_rejected(snapshot: Snapshot, items: Sequence[Item]) -> list[Item]:
    """The items that nobody has rejected or undone about these very rows; a change of what an item rests on makes it a new one."""
    table = snapshot.table("rejections")
    rejected = set(zip(table["operation"].to_pylist(), table["subject"].to_pylist(), strict=True))
    return [i for i in items if not rejected or (i.operation, i.subject()) not in rejected]


def _decided(arranged: Arranged) -> list[Item]:
    """What an approval covers when it names nothing: all but review items."""
    return [i for i in arranged.items if i.decision != "review"]


def _per_operation(items: Sequence[Item]) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for item in items:
        decisions = counts.setdefault(item.operation, {})
        decisions[item.decision] = decisions.get(item.decision, 0) + 1
    return counts
