"""Statements against the turns that they were derived from: what differs, and what may be said in other words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import pytest

from slowwave.text.agreement import LONGEST, Disagreement, MemorySource, SourcePassage
from slowwave.text.turns import ASSISTANT, USER

DAY = date(2026, 5, 4)


def source(*turns: tuple[str, str]) -> MemorySource:
    return MemorySource([SourcePassage(str(n), text, speaker, DAY) for n, (speaker, text) in enumerate(turns)])


def told(text: str, *turns: tuple[str, str]) -> tuple[str, str, str, str] | None:
    found = source(*turns).differs(text)
    return (found.kind, found.claimed, found.stated, found.corrected) if found else None


GATE = (USER, "Whenever the tide is above 3.4 m, close gate B.")
LAKE = (USER, "We drove 40 km to the lake on 3 May 2023, then we swam.")
TWO = (("Gina", "I ran a marathon in the rain."), ("Jon", "That sounds exhausting."))


@pytest.mark.parametrize(
    ("text", "turns", "differs"),
    [
        ("Never close gate B.", [GATE], ("negation", "never", "", "")),
        (
            "Close gate B if the tide is above 3.",
            [GATE],
            ("number", "3", "3.4", "Close gate B if the tide is above 3.4."),
        ),
        (
            "The lathe was bought on 2021-03-14.",
            [(USER, "We bought the lathe some years ago.")],
            ("date", "2021-03-14", "", ""),
        ),
        (
            "The user coats the rail with zinc every spring.",
            [
                (USER, "How could we stop the rust on the rail?"),
                (ASSISTANT, "You could coat it with zinc every spring."),
            ],
            ("speaker", USER, "a suggestion of the assistant", ""),
        ),
        (
            "The user loves liquorice.",
            [(USER, "My brother loves liquorice, and he bakes with it.")],
            ("speaker", USER, "user's brother", ""),
        ),
        (
            "The user's brother loves liquorice.",
            [(USER, "I love liquorice.")],
            ("speaker", "user's brother", USER, ""),
        ),
        ("Jon ran a marathon in the rain.", TWO, ("speaker", "jon", "gina", "")),
        ("The assistant keeps bees.", [(USER, "I keep bees.")], ("speaker", ASSISTANT, USER, "")),
        (
            "The user drove 60 km to the lake.",
            [LAKE],
            ("number", "60", "40", "The user drove 40 km to the lake."),
        ),
        (
            "The user drove to the lake on May 13, 2023.",
            [LAKE],
            ("date", "May 13, 2023", "3 May 2023", "The user drove to the lake on 3 May 2023."),
        ),
        (
            "The user drove to the lake on 2026-01-09.",
            [(USER, "I drove to the lake yesterday.")],
            ("date", "2026-01-09", "2026-05-03", "The user drove to the lake on 2026-05-03."),
        ),
        ("The user eats mussels.", [(USER, "I never eat mussels.")], ("negation", "", "never", "")),
        ("The user rents a boat in Oslo.", [(USER, "I want to rent a boat in Oslo.")], ("mood", "stated", "want", "")),
        ("The user moved to Oslo.", [(USER, "If I moved to Oslo, I would rent a boat.")], ("mood", "stated", "if", "")),
        ("The user rents a boat.", [(USER, "Should we rent a boat?")], ("mood", "stated", "a question", "")),
    ],
)
def test_fault_is_found_with_the_words_of_both_sides(
    text: str, turns: Sequence[tuple[str, str]], differs: tuple[str, ...]
) -> None:
    assert told(text, *turns) == differs


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        ("The user has visited the lake by car.", [LAKE]),
        ("The user drove about 50 km to the lake.", [LAKE]),
        ("The user drove forty km to the lake in May 2023.", [LAKE]),
        ("The user drove to the lake on 2026-05-03.", [(USER, "I drove to the lake yesterday.")]),
        ("The user drove to the lake on 2026-04-29.", [(USER, "I drove to the lake last week.")]),
        ("On 2026-05-04 the user drove to the lake.", [(USER, "I drove to the lake.")]),
        ("The user bought the lathe in 2021.", [(USER, "We bought the lathe when I was 30 years old.")]),
        ("The user read 5 books.", [(USER, "I read 2 books in May and 3 books in June.")]),
        ("The user has 3 dogs.", [(USER, "I have 3 dogs and 2 cats.")]),
        ("The user wants to rent a boat in Oslo.", [(USER, "I want to rent a boat in Oslo.")]),
        ("The user is interested in a boat in Oslo.", [(USER, "I want a boat in Oslo.")]),
        ("The user is excited to see the play.", [(USER, "I can't wait to see the play, I'm excited.")]),
        ("The user is not a sailor.", [(USER, "I am a cook.")]),
        ("The user does not eat mussels.", [(USER, "I stopped eating mussels.")]),
        ("The assistant suggested zinc for the rail.", [(ASSISTANT, "You could coat the rail with zinc.")]),
        (
            "The user coats the rail with zinc.",
            [(ASSISTANT, "You could coat the rail with zinc."), (USER, "Good idea, I'll do that.")],
        ),
        ("The user eats mussels.", [(ASSISTANT, "Do you eat mussels?"), (USER, "Yes, every week.")]),
        ("The user loves liquorice.", [(USER, "My brother and I love liquorice.")]),
        ("Emily loves liquorice.", [(USER, "My name is Emily. I love liquorice.")]),
        ("The user's sister loves liquorice.", [(USER, "My sister Anna loves liquorice.")]),
        ("Gina ran a marathon in the rain.", TWO),
        ("The user keeps bees.", [(ASSISTANT, "You should keep bees."), (USER, "As I said, I keep bees.")]),
    ],
)
def test_other_words_for_the_same_are_no_fault(text: str, turns: Sequence[tuple[str, str]]) -> None:
    assert told(text, *turns) is None


def test_statement_that_no_sentence_resembles_is_not_judged() -> None:
    assert told("The user never mends boats on Sundays.", LAKE, GATE) is None
    assert told("The user does not.", (USER, "I do.")) is None


def test_name_by_which_the_user_is_introduced_is_the_user() -> None:
    """The name may be known from another conversation."""
    turn = SourcePassage("1", "My brother loves liquorice.", USER, DAY)
    assert MemorySource([turn]).differs("Emily loves liquorice.") is None
    found = MemorySource([turn], users={"emily"}).differs("Emily loves liquorice.")
    assert found
    assert (found.kind, found.stated) == ("speaker", "user's brother")


def test_passage_that_is_not_cited_supports_and_does_not_contradict() -> None:
    of = source(
        (USER, "I never eat mussels."), (ASSISTANT, "I will remember that."), (USER, "I eat mussels on Fridays.")
    )
    assert of.differs("The user eats mussels.", {"0"}) is None
    assert of.differs("The user eats mussels on Fridays.", {"2"}) is None
    alone = source((USER, "I never eat mussels."), (ASSISTANT, "I will remember that."))
    assert isinstance(alone.differs("The user eats mussels.", {"0"}), Disagreement)
    assert alone.differs("The user eats mussels.", {"1"}) is None


def test_long_text_is_not_compared() -> None:
    text = "The user eats mussels. " + "The harbour is calm. " * (LONGEST // 20)
    assert told(text, (USER, "I never eat mussels.")) is None


def test_figure_that_occurs_twice_is_not_replaced() -> None:
    found = told("The user drove 60 km to the lake. The user is 60.", LAKE)
    assert found == ("number", "60", "40", "")
