"""Corrections: a claim that a later sentence takes back is held back, in whatever words, and no other claim is."""

from __future__ import annotations

import pytest

from slowwave.text.claims import HeardSentence, corrected_claims, plain_claim
from slowwave.text.sentences import sentences

DATE = "Lantern is due on 5 February 2027."

HELD_OUT = (
    "Oops, it's 12 February.", "My mistake, Lantern should be 12 February.", "Scratch that, Lantern is due on the 12th.",
    "I meant 12 February.", "Lantern slipped a week, to 12 February.", "They pushed the Lantern deadline to 12 February.",
    "The deadline for Lantern is 12 February 2027.", "We agreed with the client that Lantern gets until 12 February.",
    "The Lantern date was wrong.", "I misspoke about Lantern.", "Hold on, it is due on 12 February.", "Make that 12 February.",
    "Lantern has a new date: 12 February.", "It should have been 12 February.", "No, 12 February.", "Lantern, not 5 but 12 February!",
    "Sorry, I mixed up the dates of Lantern and Harbour.", "That date is no longer correct.",
)  # fmt: skip
UNRELATED = (
    "Lantern has its review on 5 February.", "Should Lantern be due on 12 February?", "Harbour is due on 12 February 2027.",
    "Sorry, I was in a meeting.", "The budget of Lantern is 4000 euros.", "Lantern uses Postgres.", "Don't forget the tickets for Lantern.",
    "Sorry, Harbour is due on 12 February 2027.", "If Lantern is late, we tell the client by 12 February.",
    "I prefer tabs over spaces.", "Forget what I said about Harbour, it is due on 12 February.", "Actually, I live in Oslo.",
    "No, Harbour is due on 12 February.", "Correction: Harbour costs 400 euros.",
)  # fmt: skip


def corrected(first: str, later: str) -> bool:
    """Whether the claim of the first sentence is held back for what follows."""
    heard = [HeardSentence(one, "Mara", plain_claim(one, "Mara")) for one in (first, *sentences(later))]
    assert heard[0].claim is not None
    return 0 in corrected_claims(heard)


@pytest.mark.parametrize("later", HELD_OUT)
def test_corrected_claims_of_a_correction_holds_the_date_back(later: str) -> None:
    """Forms beyond the twelve of D3, which the rules were not written for one by one."""
    assert corrected(DATE, later)


@pytest.mark.parametrize("later", UNRELATED)
def test_corrected_claims_of_another_statement_keeps_the_date(later: str) -> None:
    """Of another thing or another value, or a question."""
    assert not corrected(DATE, later)


@pytest.mark.parametrize(
    ("first", "later", "is_corrected"),
    [
        ("The budget of Lantern is 4000 euros.", "Sorry, the Lantern budget should be 5000 euros.", True),
        ("The budget of Lantern is 4000 euros.", "Lantern is not due on 5 February but on 12 February.", False),
        ("The budget of Lantern is 4000 euros.", "I was wrong about the budget of Lantern.", True),
        ("Lantern is blocked.", "Forget what I said about Lantern.", True),
        ("Lantern is blocked.", "Forget what I said about Harbour.", False),
        ("I prefer tabs over spaces.", "Sorry, the meeting is at 3.", False),
    ],
)
def test_corrected_claims_of_other_kinds_need_the_same_value(first: str, later: str, is_corrected: bool) -> None:
    """Numbers correct numbers, and a retraction reaches the claims about the subject that it names."""
    assert corrected(first, later) is is_corrected


def test_corrected_claims_of_the_same_slot_leaves_the_later_one_to_replace_it() -> None:
    """Both are claims, of which the later stays; a date that is repeated is no correction."""
    assert not corrected(DATE, "Lantern is due on 12 February 2027.")
    assert not corrected(DATE, "As planned, Lantern and its manual come on 5 February, the party is on 7 February.")
