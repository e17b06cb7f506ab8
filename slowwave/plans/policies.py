"""Policies that people accepted: questions that nights answer without asking, and low-risk changes that they approve."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final, Literal

import psycopg
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from slowwave.errors import ProbesFailed, Refused
from slowwave.plans.commands import argument
from slowwave.plans.gate import (
    POLICY,
    Approval,
    beyond_ordinary_caps,
    check_name,
    disclosed_losses,
    lock_plan,
    refuse_state,
    reject_items,
    sign_items,
)
from slowwave.plans.ledger import StoredItem, StoredPlan, read_plan, verify_sealed
from slowwave.plans.permitted import RISKS, Permits
from slowwave.plans.states import waiting_plans
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id
from slowwave.text.tokens import suggest_name

# Kinds of questions whether two rows are the same: how the names compare, which values are equal, and why the planner doubts.
#
# The kinds are read only from the sealed evidence of one item, so the same item has the same kinds every night. A policy that a person
# accepts names one kind and answers it yes or no. A policy for yes covers nothing contradictory: two conflicting values, a name with an
# additional number, or groups that do not agree. A policy for no may rest on exactly that.

_MERGE: Final = "merge_rows"

Verdict = Literal["yes", "no"]
VERDICTS: Final[tuple[Verdict, ...]] = ("yes", "no")


@dataclass(frozen=True, slots=True)
class QuestionKind:
    """A kind of question, described in the words of the evidence.

    ``names`` states how the names compare, ``equal`` which values agree at least and ``differ`` which values do not; ``doubt`` is the
    planner's reason.
    """

    operation: str
    names: str
    equal: tuple[str, ...]
    doubt: str
    differ: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Return the kind as canonical JSON; equal kinds have equal keys."""
        return json.dumps(self.to_json(), ensure_ascii=False, sort_keys=True)

    def to_json(self) -> dict[str, object]:
        """Return the form that a policy stores, without ``differ`` if it is empty."""
        fields = {"operation": self.operation, "names": self.names, "equal": list(self.equal), "doubt": self.doubt}
        return {**fields, **({"differ": list(self.differ)} if self.differ else {})}

    def sentence(self) -> str:
        """Return what the questions have in common and why the planner doubts, without a full stop.

        It names columns, which are untrusted, and no value.
        """
        first, *rest = [
            phrase[:1].lower() + phrase[1:] for phrase in (self.names, *self.equal, *self.differ) if phrase
        ] or ["the evidence is alike"]
        description = ", ".join((first, *rest))
        return f"{description} ({self.doubt[:1].lower()}{self.doubt[1:].rstrip('.')})" if self.doubt else description


def kinds_of(item: StoredItem, verdict: Verdict = "yes") -> frozenset[QuestionKind]:
    """Return the kinds of an item's question for a policy with this verdict; empty if no policy may answer it.

    The kinds are: the names alone, the names with each value that agrees (for a no: that differs), and the names with all of them. Empty
    if the item asks something else, is about more than two rows, or, for a yes, if anything contradicts.
    """
    none = frozenset[QuestionKind]()
    if item.question != "same" or item.kind != _MERGE or not item.is_question:
        return none
    mutation, evidence = json.loads(item.mutation), json.loads(item.evidence)
    found: Any = evidence.get("waterfall") if isinstance(evidence, Mapping) else None
    doubt = str(evidence.get("reason") or "") if isinstance(evidence, Mapping) else ""
    if len(mutation.get("absorb") or ()) != 1 or mutation.get("deletes") or not isinstance(found, list):
        return none
    steps = [s for s in found if isinstance(s, Mapping) and isinstance(s.get("weight"), int | float)]
    named = [str(s.get("detail") or s["level"]) for s in steps if "level" in s]
    values = [s for s in steps if isinstance(s.get("value"), str)]
    against = [s for s in values if float(s["weight"]) < 0]
    if not named or (verdict == "yes" and (against or doubt in _contradictory())):
        return none
    details = sorted({str(s.get("detail") or s.get("evidence")) for s in (values if verdict == "yes" else against)})
    parts = {(), *((value,) for value in details), tuple(details)}
    if verdict == "yes":
        return frozenset(QuestionKind(item.operation, named[0], part, doubt) for part in parts)
    return frozenset(QuestionKind(item.operation, named[0], (), doubt, part) for part in parts)


@cache
def _contradictory() -> frozenset[str]:
    """Return the reasons for a doubt that are contradictions or a statement that only one of the two rows makes."""
    from slowwave.matching.review import CONTRADICTORY  # it loads SciPy

    return CONTRADICTORY


# Policies that people accepted, by which nights decide up to a limit per night. A policy either answers one kind of question, which a
# review taught (``slowwave.plans.review.rules`` decides which kinds are offered), or approves the low-risk items of some operations and
# never a question.

MOST_A_NIGHT: Final = 1_000

SETTING: Final = "setting"
"""The author of the policies that a migration made from the former setting ``auto_approve``; no person may use it."""

_POLICIES: Final = """
SELECT p.id::text AS id, n.slug AS namespace, p.operation, p.kind, p.verdict, p.says, p.answered, p.agreed, p.least, p.most, p.per_night,
  p.accepted_by, p.recorded_at, r.revoked_by, r.reason, night.policy_used(p.id) AS used, night.policy_undone(p.id) AS undone,
  (SELECT coalesce(sum(cardinality(a.item_ids)), 0) FROM night.approvals a WHERE a.policy_id = p.id)
  + (SELECT count(*) FROM night.rejections j WHERE j.policy_id = p.id) AS decided
FROM night.policies p JOIN memory.namespaces n ON n.id = p.namespace_id LEFT JOIN night.policy_revocations r ON r.policy_id = p.id
WHERE (%(namespace)s::text IS NULL OR n.slug = %(namespace)s) AND (%(id)s::uuid IS NULL OR p.id = %(id)s::uuid)
ORDER BY p.recorded_at, p.id
"""
_ACCEPT: Final = """
INSERT INTO night.policies
  (namespace_id, plan_hash, operation, kind, says, verdict, answered, agreed, least, most, per_night, accepted_by)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING id::text
"""
_REVOKE: Final = """
INSERT INTO night.policy_revocations (policy_id, namespace_id, revoked_by, reason) VALUES (%s, %s, %s, %s)
"""
_NOT_OF_POLICIES: Final = """
SELECT p.plan_hash FROM night.plans p JOIN night.runs r ON r.id = p.run_id
WHERE p.plan_hash = ANY(%s) AND r.parameters ?| ARRAY['dry_run', 'config']
"""
"""SQL: plans on which no policy decides: those of dry runs, and those made with settings of one call."""
_SAID: Final = """
SELECT DISTINCT item_id::text, verdict FROM (
  SELECT DISTINCT ON (d.item_id, d.reviewer) d.item_id, d.verdict FROM night.review_drafts d
  JOIN night.plan_items i ON i.item_id = d.item_id AND i.plan_hash = %s AND i.status = 'pending' AND i.namespace_id = d.namespace_id
  ORDER BY d.item_id, d.reviewer, d.id DESC) latest
WHERE verdict IN ('yes', 'no')
"""
"""SQL: the verdicts of reviewers on the pending items, in drafts of this plan or of an earlier one."""


class AcceptedAlready(Refused):
    """The namespace has an active policy of the same kind and verdict, or one for low-risk changes of more operations."""


@dataclass(frozen=True, slots=True)
class Policy:
    """An accepted kind of question, which nights answer with ``verdict``, or operations whose low-risk items nights approve.

    Of ``answered`` questions, ``agreed`` were answered with its ``verdict``. It answers questions of its kind with a probability from
    ``least`` to ``most``. A policy for low-risk items was learnt from no answers. Either decides at most ``per_night`` items a night.
    ``decided`` counts its decisions so far, ``used`` those of the last 20 hours. ``undone`` counts the decisions that were undone; after
    the first one it decides nothing more.
    """

    id: str
    namespace: str
    operation: str
    kind: Mapping[str, object]
    verdict: Verdict
    says: str
    answered: int
    agreed: int
    least: float
    most: float
    per_night: int
    accepted_by: str
    recorded_at: datetime
    revoked_by: str | None
    reason: str | None
    used: int
    undone: int
    decided: int

    @property
    def low_risk(self) -> tuple[str, ...]:
        """Return the operations whose low-risk items the policy approves; empty for a policy that answers questions."""
        found = self.kind.get("operations") if "risk" in self.kind else ()
        return tuple(map(str, found)) if isinstance(found, list | tuple) else ()

    @property
    def name(self) -> str:
        """Return who accepted it and when, such as ``policy of mara of 2026-11-25``."""
        return f"policy of {self.accepted_by} of {self.recorded_at:%Y-%m-%d}"

    @property
    def stands(self) -> bool:
        """Return whether the policy still decides anything."""
        return self.revoked_by is None and not self.undone

    @property
    def state(self) -> str:
        """Return whether the policy still decides, in words."""
        if self.revoked_by is not None:
            return f"revoked by {self.revoked_by}: {self.reason}"
        if self.undone:
            return f"stopped: something that it {self.did} was taken back"
        return "approves" if self.verdict == "yes" else "rejects"

    @property
    def basis(self) -> str:
        """Return what the policy rests on: the answers of a review, or nothing but the person who accepted it."""
        return f"{self.agreed:,} of {self.answered:,} like it were answered {self.verdict}" if self.answered else ""

    @property
    def did(self) -> str:
        """Return the policy's decision in the past tense: ``approved`` or ``rejected``."""
        return "approved" if self.verdict == "yes" else "rejected"

    def takes(self, item: StoredItem, losing: Iterable[str], permits: Permits) -> bool:
        """Return whether the policy may decide an item.

        A question must be of its kind, have a probability in its range and lose no value; ``losing`` are the rows that would lose one. An
        item of low risk must be one by its operation's permit, ask nothing and delete nothing.
        """
        if self.low_risk:
            return permits.approvable_by_policy(item.item, self.low_risk)
        return (
            self.least <= item.probability <= self.most
            and any(kind.to_json() == dict(self.kind) for kind in kinds_of(item, self.verdict))
            and not set(item.item.mutation.row_ids()) & set(losing)
        )

    def to_json(self) -> dict[str, object]:
        """Return the policy as ``slowwave policies list --json`` shows it."""
        fields = asdict(self)
        done = {"approved": 0, "rejected": 0, self.did: fields.pop("decided")}
        return {**fields, **done, "name": self.name, "state": self.state, "recorded_at": self.recorded_at.isoformat()}


def read_policies(connection: Connection, namespace: str | None = None, *, id_: str | None = None) -> list[Policy]:
    """Return the policies of a namespace or of all, oldest first, revoked ones included; or the one with a full id."""
    with connection.cursor(row_factory=class_row(Policy)) as cursor:
        return cursor.execute(_POLICIES, {"namespace": namespace, "id": id_}).fetchall()


def accept_policy(
    store: Store,
    plan: StoredPlan,
    kind: QuestionKind,
    *,
    answered: int,
    agreed: int,
    least: float,
    per_night: int,
    accepted_by: str,
    verdict: Verdict = "yes",
    most: float = 1.0,
) -> Policy:
    """Store a policy for the next nights of a plan's namespace.

    Raises ``Refused`` if a policy of the same kind and verdict is still active.
    """
    _check_acceptance(accepted_by, per_night)
    with store.connect("approver") as connection, connection.transaction():
        held = lock_plan(connection, plan.header.namespace, plan.plan_hash)
        scope = (
            held.header.namespace_id,
            held.plan_hash,
            kind.operation,
            Jsonb(kind.to_json()),
            kind.sentence()[:2000],
        )
        numbers = (verdict, answered, agreed, least, most, per_night, accepted_by)
        return _accept(connection, plan.header.namespace, kind.to_json(), verdict, (*scope, *numbers))


def accept_operations(
    store: Store,
    namespace: str,
    operations: Collection[str],
    permits: Permits,
    *,
    accepted_by: str,
    per_night: int = MOST_A_NIGHT,
) -> Policy:
    """Store a policy by which the next nights approve the low-risk items of ``operations`` in a namespace.

    Raises ``Refused`` for an operation that has no low-risk permit, and if a policy that covers the operations is still active.
    """
    _check_acceptance(accepted_by, per_night)
    names = sorted(set(operations))
    unfit = [
        name for name in names if not any(permit.risk == RISKS[0] for permit in permits.by_operation.get(name, ()))
    ]
    if unfit or not names:
        raise Refused(
            f"{unfit[0][:64] if unfit else 'No operation'} makes no low-risk change that a policy could approve."
            f"{suggest_name(unfit[0][:64], permits.by_operation) if unfit else ''} "
            "`slowwave operations` lists the operations. Nothing was accepted."
        )
    kind: dict[str, object] = {"operations": names, "risk": RISKS[0]}
    listed = ", ".join(names)
    with store.connect("approver") as connection, connection.transaction():
        scope = (namespace_id(connection, namespace), None, listed, Jsonb(kind), f"Low-risk changes by {listed}"[:2000])
        for other in read_policies(connection, namespace):
            if other.stands and set(names) < set(other.low_risk):
                covered = ", ".join(other.low_risk)
                raise AcceptedAlready(
                    f"The {other.name} covers {covered} already: revoke it first. Nothing was accepted."
                )
        return _accept(connection, namespace, kind, "yes", (*scope, "yes", 0, 0, 0.0, 1.0, per_night, accepted_by))


def _check_acceptance(accepted_by: str, per_night: int) -> None:
    """Refuse a name that accepts no policy and a limit that no policy has."""
    check_name(accepted_by)
    if accepted_by.lower() in (POLICY, SETTING):
        raise Refused(f"{accepted_by} is not a person: name the person who accepts the policy. Nothing was accepted.")
    if not 1 <= per_night <= MOST_A_NIGHT:
        raise Refused(f"A policy decides 1 to {MOST_A_NIGHT:,} items a night. Nothing was accepted.")


def _accept(
    connection: Connection, namespace: str, kind: Mapping[str, object], verdict: Verdict, row: Sequence[object]
) -> Policy:
    for other in read_policies(connection, namespace):
        if other.stands and (other.verdict, dict(other.kind)) == (verdict, kind):
            raise AcceptedAlready(f"The {other.name} is of this kind already: revoke it first. Nothing was accepted.")
    made = connection.execute(_ACCEPT, row).fetchone()
    (policy,) = read_policies(connection, namespace, id_=str(made[0]) if made else "")
    return policy


def revoke_policy(store: Store, namespace: str, name: str, *, revoked_by: str, reason: str) -> Policy:
    """End a policy, named by its id or its first characters.

    Items that it approved and that are not applied yet no longer count as approved, and items that it rejected may be proposed again.
    """
    check_name(revoked_by)
    if not reason.strip():
        raise Refused("Whoever finds the policy revoked should know why: give --reason. Nothing was revoked.")
    with store.connect("approver") as connection, connection.transaction():
        scope = namespace_id(connection, namespace)
        begin = name.strip().lower()
        found = [p for p in read_policies(connection, namespace) if len(begin) >= 4 and p.id.startswith(begin)]
        if len(found) != 1:
            what = "names several policies" if found else "is no policy"
            raise Refused(
                f"{name[:64]!r} {what} of {namespace}. `slowwave policies list {argument(namespace)}` lists them."
            )
        if found[0].revoked_by is not None:
            raise Refused(f"The {found[0].name} was revoked by {found[0].revoked_by} already.")
        try:
            connection.execute(_REVOKE, (found[0].id, scope, revoked_by, reason.strip()[:2000]))
        except psycopg.errors.CheckViolation:
            raise Refused("A policy revokes none: name the person who does. Nothing was revoked.") from None
        (ended,) = read_policies(connection, namespace, id_=found[0].id)
    return ended


@dataclass(frozen=True, slots=True)
class Decisions:
    """The decisions of policies in one night: their approvals, and the ids of the items that they rejected."""

    approvals: tuple[Approval, ...] = ()
    rejected: tuple[str, ...] = ()

    def items(self) -> frozenset[str]:
        """Return the ids of all items that were decided."""
        return frozenset((*self.rejected, *(id_ for approval in self.approvals for id_ in approval.item_ids)))


def decide_by_policies(
    store: Store, namespace: str, plan_hash: str, permits: Permits, *, only: Collection[str] | None = None
) -> Decisions:
    """Decide the items that a namespace's accepted policies cover, surest first, up to each policy's limit.

    Policies for low-risk items come first. Each policy gives one approval, or rejections. Nothing is approved of a plan whose probes
    failed or that exceeds the caps that hold without housekeeping, and no items that do so on their own. An item with a contrary draft of
    a reviewer is left to people. ``only`` restricts the items by id, to questions that were asked before. Cost without a policy: one
    query.
    """
    with store.connect("reader") as connection:
        policies = [p for p in read_policies(connection, namespace) if p.stands and p.used < p.per_night]
        if not policies:
            return Decisions()
        plan = read_plan(connection, plan_hash)
    with store.connect("approver") as connection:  # the only role that reads drafts
        drafted = {(str(item), str(verdict)) for item, verdict in connection.execute(_SAID, (plan_hash,))}
    approvable = not (plan.summary.get("needs_force") or beyond_ordinary_caps(plan.probes))
    losing = {row for row, _ in disclosed_losses(plan)}
    approvals: list[Approval] = []
    rejected: list[str] = []
    taken: set[str] = set()
    for policy in sorted(policies, key=lambda p: not p.low_risk):
        if (policy.verdict == "yes" and not approvable) or (policy.low_risk and only is not None):
            continue
        left = [s for s in plan.items if s.status == "pending" and s.id not in taken and (only is None or s.id in only)]
        surest_first, otherwise = (-1, "no") if policy.verdict == "yes" else (1, "yes")
        fitting = [s for s in left if (s.id, otherwise) not in drafted and policy.takes(s, losing, permits)]
        chosen = sorted(fitting, key=lambda s: (surest_first * s.probability, s.id))
        chosen = chosen[: policy.per_night - policy.used]
        if not chosen:
            continue
        if policy.verdict == "no":
            done = _reject(store, policy, plan, chosen)
            rejected += done
        else:
            approval = _approve(store, policy, plan, chosen, permits)
            approvals += [approval] if approval else []
            done = approval.item_ids if approval else ()
        taken.update(done)
    return Decisions(tuple(approvals), tuple(rejected))


def decide_carried(store: Store, namespace: str, carried: Collection[str], permits: Permits) -> Decisions:
    """Answer items that a night without new items proposed again, in the plans where they are pending, newest first.

    ``carried`` are ids of items. Plans of dry runs are skipped, because they are for people to read.
    """
    with store.connect("reader") as connection:
        if not carried or not any(p.stands for p in read_policies(connection, namespace)):
            return Decisions()
        waiting = waiting_plans(connection, namespace)
        excluded = {str(hash_) for (hash_,) in connection.execute(_NOT_OF_POLICIES, (waiting,))}
    made = Decisions()
    left = set(carried)
    for plan_hash in waiting:
        if plan_hash not in excluded:
            more = decide_by_policies(store, namespace, plan_hash, permits, only=left)
            left -= more.items()
            made = Decisions((*made.approvals, *more.approvals), (*made.rejected, *more.rejected))
    return made


def not_of_policy(
    connection: Connection, policy_id: str, plan: StoredPlan, items: Sequence[StoredItem], permits: Permits
) -> str:
    """Return a sentence on why a policy may not have approved ``items``; empty if it may."""
    found = read_policies(connection, id_=policy_id)
    if not found or found[0].revoked_by is not None:
        return f"The {found[0].name} was revoked by {found[0].revoked_by}." if found else "There is no such policy."
    if found[0].verdict != "yes":
        return f"The {found[0].name} says no, so it approves nothing."
    losing = {row for row, _ in disclosed_losses(plan)}
    beyond = [s for s in items if not found[0].takes(s, losing, permits)]
    return (
        f"The {found[0].name} may not approve {len(beyond):,} of the items, such as {beyond[0].id}." if beyond else ""
    )


def _approve(
    store: Store, policy: Policy, plan: StoredPlan, chosen: Sequence[StoredItem], permits: Permits
) -> Approval | None:
    """Return one approval by a policy, or None if the items fail their probes or the approval is refused.

    The approval's note is the policy's sentence. It is refused, for example, if the policy was revoked meanwhile.
    """
    ids = {s.id for s in chosen}
    try:
        with store.connect("approver") as connection, connection.transaction():
            held = lock_plan(connection, policy.namespace, plan.plan_hash)
            refuse_state(connection, held)
            verify_sealed(held, "approved")
            items = [s for s in held.items if s.id in ids]
            return sign_items(
                store, connection, held, items, POLICY, POLICY, permits, note=_why(policy), policy=policy.id
            )
    except (ProbesFailed, Refused):
        return None


def _reject(store: Store, policy: Policy, plan: StoredPlan, chosen: Sequence[StoredItem]) -> tuple[str, ...]:
    """Reject items by a policy, with its sentence as the reason; return the ids of the rejected items.

    Empty if the policy may not reject, or not any more.
    """
    ids = {s.id for s in chosen}
    try:
        with store.connect("approver") as connection, connection.transaction():
            held = lock_plan(connection, policy.namespace, plan.plan_hash)
            refuse_state(connection, held)
            verify_sealed(held, "rejected")
            items = [s for s in held.items if s.id in ids and s.status == "pending"]
            reject_items(connection, held, [(s, _why(policy)) for s in items], POLICY, policy=policy.id)
    except Refused:
        return ()
    return tuple(s.id for s in items)


def _why(policy: Policy) -> str:
    """Return the reason that is stored with a decision of a policy."""
    return f"By the {policy.name}: {policy.says}.{f' {policy.basis}.' if policy.basis else ''}"
