"""Who is who over a whole folder, and in a namespace that knows some of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowwave.wiki.migration.pages import classified_page
from slowwave.wiki.migration.subjects import MigratedSubjects, migrated_subjects
from tests.snapshots import make_snapshot, uid
from tests.wiki.migration.folders import page, staged


def subjects(
    root: Path, files: dict[str, str], known: MigratedSubjects | None = None
) -> dict[str, tuple[int, tuple[str, ...]]]:
    pages = [classified_page(found) for found in staged(root, files).pages]
    found = migrated_subjects(pages, known or MigratedSubjects())
    assert found == migrated_subjects(pages[::-1], known or MigratedSubjects())
    return {str(subject.ref): (len(subject.said), subject.aliases) for subject in found}


def test_one_subject_under_several_names(tmp_path: Path) -> None:
    """By name, by another way to write it, by slug, by an alias that means one other alone; never over families."""
    assert subjects(
        tmp_path,
        {
            "people/mara-lind.md": page("person", "Mara Lind", "Mara sails.", aliases="[Skipper]"),
            "old/people/lind.md": page("person", "Lind, Mara", "Mara rows."),
            "older/people/skipper.md": page("person", "Skipper", "She swims."),
            "projects/mara/state.md": page("project", "Mara", "A boat repaired."),
        },
    ) == {
        "person:mara-lind": (3, ("Lind, Mara", "Skipper", "lind")),
        "project:mara": (1, ()),
    }


def test_a_short_name_of_several_means_none_of_them(tmp_path: Path) -> None:
    """Two that share an alias stay two, and so does who has it for a name."""
    found = subjects(
        tmp_path,
        {
            "people/alex-kim.md": page("person", "Alex Kim", "Alex sails.", aliases="[Alex]"),
            "people/alex-lee.md": page("person", "Alex Lee", "Alex rows.", aliases="[Alex]"),
            "people/alex.md": page("person", "Alex", "Alex swims."),
        },
    )
    assert sorted(found) == ["person:alex", "person:alex-kim", "person:alex-lee"]


@pytest.mark.parametrize(
    ("names", "entity", "may_be"), [(["Mara Lind"], "one", 0), (["Mara Lind", "Mara Lind"], "", 2), (["Jo"], "", 0)]
)
def test_subjects_that_the_namespace_knows(names: list[str], entity: str, may_be: int, tmp_path: Path) -> None:
    """One entity of the name is the subject; several may be it, and nothing is decided."""
    rows = [{"id": uid(f"{name}-{n}"), "name": name, "entity_type": "PERSON"} for n, name in enumerate(names)]
    known = MigratedSubjects.from_snapshot(make_snapshot(entities=rows))
    pages = [
        classified_page(p)
        for p in staged(tmp_path, {"people/mara.md": page("person", "Mara Lind", "Mara sails.")}).pages
    ]
    (found,) = migrated_subjects(pages, known)
    assert bool(found.entity) == bool(entity)
    assert len(found.may_be) == may_be
