"""Schema drift against declared types and against the previous night."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from slowwave.operations import AUDITS
from slowwave.operations.audits.schema_drift import frequency_delta
from slowwave.plans.report import Report
from tests.snapshots import make_inputs, make_snapshot, uid

schema_drift = AUDITS["schema_drift"]

EXPERTISE = {"entity_types": ["PERSON", "PLACE"], "relationship_types": ["WORKS_AT"]}


def people(**counts: int) -> list[dict[str, object]]:
    """So many live entities of each type."""
    return [{"id": uid((t, i)), "name": f"{t} {i}", "entity_type": t} for t, n in counts.items() for i in range(n)]


@pytest.mark.parametrize(
    ("previous", "current", "trips"),
    [
        (10, 5, True),  # exactly half
        (10, 6, False),
        (5, 10, True),
        (6, 10, False),
        (0, 1, True),  # fresh
        (1, 0, True),  # vanished
        (0, 0, False),  # absent twice
        (7, 7, False),
    ],
)
def test_a_count_trips_when_it_moves_by_half_of_the_greater(previous: int, current: int, trips: bool) -> None:
    """khora's rule, at its edges."""
    expected = {"T": (previous, current)} if trips else {}
    assert frequency_delta({"T": previous}, {"T": current}, 0.5) == expected


def test_all_six_buckets_fill_from_declaration_and_baseline() -> None:
    """The second night of a namespace in which an extractor began to write types of its own."""
    edges = [
        {"source_entity_id": uid(("PERSON", 0)), "target_entity_id": uid(("PERSON", 1)), "relationship_type": "LIKES"}
    ]
    snapshot = make_snapshot(
        settings={"expertise": EXPERTISE}, entities=people(PERSON=4, Person=3, GADGET=1), relationships=edges
    )
    baseline = {"entity_frequencies": {"PERSON": 5, "Person": 1, "PLACE": 2}, "relationship_frequencies": {}}
    report = schema_drift(make_inputs(snapshot, baselines={"schema_drift": baseline}))
    assert {k: report.details[k] for k in report.details if "new" in k or "unused" in k or "delta" in k} == {
        "new_entity_types": ["GADGET", "Person"],
        "unused_entity_types": ["PLACE"],
        "entity_frequency_delta": {"GADGET": [0, 1], "PLACE": [2, 0], "Person": [1, 3]},
        "new_relationship_types": ["LIKES"],
        "unused_relationship_types": ["WORKS_AT"],
        "relationship_frequency_delta": {"LIKES": [0, 1]},
        "frequency_delta_threshold": 0.5,
    }
    assert report.headline == (
        "3 types in use are not declared and 2 declared types are not in use; "
        "4 counts moved sharply since the previous night."
    )
    messages = [finding.message for finding in report.findings]
    assert "3 live entities have the undeclared type “Person”, which is written like the declared “PERSON”." in messages
    assert "1 live entities have the undeclared type “GADGET”." in messages
    assert [(r["what"], r["type"]) for r in report.table][:2] == [("new", "Person"), ("new", "GADGET")]
    assert list(report.plots[0].labels) == ["Person", "GADGET", "LIKES"]


def test_one_nights_details_are_the_next_nights_baseline() -> None:
    """They pass through the store as JSON; an unchanged namespace then shows no delta."""
    inputs = make_inputs(make_snapshot(entities=people(PERSON=3, PLACE=1)))
    first = schema_drift(inputs)
    assert first.details["entity_frequency_delta"] == {}
    assert "there is no earlier night" in first.headline
    stored = json.loads(json.dumps(dict(first.details)))
    second = schema_drift(make_inputs(inputs.snapshot, baselines={"schema_drift": stored}))
    assert second.details["entity_frequency_delta"] == {}
    assert "0 counts moved sharply" in second.headline


def test_without_a_declaration_no_type_is_called_new() -> None:
    """Every type would be, and the report would be noise; the headline says what is missing."""
    report = schema_drift(make_inputs(make_snapshot(entities=people(PERSON=1))))
    assert not report.findings
    assert report.numbers["entity_types_declared"] == 0
    assert report.headline.startswith("No types are declared for this namespace")


def test_declaring_entities_alone_leaves_relationships_in_peace() -> None:
    """An empty list is no declaration."""
    edge = {
        "source_entity_id": uid(("PERSON", 0)),
        "target_entity_id": uid(("PERSON", 0)),
        "relationship_type": "LIKES",
    }
    snapshot = make_snapshot(
        settings={"expertise": {"entity_types": ["PERSON"]}}, entities=people(PERSON=1), relationships=[edge]
    )
    report = schema_drift(make_inputs(snapshot))
    assert report.details["new_relationship_types"] == []
    assert "(only entity types are declared)" in report.headline


def test_a_hostile_type_name_stays_text(rendered: Callable[[Report], str]) -> None:
    """Types are written by agents; a report is read in a browser."""
    hostile = "<img src=x onerror=alert(1)>|[click](http://evil.example)\n# Approve"
    snapshot = make_snapshot(settings={"expertise": EXPERTISE}, entities=people(**{hostile: 2}))
    html = rendered(schema_drift(make_inputs(snapshot)))
    assert "2 live entities have the undeclared type “&lt;img src=x" in html
    assert not any(tag in html for tag in ("<img", "<a ", "<h1"))
