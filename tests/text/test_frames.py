"""Statements that begin with the same words: which of them give one subject another value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.text.frames import FEWEST, Framed, beginnings, other_value, read_framed, relation_of, shared_beginning


def value(one: str, other: str) -> str | None:
    """Return the relation of which two texts state different values."""
    a, b = read_framed(one), read_framed(other)
    found = other_value(a, b) if a and b else None
    assert found == (other_value(b, a) if a and b else None)
    return found and found.relation


@pytest.mark.parametrize(
    ("one", "other", "relation"),
    [
        ("The patron of the club is Ada Wren.", "The patron of the club is Otto Brandt.", "the patron of … is"),
        ("Tom leads the crew of Kiln.", "Tom leads the crew of Silo.", "… leads the crew of"),
        ("Mara works in the field of biology.", "Mara works in the field of law.", "… in the field of"),
        ("Kiln was founded in Oslo.", "Kiln was founded in Bergen.", "… was founded in"),
        ("The user's favourite colour is green.", "The user's favourite colour is now blue.", "… favourite colour is"),
        ("The meeting is on Monday.", "The meeting is on Thursday.", "… is on"),
        ("Mara is a nurse.", "Mara is a carpenter.", "… is a"),
        ("The quota of the team is 40 seats.", "The quota of the team is 55 seats.", "the quota of … is"),
        ("The van is a blue Skoda.", "The van is a grey Kia Niro.", "… is a"),
        ("The beacon is on.", "The beacon is off.", "the beacon is"),
        ("The winch is out of order.", "The winch works again.", "the winch is"),
        ("The choir meets in Oslo, next to the quay.", "The choir meets in Bergen.", "meets in"),
        ("The audit needs two witnesses.", "The audit needs one witness now.", "needs"),
        ("Drills happen on Mondays and Fridays.", "Drills happen on Tuesdays, Thursdays and Sundays.", "happen on"),
        ("We use Kiln for the weekly bread.", "We use Silo for the weekly bread.", "use"),
        ("The scanner emits ZPL.", "The scanner emits EPL.", "emits"),
    ],
)
def test_another_value_of_one_frame_is_found(one: str, other: str, relation: str) -> None:
    assert value(one, other) == relation


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ada is a member of the choir.", "Ada is a member of the rowing club."),  # one subject has several
        ("Mara has a dog.", "Mara has a cat."),
        ("I am allergic to nuts.", "I am allergic to pollen."),
        ("Ada's child is Otto.", "Ada's child is Piet."),
        ("The capital of Norway is Oslo.", "The capital of Italy is Rome."),  # other subjects
        ("In the harbour of Kiln the water rises.", "In the harbour of Silo the water falls."),
        ("The car is a vehicle.", "The car is a lorry."),  # one says what the other is
        ("The plant is in Bern.", "The plant is in Bern, Switzerland."),
        ("A patron of Kiln is Ada.", "A patron of Kiln is Otto."),  # one of several
        ("The trip is long and dear.", "The trip is short and cheap."),  # two things on a side
        ("The manager of Kiln is Ada.", "The manager of Kiln is ill."),  # a name beside an adjective
        ("The office of Kiln is in Oslo.", "The office of Kiln is not far."),
        ("The gate of the yard is open today.", "The gate of the yard is shut today."),  # of one day
        ("The gate of the yard might be open.", "The gate of the yard might be shut."),
        ("Is the gate of the yard open", "Is the gate of the yard shut"),
        ("That is the gate of Kiln.", "That is the gate of Silo."),  # a pointing word names another subject each time
        ("The gate is open. It creaks.", "The gate is shut. It creaks."),
        ("Crane B is running hot.", "Crane B is switched on."),  # two qualities
        ("Ada is a proud Dane.", "Ada is a devout Lutheran."),
        ("Drills happen on Mondays.", "Drills happen on Fridays and Mondays."),  # one day more
        ("The reader supports CSV.", "The reader supports XML."),  # verbs of several objects
        ("Tom met Ada.", "Tom met Otto."),
        ("The bus stops in Oslo.", "The bus stops in Bergen."),
        ("The audit needs two witnesses.", "The audit needs one stamp."),
        ("The mill grinds rye.", "The mill grinds barley."),  # words of one kind
        ("The audits of May take four days.", "The audits of June take four days."),
    ],
)
def test_statements_that_may_both_be_true_have_no_other_value(one: str, other: str) -> None:
    assert value(one, other) is None


def test_a_relation_has_no_words_of_its_subject() -> None:
    assert relation_of(("the", "head", "of", "the", "kiln", "works", "is")) == "the head of … is"
    assert relation_of(("the", "kiln's", "head", "is")) == "… head is"
    assert relation_of(("the", "deposit", "for", "the", "tide", "gauge", "is")) == "the deposit for … is"
    assert relation_of(("the", "first", "deadline", "is")) == "the first deadline is"
    assert relation_of(("ada", "wren", "was", "born", "in")) == "… was born in"


words = st.lists(st.sampled_from(["ada", "is", "the", "head", "of", "kiln", "silo", "in"]), min_size=1, max_size=6)


def test_statements_with_equal_ends_are_compared() -> None:
    read = [read_framed(f"We use {name} for the weekly bread.") for name in ("Kiln", "Silo")]
    statements = [one for one in read if one]
    assert [*beginnings(statements)] == [(0, 1)]


@given(st.lists(words, max_size=7))
def test_every_pair_with_a_shared_beginning_is_compared(texts: list[list[str]]) -> None:
    """Up to seven statements are all neighbours; more than that are too many values of one frame."""
    statements = [Framed(tuple(text), (False,) * len(text)) for text in texts]
    pairs = {frozenset(pair) for pair in beginnings(statements)}
    for n, one in enumerate(statements):
        for m in range(n + 1, len(statements)):
            if shared_beginning(one, statements[m]) >= FEWEST:
                assert frozenset((n, m)) in pairs
