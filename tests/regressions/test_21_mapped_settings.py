"""Line 21: the page of settings named counterparts that do not do what the setting did.

Whoever raised what the page called Plugged.in's ``DREAM_SIMILARITY_THRESHOLD``, to have fewer and closer clusters, got the same clusters:
the setting it named belongs to another operation.
"""

from __future__ import annotations

import pytest

from scripts.settings_page import SEEDS
from tests.operations.planners.test_consolidate_clusters import TALES, at, memory, plan, world
from tests.snapshots import uid


@pytest.mark.parametrize(("threshold", "summaries"), [(0.7, 1), (0.95, 0)])
def test_the_threshold_of_clusters_decides_what_is_a_cluster(threshold: float, summaries: int) -> None:
    """Members up to thirty degrees apart have a cosine of .87."""
    (ours,) = {seed.ours for seed in SEEDS["Plugged.in"] if seed.name == "DREAM_SIMILARITY_THRESHOLD"}
    rows = [memory(name, text, day=k) for k, (name, text) in enumerate(TALES.items(), 1)]
    vectors = {name: at(15.0 * k) for k, name in enumerate(TALES)}
    _, operation, option = ours.split(".")
    settings = {"operations": {operation: {option: threshold, "min_cluster_size": 3}}}
    found = plan(world(*rows, vectors=vectors, settings=settings))
    assert len(found.items) == summaries
    assert {row for item in found.items for row in item.sources} == ({uid(n) for n in TALES} if summaries else set())
