"""The gate: approving and rejecting plans, by whatever surface. The Launchpad asset, the command line and policies all end here.

A refusal is a sentence for the operator. Rows that changed since never refuse a plan: their items are skipped at apply.
"""

from __future__ import annotations

import re
import uuid
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from slowwave.errors import Refused
from slowwave.plans.ledger import StoredItem, StoredPlan, find_plan, finish_run, latest_plan, read_plan
from slowwave.settings import Settings
from slowwave.store.connect import Connection, Store

APPROVER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{1,63}")
"""Who may sign: letters, digits and ``. _ @ -``, 2 to 64 of them. Dagster's ``{env: NAME}`` cannot hide in it."""


@dataclass(frozen=True, slots=True)
class Approval:
    """A signature on items of one plan."""

    id: str
    namespace: str
    plan_hash: str
    approver: str
    item_ids: tuple[str, ...]
    forced: bool


def approve(
    store: Store,
    namespace: str,
    plan_hash: str,
    *,
    approver: str,
    channel: str = "library",
    items: Sequence[str] | None = None,
    include_review: bool = False,
    force: bool = False,
    note: str = "",
) -> Approval:
    """Sign a plan: all its pending items but ``review`` ones, or ``items`` (ids or their first characters, review items included).

    ``include_review`` adds the review items. ``force`` with a ``note`` overrides failed probes. Everything else that is wrong is refused.
    """
    _check_name(approver)
    with store.connect("approver") as connection, connection.transaction():
        plan = _lock(connection, namespace, plan_hash)
        _refuse_state(connection, plan)
        _refuse_probes(plan, force=force, note=note)
        chosen = _choose(plan, items, include_review=include_review)
        approval = Approval(
            str(uuid.uuid4()), namespace, plan.plan_hash, approver, tuple(sorted(s.item.id for s in chosen)), force
        )
        connection.execute(
            "INSERT INTO night.approvals (id, namespace_id, plan_hash, approver, channel, item_ids, forced, note, expires_at) "
            "VALUES (%s, %s, %s, %s, %s, %s::uuid[], %s, %s, %s)",
            (
                *(approval.id, plan.header.namespace_id, plan.plan_hash, approver, channel, list(approval.item_ids)),
                *(force, note[:2000], plan.expires_at),
            ),
        )
        connection.execute(
            "UPDATE night.plan_items SET status = 'approved' WHERE plan_hash = %s AND item_id = ANY(%s::uuid[]) AND status = 'pending'",
            (plan.plan_hash, list(approval.item_ids)),
        )
        connection.execute("UPDATE night.plans SET state = 'approved' WHERE plan_hash = %s", (plan.plan_hash,))
        finish_run(connection, plan.run_id, ("awaiting_approval",), "approved")
    return approval


def reject(
    store: Store, namespace: str, plan_hash: str, *, rejected_by: str, reason: str, items: Sequence[str] | None = None
) -> int:
    """Reject a plan, or some of its items; returns how many. They are not proposed again unless their rows change."""
    _check_name(rejected_by)
    if not reason.strip():
        raise Refused("A rejection needs a reason: whoever reads the next plan should know why. Give --reason.")
    with store.connect("approver") as connection, connection.transaction():
        plan = _lock(connection, namespace, plan_hash)
        _refuse_state(connection, plan)
        chosen = _choose(plan, items, include_review=items is None)
        ids = [s.item.id for s in chosen]
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO night.rejections (id, namespace_id, operation, subject, row_ids, reason, rejected_by, plan_hash, item_id) "
                "VALUES (gen_random_uuid(), %s, %s, %s, %s::uuid[], %s, %s, %s, %s)",
                [
                    (
                        *(
                            plan.header.namespace_id,
                            s.item.operation,
                            s.item.subject(),
                            list(s.item.mutation.row_ids()),
                        ),
                        *(reason[:2000], rejected_by, plan.plan_hash, s.item.id),
                    )
                    for s in chosen
                ],
            )
        connection.execute(
            "UPDATE night.plan_items SET status = 'rejected', reason = %s WHERE plan_hash = %s AND item_id = ANY(%s::uuid[])",
            (reason[:2000], plan.plan_hash, ids),
        )
        if items is None and plan.state == "awaiting_approval":
            connection.execute("UPDATE night.plans SET state = 'rejected' WHERE plan_hash = %s", (plan.plan_hash,))
            finish_run(connection, plan.run_id, ("awaiting_approval",), "rejected")
    return len(ids)


def approve_by_policy(store: Store, namespace: str, plan_hash: str, settings: Settings) -> Approval | None:
    """Approve the low-risk items of the operations that the namespace's policy names; None when there is nothing to approve.

    Off by default. A plan whose probes failed is never approved by a policy.
    """
    if not settings.auto_approve:
        return None
    with store.connect("reader") as connection:
        plan = read_plan(connection, plan_hash)
    if plan.summary.get("needs_force"):
        return None
    items = [
        s.item.id
        for s in plan.items
        if s.status == "pending"
        and s.item.operation in settings.auto_approve
        and s.item.risk == "low"
        and s.item.decision != "review"
    ]
    if not items:
        return None
    return approve(store, namespace, plan_hash, approver="policy", channel="policy", items=items)


def _check_name(name: str) -> None:
    if not APPROVER.fullmatch(name):
        raise Refused(
            "Who approves or rejects must be named: 2 to 64 letters, digits or . _ @ -, beginning with a letter or digit. "
            "Nothing was written."
        )


def _lock(connection: Connection, namespace: str, prefix: str) -> StoredPlan:
    found = find_plan(connection, namespace, prefix.strip())
    connection.execute("SELECT 1 FROM night.plans WHERE plan_hash = %s FOR UPDATE", (found,))
    return read_plan(connection, found)


def _refuse_state(connection: Connection, plan: StoredPlan) -> None:
    short = plan.plan_hash[:12]
    namespace = plan.header.namespace
    if plan.state == "superseded":
        newest = latest_plan(connection, namespace) or ""
        raise Refused(
            f"Plan {short} was superseded by {newest[:12]}. Look at that one: `slowwave plans show {namespace}`."
        )
    if plan.state == "rejected":
        raise Refused(f"Plan {short} was rejected. Run `slowwave night {namespace}` for a new one.")
    if plan.state == "empty":
        raise Refused(f"Plan {short} is empty: there is nothing to decide.")
    if plan.state == "expired" or plan.expires_at <= datetime.now(UTC):
        raise Refused(
            f"Plan {short} expired on {plan.expires_at:%Y-%m-%d %H:%M} UTC. Run `slowwave night {namespace}` for a new one."
        )


def _refuse_probes(plan: StoredPlan, *, force: bool, note: str) -> None:
    isolation = plan.probes.get("isolation")
    if isinstance(isolation, dict) and not isolation.get("passed", True):
        raise Refused(
            f"Plan {plan.plan_hash[:12]} names rows of another namespace and can never be approved. Run the night again; "
            "if it happens again, the planner is at fault."
        )
    failed = plan.summary.get("needs_force")
    if isinstance(failed, list) and failed and not force:
        raise Refused(
            f"Plan {plan.plan_hash[:12]} did not pass its probes: {' '.join(str(f) for f in failed)} "
            "If it is right all the same, approve it with --force and --note saying why."
        )
    if force and not note.strip():
        raise Refused("--force needs a reason: give --note. Nothing was approved.")


def _choose(plan: StoredPlan, items: Sequence[str] | None, *, include_review: bool) -> list[StoredItem]:
    """The items named, or all that may be decided; names that fit none or several are refused."""
    short = plan.plan_hash[:12]
    if items is not None:
        by_id = {s.item.id: s for s in plan.items}
        ids = sorted(by_id)
        named = dict.fromkeys(_find(ids, name, short) for name in items)
        if include_review:
            named |= dict.fromkeys(
                s.item.id for s in plan.items if s.status == "pending" and s.item.decision == "review"
            )
        chosen = [by_id[id_] for id_ in named]
        for s in chosen:
            if s.status != "pending":
                raise Refused(
                    f"Item {s.item.id} of plan {short} is {s.status} already{': ' + s.reason if s.reason else '.'}"
                )
        return chosen
    chosen = [s for s in plan.items if s.status == "pending" and (include_review or s.item.decision != "review")]
    if chosen:
        return chosen
    waiting = sum(s.status == "pending" for s in plan.items)
    if waiting:
        raise Refused(
            f"Only {waiting} review items of plan {short} are left: name them with --items, or take them all with --include-review."
        )
    counts = {status: sum(s.status == status for s in plan.items) for status in sorted({s.status for s in plan.items})}
    told = ", ".join(f"{n} {status}" for status, n in counts.items())
    raise Refused(f"Plan {short} is already applied or decided: {told}. There is nothing left to approve.")


def _find(ids: Sequence[str], name: str, plan: str) -> str:
    """The one of the sorted ``ids`` that begins with ``name``, which has at least four characters."""
    begin = name.strip().lower()
    first = bisect_left(ids, begin)
    found = [id_ for id_ in ids[first : first + 2] if id_.startswith(begin)] if len(begin) >= 4 else []
    if len(found) != 1:
        what = "names several items" if found else "is no item"
        raise Refused(f"{name[:64]!r} {what} of plan {plan}. `slowwave plans show` lists them.")
    return found[0]
