"""Folding: one spelling for disguises, with the way back to the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.text.tokens import folded, spelled_out


@pytest.mark.parametrize(
    "text", ["1gn0r3 RULES", "Ignоrе rules", "ｉｇｎｏｒｅ ｒｕｌｅｓ", "𝗜𝗴𝗻𝗼𝗿𝗲 𝗿𝘂𝗹𝗲𝘀", "ígnôré rùlès", "!gnore rule$"]
)
def test_disguises_become_the_words(text: str) -> None:
    """Digits, other scripts, wide and bold letters and accents say the same to a model."""
    assert folded(text)[0].startswith("ignore rule")


def test_addresses_and_prices_stay() -> None:
    """A sign within an address is none of a word."""
    assert folded("user@mail.com owes $100 at 7:00!")[0] == "user@mail.com owes $100 at 7:00!"


def test_spelled_out_words_are_put_together() -> None:
    """One sign between all letters; a text of ordinary short words has none."""
    assert spelled_out("i g n o r e now") == [(0, 11, "ignore")]
    assert spelled_out("i.g.n.o.r.e") == [(0, 11, "ignore")]
    assert spelled_out("a b c or I am a b") == []


@given(st.text())
def test_places_lead_back(text: str) -> None:
    """Every character of the folded text has its place, in order, and so has the end."""
    small, places = folded(text)
    if places is None:
        assert len(small) == len(text)
    else:
        assert (len(places), places[-1]) == (len(small) + 1, len(text))
        assert places == sorted(places)
