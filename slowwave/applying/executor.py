"""Applying an approval: batches of items, one transaction a batch, exactly once.

The database decides what is left to do: an item is applied when its status says so, and status, journal and change are
committed together. So resuming is applying what is still pending, and there is no cursor to get wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import psycopg
from psycopg.types.json import Jsonb

from slowwave.applying.claim import Claim, claim_namespace, lock_batch
from slowwave.applying.events import append_events
from slowwave.errors import Refused
from slowwave.mutations.apply import apply_items
from slowwave.plans.items import Item
from slowwave.plans.ledger import finish_run, namespace_settings, read_plan, verify_hash
from slowwave.settings import Settings
from slowwave.store.connect import Connection, Store

Progress = Callable[[int, int], None]
"""Called after every batch with items done and items in all."""


@dataclass(frozen=True, slots=True)
class ApplyResult:
    """What an apply run did. ``counts`` tells applied, skipped_stale and failed items apart."""

    run_id: str
    namespace: str
    plan_hash: str
    state: str
    counts: dict[str, int] = field(default_factory=dict)


def apply_approval(
    store: Store,
    approval_id: str,
    *,
    settings: Settings | None = None,
    dagster_run_id: str = "",
    progress: Progress | None = None,
) -> ApplyResult:
    """Apply exactly the items that an approval names, from exactly the plan that it names.

    An approval that is applied already gives the result it had. A run for it that crashed or was cancelled is resumed.
    """
    with store.connect("applier") as connection:
        approval = _approval(connection, approval_id)
        settings = settings or namespace_settings(connection, approval.namespace)
        if (done := _applied(connection, approval)) is not None:
            return done
        if approval.expires_at <= datetime.now(UTC):
            raise Refused(
                f"The approval of plan {approval.plan_hash[:12]} expired on {approval.expires_at:%Y-%m-%d %H:%M} UTC. "
                f"Run `slowwave night {approval.namespace}` and approve the new plan."
            )
        plan = read_plan(connection, approval.plan_hash)
        verify_hash(plan)
        named = frozenset(approval.item_ids)
        items = {s.item.id: s.item for s in plan.items if s.item.id in named and s.status == "approved"}
        claim = claim_namespace(
            connection,
            approval.namespace,
            "apply",
            expiry_seconds=settings.heartbeat_expiry_seconds,
            plan_hash=approval.plan_hash,
            approval_id=approval_id,
            dagster_run_id=dagster_run_id,
        )
        try:
            return _run(connection, claim, approval, items, settings.batch_items, progress)
        except BaseException as problem:
            _note_crash(store, claim, problem)
            raise


@dataclass(frozen=True, slots=True)
class _Approved:
    id: str
    namespace: str
    plan_hash: str
    item_ids: Sequence[str]
    expires_at: datetime


def _approval(connection: Connection, approval_id: str) -> _Approved:
    row = connection.execute(
        "SELECT n.slug, a.plan_hash, a.item_ids::text[], a.expires_at FROM night.approvals a "
        "JOIN memory.namespaces n ON n.id = a.namespace_id WHERE a.id = %s",
        (approval_id,),
    ).fetchone()
    if row is None or not isinstance(row[2], list) or not isinstance(row[3], datetime):
        raise Refused(f"There is no approval {approval_id}. Apply follows an approval and nothing else.")
    return _Approved(approval_id, str(row[0]), str(row[1]), [str(i) for i in row[2]], row[3])


def _applied(connection: Connection, approval: _Approved) -> ApplyResult | None:
    row = connection.execute(
        "SELECT run_id::text, counts FROM night.applied WHERE approval_id = %s", (approval.id,)
    ).fetchone()
    if row is None:
        return None
    counts = row[1] if isinstance(row[1], dict) else {}
    return ApplyResult(
        str(row[0]), approval.namespace, approval.plan_hash, "completed", {str(k): int(v) for k, v in counts.items()}
    )


def _run(
    connection: Connection,
    claim: Claim,
    approval: _Approved,
    items: dict[str, Item],
    size: int,
    progress: Progress | None,
) -> ApplyResult:
    ids = list(items)
    for start in range(0, len(ids), size):
        batch = ids[start : start + size]
        try:
            going = _batch(connection, claim, approval, [items[i] for i in batch])
        except psycopg.errors.OperationalError:
            raise
        except psycopg.Error:
            going = _singly(connection, claim, approval, [items[i] for i in batch])
        if not going:
            counts = _counts(connection, approval)
            finish_run(connection, claim.run_id, ("applying",), "cancelled", counts=counts)
            return ApplyResult(claim.run_id, approval.namespace, approval.plan_hash, "cancelled", counts)
        if progress:
            progress(start + len(batch), len(ids))
    with connection.transaction():
        lock_batch(connection, claim)
        counts = _counts(connection, approval)
        connection.execute(
            "INSERT INTO night.applied (approval_id, namespace_id, plan_hash, run_id, counts) VALUES (%s, %s, %s, %s, %s)",
            (approval.id, claim.namespace_id, approval.plan_hash, claim.run_id, Jsonb(counts)),
        )
        finish_run(connection, claim.run_id, ("applying",), "completed", counts=counts)
    return ApplyResult(claim.run_id, approval.namespace, approval.plan_hash, "completed", counts)


def _batch(connection: Connection, claim: Claim, approval: _Approved, items: Sequence[Item]) -> bool:
    """One transaction; False when the run was cancelled before it."""
    with connection.transaction():
        if not lock_batch(connection, claim):
            return False
        _still_approved(connection, approval)
        waiting = _waiting(connection, approval.plan_hash, [i.id for i in items])
        todo = [i for i in items if i.id in waiting]
        if not todo:
            return True
        stale = apply_items(connection, claim.namespace_id, claim.run_id, todo)
        append_events(
            connection, claim.namespace_id, claim.run_id, "applied", [i.id for i in todo if i.id not in stale]
        )
        connection.execute(
            "UPDATE night.plan_items i SET status = 'skipped_stale', reason = s.reason "
            "FROM unnest(%s::uuid[], %s::text[]) s(item_id, reason) WHERE i.plan_hash = %s AND i.item_id = s.item_id",
            (list(stale), list(stale.values()), approval.plan_hash),
        )
        _mark(connection, approval.plan_hash, [i.id for i in todo if i.id not in stale], "applied", "")
    return True


def _singly(connection: Connection, claim: Claim, approval: _Approved, items: Sequence[Item]) -> bool:
    """A batch that failed, item by item: the one at fault fails alone."""
    for item in items:
        try:
            if not _batch(connection, claim, approval, [item]):
                return False
        except psycopg.errors.OperationalError:
            raise
        except psycopg.Error as problem:
            reason = f"The database refused it: {problem.diag.message_primary or type(problem).__name__}"
            with connection.transaction():
                _mark(connection, approval.plan_hash, [item.id], "failed", reason)
    return True


def _still_approved(connection: Connection, approval: _Approved) -> None:
    row = connection.execute(
        "SELECT 1 FROM night.approvals a JOIN night.plans p USING (plan_hash) WHERE a.id = %s AND a.plan_hash = %s",
        (approval.id, approval.plan_hash),
    ).fetchone()
    if row is None:
        raise Refused(
            f"The approval {approval.id} does not name plan {approval.plan_hash[:12]}. Nothing more was applied."
        )


def _waiting(connection: Connection, plan_hash: str, ids: list[str]) -> frozenset[str]:
    rows = connection.execute(
        "SELECT item_id::text FROM night.plan_items WHERE plan_hash = %s AND item_id = ANY(%s::uuid[]) AND status = 'approved' FOR UPDATE",
        (plan_hash, ids),
    )
    return frozenset(str(i) for (i,) in rows)


def _mark(connection: Connection, plan_hash: str, ids: list[str], status: str, reason: str) -> None:
    connection.execute(
        "UPDATE night.plan_items SET status = %s, reason = %s WHERE plan_hash = %s AND item_id = ANY(%s::uuid[])",
        (status, reason, plan_hash, ids),
    )


def _counts(connection: Connection, approval: _Approved) -> dict[str, int]:
    rows = connection.execute(
        "SELECT status, count(*) FROM night.plan_items WHERE plan_hash = %s AND item_id = ANY(%s::uuid[]) GROUP BY status",
        (approval.plan_hash, list(approval.item_ids)),
    )
    return {"applied": 0, "skipped_stale": 0, "failed": 0} | {str(s): int(str(n)) for s, n in rows}


def _note_crash(store: Store, claim: Claim, problem: BaseException) -> None:
    """Say on the run why it ended; a process that is killed cannot, and its heartbeat says it instead."""
    with store.connect("applier") as connection:
        finish_run(
            connection, claim.run_id, ("applying",), "crashed", error=f"{type(problem).__name__}: {_safe(problem)}"
        )


def _safe(problem: BaseException) -> str:
    """The first line of an error, without what a database error quotes of the rows."""
    if isinstance(problem, psycopg.Error):
        return problem.diag.message_primary or "the database ended the connection"
    return str(problem).split("\n", 1)[0][:500]


def waiting_approvals(store: Store, namespace: str | None = None, *, cancelled: bool = False) -> list[tuple[str, str]]:
    """Approvals without an ``applied`` row that a run may be started for: (approval, namespace), oldest first.

    Left out are expired ones, those with a run in flight and, unless ``cancelled``, those whose run a person cancelled.
    """
    closed = ["applying"] if cancelled else ["applying", "cancelled"]
    with store.connect("reader") as connection:
        rows = connection.execute(
            "SELECT a.id::text, n.slug FROM night.approvals a JOIN memory.namespaces n ON n.id = a.namespace_id "
            "WHERE a.expires_at > now() AND (%s::text IS NULL OR n.slug = %s) "
            "AND NOT EXISTS (SELECT 1 FROM night.applied d WHERE d.approval_id = a.id) "
            "AND NOT EXISTS (SELECT 1 FROM night.runs r WHERE r.approval_id = a.id AND r.state = ANY(%s)) ORDER BY a.recorded_at",
            (namespace, namespace, closed),
        )
        return [(str(a), str(n)) for a, n in rows]
