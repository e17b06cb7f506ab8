"""What a sentence leans on is seen by its first words."""

from __future__ import annotations

import pytest

from slowwave.text.sentences import lean, people


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("She sells eggs.", "person"),
        ("- His boat is red.", "person"),
        ("When she came, it rained.", "person"),
        ("It was red.", "previous"),
        ("Therefore nobody came.", "previous"),
        ("As a result, nobody came.", "previous"),
        ("Next, boil it.", "previous"),
        ("Yes.", "previous"),
        ("Severity P2.", "previous"),
        ("Assigned to Rui.", "previous"),
        ("他走了。", "previous"),
        ("But not on Sunday.", "exception"),
        ("Unless it rains.", "exception"),
        ("This does not hold for tar.", "exception"),
        ("Next week Rui comes.", ""),
        ("This morning Rui came.", ""),
        ("Rui said he would come.", ""),
        ("The nurse said he would come.", ""),
        ("I like tea.", ""),
        ("No gifts are taken.", ""),
        ("", ""),
    ],
)
def test_what_a_sentence_leans_on(sentence: str, expected: str) -> None:
    assert lean(sentence) == expected


@pytest.mark.parametrize(
    ("sentence", "known"),
    [
        ("My sister came.", (True, True)),
        ("Rui keeps hens.", (True, True)),
        ("We went to Port Vale.", (False, True)),
        ("The hens were fed.", (False, False)),
    ],
)
def test_whether_somebody_is_named(sentence: str, known: tuple[bool, bool]) -> None:
    assert people(sentence) == known
