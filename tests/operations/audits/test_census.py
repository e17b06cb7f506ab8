"""The census: rows, types, vectors, tokens."""

from __future__ import annotations

from datetime import timedelta

from slowwave.operations import AUDITS
from slowwave.operations.audits.census import live_memory_tokens
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

census = AUDITS["census"]

PAST = TAKEN_AT - timedelta(days=200)


def test_every_count_stands_beside_its_denominator() -> None:
    """Three entities of which one is retired and one has a vector; of two recalls one is too old to count."""
    snapshot = make_snapshot(
        entities=[
            {"id": uid("a"), "name": "a", "entity_type": "PERSON", "recorded_at": PAST},
            {"id": uid("b"), "name": "b", "entity_type": "PERSON"},
            {"id": uid("c"), "name": "c", "entity_type": "PLACE", "invalidated_at": PAST},
        ],
        recall_events=[{"query": "q", "occurred_at": TAKEN_AT}, {"query": "q", "occurred_at": PAST}],
        vectors={"entity_vectors": {uid("a"): [1.0, 0.0], uid("c"): [0.0, 1.0]}},
    )
    report = census(make_inputs(snapshot))
    expected = {
        "rows": 5, "live_rows": 4, "entities_rows": 3, "entities_live": 2, "entities_with_vector": 1,
        "recall_events_rows": 2, "recall_events_in_window": 1, "entity_types": 2, "relationship_types": 0,
    }  # fmt: skip
    assert {k: report.numbers[k] for k in expected} == expected
    assert report.headline.startswith("2 of 3 entities are live; ")
    assert report.details["types"] == {
        "entities": {"PERSON": {"rows": 2, "live": 2}, "PLACE": {"rows": 1, "live": 0}},
        "relationships": {},
    }
    assert report.details["oldest"] == PAST.isoformat(timespec="seconds")
    assert [row["table"] for row in report.table] == ["entities", "recall_events"]
    (lacking,) = report.findings
    assert "1 of 2 live entities have no vector of model fast-use-v3" in lacking.message
    assert list(report.plots[0].labels) == ["PERSON", "PLACE"]


def test_tokens_are_those_of_the_current_text_of_live_memories() -> None:
    """Old wordings and retired memories cost an agent nothing; é is two bytes."""
    versions = {"short": "abcde", "accent": "éé", "old": "x" * 400, "retired": "y" * 400, "empty": ""}
    snapshot = make_snapshot(
        memories=[
            {"kind": "episodic", "current_version_id": uid("short")},
            {"kind": "episodic", "current_version_id": uid("accent")},
            {"kind": "episodic", "current_version_id": uid("empty")},
            {"kind": "episodic", "current_version_id": uid("retired"), "invalidated_at": PAST},
            {"kind": "episodic"},
        ],
        memory_versions=[{"id": uid(name), "content": text} for name, text in versions.items()],
    )
    assert live_memory_tokens(snapshot) == (3, 2 + 1 + 0)


def test_the_empty_namespace_has_a_report_too() -> None:
    """Its first night is no error, in any audit."""
    inputs = make_inputs(make_snapshot())
    reports = {name: audit(inputs) for name, audit in AUDITS.items()}
    assert next(iter(reports)) == "census"
    for name, report in reports.items():
        assert report.operation == name
        assert not report.findings
        assert report.headline in report.markdown().replace("\\", "")
    assert reports["census"].headline == "The namespace is empty: there is nothing to count."
