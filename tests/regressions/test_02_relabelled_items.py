"""Line 2: an item that carried another operation's name passed the policy.

A namespace let a policy approve `gc_references`, which tidies dead references. Items that purge rows were sealed under that name with the
risk "low": the policy approved them, apply ran, and rows were gone. The same worked for archiving under the name of a harmless operation.
Now what an operation may carry, and at what risk, is one table that sealing, approval, apply and the policy hold items to.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from slowwave.changes.rows import purge_rows, set_columns
from slowwave.errors import Refused
from slowwave.night.executor import apply_approval
from slowwave.operations import PLANNERS
from slowwave.plans.items import Item
from slowwave.plans.permitted import Permits
from slowwave.plans.policies import revoke_policy
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from tests.memories import ask, behind_triggers, remember
from tests.nights import archive_items, new_world, write_a_plan
from tests.permitting import accept_operations, approve, decide_by_policies
from tests.worlds import World

KIND = json.dumps({"operations": sorted(PLANNERS), "risk": "low"})
EVERY = f"""INSERT INTO night.policies (namespace_id, operation, kind, says, answered, agreed, least, per_night, accepted_by)
SELECT id, 'every planner', '{KIND}', 'Low-risk changes', 0, 0, 0, 1000000, 'mara' FROM memory.namespaces RETURNING id::text"""
"""A policy that names every planner, as one that a migration made from a setting may."""


def purges(store: Store) -> tuple[World, list[Item]]:
    """A namespace with a fact long retired, and the item that deletes it, relabelled."""
    long_ago = datetime.now(UTC) - timedelta(days=400)
    fact = {"subject": "ann", "predicate": "uses", "object": "vim", "is_active": False, "invalidated_at": long_ago}
    namespace = remember(store, "purged", memory_facts=[{"id": "old", "recorded_at": long_ago, **fact}])
    world = World("purged", namespace, {})
    snapshot = export_snapshot(store, world.slug)
    ids = snapshot.table("memory_facts")["id"].to_pylist()
    mutations = purge_rows(snapshot, "memory_facts", [[i] for i in ids], retention_days=90)
    return world, [Item("gc_references", "clean", m) for m in mutations]


def forge(store: Store, world: World, items: list[Item], monkeypatch: pytest.MonkeyPatch) -> str:
    """The plan that a planner which seals without checking would write; gives its hash."""
    with monkeypatch.context() as patch:
        patch.setattr(Permits, "violation", lambda self, item: "")
        return write_a_plan(store, world, items=items)[1].plan_hash


def facts(store: Store) -> int:
    with store.connect("reader") as connection:
        row = connection.execute("SELECT count(*) FROM memory.memory_facts").fetchone()
        return int(str(row[0])) if row else -1


def test_a_purge_by_another_name_is_neither_sealed_nor_approved_nor_applied(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused when the plan is sealed; where it was written all the same, by the policy and by a person; and never applied."""
    world, items = purges(store)
    hash_ = forge(store, world, items, monkeypatch)
    ask(store, EVERY)
    assert decide_by_policies(store, world.slug, hash_).approvals == ()
    with pytest.raises(Refused, match="gc_references may not carry purge_rows"):
        approve(store, world.slug, hash_, approver="mara")
    with pytest.raises(Refused, match="gc_references may not carry purge_rows"):
        write_a_plan(store, world, items=items)
    approval = sign_by_hand(store, hash_, "mara", "cli")
    assert apply_approval(store, approval).counts["failed"] == len(items) == 1
    assert facts(store) == 1


def test_what_deletes_is_never_approved_by_a_policy(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even under its own name with its risk said to be low, and not by whoever signs in the policy's name."""
    world, items = purges(store)
    own = [replace(i, operation="purge_expired", decision="purge") for i in items]
    hash_ = forge(store, world, own, monkeypatch)
    ((policy,),) = ask(store, EVERY)
    assert decide_by_policies(store, world.slug, hash_).approvals == ()
    with pytest.raises(psycopg.errors.RaiseException, match="names the policy"):
        sign_by_hand(store, hash_, "policy", "policy")
    approval = sign_by_hand(store, hash_, "mara", "cli")
    as_policy = "UPDATE night.approvals SET approver = 'policy', channel = 'policy'"
    behind_triggers(store, f"{as_policy}, policy_id = '{policy}'")
    with pytest.raises(Refused, match="may not approve 1 of the items"):
        apply_approval(store, approval)
    behind_triggers(store, f"{as_policy}, policy_id = NULL")
    with pytest.raises(Refused, match="the setting auto_approve gave it, which no longer exists"):
        apply_approval(store, approval)
    assert facts(store) == 1


def test_a_policy_takes_the_risk_from_the_table_and_not_from_the_item(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forgetting a memory is of medium risk, whatever the item says; archiving is none of what tags or dates may do."""
    world = new_world(store)
    snapshot = export_snapshot(store, world.slug)
    archived = archive_items(snapshot)
    ask(store, EVERY)
    for items in (
        [Item("decay_transition", "forget", i.mutation) for i in archived],
        [Item("promote_memories", "promote", i.mutation) for i in archived],
        [Item("backfill_tags", "tag", m) for m in opened(snapshot)],
    ):
        hash_ = forge(store, world, items, monkeypatch)
        assert decide_by_policies(store, world.slug, hash_).approvals == (), items[0].operation


def test_an_item_retires_no_more_than_its_operation_may(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """One archiving item for all memories at once is no archiving item."""
    world = new_world(store)
    each = archive_items(export_snapshot(store, world.slug))
    assert len(each) > 1
    whole = replace(
        each[0].mutation,
        writes=tuple(w for i in each for w in i.mutation.writes),
        guards=tuple(g for i in each for g in i.mutation.guards),
        rows=tuple(r for i in each for r in i.mutation.rows),
    )
    hash_ = forge(store, world, [Item("archive_stale", "archive", whole)], monkeypatch)
    ask(store, EVERY)
    assert decide_by_policies(store, world.slug, hash_).approvals == ()


def test_approval_of_a_policy_that_was_revoked_since_is_not_applied(store: Store) -> None:
    """An approval by a policy holds for as long as the policy does."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    policy = accept_operations(store, world.slug, ["archive_stale"], accepted_by="mara")
    (approval,) = decide_by_policies(store, world.slug, plan.plan_hash).approvals
    revoke_policy(store, world.slug, policy.id, revoked_by="otto", reason="too early")
    with pytest.raises(Refused, match="was revoked by otto"):
        apply_approval(store, approval.id)


def opened(snapshot: Snapshot) -> list:
    """Every memory becomes public."""
    ids = snapshot.table("memories")["id"].to_pylist()
    return set_columns(snapshot, "set_attributes", "memories", {i: {"visibility": "public"} for i in ids})


def sign_by_hand(store: Store, plan_hash: str, approver: str, channel: str) -> str:
    """What somebody with the approver's login writes without the library; gives the approval's id."""
    approval = str(uuid.uuid4())
    with store.connect("approver") as connection, connection.transaction():
        connection.execute(
            "INSERT INTO night.approvals (id, namespace_id, plan_hash, approver, channel, item_ids, expires_at) "
            "SELECT %s, p.namespace_id, p.plan_hash, %s, %s, array_agg(i.item_id), p.expires_at FROM night.plans p "
            "JOIN night.plan_items i USING (plan_hash) WHERE p.plan_hash = %s GROUP BY p.plan_hash",
            (approval, approver, channel, plan_hash),
        )
        connection.execute("UPDATE night.plans SET state = 'approved' WHERE plan_hash = %s", (plan_hash,))
        connection.execute("UPDATE night.plan_items SET status = 'approved' WHERE plan_hash = %s", (plan_hash,))
    return approval
