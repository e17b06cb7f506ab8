"""Slips of the finger: what is mistyped, and what is another word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.text.slips import near, respelt, slip

TYPED = """
recieve receive|adress address|seperate separate|libary library|goverment government|neccessary necessary|peice piece
passwrod password|enviroment environment|concious conscious|begining beginning|prefered preferred|serivce service|occurence occurrence
"""
WORDS = """
including excluding|contract contact|hypertension hypotension|methane ethane|propane propene|nitrate nitrite|affect effect|moral morale
prednisone prednisolone|county country|casual causal|ileum ilium|mortgagor mortgagee|fluoxetine duloxetine|staging staying
"""
NOBODY_KNOWS = "qorvexil qorvexill|zantrixol zantrexol"
OTHER_FORMS = "spermatid spermatix|chloroqite chloroqate|typical ntypical|ring rinng|gettUser getUser|b2b b2c"


def pairs(lines: str) -> list[tuple[str, ...]]:
    return [tuple(pair.split()) for line in lines.strip().splitlines() for pair in line.split("|")]


@pytest.mark.parametrize(("typed", "meant"), pairs(TYPED))
def test_what_hands_mistype(typed: str, meant: str) -> None:
    """Letters swapped, doubled, lost, added, taken from beside, or a vowel for a vowel."""
    assert slip(typed, meant)
    assert slip(meant, typed)


@pytest.mark.parametrize(("a", "b"), pairs(WORDS) + pairs(NOBODY_KNOWS) + pairs(OTHER_FORMS))
def test_what_is_no_slip(a: str, b: str) -> None:
    """Two words; two that nobody knows; other prefixes and endings; words too short; codes."""
    assert not slip(a, b)
    assert not slip(b, a)


def test_a_word_that_others_use_is_no_slip() -> None:
    """And what is unknown is a slip of one."""
    assert not slip("recieve", "receive", {"recieve"})
    assert slip("qorvexil", "qorvexill", {"qorvexil"})


@pytest.mark.parametrize(
    ("a", "b"),
    pairs(
        "colour color|organise organize|analyse analyze|travelled traveled|centre center|anaemia anemia|defence defense"
    ),
)
def test_two_spellings_of_a_word(a: str, b: str) -> None:
    """British and American."""
    assert respelt(a, b)
    assert respelt(b, a)
    assert not slip(a, b)


@pytest.mark.parametrize(("a", "b"), pairs("contour contact|court cort|promise prize|wise wize|tour tor"))
def test_other_words_are_no_spellings(a: str, b: str) -> None:
    """What only looks British."""
    assert not respelt(a, b)


@given(st.text("abcdeinorst", max_size=12), st.text("abcdeinorst", max_size=12))
def test_the_order_is_no_matter(a: str, b: str) -> None:
    """And no word is a slip of itself."""
    assert slip(a, b) == slip(b, a)
    assert near(a, b) == near(b, a)
    assert respelt(a, b) == respelt(b, a)
    assert not slip(a, a)
