"""References of subjects, their pages and their slugs."""

from __future__ import annotations

import pytest

from slowwave.wiki.claims.request import SubjectRef, family_of, slug_of


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("person:mara-lind", "people/mara-lind.md"),
        ("Project:Rowan", "projects/rowan/state.md"),
        ("concept:tide", "concepts/tide.md"),
        ("decision:rowan", "decisions/rowan.md"),
        ("core:user", "core/user.md"),
    ],
)
def test_a_reference_names_a_page(text: str, path: str) -> None:
    found = SubjectRef.read(text)
    assert found is not None
    assert (found.path, str(found)) == (path, text.lower())


@pytest.mark.parametrize("text", ["rowan", "team:rowan", "project:", "project:../core", "project:a b", "project:-a"])
def test_what_is_no_reference(text: str) -> None:
    assert SubjectRef.read(text) is None


@pytest.mark.parametrize(
    ("name", "slug"),
    [("Mara Lind", "mara-lind"), ("Łódź & Söhne", "lodz-sohne"), ("../../etc", "etc"), ("x" * 300, "x" * 80)],
)
def test_a_slug_is_part_of_a_path(name: str, slug: str) -> None:
    assert slug_of(name) == slug


def test_names_without_a_latin_letter_have_slugs_of_their_own() -> None:
    """Two of them do not share one."""
    one, other = slug_of("東京"), slug_of("大阪")
    assert one != other
    assert SubjectRef.read(f"concept:{one}") is not None


def test_an_entity_of_another_type_is_a_concept() -> None:
    assert [family_of(t) for t in ("PERSON", "project", "organization")] == ["person", "project", "concept"]
