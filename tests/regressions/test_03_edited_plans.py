"""Line 3: a plan could be edited between what a person read and what they signed.

`plans approve` looked at nothing but the state: items, the results of probes, `needs_force` and the expiry could be changed in the tables,
and an expired or superseded plan became approvable by writing `awaiting_approval` into its row. A raw INSERT signed with a blank name, or
as `policy`. Now a plan is sealed with its probes, its summary and its expiry, approve and apply hold it to that, and the database refuses
the edits themselves, with the planner's login as with the approver's.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import psycopg
import pytest

from slowwave.errors import Refused
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.plans.gate import reject
from slowwave.plans.ledger import expire_plans
from slowwave.store.connect import Store
from slowwave.store.logins import Role
from tests.nights import new_world, write_a_plan
from tests.permitting import approve
from tests.toy import toy
from tests.worlds import World

EDITS = {
    "an item": "UPDATE night.plan_items SET evidence = jsonb_set(evidence, '{probability}', '0.5')",
    "its risk": "UPDATE night.plan_items SET risk = 'medium'",
    "the probes": "UPDATE night.plans SET probes = jsonb_set(probes, '{recall}', '{\"passed\": true}')",
    "what needs force": "UPDATE night.plans SET summary = jsonb_set(summary, '{needs_force}', '[]')",
    "what people read": "UPDATE night.plans SET summary = jsonb_set(summary, '{sentences}', '[\"All is well.\"]')",
    "its expiry": "UPDATE night.plans SET expires_at = expires_at + interval '30 days'",
}


def waiting(store: Store) -> tuple[World, str]:
    """A plan that waits, and needs force."""
    world = new_world(store)
    return world, write_a_plan(store, world, needs_force=["Recall@10 would fall."])[1].plan_hash


@pytest.mark.parametrize("what", EDITS)
def test_an_edited_plan_is_neither_approved_nor_applied(store: Store, what: str) -> None:
    """Whoever gets past the triggers, as a superuser may, still signs and applies nothing."""
    world, hash_ = waiting(store)
    signed = approve(store, world.slug, hash_, approver="mara", force=True, note="seen")
    other, second = waiting(store)
    with store.connect("owner") as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(EDITS[what].encode())
    with pytest.raises(Refused, match="no longer matches"):
        approve(store, other.slug, second, approver="mara", force=True, note="seen")
    with pytest.raises(Refused, match=r"is not as it was signed|no longer matches"):
        apply_approval(store, signed.id)


@pytest.mark.parametrize("role", ["planner", "approver", "applier"])
@pytest.mark.parametrize("what", EDITS)
def test_no_login_edits_a_plan(store: Store, role: Role, what: str) -> None:
    """The planner writes plans and does not rewrite them."""
    waiting(store)
    with store.connect(role) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(EDITS[what].encode())
    with store.connect("owner") as connection, pytest.raises(psycopg.errors.RaiseException, match="sealed"):
        connection.execute(EDITS[what].encode())


@pytest.mark.parametrize("role", ["planner", "approver"])
@pytest.mark.parametrize("end", ["superseded", "rejected", "expired", "empty"])
def test_what_is_over_does_not_wait_again(store: Store, role: Role, end: str) -> None:
    """An UPDATE by whoever may write states brings no plan back."""
    world = new_world(store)
    _, plan = write_a_plan(store, world, expiry_days=0 if end == "expired" else 7, items=[] if end == "empty" else None)
    if end == "superseded":
        write_a_plan(store, world)
    elif end == "rejected":
        reject(store, world.slug, plan.plan_hash, rejected_by="mara", reason="no")
    elif end == "expired":
        assert expire_plans(store) == 1
    for state in ("awaiting_approval", "approved"):
        with (
            store.connect(role) as connection,
            pytest.raises((psycopg.errors.RaiseException, psycopg.errors.CheckViolation)),
        ):
            connection.execute("UPDATE night.plans SET state = %s WHERE plan_hash = %s", (state, plan.plan_hash))
    with pytest.raises(Refused):
        approve(store, world.slug, plan.plan_hash, approver="mara")
    with pytest.raises(psycopg.errors.RaiseException):
        sign(store, plan.plan_hash)


def test_a_plan_is_approved_by_an_approval_alone(store: Store) -> None:
    """Neither a state that is written nor one that a plan is born with stands for a signature."""
    _, hash_ = waiting(store)
    with store.connect("planner") as connection, pytest.raises(psycopg.errors.RaiseException, match="no approval"):
        connection.execute("UPDATE night.plans SET state = 'approved' WHERE plan_hash = %s", (hash_,))
    copy = (
        "INSERT INTO night.plans (plan_hash, namespace_id, run_id, snapshot_id, settings_fingerprint, state, expires_at) "
        "SELECT repeat('a', 64), namespace_id, run_id, snapshot_id, settings_fingerprint, 'approved', expires_at FROM night.plans"
    )
    with store.connect("planner") as connection, pytest.raises(psycopg.errors.RaiseException):
        connection.execute(copy)
    with store.connect("owner") as connection, pytest.raises(psycopg.errors.CheckViolation):
        connection.execute("ALTER TABLE night.plans DISABLE TRIGGER USER; UPDATE night.plans SET state = 'fine'")


def test_items_go_forward_alone(store: Store) -> None:
    """What is applied or rejected does not wait again, and no item is born approved."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    approval = approve(store, world.slug, plan.plan_hash, approver="mara")
    apply_approval(store, approval.id)
    for status in ("approved", "pending", "rejected"):
        with store.connect("approver") as connection, pytest.raises(psycopg.errors.RaiseException):
            connection.execute("UPDATE night.plan_items SET status = %s WHERE status = 'applied'", (status,))
    born = (
        "INSERT INTO night.plan_items (plan_hash, item_id, namespace_id, ordinal, operation, decision, risk, status, mutation) "
        "SELECT plan_hash, gen_random_uuid(), namespace_id, 99, operation, decision, risk, 'approved', mutation FROM night.plan_items "
        "LIMIT 1"
    )
    with store.connect("planner") as connection, pytest.raises(psycopg.errors.RaiseException):
        connection.execute(born)


@pytest.mark.parametrize(
    ("approver", "channel"),
    [
        *[(name, "cli") for name in ("", " ", "a", "mara\n", "{env: SECRET}", "x" * 65, "policy", "Policy")],
        *[("mara", "policy"), ("POLICY", "policy"), ("mara", "")],
    ],
)
def test_a_raw_approval_names_somebody(store: Store, approver: str, channel: str) -> None:
    """A blank name is none, and the policy's is nobody else's."""
    _, hash_ = waiting(store)
    with pytest.raises((psycopg.errors.CheckViolation, psycopg.errors.RaiseException)):
        sign(store, hash_, approver, channel)


def test_nobody_signs_as_the_policy_by_the_library(store: Store) -> None:
    """`--by policy` would pass for what the settings allow."""
    world, hash_ = waiting(store)
    for arguments in ({"approver": "policy"}, {"approver": "Policy"}, {"approver": "mara", "channel": "policy"}):
        with pytest.raises(Refused):
            approve(store, world.slug, hash_, force=True, note="seen", **arguments)


@pytest.mark.parametrize(
    "change",
    [
        {"expires_at": "p.expires_at + interval '1 day'"},
        {"item_ids": "'{}'"},
        {"item_ids": "array_agg(gen_random_uuid())"},
        {"item_ids": "array_agg(i.item_id) || array_agg(i.item_id)"},
        {"namespace_id": "(SELECT id FROM memory.namespaces WHERE slug = 'other')"},
    ],
)
def test_a_raw_approval_is_of_its_plan(store: Store, change: dict[str, str]) -> None:
    """It expires with the plan, names its items, and each once."""
    _, hash_ = waiting(store)
    with store.connect("owner") as connection:
        connection.execute("INSERT INTO memory.namespaces (id, slug) VALUES (gen_random_uuid(), 'other')")
    with pytest.raises(psycopg.errors.RaiseException):
        sign(store, hash_, **change)


def test_the_same_plan_again_keeps_its_hash_and_its_expiry(store: Store) -> None:
    """Planned twice as of one instant it is one plan: the seal is of the first, and approving it works."""
    toy(store)
    instant = datetime.now(UTC)
    first, second = (run_night(store, "toy", ops=("dedupe_memories",), now=instant) for _ in range(2))
    assert first.plan is not None
    assert second.plan is not None
    assert first.plan.plan_hash == second.plan.plan_hash
    assert approve(store, "toy", first.plan.plan_hash, approver="mara").item_ids


def sign(store: Store, plan_hash: str, approver: str = "mara", channel: str = "cli", **changed: str) -> None:
    """What somebody with the approver's login would write without the library."""
    values = {
        "namespace_id": "p.namespace_id",
        "item_ids": "array_agg(i.item_id)",
        "expires_at": "p.expires_at",
    } | changed
    with store.connect("approver") as connection:
        connection.execute(
            "INSERT INTO night.approvals (id, namespace_id, plan_hash, approver, channel, item_ids, expires_at) "
            f"SELECT %s, {values['namespace_id']}, p.plan_hash, %s, %s, {values['item_ids']}, {values['expires_at']} "
            "FROM night.plans p LEFT JOIN night.plan_items i USING (plan_hash) WHERE p.plan_hash = %s GROUP BY p.plan_hash".encode(),
            (uuid.uuid4(), approver, channel, plan_hash),
        )
