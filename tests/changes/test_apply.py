"""The vectors of a batch, and a merge whose rows have a relationship since."""

from __future__ import annotations

import uuid

import numpy as np

from slowwave.changes.apply import apply_items
from slowwave.changes.merges import Merge, merge_rows
from slowwave.changes.rows import set_columns, set_vector
from slowwave.plans.items import Item
from slowwave.snapshots.export import export_snapshot
from slowwave.store.connect import Store
from tests.memories import ask, remember, uid

NEW = "new-model"


def test_apply_items_first_vectors_of_a_model_register_it(store: Store) -> None:
    """A stale item in the batch does not keep the vectors of the others from being stored."""
    namespace = remember(
        store,
        "vectors",
        entities=[{"id": name, "name": name, "entity_type": "PERSON"} for name in ("anna", "bob", "cy")],
    )
    snapshot = export_snapshot(store, "vectors", model=NEW)

    def vector_item(name: str, vector: list[float]) -> Item:
        (mutation,) = set_vector(snapshot, "entity_vectors", {uid(name): np.array(vector, np.float32)})
        return Item("reembed", "change", mutation)

    (renamed,) = set_columns(snapshot, "set_state", "entities", {uid("cy"): {"state": "archived"}})
    stale = Item("archive_stale", "archive", renamed)
    ask(store, "UPDATE memory.entities SET state = 'cold' WHERE id = %s", uid("cy"))
    first, longer = vector_item("anna", [0.6, 0.8]), vector_item("bob", [0.0, 0.6, 0.8])

    def apply(*items: Item) -> dict[str, str]:
        with store.connect("applier") as connection, connection.transaction():
            return apply_items(connection, namespace, str(uuid.uuid4()), items)

    assert apply(first, stale).keys() == {stale.id}
    assert ask(store, "SELECT id::text, model FROM memory.entity_vectors") == [(uid("anna"), NEW)]
    assert apply(longer) == {longer.id: f"The model {NEW} has vectors of 2 numbers, and the plan's have 3."}
    assert ask(store, "SELECT count(*) FROM memory.entity_vectors") == [(1,)]


def test_apply_items_first_edge_of_an_absorbed_row_after_planning_is_stale(store: Store) -> None:
    """The relationships are compared also if the merge writes no table but entities."""
    people = [{"id": name, "name": name, "entity_type": "PERSON"} for name in ("anna", "anne")]
    namespace = remember(store, "edges", entities=people)
    (merge,) = merge_rows(export_snapshot(store, "edges"), [Merge(uid("anna"), (uid("anne"),))])
    assert {w.cell.table for w in merge.writes} == {"entities"}
    item = Item("dedupe_entities", "merge", merge)
    edge = {"source_entity_id": "anna", "target_entity_id": "anne", "relationship_type": "KNOWS"}
    remember(store, "edges", relationships=[{"id": "edge", **edge}])
    with store.connect("applier") as connection, connection.transaction():
        stale = apply_items(connection, namespace, str(uuid.uuid4()), [item])
    assert "relationships of entity" in stale[item.id]
