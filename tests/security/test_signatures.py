"""What an attacker tries on further signatures who holds a login: with none of them is anything applied that lacks one."""

from __future__ import annotations

import psycopg
import pytest

from slowwave.plans.gate import Approval, countersign, revoke, set_rule
from slowwave.store.connect import Store
from slowwave.store.logins import ROLES
from tests.memories import ask
from tests.nights import new_world, write_a_plan
from tests.permitting import approve

CHANGES = (
    "UPDATE night.countersignatures SET signed_by = 'eve'",
    "DELETE FROM night.countersignatures",
    "TRUNCATE night.countersignatures",
    "UPDATE night.approval_rules SET signatures = 1",
    "DELETE FROM night.approval_rules",
    "TRUNCATE night.approval_rules",
    "UPDATE night.approvals SET login = 'eve'",
)


@pytest.fixture
def half(store: Store) -> tuple[Store, Approval, str]:
    """An approval by mara of a plan that eve asked for, where two people sign who did not: the store, it, and the namespace's id."""
    world = new_world(store)
    _, plan = write_a_plan(store, world, by=["eve"])
    set_rule(store, world.slug, signatures=2, not_author=True, set_by="root")
    return store, approve(store, world.slug, plan.plan_hash, approver="mara"), str(world.namespace_id)


def _sign(approval: Approval, scope: str, name: str, plan: str = "") -> str:
    return (
        "INSERT INTO night.countersignatures (approval_id, namespace_id, plan_hash, signed_by, channel) "
        f"VALUES ('{approval.id}', '{scope}', '{plan or approval.plan_hash}', '{name}', 'cli')"
    )


@pytest.mark.parametrize("role", ROLES)
def test_no_login_but_the_owner_s_makes_the_rule_and_none_changes_what_is_there(
    half: tuple[Store, Approval, str], role: str
) -> None:
    store, approval, scope = half
    rule = f"INSERT INTO night.approval_rules (namespace_id, signatures, set_by) VALUES ('{scope}', 1, 'eve')"
    attempts = [rule, *CHANGES, *([] if role == "approver" else [_sign(approval, scope, "otto")])]
    with psycopg.connect(store.logins[role], autocommit=True) as attacker:
        for attempt in attempts:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                attacker.execute(attempt.encode())


def test_the_owner_changes_nothing_that_stands_either(half: tuple[Store, Approval, str]) -> None:
    """Rules and signatures are added to; who signed is on record."""
    store, approval, _ = half
    countersign(store, approval.namespace, approval.plan_hash, signed_by="otto")
    with store.connect("owner") as connection:
        for attempt in CHANGES:
            with pytest.raises(psycopg.Error, match="append-only"), connection.transaction():
                connection.execute(attempt.encode())


def test_the_approver_s_login_signs_nothing_twice_and_for_no_author(half: tuple[Store, Approval, str]) -> None:
    """By hand, past the library: the same name in other letters, an author's, a policy's, a plan that is another, another's login, a
    signature under what is revoked."""
    store, approval, scope = half
    named = "INSERT INTO night.countersignatures (approval_id, namespace_id, plan_hash, signed_by, channel, login)"
    again = (
        "INSERT INTO night.approvals (id, namespace_id, plan_hash, approver, channel, item_ids, expires_at) SELECT gen_random_uuid(), "
        f"namespace_id, plan_hash, 'Eve', 'cli', item_ids, expires_at FROM night.approvals WHERE id = '{approval.id}'"
    )
    attempts = (
        *(_sign(approval, scope, name) for name in ("mara", "MARA", "eve", "Eve", "policy", "x")),
        _sign(approval, scope, "otto", plan="f" * 64),
        f"{named} VALUES ('{approval.id}', '{scope}', '{approval.plan_hash}', 'otto', 'cli', 'another')",
        again,
    )
    with psycopg.connect(store.logins["approver"], autocommit=True) as approver:
        for attempt in attempts:
            with pytest.raises(psycopg.Error):
                approver.execute(attempt.encode())
        assert ask(store, "SELECT night.signatures_missing(id) FROM night.approvals") == [(1,)]
        revoke(store, approval.namespace, approval.id, revoked_by="mara", reason="a test")
        with pytest.raises(psycopg.Error, match="does not stand"):
            approver.execute(_sign(approval, scope, "otto").encode())
        with pytest.raises(
            psycopg.Error, match="asked for what plan"
        ):  # the items wait again, and still no author signs
            approver.execute(again.encode())


def test_the_applier_s_login_begins_journals_and_ends_nothing_that_lacks_a_signature(
    half: tuple[Store, Approval, str],
) -> None:
    """Past the library: a run for it, a run that is turned into one for it, entries of a run
    that began before the rule or that has no approval, the end."""
    store, approval, scope = half
    set_rule(store, approval.namespace, signatures=1, set_by="root")
    run = (
        "INSERT INTO night.runs (id, namespace_id, mode, state, trigger, plan_hash, approval_id) VALUES "
        f"('{{}}', '{scope}', 'apply', 'applying', 'manual', '{approval.plan_hash}', {{}})"
    )
    begun, other = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
    entry = (
        "INSERT INTO night.journal (namespace_id, run_id, item_id, table_name, row_id, action) "
        f"VALUES ('{scope}', '{{}}', gen_random_uuid(), 'entities', gen_random_uuid(), 'set')"
    )
    with psycopg.connect(store.logins["applier"], autocommit=True) as applier:
        applier.execute(run.format(begun, f"'{approval.id}'").encode())
        applier.execute("UPDATE night.runs SET state = 'cancelled' WHERE id = %s", (begun,))
        set_rule(store, approval.namespace, signatures=2, set_by="root")
        applier.execute(run.format(other, "NULL").encode())
        attempts = (
            run.format("33333333-3333-4333-8333-333333333333", f"'{approval.id}'"),
            f"UPDATE night.runs SET approval_id = '{approval.id}' WHERE id = '{other}'",
            entry.format(begun),
            entry.format(other),
            "INSERT INTO night.applied (approval_id, namespace_id, plan_hash, run_id, counts) "
            f"VALUES ('{approval.id}', '{scope}', '{approval.plan_hash}', '{begun}', '{{}}')",
        )
        for attempt in attempts:
            with pytest.raises(psycopg.Error, match="signature"):
                applier.execute(attempt.encode())
        countersign(store, approval.namespace, approval.plan_hash, signed_by="otto")
        applier.execute(attempts[-1].encode())


def test_the_planner_s_login_makes_no_author_of_a_sealed_plan_another(half: tuple[Store, Approval, str]) -> None:
    """Who asked for it is sealed with the plan, so that its summary is what was signed."""
    store, _, _ = half
    with (
        psycopg.connect(store.logins["planner"], autocommit=True) as planner,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        planner.execute("UPDATE night.plans SET summary = '{}'")
    with store.connect("owner") as owner, pytest.raises(psycopg.Error, match="sealed"):
        owner.execute("UPDATE night.plans SET summary = '{}'")
