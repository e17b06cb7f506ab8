"""Dates in sentences that are said of many days, and true dates next to words of repetition."""

from __future__ import annotations

import importlib.util
from datetime import date

import pytest

from slowwave.text.dates import Rewrite, looked_at

WEDNESDAY = date(2026, 8, 5)


def outcomes(text: str, language: str = "") -> list[str]:
    """For each phrase its pattern, or the reason why it is left alone."""
    found = looked_at(text, WEDNESDAY, idle=False, language=language)
    return [p.pattern if isinstance(p, Rewrite) else p.reason for p in found]


@pytest.mark.parametrize(
    "text",
    [
        "We always plan the menu for tomorrow.",
        "The newsletter summarises yesterday every morning.",
        "Every evening the bot posts the weather for tomorrow.",
        "Whenever Rita is ill, Tom takes her shift tomorrow.",
        "Every evening, the bot posts the weather for tomorrow.",
        "Every evening the bot posted the weather for tomorrow.",
        "You will receive the weather for tomorrow every evening.",
        "The report always covers last month.",
        "On Fridays I usually rehearse what I will say next week.",
        "Each Monday she writes down what she did last week.",
        "Never leave for tomorrow what you can do today.",
        "Do not put off to tomorrow what you can do today.",
        "We usually plan breakfast, lunch and dinner for tomorrow.",
        "Check the events for tomorrow every 10 seconds.",
        "The job runs daily and loads the rows from yesterday.",
        "In every retro we pick the topics for next month.",
        "The page is always filled with the texts from last week.",
    ],
)
def test_date_in_habit_or_rule_is_left_alone(text: str) -> None:
    found = outcomes(text)
    assert "repeated" in found
    assert set(found) <= {"repeated", "unclear", "figure of speech"}


@pytest.mark.parametrize(
    "text",
    [
        "Every participant must arrive tomorrow.",
        "We always meet at noon, but tomorrow we start at ten.",
        "I never said that I would come tomorrow.",
        "He called every day last week.",
        "I will call you every hour tomorrow.",
        "I work from home every day next week.",
        "Next week I work from home every day.",
        "The weekly report is due tomorrow.",
        "Check if the parcel arrives tomorrow.",
        "She left yesterday, as always without a word.",
        "Up until last week I always used an editor.",
        "The bakery always sells out, so order the cake for tomorrow.",
        "Usually he cooks, but yesterday I cooked.",
        "Don't forget to call Ann tomorrow.",
        "My back often hurts and I see my doctor tomorrow.",
    ],
)
def test_date_next_to_word_of_repetition_is_written(text: str) -> None:
    assert outcomes(text) == ["counted from the day"]


@pytest.mark.parametrize(
    "text",
    [
        "She often wears the coat that she bought last week.",
    ],
)
def test_perhaps_repeated_date_is_asked_about(text: str) -> None:
    assert outcomes(text) == ["perhaps repeated"]


@pytest.mark.skipif(importlib.util.find_spec("dateparser") is None, reason="needs the extra languages")
@pytest.mark.parametrize(
    ("language", "repeated", "once"),
    [
        ("de", "Wir planen immer das Menü für nächste Woche.", "Gestern kam sie wie immer zu spät."),
        ("de", "Freitags plane ich nächste Woche.", "Sie kocht immer, aber gestern kochte ich."),
        ("fr", "Le rapport couvre toujours le mois dernier.", "Hier, il est arrivé comme toujours."),
        ("es", "Cada mañana el boletín resume lo de ayer.", "Ayer llegó tarde como siempre."),
        ("it", "Ogni mattina il bollettino riassume ieri.", "Ieri è arrivato tardi come sempre."),
        ("pt", "O relatório cobre sempre o mês passado.", "Ontem ele chegou tarde como sempre."),
        ("zh", "每天晚上，机器人发布明天的天气。", "他们总是中午见面，但明天十点开始。"),
        ("ja", "毎晩、ボットが明日の天気を投稿する。", "いつもは正午に会うが、明日は十時に始まる。"),
    ],
)
def test_markers_of_other_languages_count_in_their_clause(language: str, repeated: str, once: str) -> None:
    assert outcomes(repeated, language) == ["repeated"]
    assert outcomes(once, language) == ["other language"]


@pytest.mark.parametrize(
    "text",
    [
        "If a parcel misses the van, it arrives tomorrow.",
        "Unless it snows, deliveries arrive tomorrow.",
        "When the tide is low, the ferry leaves tomorrow instead.",
        "If it rains tomorrow, the match is off.",
    ],
)
def test_date_beside_a_condition_is_asked_about(text: str) -> None:
    """A rule and one case have the same words, so the date is no decision."""
    assert outcomes(text) == ["perhaps repeated"]


def test_date_beside_a_condition_of_the_past_is_written() -> None:
    """What has happened has a day."""
    assert outcomes("When I called Ada yesterday, she was ill.") == outcomes("I called Ada yesterday.")


@pytest.mark.parametrize(
    "text",
    [
        "The cook bakes the bread for tomorrow at night.",
        "The invoice covers last month.",
        "The job copies yesterday's files to the archive.",
        "The meeting starts with the numbers of last week.",
        "The price for tomorrow is set at noon.",
        "The deadline for orders for tomorrow is 15:00.",
        "The chart is drawn from the data of last month.",
        "Breakfast is ready for guests who leave tomorrow.",
        "Standup begins with what happened yesterday.",
        "The podcast ends with a preview of next week.",
    ],
)
def test_date_in_a_part_of_a_clause_in_the_present_is_asked_about(text: str) -> None:
    """A habit without a word of repetition has the same words as one case."""
    assert outcomes(text) == ["perhaps repeated"]


@pytest.mark.parametrize(
    "text",
    [
        "Rita flies to Oslo tomorrow.",
        "I need two tickets for tomorrow.",
        "Ann booked seats for tomorrow.",
        "Yesterday's build is broken.",
        "Tom will bake scones for tomorrow.",
        "The exam is scheduled for tomorrow.",
        "The exam starts tomorrow.",
        "The bill for last month was 40 euros.",
        "I need to answer the mail from yesterday.",
        "We are preparing the room for tomorrow.",
    ],
)
def test_date_of_one_case_is_written(text: str) -> None:
    assert outcomes(text) == ["counted from the day"]
