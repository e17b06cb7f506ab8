"""Structured files promote only where they say what they are about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slowwave.wiki.migration.files import SCHEMAS, records_of
from slowwave.wiki.migration.pages import classified_page
from tests.wiki.migration.folders import migrated, staged

EXPORTS: dict[str, dict[str, Any]] = {
    "dory.project_export.v1": {"title": "Rowan", "summary": "Rowan repairs boats.", "open_work": ["Paint the hull"]},
    "dory.person_export.v1": {
        "name": "Mara Lind",
        "summary": "Mara sails boats.",
        "preferences": ["Prefers oak to ash"],
    },
    "dory.decision_export.v1": {"title": "Oak hulls", "summary": "Hulls are of oak.", "rationale": "Oak lasts longer."},
    "dory.concept_export.v1": {
        "title": "Ebb tide",
        "summary": "Ebb is falling water.",
        "open_questions": ["How long is it?"],
    },
}


@pytest.mark.parametrize("schema", list(SCHEMAS))
def test_one_story_for_each_registered_export(schema: str, tmp_path: Path) -> None:
    """From a file to the claims of its subject, dated as it says."""
    found = migrated(tmp_path, {"export.json": {"schema": schema, "date": "2026-03-04", **EXPORTS[schema]}})
    (subject,) = found.audited.subjects
    title = EXPORTS[schema].get("title", EXPORTS[schema].get("name"))
    assert (subject.plan.subject.name, subject.plan.subject.ref.family) == (title, SCHEMAS[schema])
    assert len(subject.plan.claims) == 2
    assert {claim.since.date().isoformat() for claim in subject.plan.claims} == {"2026-03-04"}
    assert subject.canonical is not None
    assert found.audited.verdict == "pass"


def test_what_is_not_typed_is_evidence(tmp_path: Path) -> None:
    """An unknown schema, a family that is none, no summary, a list of which one entry is not typed."""
    entry = {"family": "person", "title": "Mara", "summary": "Mara sails boats."}
    for value in (
        {"schema": "other.v1", **entry},
        {**entry, "family": "ship"},
        {**entry, "summary": " "},
        [entry, {"title": "x"}],
        [entry, 3],
        "text",
    ):
        assert records_of(value) == []
    (page,) = staged(tmp_path, {"a.json": {"schema": "other.v1", **entry}}).pages
    assert classified_page(page).resolution == "evidence_only"
    assert len(records_of([entry, entry])) == 2
    assert [
        page.reader
        for page in staged(tmp_path / "y", {"a.yaml": "family: person\ntitle: Mara\nsummary: Mara sails.\n"}).pages
    ] == ["typed YAML"]


def test_a_registered_export_that_breaks_its_schema_is_bad(tmp_path: Path) -> None:
    """It says what it is, so it is no evidence of something else."""
    found = staged(tmp_path, {"a.json": {"schema": "dory.person_export.v1", "title": "Mara"}})
    assert [(out.path, out.reason) for out in found.bad] == [
        ("a.json", "it says that it is a dory.person_export.v1 and has no summary")
    ]
