"""Line 14: centroids that were switched off were written by merges all the same, and those that were written were counted as none.

An operator who switched ``recompute_centroids`` off, to keep the vectors of another pipeline, found them replaced after the first merge.
With the operation on, the diff of a dream reported that no centroid was recomputed although one was.
"""

from __future__ import annotations

import slowwave
from slowwave.store.connect import Store
from tests.memories import ask, remember, unit
from tests.test_defects import others, twins

VECTORS = [{"id": "twin 0", "vector": unit(1, 0.1)}, {"id": "twin 1", "vector": unit(1, 0.11)}]
VECTOR = "SELECT md5(string_agg(vector::text, ',' ORDER BY id)) FROM memory.entity_vectors"


def merged(store: Store, slug: str) -> slowwave.DreamResult:
    """What a dream came to that merged the two rows."""
    found = slowwave.dream(slug, "apply", ops="dedupe_entities", approver="mara", store=store)
    assert (found.state, found.diff.entities_merged) == ("completed", 1)
    return found


def test_a_merge_writes_no_vector_where_centroids_are_off(store: Store) -> None:
    """The survivor keeps the vector that it had."""
    off = {"operations": {"recompute_centroids": {"enabled": False}}}
    remember(store, "off", off, entities=[*twins(), *others()], entity_vectors=VECTORS)
    before = ask(store, VECTOR)
    assert merged(store, "off").diff.centroids_recomputed == 0
    assert ask(store, VECTOR) == before


def test_a_merge_that_writes_a_vector_is_counted(store: Store) -> None:
    """One centroid, and it is another vector than before."""
    remember(store, "on", entities=[*twins(), *others()], entity_vectors=VECTORS)
    before = ask(store, VECTOR)
    assert merged(store, "on").diff.centroids_recomputed == 1
    assert ask(store, VECTOR) != before
