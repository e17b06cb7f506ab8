"""The gate says no in sentences, and what it lets through is exactly what was signed."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from slowwave.changes.mutation import Mutation
from slowwave.errors import Refused
from slowwave.night.executor import apply_approval
from slowwave.plans import gate, policies
from slowwave.plans.gate import reject
from slowwave.plans.ledger import pending_items, read_plan
from slowwave.plans.permitted import Permits
from slowwave.store.connect import Store
from tests.nights import new_world, write_a_plan
from tests.permitting import accept_operations, approve, decide_by_policies


def test_an_approval_covers_everything_but_review_items(store: Store) -> None:
    """Review pairs wait for a person who names them."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    approval = approve(store, world.slug, plan.plan_hash[:12], approver="mara")
    reviews = [i.id for i in plan.items if i.decision == "review"]
    assert len(reviews) == 1
    assert set(approval.item_ids) == {i.id for i in plan.items} - set(reviews)
    assert approval.lacks == "", "one approval is enough"
    assert pending_items(store, world.namespace_id)[0] == frozenset(reviews)
    second = approve(store, world.slug, plan.plan_hash, approver="mara", include_review=True)
    assert list(second.item_ids) == reviews


def test_a_part_of_a_plan_can_be_approved_and_later_the_rest(store: Store) -> None:
    """Items commute: naming one leaves the others pending, and they can be signed later."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    first = plan.items[0].id
    one = approve(store, world.slug, plan.plan_hash, approver="mara", items=[first[:8]])
    assert one.item_ids == (first,)
    result = apply_approval(store, one.id)
    assert result.counts == {"applied": 1, "skipped_stale": 0, "failed": 0, "deferred": 0, "noop": 0}
    other = plan.items[1].id[:8]
    command = f"1 of the 2 named items is open: `slowwave plans approve {world.slug} {plan.plan_hash[:12]} --items {other} --by"
    with pytest.raises(Refused, match=re.escape(command)):
        approve(store, world.slug, plan.plan_hash, approver="mara", items=[first[:8], other])
    with pytest.raises(Refused, match=f"1 of the 2 named items is open: {other}[.]"):
        reject(store, world.slug, plan.plan_hash, rejected_by="mara", reason="no", items=[first[:8], other])
    rest = approve(store, world.slug, plan.plan_hash, approver="mara")
    assert first not in rest.item_ids
    assert apply_approval(store, rest.id).counts["applied"] == len(rest.item_ids) > 0


@pytest.mark.parametrize("approver", ["", " ", "a", "{env: SECRET}", "x" * 65, "mara\nreyes"])
def test_a_blank_or_odd_approver_is_refused(store: Store, approver: str) -> None:
    """A signature names somebody."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    with pytest.raises(Refused, match="must be named"):
        approve(store, world.slug, plan.plan_hash, approver=approver)
    assert _approvals(store) == 0


def test_a_wrong_hash_is_refused_and_the_latest_is_named(store: Store) -> None:
    """A hash of nothing, an empty one, and another namespace's plan."""
    world, other = new_world(store, 7), new_world(store, 400)
    _, plan = write_a_plan(store, world)
    for wrong in ("f" * 64, "", "%"):
        with pytest.raises(Refused, match=plan.plan_hash[:12]):
            approve(store, world.slug, wrong, approver="mara")
    with pytest.raises(Refused, match="is no plan of"):
        approve(store, other.slug, plan.plan_hash, approver="mara")
    assert _approvals(store) == 0


def test_a_superseded_plan_is_refused_and_the_newer_named(store: Store) -> None:
    """Two nights, no decision in between: only the newer counts."""
    world = new_world(store)
    _, old = write_a_plan(store, world)
    _, new = write_a_plan(store, world)
    with pytest.raises(Refused, match=f"superseded by {new.plan_hash[:12]}"):
        approve(store, world.slug, old.plan_hash, approver="mara")


def test_an_expired_plan_is_refused(store: Store) -> None:
    """A week later the namespace is another one."""
    world = new_world(store)
    _, plan = write_a_plan(store, world, expiry_days=0)
    with pytest.raises(Refused, match="expired on"):
        approve(store, world.slug, plan.plan_hash, approver="mara")


def test_an_applied_plan_is_refused(store: Store) -> None:
    """Every item that could be named is applied."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    apply_approval(store, approve(store, world.slug, plan.plan_hash, approver="mara", include_review=True).id)
    with pytest.raises(Refused, match="already applied"):
        approve(store, world.slug, plan.plan_hash, approver="mara")


def test_a_rejected_plan_is_refused_and_remembered(store: Store) -> None:
    """A rejection has a reason; the snapshot of the next night carries it to the planners."""
    world = new_world(store)
    snapshot, plan = write_a_plan(store, world)
    with pytest.raises(Refused, match="needs a reason"):
        reject(store, world.slug, plan.plan_hash, rejected_by="mara", reason="  ")
    assert reject(store, world.slug, plan.plan_hash, rejected_by="mara", reason="not tonight") == len(plan.items)
    with pytest.raises(Refused, match="was rejected"):
        approve(store, world.slug, plan.plan_hash, approver="mara")
    from slowwave.snapshots.export import export_snapshot

    remembered = export_snapshot(store, world.slug).table("rejections").to_pylist()
    assert {r["subject"] for r in remembered} == {i.subject() for i in plan.items}
    assert snapshot.table("rejections").num_rows == 0


def test_a_part_is_signed_and_applied_without_making_the_rest(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole plan is verified by what is stored; the items that are looked at are those that were named."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    made: list[tuple[str, ...]] = []
    read = Mutation.from_json

    def noting(value: Mapping[str, object]) -> Mutation:
        mutation = read(value)
        made.append(mutation.row_ids())
        return mutation

    monkeypatch.setattr(Mutation, "from_json", noting)
    one = approve(store, world.slug, plan.plan_hash, approver="mara", items=[plan.items[0].id])
    assert apply_approval(store, one.id).counts["applied"] == 1
    assert len(plan.items) > 1
    assert set(made) == {plan.items[0].mutation.row_ids()}


def test_some_items_can_be_rejected_and_the_rest_approved(store: Store) -> None:
    """What is rejected is out of every later approval of the plan."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    gone = plan.items[0].id
    reject(store, world.slug, plan.plan_hash, rejected_by="mara", reason="two people", items=[gone])
    assert gone not in approve(store, world.slug, plan.plan_hash, approver="mara").item_ids
    with store.connect("reader") as connection:
        statuses = {s.item.id: s.status for s in read_plan(connection, plan.plan_hash).items}
    assert [id_ for id_, status in statuses.items() if status == "rejected"] == [gone], (
        "a review item is not rejected with it"
    )
    with pytest.raises(Refused, match="rejected already: two people"):
        approve(store, world.slug, plan.plan_hash, approver="mara", items=[gone])


def test_a_plan_that_failed_a_probe_needs_force_and_a_reason(store: Store) -> None:
    """Force is a decision too: it is recorded with its reason."""
    world = new_world(store)
    _, plan = write_a_plan(store, world, needs_force=["Recall@10 would fall."])
    with pytest.raises(Refused, match=r"Recall@10 would fall\."):
        approve(store, world.slug, plan.plan_hash, approver="mara")
    with pytest.raises(Refused, match="--note"):
        approve(store, world.slug, plan.plan_hash, approver="mara", force=True)
    assert approve(store, world.slug, plan.plan_hash, approver="mara", force=True, note="seen and right").forced


def test_a_policy_approves_only_what_it_names_and_only_low_risk(store: Store) -> None:
    """None by default; never review items, never a plan that needs force."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    assert decide_by_policies(store, world.slug, plan.plan_hash).approvals == ()
    accept_operations(store, world.slug, ["archive_stale"], accepted_by="mara")
    (approval,) = decide_by_policies(store, world.slug, plan.plan_hash).approvals
    assert set(approval.item_ids) == {i.id for i in plan.items if i.operation == "archive_stale"}
    accept_operations(store, world.slug, ["dedupe_entities"], accepted_by="mara")
    (merges,) = decide_by_policies(store, world.slug, plan.plan_hash).approvals
    assert set(merges.item_ids) == {i.id for i in plan.items if i.decision == "merge"}
    assert [i for i in plan.items if i.decision == "review"], "they are left to people"
    _, forced = write_a_plan(store, world, needs_force=["no"])
    assert decide_by_policies(store, world.slug, forced.plan_hash).approvals == ()


def test_items_without_permit_are_refused_by_policy_person_and_batch(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table that the caller passes decides, and an approval that exists already is no permit (R9)."""
    world, nothing = new_world(store), Permits({})
    _, plan = write_a_plan(store, world)
    accept_operations(store, world.slug, ["archive_stale"], accepted_by="mara")
    assert policies.decide_by_policies(store, world.slug, plan.plan_hash, nothing).approvals == ()
    with pytest.raises(Refused, match=r"may not carry .* Nothing was approved"):
        gate.approve(store, world.slug, plan.plan_hash, approver="mara", permits=nothing)
    signed = approve(store, world.slug, plan.plan_hash, approver="mara")
    monkeypatch.setattr("slowwave.night.executor.permits", lambda: nothing)
    counts = apply_approval(store, signed.id).counts
    assert (counts["applied"], counts["failed"]) == (0, len(signed.item_ids))
    monkeypatch.undo()
    again = approve(store, world.slug, plan.plan_hash, approver="mara", items=signed.item_ids)
    assert apply_approval(store, again.id).counts["applied"] == len(signed.item_ids), (
        "failed items can be approved again"
    )


def test_revocation_needs_valid_name_and_finds_approval_by_four_characters(store: Store) -> None:
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    signed = approve(store, world.slug, plan.plan_hash, approver="mara")
    with pytest.raises(Refused, match="must be named"):
        gate.revoke(store, world.slug, signed.id, revoked_by="", reason="too early")
    done = gate.revoke(store, world.slug, signed.id[:4], revoked_by="mara", reason="too early")
    assert done.approval_ids == (signed.id,)


def test_approve_named_items_with_reviews_leaves_other_items_pending(store: Store) -> None:
    """``include_review`` adds the review items to the named ones, and nothing else."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    named = next(i.id for i in plan.items if i.decision != "review")
    reviews = {i.id for i in plan.items if i.decision == "review"}
    signed = approve(store, world.slug, plan.plan_hash, approver="mara", items=[named], include_review=True)
    assert set(signed.item_ids) == {named, *reviews}
    with store.connect("reader") as connection:
        rows = connection.execute("SELECT channel, cardinality(item_ids) FROM night.approvals").fetchall()
    assert rows == [("library", 1 + len(reviews))], "the record names the channel and the items"


def test_approve_only_reviews_left_counts_them(store: Store) -> None:
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    approve(store, world.slug, plan.plan_hash, approver="mara")
    with pytest.raises(Refused, match=r"Only questions are left of plan .* \(1\): .* --include-review"):
        approve(store, world.slug, plan.plan_hash, approver="mara")
    operations = sorted({i.operation for i in plan.items})
    with pytest.raises(Refused, match=r"Nothing of plan .* is left to approve without those items"):
        approve(store, world.slug, plan.plan_hash, approver="mara", include_review=True, without=operations)


def test_reject_items_decided_by_another_login_meanwhile_refuses(store: Store) -> None:
    """A reviewer's plan can be out of date; the refusal of the database is a sentence of the gate."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    with store.connect("approver") as connection:
        seen = read_plan(connection, plan.plan_hash)
        reject(store, world.slug, plan.plan_hash, rejected_by="mara", reason="two people", items=[seen.items[0].id])
        with pytest.raises(Refused, match=r"nothing to reject .* Nothing was rejected\."):
            gate.reject_items(connection, seen, [(seen.items[0], "two people")], "otto")


def test_an_unknown_item_is_refused(store: Store) -> None:
    """Nothing is signed when one name fits nothing."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    with pytest.raises(Refused, match="is no item"):
        approve(store, world.slug, plan.plan_hash, approver="mara", items=[plan.items[0].id, "ffffffff"])
    assert _approvals(store) == 0


def test_the_approver_cannot_write_memory_and_nobody_rewrites_decisions(store: Store) -> None:
    """Roles and append-only triggers hold without the library."""
    import psycopg

    world = new_world(store)
    _, plan = write_a_plan(store, world)
    approve(store, world.slug, plan.plan_hash, approver="mara")
    for role in ("reader", "planner", "approver"):
        with store.connect(role) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):  # type: ignore[arg-type]
            connection.execute("UPDATE memory.entities SET name = 'x'")
    with store.connect("applier") as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("INSERT INTO night.approvals SELECT * FROM night.approvals")
    for table in ("approvals", "applied", "journal", "memory_events"):
        with store.connect("owner") as connection, pytest.raises(psycopg.errors.RaiseException, match="append-only"):
            connection.execute(f"TRUNCATE night.{table} CASCADE".encode())
    with store.connect("owner") as connection, pytest.raises(psycopg.errors.RaiseException, match="append-only"):
        connection.execute("UPDATE night.approvals SET approver = 'eve'")
    with store.connect("reader") as connection:
        assert read_plan(connection, plan.plan_hash).state == "approved"


def _approvals(store: Store) -> int:
    with store.connect("reader") as connection:
        row = connection.execute("SELECT count(*) FROM night.approvals").fetchone()
        return int(str(row[0])) if row else -1
