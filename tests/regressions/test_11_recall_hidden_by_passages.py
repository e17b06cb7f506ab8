"""Line 11: a plan archived memories that the agent had used, and the recall probe said that nothing changed.

Every memory that comes from a conversation cites the passage it was made from, and the passage says the same. When the memory was
archived, the probe found the passage instead and counted that as found. An agent that recalls memories would find nothing. So recall is
measured over memories alone as well, and both must hold.
"""

from __future__ import annotations

import pytest

from slowwave.errors import Refused
from slowwave.night.night import run_night
from slowwave.store.connect import Store
from tests.memories import ago, recalls_of_nothing, remember
from tests.permitting import approve

TOPICS = (
    *("lighthouse", "harbour", "violin", "orchard", "glacier", "printer", "bakery", "compass", "saddle", "turbine"),
    *("lantern", "walnut", "ferry", "chimney", "cello", "quarry", "meadow", "anchor", "pigment", "tunnel"),
)


def test_what_only_a_passage_still_answers_is_lost_to_memories(store: Store) -> None:
    """Memories that were used four months ago are archived; their passages stay, and no longer hide it."""
    remember(
        store,
        "agent",
        documents=[{"id": "talk", "content": "A talk."}],
        chunks=[{"id": f"chunk {t}", "document_id": "talk", "content": f"The {t} was repaired."} for t in TOPICS],
        memories=[
            {
                **{"id": t, "kind": "semantic", "importance": 0.1, "valid_from": ago(300), "recorded_at": ago(300)},
                **{"current_version_id": f"{t} v", "source_chunk_ids": [f"chunk {t}"]},
            }
            for t in TOPICS
        ],
        memory_versions=[{"id": f"{t} v", "memory_id": t, "content": f"The {t} was repaired."} for t in TOPICS],
        recall_events=[
            {"id": f"asked {t}", "query": f"what happened to the {t}", "selected_ids": [t], "occurred_at": ago(120)}
            for t in TOPICS
        ]
        + recalls_of_nothing("agent", 20),
    )
    night = run_night(store, "agent", ops="archive_stale")
    assert night.plan is not None
    assert len(night.plan.items) == len(TOPICS)
    with pytest.raises(Refused, match="Recall@10"):
        approve(store, "agent", night.plan.plan_hash, approver="mara")
    assert night.probes is not None
    recall = night.probes.results["recall"]
    assert isinstance(recall, dict)
    assert (recall["delta"], recall["memories"]["delta"], recall["passed"]) == (0.0, -1.0, False)
    assert recall["queries"] == recall["memories"]["queries"] == len(TOPICS)
