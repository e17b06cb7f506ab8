"""Edges that a merge makes parallel become one, unless they say different things or another merge writes them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from slowwave.changes.merges import Merge, merge_rows
from slowwave.changes.mutation import Mutation
from tests.snapshots import make_snapshot, uid

EARLY, LATE = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)


def edge(name: str, source: str, target: str, kind: str = "OWNS", **more: Any) -> dict[str, Any]:
    ends = {"source_entity_id": uid(source), "target_entity_id": uid(target)}
    return {"id": uid(name), **ends, "relationship_type": kind, **more}


def merged(*edges: dict[str, Any], merges: tuple[tuple[str, str], ...] = (("a", "a2"),)) -> list[Mutation]:
    """The merges of a world of a, a2, b, b2 and c, in which the chunk ``dead`` does not exist."""
    snapshot = make_snapshot(
        chunks=[{"id": uid(c), "content": c} for c in ("one", "two")],
        entities=[{"id": uid(n), "name": n} for n in ("a", "a2", "b", "b2", "c")],
        relationships=edges,
    )
    return merge_rows(snapshot, [Merge(uid(keep), (uid(gone),)) for keep, gone in merges])


def retired(mutation: Mutation) -> set[str]:
    return {w.cell.row for w in mutation.writes if (w.cell.table, w.action) == ("relationships", "now")}


def test_the_edge_that_stays_knows_what_both_knew() -> None:
    """Provenance that still stands, the greatest weight and confidence, the earliest start, properties of both."""
    first = edge(
        *("e", "a", "b"),
        **{"source_chunk_ids": [uid("one"), uid("dead")], "weight": 2.0, "confidence": 0.5, "valid_from": LATE},
        properties={"since": "March"},
    )
    second = edge(
        *("f", "a2", "b"),
        **{"source_chunk_ids": [uid("two")], "weight": 1.0, "confidence": 0.9, "valid_from": EARLY},
        **{"properties": {"share": "40 %"}, "description": "Owns the quay."},
    )
    (merge,) = merged(first, second)
    keep, gone = uid("e"), uid("f")
    wrote = {w.cell.column: w.value for w in merge.writes if w.cell.row == keep}
    known = {**first, **wrote}
    assert retired(merge) == {gone}
    assert set(known["source_chunk_ids"]) - {uid("dead")} == {uid("one"), uid("two")}
    assert (known["weight"], known["confidence"]) == (2.0, 0.9)
    assert str(known["valid_from"])[:10] == "2026-01-01"
    properties = known["properties"]
    assert (json.loads(properties) if isinstance(properties, str) else properties) == {
        "since": "March",
        "share": "40 %",
    }
    assert known["description"] == "Owns the quay."


@pytest.mark.parametrize(
    "other",
    [
        edge("f", "a2", "b", "PAYS"),
        edge("f", "b", "a2"),
        edge("f", "a2", "c"),
        edge("f", "a2", "b", description="Sold it."),
        edge("f", "a2", "b", properties={"share": "60 %"}),
        edge("f", "a2", "b", valid_to=LATE),
        edge("f", "a2", "b", invalidated_at=LATE),
    ],
    ids=["type", "direction", "target", "description", "property", "ended", "retired"],
)
def test_edges_that_say_different_things_stay_side_by_side(other: dict[str, Any]) -> None:
    """What differs may be what matters."""
    first = edge("e", "a", "b", description="Owns the quay.", properties={"share": "40 %"})
    (merge,) = merged(first, other)
    assert retired(merge) == set()


def test_edges_that_were_parallel_before_are_not_the_merges_matter() -> None:
    """Two edges of the survivor's own, and an edge of the absorbed row elsewhere."""
    (merge,) = merged(edge("e", "a", "b"), edge("f", "a", "b"), edge("g", "a2", "c"))
    assert retired(merge) == set()


def test_edges_that_cannot_be_folded_keep_no_others_from_it() -> None:
    """Of two pairs that a merge makes parallel, the one that says the same is folded, whichever is looked at first."""
    for apart, together in (("b", "c"), ("c", "b")):
        (merge,) = merged(
            *(edge(f"{name} {apart}", name, apart, description=f"Said of {name}.") for name in ("a", "a2")),
            *(edge(f"{name} {together}", name, together) for name in ("a", "a2")),
        )
        assert retired(merge) == {uid(f"a2 {together}")}


def test_two_merges_of_a_plan_never_meet_in_an_edge() -> None:
    """An edge that another merge rewrites is left alone, and one is folded by the first of two merges only."""
    both = (("a", "a2"), ("b", "b2"))
    first, second = merged(edge("e", "a", "b"), edge("f", "a2", "b"), edge("g", "a", "b2"), merges=both)
    assert retired(first) == {uid("f")}
    assert retired(second) == set()
    writes = [{w.cell for w in m.writes} for m in (first, second)]
    rests = [{c for c, _ in m.seen()} for m in (first, second)]
    assert not writes[0] & (writes[1] | rests[1])
    assert not writes[1] & rests[0]
