"""Tombstones: counts, ratio, ages and the worst names."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta

import numpy as np
import pytest

from slowwave.operations import AUDITS
from slowwave.operations.audits.tombstones import percentiles
from slowwave.plans.report import Report
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

tombstones = AUDITS["tombstones"]


def fact(subject: str, days: float | None = None, **more: object) -> dict[str, object]:
    """A fact; with ``days`` it was retired then, as khora's facade does it."""
    gone = {} if days is None else {"is_active": False, "invalidated_at": TAKEN_AT - timedelta(days=days)}
    return {"subject": subject, "predicate": "p", "object": "o", **gone, **more}


@pytest.mark.parametrize(
    ("ages", "expected"),
    [
        ([5], (5, 5, 5)),
        ([1, 2], (2, 2, 2)),
        (range(1, 11), (10, 6, 10)),
        (range(1, 12), (11, 6, 10)),  # ceil(1.1) = 2nd oldest
        (range(1, 101), (100, 51, 91)),
    ],
)
def test_percentiles_are_those_of_the_instants(ages: range, expected: tuple[float, ...]) -> None:
    """khora: percentile_disc over timestamps, so the p90 age is the 10th percentile of instants, and p50 the older of the middle."""
    found = percentiles(np.array(ages, np.float64))
    assert (found.oldest, found.p50, found.p90) == expected


def test_counts_ratio_and_ages_of_facts() -> None:
    """Two active, three inactive; a row that is invalidated but still active is a tombstone too, and has an age (khora's has none)."""
    facts = [fact("live"), fact("ann", 400), fact("ann", 30), fact("bob", 366)]
    facts.append(fact("bob", invalidated_at=TAKEN_AT - timedelta(days=10)))
    report = tombstones(make_inputs(make_snapshot(memory_facts=facts)))
    expected = {
        "active_count": 2, "inactive_count": 3, "invalidated_count": 4, "total_count": 5, "tombstone_count": 4,
        "tombstone_ratio": 0.8, "oldest_tombstone_age_days": 400.0, "p50_age_days": 366.0, "p90_age_days": 400.0,
        "undated_count": 0, "past_retention_count": 2, "retention_days": 365, "recommended_retention_days": 365,
    }  # fmt: skip
    assert {k: report.numbers[k] for k in expected} == expected
    assert report.headline == (
        "4 of 5 facts and 0 of 0 other rows are tombstones; 2 are older than the retention of 365 days."
    )
    assert [dict(row) for row in report.table] == [
        {"table": "memory_facts", "name": "ann", "tombstones": 2},
        {"table": "memory_facts", "name": "bob", "tombstones": 2},
    ]
    assert "purge_expired" in report.findings[0].message
    json.dumps(dict(report.details))


def test_every_table_that_keeps_tombstones_is_counted() -> None:
    """Merged entities, retracted chunks and invalidated edges have their own lines; what merely ended is history."""
    gone = {"invalidated_at": TAKEN_AT - timedelta(days=1)}
    report = tombstones(
        make_inputs(
            make_snapshot(
                entities=[{"name": "a", "state": "merged", **gone}, {"name": "b"}],
                relationships=[{"relationship_type": "K", **gone}, {"relationship_type": "K", "valid_to": TAKEN_AT}],
                memories=[{"kind": "event", "subject": "trip", **gone}],
                chunks=[{"content": "x", **gone}],
                documents=[{"content": "x", "source": "wiki"}],
            )
        )
    )
    tables = ("entities", "relationships", "memories", "chunks", "documents")
    assert [report.numbers[f"{t}_tombstones"] for t in tables] == [1, 1, 1, 1, 0]
    assert [report.numbers[f"{t}_total"] for t in tables] == [2, 2, 1, 1, 1]
    assert dict(zip(report.plots[0].labels, report.plots[0].values, strict=True)) == dict.fromkeys(tables[:3], 1.0) | {
        "chunks": 1.0
    }


def test_a_tombstone_without_a_mark_is_as_old_as_its_row() -> None:
    """Switched off and never dated: the age of the record is all that is known."""
    facts = [fact("a", is_active=False, recorded_at=TAKEN_AT - timedelta(days=500))]
    report = tombstones(make_inputs(make_snapshot(memory_facts=facts)))
    assert (report.numbers["p50_age_days"], report.numbers["past_retention_count"]) == (500.0, 1)


def test_the_retention_of_the_namespace_decides_what_is_past() -> None:
    """A setting; khora's recommendation stands beside it."""
    facts = [fact("a", days) for days in (8, 20, 40)]
    report = tombstones(
        make_inputs(
            make_snapshot(memory_facts=facts, settings={"operations": {"purge_expired": {"retention_days": 15}}})
        )
    )
    assert (report.numbers["past_retention_count"], report.numbers["recommended_retention_days"]) == (2, 365)


def test_an_empty_namespace_has_a_report() -> None:
    """khora's reads an empty namespace when the id is spelt in another way; here it is empty when it is."""
    report = tombstones(make_inputs(make_snapshot()))
    assert report.details["status"] == "empty_namespace"
    assert report.numbers["tombstone_ratio"] == 0.0
    assert "oldest_tombstone_age_days" not in report.numbers
    assert report.headline == "The namespace is empty: there is nothing that could have been retired."


def test_a_hostile_name_stays_text(rendered: Callable[[Report], str]) -> None:
    """The worst names come from conversations."""
    html = rendered(tombstones(make_inputs(make_snapshot(memory_facts=[fact("<img src=x>", 3)]))))
    assert "&lt;img" in html
    assert "<img src=x>" not in html


def test_retired_chunks_are_told_by_their_documents() -> None:
    """By the title, else the source, else the id of a document that is gone."""
    named = [("letter", "A letter", "mail"), ("note", "", "notes.md")]
    snapshot = make_snapshot(
        documents=[{"id": uid(name), "title": title, "source": source} for name, title, source in named],
        chunks=[
            {"id": uid(f"{name} {n}"), "document_id": uid(name), "content": "", "invalidated_at": TAKEN_AT}
            for name, many in (("letter", 3), ("note", 2), ("gone", 1))
            for n in range(many)
        ],
    )
    told = [(row["name"], row["tombstones"]) for row in tombstones(make_inputs(snapshot)).table]
    assert told == [("A letter", 3), ("notes.md", 2), (uid("gone"), 1)]
