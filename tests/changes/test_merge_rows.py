"""A merge, spelled out: what the survivor takes, what the absorbed rows become, and what happens to edges."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import numpy as np
import pytest

from slowwave.changes.cells import RELATIONSHIPS, Write, decode, encode, vector_literal, weighted_mean
from slowwave.changes.merges import Merge, merge_rows
from slowwave.changes.mutation import Mutation
from slowwave.errors import Refused, SnapshotError
from slowwave.snapshots.snapshot import Snapshot
from tests.snapshots import make_snapshot, uid

ANNA, ANNE, BOB = uid("anna"), uid("anne"), uid("bob")


def world(**more: list[dict[str, object]]) -> Snapshot:
    """Anna and Anne are one; the chunk c9 is gone."""
    return make_snapshot(
        chunks=[{"id": uid("c1"), "content": "1"}, {"id": uid("c2"), "content": "2"}],
        entities=[
            {
                **{
                    "id": ANNA,
                    "name": "Anna Berg",
                    "mention_count": 5,
                    "external_id": "17",
                    "attributes": {"email": "a@b.example"},
                },
                **{"source_chunk_ids": [uid("c9"), uid("c1")]},
            },
            {
                **{
                    "id": ANNE,
                    "name": "Anne Berg",
                    "mention_count": 2,
                    "attributes": {"email": "x@y.example", "city": "Oslo"},
                },
                **{"source_chunk_ids": [uid("c1"), uid("c2"), uid("c9")], "description": "Works on cranes."},
            },
            {"id": BOB, "name": "Bob"},
        ],
        **more,
    )


def cells(mutation: Mutation, table: str, row: str) -> dict[str, Write]:
    return {w.cell.column: w for w in mutation.writes if (w.cell.table, w.cell.row) == (table, row)}


def test_the_survivor_takes_what_the_others_knew() -> None:
    """Provenance as a cleaned union, missing attributes, the description it lacked, and mentions as a delta."""
    (merge,) = merge_rows(world(), [Merge(ANNA, (ANNE,))])
    wrote = cells(merge, "entities", ANNA)
    assert wrote["source_chunk_ids"].value == (uid("c1"), uid("c2"))
    assert json.loads(str(wrote["attributes"].value)) == {
        "email": "a@b.example",
        "city": "Oslo",
        "other_values": {"email": ["x@y.example"]},
    }
    assert wrote["description"].value == "Works on cranes."
    assert (wrote["mention_count"].action, wrote["mention_count"].value) == ("add", 2)
    assert [i.values["alias"] for i in merge.inserts] == ["Anne Berg"]
    assert merge.keep is not None
    assert merge.keep.external_id == "17"


def test_values_that_are_not_kept_stand_beside_those_that_are() -> None:
    """Each once, those of earlier merges too; what is equal, or says nothing, adds nothing."""
    rows = [
        {"id": ANNA, "name": "a", "attributes": {"price": 9.5, "tags": ["x"], "other_values": {"price": [8]}}},
        {"id": ANNE, "name": "b", "attributes": {"price": 9.5, "tags": ["x", "y"], "other_values": {"price": [8, 7]}}},
        {"id": BOB, "name": "c", "attributes": {"price": "", "tags": None}},
    ]
    (merge,) = merge_rows(make_snapshot(entities=rows), [Merge(ANNA, (ANNE, BOB))])
    assert json.loads(str(cells(merge, "entities", ANNA)["attributes"].value)) == {
        "price": 9.5,
        "tags": ["x"],
        "other_values": {"price": [8, 7], "tags": ["y"]},
    }
    (same,) = merge_rows(make_snapshot(entities=rows), [Merge(ANNA, (BOB,))])
    assert "attributes" not in cells(same, "entities", ANNA)


def test_an_attribute_of_a_source_keeps_its_name() -> None:
    """One that is called as other values are is no place for them: what is not kept is lost, and a person is asked."""
    rows = [
        {"id": ANNA, "name": "a", "attributes": {"price": 9.5, "other_values": "none"}},
        {"id": ANNE, "name": "b", "attributes": {"price": 8}},
    ]
    (merge,) = merge_rows(make_snapshot(entities=rows), [Merge(ANNA, (ANNE,))])
    assert "attributes" not in cells(merge, "entities", ANNA)


def test_the_survivor_began_when_the_first_of_them_did() -> None:
    """The earliest start of all; unknown where that of one is unknown."""
    early, late = datetime(2025, 3, 1, tzinfo=UTC), datetime(2025, 9, 1, tzinfo=UTC)
    rows = [{"id": ANNA, "name": "a", "valid_from": late}, {"id": ANNE, "name": "b", "valid_from": early}]
    (merge,) = merge_rows(make_snapshot(entities=rows), [Merge(ANNA, (ANNE,))])
    assert str(cells(merge, "entities", ANNA)["valid_from"].value).startswith("2025-03-01")
    (merge,) = merge_rows(make_snapshot(entities=[rows[0], {"id": ANNE, "name": "b"}]), [Merge(ANNA, (ANNE,))])
    assert cells(merge, "entities", ANNA)["valid_from"].value is None


def test_the_absorbed_row_is_invalidated_and_points_at_the_survivor() -> None:
    """In system time only: valid_to is never written, since the world did not change."""
    (merge,) = merge_rows(world(), [Merge(ANNA, (ANNE,))])
    wrote = cells(merge, "entities", ANNE)
    assert {c: w.action for c, w in wrote.items()} == {
        "invalidated_at": "now",
        "invalidated_by": "item",
        "merged_into": "set",
        "state": "set",
        "mention_count": "add",
    }
    assert (wrote["merged_into"].value, wrote["mention_count"].value) == (ANNA, -2)
    assert not any(w.cell.column == "valid_to" for w in merge.writes)


def test_only_the_endpoint_that_named_an_absorbed_row_is_rewritten() -> None:
    """On every relationship, live or not; the other endpoint belongs to whoever merges that row."""
    edges = [
        {"id": uid("out"), "source_entity_id": ANNE, "target_entity_id": BOB},
        {
            "id": uid("old"),
            "source_entity_id": BOB,
            "target_entity_id": ANNE,
            "invalidated_at": datetime(2026, 1, 1, tzinfo=UTC),
        },
        {"id": uid("other"), "source_entity_id": ANNA, "target_entity_id": BOB, "relationship_type": "PAYS"},
    ]
    (merge,) = merge_rows(world(relationships=edges), [Merge(ANNA, (ANNE,))])
    rewritten = {(w.cell.row, w.cell.column, w.value) for w in merge.writes if w.cell.table == "relationships"}
    assert rewritten == {(uid("out"), "source_entity_id", ANNA), (uid("old"), "target_entity_id", ANNA)}
    (guarded,) = [(cell.row, seen) for cell, seen in merge.seen() if cell.column == RELATIONSHIPS]
    assert guarded == (ANNE, tuple(sorted([uid("out"), uid("old")])))


def test_edges_inside_the_cluster_are_invalidated() -> None:
    """They would say that something is tied to itself."""
    edges = [{"id": uid("self"), "source_entity_id": ANNE, "target_entity_id": ANNA}]
    (merge,) = merge_rows(world(relationships=edges), [Merge(ANNA, (ANNE,))])
    assert {w.cell.column for w in merge.writes if w.cell.row == uid("self")} == {
        "source_entity_id",
        "invalidated_at",
        "invalidated_by",
    }


def test_aliases_of_absorbed_rows_go_with_them_and_none_comes_twice() -> None:
    """Learned aliases survive unrelated writes, and merges."""
    aliases = [
        {"entity_id": ANNE, "alias": "A. Berg"},
        {"entity_id": ANNE, "alias": "Anna Berg"},
        {"entity_id": ANNA, "alias": "Annie"},
    ]
    (merge,) = merge_rows(world(entity_aliases=aliases), [Merge(ANNA, (ANNE,))])
    assert [i.values["alias"] for i in merge.inserts] == ["Anne Berg", "A. Berg"]


def test_a_merge_carries_its_vector() -> None:
    """Written over the survivor's, or inserted where there was none."""
    mean = np.array([0.6, 0.8, 0.0, 0.0], np.float32)
    had = make_snapshot(
        entities=[{"id": ANNA, "name": "a"}, {"id": ANNE, "name": "b"}],
        vectors={"entity_vectors": {ANNA: [1, 0, 0, 0]}},
    )
    (merge,) = merge_rows(had, [Merge(ANNA, (ANNE,), mean)])
    (write,) = [w for w in merge.writes if w.cell.table == "entity_vectors"]
    assert decode(str(write.seen)).tolist() == [1, 0, 0, 0]
    assert decode(str(write.value)).tobytes() == mean.tobytes()
    (other,) = merge_rows(had, [Merge(ANNE, (ANNA,), mean)])
    assert [(i.table, i.row) for i in other.inserts if i.table == "entity_vectors"] == [("entity_vectors", ANNE)]


@pytest.mark.parametrize(
    ("merges", "sentence"),
    [
        ([Merge(ANNA, (ANNE,)), Merge(BOB, (ANNE,))], "stands in two merges"),
        ([Merge(ANNA, ())], "absorbs nothing"),
        ([Merge(uid("nobody"), (ANNE,))], "is not in snapshot"),
    ],
)
def test_impossible_merges_are_refused(merges: list[Merge], sentence: str) -> None:
    """In words, before anything is planned."""
    with pytest.raises((Refused, SnapshotError), match=sentence):
        merge_rows(world(), merges)


def test_a_retired_row_is_not_merged_again() -> None:
    """khora merges into retired rows; here it is refused."""
    gone = make_snapshot(
        entities=[
            {"id": ANNA, "name": "a"},
            {"id": ANNE, "name": "b", "invalidated_at": datetime(2026, 1, 1, tzinfo=UTC)},
        ]
    )
    with pytest.raises(Refused, match="already retired"):
        merge_rows(gone, [Merge(ANNA, (ANNE,))])


def test_vectors_survive_the_plan_bit_by_bit() -> None:
    """base64 of little-endian float32, and a text that PostgreSQL reads back as the same floats."""
    vector = np.random.default_rng(3).standard_normal(64).astype(np.float32)
    assert decode(encode(vector)).tobytes() == vector.tobytes()
    assert np.array(json.loads(vector_literal(encode(vector))), np.float32).tobytes() == vector.tobytes()


def test_the_weighted_mean_is_khoras_centroid() -> None:
    """Weighted by mentions, weights that are not positive left out, unit length; all absent counts as all equal."""
    matrix = np.array([[1, 0], [0, 1], [0, -1]], np.float32)
    assert weighted_mean(matrix, np.array([3, 4, 0])) == pytest.approx([0.6, 0.8])
    assert weighted_mean(matrix[:2], np.array([0, -1])) == pytest.approx([0.5**0.5, 0.5**0.5])


def test_dory_entities_that_share_an_alias_merge_without_a_clash() -> None:
    """What both are called stands once; all other names of the absorbed one go to the survivor."""
    aliases = [(ANNA, "A. Berg"), (ANNE, "A. Berg"), (ANNE, "Annie"), (BOB, "Bobby")]
    snapshot = world(entity_aliases=[{"id": uid(f"{e}{a}"), "entity_id": e, "alias": a} for e, a in aliases])
    (mutation,) = merge_rows(snapshot, [Merge(ANNA, (ANNE,))])
    told = [insert.values for insert in mutation.inserts if insert.table == "entity_aliases"]
    assert [(values["entity_id"], values["alias"]) for values in told] == [(ANNA, "Anne Berg"), (ANNA, "Annie")]


def named(*names: str, **first: object) -> Snapshot:
    """Entities of these names; the first one has most mentions."""
    rows = [{"id": uid(n), "name": n, "mention_count": 9 - k} for k, n in enumerate(names)]
    rows[0].update(first)
    return make_snapshot(entities=rows)


def test_survivor_gets_the_better_name_and_keeps_its_own_as_alias() -> None:
    """The row with most mentions survives; the name is chosen apart from it (F6), and other items may not write the cell."""
    (merge,) = merge_rows(
        named("DGS", "Dangerous Goods Segregation"), [Merge(uid("DGS"), (uid("Dangerous Goods Segregation"),))]
    )
    (write,) = [w for w in merge.writes if w.cell.column == "name"]
    assert (write.cell.row, write.seen, write.value) == (uid("DGS"), "DGS", "Dangerous Goods Segregation")
    assert [i.values["alias"] for i in merge.inserts] == ["DGS"]
    assert (uid("DGS"), "name", "DGS") in [(c.row, c.column, seen) for c, seen in merge.seen()]


@pytest.mark.parametrize(("first", "name"), [({"pinned": True}, ""), ({}, "DGS")])
def test_survivor_keeps_its_name_when_it_is_pinned_or_the_name_is_given(first: dict[str, object], name: str) -> None:
    """A pin and a reviewer's choice are decisions of a person."""
    full = "Dangerous Goods Segregation"
    (merge,) = merge_rows(named("DGS", full, **first), [Merge(uid("DGS"), (uid(full),), name=name)])
    assert [w for w in merge.writes if w.cell.column == "name"] == []
    assert [i.values["alias"] for i in merge.inserts] == [full]
