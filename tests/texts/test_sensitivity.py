"""Privacy classes by keywords."""

from __future__ import annotations

import pytest

from slowwave.texts.sensitivity import CLASSES, privacy_class


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


def test_the_most_sensitive_class_counts() -> None:
    """A row has one class."""
    assert privacy_class("birthday, phone number, visa, insulin, salary, passphrase") == CLASSES[0]
    assert privacy_class("birthday, phone number") == "contact"
