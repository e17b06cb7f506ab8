"""Further signatures under an approval, and the rule that asks for them.

Which approvals lack one is told by ``slowwave.plans.signatures``.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final

import psycopg

from slowwave.errors import Refused
from slowwave.plans.gate import check_approver, check_name, lock_plan, refuse_state
from slowwave.plans.ledger import verify_sealed
from slowwave.plans.signatures import ApprovalRule, half_signed, missing_signatures, read_rule
from slowwave.store.connect import Store
from slowwave.store.namespaces import namespace_id

MOST: Final = 9
"""Signatures that a rule may ask for."""

_SET: Final = """
INSERT INTO night.approval_rules (namespace_id, signatures, not_author, own_login, set_by) VALUES (%s, %s, %s, %s, %s)
"""
_SIGN: Final = """
INSERT INTO night.countersignatures (approval_id, namespace_id, plan_hash, signed_by, channel, note) VALUES (%s, %s, %s, %s, %s, %s)
"""


@dataclass(frozen=True, slots=True)
class Countersignature:
    """What a further signature did: the approvals that it is under, how many items they cover, and how many signatures are still needed."""

    namespace: str
    plan_hash: str
    signed_by: str
    approval_ids: tuple[str, ...]
    items: int
    missing: int

    def to_json(self) -> dict[str, object]:
        """As ``slowwave plans countersign --json`` shows it."""
        return asdict(self)


def countersign(
    store: Store, namespace: str, plan_hash: str, *, signed_by: str, channel: str = "library", note: str = ""
) -> Countersignature:
    """Sign what others approved of a plan and what lacks a signature: the same items, whole.

    Refused where nothing lacks one, where the name is one that signed already or that asked for the change and may not, and where the plan
    is over or not as it was sealed.
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
    """Say what approvals in a namespace need, or in all without a rule of their own. It takes the owner's login, and stays on record.

    It holds at once, also for what is approved and not applied yet.
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
