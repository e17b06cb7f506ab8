"""Calendar arithmetic for dates, and the English words for numbers, units, days and months."""

from __future__ import annotations

import calendar
from datetime import date, timedelta
from typing import Final, Literal, NamedTuple

# Calendar values: the ISO dates, months, years and intervals some units away from a day; None beyond the limits of the calendar.
#
# This part uses no words; the date words are below.

Grain = Literal["day", "week", "weekend", "month", "quarter", "year", "range"]


class Value(NamedTuple):
    """An ISO date, month, year or interval.

    ``about`` marks an inexact phrase; ``part`` is the part of the day that the phrase names.
    """

    iso: str
    grain: Grain
    about: bool = False
    part: str = ""


_REACH: Final = 150
"""Maximum number of years."""


def shifted(day: date, days: int) -> date | None:
    """Return the day ``days`` away, or None beyond ``_REACH`` years or the calendar."""
    try:
        found = day + timedelta(days=days)
    except OverflowError:
        return None
    return found if abs(found.year - day.year) <= _REACH else None


def month_after(day: date, months: int) -> tuple[int, int] | None:
    """Return year and month ``months`` away, or None beyond ``_REACH`` years or the calendar."""
    number = day.year * 12 + day.month - 1 + months
    year, month = divmod(number, 12)
    return (year, month + 1) if 1 <= year <= 9999 and abs(months) <= 12 * _REACH else None


def day_of_month(year: int, month: int, day: int) -> date | None:
    """Return the day with these numbers, or None if the month has no such day."""
    try:
        return date(year, month, day)
    except ValueError:
        return None


def day_value(day: date | None, part: str = "", *, about: bool = False) -> Value | None:
    """Convert a day to a value."""
    return None if day is None else Value(day.isoformat(), "day", about, part)


def interval(first: date | None, last: date | None, grain: Grain) -> Value | None:
    """Return the interval of two days, both included."""
    return None if first is None or last is None else Value(f"{first.isoformat()}/{last.isoformat()}", grain)


def week_value(today: date, weeks: int) -> Value | None:
    """Return the whole week ``weeks`` away, from Monday to Sunday."""
    monday = shifted(today, 7 * weeks - today.weekday())
    return None if monday is None else interval(monday, shifted(monday, 6), "week")


def weekend_value(today: date, weeks: int) -> Value | None:
    """Return the Saturday and Sunday of the week ``weeks`` away."""
    saturday = shifted(today, 7 * weeks - today.weekday() + 5)
    return None if saturday is None else interval(saturday, shifted(saturday, 1), "weekend")


def month_value(today: date, months: int, *, about: bool = False) -> Value | None:
    """Return the month ``months`` away."""
    found = month_after(today, months)
    return None if found is None else Value(f"{found[0]:04}-{found[1]:02}", "month", about)


def quarter_value(today: date, quarters: int) -> Value | None:
    """Return the whole quarter ``quarters`` away."""
    first = month_after(today, 3 * quarters - (today.month - 1) % 3)
    if first is None:
        return None
    year, month = first
    return interval(date(year, month, 1), date(year, month + 2, calendar.monthrange(year, month + 2)[1]), "quarter")


def year_value(today: date, years: int, *, about: bool = False) -> Value | None:
    """Return the year ``years`` away."""
    year = today.year + years
    return Value(f"{year:04}", "year", about) if 1 <= year <= 9999 and abs(years) <= _REACH else None


def nearest(today: date, weekday: int, direction: int) -> date | None:
    """Return the nearest such weekday strictly before (-1) or after (1) a day."""
    if direction < 0:
        return shifted(today, -((today.weekday() - weekday - 1) % 7 + 1))
    return shifted(today, (weekday - today.weekday() - 1) % 7 + 1)


def in_week(today: date, weekday: int, weeks: int) -> date | None:
    """Return a weekday (0 for Monday) of the week ``weeks`` away."""
    return shifted(today, 7 * weeks - today.weekday() + weekday)


def moved(today: date, unit: str, n: int, *, about: bool) -> Value | None:
    """Return the value ``n`` units from a day.

    For days and weeks it is a day, else a month, a quarter, a year or a weekend.
    """
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
    """Return the same day ``n`` units away ("a year ago today")."""
    if unit in ("day", "week", "fortnight"):
        return moved(today, unit, n, about=False)
    months = {"month": 1, "quarter": 3, "year": 12, "decade": 120}.get(unit)
    found = None if months is None else month_after(today, n * months)
    return None if found is None else day_value(day_of_month(*found, today.day))


def unit_at(today: date, unit: str, n: int) -> Value | None:
    """Return the whole unit ``n`` units away."""
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


# Date words: the English words for numbers, units, days and months, as parts of patterns and as values.
#
# The patterns of ``slowwave.text.date_phrases`` contain these parts, which have no group except ``part``.

_UNITS: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORDS: Final = {
    **{word: n for n, word in enumerate(_UNITS)},
    **{word: 10 * n for n, word in enumerate(_TENS, 2)},
    **{f"{tens} {one}": 10 * n + m for n, tens in enumerate(_TENS, 2) for m, one in enumerate(_UNITS[:10]) if m},
    **{"a": 1, "an": 1, "a hundred": 100, "one hundred": 100, "a dozen": 12},
    **{"a couple of": 2, "couple of": 2, "a couple": 2, "couple": 2, "a pair of": 2},
    **{"a few": 3, "few": 3},
}
_VAGUE: Final = frozenset(("a few", "few", "a dozen"))
DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS: Final = tuple(name.lower() for name in calendar.month_name[1:])
S: Final = r"\s{1,2}"
_SMALL: Final = r"(?:one|two|three|four|five|six|seven|eight|nine)"
N: Final = (
    r"(?:\d{1,4}|(?:a|one)\s(?:hundred)|a\sdozen|an?(?:\s(?:few|couple(?:\sof)?|pair\sof))?|few|couple(?:\sof)?"
    rf"|(?:{'|'.join(_TENS)})(?:[\s-]{_SMALL})?|(?:{'|'.join(sorted(_UNITS[1:], key=len, reverse=True))}))"
)
W: Final = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
SHORT: Final = r"(?:mon|tues?|wed|thurs|thur?|fri|sat|sun)\b\.?"
U: Final = (
    r"(?:days?|nights?|weeks?|wks?|fortnights?|week-?ends?|months?|mths?|mos|quarters?|qtrs?|years?|yrs?|decades?)"
)
ONE: Final = r"(?:week-?end|wk-?e?nd|week|wk|month|quarter|qtr|year|yr)"
PART: Final = r"(?:morning|afternoon|evening|night|nite)"
YESTERDAY: Final = r"(?:yesterday|yest[aeiu]rday|yesterda|yesteday|yeterday|yesterdy)"
TONIGHT: Final = r"(?:to|2)ni(?:ght|te)"
TOMORROW: Final = r"(?:(?:to|2)m{1,2}or{1,2}ow|2moro|tom{1,2}or{1,2}o|tmrw|tmrrw|tmr|tmw)"
PARTS: Final = rf"(?:(?:{S}(?:early|late))?{S}(?P<part>{PART})\b)?"
M: Final = rf"(?:(?-i:May|March|MAY|MARCH)|{'|'.join(m for m in MONTHS if m not in ('may', 'march'))})"
M_LOW: Final = rf"(?:{'|'.join(MONTHS)})"
_PAST: Final = r"(?:last|past|previous)"
_NOW: Final = r"(?:this|current)"
_NEXT: Final = r"(?:next|following|coming|upcoming)"
REL: Final = rf"(?:this{S}(?:past|last|coming|next|upcoming)|{_PAST}|{_NOW}|{_NEXT})"
_SHORTENED: Final = {
    **{"wk": "week", "wkend": "weekend", "wknd": "weekend", "mth": "month", "mo": "month"},
    **{"qtr": "quarter", "yr": "year", "night": "day"},
}
_WORDS_TOO: Final = ("wed", "sat", "sun")


def number_of(words: str) -> int:
    """Parse a number in digits or in words that ``N`` matches."""
    words = " ".join(words.lower().replace("-", " ").split())
    return int(words) if words.isdigit() else _WORDS[words]


def is_vague(words: str) -> bool:
    """Return whether a number word means an approximate number."""
    return " ".join(words.lower().split()) in _VAGUE


def weekday_of(word: str) -> int | None:
    """Return the number of a weekday (0 for Monday).

    Returns None for a short form that may be another word ("sat", "sun", "wed") and is not capitalised.
    """
    low = word.lower()
    if low.endswith("day"):
        return DAYS.index(low)
    return (
        next(n for n, d in enumerate(DAYS) if d.startswith(low[:3]))
        if word[0].isupper() or low[:3] not in _WORDS_TOO
        else None
    )


def unit_of(word: str) -> str:
    """Return the usual name of a unit, in the singular."""
    low = word.lower().removesuffix("s").replace("-", "")
    return _SHORTENED.get(low, low)


def direction_of(words: str) -> int:
    """Return -1, 0 or 1 for last, this and next, in any of their words."""
    last = words.lower().split()[-1]
    return -1 if last in ("last", "past", "previous") else 0 if last in ("this", "current") else 1
