"""Two merges that share an edge: every subset, every order of applying, every order of undoing."""

from __future__ import annotations

import uuid
from itertools import permutations
from random import Random

import pytest

from slowwave.changes.merges import Merge, merge_rows
from slowwave.changes.simulate import simulate
from slowwave.operations import permits
from slowwave.plans.items import Item
from slowwave.plans.seal import Header, seal
from slowwave.snapshots.export import export_snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.changes.test_properties import apply, undo
from tests.worlds import World, assert_same, load_world, make_world

ORDERS = [
    (forth, back)
    for chosen in [(0,), (1,), (0, 1)]
    for forth in permutations(chosen)
    for back in permutations(range(len(chosen)))
]


def shared_edge() -> World:
    """Two pairs, an edge between the two that are absorbed, one inside each pair, one to a bystander."""
    world = make_world(Random(5), most=3)
    namespace = {"namespace_id": world.namespace_id}
    a, a2, b, b2, bystander = (str(uuid.uuid4()) for _ in range(5))
    entities = [
        {**namespace, "id": i, "entity_type": "person", "name": n, "mention_count": 2}
        for i, n in ((a, "Anna"), (a2, "Anne"), (b, "Bob"), (b2, "Bobby"), (bystander, "Cy"))
    ]
    edges = [
        {
            **namespace,
            "id": str(uuid.uuid4()),
            "source_entity_id": s,
            "target_entity_id": t,
            "relationship_type": "KNOWS",
        }
        for s, t in ((a2, b2), (b2, a2), (a, a2), (b2, b), (a2, bystander), (a2, a2))
    ]
    rows = {**{t: [] for t in world.rows}, "entities": entities, "relationships": edges}
    return World(world.slug, world.namespace_id, rows)


@pytest.mark.parametrize(("forth", "back"), ORDERS)
def test_merges_that_share_an_edge_commute(store: Store, forth: tuple[int, ...], back: tuple[int, ...]) -> None:
    """Source and target are different cells: neither merge is deferred, and any part of the two stands alone."""
    world = shared_edge()
    load_world(store, world)
    before = digest(store, world.slug)
    a, a2, b, b2, _ = world.ids("entities")
    snapshot = export_snapshot(store, world.slug)
    mutations = merge_rows(snapshot, [Merge(a, (a2,)), Merge(b, (b2,))])
    items = [Item("dedupe_entities", "merge", m) for m in mutations]
    assert seal(Header(world.namespace_id, world.slug, "s", "f"), items, permits()).deferred == {}
    chosen = [items[n] for n in forth]
    runs = [apply(store, world, [item]) for item in chosen]
    assert all(stale == {} for _, stale in runs)
    after = export_snapshot(store, world.slug)
    assert_same(after, simulate(snapshot, chosen), items)
    retired = {r for item in chosen for r in (absorbed.id for absorbed in item.mutation.absorb)}
    live = [e for e in after.table("relationships").to_pylist() if e["invalidated_at"] is None]
    assert not [e for e in live if {e["source_entity_id"], e["target_entity_id"]} & retired], (
        "no live edge touches a retired row"
    )
    for n in back:
        undo(store, world, runs[n][0])
    assert digest(store, world.slug) == before
