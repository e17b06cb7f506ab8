"""Revocation: approvals that are withdrawn before they are applied, and what of them was applied already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from psycopg.rows import class_row

from slowwave.errors import Refused
from slowwave.plans.gate import POLICY, UNSETTLED, check_name, lock_plan
from slowwave.plans.latest import find_plan
from slowwave.plans.ledger import StoredPlan
from slowwave.runs.ledger import move_run
from slowwave.runs.locks import lock_batches
from slowwave.store.connect import Connection, Store
from slowwave.store.namespaces import namespace_id

_NOTE_REVOCATIONS: Final = """
INSERT INTO night.revocations (approval_id, namespace_id, plan_hash, revoked_by, reason)
  SELECT id, namespace_id, plan_hash, %s, %s FROM night.approvals WHERE id = ANY(%s::uuid[])
"""
_WAIT_ITEMS: Final = """
UPDATE night.plan_items i SET status = 'pending' FROM (SELECT DISTINCT unnest(item_ids) AS item_id FROM night.approvals
  WHERE id = ANY(%s::uuid[])) a WHERE i.plan_hash = %s AND i.item_id = a.item_id AND i.status = 'approved'
"""
_APPLIED_RUNS: Final = """
SELECT r.id::text, count(DISTINCT j.item_id) FROM night.runs r JOIN night.journal j ON j.run_id = r.id
  JOIN night.plan_items i ON i.plan_hash = r.plan_hash AND i.item_id = j.item_id AND i.status = 'applied'
  WHERE r.approval_id = ANY(%s::uuid[]) GROUP BY r.id, r.started_at ORDER BY r.started_at
"""
_APPROVALS_BY_PREFIX: Final = """
SELECT a.plan_hash, a.id::text FROM night.approvals a WHERE a.namespace_id = %s AND starts_with(a.id::text, %s) LIMIT 2
"""
_OPEN_APPROVALS: Final = """
SELECT a.id::text FROM night.approvals a WHERE a.plan_hash = %s AND NOT EXISTS (SELECT 1 FROM night.applied d
  WHERE d.approval_id = a.id) AND NOT EXISTS (SELECT 1 FROM night.revocations r WHERE r.approval_id = a.id) ORDER BY a.recorded_at
"""
_DECIDED: Final = """
SELECT a.id::text AS approval, d.run_id::text AS run, r.revoked_by FROM night.approvals a
LEFT JOIN night.applied d ON d.approval_id = a.id LEFT JOIN night.revocations r ON r.approval_id = a.id
WHERE a.plan_hash = %s AND (a.id = ANY(%s::uuid[]) OR %s) ORDER BY a.recorded_at DESC
"""
_WAIT_PLAN: Final = """
UPDATE night.plans p SET state = 'awaiting_approval' WHERE plan_hash = %s AND state = 'approved' AND NOT EXISTS (SELECT 1
  FROM night.plan_items i WHERE i.plan_hash = p.plan_hash AND i.status NOT IN ('pending', 'deferred', 'rejected'))
"""


@dataclass(frozen=True, slots=True)
class Revocation:
    """Approvals of one plan that were withdrawn: ``waiting`` of their items wait again, ``applied`` were applied before and stand, by the
    apply runs ``runs``, which undo takes back.
    """

    namespace: str
    plan_hash: str
    revoked_by: str
    approval_ids: tuple[str, ...]
    waiting: int
    applied: int
    runs: tuple[str, ...]


def revoke(store: Store, namespace: str, name: str, *, revoked_by: str, reason: str) -> Revocation:
    """Withdraw an approval, or all approvals of a plan: ``name`` is an approval's id or a plan's hash, or the first characters of one.

    Items that were not applied wait again, where the plan still stands; what was applied stands and is for undo. An apply run that is under
    way ends its batch first and then stops. Raises ``Refused`` where there is nothing left to withdraw.
    """
    check_name(revoked_by)
    if revoked_by.lower() == POLICY:
        raise Refused("A policy withdraws nothing: name the person who does, with --by. Nothing was revoked.")
    if not reason.strip():
        raise Refused("A revocation needs a reason, which stays on record with the approval. Give --reason.")
    with store.connect("approver") as connection, connection.transaction():
        lock_batches(connection, namespace_id(connection, namespace))
        plan_hash, approvals = _named_approvals(connection, namespace, name.strip().lower())
        plan = lock_plan(connection, namespace, plan_hash)
        _refuse_decided(connection, plan, approvals)
        connection.execute(
            _NOTE_REVOCATIONS,
            (revoked_by, reason.strip()[:2000], approvals),
        )
        waiting = 0
        if plan.state in UNSETTLED:
            waiting = connection.execute(
                _WAIT_ITEMS,
                (approvals, plan.plan_hash),
            ).rowcount
            _wait_again(connection, plan)
        rows = connection.execute(
            _APPLIED_RUNS,
            (approvals,),
        ).fetchall()
    return Revocation(
        *(namespace, plan.plan_hash, revoked_by, tuple(approvals), waiting),
        applied=sum(int(str(n)) for _, n in rows),
        runs=tuple(str(run) for run, _ in rows),
    )


def _named_approvals(connection: Connection, namespace: str, name: str) -> tuple[str, list[str]]:
    """The plan, and its approvals that are meant: the one that is named, or all that are neither applied nor revoked."""
    rows = (
        connection.execute(
            _APPROVALS_BY_PREFIX,
            (namespace_id(connection, namespace), name),
        ).fetchall()
        if len(name) >= 4
        else []
    )
    plans = {str(plan) for plan, _ in rows}
    if len(rows) == 1 and not any(plan.startswith(name) for plan in plans):
        return str(rows[0][0]), [str(rows[0][1])]
    if rows:
        raise Refused(
            f"{name[:64]!r} names more than one approval or plan of {namespace}. Give more of its characters."
        )
    plan_hash = find_plan(connection, namespace, name)
    of_plan = connection.execute(
        _OPEN_APPROVALS,
        (plan_hash,),
    )
    return plan_hash, [str(id_) for (id_,) in of_plan]


@dataclass(frozen=True, slots=True)
class _Decided:
    """What became of an approval: the run that applied it, who revoked it."""

    approval: str
    run: str | None
    revoked_by: str | None


def _refuse_decided(connection: Connection, plan: StoredPlan, approvals: Sequence[str]) -> None:
    """Refuse to revoke what is applied or revoked already, and where there is no approval."""
    short = plan.plan_hash[:12]
    with connection.cursor(row_factory=class_row(_Decided)) as cursor:
        rows = cursor.execute(_DECIDED, (plan.plan_hash, list(approvals), not approvals)).fetchall()
    for found in rows:
        if found.revoked_by is not None:
            raise Refused(f"The approval {found.approval} of plan {short} was revoked by {found.revoked_by} already.")
        if found.run is not None:
            raise Refused(
                f"The approval {found.approval} of plan {short} is applied: there is nothing left to withdraw. "
                f"Take back what it did with `slowwave undo {found.run}`."
            )
    if not rows:
        raise Refused(f"Plan {short} has no approval, so there is nothing to revoke.")


def _wait_again(connection: Connection, plan: StoredPlan) -> None:
    """A plan of which nothing is approved or applied any more waits as it did before it was signed."""
    changed = connection.execute(
        _WAIT_PLAN,
        (plan.plan_hash,),
    )
    if changed.rowcount:
        move_run(connection, plan.run_id, "awaiting_approval", ("approved",))
