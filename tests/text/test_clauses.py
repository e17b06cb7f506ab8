"""Clauses of a speaker: which assert, deny, like or dislike something, and which assertions a denial excludes."""

from __future__ import annotations

from collections import defaultdict

import pytest

from slowwave.text.clauses import contradiction, read_clauses


def verbs(text: str) -> list[str]:
    return [one.relation.verb for one in read_clauses(text).assertions]


def feelings(text: str) -> list[tuple[str, bool, str]]:
    return [(one.speaker, one.polarity == "asserted", one.slots[0].words[-1]) for one in read_clauses(text).attitudes]


def excludes(denial: str, assertion: str) -> bool:
    """Return whether a clause of the second text contradicts the denial of the first if all words are equally rare."""
    equal = defaultdict[str, float](lambda: 1.0)
    return any(
        contradiction(one, other, equal)
        for one in read_clauses(denial).denials
        for other in read_clauses(assertion).assertions
    )


@pytest.mark.parametrize(
    ("text", "verb"),
    [
        ("I fixed the gate yesterday, can you order the next bolts?", "fix"),
        ("I fixed the gate, so which bolts should I order?", "fix"),
        ("Can you order bolts? I fixed the gate.", "fix"),
        ("The gate was loud, but I fixed it.", "fix"),
        ("I fixed the gate, and the bolts of it are new.", "fix"),
        ("Last May I fixed the gate.", "fix"),
        ("I have just fixed the gate.", "fix"),
        ("I should mention that I fixed the gate.", "fix"),
        ("Here is the log:\n\n```\nI broke the gate.\n```\n\nI fixed the gate.", "fix"),
        ("I fixed the `gate` of the yard.", "fix"),
    ],
)
def test_a_first_person_clause_is_an_assertion_wherever_it_stands(text: str, verb: str) -> None:
    assert verbs(text) == [verb]


@pytest.mark.parametrize(
    "text",
    [
        "Should I fix the gate?",
        "Can you tell me whether I fixed the gate?",
        "If I fixed the gate, the noise ended.",
        "I would fix the gate.",
        "I want to fix the gate.",
        "I'll fix the gate.",
        "I am trying to fix the gate.",
        "I did not fix the gate.",
        "I almost fixed the gate.",
        "I dreamt of it: I fixed the gate.",
        "Imagine I fixed the gate.",
        "My brother fixed the gate.",
        "Tom says I fixed the gate.",
        'Tom wrote: "I fixed the gate."',
        "> I fixed the gate.\n\nWho wrote this?",
        "```\nI fixed the gate.\n```",
    ],
)
def test_questions_suppositions_quotations_and_other_persons_assert_nothing(text: str) -> None:
    assert verbs(text) == []


@pytest.mark.parametrize(
    ("denial", "assertion"),
    [
        ("I have never visited the old mill of Arden.", "I visited the mill of Arden in May, so when is it open?"),
        ("I've never visited the old mill of Arden.", "I walked through the old mill of Arden in May."),
        ("I never learned to swim. Are there courses?", "I learned to swim at a camp."),
        ("I have never flown a kite.", "I flew a kite with Mara."),
        ("I've never been to Portugal.", "I went to Portugal in April."),
        ("I've never integrated a payment gateway before.", "I worked on the integration of a payment gateway."),
        ("I have never used Redis in this project.", "I'm using Redis as a store of sessions in this project."),
        ("I've never written a parser or used Redis.", "I have set up a parser for dates."),
        ("I never drink coffee.", "I drink coffee every morning."),
    ],
)
def test_an_assertion_with_the_words_of_a_denial_contradicts_it(denial: str, assertion: str) -> None:
    assert excludes(denial, assertion)


@pytest.mark.parametrize(
    ("denial", "assertion"),
    [
        ("I have never visited the old mill.", "My brother visited the old mill."),
        ("I have never visited the old mill.", "I never visited the old mill."),
        ("I have never visited the old mill.", "I have a friend who visited the old mill."),
        ("I have never written a letter in French.", "I wrote a letter in English."),
        ("I have never integrated Stripe with Flask.", "I integrated Flask with Sentry."),
        ("I have never visited the old mill.", "I would like to visit the old mill."),
        ("I have never owned a dog.", "I walked the dog of a neighbour."),
        ("I've never used Redis.", "I read a book about Redis."),
        ("I've never been to Portugal.", "I studied the history of Portugal."),
        ("I never drink coffee.", "I drank coffee at eight."),  # once is no habit
        ("I never drink coffee after lunch.", "I drink coffee every morning."),
        ("I have never been to Oslo until this year.", "I was in Oslo."),
        ("I've never felt better.", "I felt ill."),
        ("I've never tried it.", "I tried the new lamp."),
        ("I never said that the gate is loud.", "I said so about the gate."),
        ("I would never sell the boat.", "I sold the boat."),
        ("Tom says I have never sold a boat.", "I sold a boat."),
        ("If I have never sold a boat, who did?", "I sold a boat."),
        ("Have I never sold a boat?", "I sold a boat."),
        ('She told me: "I have never sold a boat."', "I sold a boat."),
    ],
)
def test_statements_that_may_both_be_true_do_not_contradict_each_other(denial: str, assertion: str) -> None:
    assert not excludes(denial, assertion)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I really like tea, can you name a good one?", [("i", True, "tea")]),
        ("The user dislikes rowing.", [("user", False, "row")]),
        ("I can't stand musicals.", [("i", False, "musical")]),
        ("I'm not a big fan of jazz.", [("i", False, "jaz")]),
        ("I've always loved jazz.", [("i", True, "jaz")]),
        ("I don't really like tea any more.", [("i", False, "tea")]),
        ("I prefer tea to coffee.", [("i", True, "tea")]),
        ("I love tea and long walks.", [("i", True, "tea"), ("i", True, "walk")]),
    ],
)
def test_attitudes_are_read_with_holder_polarity_and_object(text: str, found: list[tuple[str, bool, str]]) -> None:
    assert feelings(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "Do I like tea?",
        "I would like tea.",
        "I'd love a dog.",
        "I used to love tea.",
        "I like it.",
        "I love how you sing.",
        "I like tea when it rains.",
        "I don't hate tea.",
        "Mara likes tea.",
        "Tom thinks I like tea.",
        'He said: "I love tea."',
        "If I liked tea, I would buy some.",
    ],
)
def test_wishes_conditions_other_persons_and_vague_objects_are_no_attitudes(text: str) -> None:
    assert feelings(text) == []


def test_a_text_is_single_if_it_states_one_sentence_beside_questions() -> None:
    assert read_clauses("I like tea. Which one is mild?").is_single
    assert read_clauses("I fixed the gate, can you order bolts?").is_single
    assert read_clauses("Sorry, that was wrong. My dentist is Dr. Falkner.").is_single
    assert not read_clauses("I like tea. The harbour is closed.").is_single
    assert not read_clauses("I got an interview. My dentist is Dr. Falkner.").is_single
    assert not read_clauses("Sorry, the key was wrong. My dentist is Dr. Falkner.").is_single
    assert not read_clauses("I like tea.\n```\nprint(1)\n```").is_single
