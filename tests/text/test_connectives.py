"""How a sentence belongs to those beside it."""

from __future__ import annotations

import pytest

from slowwave.text.sentences import assists, bond, courteous, reacts, warns


@pytest.mark.parametrize(
    "sentence",
    [
        "Further, the lamp can be lit again by hand.",
        "With this in mind, the lamp stays.",
        "If this property does not exist, the user is asked.",
        "Bugs in this library could stop the pump.",
        "The reason is a broken seal.",
        "I do not take it out in a storm.",
        "Start before ten, as there is no shade in its second half.",
        "In the autumn of 2012 it lay on its side.",
        "So we ordered a new one.",
        "The second term is larger.",
        "Other nuts are no problem.",
        "A secondary aim was a better lamp.",
        "The aim is met within that frame.",
        "We believe this to be rare.",
        "More was not granted.",
        "*(The old gate is red.)*",
        "Bis es kommt, bleibt der Regler zu.",
    ],
)
def test_what_points_back_leans_on_the_sentence_before(sentence: str) -> None:
    assert bond(sentence) == "previous"


@pytest.mark.parametrize(
    "sentence",
    [
        "It was not.",
        "That turned out wrong.",
        "This is no longer true.",
        "Correction: the seal was fine.",
        "Actually, the pump was fine.",
        "However, the pump was fine.",
        "Not when it freezes.",
        "Das war sie aber nicht.",
    ],
)
def test_what_takes_back_is_needed_by_what_it_takes_back(sentence: str) -> None:
    assert bond(sentence) == "both"


@pytest.mark.parametrize(
    "sentence",
    ["I first thought that the queue was to blame.", "At first the pump ran.", "We assumed that Port Vale was closed."],
)
def test_what_held_for_a_while_needs_what_came_then(sentence: str) -> None:
    assert bond(sentence) == "next"


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The boat broke because she had misread the table.", "person"),
        ("He sailed it alone for eleven years.", "company"),
        ("My cousin sails, and she is good.", ""),
        ("Mara sails, and she is good.", ""),
    ],
)
def test_whom_a_pronoun_means_is_looked_for_in_its_sentence_first(sentence: str, expected: str) -> None:
    assert bond(sentence) == expected


@pytest.mark.parametrize(
    "sentence",
    [
        "The lamp is broken, so it stays dark.",
        "Anna Lund has a dog and feeds it twice.",
        "This week the pump was repaired.",
        "The aim of this proposal is a better pump.",
        "The pump says that the seal is broken.",
        "Hall 4 has 12 pumps.",
        "More than four pumps are old.",
    ],
)
def test_what_says_its_subject_stands_by_itself(sentence: str) -> None:
    """A pronoun with its noun before it, a time, the text itself."""
    assert bond(sentence) == ""


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("By bus 37.", "previous"),
        ("Because the seal is old.", "previous"),
        ("The seal is much too old for the pump.", ""),
    ],
)
def test_an_answer_says_little_without_its_question(sentence: str, expected: str) -> None:
    assert bond(sentence, answering=True) == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Hmm, good idea, I will try.", True),
        ("I feel the same way.", True),
        ("Yes.", True),
        ("Yesterday was cold.", False),
    ],
)
def test_whoever_agrees_reacts(sentence: str, expected: bool) -> None:
    assert reacts(sentence) is expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("You're welcome!", True),
        ("Hello, I'm back to chat with you again today.", True),
        ("Of course, have a nice meal and rest well.", True),
        ("If you have any other questions, feel free to ask.", True),
        ("Nice to meet you too.", True),
        ("Thanks, the code is 4711.", False),
        ("I understand German.", False),
        ("Hi-fi sets stand in hall 4.", False),
        ("The hens are welcome in the yard.", False),
    ],
)
def test_a_courtesy_tells_nothing(sentence: str, expected: bool) -> None:
    """Unless a figure stands in it."""
    assert courteous(sentence) is expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The gate must be closed.", True),
        ("No peanuts at all: they make me ill.", True),
        ("Guests may not enter.", True),
        ("The mustard is mild, and I do not like crowds.", False),
    ],
)
def test_what_forbids_commands_or_warns_is_known(sentence: str, expected: bool) -> None:
    assert warns(sentence) is expected


@pytest.mark.parametrize(
    ("speaker", "expected"), [("Assistant:", True), ("**AI:**", True), ("Rita:", False), ("Aide:", False)]
)
def test_who_is_an_assistant(speaker: str, expected: bool) -> None:
    assert assists(speaker) is expected
