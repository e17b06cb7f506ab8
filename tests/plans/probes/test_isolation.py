"""No plan reaches outside its namespace."""

import pytest

from slowwave.changes.cells import RELATIONSHIPS, Cell, Guard, Insert, Write, inserted_id
from slowwave.changes.merges import Alike, merge_facts, merge_memories
from slowwave.changes.mutation import Mutation, Row
from slowwave.changes.rows import filter_references, set_vector
from slowwave.plans.probes.isolation import ForeignRow, isolation_probe
from tests.plans.probes.plans import entity, item, merges
from tests.snapshots import TAKEN_AT, make_snapshot, uid

FOREIGN = uid("a row of another namespace")


def snapshot():
    return make_snapshot(
        entities=[entity("Mara", source_chunk_ids=[uid("dead")]), entity("M.", source_chunk_ids=[uid("chunk")])],
        chunks=[{"id": uid("chunk"), "content": "x"}, {"id": uid("old"), "content": "y", "invalidated_at": TAKEN_AT}],
        relationships=[{"source_entity_id": uid("Mara"), "target_entity_id": uid("M."), "relationship_type": "KNOWS"}],
        vectors={"entity_vectors": {uid("Mara"): (1, 0)}},
    )


def test_what_the_planners_make_is_the_namespaces_own():
    """Merges with aliases, cleaned references whose dead ids name nothing, vectors written and inserted."""
    before = snapshot()
    vector = before.vectors["entity_vectors"].matrix[0] * 0.5
    mutations = [
        *filter_references(before, "entities", [uid("Mara")]),
        *set_vector(before, "entity_vectors", {uid("Mara"): vector, uid("M."): vector}),
    ]
    items = [*merges(before, {"Mara": ["M."]}), *(item(m, "gc", "clean") for m in mutations)]
    probe = isolation_probe(before, items)
    assert (len(items), probe.foreign, probe.passed) == (4, (), True)
    assert probe.cells == sum(
        len(i.mutation.writes) + len([*i.mutation.seen()]) + sum(len(n.values) for n in i.mutation.inserts)
        for i in items
    )


@pytest.mark.parametrize(
    ("mutation", "table"),
    [
        (
            Mutation("set_state", "entities", (Write(Cell("entities", FOREIGN, "state"), "set", "active", "x"),)),
            "entities",
        ),
        (Mutation("set_state", "entities", guards=(Guard("chunks", FOREIGN, ("content",), ("x",)),)), "chunks"),
        (Mutation("set_state", "entities", rows=(Row(FOREIGN),)), "entities"),
        (Mutation("merge_rows", "entities", keep=Row(uid("Mara")), absorb=(Row(FOREIGN),)), "entities"),
        (
            Mutation(
                "merge_rows",
                "entities",
                (Write(Cell("entities", uid("Mara"), "source_chunk_ids"), "set", (), (uid("chunk"), FOREIGN)),),
            ),
            "chunks",
        ),
        (
            Mutation(
                "merge_rows", "entities", (Write(Cell("entities", uid("M."), "merged_into"), "set", None, FOREIGN),)
            ),
            "entities",
        ),
        (
            Mutation("merge_rows", "entities", guards=(Guard("entities", uid("M."), (RELATIONSHIPS,), ((FOREIGN,),)),)),
            "relationships",
        ),
        (
            Mutation(
                "merge_rows", "entities", inserts=(Insert("entity_aliases", {"entity_id": FOREIGN, "alias": "x"}),)
            ),
            "entities",
        ),
        (
            Mutation("set_vector", "entity_vectors", inserts=(Insert("entity_vectors", {"vector": ""}, FOREIGN, "m"),)),
            "entities",
        ),
        (Mutation("set_state", "nowhere", (Write(Cell("nowhere", FOREIGN, "state"), "set", None, None),)), "nowhere"),
    ],
)
def test_a_foreign_row_is_named_wherever_it_hides(mutation: Mutation, table: str):
    """Written, guarded, named, referred to, or inserted beside."""
    forged = item(mutation)
    probe = isolation_probe(snapshot(), [*merges(snapshot(), {"Mara": ["M."]}), forged])
    assert probe.foreign == (ForeignRow(forged.id, table, FOREIGN),)
    assert not probe.passed
    assert "must not be approved" in probe.sentence()


def test_rows_that_the_plan_inserts_are_its_own():
    """A new version and the memory that points at it come in one item, or in two."""
    maker = item(Mutation("new_version", "memories", inserts=(Insert("memory_versions", {"content": "x"}),)))
    new = inserted_id(maker.id, 0)
    user = item(
        Mutation(
            "new_version", "memories", (Write(Cell("memories", uid("m"), "current_version_id"), "set", None, new),)
        )
    )
    before = make_snapshot(memories=[{"id": uid("m"), "kind": "semantic"}])
    assert isolation_probe(before, [maker, user]).passed
    assert isolation_probe(before, [user]).foreign == (ForeignRow(user.id, "memory_versions", new),)


def test_rows_that_the_plan_names_and_makes_are_its_own():
    """A page's document, under the id of its place, and the passage that names it; a passage of a page that nobody makes is not."""
    page = Insert("documents", {"content": "x"}, uid("d"))
    passage = Insert("chunks", {"document_id": uid("d"), "content": "x"}, uid("c"))
    maker = item(Mutation("write_page", "documents", inserts=(page, passage)))
    alone = item(Mutation("write_page", "documents", inserts=(passage,)))
    assert isolation_probe(snapshot(), [maker]).passed
    assert isolation_probe(snapshot(), [alone]).foreign == (ForeignRow(alone.id, "documents", uid("d")),)


def test_survivors_of_facts_and_memories_are_looked_up_in_their_own_tables():
    """``superseded_by`` names a fact and ``merged_into`` a row of its own table."""
    before = make_snapshot(
        memory_facts=[{"id": uid(n), "subject": "s", "predicate": "p", "object": "o"} for n in "ab"],
        memories=[{"id": uid(n), "kind": "event"} for n in "cd"],
    )
    items = [
        item(m, "dedupe")
        for m in (
            *merge_facts(before, [Alike(uid("a"), (uid("b"),))]),
            *merge_memories(before, [Alike(uid("c"), (uid("d"),))]),
        )
    ]
    assert isolation_probe(before, items).passed
    foreign = Write(Cell("memory_facts", uid("b"), "superseded_by"), "set", None, uid("c"))
    forged = item(
        Mutation("merge_rows", "memory_facts", writes=(foreign,), keep=Row(uid("a")), absorb=(Row(uid("b")),))
    )
    assert isolation_probe(before, [forged]).foreign == (ForeignRow(forged.id, "memory_facts", uid("c")),)
