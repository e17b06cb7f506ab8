"""What people decide about merges comes back as labelled pairs, with the rows as they saw them."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from slowwave.changes.merges import Merge, merge_rows
from slowwave.matching.compare import LEVEL
from slowwave.night.executor import apply_approval
from slowwave.night.undo import undo_run
from slowwave.operations import PLANNERS, Inputs
from slowwave.operations.rejections import labelled_pairs
from slowwave.plans.gate import reject
from slowwave.plans.items import Item
from slowwave.snapshots.export import export_snapshot
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from tests.nights import new_world, write_a_plan
from tests.permitting import accept_operations, approve, decide_by_policies
from tests.snapshots import make_snapshot, uid

dedupe_entities = PLANNERS["dedupe_entities"]

OPERATION = "dedupe_entities"


def decided(store: Store, slug: str) -> dict[frozenset[str], bool]:
    """The labelled rows' own ids, without the item that they were seen in."""
    pairs = labelled_pairs(export_snapshot(store, slug), OPERATION).pairs
    return {frozenset((a.split("/")[1], b.split("/")[1])): same for a, b, same in pairs}


def members(item: Item) -> frozenset[str]:
    return frozenset(item.mutation.row_ids())


def test_applied_rejected_and_undone_merges_are_labels(store: Store) -> None:
    """A merge is approved, a review rejected, and then the merge undone: yes, no, and no after all."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    merge = next(i for i in plan.items if i.decision == "merge")
    review = next(i for i in plan.items if i.decision == "review")
    assert decided(store, world.slug) == {}, "what waits for a person teaches nothing"
    reject(store, world.slug, plan.plan_hash, rejected_by="mara", reason="no", items=[review.id])
    signed = approve(store, world.slug, plan.plan_hash, approver="mara", items=[merge.id])
    assert decided(store, world.slug) == {members(review): False}, "and neither does what is not applied yet"
    apply_approval(store, signed.id)
    assert decided(store, world.slug) == {members(merge): True, members(review): False}
    undo_run(store, "last")
    assert decided(store, world.slug) == {members(merge): False, members(review): False}


def test_only_what_was_in_doubt_is_an_answer(store: Store) -> None:
    """A person was asked about the review pair, whatever was said; the merge was sure beforehand."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    merge = next(i for i in plan.items if i.decision == "merge")
    review = next(i for i in plan.items if i.decision == "review")
    for item in (merge, review):
        apply_approval(store, approve(store, world.slug, plan.plan_hash, approver="mara", items=[item.id]).id)
    found = labelled_pairs(export_snapshot(store, world.slug), OPERATION)
    assert {frozenset((a.split("/")[1], b.split("/")[1])) for a, b in found.asked} == {members(review)}
    assert len(found.pairs) == 2


def test_what_a_policy_approved_is_a_label_too(store: Store) -> None:
    """The night after would else learn from what is left alone, and take the next best for matches."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    accept_operations(store, world.slug, [OPERATION], accepted_by="mara")
    (signed,) = decide_by_policies(store, world.slug, plan.plan_hash).approvals
    apply_approval(store, signed.id)
    assert decided(store, world.slug) == {members(i): True for i in plan.items if i.id in signed.item_ids}


def test_rows_are_labelled_as_the_plan_showed_them(store: Store) -> None:
    """After the merge the survivor has the absorbed row's attributes too, and would agree with it in all of them."""
    world = new_world(store)
    keep, absorbed = sorted(export_snapshot(store, world.slug).live("entities")["id"].to_pylist())[:2]
    with store.connect("owner") as connection:
        for id_, name, attributes in ((keep, "Anna", {"born": "1990"}), (absorbed, "Ana", {"city": "Ulm"})):
            connection.execute(
                "UPDATE memory.entities SET name = %s, attributes = %s, entity_type = 'person' WHERE id = %s",
                (name, json.dumps(attributes), id_),
            )
    snapshot = export_snapshot(store, world.slug)
    items = [Item(OPERATION, "merge", *merge_rows(snapshot, [Merge(keep, (absorbed,))]))]
    _, plan = write_a_plan(store, world, items=items)
    apply_approval(store, approve(store, world.slug, plan.plan_hash, approver="mara").id)
    after = export_snapshot(store, world.slug)
    survivor = next(r for r in after.live("entities").to_pylist() if r["id"] == keep)
    assert json.loads(survivor["attributes"]) == {"born": "1990", "city": "Ulm"}
    found = labelled_pairs(after, OPERATION)
    rows = {r["id"].split("/")[1]: r for r in found.rows.to_pylist()}
    assert json.loads(rows[keep]["attributes"]) == {"born": "1990"}
    assert json.loads(rows[absorbed]["attributes"]) == {"city": "Ulm"}
    assert (rows[keep]["name"], rows[absorbed]["name"], rows[keep]["entity_type"]) == ("Anna", "Ana", "person")
    assert found.pairs == ((f"{items[0].id}/{keep}", f"{items[0].id}/{absorbed}", True),)


def decision(item: int, rows: dict[str, str], status: str, night: int) -> dict[str, object]:
    seen = [
        [uid(row), column, value]
        for row, name in rows.items()
        for column, value in (("name", name), ("entity_type", "t"))
    ]
    keep = uid(next(iter(rows)))
    at = datetime(2026, 1, night, tzinfo=UTC)
    return {"id": uid(item), "operation": OPERATION, "status": status, "keep_id": keep, "seen": seen, "recorded_at": at}


def test_the_newest_word_counts_and_a_refused_cluster_says_nothing() -> None:
    """Two rows were refused, changed, and merged; of three that were refused nobody knows which was wrong."""
    three = {"x": "X", "y": "Y", "z": "Z"}
    snapshot = make_snapshot(
        decisions=[
            decision(1, {"a": "A", "b": "B"}, "applied", 2),
            decision(2, {"b": "B", "a": "Other"}, "rejected", 1),
            decision(3, three, "rejected", 3),
            {**decision(4, {"c": "C", "d": "D"}, "rejected", 3), "operation": "dedupe_memories"},
            decision(5, {"e": "E", "f": "F"}, "rejected", 4),
        ]
    )
    found = labelled_pairs(snapshot, OPERATION)
    assert {(a.split("/")[1], b.split("/")[1], same) for a, b, same in found.pairs} == {
        (uid("a"), uid("b"), True),
        (uid("e"), uid("f"), False),
    }
    assert sorted(found.rows["name"].to_pylist()) == ["A", "B", "E", "F"]
    merged = labelled_pairs(make_snapshot(decisions=[decision(3, three, "applied", 3)]), OPERATION)
    assert [(a.split("/")[1], same) for a, _, same in merged.pairs] == [(uid("x"), True)] * 2
    assert labelled_pairs(make_snapshot(), OPERATION).pairs == ()


def spelling(names: int, **tables: object) -> float:
    """What names that differ by a letter weigh in a namespace full of them."""
    letters = [f"{a}{b}{c}" for a in "bdfg" for b in "aeiou" for c in "klmnprst"]
    pairs = [(f"Mor{x}endale Works", f"Mor{x}andale Works") for x in letters[:names]]
    entities = [{"name": name, "entity_type": "t", "id": uid(name)} for pair in pairs for name in pair]
    snapshot = make_snapshot(entities=entities, **tables)  # type: ignore[arg-type]
    learnt = dedupe_entities(Inputs(snapshot, {}, Settings())).learnt
    assert learnt is not None
    weights = learnt["t"]
    return weights.prior + weights.weight[0][LEVEL["spelling"]]


def test_decisions_change_what_evidence_is_worth_the_next_night() -> None:
    """People said of thirty such pairs that they were two things each, or one."""
    rows = [
        ({f"Mor{n}endale Works": f"Mor{n}endale Works", f"Mor{n}andale Works": f"Mor{n}andale Works"}, n)
        for n in range(30)
    ]
    refused = [decision(n, pair, "rejected", 1) for pair, n in rows]
    approved = [decision(n, pair, "applied", 1) for pair, n in rows]
    before, less, more = spelling(100), spelling(100, decisions=refused), spelling(100, decisions=approved)
    assert less < before - 0.5
    assert more > before + 0.5


def test_a_night_takes_decided_review_pairs_as_answers() -> None:
    """Thirty pairs that differ by a letter went to a person. They correct scores; merges that nobody was in doubt of do not."""
    rows = [
        {f"Mor{n}endale Works": f"Mor{n}endale Works", f"Mor{n}andale Works": f"Mor{n}andale Works"} for n in range(30)
    ]
    letters = [f"{a}{b}{c}" for a in "bdfg" for b in "aeiou" for c in "klmnprst"]
    names = [name for x in letters[:60] for name in (f"Mor{x}endale Works", f"Mor{x}andale Works")]
    entities = [{"name": name, "entity_type": "t", "id": uid(name)} for name in names]

    def answers(*decisions: dict[str, object]) -> int:
        learnt = dedupe_entities(Inputs(make_snapshot(entities=entities, decisions=decisions), {}, Settings())).learnt
        assert learnt is not None
        return learnt["t"].calibration.answers if learnt["t"].calibration else 0

    merged = [{**decision(n, pair, "applied", 1), "decision": "merge"} for n, pair in enumerate(rows)]
    asked = [
        {**row, "decision": "review", "status": ("applied", "rejected", "undone")[n % 3]}
        for n, row in enumerate(merged)
    ]
    assert answers() == answers(*merged) == 0
    assert answers(*asked) == answers(*asked, *merged[30:]) == 30
