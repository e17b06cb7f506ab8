"""Replacements: statements that are the same but for one place, and what may be true beside each other all the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.text.contradictions import read_line, replaced


@pytest.mark.parametrize(
    ("a", "b", "how"),
    [
        ("Nils ordered the cider at noon.", "Nils ordered the cocoa at noon.", "kind"),
        ("We heard it in the living room.", "We heard it in the dining room.", "kind"),
        ("He ordered red wine with it.", "He ordered beer with it.", "kind"),
        ("He plays the oboe.", "On Sundays he plays the bassoon.", "kind"),
        ("He bought a new oboe for the band.", "He bought a new bassoon for the band.", "kind"),
        ("My cousin works as a plumber.", "My cousin is a dentist.", "kind"),
        ("A heron stood in the pond.", "An otter stood in the pond.", "kind"),
        ("She was raised Catholic in Cork.", "She was raised Methodist in Cork.", "kind"),
        ("The knife is sharp.", "The knife is blunt.", "antonyms"),
        ("He always locks the gate.", "He never locks the gate.", "antonyms"),
        ("Prices rose in spring.", "Prices fell sharply in spring.", "antonyms"),
        ("She fried the trout.", "She boiled the trout.", "deed"),
    ],
)
def test_one_place_with_words_that_exclude_each_other(a: str, b: str, how: str) -> None:
    """A word, a compound, with a word more beside it, in a statement that says more; from both sides."""
    assert replaced(a, b) == replaced(b, a) == how


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Nils ordered the cider at noon.", "Nils ordered the cider at noon."),
        ("Nils ordered the cider at noon.", "Nils ordered a drink at noon."),
        ("He plays the oboe and the harp.", "He plays the oboe and the viola."),
        ("He plays oboe as well as harp.", "He plays oboe as well as viola."),
        ("He plays the oboe.", "He plays the oboe and the harp."),
        ("The crane got a new hoist.", "The crane got a new brake."),
        ("They keep a spare hoist there.", "They keep a spare brake there."),
        ("He also plays the oboe.", "He also plays the viola."),
        ("Some of the knives are sharp.", "Some of the knives are blunt."),
        ("One of the knives is sharp.", "One of the knives is blunt."),
        ("He does not play the oboe.", "He does not play the viola."),
        ("The knife is not sharp.", "The knife is blunt."),
        ("Does he play the oboe?", "Does he play the viola?"),
        ("how do i get to the library", "how do i get to the station"),
        ("Thank you for the cider.", "Thank you for the cocoa."),
        ("My heron stood in the pond.", "My otter stood in the pond."),
        ("Check the list for me.", "Copy the list for me."),
        ("We want to book it.", "We want to table it."),
        ("He sat in the attic in spring.", "He sat in the cellar in autumn."),
        ("He plays my oboe.", "He plays your viola."),
        ("She works with Mr Baker there.", "She works with Mr Tailor there."),
        ("He had French toast there.", "He had dry toast there."),
        ("That sounds pleasant.", "That sounds painful."),
        ("He sounded pretty good already.", "He sounded great."),
        ("The cider", "The cocoa"),
        ("", "The cocoa"),
        ("Nils likes the cider.", "It rained in Cork all week long, and nobody came."),
    ],
)
def test_what_may_both_be_true(a: str, b: str) -> None:
    """Lists, some of several, what is denied, asked or owed, other subjects, other places besides, names, and what is no statement."""
    assert replaced(a, b) is replaced(b, a) is None


def test_a_long_text_is_no_statement() -> None:
    """It is not read to its end."""
    assert read_line("word " * 10_000) is None


WORDS = st.sampled_from(
    (
        "he",
        "plays",
        "the",
        "oboe",
        "harp",
        "and",
        ",",
        "not",
        "sharp",
        "blunt",
        "living",
        "dining",
        "room",
        "Baker",
        "some",
        "of",
        "one",
    )
)
TEXTS = st.lists(WORDS, max_size=9).map(" ".join) | st.text(max_size=30)


@given(TEXTS, TEXTS)
def test_the_answer_is_the_same_from_both_sides(a: str, b: str) -> None:
    """Any two texts, and a text never replaces itself."""
    assert replaced(a, b) == replaced(b, a)
    assert replaced(a, a) is None
