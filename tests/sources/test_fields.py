"""What a page says of itself, by the rules of a profile."""

from __future__ import annotations

from typing import Any

import pytest

from slowwave.sources.page_files import fields_of, markdown_page
from slowwave.sources.profile import profile


def fields(path: str, written: dict[str, Any] | None = None, body: str = "", name: str = "dory") -> Any:
    return fields_of(written or {}, path, markdown_page(body), profile(name))


@pytest.mark.parametrize(
    ("path", "type_", "status", "canonical", "source_kind", "temperature"),
    [
        ("core/user.md", "core", "active", True, "canonical", "hot"),
        ("people/anna.md", "person", "active", True, "canonical", "warm"),
        ("projects/atlas/state.md", "project", "active", True, "canonical", "warm"),
        ("projects/atlas/notes.md", "project", "active", False, "canonical", "warm"),
        ("concepts/x.md", "concept", "active", True, "canonical", "warm"),
        ("decisions/2026-04-07-x.md", "decision", "active", True, "canonical", "warm"),
        ("ideas/x.md", "idea", "pending", False, "human", "warm"),
        ("knowledge/x.md", "knowledge", "active", True, "human", "warm"),
        ("inbox/x.md", "capture", "raw", False, "human", "cold"),
        ("logs/sessions/a/b.md", "session", "raw", False, "extracted", "warm"),
        ("logs/daily/2026-04-07.md", "daily", "done", False, "human", "cold"),
        ("digests/daily/x.md", "digest-daily", "done", False, "generated", "cold"),
        ("references/reports/x.md", "report", "done", False, "generated", "cold"),
        ("references/x.md", "reference", "active", False, "imported", "cold"),
        ("sources/imported/x.md", "source", "active", False, "imported", "cold"),
        ("wiki/x.md", "wiki", "active", False, "generated", "cold"),
        ("archive/people/x.md", "archive", "superseded", False, "human", "cold"),
    ],
)
def test_dory_defaults_by_bucket(
    path: str, type_: str, status: str, canonical: bool, source_kind: str, temperature: str
) -> None:
    """Section 4.2: type by folder, and from it status, whether it is canonical, its kind of source and its temperature."""
    values = fields(path).values
    assert [values[name] for name in ("type", "status", "canonical", "source_kind", "temperature")] == [
        type_, status, canonical, source_kind, temperature,
    ]  # fmt: skip


def test_dory_interrupted_sessions_and_reviews_are_valid() -> None:
    """The seed refused its own statuses: a session that was interrupted failed with 400."""
    for status in ("interrupted", "review"):
        found = fields("logs/sessions/a.md", {"status": status}).values
        assert found["status"] == status
        assert "problems" not in found


def test_words_of_the_frontmatter_win_and_are_cleaned() -> None:
    """Aliases of statuses and types, a type with a remark, tags in either form, a day within a time."""
    found = fields(
        "inbox/x.md",
        {
            **{
                "title": " A  title ",
                "type": "Task | from the phone",
                "status": "In-Progress",
                "canonical": True,
                "pinned": True,
            },
            **{
                "tags": "#a, b c",
                "aliases": ["Anna B.", "AB"],
                "created": "2026-04-07T10:00:00Z",
                "superseded_by": "people/b.md",
            },
        },
    )
    assert found.title == "A title"
    assert {
        name: found.values[name] for name in ("type", "status", "canonical", "pinned", "tags", "aliases", "created")
    } == {
        **{"type": "capture", "status": "active", "canonical": True, "pinned": True, "tags": ["a", "b", "c"]},
        **{"aliases": ["Anna B.", "AB"], "created": "2026-04-07"},
    }
    assert found.day is not None
    assert found.day.isoformat() == "2026-04-07"


def test_a_word_that_nobody_knows_is_named_and_its_default_stands_in() -> None:
    """A page is not refused for a status."""
    found = fields(
        "people/a.md", {"status": "sleeping", "type": "alien", "created": "someday", "visibility": "secret"}
    ).values
    assert (found["status"], found["type"], "created" in found, "visibility" in found) == (
        "active",
        "person",
        False,
        False,
    )
    assert [problem.split(":")[0] for problem in found["problems"]] == ["type", "status", "visibility", "created"]


def test_title_day_and_slug_from_where_they_can_be_had() -> None:
    assert fields("people/anna-berg.md").title == "anna berg"
    assert fields("logs/2026-11-20_stand-up.md").title == "2026-11-20 stand up"
    assert fields("people/anna-berg.md", body="# Anna Berg\n").title == "Anna Berg"
    assert fields("Journal/2026-11-20.md", body="# Friday\n").title == "2026-11-20 Friday"
    assert fields("Journal/2026-11-20.md", body="# Log of 2026-11-20\n").title == "Log of 2026-11-20"
    assert fields("Journal/2026-11-20 run.md", body="# Run\n").title == "Run"
    assert fields("projects/atlas/state.md").values["slug"] == "atlas"
    assert fields("logs/daily/2026-04-07.md").values["date"] == "2026-04-07"
    assert fields("x.md", {"status": "Final", "type": "Standards Track"}, name="plain").values["status"] == "final"


def test_sections_that_a_canonical_page_lacks_are_named() -> None:
    body = "# Anna\n\n## Summary\n\n## Current Facts\n\n## timeline\n"
    assert fields("people/anna.md", body=body).values["missing_sections"] == [
        "Preferences And Working Style", "Goals And Priorities", "Related Decisions And Projects", "Evidence",
    ]  # fmt: skip
    assert fields("people/anna.md", {"canonical": False}, body).values.get("missing_sections") is None


def test_tags_in_the_text_count_in_a_vault() -> None:
    assert fields("a.md", {"tags": ["x"]}, "Words #y/z here.", "vault").values["tags"] == ["x", "y/z"]
    assert fields("a.md", {"tags": ["x"]}, "Words #y/z here.", "plain").values["tags"] == ["x"]
