"""Known names, and words that are none."""

from __future__ import annotations

import pytest

from slowwave.text.names import is_given, is_plain, known_names


def test_every_list_is_there_folded_and_without_doubles() -> None:
    """Sections of the file are the fields."""
    names = known_names()
    assert {"oslo", "addis ababa"} <= names.places
    assert ("jane" in names.given, "smith" in names.family, "norwegian" in names.demonyms) == (True, True, True)
    assert "ibm" in names.organizations
    assert all(name == name.casefold().strip() for field in names for name in field)


@pytest.mark.parametrize("word", ["harbour", "ledgers", "swift", "norwegian", "cantonese", "roses"])
def test_common_words_are_plain(word: str) -> None:
    """Plurals and peoples too, and words that are names as well."""
    assert is_plain(word)


@pytest.mark.parametrize("word", ["everest", "bilibili", "vivian", "tianjin", "johann"])
def test_what_is_written_with_a_capital_only_is_not(word: str) -> None:
    """Whatever the list of words has of it in small letters."""
    assert not is_plain(word)


def test_given_names_are_told() -> None:
    """A family name is none."""
    assert (is_given("aisha"), is_given("okafor")) == (True, False)
