"""Small talk: what tells nothing to anybody, and what only begins like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.text import small_talk
from slowwave.text.small_talk import has_no_content, is_small_talk, without_small_talk

_PIECES = (
    "Good morning",
    "have a wildly nice day",
    "You’re very welcome",
    "don't worry",
    "how's it going",
    "Anna",
    "backup",
    "thanks",
    "ok",
)


@pytest.mark.parametrize(
    "text",
    [
        "Good morning!",
        "Thanks, that helps a lot.",
        "Okay, I will try that. Thank you for your advice.",
        "You're welcome! If you need anything, feel free to ask me anytime.",
        "Nice to meet you too!",
        "No problem, it's always nice talking to you. I'll chat with you more tomorrow.",
        "How are you today?",
        "Is there anything else I can help you with?",
        "That sounds great! What do you think?",
        "See you tomorrow!",
        "Hi, I’m back to chat with you again.",
        "I see. There is no hurry at all.",
    ],
)
def test_courtesies_and_empty_questions_are_small_talk(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        "Hello, my name is Emily. Nice to meet you.",
        "Good morning, Luna!",
        "Thanks, I moved to Bergen.",
        "Thank you for the 40 euros.",
        "I feel great today.",
        "I like talking to you.",
        "He was so kind to me.",
        "I don't want that.",
        "Yes, please.",
        "Tomorrow.",
        "The same.",
        "Of course I will help her.",
        "Do you have any tips for knitting?",
        'She said "thank you".',
        "What happened to the backup server?",
        "Glad to hear that the biopsy was good.",
        "ok: see #help",
        "",
        "…",
        "Thanks!\nGood night!",
        "Ich danke dir!",
        "Thank you. " * 60,
    ],
)
def test_what_tells_anything_is_none(text: str) -> None:
    """A name, a figure, a denial, a thing, what somebody says of himself or of others, and what may answer something."""
    assert not is_small_talk(text)


def test_a_program_may_say_of_itself_what_tells_of_a_person() -> None:
    assert is_small_talk("I'm always here and happy to talk.", program=True)
    assert not is_small_talk("I'm always here and happy to talk.")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Thanks, that helps a lot. I live in Bergen.", "I live in Bergen."),
        ("Sure. Keep the receipts for two years. Does that help?", "Keep the receipts for two years."),
        ("I live in Bergen.", "I live in Bergen."),
        ("Good evening! How are you?", "Good evening! How are you?"),
        ("- Thanks.\n- I live in Bergen.", "- Thanks.\n- I live in Bergen."),
        ("I live in Bergen. Just kidding!", "I live in Bergen. Just kidding!"),
        ("I live in Bergen. Not really.", "I live in Bergen. Not really."),
        ("Hi, Sunny! It's great to meet you too.", "Hi, Sunny! It's great to meet you too."),
    ],
)
def test_a_text_without_its_small_talk(text: str, left: str) -> None:
    """What takes a statement back is no small talk, and a text of nothing else, or of a greeting by name besides, stays whole."""
    assert without_small_talk(text) == left
    assert without_small_talk(left) == left


@given(st.lists(st.sampled_from(_PIECES), min_size=1, max_size=3), st.sampled_from(("", ".", "!", "?")), st.booleans())
def test_a_word_that_no_formula_has_decides_as_looking_for_formulas_does(
    pieces: list[str], end: str, program: bool
) -> None:
    sentence = ", ".join(pieces) + end
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(small_talk, "_has_content", lambda said: False)
        slowly = has_no_content(sentence, program=program)
    assert has_no_content(sentence, program=program) is slowly
