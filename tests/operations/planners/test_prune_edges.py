"""``prune_edges``: only what nothing supports is retired; what somebody asserted is asked about."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import numpy as np
import pytest

from slowwave.changes.simulate import simulate
from slowwave.operations import PLANNERS, Proposal, permits
from slowwave.operations.planners.prune_edges import score
from slowwave.plans.items import Item
from slowwave.plans.seal import Header, seal
from slowwave.snapshots.snapshot import Snapshot
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

gc_references = PLANNERS["gc_references"]
prune_edges = PLANNERS["prune_edges"]

WEAK = {"relationship_type": "ASSOCIATED_WITH", "confidence": 0.3, "source_chunk_ids": [uid("dead")]}


def world(edges: Mapping[str, Mapping[str, object]], settings: Mapping[str, object] | None = None) -> Snapshot:
    """Anna and Bob are pinned, Carla and Dag are not; one chunk and one document stand, one chunk is invalidated."""
    ends = {"source_entity_id": uid("carla"), "target_entity_id": uid("dag")}
    return make_snapshot(
        settings=settings,
        chunks=[
            {"id": uid("stands"), "content": "x"},
            {"id": uid("retired"), "content": "x", "invalidated_at": TAKEN_AT},
        ],
        documents=[{"id": uid("document"), "valid_to": TAKEN_AT - timedelta(days=1)}],
        entities=[
            {"id": uid(n), "name": n.title(), "pinned": n in ("anna", "bob")} for n in ("anna", "bob", "carla", "dag")
        ],
        relationships=[{"id": uid(name), **ends, **WEAK, **edge} for name, edge in edges.items()],
    )


def run(snapshot: Snapshot) -> Proposal:
    return prune_edges(make_inputs(snapshot))


def decisions(found: Proposal) -> dict[str, str]:
    return {i.mutation.rows[0].id: i.decision for i in found.items}


def test_a_weak_edge_whose_chunks_are_all_gone_is_retired() -> None:
    """Live, of a type on the list, under the threshold, nothing of it standing; all else is left alone."""
    snapshot = world(
        {
            "dead": {"external_id": "x-1"},
            "retired chunk": {"source_chunk_ids": [uid("retired"), uid("dead")]},
            "supported": {"source_chunk_ids": [uid("dead"), uid("stands")]},
            "at the threshold": {"confidence": 0.4},
            "another type": {"relationship_type": "KNOWS"},
            "invalidated": {"invalidated_at": TAKEN_AT},
            "ended": {"valid_to": TAKEN_AT},
        }
    )
    found = run(snapshot)
    assert decisions(found) == {uid("dead"): "prune", uid("retired chunk"): "prune"}
    item = next(i for i in found.items if i.mutation.rows[0].id == uid("dead"))
    assert (item.risk, item.mutation.kind, item.mutation.rows[0].external_id) == ("low", "invalidate_rows", "x-1")
    assert {w.cell.column: w.action for w in item.mutation.writes} == {
        "invalidated_at": "now",
        "invalidated_by": "item",
        "valid_to": "now",
    }
    assert {"confidence", "relationship_type", "source_chunk_ids", "source_document_ids"} <= {
        c.column for c, _ in item.mutation.seen()
    }
    assert item.evidence["source"] == "Carla"
    assert item.evidence["reason"] == "None of its 1 chunks stands, and no document does."
    numbers = found.report.numbers
    assert numbers["live relationships"] == 5
    assert numbers["of the types that may be pruned"] == 4
    assert numbers["under the confidence threshold"] == 3
    assert numbers["of these still supported"] == 1
    assert Item.from_json(item.to_json()) == item


def test_the_edge_ends_in_the_world_at_the_instant_of_the_snapshot_when_simulated() -> None:
    """System and world time both: it is no longer true that they are associated. A second night finds nothing."""
    snapshot = world({"dead": {}})
    after = simulate(snapshot, run(snapshot).items)
    (row,) = after.table("relationships").to_pylist()
    assert (row["invalidated_at"], row["valid_to"]) == (TAKEN_AT, TAKEN_AT)
    assert run(after).items == ()


def test_the_same_edge_is_the_same_item_every_night() -> None:
    """The instant of a night is no part of it: what was rejected stays rejected, and what waits keeps its place."""
    first = world({"dead": {}})
    later = make_snapshot(
        chunks=[{"id": uid("stands"), "content": "x"}],
        entities=first.table("entities").to_pylist(),
        relationships=first.table("relationships").to_pylist(),
    )
    assert [i.id for i in run(first).items] == [i.id for i in run(later).items]


def test_an_edge_that_somebody_asserted_by_hand_is_only_asked_about() -> None:
    """khora takes an empty array for all dead and prunes it; nobody took anything away from this edge."""
    found = run(world({"asserted": {"source_chunk_ids": []}}))
    assert decisions(found) == {uid("asserted"): "review"}
    assert "cites no chunk" in str(found.items[0].evidence["reason"])
    assert found.items[0].risk == "high"
    assert found.report.numbers["of these without any chunk"] == 1


def test_a_standing_document_and_pinned_ends_ask_a_person() -> None:
    """A document that was cut anew still says it; two pinned things are joined on purpose, one pinned end is none."""
    pinned = {"source_entity_id": uid("anna")}
    snapshot = world(
        {
            "document": {"source_document_ids": [uid("document")]},
            "both": {**pinned, "target_entity_id": uid("bob")},
            "one": pinned,
        }
    )
    found = run(snapshot)
    assert decisions(found) == {uid("document"): "review", uid("both"): "review", uid("one"): "prune"}
    reasons = {i.mutation.rows[0].id: str(i.evidence["reason"]) for i in found.items}
    assert "document" in reasons[uid("document")]
    assert "pinned" in reasons[uid("both")]


@pytest.mark.parametrize(
    ("weight", "age", "half_life", "expected"),
    [
        (1.0, 0, 90, 1.0),
        (1.0, 90, 90, 0.5),
        (0.8, 45, 90, 0.5656854249492381),
        (2.0, 360, 90, 0.125),
        (1.0, -5, 90, 1.0),
    ],
)
def test_the_score_is_weight_times_recency(weight: float, age: float, half_life: float, expected: float) -> None:
    """weight · 0.5^(age / half-life); the future is as fresh as today."""
    assert score(np.array([weight]), np.array([float(age)]), half_life)[0] == pytest.approx(expected, rel=1e-12)


def test_with_a_score_threshold_faded_edges_are_candidates_as_well() -> None:
    """Sure and supported, but faded: asked about. Dead: retired, however sure. The newer of the two dates counts."""
    sure = {"confidence": 0.9, "weight": 0.5, "recorded_at": TAKEN_AT - timedelta(days=180)}
    edges = {
        "faded": {**sure, "source_chunk_ids": [uid("stands")]},
        "faded and dead": sure,
        "true since lately": {**sure, "valid_from": TAKEN_AT - timedelta(days=1), "source_chunk_ids": [uid("stands")]},
        "weighty": {**sure, "weight": 4.0, "source_chunk_ids": [uid("stands")]},
    }
    assert run(world(edges)).items == (), "off unless it is set"
    found = run(world(edges, {"operations": {"prune_edges": {"score_threshold": 0.2}}}))
    assert decisions(found) == {uid("faded"): "review", uid("faded and dead"): "prune"}
    faded = next(i for i in found.items if i.decision == "review")
    assert (faded.evidence["age_days"], faded.evidence["score"]) == (180.0, 0.125)
    assert "1 of its 1 chunks still stand" in str(faded.evidence["reason"])
    assert found.report.numbers["under the score threshold"] == 2


def test_other_types_can_be_named() -> None:
    """The list of types is a setting."""
    edges = {"knows": {"relationship_type": "KNOWS"}, "associated": {}}
    assert decisions(run(world(edges, {"operations": {"prune_edges": {"target_predicates": ["KNOWS"]}}}))) == {
        uid("knows"): "prune"
    }


def test_an_edge_to_be_retired_is_not_cleaned_instead() -> None:
    """Both want the same row the same night: were its array emptied first, nobody would ever know that it was dead."""
    snapshot = world({"dead": {}})
    proposed = [*gc_references(make_inputs(snapshot)).items, *run(snapshot).items]

    plan = seal(Header(uid("n"), "n", "s", "f"), proposed, permits())
    assert [i.operation for i in plan.items] == ["prune_edges"]
    after = simulate(snapshot, plan.items)
    assert gc_references(make_inputs(after)).items == ()


def test_a_namespace_without_edges_says_so() -> None:
    """The denominators are there when nothing is."""
    found = run(world({}))
    assert found.items == ()
    assert found.report.numbers["live relationships"] == 0
    assert found.report.headline.startswith("0 of 0 live relationships")
