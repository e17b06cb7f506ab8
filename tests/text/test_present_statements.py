"""Plain statements of the present, of whom they speak, and whether two are of one matter."""

from __future__ import annotations

import pytest

from slowwave.text.subjects import is_present, names, of_one_matter, persons, says_new, stating


def test_questions_plans_hearsay_and_the_past_are_no_present() -> None:
    """Only what holds now, as far as the text says."""
    assert is_present("I bank with Triodos.")
    for text in ("Do I bank with Triodos?", "I might go to Triodos.", "Ana says it rains.", "I went to Triodos."):
        assert not is_present(text)


def test_greetings_and_questions_state_nothing() -> None:
    """Beside them one sentence is left."""
    assert stating("Good morning! Do you like cars? I drive a Fiat Panda.") == ["I drive a Fiat Panda."]


def test_persons_are_given_names_and_relatives() -> None:
    """A friend with a name is that one."""
    assert persons("My sister met Mara in Bergen.") == {"sister", "mara"}
    assert persons("My friend Mara lives here.") == {"mara"}
    assert names("We met Mara's dentist in Bergen.") == {"mara", "bergen"}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The cache listens on port 6379.", "To reach the cache, connect to port 6380.", True),
        ("The cache listens on port 6379.", "The lease has 12 pages.", False),
        ("Mara pays 300 euros.", "Nora pays 400 euros.", False),
        ("The rent in Oslo is 300 euros.", "The rent in Bergen is 400 euros.", False),
        ("My work phone has 64 GB.", "My private phone has 128 GB.", False),
        ("The guest bathroom has 4 tiles.", "The master bathroom has 5 tiles.", False),
    ],
)
def test_one_matter(one: str, other: str, same: bool) -> None:
    """A word of content in common, the same persons, and nothing that is kept apart."""
    assert of_one_matter(one, other) is of_one_matter(other, one) is same


def test_words_of_change() -> None:
    """They say that something is new."""
    assert says_new("From now on it is Tuesday.")
    assert not says_new("It is Tuesday.")


@pytest.mark.parametrize(
    ("sentence", "present"),
    [
        ("Mara rang from Oslo.", False),
        ("My sister phoned about the flat in Oslo.", False),
        ("We really enjoyed the opera in Oslo.", False),
        ("I spoke to the bank.", False),
        ("I have learnt some Swahili.", True),
        ("I've started a Finnish course.", True),
        ("My preferred editor is Vim.", True),
        ("I like salted butter.", True),
        ("Advanced users like the terminal.", True),
        ("Alfred drinks tea.", True),
        ("Mara works at Acme (until 2026-02-11).", False),
    ],
)
def test_a_past_form_right_behind_who_did_it_tells_what_was(sentence: str, present: bool) -> None:
    """An event is no state that could end, whichever verb tells it."""
    assert is_present(sentence) is present
