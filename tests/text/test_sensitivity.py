"""Privacy classes by keywords."""

from __future__ import annotations

import pytest

from slowwave.text.screening import CLASSES, privacy_class, private_word


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Her API key is in the vault", "credentials"),
        ("The mortgage is paid by March", "financial"),
        ("Diagnosed with asthma in 2019", "health"),
        ("Their lawyer filed the divorce", "legal"),
        ("Write to ann@example.org", "contact"),
        ("Call +49 30 1234 5678", "contact"),
        ("Her date of birth is 3 May", "personal"),
        ("We had tea in the garden at 5", ""),
        ("The passwordless world and cancerous code", ""),
    ],
)
def test_words_name_the_class(text: str, expected: str) -> None:
    """Whole words and phrases, small and large letters alike."""
    assert privacy_class(text) == expected


def test_the_first_word_of_the_class_is_named() -> None:
    """As a dictionary has it; of an address its form, as it is private itself."""
    assert private_word("Her INSULIN and her blood pressure; her salary") == ("financial", "salary")
    assert private_word("ann@example.org, zip code 12") == ("contact", "an e-mail address")
    assert private_word("Tea") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I was diagnosed with asthma.", "health"),
        ("Mara is allergic to nuts and avoids them wherever she eats with colleagues.", "health"),
        ("The user has been in debt since the spring of last year and pays it back slowly.", "financial"),
        ("What is a good therapist worth to you?", ""),
        ("You could ask a lawyer about the fence before anything is signed or paid.", ""),
        ("Walking can lower blood pressure and keeps the heart young, as many studies have found.", ""),
        ("Walking may lower blood pressure.", ""),
        ("Blood pressure: 130 to 85.", "health"),
        ("Happy birthday, Mara!", ""),
        ("Does a therapist help? My therapist does.", "health"),
        ("You will find the passphrase in the drawer.", "credentials"),
        ("The reward balance of the visa card is on the second page, said Mara.", "financial"),
    ],
)
def test_what_is_told_of_nobody_counts_for_none(text: str, expected: str) -> None:
    """Questions, advice, wishes and what holds of people at large; a credential needs no person."""
    assert privacy_class(text) == expected


def test_the_most_sensitive_class_counts() -> None:
    """A row has one class."""
    assert privacy_class("birthday, phone number, visa, insulin, salary, passphrase") == CLASSES[0]
    assert privacy_class("birthday, phone number") == "contact"
