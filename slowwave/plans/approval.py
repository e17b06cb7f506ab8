"""Checks before anything is written (approval, kill switch, read-only namespace) and invariants of a namespace afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from psycopg.rows import class_row

from slowwave.errors import ApprovalWithdrawn, Refused
from slowwave.plans.commands import argument
from slowwave.plans.event_chain import verify_chain
from slowwave.plans.gate import APPROVER, POLICY, beyond_ordinary_caps
from slowwave.plans.ledger import StoredItem, StoredPlan
from slowwave.plans.permitted import Permits
from slowwave.plans.policies import not_of_policy
from slowwave.plans.signatures import half_signed
from slowwave.plans.states import latest_plan
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id

# The approval that an apply follows, and whether it still holds. Checked before a run begins, and in every batch under the namespace's
# lock.

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
    """One row of ``night.approvals``.

    ``expired`` is by the database's clock; ``policy_id`` is empty unless an accepted policy gave the approval.
    """

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
    """The current validity of an approval.

    It holds the plan's state, who revoked the approval and why, whether the seal is the one that was approved, and how many further
    approvers are missing.
    """

    state: str
    revoked_by: str | None
    reason: str | None
    holds: bool
    missing: int


def read_approval(connection: Connection, approval_id: str) -> Approved:
    """Return an approval by its id; raise ``Refused`` for an unknown id."""
    with connection.cursor(row_factory=class_row(Approved)) as cursor:
        found = cursor.execute(_READ, (approval_id,)).fetchone()
    if found is None:
        raise Refused(f"There is no approval {approval_id}. Apply follows an approval and nothing else.")
    return found


def refuse_expired(approval: Approved) -> None:
    """Refuse an approval that has expired. A run that began before the expiry continues."""
    if approval.expired:
        raise Refused(
            f"The approval of plan {approval.plan_hash[:12]} expired on {approval.expires_at:%Y-%m-%d %H:%M} UTC. "
            f"Run `slowwave night {argument(approval.namespace)}` and approve the new plan."
        )


def refuse_withdrawn(connection: Connection, approval: Approved) -> None:
    """Refuse an approval that no longer holds or that still lacks an approver.

    An approval no longer holds if it was revoked, if its plan was rejected or superseded since, or if its seal is another one. Raises
    ``ApprovalWithdrawn`` if a person or a newer night withdrew it or an approver is missing; the message names what of it is still
    applied. Raises ``Refused`` if the approval does not name the plan or the seal differs.
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
        next_step = next(
            (f"{one.sentence()}: `{one.command()}`" for one in of_plan if one.approval_id == approval.id), ""
        )
        message = (
            f"The approval {approval.id} of plan {short} does not count yet. {next_step or 'A signature is missing'}."
        )
    else:
        return
    raise ApprovalWithdrawn(f"{message} Nothing more was applied.{_stands(connection, approval)}")


def refuse_unsigned(
    connection: Connection, approval: Approved, plan: StoredPlan, items: Sequence[StoredItem], permits: Permits
) -> None:
    """Refuse an approval that no one can have given.

    This is an approval under an invalid name, or by a policy that may not approve all of ``items``.
    """
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
    why = (
        not_of_policy(connection, approval.policy_id, plan, items, permits)
        if approval.policy_id
        else "It names no accepted policy: the setting auto_approve gave it, which no longer exists."
    )
    if why:
        raise Refused(
            f"{why} Nothing of approval {approval.id} of plan {short} was applied. Revoke it: `slowwave plans revoke "
            f"{approval.namespace} {approval.id[:8]} --by YOUR-NAME --reason WHY`."
        )


def _stands(connection: Connection, approval: Approved) -> str:
    """Return sentences that name how many items were applied before, by run, and the command that undoes them."""
    rows = connection.execute(_APPLIED_BY, (approval.plan_hash, approval.id)).fetchall()
    return "".join(
        f" {n} of its items were applied before and stand: `slowwave undo {run}` takes them back." for run, n in rows
    )


# Invariants of a namespace after every apply and undo, checked in plain SQL. Nothing here repairs.
#
# Each result has its denominator: how many rows, cells or events were checked.

_RETIRED_ENDPOINTS: Final = """
SELECT count(*), count(*) FILTER (WHERE s.invalidated_by IS NOT NULL OR t.invalidated_by IS NOT NULL),
  count(*) FILTER (WHERE s.invalidated_at IS NOT NULL OR t.invalidated_at IS NOT NULL)
FROM memory.relationships r JOIN memory.entities s ON s.id = r.source_entity_id JOIN memory.entities t ON t.id = r.target_entity_id
WHERE r.namespace_id = %s AND r.invalidated_at IS NULL
"""
_PLANNED_AND_WRITTEN: Final = """
WITH last AS (
  SELECT approval_id, run_id, plan_hash FROM night.applied WHERE namespace_id = %s ORDER BY recorded_at DESC LIMIT 1
), items AS (
  SELECT i.item_id, i.mutation FROM last JOIN night.approvals a ON a.id = last.approval_id
  JOIN night.plan_items i ON i.plan_hash = last.plan_hash AND i.item_id = ANY(a.item_ids) WHERE i.status IN ('applied', 'undone')
), planned AS (
  SELECT item_id, w ->> 0, w ->> 1, w ->> 2, w ->> 3 FROM items, jsonb_array_elements(mutation -> 'writes') w
  UNION ALL SELECT item_id, d ->> 0, d ->> 1, d ->> 2, '' FROM items, jsonb_array_elements(mutation -> 'deletes') d
), written AS (
  SELECT j.item_id, table_name, row_id::text, row_key, column_name FROM night.journal j JOIN last USING (run_id) WHERE action <> 'insert'
), inserts AS (
  SELECT coalesce(sum(jsonb_array_length(mutation -> 'inserts')), 0) - (SELECT count(*) FROM night.journal j
    JOIN last USING (run_id) WHERE action = 'insert') AS spared FROM items
)
SELECT (SELECT count(*) FROM planned), (SELECT count(*) FROM (TABLE planned EXCEPT TABLE written) x),
  (SELECT count(*) FROM (TABLE written EXCEPT TABLE planned) x), (SELECT spared FROM inserts)
"""


@dataclass(frozen=True, slots=True)
class InvariantResult:
    """The result of an invariant check: whether it holds, how many were checked, how many are wrong, and a sentence."""

    holds: bool
    looked_at: int
    wrong: int
    sentence: str


def retired_endpoints(connection: Connection, namespace: str) -> InvariantResult:
    """Check that no live relationship touches an entity that a run retired.

    A merge moves the ends of its edges to the survivor and an archive ends its edges, so an edge that still leads to an entity that one
    of our items retired is an error. An edge to an entity that an agent retired is not an error; it is counted separately.
    """
    row = connection.execute(_RETIRED_ENDPOINTS, (namespace_id(connection, namespace),)).fetchone()
    live, ours, all_ = (int(str(n)) for n in row) if row else (0, 0, 0)
    return InvariantResult(
        not ours,
        live,
        ours,
        f"{ours:,} of {live:,} live relationships touch an entity that a run retired; {all_ - ours:,} touch one that was "
        "retired by others.",
    )


def changed_as_planned(connection: Connection, namespace: str) -> InvariantResult:
    """Check that the cells journalled by the last apply run are exactly those that its items planned to write.

    Rows that an item was to insert may exist already (an alias that another item brought): fewer inserts are no error, more are.
    """
    row = connection.execute(_PLANNED_AND_WRITTEN, (namespace_id(connection, namespace),)).fetchone()
    planned, missing, extra, spared = (int(str(n)) for n in row) if row else (0, 0, 0, 0)
    wrong = missing + extra + max(0, -spared)
    return InvariantResult(
        not wrong,
        planned,
        wrong,
        f"Of {planned:,} cells planned by the last apply run, {missing:,} were not written; {extra:,} were written unplanned; "
        f"{max(0, -spared):,} rows were inserted unplanned.",
    )


def event_chain(connection: Connection, namespace: str) -> InvariantResult:
    """Check that every event of the namespace is linked to the previous one by its hash."""
    events, broken = verify_chain(connection, namespace_id(connection, namespace))
    if broken is None:
        return InvariantResult(True, events, 0, f"All {events:,} events of the chain are linked.")
    return InvariantResult(
        False, events, 1, f"Event {broken:,} does not follow from the one before it: the chain was changed."
    )
