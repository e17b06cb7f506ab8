"""Sameness: other words of grammar, another order, a slip of the finger; and all that makes another statement of a few letters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.text.sameness import LONGEST, WordsInUse, sameness

SAME = [
    ("The user prefers dark mode in the editor.", "User prefers dark mode in editor"),
    ("The user preferes dark mode in the editor.", "The user prefers dark mode in the editor."),
    ("The crane stopped.", "The crane had stopped."),
    ("Yesterday Anna met Bob in Rome", "Anna met Bob in Rome yesterday"),
    ("On Monday, Anna met Bob", "Anna met Bob on Monday"),
    ("The deploy failed because the disk was full.", "Because the disk was full, the deploy failed."),
    ("The meeting is at 3pm", "The meeting is at 15:00"),
    ("Sent the invoice on 3 May 2023", "Sent the invoice on 2023-05-03"),
    ("Note: the release is signed", "The release is signed."),
    ("HELLO   World", "hello world"),
]

DOUBTFUL = [
    ("The server crashed.", "The backup server crashed."),
    ("Flights from Boston to Denver", "Flights from Denver to Boston"),
    ("The dog bites the man", "The man bites the dog"),
    ("I will visit Rome", "I visited Rome"),
    ("Anna plans to move to Rome", "Anna moved to Rome"),
    ("My sister lives in Oslo", "Your sister lives in Oslo"),
    ("The gate passed many lorries.", "The gate passed 412 lorries."),
    ("Please turn the volume up", "Turn the volume down please"),
    ("It starts around 50, in inherited cases around 60.", "It starts around 60, in inherited cases around 50."),
    ("All servers were patched", "Some servers were patched"),
    ("Anna bought a new car.", "Anna purchased a new car."),
    ("Ines works at the dairy.", "Ines worked at the dairy."),
    ("She is a manager at the bank", "She was a manager at the bank"),
]
CODE = [
    ("Start it with docker run -p 80", "Start it with docker run -P 80"),
    ("Run `npm run build-all` first.", "Run `npm run build_all` first."),
    ("The column is order_id.", "The column is order-id."),
    ("The key is sum(a) + b", "The key is sum(a + b)"),
    ("The value is 3 * (m + n)", "The value is (3 * m) + n"),
    ("rows[1] is the header", "rows(1) is the header"),
    ("The US team pays.", "The us team pays."),
    ("Ask WHO for the list.", "Ask who for the list."),
    ("Set `Debug` to true.", "Set `debug` to true."),
    ("The matrix is called X.", "The matrix is called x."),
    ("The code of the shed is aB12.", "The code of the shed is Ab12."),
    ("The field is called userName.", "The field is called username."),
]
PROSE = [
    ("Use `npm ci` there.", "Use npm ci there."),
    ("She did NOT sign.", "She did not sign."),
    ("The box (large) is full.", "The box, large, is full."),
    ("A dog barks.", "a dog barks"),
    ("Send an E-mail to Anna.", "Send an e-mail to Anna."),
    ("Room A12 is free at 5PM.", "room a12 is free at 5pm"),
]

NEVER = [
    ("Marcus is allergic to penicillin.", "Marcus is not allergic to penicillin."),
    ("The build takes 12 minutes.", "The build takes 21 minutes."),
    ("Anna moved to Rome in May 2021.", "Anna moved to Rome in May 2022."),
    ("Anna likes tea.", "Does Anna like tea?"),
    ("The valve was open at noon.", "The valve was closed at noon."),
    ("Anna has lived in Oslo with a dog since winter.", "Erik has lived in Oslo with a dog since winter."),
    ("The report is late.", "Lunch was good."),
    ("Deploy of Quill: 👍", "Deploy of Quill: 👎"),
    ("Anna's vote on the merger: ✅", "Anna's vote on the merger: ❌"),
    ("Rating of the inn: ★★★★★", "Rating of the inn: ★★"),
    ("The fee of the inn is ₹500", "The fee of the inn is ¥500"),
    ("The scale reads 4 × 2 grams", "The scale reads 4 ÷ 2 grams"),
]

SYMBOLS_OF_ONE = [
    ("The build of Quill is green ✅", "The build of Quill is green"),
    ("Ann 👍 and Ben vote", "Ann and Ben 👍 vote"),
]

DECORATIONS = [
    ("The build of Quill is green!", "The build of Quill is green…"),
    ("• The build of Quill is green", "The build of Quill is green."),
    ("● The build of Quill is green", "- The build of Quill is green"),
    ("🎉 The gate is painted", "The gate is painted! 🎉"),
    ("Anna likes tea ❤️", "Anna likes tea ❤"),
    ("Thumb of Ann 👍🏽 up", "Thumb of Ann 👍 up"),
    ("Quill™ is a tool", "Quill is a tool"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_says_the_same_in_another_form_is_the_same(one: str, other: str) -> None:
    assert sameness(one, other).decision == "same"


@pytest.mark.parametrize(("one", "other"), DOUBTFUL)
def test_a_word_more_or_elsewhere_is_doubtful(one: str, other: str) -> None:
    assert sameness(one, other).decision == "doubtful"


@pytest.mark.parametrize(("one", "other"), SYMBOLS_OF_ONE)
def test_symbol_of_one_text_or_elsewhere_is_doubtful(one: str, other: str) -> None:
    assert sameness(one, other).decision == "doubtful"


@pytest.mark.parametrize(("one", "other"), DECORATIONS)
def test_decorations_tell_nothing_apart(one: str, other: str) -> None:
    assert sameness(one, other).decision == "same"


@pytest.mark.parametrize(("one", "other"), CODE)
def test_code_of_other_signs_or_letters_is_doubtful(one: str, other: str) -> None:
    assert sameness(one, other).decision == "doubtful"


@pytest.mark.parametrize(("one", "other"), PROSE)
def test_case_and_marks_of_prose_tell_nothing_apart(one: str, other: str) -> None:
    assert sameness(one, other).decision == "same"


@pytest.mark.parametrize(("one", "other"), NEVER)
def test_what_is_another_statement_is_never_the_same(one: str, other: str) -> None:
    assert sameness(one, other).decision in ("contradiction", "different")


def test_synonyms_are_the_callers_and_terms_that_exclude_each_other_none() -> None:
    """Whatever the caller thinks of them; names are no synonyms either."""
    pair = "Anna bought a new car.", "Anna purchased a new car."
    assert sameness(*pair, lambda a, b: (a, b) == ("bought", "purchased")).decision == "same"
    for one, other in (
        ("Anna bought a car.", "Anna sold a car."),
        ("The box holds tea bags.", "The box holds coffee bags."),
        ("The box holds violin strings.", "The box holds cello strings."),
        ("Does Anna play the oboe?", "Does Anna play the bassoon?"),
        ("We met Marina there.", "We met Martina there."),
    ):
        assert sameness(one, other, lambda a, b: True).decision != "same"


def test_two_known_words_are_no_slips_of_each_other() -> None:
    """A slip is a word that nobody uses: neither the lexicon nor three other texts."""
    pair = "Send the contract to Anna.", "Send the contact to Anna."
    assert sameness(*pair).decision == "doubtful"
    pair = "Send the invoice to Anna.", "Send the invocie to Anna."
    assert sameness(*pair).decision == "same"
    assert sameness(*pair, known={"invocie"}).decision == "doubtful"
    unknown = "Send the qorvexil to Anna.", "Send the qorvixil to Anna."
    assert sameness(*unknown).decision == "doubtful"
    assert sameness(*unknown, known={"qorvexil"}).decision == "same"


def test_words_in_use_are_those_of_three_texts() -> None:
    """Copies of a text are one."""
    words = WordsInUse(
        ["Take zantrix.", "zantrix helps", "Buy Zantrix!", "one zolpex", "two zolpex", *["a zemfir"] * 5]
    )
    assert ("zantrix" in words, "zolpex" in words, "zemfir" in words) == (True, False, False)


def test_long_texts_are_the_same_letter_by_letter_only() -> None:
    """Word by word says little of a passage."""
    long = "The gate is open today. " * (LONGEST // 20)
    assert sameness(long, long.upper()).decision == "same"
    assert sameness(long, long + "Really.").decision == "doubtful"


@given(
    st.lists(
        st.lists(
            st.sampled_from(
                (
                    "anna",
                    "Anna",
                    "met",
                    "meets",
                    "bob",
                    "bobs",
                    "the",
                    "to",
                    "from",
                    "monday",
                    "not",
                    "will",
                    "3",
                    "really",
                    "purchased",
                )
            ),
            max_size=9,
        ),
        min_size=2,
        max_size=2,
    )
)
def test_any_words_in_any_order_get_an_answer(words: list[list[str]]) -> None:
    """Words said twice, left out, moved, taken for each other: the same from both sides, and no denial is lost."""
    a, b = (" ".join(w) for w in words)
    found = sameness(a, b, lambda x, y: True)
    assert found == sameness(b, a, lambda x, y: True)
    if found.decision == "same":
        assert ("not" in words[0]) == ("not" in words[1])


@given(st.sampled_from([t for pair in SAME + DOUBTFUL + NEVER for t in pair]), st.text(max_size=60))
def test_the_answer_does_not_depend_on_the_order(a: str, b: str) -> None:
    """And a text is the same as itself."""
    assert sameness(a, b) == sameness(b, a)
    assert sameness(b, b).decision == "same"
