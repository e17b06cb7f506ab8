"""Standard forms: one form for contractions, times, dates, counts and units; and what only looks like them stays."""

from __future__ import annotations

import pytest

from slowwave.text.forms import figures_of, standard_form
from slowwave.text.sameness import sameness

SAME = [
    ("The printer won't print labels.", "The printer will not print labels."),
    ("Ines cannot swim.", "Ines can't swim."),
    ("They're in the cellar.", "They are in the cellar."),
    ("The ferry leaves at 7:15 pm.", "The ferry leaves at 19:15."),
    ("The ferry leaves at 9 am", "The ferry leaves at 09:00."),
    ("The audit ends on the 2nd of October.", "The audit ends on October 2."),
    ("The audit ends on 2027-10-02.", "The audit ends on 2 October 2027."),
    ("The shed holds twenty-four crates.", "The shed holds 24 crates."),
    ("The filter is changed twice a year.", "The filter is changed two times a year."),
    ("The pump moves 2,500 litres / hour.", "The pump moves 2500 litres per hour."),
    ("The fee is €75.", "The fee is 75 euros."),
    ("The fee is EUR 5,000.", "The fee is 5 000 €."),
    ("The fee is EUR 5,000.", "The fee is 5\u00a0000 euros."),
    ("The fee is €1,250,000.", "The fee is 1\u202f250\u202f000 EUR."),
    ("The hall holds 12 500 people.", "The hall holds 12,500 people."),
    ("The walk takes 45 mins.", "The walk takes 45 minutes"),
    ("The track is 8 km long.", "The track is eight kilometres long."),
    ("The host is db7.kelpie.net", "The host is db7.kelpie.net."),
]
APART = [
    ("The printer won't print labels.", "The printer will print labels."),
    ("The ferry leaves at 7:15 pm.", "The ferry leaves at 7:15 am."),
    ("The ferry leaves at 7:15 pm.", "The ferry leaves at 7:15."),
    ("The ferry leaves at 12 am.", "The ferry leaves at 12 pm."),
    ("The audit ends on 2 October.", "The audit ends on 10 February."),
    ("Closed from 2027-05-03 to 2027-06-05.", "Closed from 5 June 2027 to 3 May 2027."),
    ("Bed three has 2 rows.", "Bed 2 has three rows."),
    ("The shed holds twenty-four crates.", "The shed holds 20 crates and 4 more."),
    ("The pump moves 2,500 litres.", "The pump moves 2.5 litres."),
    ("The fee is €75.", "The fee is $75."),
    ("The deposit is £2,000.", "The deposit is €2,000."),
    ("The deposit is 2000 GBP.", "The deposit is €2000."),
    ("The fee is EUR 5,000.", "The fee is 6 000 €."),
    ("The fee is USD 5,000.", "The fee is 5 000 €."),
    ("Crates 5, 600 are open.", "Crates 5600 are open."),
    ("The walk takes 45 minutes.", "The walk takes 45 seconds."),
    ("The track is 8 km long.", "The track is 8 m long."),
    ("The fee is €75k.", "The fee is 75 euros."),
    ("The filter is changed twice a year.", "The filter is changed once a year."),
    ("Release 3.12 is out.", "Release 12.3 is out."),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_is_written_in_two_ways_says_the_same(one: str, other: str) -> None:
    assert sameness(one, other).decision == "same"
    assert figures_of(one) == figures_of(other)


@pytest.mark.parametrize(("one", "other"), APART)
def test_what_differs_in_a_figure_or_a_negation_never_says_the_same(one: str, other: str) -> None:
    assert sameness(one, other).decision != "same"


@pytest.mark.parametrize(
    "text",
    [
        "Someone came.",
        "Anna's dog may bark.",
        "Version 3.12.1",
        "See 1/2 of it",
        "The one in may",
        "Call 030 1234-56",
        "Phone 12 128 GB",
        "Rows 5 000 12",
    ],
)
def test_what_only_looks_like_a_figure_stays(text: str) -> None:
    assert standard_form(text) == text
