"""The blast radius counts rows that people would miss or read anew, and nothing else."""

from datetime import timedelta

import pytest

from slowwave.changes.cells import Cell, Write
from slowwave.changes.merges import Alike, merge_facts, merge_memories
from slowwave.changes.mutation import Mutation
from slowwave.changes.rows import (
    NewVersion,
    Supersession,
    filter_references,
    invalidate_rows,
    new_versions,
    set_columns,
    set_vector,
    supersede_facts,
)
from slowwave.plans.probes.radius import Radius
from slowwave.store.settings import Settings
from tests.permitting import blast_radius
from tests.plans.probes.plans import entity, item, merges
from tests.snapshots import TAKEN_AT, make_snapshot, uid


def rows(radius: Radius) -> tuple[int, int, int]:
    return radius.live, radius.retired, radius.reworded


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
    assert rows(radius.per_table["entities"]) == (3, 1, 0)
    assert rows(radius.per_table["relationships"]) == (2, 1, 0)
    assert {name: rows(r) for name, r in radius.per_type["entities"].items()} == {"PERSON": (2, 0, 0), "ORG": (1, 0, 0)}
    assert {name: rows(r) for name, r in radius.per_type["relationships"].items()} == {
        "AT": (1, 0, 0),
        "KNOWS": (1, 1, 0),
    }
    assert (radius.retired, radius.reworded, radius.share) == (2, 0, 0.5)
    assert (radius.per_table["entities"].allowed, radius.passed) == (2, True)


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
    assert (radius.retired, radius.reworded, radius.per_table["entities"].allowed, radius.passed) == (0, 0, 0, True)


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
    assert rows(radius.per_table["memories"]) == (2, 1, 0)
    assert rows(radius.per_table["memory_facts"]) == (1, 1, 0)


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
    assert (within.per_table["chunks"].allowed, within.passed, beyond.passed) == (40, True, False)
    assert beyond.beyond() == [("chunks", "", beyond.per_table["chunks"])]
    assert "either asked for" in beyond.sentence()
    assert "needs force and a reason" in beyond.sentence()
    assert "Beyond the cap" not in within.sentence()
    assert blast_radius(snapshot, retire(41), Settings(blast_radius_share=0.5)).passed


def test_an_empty_plan_on_an_empty_namespace():
    radius = blast_radius(make_snapshot(), [], Settings())
    assert (radius.share, radius.passed) == (0.0, True)
    assert radius.to_json()["per_table"]["chunks"] == {
        **dict.fromkeys(
            (
                *("live", "retired", "reworded", "added", "tokens", "lost_tokens", "allowed", "allowed_tokens"),
                *("tidied", "tidied_tokens", "allowed_in_all", "allowed_tokens_in_all"),
            ),
            0,
        ),
        **{"share": 0.0, "passed": True},
    }


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
        *merge_facts(snapshot, [Alike(uid("a"), (uid("b"),))]),
        *supersede_facts(snapshot, [Supersession(uid("a"), uid("c"))]),
        *merge_memories(snapshot, [Alike(uid("d"), (uid("e"),))]),
    ]
    radius = blast_radius(snapshot, [item(m) for m in mutations], Settings())
    assert rows(radius.per_table["memory_facts"]) == (3, 2, 0)
    assert rows(radius.per_table["memories"]) == (2, 1, 0)


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
    assert rows(radius.per_table["memories"]) == (2, 0, 1)
    assert radius.rows["memories"] == {uid("shorter"): radius.per_table["memories"].lost_tokens}


def said(*texts: str):
    """A snapshot with a memory for each text."""
    return make_snapshot(
        memories=[
            {"id": uid(n), "kind": "semantic", "current_version_id": uid(f"{n} text")} for n in range(len(texts))
        ],
        memory_versions=[
            {"id": uid(f"{n} text"), "memory_id": uid(n), "content": text} for n, text in enumerate(texts)
        ],
    )


@pytest.mark.parametrize(
    ("old", "new", "adds"),
    [
        ("We met yesterday.", "We met yesterday (2026-02-28).", True),
        ("昨日会いました。", "昨日（2026-02-28）会いました。", True),
        ("", "Something to say.", True),
        ("Ann likes tea.", "Ann does not like tea.", False),
        ("Ann likes tea.", "Ann never likes tea.", False),
        ("Ann takes the pills", "Ann avoid takes the pills", False),
        ("if a != b: stop", "if a = b: stop", False),
        ("Ann beats Bob.", "Bob beats Ann.", False),
        ("the catalogue", "the catalogue's cat", True),
        ("it rained all day", "it rained", False),
        ("Call US today", "Call us today", False),
    ],
)
def test_words_beside_words_add_and_a_negation_does_not(old: str, new: str, adds: bool):
    """What keeps every word in its place is additive, unless what comes turns it round."""
    snapshot = said(old)
    items = [item(m) for m in new_versions(snapshot, [NewVersion(uid(0), new, "test")])]
    radius = blast_radius(snapshot, items, Settings())
    assert (radius.added, radius.reworded) == ((1, 0) if adds else (0, 1))


def test_a_table_is_held_to_its_cap_whatever_stands_beside_it():
    """21 of 21 memories are few of all rows; half of a small table is the most."""
    snapshot = make_snapshot(
        memories=[{"id": uid(n), "kind": "semantic"} for n in range(21)],
        chunks=[{"id": uid(f"chunk {n}"), "content": "x"} for n in range(3_000)],
    )

    def archive(n: int):
        values = {uid(i): {"state": "archived"} for i in range(n)}
        return [item(m) for m in set_columns(snapshot, "set_state", "memories", values)]

    found = {n: blast_radius(snapshot, archive(n), Settings()) for n in (11, 12, 21)}
    assert [found[n].passed for n in (11, 12, 21)] == [True, False, False]
    assert (found[21].share, found[21].per_table["memories"].allowed) == (1.0, 11)
    assert not blast_radius(snapshot, archive(1), Settings(blast_radius_rows=0)).passed


def test_a_type_is_held_to_its_cap_within_its_table():
    """All rules of an agent among many memories of other kinds."""
    kinds = {**{f"rule {n}": "procedural" for n in range(8)}, **{f"day {n}": "episodic" for n in range(2_000)}}
    snapshot = make_snapshot(memories=[{"id": uid(name), "kind": kind} for name, kind in kinds.items()])
    values = {uid(f"rule {n}"): {"state": "archived"} for n in range(8)}
    radius = blast_radius(
        snapshot, [item(m) for m in set_columns(snapshot, "set_state", "memories", values)], Settings()
    )
    assert radius.per_table["memories"].passed
    assert [group[:2] for group in radius.beyond()] == [("memories", "procedural")]
    assert "type procedural" in radius.sentence()


@pytest.mark.parametrize(("rows_of_it", "passes"), [(4, True), (5, False)])
def test_a_handful_of_a_type_counts_with_its_table_alone(rows_of_it: int, passes: bool):
    """The only two events of an ordinary night are no alarm; a whole type of five is one."""
    kinds = {**{f"event {n}": "event" for n in range(rows_of_it)}, **{f"day {n}": "episodic" for n in range(200)}}
    snapshot = make_snapshot(memories=[{"id": uid(name), "kind": kind} for name, kind in kinds.items()])
    values = {uid(f"event {n}"): {"state": "archived"} for n in range(rows_of_it)}
    radius = blast_radius(
        snapshot, [item(m) for m in set_columns(snapshot, "set_state", "memories", values)], Settings()
    )
    assert (radius.per_type["memories"]["event"].retired, radius.passed) == (rows_of_it, passes)


def test_of_a_type_what_merges_is_not_gone():
    """Four spellings of the only company: the table counts the three, its type does not."""
    people = [entity(f"person {n}") for n in range(9)]
    snapshot = make_snapshot(
        entities=[*people, *(entity(n, entity_type="ORG") for n in ("Acme", "ACME", "Acme Co", "A"))]
    )
    radius = blast_radius(snapshot, merges(snapshot, {"Acme": ["ACME", "Acme Co", "A"]}), Settings())
    assert (rows(radius.per_table["entities"]), rows(radius.per_type["entities"]["ORG"])) == ((13, 3, 0), (4, 0, 0))
    assert radius.passed
    assert radius.merged == {uid(n) for n in ("ACME", "Acme Co", "A")}


def test_a_few_long_rows_are_not_few():
    """One memory of 200 that holds most of the words."""
    snapshot = said("Everything that was ever decided. " * 400, *(f"Note {n}." for n in range(199)))
    values = {uid(0): {"state": "archived"}}
    radius = blast_radius(
        snapshot, [item(m) for m in set_columns(snapshot, "set_state", "memories", values)], Settings()
    )
    memories = radius.per_table["memories"]
    assert (memories.retired, memories.allowed, memories.passed) == (1, 25, False)
    assert memories.lost_tokens > memories.allowed_tokens
    assert "tokens" in radius.sentence()
