"""Letters of other alphabets in Latin ones."""

from __future__ import annotations

import pytest

from slowwave.matching.names import latin


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Чайковский", "chaykovskiy"),
        ("ЩУКА", "shchuka"),
        ("Київ", "kiyiv"),
        ("Οδυσσέας", "odysseas"),
        ("Παπαδοπούλου", "papadopoulou"),
        ("Łódź Øre", "lodz ore"),
        ("Ñandú Straße", "nandu strasse"),
        ("Ｗｉｄｅ", "wide"),
        ("北京", "北京"),
    ],
)
def test_letters_that_stand_for_sounds_become_latin_ones(text: str, expected: str) -> None:
    """Accents and case go; scripts of another kind stay. What is Latin already stays as it is."""
    assert latin(text) == expected
    assert latin(expected) == expected
