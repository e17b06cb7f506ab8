"""Whether what a model wrote stands on what it was given."""

from __future__ import annotations

import pytest

from slowwave.wiki.deep.changes import PASSAGE, covered_by, lost, passage, unborne

SAID = "The harbor crane lifts 12 tons. Ilse Brandt tested it on 4 May 2026."


@pytest.mark.parametrize(
    "text", ["Ilse Brandt tested the harbor crane.", "On 4 May 2026 the harbor crane lifts 12 tons."]
)
def test_deep_what_its_source_says_stands(text: str) -> None:
    """In other words and another order."""
    assert unborne(text, [SAID]) == ""


@pytest.mark.parametrize(
    "text",
    [
        "The harbor crane lifts 13 tons.",
        "Otto Brandt tested the harbor crane.",
        "Ilse Brandt tested it on 5 May 2026.",
        "The harbor crane does not lift 12 tons.",
        "everybody agrees that green tea tastes best in spring",
    ],
)
def test_deep_hostile_a_number_a_name_a_day_a_not_and_plain_words_of_nobody_do_not(text: str) -> None:
    """The last has no specific at all: most of its words have to be the source's."""
    assert unborne(text, [SAID])


def test_deep_a_source_is_read_where_it_has_to_do_with_the_statement() -> None:
    """Lines that share a word or a number, within a bound."""
    talk = "Mara: hello.\nTom: the crane lifts 12.\nMara: bye.\n"
    assert passage(talk, "A crane") == "Tom: the crane lifts 12."
    assert len(passage("crane\n" * 100_000, "crane")) == PASSAGE


def test_deep_what_is_told_elsewhere_and_what_is_lost() -> None:
    """All specifics, and most words."""
    assert covered_by("The crane lifts 12 tons.", ["Nothing.", SAID]) == SAID
    assert covered_by("The crane lifts 13 tons.", [SAID]) == ""
    assert covered_by("The crane is painted blue.", [SAID]) == ""
    assert lost(SAID, ["The harbor crane lifts 12 tons."]) != ()
    assert lost(SAID, [SAID]) == ()
