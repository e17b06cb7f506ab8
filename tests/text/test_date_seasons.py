"""Seasons and feasts: intervals of months, days of the calendar, and what is left because two years are as likely."""

from __future__ import annotations

from datetime import date, datetime

import pytest

from slowwave.text.date_parts import _easter
from slowwave.text.dates import absolutize

SPRING, AUTUMN = datetime(2026, 4, 15, 10), datetime(2025, 10, 26, 10)  # noqa: DTZ001 - local time


def written(text: str, anchor: datetime) -> list[str]:
    return [r.value for r in absolutize(text, anchor).rewrites]


@pytest.mark.parametrize(
    ("text", "anchor", "value"),
    [
        ("Lea sailed last summer.", SPRING, "2025-06/2025-08"),
        ("Last winter the pipes froze.", SPRING, "2025-12/2026-02"),
        ("Last spring I planted trees.", AUTUMN, "2025-03/2025-05"),
        ("Next summer she will walk the Camino.", AUTUMN, "2026-06/2026-08"),
        ("This winter they will rebuild it.", AUTUMN, "2025-12/2026-02"),
        ("This past summer he worked.", AUTUMN, "2025-06/2025-08"),
        ("Over the summer he wrote a book.", AUTUMN, "2025-06/2025-08"),
        ("We will paint the boat in the fall.", SPRING, "2026-09/2026-11"),
        ("The lease was signed in the spring of 2021.", SPRING, "2021-03/2021-05"),
        ("She graduated in fall 2022.", SPRING, "2022-09/2022-11"),
        ("He lived there in the winter of 2018.", SPRING, "2018-12/2019-02"),
        ("They met two summers ago.", SPRING, "2024-06/2024-08"),
    ],
)
def test_a_season_is_an_interval_of_months(text: str, anchor: datetime, value: str) -> None:
    """What is no day is not guessed to be one."""
    assert written(text, anchor) == [value]


@pytest.mark.parametrize(
    ("text", "anchor", "value"),
    [
        ("Last Christmas we all had the flu.", SPRING, "2025-12-25"),
        ("On New Year's Eve he proposed.", SPRING, "2025-12-31"),
        ("They visited her parents over Easter.", SPRING, "2026-04-03/2026-04-06"),
        ("On Good Friday we fasted.", SPRING, "2026-04-03"),
        ("She cooks this Thanksgiving.", SPRING, "2026-11-26"),
        ("On Black Friday she bought a drone.", SPRING, "2025-11-28"),
        ("They will fly home at Christmas.", SPRING, "2026-12-25"),
        ("She will be a lobster for Halloween this year.", SPRING, "2026-10-31"),
        ("Ann bought pumpkins for Halloween.", SPRING.replace(month=10, day=12), "2026-10-31"),
        ("Ann was a lobster for Halloween.", SPRING.replace(month=11, day=12), "2026-10-31"),
        ("Easter was fun, the kids hid the eggs.", SPRING, "2026-04-05"),
        ("Thanksgiving will be at her house.", SPRING, "2026-11-26"),
        ("We spent Easter Monday at the airport.", SPRING, "2026-04-06"),
    ],
)
def test_a_feast_is_its_day(text: str, anchor: datetime, value: str) -> None:
    """The nearest one in the direction of the verb; over Easter are four days."""
    assert written(text, anchor) == [value]


@pytest.mark.parametrize(
    "text",
    [
        "Next summer we will sail.",  # in two months, or the one after
        "Last Easter we were in Rome.",  # ten days ago, or a year
        "In the summer it gets hot.",
        "They spend every summer there.",
        "He fell in the spring behind the house.",
        "The summer school was hard.",
        "She always calls on Christmas.",
        "Uwe lent them his cabin for Christmas.",
        "The Christmas tree fell over.",
        "I sang Last Christmas with her.",
        "Spring Boot was chosen.",
        "On Christmas Island it rained.",
        "Easter was never a big thing.",
        "Easter was invented in Ireland.",
        "We spent Halloween in Rome.",  # half a year ago
    ],
)
def test_what_may_be_another_year_or_no_date_is_left(text: str) -> None:
    """In doubt nothing is written."""
    assert written(text, SPRING) == []


def test_easter_is_the_sunday_of_the_church() -> None:
    """Of the years between the earliest and the latest of this century."""
    assert [_easter(y) for y in (2008, 2024, 2025, 2026, 2038)] == [
        date(2008, 3, 23),
        date(2024, 3, 31),
        date(2025, 4, 20),
        date(2026, 4, 5),
        date(2038, 4, 25),
    ]
