"""Which plan is meant where none is named: what a person finds who was woken for a night, and has proposals beside it."""

from __future__ import annotations

from slowwave.night.night import run_night
from slowwave.plans.gate import reject
from slowwave.plans.states import latest_plan, waiting_plans
from slowwave.store.connect import Store
from tests.memories import remember
from tests.night.test_proposal import sealed
from tests.permitting import approve

TWICE = [{"id": n, "entity_type": "person", "name": "Mara Reyes", "attributes": {"email": "m@b.example"}} for n in "ab"]


def known(store: Store) -> tuple[str | None, list[str]]:
    with store.connect("reader") as connection:
        return latest_plan(connection, "acme"), waiting_plans(connection, "acme")


def test_the_nights_plan_comes_before_those_of_proposals(store: Store) -> None:
    """Though they are newer. Once the night is decided, one that waits is meant."""
    remember(store, "acme", entities=TWICE)
    assert known(store) == (None, [])
    night = run_night(store, "acme").plan
    assert night is not None
    first, other = sealed(store, "At six.", "one").plan, sealed(store, "At six.", "two", "ideas/moon.md").plan
    assert first is not None
    assert other is not None
    assert known(store) == (night.plan_hash, [night.plan_hash, other.plan_hash, first.plan_hash])
    reject(store, "acme", other.plan_hash, rejected_by="mara", reason="No.")
    reject(store, "acme", night.plan_hash, rejected_by="mara", reason="Not now.")
    assert known(store) == (first.plan_hash, [first.plan_hash])
    approve(store, "acme", first.plan_hash, approver="mara")
    assert known(store) == (night.plan_hash, []), "nothing waits: the night's is shown, with what became of it"


def test_without_a_night_a_proposal_is_meant(store: Store) -> None:
    remember(store, "acme")
    plan = sealed(store, "At six.", "one").plan
    assert plan is not None
    assert known(store) == (plan.plan_hash, [plan.plan_hash])
