"""Sealing: one cell, one writer, whatever the order in which items come."""

from __future__ import annotations

import uuid
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.changes.cells import Cell, Delete, Guard, Insert, Write, canonical_json, inserted_id
from slowwave.changes.mutation import Mutation, Row, check
from slowwave.errors import Refused
from slowwave.operations import permits
from slowwave.plans.items import Item
from slowwave.plans.seal import Header, arrange, arranged_again, leaving, plan_hash, seal, without

HEADER = Header("00000000-0000-0000-0000-000000000001", "acme", "s1", "f1")
PERMITS = permits()
ORDER = ["dedupe_entities", "gc_references"]
ROWS = [f"00000000-0000-0000-0000-00000000000{n}" for n in range(6)]


def item(
    writes: list[tuple[str, str]], guards: list[tuple[str, str]] = (), operation: str = "gc_references", p: float = 1.0
) -> Item:  # type: ignore[assignment]
    return Item(
        operation,
        "clean",
        Mutation(
            "filter_references" if operation == "gc_references" else "merge_rows",
            "entities",
            writes=tuple(Write(Cell("entities", r, c), "set", (), (ROWS[0],)) for r, c in writes),
            guards=tuple(Guard("entities", r, (c,), ((),)) for r, c in guards),
            rows=(Row(writes[0][0]),),
        ),
        probability=p,
    )


def test_the_loser_of_a_conflict_is_deferred_and_names_the_winner() -> None:
    """The earlier operation wins, then the higher probability; the other waits for the next night."""
    early = item([(ROWS[1], "source_chunk_ids")], operation="dedupe_entities", p=0.5)
    late = item([(ROWS[1], "source_chunk_ids"), (ROWS[2], "source_chunk_ids")])
    free = item([(ROWS[3], "source_chunk_ids")])
    plan = seal(HEADER, [late, free, early], PERMITS)
    assert {i.id for i in plan.items} == {early.id, free.id}
    assert plan.deferred == {late.id: early.id}


def test_writing_what_another_guards_is_a_conflict_both_ways() -> None:
    """A guard is a cell that the decision rests on: nobody else may write it, in whichever order the two come."""
    writer = item([(ROWS[1], "source_chunk_ids")], p=0.9)
    guard = item([(ROWS[2], "source_chunk_ids")], [(ROWS[1], "source_chunk_ids")], p=0.8)
    assert seal(HEADER, [writer, guard], PERMITS).deferred == {guard.id: writer.id}
    stronger = item([(ROWS[2], "source_chunk_ids")], [(ROWS[1], "source_chunk_ids")], p=0.99)
    assert seal(HEADER, [writer, stronger], PERMITS).deferred == {writer.id: stronger.id}


def test_question_never_takes_the_place_of_a_decision() -> None:
    """A person may say no, so the item that needs no person comes first, whatever its operation and probability."""
    asked = replace(item([(ROWS[1], "source_chunk_ids")], operation="dedupe_entities"), decision="review")
    decided = item([(ROWS[1], "source_chunk_ids"), (ROWS[2], "source_chunk_ids")], p=0.5)
    assert seal(HEADER, [asked, decided], PERMITS).deferred == {asked.id: decided.id}


def test_two_guards_on_one_cell_do_not_conflict() -> None:
    """Both only rest on it."""
    one = item([(ROWS[1], "source_chunk_ids")], [(ROWS[3], "name")])
    two = item([(ROWS[2], "source_chunk_ids")], [(ROWS[3], "name")])
    assert seal(HEADER, [one, two], PERMITS).deferred == {}


@given(
    cells=st.lists(
        st.tuples(st.sampled_from(ROWS), st.sampled_from(["source_chunk_ids", "source_document_ids"])),
        min_size=1,
        max_size=12,
    ),
    r=st.randoms(use_true_random=False),
)
def test_sealing_is_independent_of_input_order(cells: list[tuple[str, str]], r: Random) -> None:
    """Shuffled items give the same plan, hash and deferrals; and no two sealed items touch one cell."""
    items = [
        item(
            list(dict.fromkeys(cells[n : n + 2])),
            [(c[0], "name") for c in cells[n : n + 1]],
            r.choice(ORDER),
            r.random(),
        )
        for n in range(len(cells))
    ]
    plan = seal(HEADER, items, PERMITS)
    r.shuffle(items)
    again = seal(HEADER, items, PERMITS)
    assert (plan.plan_hash, plan.deferred) == (again.plan_hash, again.deferred)
    written = [c for i in plan.items for c in i.writes()]
    assert len(written) == len(set(written))
    assert {i.id for i in plan.items} | plan.deferred.keys() == {i.id for i in items}


@given(
    cells=st.lists(
        st.tuples(st.sampled_from(ROWS), st.sampled_from(["source_chunk_ids", "source_document_ids"])),
        min_size=1,
        max_size=12,
    ),
    data=st.data(),
)
def test_what_waits_stands_in_nobodys_way(cells: list[tuple[str, str]], data: st.DataObject) -> None:
    """Items wait in turn: the others stand and lose as if those had never been proposed, and what waits goes on waiting, whoever is left
    out beside it."""
    items = [item([cell], [(cells[n - 1][0], "name")], p=1 / (n + 1)) for n, cell in enumerate(cells)]
    ids = sorted({i.id for i in items})
    first = set(data.draw(st.lists(st.sampled_from(ids)), "wait at first"))
    then = set(data.draw(st.lists(st.sampled_from(ids)), "wait then"))
    waits = first | then
    again = without(without(arrange(items, PERMITS), first, PERMITS), then, PERMITS)
    never = arrange([i for i in items if i.id not in waits], PERMITS)
    assert again.items == never.items
    assert again.waiting == waits
    assert again.deferred == {**never.deferred, **dict.fromkeys(waits, "")}
    assert {i.id for i in again.deferred_items} == again.deferred.keys()
    gone = leaving(again, {i.id for i in again.items[:1]})
    assert gone.items == again.items[1:]
    assert gone.waiting == waits | {i.id for i in again.items[:1]}


def test_the_hash_covers_header_and_every_item() -> None:
    """Another snapshot, another item, another order: another plan."""
    one, two = item([(ROWS[1], "source_chunk_ids")]), item([(ROWS[2], "source_chunk_ids")])
    base = plan_hash(HEADER, [one, two])
    assert base == plan_hash(HEADER, [Item.from_json(one.to_json()), two])
    assert (
        len(
            {
                base,
                plan_hash(HEADER, [one]),
                plan_hash(HEADER, [two, one]),
                plan_hash(Header("n", "acme", "s2", "f1"), [one, two]),
            }
        )
        == 4
    )


def test_the_hash_of_a_plan_of_memory_is_the_one_it_was_signed_under() -> None:
    """A merge, a new version and a purge, spelled out: approvals of earlier versions name this very hash."""
    a, b = "00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"
    merge = Mutation(
        "merge_rows",
        "memories",
        writes=(
            Write(Cell("memories", a, "access_count"), "add", None, 3),
            Write(Cell("memories", b, "invalidated_at"), "now"),
            Write(Cell("memories", b, "invalidated_by"), "item"),
            Write(Cell("memories", b, "state"), "set", "active", "merged"),
        ),
        guards=(
            Guard.on(
                "memories", a, {"tags": '["a"]', "importance": 0.5, "pinned": False}, ("tags", "importance", "pinned")
            ),
        ),
        keep=Row(a, "17"),
        absorb=(Row(b),),
    )
    version = Mutation(
        "new_version",
        "memories",
        writes=(
            Write(Cell("memories", a, "current_version_id"), "row", b, 0),
            Write(Cell("memory_vectors", a, "vector", "tiny"), "set", "AACAPw==", "AAAAQA=="),
        ),
        guards=(Guard.on("memories", a, {"invalidated_at": None}, ("invalidated_at",)),),
        inserts=(
            Insert(
                "memory_versions", {"memory_id": a, "ordinal": 2, "content": "Zoë, on 2026-03-01.", "reason": "dates"}
            ),
        ),
        rows=(Row(a, "17"),),
    )
    seen = {"valid_to": "2026-01-01T00:00:00.000000+00:00", "member_ids": (a,)}
    purge = Mutation("purge_rows", "communities", deletes=(Delete("communities", b, "", seen),), rows=(Row(b),))
    items = [
        Item("dedupe_memories", "merge", merge, {"probability": 0.75}, probability=0.75),
        Item("absolutize_dates", "reword", version, sources=(a,)),
        Item("purge_expired", "purge", purge, risk="high"),
    ]
    found = plan_hash(Header("n", "acme", "s", "f"), items)
    assert found == "d3e8a808edd214965e87ece6b9b317a9eb6d4e2f460dfaba08ea5d46870945d9"


def test_the_nth_new_row_of_an_item_has_its_own_stable_id() -> None:
    """The id rule: uuid5 of item id and number."""
    assert inserted_id(ROWS[1], 0) == inserted_id(ROWS[1], 0) != inserted_id(ROWS[1], 1)


@pytest.mark.parametrize(
    ("kind", "write"),
    [
        ("filter_references", Write(Cell("entities", ROWS[0], "name"), "set", "a", "b")),
        ("filter_references", Write(Cell("namespaces", ROWS[0], "slug"), "set", "a", "b")),
        ("merge_rows", Write(Cell("entities", ROWS[0], "mention_count"), "set", 1, 2)),
        ("set_state", Write(Cell("memories", ROWS[0], "content_version"), "set", 1, 2)),
        ("drop_everything", Write(Cell("entities", ROWS[0], "name"), "set", "a", "b")),
    ],
)
def test_a_forged_mutation_cannot_reach_another_cell(kind: str, write: Write) -> None:
    """The algebra is closed: a kind writes its own columns, and counters only by deltas."""
    with pytest.raises(Refused):
        check(Mutation(kind, "entities", writes=(write,)))


@given(
    evidence=st.dictionaries(
        st.text(max_size=5), st.text(max_size=5) | st.floats(allow_nan=False, allow_infinity=False)
    ),
    sources=st.lists(st.text(max_size=5), max_size=3),
    decision=st.text(max_size=5),
    p=st.floats(0, 1),
)
def test_an_item_put_together_of_its_parts_is_its_canonical_json(
    evidence: dict[str, object], sources: list[str], decision: str, p: float
) -> None:
    """The hash reads the parts, and they are stored: quotes, accents and floats included."""
    one = Item(
        *("gc_references", decision, item([(ROWS[1], "source_chunk_ids")]).mutation),
        *(evidence, "low", tuple(sources), 3, p),
    )
    assert one.sealed().line() == canonical_json(one.to_json())


def test_an_item_is_named_as_version_five_of_uuids_says() -> None:
    """RFC 9562, 5.5: the SHA-1 of the namespace and of operation, decision and mutation."""
    one = item([(ROWS[1], "source_chunk_ids")])
    said = f'["{one.operation}","{one.decision}",{one.mutation.canonical()}]'
    assert one.id == str(uuid.uuid5(uuid.UUID("6d0e8a3c-2c53-5a5e-9a51-0c6f4f3c9b11"), said))


def test_a_plan_keeps_what_its_hash_read() -> None:
    """Whoever stores it next need not make it again; what waits is not part of the hash."""
    early, late = (
        item([(ROWS[1], "source_chunk_ids")], p=0.9),
        item([(ROWS[1], "source_chunk_ids")], [(ROWS[2], "name")]),
    )
    plan = seal(HEADER, [early, late], PERMITS)
    assert plan.written == {i.id: i.sealed() for i in plan.items}
    assert len(plan.written) == len(plan.deferred) == 1
    assert plan_hash(HEADER, plan.items) == plan.plan_hash
    assert replace(plan, written={}) == plan
    assert "written" not in repr(plan)


def test_changed_item_takes_the_place_of_one_that_waited() -> None:
    """Changed evidence does not change the id, but the item is placed as one that no one postponed."""
    one, other = (item([(ROWS[n], "source_chunk_ids")]) for n in range(2))
    before = without(arrange([one, other], PERMITS), {one.id, other.id}, PERMITS)
    changed = replace(one, evidence={"n": 1})
    again = arranged_again(before, {one.id: changed}, PERMITS)
    assert changed.id == one.id
    assert (again.items, again.deferred_items, again.waiting) == ((changed,), (other,), {other.id})


def test_of_an_item_proposed_twice_the_same_evidence_stays_however_they_come() -> None:
    """Equal in all that ranks, they are told apart by their evidence."""
    ones = [replace(item([(ROWS[1], "source_chunk_ids")]), evidence={"n": n}) for n in range(4)]
    kept = {seal(HEADER, turned, PERMITS).items[0].evidence["n"] for turned in (ones, ones[::-1], ones[2:] + ones[:2])}
    assert kept == {0}
