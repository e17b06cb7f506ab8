"""Line 14: a merge left parallel edges behind.

Two rows of one ledger service both stood in a FEEDS edge to the same queue. After the merge an agent that asked what the service feeds
was told the same thing twice, each time with half of the evidence, although that is the defect C4 of khora that merges were to mend.
"""

from __future__ import annotations

from slowwave.night.undo import undo_run
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.memories import ask, remember
from tests.snapshots import uid
from tests.test_defects import applied, items, night, others, twins


def test_after_a_merge_one_edge_says_what_two_said(store: Store) -> None:
    """With the sources of both; undo brings both back."""
    edges = [
        {
            "id": f"feeds {i}",
            "source_entity_id": f"twin {i}",
            "target_entity_id": "other 0",
            "relationship_type": "FEEDS",
            "source_chunk_ids": [f"chunk {i}"],
        }
        for i in range(2)
    ]
    remember(
        store,
        "edges",
        documents=[{"id": "doc", "content": "d"}],
        chunks=[{"id": f"chunk {i}", "document_id": "doc", "content": "The ledger feeds the queue."} for i in range(2)],
        entities=[*twins(), *others()],
        relationships=edges,
    )
    before = digest(store, "edges")
    one = night(store, "edges", ops="dedupe_entities")
    assert [i.decision for i in items(one, "dedupe_entities")] == ["merge"]
    run = applied(store, one)
    live = ask(
        store,
        "SELECT relationship_type, target_entity_id::text, cardinality(source_chunk_ids) FROM memory.relationships "
        "WHERE invalidated_at IS NULL",
    )
    assert live == [("FEEDS", uid("other 0"), 2)]
    assert undo_run(store, run.run_id).items
    assert digest(store, "edges") == before
