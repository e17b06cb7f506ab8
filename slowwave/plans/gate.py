"""The gate, which approves, countersigns, rejects and revokes plans by the probes of the night or of the approved items."""

from __future__ import annotations

import re
import uuid
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import psycopg
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from slowwave.errors import EmbeddingError, ProbesFailed, Refused, SnapshotError
from slowwave.plans.commands import approve_command, argument
from slowwave.plans.items import Item
from slowwave.plans.ledger import StoredItem, StoredPlan, read_plan, verify_sealed
from slowwave.plans.lowering import refuse_unexplained
from slowwave.plans.permitted import Permits
from slowwave.plans.seal import AS_OF
from slowwave.plans.signatures import ApprovalRule, half_signed, missing_signatures, read_rule, signed_by
from slowwave.plans.states import find_plan, latest_plan
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id
from slowwave.store.runs import lock_batches, move_run
from slowwave.store.settings import Settings
from slowwave.store.tables import few_collections
from slowwave.text.tokens import suggest_id

# Judging the items to be approved: by the probes of the night if they are all its items, else by separate probes.
#
# A part of a plan is simulated on the snapshot on which the plan was made. Items of the plan that were approved before belong to the
# part, so that several approvals cannot exceed a cap together that one could not exceed. Items that a person forced do not belong to it,
# because they were decided. Answers that a person gave to single questions, or for a group whose sample they checked, belong to the part
# but do not count against the caps of the blast radius, and rows that they end are not missed: a person looked at each of these changes.
# The approval records them.

_ANSWERED: Final = """
SELECT jsonb_array_elements_text(a.probes -> 'answered') FROM night.approvals a
WHERE a.plan_hash = %s AND jsonb_typeof(a.probes -> 'answered') = 'array' AND NOT EXISTS (SELECT 1 FROM night.revocations r
  WHERE r.approval_id = a.id)
"""
_FORCED: Final = """
SELECT unnest(a.item_ids)::text FROM night.approvals a WHERE a.plan_hash = %s AND a.forced AND NOT EXISTS (SELECT 1
  FROM night.revocations r WHERE r.approval_id = a.id)
"""
_SNAPSHOT: Final = "SELECT location, digest FROM night.snapshots WHERE id = %s AND namespace_id = %s"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result of judging items: ``needs_force`` has a sentence for each failed probe.

    ``record`` is stored with the approval and quotes no memory.
    """

    needs_force: tuple[str, ...]
    record: Mapping[str, object] = field(default_factory=dict)


def judge(
    store: Store,
    connection: Connection,
    plan: StoredPlan,
    chosen: Sequence[StoredItem],
    permits: Permits,
    *,
    answered: frozenset[str] = frozenset(),
) -> Judgement:
    """Judge the ``chosen`` items together with the items of the plan that are already approved.

    The rows of ``answered`` items, and of those that an earlier approval of the plan records as such, do not count against the caps of
    the blast radius, and the recall probe does not look for rows that they end without a replacement. Otherwise the probes judge them
    like any item.

    If these are the items that the night proved, its verdict holds and nothing is simulated; the same applies to a plan without probes. A
    part that cannot be judged needs force, because the verdict of the whole plan says nothing about a part. This happens if the snapshot
    is gone or cannot be searched with the embedding model of its night. Cost of a part: that of
    ``slowwave.plans.probes.radius.prove_subset`` and loading the embedding model, while ``connection`` stays open.
    """
    forced = _forced(connection, plan.plan_hash)
    accepted = [s for s in plan.items if s.status in ("approved", "applied") and s.id not in forced]
    together = {s.id for s in (*accepted, *chosen)}
    proved = {s.id for s in plan.items if s.status != "deferred" and not s.is_question}
    if together == proved or not plan.probes:
        return Judgement(_verdict(plan), {"of": "plan", "items": len(proved)})
    try:
        earlier = {str(id_) for (id_,) in connection.execute(_ANSWERED, (plan.plan_hash,))} - {s.id for s in chosen}
        items = [s.item for s in plan.items if s.id in together]
        return _part(_snapshot(store, plan), plan, items, permits, answered | earlier)
    except (SnapshotError, EmbeddingError, OSError) as problem:
        why = (
            "These items could not be judged by themselves, and what the whole plan passed says nothing of a part: "
            f"{problem if not isinstance(problem, OSError) else 'the files of its snapshot cannot be read.'}"
        )
        return Judgement((*_verdict(plan), why), {"of": "nothing", "items": len(together), "why": why})


def _part(
    snapshot: Snapshot, plan: StoredPlan, items: Sequence[Item], permits: Permits, answered: frozenset[str]
) -> Judgement:
    from slowwave.plans.probes.radius import prove_subset
    from slowwave.store.configured_models import embedder_for

    limits = plan.probes.get("limits")
    settings = Settings.for_namespace({**snapshot.settings, **(limits if isinstance(limits, dict) else {})})
    embedder = embedder_for(settings)
    usable = snapshot.vectors["entity_vectors"].model in ("", embedder.model)
    proof = prove_subset(
        *(snapshot, items, settings, embedder.embed if usable else None, permits),
        disclosed=disclosed_losses(plan),
        answered=answered,
    )
    return Judgement(proof.needs_force(), {"of": "items", "items": len(items), **proof.to_json()})


def _verdict(plan: StoredPlan) -> tuple[str, ...]:
    """Return the reasons why the whole plan needs force; empty if it passed its probes."""
    failed = plan.summary.get("needs_force")
    return tuple(str(f) for f in failed) if isinstance(failed, list) else ()


def disclosed_losses(plan: StoredPlan) -> frozenset[tuple[str, str]]:
    """Return (row, term) of every loss that the plan shows to its approvers."""
    probe = plan.probes.get("specifics")
    found = [loss for name in ("lost", "asked") for loss in probe.get(name) or ()] if isinstance(probe, dict) else []
    return frozenset((str(loss["row"]), str(loss["term"])) for loss in found)


def beyond_ordinary_caps(probes: Mapping[str, object]) -> bool:
    """Return whether the blast radius exceeds the row or token caps that hold without housekeeping, for any table or type.

    ``probes`` are the stored probe results of a plan or of a part of it. Returns False if no radius was measured, and True if it cannot
    be read. A policy approves nothing beyond these caps, because the wider share of housekeeping needs a person's review.
    """
    found: Any = probes.get("blast_radius")
    if found is None:
        return False
    try:
        tables, types = found["per_table"].values(), found["per_type"].values()
        radii = (*tables, *(radius for of_table in types for radius in of_table.values()))
        return any(r["retired"] + r["reworded"] > r["allowed"] or r["lost_tokens"] > r["allowed_tokens"] for r in radii)
    except (AttributeError, KeyError, TypeError):
        return True


def _forced(connection: Connection, plan_hash: str) -> frozenset[str]:
    rows = connection.execute(
        _FORCED,
        (plan_hash,),
    )
    return frozenset(str(id_) for (id_,) in rows)


def _snapshot(store: Store, plan: StoredPlan) -> Snapshot:
    """Return the snapshot on which the plan was made. Raises ``SnapshotError``.

    A plan as of an instant is sealed under that instant, and its summary holds the snapshot's id.
    """
    from slowwave.snapshots.files import database_base, load_listed_snapshot

    wanted = plan.header.snapshot_id
    if AS_OF in wanted:
        wanted = str(plan.summary.get("snapshot_id", ""))
    with store.connect("reader") as connection:
        row = connection.execute(
            _SNAPSHOT,
            (wanted, plan.header.namespace_id),
        ).fetchone()
    if row is None:
        raise SnapshotError(f"Snapshot {wanted[:64]} is not in the ledger.")
    base = database_base(store)
    snapshot = load_listed_snapshot(str(row[0]), plan.header.namespace, wanted, base, str(row[1]))
    if snapshot.namespace_id != plan.header.namespace_id:
        raise SnapshotError(f"The files of snapshot {wanted[:64]} are those of another one.")
    return snapshot


# The gate, which approves and rejects plans for every surface: the Launchpad asset, the command line and policies.
#
# A refusal is a sentence for the operator. Rows that changed since never cause a refusal of a plan: apply skips their items.

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
"""The form of an approver's name: 2 to 64 letters, digits or ``. _ @ -``. Dagster's ``{env: NAME}`` cannot be hidden in it."""

UNSETTLED: Final = ("awaiting_approval", "approved")

POLICY: Final = "policy"
"""The approver and the channel of approvals by a namespace's policy; no person may use them."""

UNDO: Final = "undo"
"""The name under which undone items are rejected."""


@dataclass(frozen=True, slots=True)
class Approval:
    """An approval of items of one plan.

    Nothing is applied while ``missing`` further approvers are needed by the namespace's rule.
    """

    id: str
    namespace: str
    plan_hash: str
    approver: str
    item_ids: tuple[str, ...]
    forced: bool
    missing: int = 0

    @property
    def lacks(self) -> str:
        """Return a phrase such as ``Signed by mara, one more signature needed``; empty if the approval counts."""
        return signed_by((self.approver,), self.missing) if self.missing else ""


@few_collections()
def approve(
    store: Store,
    namespace: str,
    plan_hash: str,
    *,
    approver: str,
    permits: Permits,
    channel: str = "library",
    items: Sequence[str] | None = None,
    without: Sequence[str] = (),
    include_review: bool = False,
    force: bool = False,
    note: str = "",
) -> Approval:
    """Approve all pending items of a plan except ``review`` ones, or ``items`` (ids or their first characters).

    ``items`` may name review items, and items whose apply failed: the next apply tries them again. ``without`` leaves out items (by id)
    and whole operations (by name); ``include_review`` adds the review items. The approved items have to pass the probes on their own (see
    ``slowwave.plans.gate``); ``force`` with a ``note`` overrides that. Raises ``Refused`` for every other fault: a plan that is over or
    not as it was sealed, and an item that does something its operation may not do.
    """
    check_approver(approver, channel)
    with store.connect("approver") as connection, connection.transaction():
        plan = lock_plan(connection, namespace, plan_hash)
        refuse_state(connection, plan)
        verify_sealed(plan, "approved")
        try:
            chosen = _without(plan, _choose(plan, items, include_review=include_review, retry=True), without)
        except Refused as problem:
            raise Refused(_with_lacking(connection, plan, str(problem))) from None
        return sign_items(store, connection, plan, chosen, approver, channel, permits, force=force, note=note)


def sign_items(
    store: Store,
    connection: Connection,
    plan: StoredPlan,
    chosen: Sequence[StoredItem],
    approver: str,
    channel: str,
    permits: Permits,
    *,
    force: bool = False,
    note: str = "",
    policy: str = "",
    answered: frozenset[str] = frozenset(),
) -> Approval:
    """Write one approval of pending items of a valid, sealed plan, in a transaction that locks it (``lock_plan``).

    ``answered`` are those of the items that a person answered one by one, or as a group whose sample they checked (``judge``).
    ``policy`` is the id of the accepted policy that gives the approval (``slowwave.plans.policies``). Raises ``Refused`` if an item does
    something its operation may not do, and ``ProbesFailed`` if the items fail their probes and are not forced. A policy is also refused
    if the plan, or the items together with those already approved, exceed the caps that hold without housekeeping.
    """
    items = [s.item for s in chosen]
    permits.refuse_unpermitted(items, "approved")
    refuse_unexplained(store, plan.header.namespace_id, items, "approved")
    judged = judge(store, connection, plan, chosen, permits, answered=answered)
    if answered:
        judged = replace(judged, record={**judged.record, "answered": sorted(answered)})
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
    """Reject a plan or some of its items; return how many. They are not proposed again unless their rows change.

    Rejecting a whole plan also rejects items that are approved and not applied, and its approvals no longer hold. Applied items remain
    applied.
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
    """Reject items of a plan, each with its reason, within a transaction that locks the plan (``lock_plan``).

    The rejection remembers the item, or the items that ``instead`` lists under its id if only a part of it was rejected. ``policy`` is
    the id of the accepted policy that rejects. Raises ``Refused`` if the database refuses it.
    """
    made = [(s, reason[:2000], (instead or {}).get(s.id, (s.item,))) for s, reason in chosen]
    of_policy = (uuid.UUID(policy),) if policy else ()
    statement = _NOTE_REJECTIONS.format(policy=", policy_id" if policy else "")
    try:
        with connection.cursor() as cursor, cursor.copy(statement.encode()) as copy:
            for stored, reason, about in made:
                for item in about:
                    rows = [uuid.UUID(row) for row in item.mutation.row_ids()]
                    fields = (uuid.uuid4(), plan.header.namespace_id, item.operation, item.subject(), rows)
                    copy.write_row((*fields, reason, rejected_by, plan.plan_hash, stored.id, *of_policy))
    except psycopg.errors.RaiseException as problem:
        raise Refused(f"{problem.diag.message_primary} Nothing was rejected.") from None
    connection.execute(_REJECT_ITEMS, ([s.id for s, *_ in made], [reason for _, reason, _ in made], plan.plan_hash))


def check_approver(approver: str, channel: str) -> None:
    """Refuse a name that cannot approve and a channel that no person uses."""
    check_name(approver)
    if POLICY in (approver.lower(), channel.lower()):
        raise Refused(
            "A policy approves by itself, and no one approves in its name. Give your own. Nothing was approved."
        )
    if not channel.strip():
        raise Refused(
            "An approval says by which channel it came: `library`, or a name of your own. Nothing was approved."
        )


def check_name(name: str) -> None:
    """Refuse a name that no approver can have."""
    if not APPROVER.fullmatch(name):
        raise Refused(
            "Who approves or rejects must be named (--by NAME): 2 to 64 letters, digits or . _ @ -, beginning with a "
            "letter or digit. Nothing was written."
        )


def lock_plan(connection: Connection, namespace: str, prefix: str) -> StoredPlan:
    """Return the plan and lock its row until the transaction ends."""
    found = find_plan(connection, namespace, prefix.strip())
    connection.execute(_LOCK_PLAN, (found,))
    return read_plan(connection, found)


def refuse_state(connection: Connection, plan: StoredPlan) -> None:
    """Refuse a plan that can no longer be decided."""
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
    """Return the named items, or all that can be decided; refuse names that match no item or several.

    With ``retry``, failed items may be named as well.
    """
    short = plan.plan_hash[:12]
    open_ = ("pending", "failed") if retry else ("pending",)
    if items is not None:
        by_id = {s.id: s for s in plan.items}
        ids = sorted(by_id)
        named = dict.fromkeys(_find(ids, name, plan) for name in items)
        if include_review:
            named |= dict.fromkeys(s.id for s in plan.items if s.status == "pending" and s.is_question)
        chosen = [by_id[id_] for id_ in named]
        for s in chosen:
            if s.status not in open_:
                why = f": {s.reason}" if s.reason and s.status not in ("approved", "applied") else "."
                raise Refused(
                    f"Item {s.id} of plan {short} is {s.status} already{why}{_rest(plan, chosen, open_, approves=retry)}"
                )
        return chosen
    chosen = [s for s in plan.items if s.status == "pending" and (include_review or not s.is_question)]
    if chosen:
        return chosen
    waiting = sum(s.status == "pending" for s in plan.items)
    if waiting:
        raise Refused(
            f"Only questions are left of plan {short} ({waiting:,}): name items with --items, or take them all with --include-review."
        )
    counts = {status: sum(s.status == status for s in plan.items) for status in sorted({s.status for s in plan.items})}
    message = ", ".join(f"{n} {status}" for status, n in counts.items())
    failed = [s.id for s in plan.items if s.status == "failed"]
    again = f" Name an item that failed with --items to try it again: {failed[0]}." if failed and retry else ""
    raise Refused(f"Plan {short} is already applied or decided: {message}. There is nothing left to approve.{again}")


def _rest(plan: StoredPlan, chosen: Sequence[StoredItem], open_: Sequence[str], *, approves: bool) -> str:
    """Return a sentence about the chosen items that are open, with the command that approves them; empty if there are none."""
    left = tuple(s.id[:8] for s in chosen if s.status in open_)
    if not left:
        return ""
    of = f" Nothing was written. {len(left):,} of the {len(chosen):,} named items {'is' if len(left) == 1 else 'are'} open: "
    return of + (
        f"`{approve_command(plan.header.namespace, plan.plan_hash, items=left)}`."
        if approves
        else f"{', '.join(left)}."
    )


def _with_lacking(connection: Connection, plan: StoredPlan, message: str) -> str:
    """Append to a refusal which approval of the plan lacks an approver and the command that adds one."""
    lacking = half_signed(connection, plan.header.namespace, plan.plan_hash)
    return f"{message} {lacking[0].sentence()}: `{lacking[0].command()}`." if lacking else message


def _without(plan: StoredPlan, chosen: Sequence[StoredItem], names: Sequence[str]) -> list[StoredItem]:
    """Return the chosen items without those named by id or by operation; refuse to leave nothing."""
    ids, operations = sorted(s.id for s in plan.items), {s.operation for s in plan.items}
    whole = {name.strip() for name in names} & operations
    out = {_find(ids, name, plan) for name in names if name.strip() not in whole}
    left = [s for s in chosen if s.id not in out and s.operation not in whole]
    if chosen and not left:
        raise Refused(f"Nothing of plan {plan.plan_hash[:12]} is left to approve without those items.")
    return left


def _find(ids: Sequence[str], name: str, plan: StoredPlan) -> str:
    """Return the only one of the sorted ``ids`` that begins with ``name``, which needs at least four characters."""
    begin = name.strip().lower()
    first = bisect_left(ids, begin)
    found = [id_ for id_ in ids[first : first + 2] if id_.startswith(begin)] if len(begin) >= 4 else []
    if len(found) != 1:
        what = "names several items" if found else "is no item"
        near = "" if found else suggest_id(begin[:64], ids)
        raise Refused(
            f"{name[:64]!r} {what} of plan {plan.plan_hash[:12]}.{near} "
            f"`slowwave plans show {argument(plan.header.namespace)} {plan.plan_hash[:12]}` lists them."
        )
    return found[0]


# Revocation: approvals that are withdrawn before they are applied, and which of their items were applied already.

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
    """Withdrawn approvals of one plan.

    ``waiting`` counts their items that are pending again. ``applied`` counts the items that were applied before and remain applied;
    ``runs`` are the apply runs to undo for them.
    """

    namespace: str
    plan_hash: str
    revoked_by: str
    approval_ids: tuple[str, ...]
    waiting: int
    applied: int
    runs: tuple[str, ...]


def revoke(store: Store, namespace: str, name: str, *, revoked_by: str, reason: str) -> Revocation:
    """Withdraw an approval or all approvals of a plan.

    ``name`` is an approval's id or a plan's hash, or the first characters of one. Items that were not applied are pending again if the
    plan is still valid. Applied items remain applied; undo removes them. A running apply finishes its batch and then stops. Raises
    ``Refused`` if nothing is left to withdraw.
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
    """Return the plan and the approvals that ``name`` means: the one it names, or all that are neither applied nor revoked."""
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
    """The fate of an approval: the run that applied it and the person who revoked it."""

    approval: str
    run: str | None
    revoked_by: str | None


def _refuse_decided(connection: Connection, plan: StoredPlan, approvals: Sequence[str]) -> None:
    """Refuse to revoke an approval that is already applied or revoked, and a plan without an approval."""
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
    """Return a plan to ``awaiting_approval`` if none of its items is approved or applied any more."""
    changed = connection.execute(
        _WAIT_PLAN,
        (plan.plan_hash,),
    )
    if changed.rowcount:
        move_run(connection, plan.run_id, "awaiting_approval", ("approved",))


# Further approvals under an existing one, and the rule that requires them.
#
# ``slowwave.plans.signatures`` lists the approvals that lack one.

MOST: Final = 9
"""The largest number of approvals that a rule may require."""

_SET: Final = """
INSERT INTO night.approval_rules (namespace_id, signatures, not_author, own_login, set_by) VALUES (%s, %s, %s, %s, %s)
"""
_SIGN: Final = """
INSERT INTO night.countersignatures (approval_id, namespace_id, plan_hash, signed_by, channel, note) VALUES (%s, %s, %s, %s, %s, %s)
"""


@dataclass(frozen=True, slots=True)
class Countersignature:
    """The result of a further approval: the approvals it joined, how many items they cover, how many more are needed."""

    namespace: str
    plan_hash: str
    signed_by: str
    approval_ids: tuple[str, ...]
    items: int
    missing: int

    def to_json(self) -> dict[str, object]:
        """Return the result as ``slowwave plans countersign --json`` shows it."""
        return asdict(self)


def countersign(
    store: Store, namespace: str, plan_hash: str, *, signed_by: str, channel: str = "library", note: str = ""
) -> Countersignature:
    """Add a further approval to the approvals of a plan that lack one, for all of their items.

    Raises ``Refused`` if no approval lacks one, if the name already approved or asked for the change and may not approve it, and if the
    plan is over or not as it was sealed.
    """
    check_approver(signed_by, channel)
    with store.connect("approver") as connection, connection.transaction():
        plan = lock_plan(connection, namespace, plan_hash)
        refuse_state(connection, plan)
        verify_sealed(plan, "signed")
        lacking = half_signed(connection, namespace, plan.plan_hash)
        short = plan.plan_hash[:12]
        if not lacking:
            raise Refused(f"No approval of plan {short} lacks a signature. Nothing was signed.")
        own = [one for one in lacking if signed_by.lower() in {name.lower() for name in one.signers}]
        rest = [one for one in lacking if one not in own]
        if not rest:
            raise Refused(f"{own[0].sentence()}: somebody else has to sign plan {short}. Nothing was signed.")
        for one in rest:
            row = (one.approval_id, plan.header.namespace_id, plan.plan_hash, signed_by, channel, note[:2000])
            try:
                connection.execute(_SIGN, row)
            except psycopg.errors.RaiseException as problem:
                raise Refused(f"{problem.diag.message_primary} Nothing was signed.") from None
        left = max(missing_signatures(connection, one.approval_id) for one in rest)
    ids = tuple(one.approval_id for one in rest)
    return Countersignature(namespace, plan.plan_hash, signed_by, ids, sum(one.items for one in rest), left)


def set_rule(
    store: Store,
    namespace: str | None,
    *,
    signatures: int,
    set_by: str,
    not_author: bool = False,
    own_login: bool = False,
) -> ApprovalRule:
    """Set what approvals need in a namespace, or in all namespaces without their own rule. Needs the owner's login.

    The rule is recorded and takes effect at once, also for items that are approved and not applied yet.
    """
    check_name(set_by)
    if not 1 <= signatures <= MOST:
        raise Refused(f"An approval needs 1 to {MOST} signatures. The rule is as it was.")
    with store.connect("owner") as connection:
        scope = namespace_id(connection, namespace) if namespace is not None else None
        try:
            connection.execute(_SET, (scope, signatures, not_author, own_login, set_by))
        except psycopg.errors.CheckViolation:
            raise Refused("A policy sets no rule: name the person who does. The rule is as it was.") from None
        return read_rule(connection, namespace)
