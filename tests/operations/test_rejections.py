"""What people refused stays refused while its rows are as they were, whatever happens around them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from slowwave.changes.merges import Alike, Merge, merge_facts, merge_rows
from slowwave.changes.rows import Loss, Supersession, lose_conflict, supersede_facts
from slowwave.changes.simulate import simulate
from slowwave.night.proof import not_rejected
from slowwave.operations.rejections import conflicting_pairs, rejected_pairs
from slowwave.plans.items import Item
from slowwave.snapshots.snapshot import Snapshot
from tests.snapshots import make_snapshot, uid

OPERATION = "dedupe_entities"
Rows = Mapping[str, Mapping[str, object]]

PEOPLE: Rows = {
    "anna": {"attributes": {"born": "1990"}},
    "ana": {"attributes": {"born": "1990", "city": "Ulm"}},
    "ann": {},
    "other": {},
}


def world(rows: Rows, *refused: Item) -> Snapshot:
    entities = [
        {"id": uid(k), "name": k, "entity_type": "person", "mention_count": 1, **row} for k, row in rows.items()
    ]
    rejections = [
        {"operation": i.operation, "subject": i.subject(), "row_ids": list(i.mutation.row_ids()), "reason": "no"}
        for i in refused
    ]
    return make_snapshot(entities=entities, rejections=[{**r, "rejected_by": "mara"} for r in rejections])


def merge(keep: str, *absorbed: str, decision: str = "merge") -> Item:
    (mutation,) = merge_rows(world(PEOPLE), [Merge(uid(keep), tuple(map(uid, absorbed)))])
    return Item(OPERATION, decision, mutation)


def pairs(*names: tuple[str, str]) -> frozenset[tuple[str, str]]:
    return frozenset((a, b) for a, b in (sorted((uid(x), uid(y))) for x, y in names))


def test_a_pair_is_refused_whichever_row_would_survive() -> None:
    """Also where the survivor would take over attributes, and as a review."""
    for item in (merge("anna", "ana"), merge("ana", "anna"), merge("ana", "anna", decision="review")):
        assert rejected_pairs(world(PEOPLE, item), OPERATION) == pairs(("anna", "ana"))


def test_of_a_cluster_every_pair_is_refused() -> None:
    """Nobody said which member was the wrong one."""
    found = rejected_pairs(world(PEOPLE, merge("ana", "anna", "ann")), OPERATION)
    assert found == pairs(("anna", "ana"), ("anna", "ann"), ("ana", "ann"))


def test_a_changed_or_missing_row_asks_again() -> None:
    """A new name or attribute is a new question; an erased row none."""
    refused = merge("ana", "anna")
    renamed = {**PEOPLE, "anna": {**PEOPLE["anna"], "name": "Anna Reyes"}}
    told_more = {**PEOPLE, "anna": {"attributes": {"born": "1991"}}}
    erased = {k: row for k, row in PEOPLE.items() if k != "anna"}
    for rows in (renamed, told_more, erased):
        assert not rejected_pairs(world(rows, refused), OPERATION)


def test_what_was_refused_of_a_part_is_refused_of_the_whole() -> None:
    """Ana is not Anna; Anna turns out to be the other one: then Ana is not that one either."""
    before = world(PEOPLE, merge("ana", "anna"))
    (mutation,) = merge_rows(before, [Merge(uid("other"), (uid("anna"),))])
    after = simulate(before, [Item(OPERATION, "merge", mutation)])
    assert rejected_pairs(after, OPERATION) == pairs(("ana", "other"))
    (mutation,) = merge_rows(before, [Merge(uid("ana"), (uid("anna"),))])
    assert not rejected_pairs(simulate(before, [Item(OPERATION, "merge", mutation)]), OPERATION), "someone decided anew"


def test_other_operations_and_clean_namespaces_refuse_nothing() -> None:
    """Rejections are kept per operation."""
    assert not rejected_pairs(world(PEOPLE), OPERATION)
    assert not rejected_pairs(world(PEOPLE, merge("ana", "anna")), "dedupe_memories")


def test_facts_are_remembered_by_what_they_say() -> None:
    """More sources are no new question, another object is one; a merged fact stands for its survivor."""

    def facts(*refused: Item, **b: object) -> Snapshot:
        said = {"subject": "Ann", "predicate": "uses", "object": "vim"}
        rows = [{"id": uid("a"), **said}, {"id": uid("b"), **said, **b}, {"id": uid("c"), **said}]
        rejections = [
            {"operation": "dedupe_facts", "subject": i.subject(), "row_ids": list(i.mutation.row_ids())}
            for i in refused
        ]
        return make_snapshot(memory_facts=rows, rejections=rejections)

    def join(keep: str, gone: str) -> Item:
        return Item("dedupe_facts", "merge", *merge_facts(facts(), [Alike(uid(keep), (uid(gone),))]))

    def refused(snapshot: Snapshot) -> frozenset[tuple[str, str]]:
        return rejected_pairs(snapshot, "dedupe_facts", "memory_facts")

    for item in (join("a", "b"), join("b", "a")):
        assert refused(facts(item, source_chunk_ids=[uid("x")])) == pairs(("a", "b"))
        assert refused(facts(item, object="emacs")) == frozenset()
    after = simulate(facts(join("a", "b")), [join("c", "b")])
    assert refused(after) == pairs(("a", "c"))


def test_pairs_in_conflict_are_those_of_the_table_through_merges() -> None:
    """Resolved or not: what was seen to contradict is never merged by itself."""
    row = {"table_name": "memory_facts", "reason": "number", "row_a_id": uid("a"), "row_b_id": uid("b")}
    said = {"subject": "s", "predicate": "p", "object": "o"}
    snapshot = make_snapshot(
        memory_facts=[{"id": uid(n), **said} for n in "abc"],
        conflicts=[{"id": uid(1), **row}, {"id": uid(2), **row, "table_name": "memories"}],
    )
    assert conflicting_pairs(snapshot, "memory_facts") == pairs(("a", "b"))
    merged = simulate(snapshot, [Item("x", "merge", *merge_facts(snapshot, [Alike(uid("c"), (uid("b"),))]))])
    assert conflicting_pairs(merged, "memory_facts") == pairs(("a", "c"))
    assert conflicting_pairs(snapshot, "relationships") == frozenset()


def towns(*refused: Item) -> Snapshot:
    """Mara lived in Oslo and later in Faro; ``copy`` says the same as ``faro``."""
    said = {"oslo": ("Oslo", 1), "faro": ("Faro", 9), "copy": ("Faro", 9)}
    facts = [
        {
            **{"id": uid(name), "subject": "Mara", "predicate": "lives in", "object": town, "is_active": True},
            "valid_from": datetime(2020, 4, day, tzinfo=UTC),
        }
        for name, (town, day) in said.items()
    ]
    rejections = [
        {"operation": i.operation, "subject": i.subject(), "row_ids": list(i.mutation.row_ids()), "reason": "no"}
        for i in refused
    ]
    return make_snapshot(memory_facts=facts, rejections=[{**r, "rejected_by": "mara"} for r in rejections])


def loss(winner: str, *losers: str) -> Item:
    (mutation,) = lose_conflict(towns(), "memory_facts", [Loss(uid(winner), tuple(map(uid, losers)), ("object",))])
    return Item("resolve_conflicts", "review", mutation)


def replacement(earlier: str, later: str) -> Item:
    (mutation,) = supersede_facts(towns(), [Supersession(uid(earlier), uid(later))])
    return Item("supersede_facts", "review", mutation)


@pytest.mark.parametrize(
    ("refused", "again"),
    [
        (loss("faro", "oslo"), loss("oslo", "faro")),
        (loss("faro", "oslo"), loss("oslo", "copy", "faro")),
        (loss("oslo", "copy", "faro"), loss("faro", "oslo")),
        (loss("faro", "oslo"), replacement("oslo", "faro")),
        (loss("oslo", "faro"), replacement("oslo", "faro")),
        (replacement("oslo", "faro"), loss("oslo", "faro")),
        (replacement("oslo", "faro"), loss("faro", "oslo")),
    ],
)
def test_rejected_pair_of_sides_is_refused_whichever_would_end_and_whichever_operation_asks(
    refused: Item, again: Item
) -> None:
    """Also where rows that say the same are on one side; a pair of other rows and a ruling of a person are proposed."""
    assert not_rejected(towns(refused), [again]) == []
    other = loss("copy", "faro")
    assert not_rejected(towns(refused), [other]) == [other]
    ruled = replace(again, evidence={"policy": "manual"})
    assert not_rejected(towns(refused), [ruled]) == [ruled]
