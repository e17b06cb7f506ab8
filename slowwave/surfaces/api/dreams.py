"""The Python API of dreams: plan, apply what is approved, and return typed results from the ledger.

Over 900 lines: each call imports what it runs inside its function, so that lists and states of runs load fast.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import datetime
from threading import Timer
from typing import TYPE_CHECKING, Final, Literal

from slowwave.errors import DreamCancelled, DreamLockUnavailable, Refused, UnknownName
from slowwave.plans.seal import DreamScope
from slowwave.plans.states import consolidations_of, find_plan
from slowwave.plans.switches import refuse_unwritable
from slowwave.store.claims import (
    NamespaceClaim,
    Stuck,
    patiently,
    reopen_plan_run,
    request_cancel,
    request_pause,
    request_resume,
)
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.migrate import open_store
from slowwave.store.namespaces import namespace_id, namespace_settings, unknown_namespace
from slowwave.store.runs import Run, find_run, resume_command, runs_of
from slowwave.text.tokens import counted

# Planning, applying and undoing import a second of libraries, which lists and states of runs do not need.
if TYPE_CHECKING:
    from slowwave.night.night import Progress
    from slowwave.night.sinks import Callback
    from slowwave.night.undo import Undoing, UndoResult
    from slowwave.operations.setting_names import Config

# JSON values: conversion of results, and access to the JSON columns of the ledger.


def number(value: object) -> int:
    """Return the number from a JSON column, or 0 if the value is not an integer."""
    return value if isinstance(value, int) else 0


def mapping(value: object) -> Mapping[str, object]:
    """Return the object from a JSON column, or an empty mapping if the value is not an object."""
    return value if isinstance(value, dict) else {}


def as_json(value: object) -> dict[str, object]:
    """Convert a result dataclass to JSON values, with instants as ISO 8601 strings."""
    return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}  # pyright: ignore[reportArgumentType]


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return as_json(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, (tuple, list)):
        return [_plain(part) for part in value]
    return {str(k): _plain(v) for k, v in value.items()} if isinstance(value, Mapping) else value


# Results of dreams: typed, and loaded from the ledger and the journal. Every number is counted there, never stored separately.

_DEEP: Final = ("sessions_reviewing", "files_touched", "turns", "escapes")

_PLAN: Final = "SELECT summary, probes, snapshot_id FROM night.plans WHERE plan_hash = %s"
_USAGE: Final = """
SELECT model, count(*), sum(input_tokens), sum(output_tokens) FROM night.llm_usage WHERE run_id = %s GROUP BY model ORDER BY model
"""
_ITEMS: Final = """
SELECT operation, status, count(*) FROM night.plan_items WHERE plan_hash = %s GROUP BY operation, status
"""
_APPROVED_ITEMS: Final = """
SELECT i.status, count(*) FROM night.approvals a JOIN night.plan_items i ON i.plan_hash = a.plan_hash AND i.item_id = ANY(a.item_ids)
WHERE a.id = %s GROUP BY i.status
"""
_TOKENS: Final = "SELECT coalesce(sum(input_tokens + output_tokens), 0) FROM night.llm_usage WHERE run_id = %s"


@dataclass(frozen=True, slots=True)
class DreamRun:
    """A run of the ledger.

    - ``mode`` is plan, apply, undo or deep.
    - ``resume_of`` is the run's own id if it was resumed, else empty.
    - ``reason`` is why a user asked for the run, if they gave a reason.
    - ``consolidations`` holds the figures of the summaries that an apply run wrote (see ``consolidations_of``).
    """

    run_id: str
    namespace: str
    mode: str
    state: str
    started_at: datetime
    finished_at: datetime | None
    heartbeat_at: datetime
    duration_ms: float
    plan_hash: str = ""
    resume_of: str = ""
    error: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""
    consolidations: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """Return the run as the JSON values that the command line prints."""
        return as_json(self)


@dataclass(frozen=True, slots=True)
class OpSummary:
    """The item counts of one operation: the number ``planned``, and the numbers by outcome.

    ``pending`` items have no decision yet, or were approved but not reached.
    """

    op_type: str
    planned: int = 0
    applied: int = 0
    skipped_stale: int = 0
    failed: int = 0
    deferred: int = 0
    noop: int = 0
    pending: int = 0


@dataclass(frozen=True, slots=True)
class DreamDiff:
    """Row counts by kind of change.

    If the plan was applied, the counts come from the journal. Otherwise they come from the plan, without its review items.
    ``conflicts_resolved`` counts the rows that lost a conflict and were retired.
    """

    entities_merged: int = 0
    entities_added: int = 0
    edges_pruned: int = 0
    edges_retired: int = 0
    edges_added: int = 0
    facts_compacted: int = 0
    facts_merged: int = 0
    facts_superseded: int = 0
    memories_merged: int = 0
    memories_archived: int = 0
    memories_promoted: int = 0
    dates_absolutized: int = 0
    edits_accepted: int = 0
    conflicts_resolved: int = 0
    clusters_created: int = 0
    centroids_recomputed: int = 0
    types_renamed: int = 0
    rows_purged: int = 0


@dataclass(frozen=True, slots=True)
class SkipReason:
    """The reason why an operation, or some of its proposed items, is not in the result."""

    op_type: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """Calls and tokens that a run spent on one language model."""

    model: str
    calls: int
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class DreamProgress:
    """The progress of a dream: items when it applies, steps when it plans, and the name of the step."""

    run_id: str
    phase: Literal["plan", "apply"]
    done: int
    total: int
    message: str = ""


@dataclass(frozen=True, slots=True)
class DreamResult:
    """The result of a dream.

    ``run`` is the last run that the dream made; if it applied something, ``dream_undo`` accepts it. ``state`` is ``awaiting_approval``,
    ``approved``, ``completed``, ``cancelled``, or the state of a plan in the ledger. ``apply_runs`` are the runs that wrote, in order.
    """

    run: DreamRun
    state: str
    plan_hash: str
    diff: DreamDiff
    ops: tuple[OpSummary, ...]
    skip_reasons: tuple[SkipReason, ...] = ()
    llm_usage: tuple[ModelUsage, ...] = ()
    plan_run_id: str = ""
    apply_runs: tuple[str, ...] = ()
    metadata: Mapping[str, object] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """Return the result as the JSON values that the command line prints."""
        return as_json(self)


@dataclass(frozen=True, slots=True)
class DreamStatus:
    """The current state of a run: its phase, its progress, and whether its process is alive.

    Ages are in seconds at the time of the request. ``items_done`` and ``items_left`` are its checkpoint: the items that were committed,
    and the items that a resumed run would still apply. ``process`` is the machine, or pod, and the id of its process. ``deep`` holds the
    notes of a deep pass: its last turns, the files that it touched, the sessions that it was shown, escapes.
    """

    run_id: str
    namespace: str
    mode: str
    state: str
    phase: str
    done: int
    total: int
    waiting_for: str
    paused: bool
    cancel_requested: bool
    stuck: bool
    started_at: datetime
    finished_at: datetime | None
    duration_ms: float
    heartbeat_at: datetime
    heartbeat_age_seconds: int
    plan_hash: str
    items_done: int
    items_left: int
    counts: Mapping[str, int]
    tokens: int
    error: str
    trigger: str
    parameters: Mapping[str, object]
    reason: str = ""
    process: str = ""
    dagster_run_id: str = ""
    deep: Mapping[str, object] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """Return the status as the JSON values that the command line prints."""
        return as_json(self)


def result_of(store: Store, plan_run: str, apply_runs: tuple[str, ...]) -> DreamResult:
    """Build the result of a plan run and of the runs that applied its plan, from the ledger."""
    with store.connect("reader") as connection:
        planned = find_run(connection, plan_run)
        last = find_run(connection, apply_runs[-1]) if apply_runs else planned
        row = connection.execute(_PLAN, (planned.plan_hash,)).fetchone()
        summary = mapping(row[0] if row else None)
        ops = _summaries(connection, planned.plan_hash, summary)
        journal = _JOURNALLED if apply_runs else _PLANNED
        changes = connection.execute(
            journal.encode(), {"plan": planned.plan_hash, "runs": list(apply_runs), "namespace": planned.namespace}
        ).fetchall()
        usage = connection.execute(_USAGE, (planned.run_id,)).fetchall()
    return DreamResult(
        run=dream_run(last),
        state=last.state,
        plan_hash=planned.plan_hash,
        diff=_diff([(str(o), str(t), str(c), str(a), bool(s), int(str(n))) for o, t, c, a, s, n in changes]),
        ops=ops,
        skip_reasons=_skip_reasons(summary, ops),
        llm_usage=tuple(ModelUsage(str(m), int(str(n)), int(str(i)), int(str(o))) for m, n, i, o in usage),
        plan_run_id=planned.run_id,
        apply_runs=apply_runs,
        metadata={
            "snapshot_id": str(row[2]) if row else "",
            "probes": mapping(row[1] if row else None),
            "sentences": summary.get("sentences", []),
            "needs_force": summary.get("needs_force", []),
        },
    )


def _summaries(connection: Connection, plan_hash: str, summary: Mapping[str, object]) -> tuple[OpSummary, ...]:
    """Return the item counts of every operation that ran, in order."""
    from slowwave.operations import operations

    counts: dict[str, dict[str, int]] = {}
    for operation, status, n in connection.execute(_ITEMS, (plan_hash,)):
        counts.setdefault(str(operation), {})[str(status)] = int(str(n))
    left_out = mapping(summary.get("skipped"))
    ran = [n for n in operations() if summary and n not in left_out]
    return tuple(_summary(name, counts.get(name, {})) for name in dict.fromkeys((*ran, *sorted(counts))))


def _summary(operation: str, by_status: Mapping[str, int]) -> OpSummary:
    known = {name: by_status.get(name, 0) for name in ("applied", "skipped_stale", "failed", "deferred", "noop")}
    pending = by_status.get("pending", 0) + by_status.get("approved", 0)
    return OpSummary(operation, planned=sum(by_status.values()) - known["deferred"], pending=pending, **known)


def _skip_reasons(summary: Mapping[str, object], ops: Sequence[OpSummary]) -> tuple[SkipReason, ...]:
    found = [SkipReason(str(name), str(reason)) for name, reason in mapping(summary.get("skipped")).items()]
    for reason, detail in (
        ("rejected_before", "items that a person rejected or undid, about rows that have not changed since"),
        ("out_of_scope", "items about rows outside the scope"),
        ("budget_spent", "calls of models that the token budget of the run or the day did not allow"),
    ):
        n = summary.get(reason)
        if isinstance(n, int) and n:
            found.append(SkipReason("", reason, f"{n:,} {detail}"))
    for op in ops:
        if op.deferred:
            found.append(
                SkipReason(
                    op.op_type,
                    "deferred",
                    f"{counted(op.deferred, 'item')} for the next night",
                )
            )
    return tuple(found)


_JOURNALLED: Final = """
SELECT i.operation, j.table_name, j.column_name, j.action, j.after_hash IS NOT NULL, count(DISTINCT j.row_id)
FROM night.journal j JOIN night.plan_items i ON i.plan_hash = %(plan)s AND i.item_id = j.item_id
WHERE j.run_id = ANY(%(runs)s::uuid[]) GROUP BY 1, 2, 3, 4, 5
"""
"""The rows that runs wrote: (operation, table, column, action, whether a value is there now, rows)."""

_PLANNED: Final = """
WITH items AS (SELECT operation, mutation FROM night.plan_items WHERE plan_hash = %(plan)s AND decision <> 'review'
  AND status NOT IN ('deferred', 'rejected'))
SELECT operation, w ->> 0, w ->> 3, CASE w ->> 4 WHEN 'add' THEN 'add' ELSE 'set' END,
  w ->> 4 <> 'set' OR w -> 6 <> 'null'::jsonb, count(DISTINCT w ->> 1)
FROM items, jsonb_array_elements(mutation -> 'writes') w GROUP BY 1, 2, 3, 4, 5
UNION ALL SELECT operation, i ->> 0, '', 'insert', true, count(*)
FROM items, jsonb_array_elements(mutation -> 'inserts') i GROUP BY 1, 2
UNION ALL SELECT operation, d ->> 0, '', 'delete', false, count(*)
FROM items, jsonb_array_elements(mutation -> 'deletes') d GROUP BY 1, 2
"""
"""The rows that a plan would write, in the form of ``_JOURNALLED``."""


def _diff(changes: Sequence[tuple[str, str, str, str, bool, int]]) -> DreamDiff:
    def count(table: str, column: str = "", action: str = "set", operation: str | None = None) -> int:
        return sum(
            n
            for o, t, c, a, is_set, n in changes
            if t == table and c == column and a == action and (is_set or a == "delete") and operation in (None, o)
        )

    return DreamDiff(
        entities_merged=count("entities", "merged_into"),
        entities_added=count("entities", action="insert"),
        edges_pruned=count("relationships", "invalidated_at", operation="prune_edges"),
        edges_retired=count("relationships", "invalidated_at"),
        edges_added=count("relationships", action="insert"),
        facts_compacted=count("memory_facts", action="delete"),
        facts_merged=count("memory_facts", "superseded_by", operation="dedupe_facts"),
        facts_superseded=count("memory_facts", "superseded_by", operation="supersede_facts"),
        memories_merged=count("memories", "merged_into"),
        memories_archived=count("memories", "state", operation="archive_stale")
        + count("memories", "state", operation="archive_small_talk"),
        memories_promoted=count("promotions", action="insert"),
        dates_absolutized=count("memories", "current_version_id", operation="absolutize_dates"),
        edits_accepted=count("memories", "attributes", operation="accept_external_edits"),
        conflicts_resolved=sum(
            count(table, "invalidated_at", operation="resolve_conflicts")
            for table in ("memories", "memory_facts", "relationships")
        ),
        clusters_created=count("communities", action="insert"),
        centroids_recomputed=count("entity_vectors", "vector") + count("entity_vectors", action="insert"),
        types_renamed=count("entities", "entity_type") + count("relationships", "relationship_type"),
        rows_purged=sum(
            count(table, action="delete") for table in ("memory_facts", "relationships", "communities", "memories")
        ),
    )


def status_of(connection: Connection, run: Run) -> DreamStatus:
    """Return the current status of a run, with its checkpoint and its tokens."""
    counts, done, left = dict(run.counts), 0, 0
    if run.mode == "apply" and run.approval_id:
        rows = connection.execute(_APPROVED_ITEMS, (run.approval_id,))
        found = {str(status): int(str(n)) for status, n in rows}
        left = found.get("approved", 0)
        done = sum(found.values()) - left
        counts = counts or found
    tokens = connection.execute(_TOKENS, (run.run_id,)).fetchone()
    return DreamStatus(
        run_id=run.run_id,
        namespace=run.namespace,
        mode=run.mode,
        state=run.state,
        phase=str(run.progress.get("phase", "")),
        done=number(run.progress.get("done")),
        total=number(run.progress.get("total")),
        waiting_for=str(run.progress.get("note", "")) if run.alive else "",
        paused=run.pause_requested and run.alive,
        cancel_requested=run.cancel_requested,
        stuck=run.stuck,
        started_at=run.started_at,
        finished_at=run.finished_at,
        duration_ms=run.duration_seconds * 1000,
        heartbeat_at=run.heartbeat_at,
        heartbeat_age_seconds=run.heartbeat_age_seconds,
        plan_hash=run.plan_hash,
        items_done=done,
        items_left=left,
        counts=counts,
        tokens=int(str(tokens[0])) if tokens else 0,
        error=run.error,
        trigger=run.trigger,
        parameters=run.parameters,
        reason=run.reason,
        process=run.process,
        dagster_run_id=run.dagster_run_id,
        deep={name: run.progress[name] for name in _DEEP if name in run.progress} if run.mode == "deep" else {},
    )


_SAVED: Final = """
SELECT n.slug, sum((i.evidence #>> '{evidence,token_savings}')::int)
FROM night.plans p JOIN memory.namespaces n ON n.id = p.namespace_id JOIN night.plan_items i ON i.plan_hash = p.plan_hash
WHERE (%(scope)s::uuid IS NULL OR p.namespace_id = %(scope)s) AND i.operation = 'consolidate_clusters' AND i.status = 'applied'
GROUP BY 1 ORDER BY 1
"""


def token_savings(namespace: str | None = None, *, store: Store | None = None) -> dict[str, int]:
    """Return the tokens that summaries have saved in all, by namespace; ``sum(token_savings().values())`` is the total of a store.

    It adds up ``token_savings`` of all summaries that were applied and not undone; retention keeps their items. With ``namespace`` the
    answer has that one alone, with 0 if nothing was saved. Cost: linear in the stored items of plans.
    """
    with (store or open_store()).connect("reader") as connection:
        slug = None if namespace is None else slug_of(connection, namespace)
        scope = None if slug is None else namespace_id(connection, slug)
        rows = connection.execute(_SAVED, {"scope": scope}).fetchall()
    return ({} if slug is None else {slug: 0}) | {str(name): int(str(saved)) for name, saved in rows}


def dream_run(run: Run, consolidations: Mapping[str, float] | None = None) -> DreamRun:
    """Convert a run of the ledger to the ``DreamRun`` of the Python API."""
    return DreamRun(
        run_id=run.run_id,
        namespace=run.namespace,
        mode=run.mode,
        state=run.state,
        started_at=run.started_at,
        finished_at=run.finished_at,
        heartbeat_at=run.heartbeat_at,
        duration_ms=run.duration_seconds * 1000,
        plan_hash=run.plan_hash,
        resume_of=run.run_id if run.trigger == "resume" else "",
        error=run.error,
        counts=run.counts,
        reason=run.reason,
        consolidations=consolidations or {},
    )


# Arguments of a dream: a mode, an approver and a namespace. Invalid arguments are refused before any work starts.

Mode = Literal["dry-run", "apply"]

_SLUG: Final = """
SELECT slug FROM memory.namespaces WHERE slug = %s OR id::text = lower(%s) ORDER BY slug = %s DESC LIMIT 1
"""


def mode_of(text: str | None) -> Mode | None:
    """Validate the name of a mode; None leaves the choice to the namespace. Raises ``UnknownName`` for another name."""
    if text is None or text == "dry-run" or text == "apply":
        return text
    raise UnknownName(
        f"There is no mode {str(text)[:32]!r}: a dream is a dry-run, or it is to apply. Nothing was done."
    )


def check_approver(name: str | None) -> None:
    """Raise ``Refused`` for a name that cannot approve; None is allowed and approves nothing."""
    from slowwave.plans.gate import check_name

    if name is not None:
        check_name(name)


def slug_of(connection: Connection, namespace: str) -> str:
    """Return the slug of a namespace that is given by its name or id. Raises ``UnknownName`` if there is none."""
    row = connection.execute(_SLUG, (namespace, namespace, namespace)).fetchone()
    if row is None:
        raise unknown_namespace(connection, namespace)
    return str(row[0])


# The Python API: a dream is a night for one namespace. It is planned and, if it is approved, applied.
#
# The names and the meaning of ``slowwave.dream`` and its companions are those of khora.dream (khora 3). Their results are typed and agree
# with the ledger: every number is counted in the plan or in the journal, never stored separately. ``slowwave.night.night`` plans, and
# ``slowwave.night`` writes.

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
    config: Config | None = None,
) -> DreamResult:
    """Plan a night for a namespace (its name or id), and with ``mode="apply"`` apply what is approved.

    - ``mode`` is ``dry-run``, which writes no memory, or ``apply``; by default the namespace's ``default_mode``. Apply writes the
      items that a policy approves, and those that ``approver``, a person's name, approves by this call: all except review items. If
      nothing is approved, the state of the result is ``awaiting_approval``. A plan that failed its probes is refused, unless
      ``force`` is set with a ``note`` that gives the reason.
    - ``plan_hash``, with ``mode="apply"``, is the hash of a reviewed plan, or its first characters. That plan is approved and
      applied, and nothing is planned. A plan that can no longer be approved is refused. Without ``plan_hash`` apply makes a new plan,
      and ``approver`` approves it without a review.
    - ``scope`` and ``ops`` limit what is planned; the scope's ``op_kinds`` take precedence over ``ops``. khora's kinds are accepted.
      The plan of a dry-run, or of a part, exists in addition to a pending or approved plan of a night and never replaces it.
    - ``resume_from`` is a run that did not finish (``last`` is the namespace's newest). An apply run continues with the rest of its
      sealed plan, a plan run plans again, both under their own ids. For a completed run its result is returned.
    - ``wait`` is the number of seconds to wait while another run holds the namespace. ``abandon`` marks a run whose process is gone
      as crashed.
    - ``config`` are settings of this plan alone: a mapping such as ``{"operations.prune_edges.half_life_days": 90}`` changes single keys
      of the namespace's, a ``DreamConfig`` replaces them all but the limits by which probes judge a plan. No policy approves such a plan.
    - ``reason`` is why the dream was requested; it is stored with the run, in one line of at most 500 characters.
    - ``on_progress`` is called with a ``DreamProgress``, ``callbacks`` with every event of the runs. Errors that they raise are
      logged, and the run continues.

    Without ``store`` the store of the environment is used. Raises ``DreamDisabledError`` (nights are off), ``DreamApplyDisabled`` (the
    kill switch is set or the namespace is read-only, checked before anything is planned), ``DreamLockUnavailable`` (another run holds the
    namespace), ``DreamRunStuckError`` (the run that holds it has an expired heartbeat), ``DreamForbiddenOpError``, ``UnknownName`` for a
    mode, namespace or operation that does not exist (also a ``ValueError``), and ``Refused`` for a request that is not allowed.
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
        *(on_progress, callbacks, reason, config),
    )
    if plan_hash is not None:
        if chosen != "apply" or any(given is not None for given in (scope, ops, resume_from, config)):
            raise Refused(
                "A plan that is named by its hash is applied as it is: give mode apply and neither scope, operations, settings nor a run "
                "to resume. Nothing was done."
            )
        return _apply_plan(asked, plan_hash)
    if resume_from is not None:
        return _resume(asked, resume_from, _given_scope(scope, ops))
    return _plan_and_apply(asked, _given_scope(scope, ops))


def dream_status(run_id: str, *, namespace: str | None = None, store: Store | None = None) -> DreamStatus:
    """Return the current status of a run.

    ``run_id`` is the id, its first characters, or ``last``, the newest run of ``namespace`` or else of all namespaces. Raises ``Refused``
    for an unknown run (khora returns an empty dict) and for a run of another namespace than ``namespace``.
    """
    with (store or open_store()).connect("reader") as connection:
        return status_of(connection, find_run(connection, run_id, namespace=namespace))


def dream_history(
    namespace: str | None, limit: int = 20, *, offset: int = 0, store: Store | None = None
) -> tuple[DreamRun, ...]:
    """Return ``limit`` runs of a namespace, newest first, with the times of each; the ``offset`` newest are left out.

    With ``None`` they are the runs of all namespaces.
    """
    with (store or open_store()).connect("reader") as connection:
        scope = None if namespace is None else namespace_id(connection, slug_of(connection, namespace))
        runs = runs_of(connection, scope, limit, offset)
        consolidated = consolidations_of(connection, [run.run_id for run in runs])
        return tuple(dream_run(run, consolidated.get(run.run_id)) for run in runs)


def dream_cancel(run_id: str, *, namespace: str | None = None, store: Store | None = None) -> DreamStatus:
    """Cancel a run in any process (see ``slowwave.store.claims``).

    ``last`` is the newest run of ``namespace``, which is required in a store with several; the same holds for pausing and resuming.
    Raises ``Refused`` if the run is over (khora returns False).
    """
    store = store or open_store()
    return dream_status(request_cancel(store, run_id, namespace).run_id, store=store)


def dream_pause(run_id: str, *, namespace: str | None = None, store: Store | None = None) -> DreamStatus:
    """Pause a run after its current batch or step; it keeps its namespace until it is resumed or cancelled."""
    store = store or open_store()
    return dream_status(request_pause(store, run_id, namespace).run_id, store=store)


def dream_resume(run_id: str, *, namespace: str | None = None, store: Store | None = None) -> DreamStatus:
    """Resume a paused run. If its process has ended, use ``dream(…, resume_from=…)`` instead."""
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
    """Undo an apply run exactly, or a part of it.

    ``target`` is the id of a run or its first characters, the id of an item, or ``last``: the newest apply run of ``namespace`` that
    changed something or is not finished; ``namespace`` is required in a store with several. ``items`` and ``operation`` select a part of
    a run. ``leave_changed`` skips the items whose rows have later changes and undoes the others. ``announce`` is called with the run and
    its items by operation before anything is undone.

    Undone changes are not proposed again until their rows change. A second undo changes nothing, and its ``items`` are empty (khora:
    True). Raises ``Refused`` for an unknown target (khora: False), ``JournalDamaged`` with the entries that differ from what was written
    when they were applied, and ``UndoBlocked`` with the rows that have later changes.
    """
    from slowwave.night.undo import undo_run
    from slowwave.operations import khora_kinds

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
    """The arguments of one ``dream`` call."""

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
    config: Config | None = None

    def report(self, progress: DreamProgress) -> None:
        """Call ``on_progress``; log its errors and continue."""
        if self.on_progress:
            try:
                self.on_progress(progress)
            except Exception as problem:  # noqa: BLE001 - who watches does not end the run
                _LOG.warning("on_progress raised %s; the run goes on.", type(problem).__name__)


def _given_scope(scope: DreamScope | None, ops: str | Collection[str] | None) -> DreamScope:
    """Build one scope from the arguments of the call, with Slowwave's operation names."""
    from slowwave.night.night import OPERATIONS
    from slowwave.operations import named

    scope = scope or DreamScope()
    kinds = named(scope.op_kinds if scope.op_kinds is not None else ops, OPERATIONS)
    return DreamScope(kinds, scope.since, scope.until, scope.entity_ids, scope.document_ids)


def _plan_and_apply(asked: _Asked, scope: DreamScope) -> DreamResult:
    from slowwave.night.runs import begin, parameters

    run_id = begin(
        asked.store,
        asked.namespace,
        parameters=parameters(
            scope.op_kinds, scope, reason=asked.reason, dry_run=asked.mode == "dry-run", config=asked.config
        ),
        stuck=asked.stuck,
        wait=asked.wait,
    )
    return _plan(asked, run_id, scope, "manual")


def _plan(asked: _Asked, run_id: str, scope: DreamScope, trigger: str, now: datetime | None = None) -> DreamResult:
    from slowwave.night.night import run_night

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
            config=asked.config,
        )
    except DreamCancelled:
        return result_of(asked.store, run_id, ())
    if asked.mode == "dry-run" or night.plan is None or night.state == "empty":
        return result_of(asked.store, run_id, ())
    return _sign_and_apply(asked, run_id, night.plan.plan_hash)


def _steps(asked: _Asked, run_id: str) -> Progress:
    from slowwave.night.night import STEPS

    begun = 0

    def step(name: str) -> None:
        nonlocal begun
        asked.report(DreamProgress(run_id, "plan", begun, STEPS, name))
        begun += 1

    return step


def _apply_plan(asked: _Asked, prefix: str) -> DreamResult:
    """Approve and apply a plan of the ledger.

    Raises ``Refused`` if nothing of it is left to approve or to apply.
    """
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
    """Return the valid approvals of a plan that are not applied yet, oldest first."""
    rows = connection.execute(_UNAPPLIED, (plan_hash,))
    return [str(id_) for (id_,) in rows]


def _sign_and_apply(asked: _Asked, plan_run: str, plan_hash: str, *, must_sign: bool = False) -> DreamResult:
    """Approve what the call's approver is allowed to approve, and apply every approval of the plan that is not applied yet."""
    from slowwave.operations import permits
    from slowwave.plans.gate import approve

    store = asked.store
    with store.connect("reader") as connection:
        row = connection.execute(_SIGNABLE, (plan_hash,)).fetchone()
    if asked.approver and (must_sign or (row and row[0])):
        approve(
            store,
            asked.namespace,
            plan_hash,
            approver=asked.approver,
            permits=permits(),
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
    """Apply one approval and return the run and its final state."""
    from slowwave.night.executor import apply_approval

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
    """Resume a run that did not finish, or return the result of one that did."""
    store = asked.store

    def not_alive() -> Run:
        with store.connect("reader") as connection:
            run = find_run(connection, name, namespace=asked.namespace)
        if run.alive:
            raise DreamLockUnavailable(
                f"Run {run.run_id} is alive (heartbeat {max(0, run.heartbeat_age_seconds)} s ago): there is nothing to resume. "
                f"Watch it with `slowwave runs show {run.run_id}`, or cancel it first."
            )
        return run

    run = patiently(not_alive, asked.wait)
    if run.mode == "undo":
        raise Refused(
            f"Run {run.run_id} is an undo, which is done whole or not at all: undo again instead of resuming."
        )
    if run.mode == "deep" and not run.plan_hash:
        raise Refused(
            f"Run {run.run_id} is a deep pass, whose scratch copy is gone, so it cannot be resumed. Start another one: "
            f"`{resume_command(run.mode, run.namespace)}`."
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
        if asked.config is None and run.parameters.get("config"):
            asked = replace(asked, config=mapping(run.parameters["config"]))
        return _plan(asked, run.run_id, scope if scope != DreamScope() else stored, "resume", now)
    if asked.mode == "apply" and run.state in ("awaiting_approval", "approved"):
        return _sign_and_apply(asked, run.run_id, run.plan_hash)
    return result_of(store, run.run_id, ())


def _plan_run(store: Store, plan_hash: str) -> str:
    with store.connect("reader") as connection:
        row = connection.execute(_PLAN_RUN, (plan_hash,)).fetchone()
    return str(row[0]) if row else ""


# Time limit of a run. The run is cancelled when its time is up, or at once if it starts after that.


class TimeLimit:
    """A timer that cancels the current run after ``seconds``, or never if that is None.

    ``fired`` is true after it cancelled a run. The time starts when the object is created.
    """

    def __init__(self, store: Store, seconds: float | None) -> None:
        self.seconds, self.run_id, self.fired = seconds, "", False
        self._store, self._is_up = store, False
        self._timer = None if seconds is None else Timer(seconds, self._up)
        if self._timer:
            self._timer.daemon = True
            self._timer.start()

    def applies_to(self, run_id: str) -> None:
        """Watch the run that is active now; call this again at any step of it.

        A run that starts after the time limit is cancelled at once.
        """
        self.run_id = run_id
        if self._is_up and not self.fired:
            self._cancel()

    def stop(self) -> None:
        """Stop the timer, so that no more runs are cancelled."""
        if self._timer:
            self._timer.cancel()

    def _up(self) -> None:
        # Set the flag before the id is read. ``applies_to`` writes the id before it reads the flag, so one of the two threads sees the
        # other's write.
        self._is_up = True
        if self.run_id:
            self._cancel()

    def _cancel(self) -> None:
        try:
            request_cancel(self._store, self.run_id)
            self.fired = True
        except Refused:  # the run has just ended; ``applies_to`` cancels the next one
            pass
