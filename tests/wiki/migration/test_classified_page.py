"""What a page is about and what it says: by place and type, one statement at a time, with its line and day."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowwave.wiki.migration.pages import atoms_of, classified_page
from slowwave.wiki.migration.subjects import precedence
from tests.wiki.migration.folders import page, staged

PROJECT = """---
title: Rowan — the boat yard
created: 2026-01-05
updated: 2026-02-06
---

# Rowan

Rowan repairs **old boats**. It has [[people/mara|Mara]] and [a crane](crane.md).

## Current State

- The crane is broken.
- [ ] ok

```
- Not a statement at all.
```

| a | b |
| - | - |
> Quoted words of somebody else.

## Goals

1. Launch the *Heron* in June.

## Open Questions

- Who paints the hull?

## Related Decisions And Projects

- Oak hulls are elsewhere

<!-- TIMELINE: append-only
below this line -->

## Timeline

- 2026-01-20: The crane broke down. (`logs/daily/2026-01-20.md`)
- 2026-13-45: No such day here.
"""


def test_a_page_says_one_thing_at_a_time(tmp_path: Path) -> None:
    """Sections give the sort, marks go, code, tables, quotations and pointers say nothing, the timeline has days of its own."""
    (found,) = staged(tmp_path, {"projects/rowan/state.md": PROJECT}).pages
    read = classified_page(found)
    assert (read.resolution, read.level, read.at.date().isoformat()) == ("resolved", "high", "2026-02-06")
    (told,) = read.told
    assert (told.about.name, told.about.slug, told.about.family) == ("Rowan", "rowan", "project")
    assert [(a.kind, a.text, a.line, a.at and a.at.date().isoformat()) for a in told.atoms] == [
        ("project_update", "Rowan repairs old boats.", 9, None),
        ("project_update", "It has Mara and a crane.", 9, None),
        ("project_update", "The crane is broken.", 13, None),
        ("goal", "Launch the Heron in June.", 26, None),
        ("open_question", "Who paints the hull?", 30, None),
        ("timeline_event", "The crane broke down.", 41, "2026-01-20"),
        ("timeline_event", "No such day here.", 42, None),
    ]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("people/mara.md", page("person", "Mara", "Mara sails."), ("resolved", "high")),
        ("people/mara.md", page("project", "Mara", "Mara sails."), ("resolved", "medium")),
        ("notes/mara.md", page("person", "Mara", "Mara sails."), ("resolved", "high")),
        ("notes/mara.md", "Mara sails.\n", ("evidence_only", "high")),
        ("people/mara.md", page("person", "Mara", "Mara sails.", status="superseded"), ("evidence_only", "high")),
        ("archive/people/mara.md", page("person", "Mara", "Mara sails."), ("evidence_only", "high")),
        ("logs/daily/2026-05-01.md", page("daily", "Day", "Mara sails."), ("evidence_only", "high")),
        ("people/Untitled 3.md", "Somebody sails.\n", ("quarantine", "low")),
        ("people/mara.md", page("person", "Mara", ""), ("evidence_only", "high")),
        ("USER.md", "Mara sails.\n", ("resolved", "high")),
        ("notes/user.md", "Mara sails.\n", ("evidence_only", "high")),
    ],
)
def test_place_and_type_decide(path: str, text: str, expected: tuple[str, str], tmp_path: Path) -> None:
    """Where they disagree it is for a person to look at; where nothing names the subject it is set aside."""
    (found,) = staged(tmp_path, {path: text}).pages
    read = classified_page(found)
    assert (read.resolution, read.level) == expected
    assert read.reason == "its type says project, its place person" if expected[1] == "medium" else read.reason


def test_the_day_of_a_page_is_what_it_says_then_its_name_then_its_file(tmp_path: Path) -> None:
    """In this order."""
    found = staged(
        tmp_path,
        {
            "a/2026-03-01-x.md": page("person", "A", "A sails.", date="2026-02-01"),
            "b/2026-03-01-x.md": "B sails.\n",
            "c/x.md": "C sails.\n",
        },
    )
    assert [f"{classified_page(one).at:%m-%d}" for one in found.pages] == ["02-01", "03-01", "05-04"]


def test_statements_are_bounded() -> None:
    """Linear in the page, and no more than some of it."""
    assert len(atoms_of("\n".join(f"- Statement number {n} stands." for n in range(5_000)), "person")) == 200
    assert atoms_of("- " + "word " * 10_000, "person") == []
    assert atoms_of("```\n" + "- Never closed here.\n" * 10, "person") == []


def test_precedence_of_evidence() -> None:
    """Decisions, then subjects, weekly, daily, sessions, imported, the web; the nearest folder counts."""
    paths = (
        "decisions/a.md", "projects/a/state.md", "logs/weekly/a.md", "logs/daily/a.md", "logs/sessions/a.md", "export.json",
        "research/a.md",
    )  # fmt: skip
    assert [precedence(path) for path in paths] == list(range(7))
    assert precedence("projects/decisions/a.md") == 0
