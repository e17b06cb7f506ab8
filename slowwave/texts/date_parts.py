"""Parts of units: "earlier this month", "the end of next quarter", "late last year", "mid-March", "in June", "on the 9th".

What is not one day becomes an interval: a third of a month, a month of a quarter, the first or last month of a year.
"""

from __future__ import annotations

import calendar
import re
from datetime import date, timedelta
from typing import Final

from slowwave.texts.calendar_values import Value, day_of_month, day_value, interval, month_after, shifted, unit_at
from slowwave.texts.date_context import HABIT, PhraseContext, of_something
from slowwave.texts.date_words import MONTHS, direction_of

_Side = tuple[date, date]


def side_of_this(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "Earlier this month": up to today; "later this week": from today on; "earlier today"."""
    if not match["unit"]:
        return day_value(place.today)
    whole = _whole(place.today, match["unit"].lower(), 0)
    if whole is None:
        return None
    first, last = whole
    return interval(*((first, place.today) if match["side"].lower() == "earlier" else (place.today, last)), "range")


def side_of_unit(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "The end of next quarter", "early next week", "late last year"."""
    when = match["when"].lower()
    if when in ("previous", "following") or of_something(place):
        return None
    return _side(place.today, match["unit"].lower(), direction_of(when), match["side"].lower())


def start_of_the_unit(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "At the beginning of the year", of this one where the verb is past."""
    if HABIT.search(_sentence(place)) or re.match(r"\s(?:of|in|that|when)\b", place.after()) or place.tense() != "past":
        return None
    return _side(place.today, match["unit"].lower(), 0, match["side"].lower())


def side_of_month(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "Mid-March", "in late June": the nearest one in the direction of the verb."""
    found = _nearest_month(match, place, same=True)
    if found is None:
        return None
    first, last = _third(*found, re.sub(r"^the\s|\sof$", "", match["side"].lower()))
    past = place.tense() == "past"
    if (past and first > place.today) or (not past and last < place.today):  # of the month that is under way
        first, last = _third(found[0] - 1 if past else found[0] + 1, found[1], match["side"].lower())
    return interval(first, last, "range")


def week_of_month(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "In the first week of February": the first or the last seven days of the nearest one in the direction of the verb."""
    found, which = _nearest_month(match, place, same=True), match["which"].lower()
    if found is None or which not in ("first", "1st", "last") or not _AT_A_TIME.search(place.before()):
        return None
    last = calendar.monthrange(*found)[1]
    one, other = (date(*found, day) for day in ((last - 6, last) if which == "last" else (1, 7)))
    over = other < place.today if place.tense() == "past" else one > place.today
    return interval(one, other, "range") if over else None


def half_of_year(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "In the second half of the year", of this one where the verb says that it is to come or, of one that has begun, that it was."""
    second, tense = match["which"].lower() == "second", place.tense()
    n = direction_of(match["when"]) if match["when"] else 0
    begun = not second or place.today.month > 6
    if HABIT.search(_sentence(place)) or (not match["when"] and tense != ("past" if begun else "future")):
        return None
    year = place.today.year + n
    return Value(f"{year:04}-{'07' if second else '01'}/{year:04}-{'12' if second else '06'}", "range")


def bare_month(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "In June", "since November": the nearest one in the direction of the verb, but not the one that is under way."""
    found = _nearest_month(match, place, same=False)
    return None if found is None else Value(f"{found[0]:04}-{found[1]:02}", "month")


def day_of_the_month(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "On the 9th": the nearest one in the direction of the verb."""
    number, tense = int(match["number"]), place.tense()
    ends = _DAY_ENDS.match(place.after()) or (_OPENS.search(place.before()) and _SUBJECT.match(place.after()))
    if HABIT.search(_sentence(place)) or not ends or tense not in ("past", "future"):
        return None
    step = -1 if tense == "past" else 1
    if _is_near(place.today, number, -step):
        return None
    for months in (0, step):
        found = month_after(place.today, months)
        day = found and day_of_month(*found, number)
        if day and (day < place.today if step < 0 else day > place.today):
            return day_value(day)
    return None


def _is_near(today: date, number: int, step: int) -> bool:
    """Whether a day of that number is only a few days away on the other side, so that it may be meant: "on the 8th", said on the 9th."""
    found = (shifted(today, step * days) for days in range(1, _NEAR + 1))
    return any(day is not None and day.day == number for day in found)


def by_rule(place: PhraseContext) -> bool:
    """Whether the sentence tells what a thing keeps or shows, and not what was: "logs are kept for the past 7 days"."""
    return bool(_KEEPS.search(re.split(r"[.!?\n]", place.before(160))[-1]))


def lately(place: PhraseContext, unit: str) -> Value | None:
    """ "The past week", "this past month": the days up to yesterday that are as many."""
    if by_rule(place):
        return None
    return interval(_back(place.today, unit, -1), shifted(place.today, -1), "range")


def soon(place: PhraseContext, unit: str) -> Value | None:
    """ "Within the next week": the days from tomorrow on that are as many."""
    last = _back(place.today, unit, 1)
    return interval(shifted(place.today, 1), last, "range")


def few(place: PhraseContext, unit: str, sign: int) -> Value | None:
    """ "The last few days", "the next few weeks": about three."""
    days = {"day": 3, "week": 21}.get(unit)
    if days is None:
        return None
    first, last = (-days, -1) if sign < 0 else (1, days)
    found = interval(shifted(place.today, first), shifted(place.today, last), "range")
    return found and found._replace(about=True)


def _back(today: date, unit: str, n: int) -> date | None:
    """The day one week, month or year away."""
    if unit == "week":
        return shifted(today, 7 * n)
    found = month_after(today, n * (12 if unit == "year" else 1))
    return found and date(*found, min(today.day, calendar.monthrange(*found)[1]))


def _nearest_month(match: re.Match[str], place: PhraseContext, *, same: bool) -> tuple[int, int] | None:
    """Year and month; ``same`` where the month that is under way may be meant as well."""
    month, here = MONTHS.index(match["month"].lower()) + 1, place.today.month
    sentence = _sentence(place)
    if HABIT.search(sentence) or _NO_MONTH.search(sentence) or _MONTH_GOES_ON.match(place.after()):
        return None
    tense = "past" if re.search(r"\bsince\s$", place.before()) else place.tense()
    if tense not in ("past", "future") or (month == here and not same):
        return None
    year = place.today.year + (-(month > here) if tense == "past" else month < here)
    return (year, month) if 1 < year < 9999 else None


def _whole(today: date, unit: str, n: int) -> _Side | None:
    found = unit_at(today, unit, n)
    if found is None:
        return None
    first, _, last = found.iso.partition("/")
    if len(first) == 10:
        return date.fromisoformat(first), date.fromisoformat(last)
    year, month = int(first[:4]), int(first[5:] or 1)
    end = month if len(first) == 7 else 12
    return date(year, month, 1), date(year, end, calendar.monthrange(year, end)[1])


def _side(today: date, unit: str, n: int, side: str) -> Value | None:
    whole = _whole(today, unit, n)
    if whole is None:
        return None
    first, last = whole
    begins = side in ("start", "beginning", "early")
    match unit:
        case "week":
            days = (0, 1) if begins else (1, 3) if side == "middle" else (3, 6) if side == "late" else (4, 6)
            return interval(first + timedelta(days[0]), first + timedelta(days[1]), "range")
        case "month":
            return interval(*_third(first.year, first.month, side), "range")
        case "quarter":
            return Value(f"{first.year:04}-{first.month + (0 if begins else 1 if side == 'middle' else 2):02}", "month")
        case _:
            pass
    months = {"early": (1, 3), "late": (10, 12), "middle": (6, 7)}.get(side) or ((1, 1) if begins else (12, 12))
    if months[0] == months[1]:
        return Value(f"{last.year:04}-{months[0]:02}", "month")
    return Value(f"{last.year:04}-{months[0]:02}/{last.year:04}-{months[1]:02}", "range")


def _third(year: int, month: int, side: str) -> _Side:
    """A third of a month."""
    if side in ("early", "start", "beginning"):
        return date(year, month, 1), date(year, month, 10)
    if side in ("mid", "middle"):
        return date(year, month, 11), date(year, month, 20)
    return date(year, month, 21), date(year, month, calendar.monthrange(year, month)[1])


def past_led(place: PhraseContext) -> bool:
    """Whether "the past week" is that of the telling: over, in, for it, or a sentence that it opens."""
    return bool(_DURING.search(place.before()))


def next_led(place: PhraseContext) -> bool:
    """Whether "the next week" is the days that come: within, over, during it."""
    return bool(re.search(r"\b(?:within|over|during)\sthe\s$", place.before())) and place.tense() != "past"


def _sentence(place: PhraseContext) -> str:
    return re.split(r"[.!?\n]", place.before(160))[-1] + re.split(r"[.!?\n]", place.after(80))[0]


_NEAR: Final = 7  # days
_KEEPS: Final = re.compile(
    r"\b(?:(?:is|are|be)\s(?:\w+\s)?(?:kept|retained|stored|saved|shown|cached|available|valid|limited|listed)|shows?|covers?|displays?|includes?|"
    r"keeps?|retains?|stores?|lists?|retention|window|default|filter)\b"
)
_DURING: Final = re.compile(
    r"\b(?:for|over|in|during|within|throughout|across)\s(?:(?:about|roughly|almost)\s)?(?:the\s|this\s)?$"
)
_NO_MONTH: Final = re.compile(
    r"\b(?:born|birthdays?|anniversar\w+|(?:19|20)\d\d|years?\s(?:later|before)|season|that\syear|each\syear|annual\w*|will\salways)\b"
)
_MONTH_GOES_ON: Final = re.compile(
    r",?\s(?:of\b|['’]?\d|and\s\w+|or\s\w+|to\b|through\b|until\b|showers)|['’]|\s?[-–/]|st\b|nd\b"
)
_AT_A_TIME: Final = re.compile(r"\b(?:in|during|over|since|until|till|by)\s$")
_OPENS: Final = re.compile(r"(?:^|[.!?\n]\s*)on\s$")
_SUBJECT: Final = re.compile(r",?\s(?:the\s(?!day\b|floor\b|of\b)|my\s|our\s|his\s|her\s|their\s|an?\s)")
_DAY_ENDS: Final = re.compile(
    r"\s*(?:[.,;:!?)]|$)|\s(?:and(?!\s(?:on\s)?the\s\d)|at|so|but|because|when|i|we|he|she|they)\b"
)
