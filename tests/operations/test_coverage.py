"""Coverage: who compares by vectors, how many rows have one, and what is said where some have none."""

from __future__ import annotations

from slowwave.operations import AUDITS, PLANNERS
from slowwave.operations.operation import MEMORIES, blind, covered, with_coverage
from slowwave.plans.report import Report
from tests.snapshots import make_snapshot, uid


def snapshot(*seen: str):
    """Memories a (active), b (blank), c (archived) and d (active)."""
    return make_snapshot(
        memories=[
            {"id": uid(n), "kind": "semantic", "state": state, "current_version_id": uid(f"v{n}")}
            for n, state in {"a": "active", "b": "active", "c": "archived", "d": "active"}.items()
        ],
        memory_versions=[
            {"id": uid(f"v{n}"), "memory_id": uid(n), "content": " " if n == "b" else n} for n in ("a", "b", "c", "d")
        ],
        vectors={"memory_vectors": {uid(n): [1.0, 0.0] for n in seen}},
    )


CONTRADICTIONS = AUDITS["contradictions"].compares


def test_only_active_memories_with_a_text_count():
    """A blank memory never gets a vector, and an archived one needs none."""
    assert PLANNERS["consolidate_clusters"].compares == MEMORIES
    assert [covered(snapshot(*seen), MEMORIES) for seen in ((), ("a", "c"), ("a", "d"))] == [(0, 2), (1, 2), (2, 2)]


def test_who_goes_by_vectors_alone_is_blind_without_any():
    """An empty namespace is not: there is nothing to see."""
    report = blind("consolidate_clusters", MEMORIES, snapshot())
    assert report is not None
    assert (report.skipped, report.numbers) == (
        "no_vectors",
        {"memories with a vector": 0, "memories without a vector": 2},
    )
    assert blind("consolidate_clusters", MEMORIES, snapshot("a")) is None
    assert blind("consolidate_clusters", MEMORIES, make_snapshot()) is None
    assert blind("contradictions", CONTRADICTIONS, snapshot()) is None


def test_a_report_tells_what_was_not_compared():
    """Its own words, numbers and findings stay; one that did not run, or needs no vector, stays as it is."""
    report = Report("contradictions", "None.", {"looked at": 2})
    seen = with_coverage(report, CONTRADICTIONS, snapshot("a"))
    assert seen.headline.startswith("None. Only 1 of 2 ")
    assert seen.numbers["looked at"] == 2
    assert (len(seen.findings), seen.finding_count) == (1, 0)
    assert with_coverage(report, CONTRADICTIONS, snapshot("a", "d")) == report
    off = Report("contradictions", "Did not run.", skipped="op_disabled_by_config")
    assert with_coverage(off, CONTRADICTIONS, snapshot()) == off
    assert with_coverage(Report("orphans", "None."), AUDITS["orphans"].compares, snapshot()).headline == "None."
