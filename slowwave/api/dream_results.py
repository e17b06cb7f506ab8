"""What dreams give back: typed results, read from the ledger and the journal. Every number is counted there, never kept beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from slowwave.api.json_values import as_json, mapping, number
from slowwave.operations import operations
from slowwave.runs.run import Run, find_run
from slowwave.store.connect import Connection, Store
from slowwave.texts.counted import counted

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
    """One run of the ledger. ``mode`` is plan, apply, undo or deep; ``resume_of`` its own id when it was gone on with, else empty;
    ``reason`` why somebody asked for it, where they said so; ``consolidations`` the figures of the summaries that an apply run wrote (see
    ``consolidations_of``).
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
        """As the command line shows it."""
        return as_json(self)


@dataclass(frozen=True, slots=True)
class OpSummary:
    """One operation's items: ``planned`` in all, and what became of them. ``pending`` ones nobody decided, or they were not reached."""

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
    """How many rows were changed and how: by the journal of what was applied, else by the plan, review items left out."""

    entities_merged: int = 0
    entities_added: int = 0
    edges_pruned: int = 0
    edges_retired: int = 0
    edges_added: int = 0
    facts_compacted: int = 0
    facts_merged: int = 0
    facts_superseded: int = 0
    memories_merged: int = 0
    clusters_created: int = 0
    centroids_recomputed: int = 0
    types_renamed: int = 0
    rows_purged: int = 0


@dataclass(frozen=True, slots=True)
class SkipReason:
    """Why an operation, or some of what it proposed, is not in the result."""

    op_type: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """What the run spent on one language model."""

    model: str
    calls: int
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class DreamProgress:
    """How far a dream is: items of apply, or steps of planning, and the step's name."""

    run_id: str
    phase: Literal["plan", "apply"]
    done: int
    total: int
    message: str = ""


@dataclass(frozen=True, slots=True)
class DreamResult:
    """What a dream came to. ``run`` is the last run that it made, which ``dream_undo`` takes when it applied something.

    ``state`` is ``awaiting_approval``, ``approved``, ``completed``, ``cancelled``, or that of a plan in the ledger. ``apply_runs``
    are the runs that wrote, in their order.
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
        """As the command line shows it."""
        return as_json(self)


@dataclass(frozen=True, slots=True)
class DreamStatus:
    """A run as it stands: where it is, how far, whether its process is alive. Ages are in seconds at the time of asking.

    ``items_done`` and ``items_left`` are its checkpoint: what was committed, and what going on with it would still apply. ``deep`` is
    what a deep pass noted: its last turns, the files that it touched, the sessions that it was shown, escapes.
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
    deep: Mapping[str, object] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """As the command line shows it."""
        return as_json(self)


def result_of(store: Store, plan_run: str, apply_runs: tuple[str, ...]) -> DreamResult:
    """What the ledger holds of a plan run and of the runs that applied its plan."""
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
    """Every operation that ran, in order, with its items by what became of them."""
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
"""What runs wrote: (operation, table, column, action, whether a value is there now, rows)."""

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
"""The same of what a plan would write."""


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
        clusters_created=count("communities", action="insert"),
        centroids_recomputed=count("entity_vectors", "vector") + count("entity_vectors", action="insert"),
        types_renamed=count("entities", "entity_type") + count("relationships", "relationship_type"),
        rows_purged=sum(
            count(table, action="delete") for table in ("memory_facts", "relationships", "communities", "memories")
        ),
    )


def status_of(connection: Connection, run: Run) -> DreamStatus:
    """A run as it stands, with its checkpoint and its tokens."""
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
        deep={name: run.progress[name] for name in _DEEP if name in run.progress} if run.mode == "deep" else {},
    )


_CONSOLIDATIONS: Final = """
SELECT j.run_id::text, count(*), sum((e ->> 'source_count')::int), avg((e ->> 'cluster_similarity')::float),
  sum((e ->> 'token_savings')::int)
FROM (SELECT DISTINCT run_id, item_id FROM night.journal WHERE run_id = ANY(%s::uuid[])) j
JOIN night.runs r ON r.id = j.run_id
JOIN night.plan_items i ON i.plan_hash = r.plan_hash AND i.item_id = j.item_id, LATERAL (SELECT i.evidence -> 'evidence') AS x (e)
WHERE i.operation = 'consolidate_clusters' AND i.status = 'applied' GROUP BY 1
"""


def consolidations_of(connection: Connection, runs: Sequence[Run]) -> dict[str, dict[str, float]]:
    """Apply run → ``summaries``, ``sources``, ``similarity`` (mean of the clusters') and ``token_savings`` (Plugged.in's
    ``dream_consolidations``) of the items that it applied and nobody undid; runs without any are left out."""
    ids = [run.run_id for run in runs if run.mode == "apply"]
    rows = connection.execute(_CONSOLIDATIONS, (ids,)).fetchall() if ids else []
    return {
        str(run): {
            "summaries": int(str(n)),
            "sources": int(str(sources)),
            "similarity": round(float(str(similarity)), 4),
            "token_savings": int(str(saved)),
        }
        for run, n, sources, similarity, saved in rows
    }


def dream_run(run: Run, consolidations: Mapping[str, float] | None = None) -> DreamRun:
    """A run of the ledger as the Python API shows it."""
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
