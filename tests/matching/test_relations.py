"""The graph of entities: which edges weigh how much."""

from __future__ import annotations

import pyarrow as pa
import pytest

from slowwave.matching.graphs import entity_graph


def test_an_association_weighs_less_the_more_chance_explains_it() -> None:
    """A fifth of its weight, times how much more often its ends stand together than chance has it; other types weigh what they say."""
    edges = pa.table(
        {
            "source_entity_id": ["a", "a", "b", "c"],
            "target_entity_id": ["b", "c", "c", "c"],
            "relationship_type": ["KNOWS", "associated_with", "ASSOCIATED_WITH", "KNOWS"],
            "weight": [2.0, 2.0, 2.0, 9.0],
            "association": [1.0, 0.5, 0.0, 1.0],
        }
    )
    graph = entity_graph(pa.array(["a", "b", "c"]), edges, 0.2)
    assert graph.weight.tolist() == pytest.approx([2.0, 0.2, 0.0])
    assert graph.self_loops == 1
