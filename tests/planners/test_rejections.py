"""What people refused stays refused while its rows are as they were, whatever happens around them."""

from __future__ import annotations

from collections.abc import Mapping

from slowwave.mutations.merge_rows import Merge, merge_rows
from slowwave.mutations.simulate import simulate
from slowwave.planners.rejections import rejected_pairs
from slowwave.plans.items import Item
from slowwave.snapshot import Snapshot
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
