"""A world with a sealed plan in the ledger: what tests of the gate and of apply start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from slowwave.changes.merges import Merge, merge_rows
from slowwave.changes.mutation import Mutation
from slowwave.changes.rows import set_columns
from slowwave.night.snapshot import snapshot_of_night
from slowwave.operations import permits
from slowwave.plans.items import Item
from slowwave.plans.ledger import write_plan
from slowwave.plans.questions import questions
from slowwave.plans.seal import Header, Plan, seal
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.claims import open_plan_run
from slowwave.store.connect import Store
from tests.worlds import World, load_world, make_world


def new_world(store: Store, seed: int = 7, most: int = 12) -> World:
    """A loaded world that has at least six live entities."""
    while True:
        world = make_world(Random(seed), most)
        if sum(e["invalidated_at"] is None for e in world.rows["entities"]) >= 6 and world.rows["memories"]:
            load_world(store, world)
            return world
        seed += 1


def take_snapshot(store: Store, namespace: str) -> str:
    """Take a snapshot as a night does, and return its location."""
    taken = snapshot_of_night(store, namespace)
    with store.connect("reader") as connection:
        row = connection.execute("SELECT location FROM night.snapshots WHERE id = %s", (taken.snapshot_id,)).fetchone()
    assert row
    return str(row[0])


def pair_items(snapshot: Snapshot) -> list[Item]:
    """Live entities merged two by two; the last pair only for review."""
    live = snapshot.live("entities")["id"].to_pylist()
    pairs = [Merge(a, (b,)) for a, b in zip(live[::2], live[1::2], strict=False)]
    mutations: Sequence[Mutation] = merge_rows(snapshot, pairs)
    merges = [Item("dedupe_entities", "merge", m) for m in mutations[:-1]]
    return [*merges, Item("dedupe_entities", "review", mutations[-1], risk="high")]


def archive_items(snapshot: Snapshot) -> list[Item]:
    """Every memory changes its state."""
    ids = snapshot.table("memories")["id"].to_pylist()
    mutations = set_columns(snapshot, "set_state", "memories", {i: {"state": "archived"} for i in ids})
    return [Item("archive_stale", "archive", m) for m in mutations]


def write_a_plan(
    store: Store,
    world: World,
    *,
    expiry_days: int = 7,
    needs_force: Sequence[str] = (),
    items: Sequence[Item] | None = None,
    by: Sequence[str] = (),
) -> tuple[Snapshot, Plan]:
    """Plan a world and write it to the ledger as the plan asset does."""
    snapshot = export_snapshot(store, world.slug)
    header = Header(world.namespace_id, world.slug, snapshot.snapshot_id, "fingerprint")
    plan = seal(header, pair_items(snapshot) + archive_items(snapshot) if items is None else items, permits())
    plan = replace(plan, questions=questions(plan.items, {}))
    with store.connect("planner") as connection:
        run_id = open_plan_run(connection, world.slug)
    write_plan(
        store,
        plan,
        run_id=run_id,
        expiry_days=expiry_days,
        probes={},
        summary={"needs_force": list(needs_force), "proposed_by": list(by)},
        change_counter=0,
    )
    return snapshot, plan
