"""Who did what to whom: parties that change places are found, other forms of the same are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.text.specifics import exchanged_parties


@pytest.mark.parametrize(
    ("source", "claim"),
    [
        ("Ann paid Bob 40 euros.", "Bob paid Ann 40 euros."),
        ("Ann paid Bob 40 euros.", "Ann was paid 40 euros by Bob."),
        ("Bob was paid by Ann.", "Bob paid Ann."),
        ("Ann pays Bob every month.", "Every month Bob pays Ann."),
        ("Ann gave the book to Bob.", "Bob gave the book to Ann."),
        ("Ann moved from Oslo to Bergen.", "Ann moved from Bergen to Oslo."),
        ("Ann is older than Bob.", "Bob is older than Ann."),
        ("The audit came before the release.", "The release came before the audit."),
        ("Heron replaces Osprey in production.", "In production Osprey replaces Heron."),
        ("The pump broke the seal.", "The seal broke the pump."),
        ("Mara hired Jonas in May. She likes him.", "Jonas hired Mara in May."),
        ("The dog bit the postman.", "The postman has bitten the dog."),
        ("Ann reports to Bob, and Bob reports to Carla.", "Bob reports to Ann."),
        ("The invoice was sent by Ann to Bob.", "The invoice was sent by Bob to Ann."),
    ],
)
def test_exchanged_parties_are_found(source: str, claim: str) -> None:
    """All of the words are the source's, and what is said is not."""
    assert exchanged_parties(claim, [source])


@pytest.mark.parametrize(
    ("source", "claim"),
    [
        ("Ann paid Bob 40 euros.", "Bob was paid 40 euros by Ann."),
        ("Bob was finally paid by Ann.", "Ann paid Bob."),
        ("Ann gave Bob the book.", "Ann gave the book to Bob."),
        ("Ann gave Bob the book.", "Bob was given the book by Ann."),
        ("Ann moved from Oslo to Bergen.", "Ann moved to Bergen from Oslo."),
        ("On Monday Ann paid Bob.", "Ann paid Bob on Monday."),
        ("Ann met Bob.", "Ann met Bob in town."),
        ("Ann had a meeting with Bob.", "Bob had a meeting with Ann."),
        ("Ann and Bob sing.", "Bob and Ann sing."),
        ("Ann paid Bob. Bob paid Ann back.", "Bob paid Ann back, and Ann paid Bob."),
        ("Mara hired Jonas in May.", "In May Jonas was hired by Mara."),
        ("The seal was broken by the pump.", "The pump broke the seal."),
        ("Priya fixed the billing outage.", "The billing outage was fixed by Priya."),
        ("The fix by Priya ended the outage.", "Priya ended the outage."),
        ("", "Ann paid Bob."),
    ],
)
def test_other_forms_of_the_same_pass(source: str, claim: str) -> None:
    """Passives, another order of what surrounds a verb, relations that go both ways, and what no source speaks of."""
    assert exchanged_parties(claim, [source]) == ()


def test_any_source_may_say_it() -> None:
    """What one text says either way is no exchange; what none says as it is said is one, whichever text has the words."""
    assert exchanged_parties("Ann paid Bob.", ["Bob paid Ann.", "Ann paid Bob."]) == ()
    assert exchanged_parties("Ann paid Bob.", ["It rained.", "Bob paid Ann."])


WORDS = ["Ann", "Bob", "paid", "pays", "the", "was", "by", "to", "gave", "book", ",", ".", "and"]


@given(st.lists(st.sampled_from(WORDS), max_size=20))
def test_a_text_never_exchanges_what_it_says_itself(words: list[str]) -> None:
    """Whatever it says: each clause is its own witness."""
    text = " ".join(words)
    assert exchanged_parties(text, [text]) == ()
