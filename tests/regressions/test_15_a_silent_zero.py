"""Line 15: without vectors the operations that compare by them reported zero duplicates, clusters and contradictions, as if they had
looked. One that cannot look does not run and says why; one that sees a part says how large it is.
"""

from __future__ import annotations

import pytest

from slowwave.night.night import run_night
from slowwave.night.runs import Night
from slowwave.store.connect import Store
from tests.memories import ago, remember, unit

ALONE = ("neighbour_graph", "consolidate_clusters")
BESIDES = ("contradictions", "dedupe_memories", "resolve_conflicts")


def night(store: Store, vectors: int) -> Night:
    """Three memories and two entities, the first ``vectors`` memories with a vector."""
    names = ["a", "b", "c"]
    remember(
        store,
        "agents",
        memories=[
            {"id": n, "kind": "semantic", "current_version_id": f"v{n}", "valid_from": ago(9), "recorded_at": ago(9)}
            for n in names
        ],
        memory_versions=[{"id": f"v{n}", "memory_id": n, "content": f"Note {n} of the shop."} for n in names],
        entities=[{"id": f"e{n}", "entity_type": "shop", "name": f"Shop {n}"} for n in names[:2]],
        memory_vectors=[{"id": n, "vector": unit(1, k)} for k, n in enumerate(names[:vectors])],
    )
    return run_night(store, "agents", ops="all")


@pytest.fixture
def reports(store: Store, request: pytest.FixtureRequest):
    found = night(store, request.param)
    return {**found.reports, **found.proposals}


@pytest.mark.parametrize("reports", [0], indirect=True)
def test_what_cannot_look_says_so(reports) -> None:
    """No memory has a vector."""
    assert {name: reports[name].skipped for name in ALONE} == dict.fromkeys(ALONE, "no_vectors")
    for name in BESIDES:
        assert not reports[name].skipped
        assert "None of 3 memories has a vector" in reports[name].headline
        assert [f.severity for f in reports[name].findings] == ["warning"]
    assert "None of 2 entities has a vector" in reports["dedupe_entities"].headline
    assert all("vector" not in reports[name].headline for name in ("orphans", "gc_references"))


@pytest.mark.parametrize("reports", [2], indirect=True)
def test_what_sees_a_part_says_how_large_it_is(reports) -> None:
    """Two of three memories have a vector."""
    for name in (*ALONE, *BESIDES):
        assert not reports[name].skipped
        assert "Only 2 of 3 memories have a vector" in reports[name].headline
        assert (
            reports[name].numbers["memories with a vector"],
            reports[name].numbers["memories without a vector"],
        ) == (2, 1)


@pytest.mark.parametrize("reports", [3], indirect=True)
def test_what_sees_all_says_nothing_of_it(reports) -> None:
    """Every memory has a vector."""
    assert all(" have a vector" not in reports[name].headline for name in (*ALONE, *BESIDES))
