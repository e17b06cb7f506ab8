"""Made-up memories hold what operations look for, and every operation is measured on them."""

from __future__ import annotations

import pytest

from benchmarks.memory_speed import Costs, measure, part
from benchmarks.operations import looked, planned
from benchmarks.remembered import remembered

FINDING = {
    *("redact_or_quarantine", "dedupe_memories", "decay_transition", "absolutize_dates", "archive_stale"),
    *("promote_memories", "backfill_tags"),
}
NOTHING_TO_DO = {"accept_external_edits", "reembed", "compile_pages", "resolve_conflicts", "consolidate_clusters"}


def test_the_same_size_gives_the_same_memories() -> None:
    """All from one seed; a vector for every memory, and a text for every version."""
    one, other = remembered(300), remembered(300)
    assert one.table("memories").equals(other.table("memories"))
    assert one.table("memory_versions").equals(other.table("memory_versions"))
    vectors = one.vectors["memory_vectors"]
    assert vectors.ids.to_pylist() == one.table("memories")["id"].to_pylist()
    assert len(one.table("memory_versions")) == 300


@pytest.mark.slow
def test_every_operation_finds_something_in_them() -> None:
    """But those that need what is not there: edits from outside, missing vectors, a page without a promotion."""
    costs = measure(500)
    assert set(costs.found) == {*looked(), *planned()}
    assert all(costs.found[name] for name in FINDING)
    assert costs.peak >= costs.before > 0


def test_growth_is_the_exponent_between_two_sizes() -> None:
    """Ten times the memories in ten times the time is linear."""
    names = (*looked(), *planned())
    costs = [
        Costs(size, dict.fromkeys(names, size / 1_000), dict.fromkeys(names, 1), 100.0, 50.0)
        for size in (10_000, 100_000)
    ]
    rows = part(costs).rows
    assert len(rows) == len(names) + 2
    assert {row[-1] for row in rows[:-1]} == {"1.0"}


def test_planners_of_memories_are_measured_and_no_others() -> None:
    """By what they read: none of entities, facts, types and edges, and not the one that deletes."""
    others = {
        *("dedupe_facts", "supersede_facts", "dedupe_entities", "recompute_centroids", "normalize_schema"),
        *("prune_edges", "gc_references", "community_summaries", "purge_expired"),
    }
    assert others.isdisjoint(planned())
    assert set(planned()) >= FINDING | NOTHING_TO_DO
