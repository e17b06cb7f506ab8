"""Whether what stands at a place of a text is past or still to come."""

from __future__ import annotations

import pytest

from slowwave.text.date_context import Cues


@pytest.mark.parametrize(
    ("text", "tense"),
    [
        ("We met on MONDAY.", "past"),
        ("We will meet on MONDAY.", "future"),
        ("On MONDAY we will meet.", "future"),
        ("She called; on MONDAY she will come.", "future"),
        ("She called, and on MONDAY she will come.", "future"),
        ("He is going to call on MONDAY, and he slept well.", "future"),
        ("We planned to go on MONDAY.", "unclear"),
        ("I need bread on MONDAY.", "none"),
        ("MONDAY", "none"),
    ],
)
def test_the_verb_of_the_clause_tells(text: str, tense: str) -> None:
    """Before the place first, then after it, then in its sentence; nouns that end as verbs do tell nothing."""
    start = text.index("MONDAY")
    assert Cues.from_text(text).at(start, start + len("MONDAY")) == tense


def test_verbs_in_words_of_others_tell_nothing() -> None:
    text = '"I will" was what we wrote on MONDAY.'
    cues = Cues.from_text(text, without=((0, text.index(" was")),))
    assert cues.at(text.index("MONDAY"), len(text) - 1) == "past"
