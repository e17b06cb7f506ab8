"""Calendar values: the ISO dates, months, years and intervals that lie some units from a day; None beyond the edges of the calendar.

Knows no words: those belong to ``slowwave.texts.date_words``.
"""

from __future__ import annotations

import calendar
from datetime import date, timedelta
from typing import Final, Literal, NamedTuple

Grain = Literal["day", "week", "weekend", "month", "quarter", "year", "range"]


class Value(NamedTuple):
    """An ISO date, month, year or interval. ``about``: the text itself is not exact; ``part`` of the day that the phrase names."""

    iso: str
    grain: Grain
    about: bool = False
    part: str = ""


_REACH: Final = 150
"""Years."""


def shifted(day: date, days: int) -> date | None:
    """The day some days away; None beyond ``_REACH`` or the calendar."""
    try:
        found = day + timedelta(days=days)
    except OverflowError:
        return None
    return found if abs(found.year - day.year) <= _REACH else None


def month_after(day: date, months: int) -> tuple[int, int] | None:
    """Year and month some months away, likewise."""
    number = day.year * 12 + day.month - 1 + months
    year, month = divmod(number, 12)
    return (year, month + 1) if 1 <= year <= 9999 and abs(months) <= 12 * _REACH else None


def day_of_month(year: int, month: int, day: int) -> date | None:
    """A day by its numbers; None where the month has no such day."""
    try:
        return date(year, month, day)
    except ValueError:
        return None


def day_value(day: date | None, part: str = "", *, about: bool = False) -> Value | None:
    """A day as a value."""
    return None if day is None else Value(day.isoformat(), "day", about, part)


def interval(first: date | None, last: date | None, grain: Grain) -> Value | None:
    """Two days as a value, both of them in it."""
    return None if first is None or last is None else Value(f"{first.isoformat()}/{last.isoformat()}", grain)


def week_value(today: date, weeks: int) -> Value | None:
    """The whole week some weeks away, from Monday to Sunday."""
    monday = shifted(today, 7 * weeks - today.weekday())
    return None if monday is None else interval(monday, shifted(monday, 6), "week")


def weekend_value(today: date, weeks: int) -> Value | None:
    """The Saturday and Sunday of the week some weeks away."""
    saturday = shifted(today, 7 * weeks - today.weekday() + 5)
    return None if saturday is None else interval(saturday, shifted(saturday, 1), "weekend")


def month_value(today: date, months: int, *, about: bool = False) -> Value | None:
    """The month some months away."""
    found = month_after(today, months)
    return None if found is None else Value(f"{found[0]:04}-{found[1]:02}", "month", about)


def quarter_value(today: date, quarters: int) -> Value | None:
    """The whole quarter some quarters away."""
    first = month_after(today, 3 * quarters - (today.month - 1) % 3)
    if first is None:
        return None
    year, month = first
    return interval(date(year, month, 1), date(year, month + 2, calendar.monthrange(year, month + 2)[1]), "quarter")


def year_value(today: date, years: int, *, about: bool = False) -> Value | None:
    """The year some years away."""
    year = today.year + years
    return Value(f"{year:04}", "year", about) if 1 <= year <= 9999 and abs(years) <= _REACH else None


def nearest(today: date, weekday: int, direction: int) -> date | None:
    """The nearest such weekday strictly before (-1) or after (1) a day."""
    if direction < 0:
        return shifted(today, -((today.weekday() - weekday - 1) % 7 + 1))
    return shifted(today, (weekday - today.weekday() - 1) % 7 + 1)


def in_week(today: date, weekday: int, weeks: int) -> date | None:
    """A weekday (0 for Monday) of the week some weeks away."""
    return shifted(today, 7 * weeks - today.weekday() + weekday)


def moved(today: date, unit: str, n: int, *, about: bool) -> Value | None:
    """``n`` units from a day: in days and weeks a day, else a month or a year, a quarter, a weekend."""
    match unit:
        case "day":
            return day_value(shifted(today, n), about=about)
        case "week" | "fortnight":
            return day_value(shifted(today, n * (7 if unit == "week" else 14)), about=about)
        case "weekend":
            return None if about else weekend_value(today, n)
        case "month":
            return month_value(today, n, about=about)
        case "quarter":
            return None if about else quarter_value(today, n)
        case "year":
            return year_value(today, n, about=about)
        case _:
            return year_value(today, 10 * n, about=True)


def same_day(today: date, unit: str, n: int) -> Value | None:
    """The very day ``n`` units from a day ("a year ago today")."""
    if unit in ("day", "week", "fortnight"):
        return moved(today, unit, n, about=False)
    months = {"month": 1, "quarter": 3, "year": 12, "decade": 120}.get(unit)
    found = None if months is None else month_after(today, n * months)
    return None if found is None else day_value(day_of_month(*found, today.day))


def unit_at(today: date, unit: str, n: int) -> Value | None:
    """The whole unit some units away."""
    match unit:
        case "week":
            return week_value(today, n)
        case "weekend":
            return weekend_value(today, n)
        case "month":
            return month_value(today, n)
        case "quarter":
            return quarter_value(today, n)
        case _:
            return year_value(today, n)
