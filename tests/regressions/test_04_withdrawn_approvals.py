"""Line 4: an approval could not be withdrawn.

Whoever approved the wrong plan could only watch the sensor start it. And the approvals of a plan that was rejected later, or superseded
by the next night's, were applied all the same. `slowwave plans revoke` withdraws one, and apply refuses what was revoked, rejected or
superseded, before a run and between its batches.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import psycopg
import pytest

from slowwave.errors import Refused
from slowwave.night.executor import apply_approval
from slowwave.plans.gate import reject
from slowwave.plans.status import read_status
from slowwave.plans.waiting import waiting_approvals
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.store.logins import Role
from slowwave.store.settings import Settings
from tests.nights import new_world, write_a_plan
from tests.permitting import approve
from tests.surfaces.cli.conftest import Run

ONE = Settings(batch_items=1)
"""Settings by which a batch holds one item."""


def test_a_rejected_plan_s_earlier_approvals_apply_no_more(store: Store) -> None:
    """A part is signed, then the plan is rejected: all that is not applied goes with it."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    signed = approve(store, world.slug, plan.plan_hash, approver="mara", items=[plan.items[0].id])
    before = digest(store, world.slug)
    reject(store, world.slug, plan.plan_hash, rejected_by="zoe", reason="not tonight")
    with pytest.raises(Refused, match="rejected"):
        apply_approval(store, signed.id)
    assert digest(store, world.slug) == before
    assert waiting_approvals(store) == []
    assert states(store, plan.plan_hash) == ("rejected", {"rejected": len(plan.items)})


def test_a_superseded_plan_s_earlier_approvals_apply_no_more(store: Store) -> None:
    """A newer night looked again: its plan is the one to sign."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    signed = approve(store, world.slug, plan.plan_hash, approver="mara", items=[plan.items[0].id])
    _, newer = write_a_plan(store, world)
    before = digest(store, world.slug)
    with pytest.raises(Refused, match=f"superseded by {newer.plan_hash[:12]}"):
        apply_approval(store, signed.id)
    assert digest(store, world.slug) == before
    assert waiting_approvals(store) == []
    assert read_status(store).approvals_waiting == 0


def test_a_plan_is_rejected_in_the_middle_of_its_apply(store: Store) -> None:
    """The batch that is being written ends; the next one is not begun."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    signed = approve(store, world.slug, plan.plan_hash, approver="mara")

    def turn_down(done: int, total: int) -> None:
        if done == 1:
            with store.connect("owner") as connection:  # as `plans reject` leaves it
                connection.execute("UPDATE night.plans SET state = 'rejected' WHERE plan_hash = %s", (plan.plan_hash,))

    with pytest.raises(Refused, match="rejected"):
        apply_approval(store, signed.id, settings=ONE, progress=turn_down)
    assert states(store, plan.plan_hash)[1]["applied"] == 1


def test_an_approval_is_revoked_and_its_items_wait_again(store: Store, run: Run) -> None:
    """By its id or by its plan; the sensor starts it no more, and the plan can be signed again."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    for name in ("approval", "plan"):
        signed = approve(store, world.slug, plan.plan_hash, approver="mara")
        assert waiting_approvals(store) == [(signed.id, world.slug)]
        code, out, _ = run(
            *("plans", "revoke", world.slug, signed.id[:13] if name == "approval" else plan.plan_hash[:12]),
            *("--by", "zoe", "--reason", "the wrong one", "--json"),
        )
        assert code == 0, out
        assert json.loads(out)["waiting"] == len(signed.item_ids)
        assert waiting_approvals(store) == []
        assert read_status(store).approvals_waiting == 0
        with pytest.raises(Refused, match="revoked by zoe: the wrong one"):
            apply_approval(store, signed.id)
        assert states(store, plan.plan_hash) == ("awaiting_approval", {"pending": len(plan.items)})
    again = approve(store, world.slug, plan.plan_hash, approver="mara")
    assert apply_approval(store, again.id).counts["applied"] == len(again.item_ids)


def test_a_revocation_in_the_middle_of_an_apply_keeps_what_is_applied(store: Store, run: Run) -> None:
    """The run ends as cancelled, says what stands and how to take it back; the rest waits again."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    signed = approve(store, world.slug, plan.plan_hash, approver="mara")
    told = []

    def withdraw(done: int, total: int) -> None:
        if done == 1:
            told.append(run("plans", "revoke", world.slug, signed.id, "--by", "zoe", "--reason", "wait", "--json"))

    with pytest.raises(Refused, match=r"1 of its items were applied before and stand: `slowwave undo [0-9a-f-]{36}`"):
        apply_approval(store, signed.id, settings=ONE, progress=withdraw)
    done = json.loads(told[0][1])
    assert (done["applied"], done["waiting"], len(done["runs"])) == (1, len(signed.item_ids) - 1, 1)
    assert states(store, plan.plan_hash) == ("approved", {"applied": 1, "pending": len(plan.items) - 1})
    with store.connect("reader") as connection:
        assert connection.execute("SELECT state FROM night.runs WHERE id = %s", done["runs"]).fetchone() == (
            "cancelled",
        )
        assert connection.execute("SELECT count(*) FROM night.applied").fetchone() == (0,)
    assert waiting_approvals(store, cancelled=True) == []


def test_revoke_after_the_last_batch_is_not_recorded_as_applied(store: Store, run: Run) -> None:
    """The approval is checked once more before the run is recorded, and the message names the undo of its items."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    signed = approve(store, world.slug, plan.plan_hash, approver="mara")

    def withdraw(done: int, total: int) -> None:
        if done == total:
            run("plans", "revoke", world.slug, signed.id, "--by", "zoe", "--reason", "wait")

    with pytest.raises(Refused, match=rf"{len(signed.item_ids)} of its items were applied before .* `slowwave undo"):
        apply_approval(store, signed.id, progress=withdraw)
    with store.connect("reader") as connection:
        assert connection.execute("SELECT count(*) FROM night.applied").fetchone() == (0,)
        assert connection.execute("SELECT state FROM night.runs WHERE mode = 'apply'").fetchone() == ("cancelled",)


def test_what_is_applied_or_revoked_is_not_revoked(store: Store, run: Run) -> None:
    """Each is a sentence, and a revocation names somebody and a reason."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    assert refused(run, world.slug, plan.plan_hash, "has no approval")
    first = approve(store, world.slug, plan.plan_hash, approver="mara", items=[plan.items[0].id])
    assert refused(run, world.slug, first.id, "must be named", by="")
    assert refused(run, world.slug, first.id, "needs a reason", reason=" ")
    assert refused(run, world.slug, "ffff", "is no plan of")
    assert refused(run, world.slug, "", "names more than one plan")
    assert run("plans", "revoke", world.slug, first.id, "--by", "zoe", "--reason", "no")[0] == 0
    assert refused(run, world.slug, first.id, "was revoked by zoe already")
    second = approve(store, world.slug, plan.plan_hash, approver="mara", items=[plan.items[0].id])
    applied = apply_approval(store, second.id)
    assert refused(run, world.slug, second.id, f"slowwave undo {applied.run_id}")
    assert refused(run, new_world(store, 400).slug, second.id, "is no plan of")


@pytest.mark.parametrize("role", ["planner", "applier", "approver"])
def test_a_revocation_stays_on_record(store: Store, role: Role, run: Run) -> None:
    """The approver adds, and nobody takes back; a blank name or reason is none."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    signed = approve(store, world.slug, plan.plan_hash, approver="mara")
    row = (
        "INSERT INTO night.revocations (approval_id, namespace_id, plan_hash, revoked_by, reason) "
        "SELECT id, namespace_id, plan_hash, %s, %s FROM night.approvals"
    )
    for by, reason in (("", "why"), ("policy", "why"), ("zoe", " ")):
        with store.connect("approver") as connection, pytest.raises(psycopg.errors.CheckViolation):
            connection.execute(row, (by, reason))
    if role != "approver":
        with store.connect(role) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(row, ("zoe", "why"))
    assert run("plans", "revoke", world.slug, signed.id, "--by", "zoe", "--reason", "no")[0] == 0
    for statement in ("DELETE FROM night.revocations", "UPDATE night.revocations SET reason = 'x'"):
        with store.connect(role) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement)
        with store.connect("owner") as connection, pytest.raises(psycopg.errors.RaiseException, match="append-only"):
            connection.execute(statement)


def refused(run: Run, slug: str, name: str, sentence: str, by: str = "zoe", reason: str = "why") -> bool:
    code, _, err = run("plans", "revoke", slug, name, "--by", by, "--reason", reason)
    return code == 2 and sentence in err


def states(store: Store, plan_hash: str) -> tuple[str, dict[str, int]]:
    """The plan's state and its items by status."""
    with store.connect("reader") as connection:
        state = connection.execute("SELECT state FROM night.plans WHERE plan_hash = %s", (plan_hash,)).fetchone()
        rows: Sequence[tuple[object, ...]] = connection.execute(
            "SELECT status, count(*) FROM night.plan_items WHERE plan_hash = %s GROUP BY status ORDER BY status",
            (plan_hash,),
        ).fetchall()
    return str(state[0]) if state else "", {str(s): int(str(n)) for s, n in rows}
