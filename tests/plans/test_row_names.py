"""Rows are called by their names wherever somebody reads, never by ids alone."""

from __future__ import annotations

import uuid

from slowwave.changes.cells import Cell, Guard, Write
from slowwave.changes.mutation import Mutation, Row
from slowwave.plans.items import Item
from slowwave.plans.show import called, named_rows, read_names
from slowwave.store.connect import Store
from tests.memories import ask, remember
from tests.snapshots import uid

KEY = "AKIA" + "Q3EGRZ7XJ5KLM2NP"


def test_every_kind_of_row_has_a_name(store: Store) -> None:
    """Entities, ties, facts and memories in one query; what is quarantined has none, and no secret is in one."""
    remember(
        store,
        "port",
        entities=[
            {"id": "mara", "name": "Mara", "entity_type": "PERSON"},
            {"id": "vale", "name": "Port Vale", "entity_type": "PLACE"},
        ],
        relationships=[
            {"id": "r", "source_entity_id": "mara", "target_entity_id": "vale", "relationship_type": "WORKS_AT"}
        ],
        memory_facts=[
            {"id": "f", "subject": "Mara", "predicate": "has", "object": "a key", "fact_text": f"Her key is {KEY}."}
        ],
        memories=[
            {"id": n, "kind": "episodic", "current_version_id": f"v{n}", "state": state}
            for n, state in (("m", "active"), ("q", "quarantined"))
        ],
        memory_versions=[{"id": f"v{n}", "memory_id": n, "content": "The crane is repaired."} for n in ("m", "q")],
    )
    tables = ("entities", "relationships", "memory_facts", "memories")
    ids = {str(id_): table for table in tables for (id_,) in ask(store, "SELECT id::text FROM memory." + table)}
    with store.connect("reader") as connection:
        names = read_names(connection, set(ids), str(uuid.uuid4()))
    assert sorted((ids[row], name) for row, name in names.items() if "key" not in name) == [
        ("entities", "Mara"),
        ("entities", "Port Vale"),
        ("memories", "The crane is repaired."),
        ("relationships", "Mara WORKS_AT Port Vale"),
    ]
    assert len(names) == 5
    assert KEY not in str(names)


def test_an_item_is_called_by_what_it_is_about() -> None:
    """What the plan saw before what is there now; two sides both; several rows by the first; an id where there is no name."""
    rows = tuple(Row(uid(n)) for n in "ab")
    merge = Mutation("merge_rows", "entities", keep=rows[0], absorb=rows[1:])
    assert called(Item("x", "merge", merge, {"names": ["Mara", "Mara R."]}), {}) == (
        "“Mara R.” is merged into “Mara” because they are one thing; the name “Mara” stays."
    )
    some = Mutation("set_state", "memories", rows=rows)
    assert called(Item("x", "y", some), {uid("a"): "It rained."}) == "It rained. and 1 more"
    end = Write(Cell("memories", uid("a"), "valid_to"), "set", None, "2026-11-14T00:00:00.000000+00:00")
    guard = Guard("memories", uid("b"), ("invalidated_at",), (None,))
    sides = Mutation("invalidate_rows", "memories", (end,), (guard,), rows=rows[:1])
    words = {"winner": "B", "loser": "A"}
    assert called(Item("x", "resolve", sides, words), {}) == "“A” ends on 2026-11-14; “B” stays."
    assert called(Item("x", "review", sides, words), {}) == "Proposal: “A” ends on 2026-11-14; “B” stays."
    assert called(Item("x", "review", sides, words), {}, "applied") == "“A” ends on 2026-11-14; “B” stays."
    version = Mutation("new_version", "memories", rows=rows[:1])
    words = {"before": "Petra leaves tomorrow.", "after": "Petra leaves tomorrow (2026-10-25)."}
    assert called(Item("x", "reword", version, words), {}) == "Petra leaves tomorrow{+ (2026-10-25)+}."
    assert called(Item("x", "y", Mutation("set_state", "memories", rows=(Row(uid("a"), "m-7"),))), {}) == "m-7"
    assert uid("a")[:8] in called(Item("x", "y", some), {})
    assert named_rows([Item("x", "y", some)]) == set(some.row_ids())
