"""Dead references: counts, percentiles and the worst rows."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from slowwave.operations import AUDITS
from slowwave.operations.audits.dead_references import array_lengths, nearest_rank
from slowwave.plans.report import Report
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

dead_references = AUDITS["dead_references"]


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([], (0, 0, 0, 0)),
        ([7], (7, 7, 7, 7)),
        (range(1, 11), (5, 9, 10, 10)),
        (range(1, 101), (50, 90, 99, 100)),
        (range(1, 102), (51, 91, 100, 101)),  # ceil(50.5), ceil(90.9), ceil(99.99)
        ([0, 0, 0, 9], (0, 9, 9, 9)),
    ],
)
def test_percentiles_are_nearest_rank(lengths: range, expected: tuple[int, ...]) -> None:
    """khora's rule: the value at rank ceil(q · n), never one between two arrays."""
    measured = array_lengths(np.array(lengths, np.int64)[::-1])
    assert tuple(measured.values()) == expected
    assert list(measured) == ["length_p50", "length_p90", "length_p99", "length_max"]


def test_nearest_rank_is_exact_where_floats_are_not() -> None:
    """0.07 · 100 is more than 7 in floating point, and ceil would take the eighth."""
    assert nearest_rank(np.arange(1, 101), 7) == 7


def entity(name: str, chunks: list[str], **more: object) -> dict[str, object]:
    """An entity with provenance."""
    return {
        "id": uid(name),
        "name": name,
        "entity_type": "PERSON",
        "source_chunk_ids": [uid(c) for c in chunks],
        **more,
    }


def test_numbers_findings_and_offenders_agree() -> None:
    """Two of four live entities name dead chunks; the worse one leads, the retired one does not count."""
    snapshot = make_snapshot(
        chunks=[{"id": uid("k"), "content": ""}],
        entities=[
            entity("bad", ["k", "x", "y"]),
            entity("longer", ["k", "k", "k", "x"]),
            entity("good", ["k"]),
            entity("bare", []),
            entity("retired", ["x", "y", "z"], invalidated_at=TAKEN_AT),
        ],
        memories=[{"id": uid("m"), "kind": "episodic", "subject": "trip", "source_document_ids": [uid("nowhere")]}],
        vectors={"entity_vectors": {uid("bad"): [1.0], uid("good"): [1.0]}},
    )
    report = dead_references(make_inputs(snapshot))
    expected = {
        "chunk_rows": 5, "chunk_rows_dead": 2, "chunk_dead": 3, "chunk_references": 8, "chunk_length_p50": 1,
        "chunk_length_p90": 4, "chunk_length_max": 4, "document_rows": 5, "document_rows_dead": 1, "document_dead": 1,
        "entities_without_vector": 2, "chunks_without_vector": 1, "memories_without_vector": 1,
    }  # fmt: skip
    assert {k: report.numbers[k] for k in expected} == expected
    assert report.headline == (
        "2 of 5 live rows name 3 dead chunks and 1 of 5 live rows names 1 dead document; 4 live rows lack a vector."
    )
    assert [(r["name"], r["kind"], r["dead"], r["length"]) for r in report.table] == [
        ("bad", "chunk", 2, 3),
        ("longer", "chunk", 1, 4),
        ("trip", "document", 1, 1),
    ]
    assert not any(f.rows[0] in str((f.message, row)) for f, row in zip(report.findings, report.table, strict=True))
    assert [f.rows for f in report.findings] == [(uid("bad"),), (uid("longer"),), (uid("m"),)]
    assert report.findings[0].details["dead_ids"] == sorted([uid("x"), uid("y")])
    assert dict(zip(report.plots[0].labels, report.plots[0].values, strict=True)) == {
        "entities: chunks": 2.0,
        "memories: documents": 1.0,
    }
    assert json.loads(json.dumps(dict(report.details)))["live"] == {"entities": 4, "chunks": 1, "memories": 1}


def test_twenty_offenders_in_the_details_ten_in_the_table_and_all_in_the_findings() -> None:
    """Nothing is cut without being counted."""
    snapshot = make_snapshot(entities=[entity(f"e{i}", [f"dead {j}" for j in range(i + 1)]) for i in range(25)])
    report = dead_references(make_inputs(snapshot))
    offenders = report.details["top_offenders"]
    assert isinstance(offenders, list)
    assert [o["dead"] for o in offenders] == list(range(25, 5, -1))
    assert (len(report.table), len(report.findings)) == (10, 25)


def test_a_clean_namespace_says_how_much_was_looked_at() -> None:
    """A zero without its denominator proves nothing."""
    snapshot = make_snapshot(chunks=[{"id": uid("k"), "content": ""}], entities=[entity("good", ["k"])])
    vectors = {"entity_vectors": {uid("good"): [1.0]}, "chunk_vectors": {uid("k"): [1.0]}}
    clean = make_snapshot(
        chunks=snapshot.table("chunks").to_pylist(), entities=snapshot.table("entities").to_pylist(), vectors=vectors
    )
    report = dead_references(make_inputs(clean))
    assert report.headline == "None of 1 live rows names a dead chunk or document."
    assert (report.findings, report.plots) == ((), ())


def test_a_hostile_name_stays_text(rendered: Callable[[Report], str]) -> None:
    """The worst rows are shown by name, and names come from conversations."""
    hostile = entity("<b>|![x](http://evil.example/a.png)", ["x"])
    html = rendered(dead_references(make_inputs(make_snapshot(entities=[hostile]))))
    assert "&lt;b&gt;" in html
    assert not any(tag in html for tag in ("<b>", "<img"))
