"""What an item changes is told by the names of its rows, a line a change, without bookkeeping."""

from __future__ import annotations

from dataclasses import replace

from slowwave.changes.cells import Cell, Insert, Write
from slowwave.changes.mutation import Mutation, Row
from slowwave.plans.items import Item
from slowwave.plans.show import row_changes
from tests.snapshots import uid

A, B, C = (uid(name) for name in "abc")
NAMES = {A: "Mara Reyes", B: "Reyes, Mara", C: "Port Vale"}


def cell(row: str, column: str, table: str = "entities") -> Cell:
    return Cell(table, row, column)


def test_a_merge_in_the_names_of_its_rows() -> None:
    """Who goes into whom, what is told differently then, and how many rows follow; what keeps books is counted alone."""
    mutation = Mutation(
        "merge_rows",
        "entities",
        writes=(
            Write(cell(A, "description"), "set", "", "Pilot of Port Vale."),
            Write(cell(A, "mention_count"), "add", None, 2),
            Write(cell(A, "valid_from"), "set", "2026-11-26T08:12:24.9+00:00", "2026-11-26T08:12:24.1+00:00"),
            Write(cell(A, "source_chunk_ids"), "set", (C,), (C, B)),
            Write(cell(B, "invalidated_at"), "now"),
            Write(cell(B, "merged_into"), "set", None, A),
            Write(cell(B, "state"), "set", "active", "merged"),
            Write(cell(uid("r1"), "source_entity_id", "relationships"), "set", B, A),
            Write(cell(uid("r2"), "target_entity_id", "relationships"), "set", B, A),
        ),
        inserts=(Insert("entity_aliases", {"alias": "Reyes, Mara", "entity_id": A, "source": "merge"}),),
        keep=Row(A),
        absorb=(Row(B),),
    )
    told = row_changes(Item("dedupe_entities", "merge", mutation), NAMES)
    assert told.lines == (
        "“Reyes, Mara” is merged into “Mara Reyes” because they are one thing; the name “Mara Reyes” stays.",
        "Mara Reyes: description  → Pilot of Port Vale.",
        "2 relationships of it move to Mara Reyes",
        "Mara Reyes is also called Reyes, Mara",
    )
    assert told.hidden == 5


def test_rows_of_one_name_are_told_apart() -> None:
    """By their external ids: "X goes into X" tells nobody anything."""
    writes = (Write(cell(B, "invalidated_at"), "now"), Write(cell(B, "merged_into"), "set", None, A))
    mutation = Mutation("merge_rows", "entities", writes=writes, keep=Row(A, "e-1"), absorb=(Row(B, "e-2"),))
    evidence = {"names": ["Mara", "Mara"]}
    told = ("“Mara” (e-2) is merged into “Mara” (e-1) because they are one thing; both are called “Mara”.",)
    assert row_changes(Item("x", "merge", mutation, evidence), {}).lines == told
    alias = Insert("entity_aliases", {"alias": "MARA", "entity_id": A, "source": "merge"})
    assert row_changes(Item("x", "merge", replace(mutation, inserts=(alias,)), evidence), {}).lines == told


def test_row_changes_of_a_renamed_row_call_its_former_name_the_other_one() -> None:
    """“Reyes, Mara” was also called “Reyes, Mara”: the alias is the former name, and the row has a new one."""
    writes = (
        Write(cell(A, "name"), "set", "Reyes, Mara", "Mara Reyes"),
        Write(cell(B, "invalidated_at"), "now"),
        Write(cell(B, "merged_into"), "set", None, A),
    )
    alias = Insert("entity_aliases", {"alias": "Reyes, Mara", "entity_id": A, "source": "merge"})
    mutation = Mutation("merge_rows", "entities", writes=writes, inserts=(alias,), keep=Row(A), absorb=(Row(B),))
    assert row_changes(Item("x", "merge", mutation), {A: "Reyes, Mara", B: "Mara Reyes"}).lines == (
        "“Mara Reyes” is merged into “Reyes, Mara” because they are one thing; the name “Mara Reyes” stays.",
        "Reyes, Mara: name Reyes, Mara → Mara Reyes",
        "Mara Reyes is also called Reyes, Mara",
    )


def test_row_changes_two_sides_name_the_row_that_ends_by_its_words() -> None:
    """The row that the writes end, whatever the decision and the kind of evidence (F1)."""
    writes = (
        Write(cell(A, "is_active", "memory_facts"), "set", True, False),
        Write(cell(A, "superseded_by", "memory_facts"), "set", None, B),
        Write(cell(A, "valid_to", "memory_facts"), "set", None, "2026-11-14T00:00:00.000000+00:00"),
    )
    mutation = Mutation("invalidate_rows", "memory_facts", writes=writes, rows=(Row(A),))
    item = Item("supersede_facts", "supersede", mutation, {"earlier": "X is at 1", "later": "X is at 2"})
    ends = "“X is at 1” ends on 2026-11-14{}; “X is at 2” stays."
    assert row_changes(item, {}).lines == (ends.format(" because the later one begins then"),)
    item = Item("resolve_conflicts", "resolve", mutation, {"winner": "X is at 2", "loser": "X is at 1"})
    assert row_changes(item, {}).lines == (ends.format(""),)


def test_of_a_list_only_what_comes_and_goes() -> None:
    """Tags, attributes and sources; the row's name is the heading's."""
    writes = (
        Write(cell(A, "tags", "memories"), "set", '["late", "old"]', '["late", "quay", "free"]'),
        Write(cell(A, "attributes", "memories"), "set", '{"berth": 1}', '{"berth": 2}'),
        Write(cell(A, "source_chunk_ids", "memories"), "set", (B, C), (B,)),
    )
    item = Item("x", "tag", Mutation("set_attributes", "memories", writes=writes, rows=(Row(A),)))
    assert row_changes(item, NAMES).lines == (
        "tags + quay, + free, - old",
        "attributes + berth=2, - berth=1",
        "source chunk ids 2 → 1",
    )


def test_what_only_keeps_books_is_said_to_do_so() -> None:
    """An item never says nothing; and no secret is repeated."""
    vector = Write(Cell("memory_vectors", A, "vector", "m"), "set", None, "AAAA")
    vectors = Item("x", "embed", Mutation("set_vector", "memories", writes=(vector,), rows=(Row(A),)))
    assert row_changes(vectors, NAMES).lines == ("gets its vector",)
    key = "AKIA" + "Q3EGRZ7XJ5KLM2NP"
    write = Write(cell(A, "description"), "set", "", f"The key is {key}.")
    item = Item("x", "y", Mutation("set_columns", "entities", writes=(write,), rows=(Row(A),)))
    assert key not in str(row_changes(item, NAMES))
