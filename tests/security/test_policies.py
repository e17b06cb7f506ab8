"""What an attacker tries on accepted policies who holds a login: a policy approves no more than a person accepted, by whatever login."""

from __future__ import annotations

import psycopg
import pytest

from slowwave.plans.policies import Policy
from slowwave.store.connect import Store
from slowwave.store.logins import ROLES
from tests.memories import ask
from tests.nights import new_world, write_a_plan
from tests.permitting import accept_operations, decide_by_policies
from tests.plans.review.reviews import Review
from tests.plans.review.test_rules import likeliest
from tests.plans.test_policies import accepted

CHANGES = (
    "UPDATE night.policies SET per_night = 1000",
    "DELETE FROM night.policies",
    "TRUNCATE night.policies CASCADE",
    "DELETE FROM night.policy_revocations",
    "TRUNCATE night.policy_revocations",
)


def _approve(review: Review, policy: Policy, items: list[str], approver: str = "policy") -> str:
    named = ", ".join(f"'{item}'" for item in items)
    return (
        "INSERT INTO night.approvals (id, namespace_id, plan_hash, approver, channel, item_ids, expires_at, policy_id) SELECT "
        f"gen_random_uuid(), namespace_id, plan_hash, '{approver}', '{approver}', ARRAY[{named}]::uuid[], expires_at, '{policy.id}' "
        f"FROM night.plans WHERE plan_hash = '{review.hash}'"
    )


def _accept(review: Review, by: str, **more: object) -> str:
    values = {"answered": 10, "agreed": 10, "least": 0, "per_night": 3, **more}
    columns, told = ", ".join(values), ", ".join(f"'{value}'" for value in values.values())
    return (
        f"INSERT INTO night.policies (namespace_id, plan_hash, operation, kind, says, accepted_by, {columns}) "
        f"VALUES ('{review.world.namespace_id}', '{review.hash}', 'dedupe_entities', '{{}}', 'all', '{by}', {told})"
    )


def test_only_the_approver_s_login_accepts_and_revokes_and_nobody_changes_what_is_there(
    store: Store,
) -> None:
    """Each login, and for what stands the owner too."""
    review, policy = accepted(store)
    end = (
        "INSERT INTO night.policy_revocations (policy_id, namespace_id, revoked_by, reason) "
        f"VALUES ('{policy.id}', '{review.world.namespace_id}', 'eve', 'so')"
    )
    items = likeliest(review)[:1]
    for role in ROLES:
        attempts = (
            CHANGES if role == "approver" else (*CHANGES, _accept(review, "eve"), end, _approve(review, policy, items))
        )
        with psycopg.connect(store.logins[role], autocommit=True) as attacker:
            for attempt in attempts:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    attacker.execute(attempt.encode())
    with store.connect("owner") as owner:
        for attempt in CHANGES[:3]:
            with pytest.raises(psycopg.Error, match="append-only"), owner.transaction():
                owner.execute(attempt.encode())


def test_the_approver_s_login_has_a_policy_approve_no_more_than_was_accepted(store: Store) -> None:
    """By hand, past the library: more than its limit, in two parts as well; an item that is less likely than what was answered; in a
    person's name; of no namespace's plan; by a policy that is none, or that is revoked."""
    review, policy = accepted(store)
    items = likeliest(review)
    with psycopg.connect(store.logins["approver"], autocommit=True) as approver:
        refused = (
            _approve(review, policy, items[:4]),
            _approve(review, policy, items[:1], approver="eve"),
            _accept(review, "policy"),
            _accept(review, "x"),
            _accept(review, "eve", agreed=11),
            _accept(review, "eve", per_night=1001),
            _accept(review, "eve", login="other"),
            _accept(review, "eve").replace(review.hash, "f" * 64),
        )
        for attempt in refused:
            with pytest.raises(psycopg.Error):
                approver.execute(attempt.encode())
        approver.execute(_accept(review, "mara", least=0.99).encode())
        ((sure,),) = ask(store, "SELECT id::text FROM night.policies WHERE least = 0.99")
        with pytest.raises(psycopg.Error, match="may not approve 1"):
            approver.execute(_approve(review, policy, items[:1]).replace(policy.id, str(sure)).encode())
        approver.execute(_approve(review, policy, items[:2]).encode())
        with pytest.raises(psycopg.Error, match="3 items a night"):
            approver.execute(_approve(review, policy, items[2:4]).encode())
        approver.execute(
            "INSERT INTO night.policy_revocations (policy_id, namespace_id, revoked_by, reason) VALUES (%s, %s, 'mara', 'so')",
            (policy.id, review.world.namespace_id),
        )
        with pytest.raises(psycopg.Error, match="does not stand"):
            approver.execute(_approve(review, policy, items[2:3]).encode())
    assert decide_by_policies(store, review.slug, review.hash).approvals == ()


def test_the_approver_s_login_has_a_low_risk_policy_approve_nothing_else(store: Store) -> None:
    """By hand, past the library: in the name of the former setting, as a rejection, without an operation, a question, another operation."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    policy = accept_operations(store, world.slug, ["archive_stale"], accepted_by="mara")

    def insert(
        by: str = "eve", verdict: str = "yes", kind: str = '{"operations": ["dedupe_entities"], "risk": "low"}'
    ) -> str:
        return (
            "INSERT INTO night.policies (namespace_id, operation, kind, says, answered, agreed, least, per_night, accepted_by, verdict) "
            f"VALUES ('{world.namespace_id}', 'x', '{kind}', 'all', 0, 0, 0, 9, '{by}', '{verdict}')"
        )

    def approve(item: str, by: str | None) -> str:
        named = f"'{by}'" if by else "NULL"
        return (
            "INSERT INTO night.approvals (id, namespace_id, plan_hash, approver, channel, item_ids, expires_at, policy_id) SELECT "
            f"gen_random_uuid(), namespace_id, plan_hash, 'policy', 'policy', ARRAY['{item}']::uuid[], expires_at, "
            f"{named} FROM night.plans WHERE plan_hash = '{plan.plan_hash}'"
        )

    asks = next(i.id for i in plan.items if i.decision == "review")
    merges = next(i.id for i in plan.items if i.decision == "merge")
    low = next(i.id for i in plan.items if i.operation == "archive_stale")
    with psycopg.connect(store.logins["approver"], autocommit=True) as approver:
        for attempt in (
            *(insert(by="setting"), insert(by="SETTING"), insert(verdict="no"), insert(kind='{"risk": "low"}')),
            *(insert(kind='{"operations": [], "risk": "low"}'), insert(kind='{"operations": ["x"], "risk": "high"}')),
            *(insert(kind="{}"), approve(asks, policy.id), approve(merges, policy.id), approve(low, None)),
        ):
            with pytest.raises(psycopg.Error):
                approver.execute(attempt.encode())
        approver.execute(insert().encode())
        ((wide,),) = ask(store, "SELECT id::text FROM night.policies WHERE accepted_by = 'eve'")
        with pytest.raises(psycopg.Error, match="may not approve 1"):
            approver.execute(approve(asks, str(wide)).encode())
        approver.execute(approve(merges, str(wide)).encode())
        approver.execute(approve(low, policy.id).encode())
