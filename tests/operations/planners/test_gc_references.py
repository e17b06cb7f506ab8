"""``gc_references``: dead ids go, live ones keep their order; the model counts, the planner proposes."""

from __future__ import annotations

import pyarrow as pa

from slowwave.operations import PLANNERS, Inputs
from slowwave.plans.items import Item
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings
from tests.snapshots import make_snapshot, uid

gc_references = PLANNERS["gc_references"]


def namespace() -> Snapshot:
    """An entity with two dead chunks and a dead document, a relationship with one dead chunk."""
    dead = [uid("dead 1"), uid("dead 2")]
    return make_snapshot(
        chunks=[{"id": uid("live 1"), "content": "x"}, {"id": uid("live 2"), "content": "y"}],
        entities=[
            {
                "id": uid("a"),
                "name": "Grafana",
                "source_chunk_ids": [uid("live 2"), dead[0], uid("live 1"), dead[1], uid("live 2")],
                "source_document_ids": [uid("dead document")],
            }
        ],
        relationships=[{"id": uid("r"), "relationship_type": "USES", "source_chunk_ids": [dead[0]]}],
    )


def dead_references() -> pa.Table:
    """As the SQL model gives them."""
    rows = [
        ("chunk", "entities", "source_chunk_ids", uid("a"), sorted([uid("dead 1"), uid("dead 2")]), 5, 3),
        ("document", "entities", "source_document_ids", uid("a"), [uid("dead document")], 1, 0),
        ("chunk", "relationships", "source_chunk_ids", uid("r"), [uid("dead 1")], 1, 0),
    ]
    names = ("kind", "table_name", "column_name", "row_id", "dead_ids", "length_before", "length_after")
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def test_one_item_a_row_cleans_all_of_its_arrays() -> None:
    """Order and repeats of what stands are kept; the evidence says what goes."""
    found = gc_references(Inputs(namespace(), {"dead_references": dead_references()}, Settings()))
    of = {item.mutation.rows[0].id: item for item in found.items}
    assert of.keys() == {uid("a"), uid("r")}
    written = {w.cell.column: w.value for w in of[uid("a")].mutation.writes}
    assert written == {
        "source_chunk_ids": (uid("live 2"), uid("live 1"), uid("live 2")),
        "source_document_ids": (),
    }
    evidence = of[uid("a")].evidence
    assert (evidence["dead"], evidence["before"], evidence["after"]) == (3, 6, 3)
    assert set(evidence["first_dead"]) == {uid("dead 1"), uid("dead 2"), uid("dead document")}  # type: ignore[call-overload]
    assert all((i.decision, i.risk, Item.from_json(i.to_json())) == ("clean", "low", i) for i in found.items)


def test_rows_with_fewer_dead_ids_than_asked_are_left_alone() -> None:
    """The threshold counts all dead ids of a row."""
    settings = Settings(operations={"gc_references": {"min_dead": 2}})
    found = gc_references(Inputs(namespace(), {"dead_references": dead_references()}, settings))
    assert [i.mutation.rows[0].id for i in found.items] == [uid("a")]
    assert found.report.numbers["items"] == 1


def test_the_registry_names_the_sealing_order() -> None:
    """Merges go before what would touch the same rows, and what makes dates absolute before what shortens."""
    order = [
        *("redact_or_quarantine", "accept_external_edits", "resolve_conflicts", "dedupe_facts", "supersede_facts"),
        *("dedupe_memories", "consolidate_clusters", "dedupe_entities", "recompute_centroids", "normalize_schema"),
        *("prune_edges", "gc_references", "absolutize_dates", "archive_stale", "promote_memories", "backfill_tags"),
        *("decay_transition", "reembed", "community_summaries", "purge_expired", "compile_pages"),
    ]
    assert [name for name in PLANNERS if name in order] == order
