"""Idle dates: whose day nobody will ask for, and whose day is the fact."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from slowwave.text.dates import absolutize, looked_at

ANCHOR = datetime(2026, 4, 15, 9, tzinfo=UTC)  # a Wednesday


@pytest.mark.parametrize(
    "text",
    [
        "See you tomorrow!",
        "No problem, Luna, see you tomorrow!",
        "Today I want to talk to you about a new dress.",
        "I wanted to ask you something about my plans today.",
        "Hi friend. Today I have a question for you.",
        "I'm going to have dinner now and will talk to you again tomorrow.",
        "Today is Wednesday and I'm planning to watch a movie.",
        "Today's chat was very enjoyable.",
        "I hope you have a pleasant day today.",
    ],
)
def test_a_day_that_nobody_will_ask_for_is_left(text: str) -> None:
    assert absolutize(text, ANCHOR, idle=False) == (text, [])
    assert {p.reason for p in looked_at(text, ANCHOR.date(), idle=False)} <= {"idle", "unclear"}
    assert absolutize(text, ANCHOR).rewrites


@pytest.mark.parametrize(
    "text",
    [
        "Today is my birthday.",
        "It's my friend's birthday today and I want to ask you for advice.",
        "I went to a museum today and want to share it with you.",
        "Today I talked to my boss about you.",
        "Let's sign the contract tomorrow.",
        "The plumber comes tomorrow. See you!",
        "We leave tomorrow, and I will miss you.",
        "Today is a beautiful day. I went to see a movie.",
        "I want to go to Spain next month.",
        "I will ask Petra tomorrow.",
    ],
)
def test_a_day_on_which_something_is_is_written_out(text: str) -> None:
    assert absolutize(text, ANCHOR, idle=False) == absolutize(text, ANCHOR) != (text, [])
