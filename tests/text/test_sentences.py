"""Sentences end where a reader ends them, and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.text.sentences import sentences


@pytest.mark.parametrize(
    "sentence",
    [
        "Dr. J. Doe of St. Ives met Prof. Lund.",
        "It cost 3.5 m, i.e. no. 4 of vol. 2, p. 12.",
        "Use v1.2.3 of https://a.example/b.c?d=1.2 now.",
        "Wait... what did she say?",
        "He left at 5 p.m. on Mon. the 3rd.",
        'She wrote: "It is shut. Do not come." to all.',
        "The gate (it is old. It creaks.) was shut.",
        "Run `a. B` first.",
        "Meet at U.S. Route 1 with Lund & Co. tomorrow.",
    ],
)
def test_a_stop_within_a_sentence_ends_none(sentence: str) -> None:
    assert sentences(f"{sentence} They went.") == [sentence, "They went."]


def test_a_german_ordinal_ends_no_sentence() -> None:
    """Nor does the day before a month; a number at the end does."""
    assert sentences("Sie läuft seit dem 4. November wieder. Es war Gleis 4. Im Mai auch.") == [
        "Sie läuft seit dem 4. November wieder.",
        "Es war Gleis 4.",
        "Im Mai auch.",
    ]


def test_a_sentence_may_end_with_an_abbreviation() -> None:
    assert sentences("We had tea, cake, etc. The rest came later.") == [
        "We had tea, cake, etc.",
        "The rest came later.",
    ]


def test_the_number_of_an_item_is_no_sentence() -> None:
    assert sentences("Rules apply. 2. Never smoke. 3. Ask.") == ["Rules apply.", "2. Never smoke.", "3. Ask."]


@given(st.text(alphabet="ab A.!?… \"'()1。“”", max_size=60))
def test_no_sign_is_lost_or_added(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())
