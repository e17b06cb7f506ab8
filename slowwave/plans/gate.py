"""The gate: approving and rejecting plans, by whatever surface. The Launchpad asset, the command line and policies all end here;
revoking approvals belongs to ``slowwave.plans.revocation``.

A refusal is a sentence for the operator. Rows that changed since never refuse a plan: their items are skipped at apply.
"""

from __future__ import annotations

import re
import uuid
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import psycopg
from psycopg.types.json import Jsonb

from slowwave.config.settings import Settings
from slowwave.errors import ProbesFailed, Refused
from slowwave.plans.commands import argument
from slowwave.plans.items import Item
from slowwave.plans.judgement import Judgement, beyond_ordinary_caps, judge
from slowwave.plans.latest import find_plan, latest_plan
from slowwave.plans.ledger import StoredItem, StoredPlan, read_plan, verify_sealed
from slowwave.plans.lowering import refuse_unexplained
from slowwave.plans.permitted import approvable_by_policy, refuse_unpermitted
from slowwave.plans.signatures import half_signed, missing_signatures, signed_by
from slowwave.runs.ledger import move_run
from slowwave.runs.locks import lock_batches
from slowwave.store.collector import few_collections
from slowwave.store.connect import Connection, Store
from slowwave.store.namespaces import namespace_id

_NOTE_APPROVAL: Final = """
INSERT INTO night.approvals (id, namespace_id, plan_hash, seal, approver, channel, item_ids, forced, note, expires_at, probes, policy_id)
  VALUES (%s, %s, %s, %s, %s, %s, %s::uuid[], %s, %s, %s, %s, nullif(%s, '')::uuid)
"""
_APPROVE_ITEMS: Final = """
UPDATE night.plan_items SET status = 'approved' WHERE plan_hash = %s AND item_id = ANY(%s::uuid[]) AND status = 'pending'
"""
_REOPEN_ITEMS: Final = """
UPDATE night.plan_items SET status = 'pending', reason = '' WHERE plan_hash = %s AND item_id = ANY(%s::uuid[]) AND status = 'failed'
"""
_APPROVE_PLAN: Final = "UPDATE night.plans SET state = 'approved' WHERE plan_hash = %s"
_NOTE_REJECTIONS: Final = """
COPY night.rejections (id, namespace_id, operation, subject, row_ids, reason, rejected_by, plan_hash, item_id{policy}) FROM STDIN
"""
_REJECT_ITEMS: Final = """
UPDATE night.plan_items i SET status = 'rejected', reason = s.reason FROM unnest(%s::uuid[], %s::text[]) s(item_id, reason)
  WHERE i.plan_hash = %s AND i.item_id = s.item_id
"""
_REJECT_PLAN: Final = "UPDATE night.plans SET state = 'rejected' WHERE plan_hash = %s"
_LOCK_PLAN: Final = "SELECT 1 FROM night.plans WHERE plan_hash = %s FOR UPDATE"
_IS_PAST: Final = "SELECT %s::timestamptz <= now()"

APPROVER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{1,63}")
"""Who may sign: letters, digits and ``. _ @ -``, 2 to 64 of them. Dagster's ``{env: NAME}`` cannot hide in it."""

UNSETTLED: Final = ("awaiting_approval", "approved")

POLICY: Final = "policy"
"""Who signs for a namespace's policy, and by which channel: nobody else does."""

UNDO: Final = "undo"
"""Who rejects what was undone."""


@dataclass(frozen=True, slots=True)
class Approval:
    """A signature on items of one plan. Nothing is applied while ``missing`` more are needed, by the rule of its namespace."""

    id: str
    namespace: str
    plan_hash: str
    approver: str
    item_ids: tuple[str, ...]
    forced: bool
    missing: int = 0

    @property
    def lacks(self) -> str:
        """``Signed by mara, one more signature needed``; empty where it counts."""
        return signed_by((self.approver,), self.missing) if self.missing else ""


def approve(
    store: Store,
    namespace: str,
    plan_hash: str,
    *,
    approver: str,
    channel: str = "library",
    items: Sequence[str] | None = None,
    without: Sequence[str] = (),
    include_review: bool = False,
    force: bool = False,
    note: str = "",
) -> Approval:
    """Sign a plan: all its pending items but ``review`` ones, or ``items`` (ids or their first characters, review items included).

    An item that failed when it was applied may be named in ``items`` again: the next apply tries it once more.
    ``without`` leaves out items (by id) and whole operations (by name), ``include_review`` adds the review items. What is signed has to
    pass its probes by itself (see ``slowwave.plans.judgement``); ``force`` with a ``note`` overrides that. Everything else that is wrong
    is refused: a plan that is over or not as it was sealed, an item that does what its operation may not.
    """
    check_approver(approver, channel)
    return _sign(
        *(store, namespace, plan_hash, approver, channel),
        items=items,
        without=without,
        include_review=include_review,
        force=force,
        note=note,
    )


@few_collections()
def _sign(
    store: Store,
    namespace: str,
    plan_hash: str,
    approver: str,
    channel: str,
    *,
    items: Sequence[str] | None,
    without: Sequence[str] = (),
    include_review: bool = False,
    force: bool = False,
    note: str = "",
) -> Approval:
    with store.connect("approver") as connection, connection.transaction():
        plan = lock_plan(connection, namespace, plan_hash)
        refuse_state(connection, plan)
        verify_sealed(plan, "approved")
        try:
            chosen = _without(plan, _choose(plan, items, include_review=include_review, retry=True), without)
        except Refused as problem:
            raise Refused(_with_lacking(connection, plan, str(problem))) from None
        return sign_items(store, connection, plan, chosen, approver, channel, force=force, note=note)


def sign_items(
    store: Store,
    connection: Connection,
    plan: StoredPlan,
    chosen: Sequence[StoredItem],
    approver: str,
    channel: str,
    *,
    force: bool = False,
    note: str = "",
    policy: str = "",
) -> Approval:
    """One approval of pending items of a plan that stands as it was sealed, within a transaction that holds it (``lock_plan``).

    ``policy`` is the id of the accepted policy by which it is given (``slowwave.plans.policies``). Refused where they do what their
    operation may not, or do not pass their probes and are not forced; to a policy also where the plan, or they with what is approved
    already, are beyond the caps that hold without housekeeping.
    """
    items = [s.item for s in chosen]
    refuse_unpermitted(items, "approved")
    refuse_unexplained(store, plan.header.namespace_id, items, "approved")
    judged = judge(store, connection, plan, chosen)
    _refuse_probes(plan, judged, force=force, note=note)
    if approver == POLICY and any(beyond_ordinary_caps(probes) for probes in (plan.probes, judged.record)):
        raise ProbesFailed(
            f"Plan {plan.plan_hash[:12]} retires or rewords so much that a person is to look at it: by a policy nothing of it is approved."
        )
    approval = Approval(
        *(str(uuid.uuid4()), plan.header.namespace, plan.plan_hash, approver, tuple(sorted(s.id for s in chosen))),
        force,
    )
    row = (
        *(approval.id, plan.header.namespace_id, plan.plan_hash, plan.seal, approver, channel),
        *(list(approval.item_ids), force, note[:2000], plan.expires_at, Jsonb(dict(judged.record)), policy),
    )
    if failed := [s.id for s in chosen if s.status == "failed"]:
        connection.execute(_REOPEN_ITEMS, (plan.plan_hash, failed))
    try:
        connection.execute(_NOTE_APPROVAL, row)
    except psycopg.errors.RaiseException as problem:  # such as by an author, where the rule keeps authors out
        raise Refused(f"{problem.diag.message_primary} Nothing was approved.") from None
    connection.execute(
        _APPROVE_ITEMS,
        (plan.plan_hash, list(approval.item_ids)),
    )
    connection.execute(_APPROVE_PLAN, (plan.plan_hash,))
    move_run(connection, plan.run_id, "approved", ("awaiting_approval",))
    return replace(approval, missing=missing_signatures(connection, approval.id))


def reject(
    store: Store, namespace: str, plan_hash: str, *, rejected_by: str, reason: str, items: Sequence[str] | None = None
) -> int:
    """Reject a plan, or some of its items; returns how many. They are not proposed again unless their rows change.

    A plan is rejected whole: what is approved and not applied goes with it, and its approvals hold no longer. What is applied stands.
    """
    check_name(rejected_by)
    if rejected_by.lower() in (POLICY, UNDO):
        raise Refused(
            f"{rejected_by} rejects by itself, and nobody does in its name. Give your own. Nothing was rejected."
        )
    if not reason.strip():
        raise Refused("A rejection needs a reason: whoever reads the next plan should know why. Give --reason.")
    with store.connect("approver") as connection, connection.transaction():
        lock_batches(connection, namespace_id(connection, namespace))
        plan = lock_plan(connection, namespace, plan_hash)
        refuse_state(connection, plan)
        whole = [s for s in plan.items if s.status in ("pending", "approved")] if items is None else []
        chosen = whole or _choose(plan, items, include_review=False)
        reject_items(connection, plan, [(s, reason) for s in chosen], rejected_by)
        if items is None:
            connection.execute(_REJECT_PLAN, (plan.plan_hash,))
            move_run(connection, plan.run_id, "rejected", ("awaiting_approval", "approved"))
    return len(chosen)


def reject_items(
    connection: Connection,
    plan: StoredPlan,
    chosen: Sequence[tuple[StoredItem, str]],
    rejected_by: str,
    instead: Mapping[str, Sequence[Item]] | None = None,
    *,
    policy: str = "",
) -> None:
    """Reject items of a plan, each for its reason, within a transaction that holds the plan (``lock_plan``).

    What is remembered of an item is the item, or what ``instead`` names by its id, where only a part of it was said no to. ``policy`` is
    the id of the accepted policy by which it is done. Raises ``Refused`` where the database refuses it.
    """
    made = [(s, reason[:2000], (instead or {}).get(s.id, (s.item,))) for s, reason in chosen]
    of_policy = (uuid.UUID(policy),) if policy else ()
    statement = _NOTE_REJECTIONS.format(policy=", policy_id" if policy else "")
    try:
        with connection.cursor() as cursor, cursor.copy(statement.encode()) as copy:
            for stored, reason, about in made:
                for item in about:
                    rows = [uuid.UUID(row) for row in item.mutation.row_ids()]
                    told = (uuid.uuid4(), plan.header.namespace_id, item.operation, item.subject(), rows)
                    copy.write_row((*told, reason, rejected_by, plan.plan_hash, stored.id, *of_policy))
    except psycopg.errors.RaiseException as problem:
        raise Refused(f"{problem.diag.message_primary} Nothing was rejected.") from None
    connection.execute(_REJECT_ITEMS, ([s.id for s, *_ in made], [reason for _, reason, _ in made], plan.plan_hash))


def approve_by_policy(store: Store, namespace: str, plan_hash: str, settings: Settings) -> Approval | None:
    """Approve the low-risk items of the operations that the namespace's policy names; None when there is nothing to approve.

    Off by default. What is of low risk is decided by ``slowwave.plans.permitted``, whatever the items say of themselves. A plan whose
    probes failed is never approved by a policy, nor are items that fail theirs by themselves. Nor is anything of a plan that passed only as
    housekeeping may touch more (``blast_radius_housekeeping_share``): what signs by itself keeps to the ordinary caps.
    """
    if not settings.auto_approve:
        return None
    with store.connect("reader") as connection:
        plan = read_plan(connection, plan_hash)
    if plan.summary.get("needs_force") or beyond_ordinary_caps(plan.probes):
        return None
    items = [s.id for s in plan.items if s.status == "pending" and approvable_by_policy(s.item, settings.auto_approve)]
    if not items:
        return None
    try:
        return _sign(store, namespace, plan_hash, POLICY, POLICY, items=items)
    except ProbesFailed:
        return None


def check_approver(approver: str, channel: str) -> None:
    """Refuse who cannot sign, and by which channel nobody does."""
    check_name(approver)
    if POLICY in (approver.lower(), channel.lower()):
        raise Refused("A policy approves by itself, and nobody signs in its name. Give your own. Nothing was approved.")
    if not channel.strip():
        raise Refused(
            "An approval says by which channel it came: `library`, or a name of your own. Nothing was approved."
        )


def check_name(name: str) -> None:
    """Refuse what is no name of an approver."""
    if not APPROVER.fullmatch(name):
        raise Refused(
            "Who approves or rejects must be named (--by NAME): 2 to 64 letters, digits or . _ @ -, beginning with a "
            "letter or digit. Nothing was written."
        )


def lock_plan(connection: Connection, namespace: str, prefix: str) -> StoredPlan:
    """The plan, its row held until the transaction ends."""
    found = find_plan(connection, namespace, prefix.strip())
    connection.execute(_LOCK_PLAN, (found,))
    return read_plan(connection, found)


def refuse_state(connection: Connection, plan: StoredPlan) -> None:
    """Refuse a plan that nobody can decide about any more."""
    short = plan.plan_hash[:12]
    namespace = plan.header.namespace
    if plan.state == "superseded":
        newest = latest_plan(connection, namespace) or ""
        raise Refused(
            f"Plan {short} was superseded by {newest[:12]}. Look at that one: `slowwave plans show {argument(namespace)}`."
        )
    if plan.state == "rejected":
        raise Refused(f"Plan {short} was rejected. Run `slowwave night {argument(namespace)}` for a new one.")
    if plan.state == "empty":
        raise Refused(f"Plan {short} is empty: there is nothing to decide.")
    expired = connection.execute(_IS_PAST, (plan.expires_at,)).fetchone()
    if plan.state == "expired" or (expired and expired[0]):
        raise Refused(
            f"Plan {short} expired on {plan.expires_at:%Y-%m-%d %H:%M} UTC. Run `slowwave night {argument(namespace)}` for a new one."
        )


def _refuse_probes(plan: StoredPlan, judged: Judgement, *, force: bool, note: str) -> None:
    isolation = plan.probes.get("isolation")
    if isinstance(isolation, dict) and not isolation.get("passed", True):
        raise Refused(
            f"Plan {plan.plan_hash[:12]} names rows of another namespace and can never be approved. Run the night again; "
            "if it happens again, the planner is at fault."
        )
    if judged.needs_force and not force:
        what = {"plan": "did not pass its probes", "nothing": "cannot be approved in part"}.get(
            str(judged.record.get("of")), "would not pass its probes with these items"
        )
        raise ProbesFailed(
            f"Plan {plan.plan_hash[:12]} {what}: {' '.join(judged.needs_force)} "
            "If it is right all the same, approve it with --force and --note saying why."
        )
    if force and not note.strip():
        raise Refused("--force needs a reason: give --note. Nothing was approved.")


def _choose(
    plan: StoredPlan, items: Sequence[str] | None, *, include_review: bool, retry: bool = False
) -> list[StoredItem]:
    """The items named, or all that may be decided; names that fit none or several are refused.

    With ``retry`` items that failed may be named as well.
    """
    short = plan.plan_hash[:12]
    open_ = ("pending", "failed") if retry else ("pending",)
    if items is not None:
        by_id = {s.id: s for s in plan.items}
        ids = sorted(by_id)
        named = dict.fromkeys(_find(ids, name, short) for name in items)
        if include_review:
            named |= dict.fromkeys(s.id for s in plan.items if s.status == "pending" and s.decision == "review")
        chosen = [by_id[id_] for id_ in named]
        for s in chosen:
            if s.status not in open_:
                why = f": {s.reason}" if s.reason and s.status not in ("approved", "applied") else "."
                raise Refused(f"Item {s.id} of plan {short} is {s.status} already{why}")
        return chosen
    chosen = [s for s in plan.items if s.status == "pending" and (include_review or s.decision != "review")]
    if chosen:
        return chosen
    waiting = sum(s.status == "pending" for s in plan.items)
    if waiting:
        raise Refused(
            f"Only {waiting} review items of plan {short} are left: name them with --items, or take them all with --include-review."
        )
    counts = {status: sum(s.status == status for s in plan.items) for status in sorted({s.status for s in plan.items})}
    message = ", ".join(f"{n} {status}" for status, n in counts.items())
    failed = [s.id for s in plan.items if s.status == "failed"]
    again = f" Name an item that failed with --items to try it again: {failed[0]}." if failed and retry else ""
    raise Refused(f"Plan {short} is already applied or decided: {message}. There is nothing left to approve.{again}")


def _with_lacking(connection: Connection, plan: StoredPlan, message: str) -> str:
    """A refusal, with what of the plan lacks a signature and how it is given."""
    lacking = half_signed(connection, plan.header.namespace, plan.plan_hash)
    return f"{message} {lacking[0].sentence()}: `{lacking[0].command()}`." if lacking else message


def _without(plan: StoredPlan, chosen: Sequence[StoredItem], names: Sequence[str]) -> list[StoredItem]:
    """The chosen items but those named, by id or by operation; to leave nothing is refused."""
    ids, operations = sorted(s.id for s in plan.items), {s.operation for s in plan.items}
    whole = {name.strip() for name in names} & operations
    out = {_find(ids, name, plan.plan_hash[:12]) for name in names if name.strip() not in whole}
    left = [s for s in chosen if s.id not in out and s.operation not in whole]
    if chosen and not left:
        raise Refused(f"Nothing of plan {plan.plan_hash[:12]} is left to approve without those items.")
    return left


def _find(ids: Sequence[str], name: str, plan: str) -> str:
    """The one of the sorted ``ids`` that begins with ``name``, which has at least four characters."""
    begin = name.strip().lower()
    first = bisect_left(ids, begin)
    found = [id_ for id_ in ids[first : first + 2] if id_.startswith(begin)] if len(begin) >= 4 else []
    if len(found) != 1:
        what = "names several items" if found else "is no item"
        raise Refused(f"{name[:64]!r} {what} of plan {plan}. `slowwave plans show NAMESPACE` lists them.")
    return found[0]
