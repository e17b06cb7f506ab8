"""Line 14: a plan of 25 s showed as 206 s.

``slowwave runs list`` and ``runs show`` counted the minutes that a person took to read and approve a plan as time spent planning, as
did the Python API: approving, rejecting, expiring or superseding a plan moved the end of its run.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from slowwave.plans.gate import reject
from slowwave.plans.ledger import expire_plans
from slowwave.store.connect import Store
from tests.memories import ask, behind_triggers
from tests.nights import new_world, write_a_plan
from tests.permitting import approve
from tests.surfaces.cli.conftest import Run
from tests.worlds import World

PLANNED_SECONDS = 25


def approved(store: Store, world: World, plan: str) -> None:
    """A person signs it."""
    approve(store, world.slug, plan, approver="mara")


def rejected(store: Store, world: World, plan: str) -> None:
    """A person turns it down."""
    reject(store, world.slug, plan, rejected_by="mara", reason="Not today.")


def expired(store: Store, world: World, plan: str) -> None:
    """Nobody looks at it in time."""
    behind_triggers(store, "UPDATE night.plans SET expires_at = now() - interval '1 second' WHERE plan_hash = %s", plan)
    assert expire_plans(store) == 1


def superseded(store: Store, world: World, plan: str) -> None:
    """Another plan takes its place."""
    _, newer = write_a_plan(store, world)
    assert newer.plan_hash != plan


@pytest.mark.parametrize("decided", [approved, rejected, expired, superseded])
def test_the_time_to_decide_is_no_time_of_planning(
    store: Store, run: Run, decided: Callable[[Store, World, str], None]
) -> None:
    """A plan that took 25 s an hour ago still took 25 s when it is decided now."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    behind_triggers(
        store,
        "UPDATE night.runs SET started_at = now() - interval '1 hour', heartbeat_at = now() - interval '1 hour' + %s * interval '1 s', "
        "finished_at = now() - interval '1 hour' + %s * interval '1 s'",
        *(PLANNED_SECONDS, PLANNED_SECONDS),
    )
    ((run_id,),) = ask(store, "SELECT id::text FROM night.runs")
    decided(store, world, plan.plan_hash)
    ((state,),) = ask(store, "SELECT state FROM night.runs WHERE id = %s", run_id)
    assert state == decided.__name__
    shown = {r["run_id"]: r for r in json.loads(run("runs", "list", world.slug, "--json")[1])}
    assert shown[run_id]["duration_ms"] == PLANNED_SECONDS * 1000
    status = json.loads(run("runs", "show", str(run_id), "--json")[1])
    assert status["duration_ms"] == PLANNED_SECONDS * 1000
