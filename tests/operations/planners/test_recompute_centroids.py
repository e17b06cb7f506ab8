"""``recompute_centroids``: khora's rule, with the holes that khora has closed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from slowwave.operations import PLANNERS, Inputs
from slowwave.operations.planners.recompute_centroids import centroid_decision
from slowwave.plans.items import Item
from slowwave.snapshots.snapshot import Vectors
from slowwave.store.settings import Settings
from tests.snapshots import make_snapshot, uid

recompute_centroids = PLANNERS["recompute_centroids"]

NEAR = np.array([[1, 0], [np.cos(0.4), np.sin(0.4)]], np.float32)
FAR = np.array([[1, 0], [np.cos(0.6), np.sin(0.6)]], np.float32)


@pytest.mark.parametrize(
    ("names", "matrix", "decision"),
    [
        (["Grafana"], NEAR[:1], "skip_singleton"),
        (["Grafana", "grafana"], NEAR, "centroid"),
        (["Grafana", "grafana"], FAR, "skip_multimodal"),
        (["IBM", "International Business Machines"], FAR, "skip_multimodal"),  # vectors come before names
        (["IBM", "International Business Machines"], NEAR, "re_embed"),
        (["IBM", "International Business Machines"], NEAR[:1], "re_embed"),  # one vector agrees with itself
        (["Grafana", "Grafan", "Grafana.."], NEAR, "re_embed"),  # the largest distance decides
    ],
)
def test_the_decision(names: Sequence[str], matrix: np.ndarray, decision: str) -> None:
    """Vectors first, then the largest distance between names."""
    found, vector = centroid_decision(names, matrix, np.ones(len(matrix), np.int64), Settings())
    assert found == decision
    assert (vector is not None) == (decision == "centroid")


def test_the_mean_is_weighted_by_mentions_and_of_unit_length() -> None:
    """Rows without mentions do not pull; vectors of any length count alike."""
    _, vector = centroid_decision(["ab", "ac"], NEAR * [[5], [1]], np.array([3, 0]), Settings())
    assert vector is not None
    assert vector.tolist() == [1, 0]
    _, vector = centroid_decision(["ab", "ac"], NEAR, np.array([1, 1]), Settings())
    assert vector is not None
    assert np.allclose(vector, [np.cos(0.2), np.sin(0.2)])


def test_a_cluster_without_any_vector_has_no_centroid() -> None:
    """The decision stands, the vector does not exist."""
    assert centroid_decision(["ab", "ac"], np.empty((0, 0), np.float32), np.empty(0, np.int64), Settings()) == (
        "centroid",
        None,
    )


def test_live_entities_without_a_vector_get_one() -> None:
    """Only those, and by the text that every entity is embedded by."""
    given = make_snapshot(
        entities=[
            {"id": uid("a"), "name": "Grafana", "entity_type": "tool", "description": "Dashboards."},
            {"id": uid("b"), "name": "Lisbon", "entity_type": "place"},
        ],
        vectors={"entity_vectors": {uid("b"): [1.0, 0.0]}},
    )
    asked: list[str] = []

    def embed(texts: Sequence[str]) -> np.ndarray:
        asked.extend(texts)
        return np.tile(np.array([0, 1], np.float32), (len(texts), 1))

    (item,) = recompute_centroids(Inputs(given, {}, Settings(), embed=embed)).items
    assert asked == ["Grafana (tool): Dashboards."]
    assert (item.mutation.kind, item.mutation.row_ids()) == ("set_vector", (uid("a"),))
    assert Item.from_json(item.to_json()) == item
    without = recompute_centroids(Inputs(given, {}, Settings()))
    assert (without.items, without.report.numbers["without a vector"]) == ((), 1)


def test_a_namespace_without_vectors_stays_without() -> None:
    """No model, no vectors: nothing is planned even when an embedder is at hand."""
    given = make_snapshot(
        entities=[{"name": "Grafana", "entity_type": "tool"}], vectors={"entity_vectors": Vectors.empty()}
    )
    found = recompute_centroids(Inputs(given, {}, Settings(), embed=lambda texts: np.ones((len(texts), 2), np.float32)))
    assert found.items == ()
