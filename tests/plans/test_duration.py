"""How long an apply takes, said before it is approved, and what is retired after it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from slowwave.night.night import run_night
from slowwave.plans.seal import Plan
from slowwave.plans.writings import ApplyEstimate, RetiredShare, apply_estimate
from slowwave.store.connect import Store
from tests.bindings.clients import DIMENSIONS, run_as_owner
from tests.bindings.collections import USERS, collection
from tests.nights import new_world, write_a_plan
from tests.surfaces.cli.conftest import Run, run  # noqa: F401 - a fixture


def estimated(store: Store, plan: Plan) -> ApplyEstimate:
    """Of all that an approval of the plan covers."""
    with store.connect("reader") as connection:
        items = [i for i in plan.items if i.decision != "review"]
        return apply_estimate(connection, plan.header.namespace_id, items)


def test_rows_and_indexes_make_the_time(store: Store, run: Run) -> None:  # noqa: F811
    """A vector index is the dear one, by its dimensions and its effort; a plan shows it, and how it is estimated."""
    (name, *_) = collection(store)
    plan = run_night(store, name).plan
    assert plan is not None
    bare = estimated(store, plan)
    (table,) = [t for t in bare.tables if t.table == "public.mem0"]
    named = {
        w.cell.row
        for i in plan.items
        if i.decision != "review" and i.mutation.physical
        for w in i.mutation.physical.writes
        if w.cell.table == "public.mem0"
    }
    assert (table.rows, table.hnsw, table.other_indexes) == (len(named), 0, 1)
    run_as_owner(store, "CREATE INDEX slow ON mem0 USING hnsw (vector vector_cosine_ops)")
    beside = estimated(store, plan)
    (slow,) = [t for t in beside.tables if t.table == "public.mem0"]
    assert slow.hnsw == 1
    assert slow.seconds > table.seconds
    run_as_owner(store, "DROP INDEX slow")
    run_as_owner(store, "CREATE INDEX slow ON mem0 USING hnsw (vector vector_cosine_ops) WITH (ef_construction = 256)")
    (slower,) = [t for t in estimated(store, plan).tables if t.table == "public.mem0"]
    assert slower.seconds - table.seconds == pytest.approx((slow.seconds - table.seconds) * 4, rel=0.01)
    shown = json.loads(run("plans", "show", name, "--json")[1])["apply"]
    assert shown["seconds"] == pytest.approx(estimated(store, plan).seconds)
    assert "HNSW" in shown["how"]
    assert f"{len(named)} of them beside a vector index (HNSW)." in run("plans", "show", name)[1]
    assert DIMENSIONS > 1


def test_what_a_client_drops_after_its_search_is_counted(store: Store) -> None:
    """Rows of this user alone, those that are retired already and those that the plan retires."""
    (name, *_) = collection(store)
    plan = run_night(store, name).plan
    assert plan is not None
    (share,) = estimated(store, plan).retired
    assert (share.table, share.rows, share.retired) == ("public.mem0", 12, 0)
    assert share.after > 0
    retire = "UPDATE mem0 SET payload = payload || '{\"expiration_date\": \"1970-01-01\"}' WHERE payload ->> 'data' LIKE 'Anna met%'"
    run_as_owner(store, f"{retire} AND payload ->> 'user_id' = '{USERS[0]}'")
    (later,) = estimated(store, plan).retired
    assert later.retired > 0
    assert later.rows == 12


def test_few_retired_rows_are_not_worth_a_sentence() -> None:
    """From a fifth on it is said."""
    few = RetiredShare("public.mem0", 100, 0, 19)
    assert few.sentence() == ""
    assert replace(few, after=20).sentence().startswith("20% of the 100 rows in public.mem0 are retired after it")
    assert RetiredShare("public.mem0", 0, 0, 0).sentence() == ""


def test_our_own_memory_has_an_estimate_and_no_share(store: Store) -> None:
    """By the tables of memory; of nothing, no seconds and no sentence."""
    _, plan = write_a_plan(store, new_world(store))
    own = estimated(store, plan)
    assert own.seconds > 0
    assert all(t.table.startswith("memory.") for t in own.tables)
    assert own.retired == ()
    with store.connect("reader") as connection:
        nothing = apply_estimate(connection, plan.header.namespace_id, ())
    assert (nothing.seconds, nothing.sentences()) == (0.0, [])
