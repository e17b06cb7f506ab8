"""Topic statements: who states what of whom, and what is no statement."""

from __future__ import annotations

import pyarrow as pa
import pytest

from slowwave.text import prefilter
from slowwave.text.relations import LONGEST, SELF, topic_statement, topic_statements


@pytest.mark.parametrize(
    "text",
    [
        *(
            "How is the weather in Bergen?",
            "I live in Bergen. Which bank is open there?",
            "Good morning!",
            "Hello there, Mara.",
        ),
        *(
            "Thanks, that helps a lot.",
            "Thank you for telling me about Bergen.",
            "You live in Bergen.",
            "Let me know about Bergen.",
        ),
        *(
            "I can help with the move to Bergen.",
            "I'd suggest a walk in Bergen.",
            "Sorry to hear that about Bergen.",
            "",
        ),
        *(
            "Tell Mara about the ferry.",
            "Please book the ferry.",
            "Happy to help with the ferry.",
            "It looks lovely in the evening.",
        ),
        *(
            "Mara told Otto about the ferry.",
            "- Mara lives in Bergen\n- Otto lives in Lund",
            "I feel a lot better now.",
        ),
        *(
            "what does my insurance cover",
            "I need to know the limit of my card",
            "is my card still valid",
            "so when do I change the oil",
        ),
        *(
            "I wonder what my card costs",
            "explain the limit of my card",
            "my insurance plan is what",
            *(
                "At what point should the oil be changed",
                "I lost my card, how do I report it",
                "If I lose my card, will I get one",
            ),
        ),
        "The ferry is late. " * 30,
    ],
)
def test_questions_greetings_thanks_offers_and_talk_are_no_statement(text: str) -> None:
    """Nor what speaks of two persons, of nothing, or is too long to be one."""
    assert len("The ferry is late. " * 30) > LONGEST
    assert topic_statement(text) is None


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        *(("I live in Bergen.", SELF), ("Our flat has a balcony.", SELF), ("Mara lives in Bergen.", "mara")),
        *(("My friend Mara has a house in Bergen.", "mara"), ("I met Mara at the pool.", "mara")),
        *(("My sister has a house in Bergen.", f"{SELF}: sister"), ("Thandiwe paints boats.", "thandiwe")),
        *(("I looked after Thandiwe's parrot for a day.", "thandiwe"), ("I read Monday's paper on the ferry.", SELF)),
        *(
            ("Mara paints boats. She sells them in Bergen.", "mara"),
            ("Gate Keeper restarts every night.", "gate keeper"),
        ),
        *(("The Atlas Project runs on Postgres.", "atlas project"), ("The ferry is late in winter.", "")),
        *(("I want to learn the cello.", SELF), ("When my house burned down, so did my card.", SELF)),
        *(("I know how the ferry runs.", SELF), ("Mara knows what boats cost.", "mara")),
    ],
)
def test_of_whom_a_text_speaks(text: str, subject: str) -> None:
    """Whoever is named before who says it; a plan and a wish are statements of their day."""
    said = topic_statement(text)
    assert said is not None
    assert said.subject == subject


def test_its_matter_is_its_words_of_content_and_the_relations_that_it_states() -> None:
    """Without those of the subject, of judgement and of all work; stems."""
    said = topic_statement("Mara really likes living in Bergen because of the ferries.")
    assert said is not None
    assert (said.words, said.relations) == ({"bergen", "ferri"}, frozenset())
    said = topic_statement("Mara lives in Bergen.")
    assert said is not None
    assert said.relations == {"lives in"}


def test_a_column_is_read_as_its_texts_are_one_by_one() -> None:
    """Talk and relations behind another sentence, in capitals, with the signs of typography and other letters."""
    said = (
        *("Mara lives in Bergen.", "Otto was hired by Fjord Rail.", "Our team lead is Ana.", "The ferry to Hamar is late today."),
        *("The ferry is late. What do you advise?", "The ferry is late! YOU know Hamar.", "The ferry is late! Thanks a lot for Hamar."),
        *("The ferry’s late and I’m curious about Hamar.", "ſure, the ferry to Hamar is late.", "Der Fähre nach Hamar hat Verspätung."),
    )  # fmt: skip
    texts = [text for text in said for _ in range(prefilter.FEW // len(said) + 1)]
    one_by_one = {text: topic_statement(text) for text in said}
    assert list(topic_statements(pa.array(texts))) == [one_by_one[text] for text in texts]
    assert [statement is not None for statement in one_by_one.values()] == [True] * 4 + [False] * 4 + [False, True]
    assert one_by_one[said[0]].relations == {"lives in"}  # type: ignore[union-attr]
