"""Items: the identity under which a rejection remembers them, and the cells that they exclude from other items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import pytest

from slowwave.changes.cells import TOLD, VERSION, Cell, Delete, Guard, Insert, Value, Write
from slowwave.changes.cells import Change as ChangeOfStore
from slowwave.changes.mutation import Mutation, Row
from slowwave.plans.items import Item, Sealed

Change: TypeAlias = Callable[[Mutation], Mutation]
A, B, C = (f"00000000-0000-0000-0000-00000000000{n}" for n in range(3))


def write(table: str, column: str, value: Value, row: str = A, seen: Value = None) -> Write:
    return Write(Cell(table, row, column), "set", seen, value)


def subject(mutation: Mutation) -> str:
    return Item("any", "any", mutation).subject()


def writes(*some: Write) -> Change:
    return lambda m: replace(m, writes=some)


def guards(*some: Guard) -> Change:
    return lambda m: replace(m, guards=some)


def inserts(*some: Insert) -> Change:
    return lambda m: replace(m, inserts=some)


MERGE = Mutation(
    "merge_rows",
    "entities",
    (write("entities", "description", "One."),),
    (Guard("entities", A, ("name", "source_chunk_ids"), ("Mara", ())),),
    keep=Row(A),
    absorb=(Row(B),),
)
SUMMARY = Mutation(
    "insert_summary",
    "communities",
    guards=(Guard("memories", A, (VERSION,), ("v1",)),),
    inserts=(Insert("communities", {"member_ids": (A, B), "summary": "Two."}),),
)
TOPIC = replace(SUMMARY, table="memories", rows=(Row(A),))
NEW_PAGE = Mutation("render_page", "pages", inserts=(Insert("pages", {"path": "a.md", "input_hash": "1"}),))
PAGE = Mutation(
    "render_page", "pages", (write("pages", "input_hash", "1"), write("pages", "content", "x")), rows=(Row(A),)
)
DOCUMENT = Mutation("write_page", "documents", (write("documents", "content_hash", "1"),), rows=(Row(A),))
CLAIMS = Mutation(
    "write_claims",
    "memories",
    (write("memories", "valid_to", "2026"), write("documents", "title", "T", B)),
    inserts=(
        Insert("memories", {"attributes": '{"entity_id": "e", "claim_kind": "fact"}'}),
        Insert("memory_versions", {"content": "It is open."}, refs={"memory_id": 0}),
    ),
    rows=(Row(A),),
)
REWORDING = Mutation(
    "new_version",
    "memories",
    (write("memories", "current_version_id", B), write("memory_vectors", "vector", "[0.1]", B)),
    (Guard("memories", A, (VERSION, "state"), ("v1", "active")), Guard("memories", B, (TOLD,), ("v2",))),
    rows=(Row(A),),
)
PURGE = Mutation(
    "purge_rows", "memory_facts", deletes=(Delete("memory_facts", A, "id", {"object": "vim"}),), rows=(Row(A),)
)
STATE = Mutation("set_state", "entities", (write("entities", "state", "archived"),), rows=(Row(A),))


@pytest.mark.parametrize(
    ("mutation", "change"),
    [
        (MERGE, writes(write("entities", "description", "Two."))),
        (MERGE, guards(Guard("entities", A, ("name", "source_chunk_ids"), ("Mara", (C,))))),
        (SUMMARY, inserts(Insert("communities", {"member_ids": (A, B), "summary": "Both."}))),
        (SUMMARY, guards()),
        (PAGE, writes(write("pages", "input_hash", "1"), write("pages", "content", "y"))),
        (NEW_PAGE, inserts(Insert("pages", {"path": "a.md", "input_hash": "1", "content": "y"}))),
        (DOCUMENT, writes(write("documents", "content_hash", "1"), write("documents", "title", "T"))),
        (
            replace(DOCUMENT, writes=(*DOCUMENT.writes, write("documents", "metadata", '{"made_from": "w"}'))),
            writes(write("documents", "content_hash", "2"), write("documents", "metadata", '{"made_from": "w"}')),
        ),
        (CLAIMS, writes(write("memories", "valid_to", "2026"), write("documents", "title", "U", B))),
        (REWORDING, writes(REWORDING.writes[0], write("memory_vectors", "vector", "[0.2]", B))),
        (REWORDING, guards(Guard("memories", A, (VERSION, "state"), ("v1", "archived")), REWORDING.guards[1])),
        (STATE, guards(Guard("entities", A, ("name",), ("Mara",)))),
    ],
)
def test_subject_is_the_same_after_change_without_meaning(mutation: Mutation, change: Change) -> None:
    """A person who rejected an item is not asked again because provenance, words of a model or a vector differ."""
    changed = change(mutation)
    assert changed != mutation
    assert subject(changed) == subject(mutation)


@pytest.mark.parametrize(
    ("mutation", "change"),
    [
        (MERGE, guards(Guard("entities", A, ("name", "source_chunk_ids"), ("Mara B.", ())))),
        (MERGE, lambda m: replace(m, absorb=(Row(C),))),
        (SUMMARY, inserts(Insert("communities", {"member_ids": (A, C), "summary": "Two."}))),
        (TOPIC, guards(Guard("memories", A, (VERSION,), ("v2",)))),
        (PAGE, writes(write("pages", "input_hash", "2"), write("pages", "content", "x"))),
        (NEW_PAGE, inserts(Insert("pages", {"path": "a.md", "input_hash": "2"}))),
        (NEW_PAGE, inserts(Insert("pages", {"path": "b.md", "input_hash": "1"}))),
        (DOCUMENT, writes(write("documents", "content_hash", "2"))),
        (CLAIMS, writes(write("memories", "valid_to", "2027"), write("documents", "title", "T", B))),
        (
            CLAIMS,
            inserts(CLAIMS.inserts[0], Insert("memory_versions", {"content": "It is shut."}, refs={"memory_id": 0})),
        ),
        (REWORDING, writes(write("memories", "current_version_id", C), REWORDING.writes[1])),
        (REWORDING, guards(Guard("memories", A, (VERSION, "state"), ("v3", "active")), REWORDING.guards[1])),
        (REWORDING, guards(REWORDING.guards[0], Guard("memories", B, (TOLD,), ("v3",)))),
        (PURGE, lambda m: replace(m, deletes=(Delete("memory_facts", A, "id", {"object": "vi"}),))),
        (STATE, writes(write("entities", "state", "quarantined"))),
        (STATE, lambda m: replace(m, kind="set_attributes")),
        (
            replace(STATE, writes=(write("entity_vectors", "vector", "[0.1]"),)),
            writes(write("entity_vectors", "vector", "[0.2]")),
        ),
    ],
)
def test_subject_differs_after_change_of_meaning(mutation: Mutation, change: Change) -> None:
    """A changed text, member or value makes another proposal, which a rejection does not cover."""
    assert subject(change(mutation)) != subject(mutation)


def test_subject_ignores_own_statement_and_covers_operation() -> None:
    """A statement of the memory itself is its own version already; another operation's proposal is another one."""
    own = guards(REWORDING.guards[0], Guard("memories", A, (TOLD,), ("v9",)))
    without = guards(REWORDING.guards[0])
    assert subject(own(REWORDING)) == subject(without(REWORDING))
    assert Item("other", "any", STATE).subject() != subject(STATE)
    kept = Item("any", "any", STATE)
    assert kept.subject() is kept.subject(), "it is computed once"


def test_sealed_item_is_the_item() -> None:
    """Storing and reading loses nothing; the id is the one that was sealed."""
    item = Item("any", "merge", MERGE, {"n": 1}, "medium", (A,), 7, 0.5)
    read = item.sealed().item
    assert isinstance(item.sealed(), Sealed)
    assert (read, read.id) == (item, item.id)
    assert read.to_json() == item.to_json()
    assert read.sealed() == item.sealed()
    assert Item.from_json(item.to_json()) == item


def test_lowered_item_excludes_others_from_logical_and_physical_cells() -> None:
    """Both forms count: another item may be about the same row of the store by another name."""
    there = ChangeOfStore(
        (write("payloads", "data", "x", "7"),),
        (Guard("payloads", "7", ("hash",), ("h",)),),
        (Delete("archive", "8", "id", {}),),
    )
    item, lowered = Item("any", "any", REWORDING), Item("any", "any", replace(REWORDING, physical=there))
    assert item.guards()
    more = lowered.writes() - item.writes()
    assert item.writes() < lowered.writes()
    assert {(cell.table, cell.row, cell.column) for cell in more} >= {("payloads", "7", "data"), ("archive", "8", "")}
    assert item.guards() < lowered.guards()
    assert {("payloads", "7", "hash"), ("payloads", "7", "")} == {
        (cell.table, cell.row, cell.column) for cell in lowered.guards() - item.guards()
    }
