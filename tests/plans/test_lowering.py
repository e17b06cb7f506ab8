"""What of a night's items can be sealed for a store that is not ours, and what is told of the rest."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from slowwave.changes.cells import Insert
from slowwave.changes.mutation import Mutation, Row
from slowwave.plans.items import Item
from slowwave.plans.lowering import LoweredItems, lower_items, lowered_items
from slowwave.store.connect import Store
from tests.changes.test_lowering import merge, reword, rows_of
from tests.nights import new_world
from tests.peers import Peer, make_peer


def lowered(store: Store, peer: Peer, items: list[Item], why: str = "") -> LoweredItems:
    with store.connect("reader") as connection:
        return lowered_items(
            connection, peer.binding, peer.catalogue(connection), peer.namespace_id, items, lambda: why
        )


def test_what_is_left_out_is_told_by_operation_with_the_reason(store: Store) -> None:
    """Merges go on where texts may not be rewritten; what rests on a row that changed waits for the next night; pages are ours."""
    peer = make_peer(store, "mem0", Random(3))
    rows = rows_of(store, peer)
    a, b, c, d, *_ = sorted(rows)
    page = Mutation("render_page", "pages", inserts=(Insert("pages", {"path": "a.md", "title": "A", "body": ""}),))
    summary = Mutation("insert_summary", "memories", inserts=(Insert("memories", {"kind": "summary"}),), rows=(Row(a),))
    older = replace(rows[d], cells={**rows[d].cells, "content": '"it said this before"'})
    items = [
        Item("dedupe_memories", "merge", merge(peer, rows[a], rows[b])),
        Item("absolutize_dates", "reword", reword(peer, rows[c], "On 2026-03-01.")),
        Item("render_pages", "render", page),
        Item("consolidate", "summarize", summary),
        Item("dedupe_memories", "merge", merge(peer, rows[a], older)),
    ]
    found = lowered(store, peer, items, "the embedder gives other vectors.")
    assert [i.operation for i in found.items] == ["dedupe_memories", "render_pages"]
    assert found.items[0].mutation.physical
    assert found.items[0].id != items[0].id, "the id covers what is written there"
    assert replace(found.items[0].mutation, physical=None) == items[0].mutation
    assert found.items[1] is items[2]
    assert found.changed == 1
    assert "other vectors" in found.off["absolutize_dates"]
    assert "nothing is added" in found.off["consolidate"]
    assert found.off.keys() == {"absolutize_dates", "consolidate"}
    assert len(found.sentences()) == 3
    allowed = lowered(store, peer, items)
    assert [i.operation for i in allowed.items] == ["dedupe_memories", "absolutize_dates", "render_pages"]


def test_items_of_our_own_memory_stay_as_they_are(store: Store) -> None:
    """Nothing is read and nothing is lowered."""
    world = new_world(store)
    item = Item("test", "change", Mutation("set_state", "memories", rows=(Row(world.ids("memories")[0]),)))
    assert lower_items(store, world.namespace_id, [item]) == LoweredItems((item,))
