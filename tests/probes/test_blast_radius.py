"""The blast radius counts rows that people would miss or read anew, and nothing else."""

from datetime import timedelta

from slowwave.mutations.cells import Cell, Write
from slowwave.mutations.filter_references import filter_references
from slowwave.mutations.invalidate_rows import invalidate_rows
from slowwave.mutations.merge_facts import FactMerge, merge_facts
from slowwave.mutations.merge_memories import MemoryMerge, merge_memories
from slowwave.mutations.mutation import Mutation
from slowwave.mutations.new_version import NewVersion, new_versions
from slowwave.mutations.set_columns import set_columns
from slowwave.mutations.set_vector import set_vector
from slowwave.mutations.supersede_facts import Supersession, supersede_facts
from slowwave.probes.blast_radius import Radius, blast_radius
from slowwave.settings import Settings
from tests.probes.plans import entity, item, merges
from tests.snapshots import TAKEN_AT, make_snapshot, uid


def test_a_merge_retires_the_absorbed_row_and_the_edge_inside_the_cluster():
    """The survivor, its vector, its counters and edges whose endpoint moves are not in the count."""
    snapshot = make_snapshot(
        entities=[entity("Mara", mention_count=4), entity("M.", mention_count=2), entity("Acme", entity_type="ORG")],
        relationships=[
            {"source_entity_id": uid("Mara"), "target_entity_id": uid("M."), "relationship_type": "KNOWS"},
            {"source_entity_id": uid("M."), "target_entity_id": uid("Acme"), "relationship_type": "AT"},
        ],
    )
    radius = blast_radius(snapshot, merges(snapshot, {"Mara": ["M."]}), Settings())
    assert radius.per_table["entities"] == Radius(3, 1, 0)
    assert radius.per_table["relationships"] == Radius(2, 1, 0)
    assert radius.per_type == {"PERSON": Radius(2, 1, 0), "ORG": Radius(1, 0, 0)}
    assert (radius.retired, radius.reworded, radius.live, radius.share) == (2, 0, 5, 0.4)
    assert (radius.allowed, radius.passed) == (25, True)


def test_cleaning_provenance_and_setting_vectors_touch_nothing_that_counts():
    snapshot = make_snapshot(
        entities=[entity("Mara", source_chunk_ids=[uid("dead")])], vectors={"entity_vectors": {uid("Mara"): (1, 0)}}
    )
    mutations = [
        *filter_references(snapshot, "entities", [uid("Mara")]),
        *set_vector(snapshot, "entity_vectors", {uid("Mara"): snapshot.vectors["entity_vectors"].matrix[0] * 2}),
    ]
    radius = blast_radius(snapshot, [item(m, "gc", "clean") for m in mutations], Settings(blast_radius_rows=0))
    assert len(mutations) == 2
    assert (radius.retired, radius.reworded, radius.allowed, radius.passed) == (0, 0, 0, True)


def test_archived_and_invalidated_rows_are_retired_and_dead_ones_do_not_count_again():
    snapshot = make_snapshot(
        memories=[{"id": uid("a"), "kind": "semantic"}, {"id": uid("b"), "kind": "semantic"}],
        memory_facts=[
            {"id": uid("f"), "subject": "s", "predicate": "p", "object": "o"},
            {"id": uid("g"), "subject": "s", "predicate": "p", "object": "o", "invalidated_at": TAKEN_AT},
        ],
    )
    mutations = [
        *set_columns(snapshot, "set_state", "memories", {uid("a"): {"state": "archived"}, uid("b"): {"ring": "core"}}),
        invalidate_rows(snapshot, "memory_facts", {uid("f"): None, uid("g"): "2026-02-01T00:00:00+00:00"}),
    ]
    radius = blast_radius(snapshot, [item(m, "decay", "archive") for m in mutations], Settings())
    assert radius.per_table["memories"] == Radius(2, 1, 0)
    assert radius.per_table["memory_facts"] == Radius(1, 1, 0)


def test_a_replaced_text_is_reworded_and_a_filled_one_is_not():
    snapshot = make_snapshot(entities=[entity("a", description="old"), entity("b"), entity("c", description="old")])

    def describe(name: str, seen: str) -> Mutation:
        return Mutation(
            "merge_rows", "entities", (Write(Cell("entities", uid(name), "description"), "set", seen, "new"),)
        )

    items = [item(describe("a", "old")), item(describe("b", "")), item(describe("a", "old"), "again")]
    radius = blast_radius(snapshot, items, Settings())
    assert (radius.retired, radius.reworded) == (0, 1)


def test_a_row_that_is_retired_and_reworded_counts_once():
    snapshot = make_snapshot(entities=[entity("Mara"), entity("M.", description="old")])
    words = Mutation(
        "merge_rows", "entities", (Write(Cell("entities", uid("M."), "description"), "set", "old", "new"),)
    )
    radius = blast_radius(snapshot, [*merges(snapshot, {"Mara": ["M."]}), item(words)], Settings())
    assert (radius.retired, radius.reworded) == (1, 0)


def test_beyond_the_cap_the_problem_is_upstream():
    """26 of 2,000 chunks are over 25 rows but within 2 %; 41 are over both."""
    snapshot = make_snapshot(chunks=[{"id": uid(n), "content": "x"} for n in range(2_000)])

    def retire(n: int):
        return [item(invalidate_rows(snapshot, "chunks", {uid(i): None for i in range(n)}), "prune", "invalidate")]

    within, beyond = (blast_radius(snapshot, retire(n), Settings()) for n in (40, 41))
    assert (within.allowed, within.passed, beyond.passed) == (40, True, False)
    assert "The problem is upstream" in beyond.sentence()
    assert "upstream" not in within.sentence()
    assert blast_radius(snapshot, retire(41), Settings(blast_radius_share=0.5)).passed


def test_an_empty_plan_on_an_empty_namespace():
    radius = blast_radius(make_snapshot(), [], Settings())
    assert (radius.share, radius.live, radius.passed) == (0.0, 0, True)
    assert radius.to_json()["per_table"]["chunks"] == {"live": 0, "retired": 0, "reworded": 0}


def test_merged_and_replaced_facts_and_merged_memories_are_retired_and_their_survivors_are_not():
    said = {"subject": "Ann", "predicate": "lives in"}
    starts = [TAKEN_AT - timedelta(days=n) for n in (9, 9, 3)]
    snapshot = make_snapshot(
        memory_facts=[
            {"id": uid(n), "object": o, "valid_from": start, **said}
            for n, o, start in zip("abc", ("Oslo", "oslo", "Rome"), starts, strict=True)
        ],
        memories=[{"id": uid(n), "kind": "event", "tags": [n]} for n in "de"],
    )
    mutations = [
        *merge_facts(snapshot, [FactMerge(uid("a"), (uid("b"),))]),
        *supersede_facts(snapshot, [Supersession(uid("a"), uid("c"))]),
        *merge_memories(snapshot, [MemoryMerge(uid("d"), (uid("e"),))]),
    ]
    radius = blast_radius(snapshot, [item(m) for m in mutations], Settings())
    assert radius.per_table["memory_facts"] == Radius(3, 2, 0)
    assert radius.per_table["memories"] == Radius(2, 1, 0)


def test_a_text_that_is_said_again_is_not_reworded():
    """A memory that only goes to another stage reads as before; one that is shortened does not."""
    snapshot = make_snapshot(
        memories=[
            {"id": uid(n), "kind": "episodic", "current_version_id": uid(f"{n} text")} for n in ("same", "shorter")
        ],
        memory_versions=[
            {"id": uid(f"{n} text"), "memory_id": uid(n), "content": "It rained all day."} for n in ("same", "shorter")
        ],
    )
    changes = [
        NewVersion(uid("same"), "It rained all day.", "decay:compressed", stage="compressed"),
        NewVersion(uid("shorter"), "It rained.", "decay:compressed", stage="compressed"),
    ]
    radius = blast_radius(snapshot, [item(m) for m in new_versions(snapshot, changes)], Settings())
    assert radius.per_table["memories"] == Radius(2, 0, 1)
