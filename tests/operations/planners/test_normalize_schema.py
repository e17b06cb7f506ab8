"""``normalize_schema``: exact names, one step, both axes; what becomes one thing is merged and never an error."""

from __future__ import annotations

from collections.abc import Mapping

from slowwave.changes.simulate import simulate
from slowwave.operations import PLANNERS, Proposal, permits
from slowwave.plans.items import Item
from slowwave.plans.seal import Header, seal
from slowwave.snapshots.snapshot import Snapshot
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

normalize_schema = PLANNERS["normalize_schema"]

Row = Mapping[str, object]


def entity(name: str, entity_type: str, id_: str = "", **more: object) -> Row:
    return {"id": uid(id_ or f"{name} {entity_type}"), "name": name, "entity_type": entity_type, **more}


def edge(id_: str, relationship_type: str, **more: object) -> Row:
    ends = {"source_entity_id": uid("s"), "target_entity_id": uid("t")}
    return {"id": uid(id_), "relationship_type": relationship_type, **ends, **more}


def world(settings: Row, *entities: Row, edges: tuple[Row, ...] = (), **more: tuple[Row, ...]) -> Snapshot:
    return make_snapshot(settings=settings, entities=entities, relationships=edges, **more)


def run(snapshot: Snapshot) -> Proposal:
    return normalize_schema(make_inputs(snapshot))


def types(snapshot: Snapshot, table: str = "entities", column: str = "entity_type") -> dict[str, str]:
    rows = snapshot.live(table)
    return dict(zip(rows["id"].to_pylist(), rows[column].to_pylist(), strict=True))


MAPPING = {"operations": {"normalize_schema": {"mapping": {"Organisation": "ORG", "firm": "ORG"}}}}


def test_without_a_mapping_it_says_that_its_input_is_missing() -> None:
    """khora's word for it; identities are no mapping."""
    for settings in ({}, {"operations": {"normalize_schema": {"mapping": {"ORG": "ORG", "x": " "}}}}):
        found = run(world(settings, entity("Acme", "ORG")))
        assert (found.items, found.report.skipped) == ((), "insufficient_input")
        assert "no mapping" in found.report.headline


def test_live_rows_of_exactly_these_types_are_renamed() -> None:
    """Case counts, as it does in the audit; retired rows keep the name that they had; both axes have the common mapping."""
    snapshot = world(
        MAPPING,
        entity("Acme", "Organisation", external_id="17"),
        entity("Bolt", "organisation"),
        entity("Gone", "firm", invalidated_at=TAKEN_AT),
        edges=(edge("a", "firm"), edge("b", "ORG"), edge("c", "firm", invalidated_at=TAKEN_AT)),
    )
    found = run(snapshot)
    assert {(i.decision, i.risk, i.mutation.kind) for i in found.items} == {("rename", "medium", "rename_type")}
    assert {i.mutation.row_ids() for i in found.items} == {(uid("Acme Organisation"),), (uid("a"),)}
    (acme,) = [i for i in found.items if i.mutation.table == "entities"]
    assert acme.evidence == {"old_type": "Organisation", "new_type": "ORG"}
    assert acme.mutation.rows[0].external_id == "17"
    assert {cell.column: seen for cell, seen in acme.mutation.seen()} == {
        "name": "Acme",
        "invalidated_at": None,
        "valid_to": None,
    }
    after = simulate(snapshot, found.items)
    assert types(after)[uid("Acme Organisation")] == "ORG"
    assert run(after).items == ()
    assert found.report.numbers["entities types mapped"] == 2
    assert found.report.numbers["live relationships"] == 2


def test_each_axis_may_have_its_own_map() -> None:
    """What is said for one axis alone goes before what is said for both."""
    settings = {
        "operations": {
            "normalize_schema": {
                "mapping": {"USES": "Uses", "tool": "Tool"},
                "entity_types": {"tool": "Instrument"},
                "relationship_types": {"KNOWS": "MET"},
            }
        }
    }
    snapshot = world(settings, entity("x", "tool"), entity("y", "KNOWS"), edges=(edge("a", "KNOWS"), edge("b", "USES")))
    after = simulate(snapshot, run(snapshot).items)
    assert types(after) == {uid("x tool"): "Instrument", uid("y KNOWS"): "KNOWS"}
    assert types(after, "relationships", "relationship_type") == {uid("a"): "MET", uid("b"): "Uses"}


def test_a_mapping_is_one_step_and_a_swap_swaps() -> None:
    """Not transitive, as khora's; the report warns of rows that the next night would rename again."""
    chain = world(
        {"operations": {"normalize_schema": {"mapping": {"a": "b", "b": "c"}}}}, entity("x", "a"), entity("y", "b")
    )
    found = run(chain)
    assert types(simulate(chain, found.items)) == {uid("x a"): "b", uid("y b"): "c"}
    assert [f.details["type"] for f in found.report.findings if f.severity == "warning"] == ["b", "b"]
    swap = world(
        {"operations": {"normalize_schema": {"entity_types": {"a": "b", "b": "a"}}}},
        entity("same", "a"),
        entity("same", "b"),
    )
    found = run(swap)
    assert [i.decision for i in found.items] == ["rename", "rename"]
    assert types(simulate(swap, found.items)) == {uid("same a"): "b", uid("same b"): "a"}


def test_the_mapping_the_other_way_round_reverses_it() -> None:
    """An operator who regrets it swaps the mapping."""
    before = world(
        {"operations": {"normalize_schema": {"mapping": {"firm": "ORG"}}}},
        entity("Acme", "firm"),
        edges=(edge("e", "firm"),),
    )
    after = simulate(before, run(before).items)
    back = make_snapshot(
        settings={"operations": {"normalize_schema": {"mapping": {"ORG": "firm"}}}},
        entities=after.table("entities").to_pylist(),
        relationships=after.table("relationships").to_pylist(),
    )
    again = simulate(back, run(back).items)
    assert types(again) == types(before)
    assert again.table("relationships").equals(before.table("relationships"))


def test_a_rename_onto_an_existing_entity_becomes_a_merge() -> None:
    """khora's run ends with an integrity error (C9); here the two become one, under the new type, and lose nothing."""
    snapshot = world(
        MAPPING,
        entity("ACME", "firm", mention_count=9, description="makes anvils"),
        entity("Acme", "ORG", mention_count=2),
        edges=(
            {
                "id": uid("e"),
                "source_entity_id": uid("Acme ORG"),
                "target_entity_id": uid("t"),
                "relationship_type": "A",
            },
        ),
    )
    found = run(snapshot)
    (item,) = found.items
    assert (item.decision, item.risk, item.mutation.kind) == ("merge", "medium", "merge_rows")
    assert item.mutation.keep is not None
    assert item.mutation.keep.id == uid("ACME firm"), "most mentions win, and the survivor is renamed"
    assert item.evidence["types_before"] == ["firm", "ORG"]
    after = simulate(snapshot, found.items)
    assert types(after) == {uid("ACME firm"): "ORG"}
    (kept,) = after.live("entities").to_pylist()
    assert (kept["mention_count"], kept["description"]) == (11, "makes anvils")
    assert after.live("relationships")["source_entity_id"].to_pylist() == [uid("ACME firm")]
    assert run(after).items == ()
    assert Item.from_json(item.to_json()) == item


def test_a_pinned_entity_survives_and_several_become_one() -> None:
    """One merge for all that meet under one name and type, whichever of them is renamed."""
    snapshot = world(
        MAPPING,
        entity("Acme", "firm", mention_count=9),
        entity("Acme", "Organisation", mention_count=5),
        entity("acme", "ORG", pinned=True),
        entity("Other", "firm"),
    )
    found = run(snapshot)
    merge, rename = sorted(found.items, key=lambda i: i.decision)
    assert merge.mutation.keep is not None
    assert merge.mutation.keep.id == uid("acme ORG")
    assert {r.id for r in merge.mutation.absorb} == {uid("Acme firm"), uid("Acme Organisation")}
    assert rename.mutation.row_ids() == (uid("Other firm"),)
    assert types(simulate(snapshot, found.items)) == {uid("acme ORG"): "ORG", uid("Other firm"): "ORG"}


def test_rows_that_were_alike_before_are_not_merged_by_a_rename() -> None:
    """Two people of one name and type were two before; whether they are one is for ``dedupe_entities`` to say."""
    snapshot = world(MAPPING, entity("John Smith", "firm", "1"), entity("John Smith", "firm", "2"))
    assert [i.decision for i in run(snapshot).items] == ["rename", "rename"]


def test_differing_attributes_ask_a_person() -> None:
    """A contradiction is never merged by itself; case and spaces are none."""
    same = {"attributes": {"city": "Oslo", "n": 1}}, {"attributes": {"city": " oslo ", "m": 2}}
    other = {"attributes": {"city": "Oslo"}}, {"attributes": {"city": "Bergen"}}
    for attributes, decision in ((same, "merge"), (other, "review")):
        snapshot = world(MAPPING, *(entity("Acme", t, **a) for t, a in zip(("firm", "ORG"), attributes, strict=True)))
        (item,) = run(snapshot).items
        assert item.decision == decision
    assert item.evidence["differing"] == ["city"]
    assert item.risk == "high"


def test_what_people_keep_apart_is_only_renamed() -> None:
    """An open conflict between the two, or a merge of theirs that was rejected here: the rename stands, the merge does not."""
    rows = (entity("Acme", "firm"), entity("Acme", "ORG"))
    a, b = sorted(str(r["id"]) for r in rows)
    conflict = {"table_name": "entities", "row_a_id": b, "row_b_id": a, "reason": "numbers"}
    found = run(world(MAPPING, *rows, conflicts=(conflict,)))
    assert [i.decision for i in found.items] == ["rename"]
    assert "stay apart" in found.report.findings[0].message
    assert found.report.numbers["kept apart"] == 1
    (merge,) = run(world(MAPPING, *rows)).items
    rejection = {
        "operation": merge.operation,
        "subject": merge.subject(),
        "row_ids": list(merge.mutation.row_ids()),
        "reason": "no",
        "rejected_by": "mara",
    }
    assert [i.decision for i in run(world(MAPPING, *rows, rejections=(rejection,))).items] == ["rename"]


def test_a_merge_by_evidence_goes_before_a_rename_of_the_same_row() -> None:
    """Both rest on the type: the rename waits for the next night."""
    snapshot = world(MAPPING, entity("Acme", "firm"), entity("Bolt", "firm"))
    from slowwave.changes.merges import Merge, merge_rows

    (mutation,) = merge_rows(snapshot, [Merge(uid("Acme firm"), (uid("Bolt firm"),))])
    merge = Item("dedupe_entities", "merge", mutation)
    renames = run(snapshot).items
    plan = seal(Header(uid("n"), "n", "s", "f"), [*renames, merge], permits())
    assert plan.items == (merge,)
    assert set(plan.deferred) == {i.id for i in renames}


def test_rows_with_different_identities_get_one_type_and_stay_two() -> None:
    """A rename must not merge what the settings declare to be different."""
    rows = (
        entity("Acme", "Organisation", attributes={"vat": "DE123"}),
        entity("Acme", "firm", attributes={"vat": "DE124"}),
    )
    assert [i.decision for i in run(world(MAPPING, *rows)).items] == ["review"]
    declared = {"dedupe_entities": {"identity": {"ORG": ["vat"]}}}
    found = run(world({"operations": {**MAPPING["operations"], **declared}}, *rows))
    assert {i.decision for i in found.items} == {"rename"}
    assert found.report.numbers["kept apart"] == 1
