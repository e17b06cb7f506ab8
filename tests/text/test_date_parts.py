"""Parts of units, months and days of the month by the verb, and days that were or come. The anchor is Wednesday, 15 April 2026."""

from __future__ import annotations

from datetime import datetime

import pytest

from slowwave.text.dates import absolutize

ANCHOR = datetime(2026, 4, 15, 10)  # noqa: DTZ001 - local time


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Earlier this month the rent rose.", "2026-04-01/2026-04-15"),
        ("He will come later this week.", "2026-04-15/2026-04-19"),
        ("Earlier today it crashed.", "2026-04-15"),
        ("It must be in by the end of next quarter.", "2026-09"),
        ("It should be done by the end of next month.", "2026-05-21/2026-05-31"),
        ("At the end of last year we dropped it.", "2025-12"),
        ("Early next week I file it.", "2026-04-20/2026-04-21"),
        ("Late last year he quit.", "2025-10/2025-12"),
        ("The audit was finished in mid-March.", "2026-03-11/2026-03-20"),
        ("In early May Lena will move.", "2026-05-01/2026-05-10"),
        ("In June we will switch.", "2026-06"),
        ("He has been free since November.", "2025-11"),
        ("Joao had surgery on the 3rd.", "2026-04-03"),
        ("I'll call them on the 2nd.", "2026-05-02"),
        ("I slept badly for the past week.", "2026-04-08/2026-04-14"),
        ("He lost six kilos in the past year.", "2025-04-15/2026-04-14"),
        ("Within the next week he must decide.", "2026-04-16/2026-04-22"),
        ("For the last few days it has jammed.", "2026-04-12/2026-04-14"),
        ("Call the plumber on Thursday.", "2026-04-16"),
        ("Dentist appointment on Tuesday at 9:30.", "2026-04-21"),
        ("On the 3rd the pump was replaced.", "2026-04-03"),
        ("He had the flu in the first week of April.", "2026-04-01/2026-04-07"),
        ("She was away in the last week of February.", "2026-02-22/2026-02-28"),
        ("We will revisit it in the second half of the year.", "2026-07/2026-12"),
    ],
)
def test_what_is_no_day_is_an_interval(text: str, value: str) -> None:
    """A third of a month, a month of a quarter, the days up to today."""
    assert [r.value for r in absolutize(text, ANCHOR).rewrites] == [value]


@pytest.mark.parametrize(
    "text",
    [
        "Her birthday is in March.",
        "She was born in March.",
        "In April showers are common.",
        "She married in June 2011.",
        "He sat on the 4th floor.",
        "Bills are paid on the 15th of every month.",
        "Logs are kept for the past 7 days.",
        "The dashboard shows the past week.",
        "Meet me on the 3rd and the 9th.",
        "The end of the street is dark.",
        "In the past he smoked.",
        "On the 3rd floor the pump was replaced.",
        "It was the first week of March.",
        "The second half of the year is quiet.",
    ],
)
def test_habits_settings_and_other_ends_are_left(text: str) -> None:
    """No day of the telling is meant, or nobody could say which."""
    assert absolutize(text, ANCHOR) == (text, [])
