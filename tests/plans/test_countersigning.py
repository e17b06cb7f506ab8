"""Where one signature is not enough, nothing is applied before somebody else has signed; and the rule is the database's."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

import slowwave
from slowwave.errors import ApprovalWithdrawn, Refused
from slowwave.night.executor import apply_approval
from slowwave.night.status import digest, read_namespace_status
from slowwave.plans.gate import countersign, revoke, set_rule
from slowwave.plans.signatures import ApprovalRule, half_signed, read_rule
from slowwave.plans.waiting import waiting_approvals
from slowwave.store.connect import Store
from tests.memories import behind_triggers
from tests.nights import new_world, write_a_plan
from tests.permitting import approve


def test_two_people_sign_before_anything_is_applied(store: Store) -> None:
    """Apply, the sensor's list and the status say who signed and that one more has to; the second makes it count."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    set_rule(store, world.slug, signatures=2, set_by="root")
    approval = approve(store, world.slug, plan.plan_hash, approver="mara")
    assert approval.missing == 1
    assert "mara" in approval.lacks
    assert waiting_approvals(store, world.slug, cancelled=True) == []
    with pytest.raises(ApprovalWithdrawn, match="countersign") as told:
        apply_approval(store, approval.id)
    assert "Signed by mara, one more signature needed" in str(told.value)
    with store.connect("reader") as connection:
        (stands,) = read_namespace_status(connection, world.slug)
        (lacking,) = half_signed(connection, world.slug)
    assert (stands.approvals, stands.half_signed) == (0, 1)
    assert "to sign by somebody else" in digest([stands], datetime.now(UTC))
    assert (lacking.approval_id, lacking.items, list(lacking.signers)) == (
        approval.id,
        len(approval.item_ids),
        ["mara"],
    )
    for name in ("mara", "MARA"):
        with pytest.raises(Refused, match="somebody else"):
            countersign(store, world.slug, plan.plan_hash, signed_by=name)
    done = countersign(store, world.slug, plan.plan_hash[:12], signed_by="otto", note="seen")
    assert (done.approval_ids, done.missing, done.items) == ((approval.id,), 0, len(approval.item_ids))
    shown = done.to_json()
    assert (shown["plan_hash"], shown["signed_by"], shown["missing"]) == (plan.plan_hash, "otto", 0)
    assert waiting_approvals(store, world.slug) == [(approval.id, world.slug)]
    assert apply_approval(store, approval.id).counts["applied"] > 0
    with pytest.raises(Refused, match="No approval"):
        countersign(store, world.slug, plan.plan_hash, signed_by="zoe")


def test_countersign_plan_edited_after_first_approval_refuses(store: Store) -> None:
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    set_rule(store, world.slug, signatures=2, set_by="root")
    approval = approve(store, world.slug, plan.plan_hash, approver="mara")
    behind_triggers(store, "UPDATE night.plans SET expires_at = expires_at + interval '30 days'")
    with pytest.raises(Refused, match=r"its expiry was changed after sealing\. Nothing was signed\."):
        countersign(store, world.slug, plan.plan_hash, signed_by="otto")
    with store.connect("reader") as connection:
        (lacking,) = half_signed(connection, world.slug)
    assert (lacking.approval_id, list(lacking.signers)) == (approval.id, ["mara"])


def test_the_rule_counts_when_it_is_applied(store: Store) -> None:
    """A rule for all, one for a namespace, and a stricter one after the signature: what is approved and not applied is held to it."""
    world, other = new_world(store, 7), new_world(store, 400)
    _, plan = write_a_plan(store, world)
    approval = approve(store, world.slug, plan.plan_hash, approver="mara")
    set_rule(store, None, signatures=3, set_by="root")
    set_rule(store, other.slug, signatures=1, set_by="root")
    with store.connect("reader") as connection:
        assert read_rule(connection, world.slug) == ApprovalRule(3, set_by="root", of_all=True)
        assert read_rule(connection, other.slug) == ApprovalRule(1, set_by="root")
    countersign(store, world.slug, plan.plan_hash, signed_by="otto")
    with pytest.raises(ApprovalWithdrawn, match="Signed by mara, otto, one more"):
        apply_approval(store, approval.id)
    with pytest.raises(Refused, match="otto"):
        countersign(store, world.slug, plan.plan_hash, signed_by="otto")
    countersign(store, world.slug, plan.plan_hash, signed_by="zoe")
    assert apply_approval(store, approval.id).counts["applied"] > 0
    with pytest.raises(Refused, match="1 to 9"):
        set_rule(store, world.slug, signatures=0, set_by="root")
    with pytest.raises(Refused, match="policy"):
        set_rule(store, world.slug, signatures=2, set_by="policy")


def test_two_names_of_one_login_are_one_person_where_the_rule_says_so(store: Store) -> None:
    """On a server where each has a login of their own, a second name typed by the same person does not count."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    set_rule(store, world.slug, signatures=2, own_login=True, set_by="root")
    approval = approve(store, world.slug, plan.plan_hash, approver="mara")
    assert countersign(store, world.slug, plan.plan_hash, signed_by="otto").missing == 1
    own = replace(store, logins={role: login for role, login in store.logins.items() if role != "approver"})
    assert countersign(own, world.slug, plan.plan_hash, signed_by="zoe").missing == 0
    assert apply_approval(store, approval.id).counts["applied"] > 0


def test_from_python_and_what_is_withdrawn_needs_no_signature(store: Store) -> None:
    """``plan.lacking``, ``plan.countersign``, and a revoked approval that lacked one."""
    world = new_world(store)
    _, sealed = write_a_plan(store, world)
    set_rule(store, world.slug, signatures=2, not_author=True, set_by="root")
    plan = slowwave.plan(world.slug, plan_hash=sealed.plan_hash, store=store)
    plan.approve("mara")
    with pytest.raises(Refused, match="one more signature"):
        plan.apply()
    revoke(store, world.slug, plan.hash, revoked_by="otto", reason="too early")
    assert plan.lacking == ()
    plan.refresh()
    plan.approve("mara")
    (lacking,) = plan.lacking
    assert lacking.sentence().endswith("who did not ask for it")
    assert plan.countersign("otto").missing == 0
    assert plan.apply().counts["applied"] > 0
