"""What an attacker tries on rejections who holds a login: nothing is rejected but what waits, by whoever may, as the item says it, and by a
policy no more than a person accepted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import psycopg

from slowwave.plans.gate import set_rule
from slowwave.plans.policies import Policy, revoke_policy
from slowwave.store.connect import Store
from slowwave.store.logins import ROLES
from tests.memories import ask, behind_triggers
from tests.permitting import decide_by_policies
from tests.plans.review.reviews import Review, asking
from tests.plans.review.test_rules import likeliest
from tests.plans.test_policies import accepted

CHANGES = (
    "UPDATE night.rejections SET rejected_by = 'eve'",
    "DELETE FROM night.rejections",
    "TRUNCATE night.rejections CASCADE",
)

Values = Mapping[str, str]


def _reject(review: Review, items: Iterable[str], values: Values | None = None) -> str:
    """An INSERT as the library has it, of what the items say; ``values`` are SQL in place of some of it."""
    told = {
        "id": "gen_random_uuid()",
        "namespace_id": "namespace_id",
        "operation": "operation",
        "subject": "subject",
        "row_ids": "ARRAY[(mutation #>> '{keep,id}')::uuid, (mutation #>> '{absorb,0,id}')::uuid]",
        "reason": "'so'",
        "rejected_by": "'mara'",
        "plan_hash": "plan_hash",
        "item_id": "item_id",
        **(values or {}),
    }
    named = ", ".join(f"'{item}'" for item in items)
    return (
        f"INSERT INTO night.rejections ({', '.join(told)}) SELECT {', '.join(told.values())} FROM night.plan_items "
        f"WHERE plan_hash = '{review.hash}' AND item_id IN ({named})"
    )


def _by(policy: Policy | str) -> Values:
    """In the name of a policy."""
    return {"rejected_by": "'policy'", "policy_id": f"'{policy if isinstance(policy, str) else policy.id}'"}


def _accept(review: Review, **more: object) -> str:
    values = {"verdict": "no", "least": 0, "most": 1, "per_night": 3, "operation": "dedupe_entities", **more}
    columns, told = ", ".join(values), ", ".join(f"'{value}'" for value in values.values())
    return (
        f"INSERT INTO night.policies (namespace_id, plan_hash, kind, says, accepted_by, answered, agreed, {columns}) "
        f"VALUES ('{review.world.namespace_id}', '{review.hash}', '{{}}', 'all', 'mara', 10, 10, {told}) RETURNING id::text"
    )


def _passed(store: Store, role: str, attempts: Mapping[str, str]) -> list[str]:
    """Which of the attempts the database let through, by a login; each is rolled back."""
    passed: list[str] = []
    with psycopg.connect(store.logins.get(role, store.owner)) as attacker:  # type: ignore[arg-type]
        for name, attempt in attempts.items():
            try:
                with attacker.transaction(force_rollback=True):
                    if attacker.execute(attempt.encode()).rowcount != 0:
                        passed.append(name)
            except psycopg.Error:
                continue
    return passed


def test_whoever_decides_rejects_what_waits_as_it_says_itself_and_nobody_else(store: Store) -> None:
    """Every login: by the wrong one, in the name of an undo or a policy, backdated, of what does not wait, says something else or lies in
    another namespace, of a plan that is over. What is on record is changed by none, the owner's included."""
    review, other = asking(store), asking(store, 400)
    item, deciding = review.asked[:1], review.asked[1:2]
    honest = {"honest": _reject(review, item)}
    elsewhere = f"'{other.world.namespace_id}'"
    wrong: dict[str, Values] = {
        "no name": {"rejected_by": "'x'"},
        "an undo": {"rejected_by": "'undo'", "reason": "'undone'"},
        "an Undo": {"rejected_by": "'Undo'"},
        "a policy that is none": {"rejected_by": "'policy'"},
        "a Policy": {"rejected_by": "'Policy'"},
        "no reason": {"reason": "' '"},
        "backdated": {"recorded_at": "now() - interval '1 day'"},
        "another namespace": {"namespace_id": elsewhere},
        "another operation": {"operation": "'archive_stale'"},
        "another subject": {"subject": "repeat('0', 64)"},
        "other rows": {"row_ids": "ARRAY[gen_random_uuid()]"},
        "a part that nobody split": {
            "row_ids": "ARRAY[(mutation #>> '{keep,id}')::uuid]",
            "subject": "repeat('0', 64)",
        },
        "no item": {"item_id": "NULL"},
        "no plan": {"plan_hash": "NULL"},
        "another plan": {"plan_hash": f"'{other.hash}'"},
    }
    attempts = {name: _reject(review, item, values) for name, values in wrong.items()}
    attempts |= {change: change for change in CHANGES}
    assert _passed(store, "approver", honest) == ["honest"]
    assert _passed(store, "approver", attempts) == []
    for role in ROLES:
        if role != "approver":
            assert _passed(store, role, honest | attempts) == [], role
    with store.connect("approver") as approver:
        approver.execute(_reject(review, deciding).encode())
        approver.execute("UPDATE night.plan_items SET status = 'rejected' WHERE item_id = %s", (deciding[0],))
    assert _passed(store, "approver", {"twice": _reject(review, deciding)}) == []
    assert _passed(store, "owner", {change: change for change in CHANGES}) == []
    assert _passed(store, "applier", {"undo of what was not undone": _reject(review, item, wrong["an undo"])}) == []
    behind_triggers(
        store, "UPDATE night.plans SET expires_at = now() - interval '1 second' WHERE plan_hash = %s", review.hash
    )
    assert _passed(store, "approver", honest) == []


def test_a_policy_rejects_no_more_than_was_accepted(store: Store) -> None:
    """By hand, past the library: more than its limit, in two parts as well, by another login, in a person's name, by a policy of another
    namespace or that says yes, likelier than what was answered, where two have to sign, once it is revoked."""
    review, policy = accepted(store, verdict="no")
    other = asking(store, 400)
    items = likeliest(review)[::-1]
    made = {
        "yes": _accept(review, verdict="yes"),
        "elsewhere": _accept(other),
        "unlikely": _accept(review, most=0.01),
        "of another operation": _accept(review, operation="dedupe_memories"),
    }
    ids = {name: str(ask(store, statement)[0][0]) for name, statement in made.items()}
    honest = {"honest": _reject(review, items[:3], _by(policy))}
    approve = (
        "INSERT INTO night.approvals (id, namespace_id, plan_hash, approver, channel, item_ids, expires_at, policy_id) SELECT "
        f"gen_random_uuid(), namespace_id, plan_hash, 'policy', 'policy', ARRAY['{items[0]}']::uuid[], expires_at, '{policy.id}' "
        f"FROM night.plans WHERE plan_hash = '{review.hash}'"
    )
    attempts = {
        "over the limit": _reject(review, items[:4], _by(policy)),
        "in a person's name": _reject(review, items[:1], {**_by(policy), "rejected_by": "'mara'"}),
        "by none": _reject(review, items[:1], _by("00000000-0000-0000-0000-000000000000")),
        "it approves": approve,
        "limits that are none": _accept(review, least=0.9, most=0.1),
        "a verdict that is none": _accept(review, verdict="skip"),
        "backdated": _reject(review, items[:1], {**_by(policy), "recorded_at": "now() - interval '1 day'"}),
        **{name: _reject(review, items[:1], _by(id_)) for name, id_ in ids.items()},
    }
    assert _passed(store, "approver", honest) == ["honest"]
    assert _passed(store, "approver", attempts) == []
    for role in ROLES:
        if role != "approver":
            assert _passed(store, role, honest | attempts) == [], role
    set_rule(store, review.slug, signatures=2, set_by="root")
    assert _passed(store, "approver", honest) == [], "two have to sign"
    set_rule(store, review.slug, signatures=1, set_by="root")
    with store.connect("approver") as approver:
        approver.execute(_reject(review, items[:2], _by(policy)).encode())
    assert _passed(store, "approver", {"in two parts": _reject(review, items[2:4], _by(policy))}) == []
    revoke_policy(store, review.slug, policy.id, revoked_by="otto", reason="so")
    assert _passed(store, "approver", {"revoked": _reject(review, items[2:3], _by(policy))}) == []
    assert decide_by_policies(store, review.slug, review.hash).rejected == ()
