"""An approval as apply reads it, and whether it still holds: asked before a run begins, and in every batch under the namespace's lock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from psycopg.rows import class_row

from slowwave.config.settings import Settings
from slowwave.errors import ApprovalWithdrawn, Refused
from slowwave.plans.commands import argument
from slowwave.plans.gate import APPROVER, POLICY
from slowwave.plans.judgement import beyond_ordinary_caps
from slowwave.plans.latest import latest_plan
from slowwave.plans.ledger import StoredItem, StoredPlan
from slowwave.plans.permitted import approvable_by_policy
from slowwave.plans.policies import not_of_policy
from slowwave.plans.signatures import half_signed
from slowwave.store.connect import Connection

_READ: Final = """
SELECT a.id::text AS id, n.slug AS namespace, a.plan_hash, a.approver, a.channel, a.item_ids::text[] AS item_ids, a.expires_at,
  a.expires_at <= now() AS expired, coalesce(a.policy_id::text, '') AS policy_id
FROM night.approvals a JOIN memory.namespaces n ON n.id = a.namespace_id WHERE a.id = %s
"""
_GROUND: Final = """
SELECT p.state, r.revoked_by, r.reason,
  a.seal = p.seal AND p.seal = night.plan_seal(p.plan_hash, p.namespace_id, p.expires_at, p.probes, p.summary) AS holds,
  night.signatures_missing(a.id) AS missing
FROM night.approvals a JOIN night.plans p ON p.plan_hash = a.plan_hash AND p.namespace_id = a.namespace_id
LEFT JOIN night.revocations r ON r.approval_id = a.id WHERE a.id = %s AND a.plan_hash = %s
"""
_APPLIED_BY: Final = """
SELECT j.run_id::text, count(DISTINCT j.item_id) FROM night.journal j JOIN night.runs r ON r.id = j.run_id
JOIN night.plan_items i ON i.plan_hash = %s AND i.item_id = j.item_id AND i.status = 'applied'
WHERE r.approval_id = %s GROUP BY j.run_id ORDER BY j.run_id
"""


@dataclass(frozen=True, slots=True)
class Approved:
    """One row of ``night.approvals``. ``expired`` is by the database's clock; ``policy_id`` is empty unless an accepted policy gave it."""

    id: str
    namespace: str
    plan_hash: str
    approver: str
    channel: str
    item_ids: Sequence[str]
    expires_at: datetime
    expired: bool
    policy_id: str = ""


@dataclass(frozen=True, slots=True)
class _Ground:
    """What an approval rests on now: its plan's state, who revoked it and why, whether the seal is the one that was signed, and how many
    signatures it lacks."""

    state: str
    revoked_by: str | None
    reason: str | None
    holds: bool
    missing: int


def read_approval(connection: Connection, approval_id: str) -> Approved:
    """An approval by its id; an unknown one is refused."""
    with connection.cursor(row_factory=class_row(Approved)) as cursor:
        found = cursor.execute(_READ, (approval_id,)).fetchone()
    if found is None:
        raise Refused(f"There is no approval {approval_id}. Apply follows an approval and nothing else.")
    return found


def refuse_expired(approval: Approved) -> None:
    """Refuse an approval that is past its time. A run that began in time goes on."""
    if approval.expired:
        raise Refused(
            f"The approval of plan {approval.plan_hash[:12]} expired on {approval.expires_at:%Y-%m-%d %H:%M} UTC. "
            f"Run `slowwave night {argument(approval.namespace)}` and approve the new plan."
        )


def refuse_withdrawn(connection: Connection, approval: Approved) -> None:
    """Refuse an approval that is no longer one: revoked, of a plan that was rejected or superseded since, or of another seal; and one that
    lacks a signature.

    Raises ``ApprovalWithdrawn`` for what a person or a newer night took back, with what of it stands applied, and for what lacks a
    signature.
    """
    with connection.cursor(row_factory=class_row(_Ground)) as cursor:
        now = cursor.execute(_GROUND, (approval.id, approval.plan_hash)).fetchone()
    short = approval.plan_hash[:12]
    if now is None:
        raise Refused(f"The approval {approval.id} does not name plan {short}. Nothing more was applied.")
    if now.revoked_by is not None:
        reason = (now.reason or "").rstrip(".")
        message = f"The approval {approval.id} of plan {short} was revoked by {now.revoked_by}: {reason}."
    elif now.state == "superseded":
        newest = latest_plan(connection, approval.namespace) or ""
        message = f"Plan {short} was superseded by {newest[:12]} after it was approved: look at that one."
    elif now.state not in ("awaiting_approval", "approved"):
        message = f"Plan {short} is {now.state}, so its approval {approval.id} no longer holds."
    elif not now.holds:
        raise Refused(
            f"Plan {short} is not as it was signed: its probes, its summary or its expiry was changed. Nothing more was applied. "
            "Run the night again, and find out who wrote to night.plans."
        )
    elif now.missing:
        of_plan = half_signed(connection, approval.namespace, approval.plan_hash)
        told = next((f"{one.sentence()}: `{one.command()}`" for one in of_plan if one.approval_id == approval.id), "")
        message = f"The approval {approval.id} of plan {short} does not count yet. {told or 'A signature is missing'}."
    else:
        return
    raise ApprovalWithdrawn(f"{message} Nothing more was applied.{_stands(connection, approval)}")


def refuse_unsigned(
    connection: Connection, approval: Approved, plan: StoredPlan, items: Sequence[StoredItem], settings: Settings
) -> None:
    """Refuse an approval that nobody can have given: by a name that is none, or by a policy which may not approve all of ``items``."""
    short = approval.plan_hash[:12]
    if POLICY not in (approval.approver.lower(), approval.channel.lower()):
        if APPROVER.fullmatch(approval.approver):
            return
        raise Refused(
            f"The approval {approval.id} of plan {short} names nobody who may sign. Nothing was applied. Find out who wrote to "
            "night.approvals."
        )
    if beyond_ordinary_caps(plan.probes):
        raise Refused(
            f"Plan {short} retires or rewords so much that no policy may approve any of it, as approval {approval.id} does. Nothing was "
            f"applied. Revoke it: `slowwave plans revoke {argument(approval.namespace)} {approval.id[:8]} --by YOUR-NAME --reason WHY`, "
            f"and look at the plan: `slowwave plans show {argument(approval.namespace)}`."
        )
    if approval.policy_id:
        if why := not_of_policy(connection, approval.policy_id, plan, items):
            raise Refused(
                f"{why} Nothing of approval {approval.id} of plan {short} was applied. Revoke it: `slowwave plans revoke "
                f"{approval.namespace} {approval.id[:8]} --by YOUR-NAME --reason WHY`."
            )
        return
    beyond = [i for i in items if not approvable_by_policy(i.item, settings.auto_approve)]
    if beyond:
        raise Refused(
            f"The policy of {approval.namespace} may not approve {len(beyond):,} of the {len(items):,} items of approval {approval.id}, "
            f"such as {beyond[0].id} ({beyond[0].operation[:64]}). Nothing was applied. Revoke it: `slowwave plans revoke "
            f"{approval.namespace} {approval.id[:8]} --by YOUR-NAME --reason WHY`."
        )


def _stands(connection: Connection, approval: Approved) -> str:
    """What of it was applied before, and how to take it back."""
    rows = connection.execute(_APPLIED_BY, (approval.plan_hash, approval.id)).fetchall()
    return "".join(
        f" {n} of its items were applied before and stand: `slowwave undo {run}` takes them back." for run, n in rows
    )
