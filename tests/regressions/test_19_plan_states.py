"""Line 19: the state of a plan misled.

A plan of which 10 items were approved and 990 waited was "approved", and so was one that was applied, in part or whole, and one that was
undone to the last item. `namespaces` said "empty" of a namespace of which `plans show` said that it has no plan yet.
"""

from __future__ import annotations

import json

from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.plans.ledger import read_plan
from slowwave.store.connect import Store
from tests.memories import remember
from tests.nights import new_world, write_a_plan
from tests.permitting import accept_operations, approve, decide_by_policies
from tests.surfaces.cli.conftest import Run


def test_a_plan_is_called_what_became_of_it(store: Store, run: Run) -> None:
    """From waiting to undone, by the list, the page and the namespaces alike."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)

    def told() -> str:
        states = {
            json.loads(run("plans", "show", world.slug, "--json")[1])["state"],
            *(p["state"] for p in json.loads(run("plans", "list", world.slug, "--json")[1])),
            *(n["plan"] for n in json.loads(run("namespace", "list", "--json")[1]) if n["namespace"] == world.slug),
        }
        (state,) = states
        assert state in run("plans", "show", world.slug)[1]
        return state

    assert told() == "awaiting_approval"
    first = approve(store, world.slug, plan.plan_hash, approver="mara", items=[plan.items[0].id])
    assert told() == "partly_approved"
    one = apply_approval(store, first.id).run_id
    assert told() == "partly_applied"
    assert f"{len(plan.items) - 2} decided and 1 question pending, 1 applied" in run("plans", "show", world.slug)[1]
    second = approve(store, world.slug, plan.plan_hash, approver="mara", include_review=True)
    assert told() == "approved"
    other = apply_approval(store, second.id).run_id
    assert told() == "applied"
    undo_run(store, other)
    assert told() == "partly_undone"
    undo_run(store, one)
    assert told() == "undone"
    assert "undone" in "".join(run("apply", world.slug)[1:])


def test_what_a_policy_left_waits(store: Store) -> None:
    """A night of which the policy signed a part is not approved."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    accept_operations(store, world.slug, ["archive_stale"], accepted_by="mara")
    assert decide_by_policies(store, world.slug, plan.plan_hash).approvals
    with store.connect("reader") as connection:
        assert read_plan(connection, plan.plan_hash).to_json()["state"] == "partly_approved"


def test_a_night_that_found_nothing_is_no_missing_night(store: Store, run: Run) -> None:
    """An empty plan asks nobody: `plans show` says so, as `namespaces` does, and one without a night has no plan yet."""
    remember(store, "quiet", memories=[])
    assert "no plan yet" in run("plans", "show", "quiet")[2]
    assert "none yet" in run("namespace", "list")[1]
    assert run_night(store, "quiet").state == "empty"
    code, _, err = run("plans", "show", "quiet")
    assert (code, "no plan yet" in err, "nothing to decide" in err) == (2, False, True)
    assert "nothing to decide" in run("namespace", "list")[1]
    assert "nothing to decide" in "".join(run("apply", "quiet")[1:])
