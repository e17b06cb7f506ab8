"""The ledger: what a new night does to the plans before it."""

from __future__ import annotations

import psycopg
import pytest

from slowwave.operations import permits
from slowwave.plans.gate import reject
from slowwave.plans.ledger import expire_plans, pending_items, read_plan, write_findings, write_plan
from slowwave.plans.report import Finding
from slowwave.plans.seal import Header, Plan, seal
from slowwave.store.claims import open_plan_run
from slowwave.store.connect import Store
from tests.nights import new_world, write_a_plan
from tests.permitting import approve
from tests.worlds import World


def _write(store: Store, world: World, plan: Plan, carried: frozenset[str]) -> str:
    with store.connect("planner") as connection:
        run_id = open_plan_run(connection, world.slug)
    written = write_plan(store, plan, run_id=run_id, expiry_days=7, probes={}, summary={}, carried=carried)
    assert not written.lapsed
    return written.state


def test_a_night_that_finds_only_what_waits_leaves_the_plan_before_it_standing(store: Store) -> None:
    """Review pairs are carried over: nobody is asked twice, and the first plan can still be approved."""
    world = new_world(store)
    _, first = write_a_plan(store, world)
    waiting = pending_items(store, world.namespace_id)[0]
    second = seal(
        Header(world.namespace_id, world.slug, "s2", "f"), [i for i in first.items if i.id in waiting], permits()
    )
    assert _write(store, world, second, waiting) == "empty"
    assert approve(store, world.slug, first.plan_hash, approver="mara", include_review=True).item_ids
    assert pending_items(store, world.namespace_id)[0] == frozenset()


def test_a_night_with_something_new_takes_the_waiting_pairs_with_it(store: Store) -> None:
    """The newer plan holds both, and the older is superseded."""
    world = new_world(store)
    _, first = write_a_plan(store, world)
    waiting = pending_items(store, world.namespace_id)[0]
    second = seal(Header(world.namespace_id, world.slug, "s2", "f"), first.items, permits())
    assert _write(store, world, second, waiting) == "awaiting_approval"
    assert pending_items(store, world.namespace_id)[0] == waiting
    with store.connect("reader") as connection:
        assert read_plan(connection, first.plan_hash).state == "superseded"
        assert {s.item.id for s in read_plan(connection, second.plan_hash).items} == {i.id for i in first.items}


def test_a_plan_comes_back_as_it_was_sealed(store: Store) -> None:
    """Items through JSON and Postgres have the same ids, and the run follows the plan's state."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    with store.connect("reader") as connection:
        stored = read_plan(connection, plan.plan_hash)
    assert tuple(s.item for s in stored.items) == plan.items
    assert stored.to_json()["plan_hash"] == plan.plan_hash


def test_what_a_review_item_asks_is_kept_with_it_and_stays_when_it_is_decided(store: Store) -> None:
    """The code stands beside the sentence; a decision takes the place of the sentence, and nobody changes the code."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    (review,) = (i for i in plan.items if i.decision == "review")

    def shown() -> tuple[str, str]:
        with store.connect("reader") as connection:
            stored = read_plan(connection, plan.plan_hash)
        items = stored.to_json()["items"]
        assert isinstance(items, list)
        assert {i["question"] for i in items if i["id"] != review.id} == {""}
        (item,) = (s for s in stored.items if s.id == review.id)
        return item.question, item.reason

    assert shown() == ("same", "Are these rows one thing?")
    reject(store, world.slug, plan.plan_hash, rejected_by="mara", reason="two people", items=[review.id])
    assert shown() == ("same", "two people")
    for role in ("approver", "owner"):
        with store.connect(role) as connection, pytest.raises(psycopg.Error):
            connection.execute("UPDATE night.plan_items SET question = 'change'")


def test_plans_past_their_time_are_marked(store: Store) -> None:
    """Once; an approved one is left to its approval."""
    world, other = new_world(store, 7), new_world(store, 8)
    write_a_plan(store, world, expiry_days=0)
    _, approved = write_a_plan(store, other)
    approve(store, other.slug, approved.plan_hash, approver="mara")
    assert expire_plans(store) == 1
    assert expire_plans(store) == 0
    with store.connect("reader") as connection:
        rows = connection.execute(
            "SELECT p.state, r.state FROM night.plans p JOIN night.runs r ON r.id = p.run_id ORDER BY 1"
        ).fetchall()
    assert rows == [("approved", "approved"), ("expired", "expired")]


def test_findings_are_stored_as_they_were_reported(store: Store) -> None:
    """Whatever characters a text holds, also those that part columns and rows where many are written at once."""
    world = new_world(store)
    text = 'C:\\new\tand "so"\nnext \\N \\. {1,2} – é'
    twice = [Finding(text, ("a", "b"), "warning", {"name": text, "n": 2})] * 2
    with store.connect("planner") as connection:
        run_id = open_plan_run(connection, world.slug)
        write_findings(connection, world.namespace_id, run_id, {})
        write_findings(
            connection, world.namespace_id, run_id, {"orphans": twice, "pagerank": [], "schema_drift": twice[:1]}
        )
    with store.connect("reader") as connection:
        stored = connection.execute(
            "SELECT operation, severity, message, details FROM night.findings WHERE run_id = %s ORDER BY operation",
            (run_id,),
        ).fetchall()
    details = {"rows": ["a", "b"], "name": text, "n": 2}
    assert stored == [(name, "warning", text, details) for name in ("orphans", "orphans", "schema_drift")]
