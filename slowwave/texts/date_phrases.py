"""Date phrases: the English grammar of relative dates, and the ISO value that each has on a given day.

A rule is a pattern and a function of its match; a rule that gives nothing still takes its phrase, so that no part of it is read as
another one ("last Friday of March" is no "last Friday"). Where a phrase may be read at all is decided by ``slowwave.texts.dates``.

Conventions. Weeks run from Monday to Sunday. "Last Friday" is the nearest Friday before the day, "this Friday" that of the same week,
"next Friday" that of the week after (so duckling and Recognizers-Text). "N weeks ago" is a day, "N months ago" a month, "N years ago"
a year; "last week" is the week before, as an interval with both ends in it. "A couple" is two, "a few" are about three. What is further
away than 150 years, or outside the years 1 to 9999, has no value.

The grammar is our own: on the 210 relative dates of duckling's English corpus it has .68 right and .00 wrong; Recognizers-Text .69 and
.16, parsedatetime .30 and .40, recurrent .28 and .50, dateparser .22 and .45 (``benchmarks.dates``). They read phrases, not sentences.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final, Literal, NamedTuple

from slowwave.texts.tenses import Tense

Grain = Literal["day", "week", "weekend", "month", "quarter", "year", "range"]


class Value(NamedTuple):
    """An ISO date, month, year or interval. ``about``: the text itself is not exact; ``part`` of the day that the phrase names."""

    iso: str
    grain: Grain
    about: bool = False
    part: str = ""


@dataclass(frozen=True, slots=True)
class PhraseContext:
    """Where a phrase stands: the ``text``, the phrase's own span in it, the day it was said, and the tense of that place."""

    text: str
    start: int
    end: int
    today: date
    tense: Callable[[], Tense]

    def before(self, signs: int = 40) -> str:
        """What stands before the phrase, in lower case."""
        return self.text[max(0, self.start - signs) : self.start].lower().replace("’", "'")

    def after(self, signs: int = 40) -> str:
        """What stands after it, in lower case."""
        return self.text[self.end : self.end + signs].lower().replace("’", "'")


_Resolve = Callable[["re.Match[str]", PhraseContext], Value | None]


class Rule(NamedTuple):
    """A kind of phrase: its ``name`` in reports, its pattern and what its match means; None for nothing that can be resolved."""

    name: str
    pattern: re.Pattern[str]
    resolve: _Resolve


def find(text: str) -> list[tuple[Rule, re.Match[str]]]:
    """Phrases of a text, from left to right and apart from each other. Time: linear in the text."""
    found: list[tuple[Rule, re.Match[str]]] = []
    for match in _ANY.finditer(text):
        rule = RULES[int(str(match.lastgroup)[1:])]
        own = rule.pattern.match(text, match.start())
        if own is not None:
            found.append((rule, own))
    return found


# --- what numbers and units are called

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
_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS: Final = tuple(name.lower() for name in calendar.month_name[1:])
_REACH: Final = 150
"""Years."""

_S = r"\s{1,2}"
_SMALL = r"(?:one|two|three|four|five|six|seven|eight|nine)"
_N = (
    r"(?:\d{1,4}|(?:a|one)\s(?:hundred)|a\sdozen|an?(?:\s(?:few|couple(?:\sof)?|pair\sof))?|few|couple(?:\sof)?"
    rf"|(?:{'|'.join(_TENS)})(?:[\s-]{_SMALL})?|(?:{'|'.join(sorted(_UNITS[1:], key=len, reverse=True))}))"
)
_W = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_SHORT = r"(?:mon|tues?|wed|thurs|thur?|fri|sat|sun)\b\.?"
_U = r"(?:days?|nights?|weeks?|wks?|fortnights?|week-?ends?|months?|mths?|mos|quarters?|qtrs?|years?|yrs?|decades?)"
_ONE = r"(?:week-?end|wk-?e?nd|week|wk|month|quarter|qtr|year|yr)"
_PART = r"(?:morning|afternoon|evening|night|nite)"
_YESTERDAY = r"(?:yesterday|yest[aeiu]rday|yesterda|yesteday|yeterday|yesterdy)"
_TONIGHT = r"(?:to|2)ni(?:ght|te)"
_TOMORROW = r"(?:(?:to|2)m{1,2}or{1,2}ow|2moro|tom{1,2}or{1,2}o|tmrw|tmrrw|tmr|tmw)"
_PARTS = rf"(?:(?:{_S}(?:early|late))?{_S}(?P<part>{_PART})\b)?"
_M = rf"(?:(?-i:May|March|MAY|MARCH)|{'|'.join(m for m in _MONTHS if m not in ('may', 'march'))})"
_M_LOW = rf"(?:{'|'.join(_MONTHS)})"
_PAST = r"(?:last|past|previous)"
_NOW = r"(?:this|current)"
_NEXT = r"(?:next|following|coming|upcoming)"
_REL = rf"(?:this{_S}(?:past|last|coming|next|upcoming)|{_PAST}|{_NOW}|{_NEXT})"

_MODIFIED = re.compile(r"\b(?:about|around|roughly|approximately|almost|nearly|some|maybe|like|over|more\sthan)\s$")
_COMPARED = re.compile(
    r"(?:(?<!\bmore\s)\b(?:than|least|most|within|under|to|until|up\sto|every|each|per|or)\s?|\d\s?[-–~]\s?|[\d~–-])$"
)
_ALTERNATIVE = re.compile(rf"(?:\b(?:{_N})|\d)\s?(?:or|to|and|-|–|/)\s?$", re.IGNORECASE)


# --- arithmetic that ends at the edges of the calendar


def _shift(day: date, days: int) -> date | None:
    try:
        found = day + timedelta(days=days)
    except OverflowError:
        return None
    return found if abs(found.year - day.year) <= _REACH else None


def _month(day: date, months: int) -> tuple[int, int] | None:
    number = day.year * 12 + day.month - 1 + months
    year, month = divmod(number, 12)
    return (year, month + 1) if 1 <= year <= 9999 and abs(months) <= 12 * _REACH else None


def _day_of_month(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _day(day: date | None, part: str = "", *, about: bool = False) -> Value | None:
    return None if day is None else Value(day.isoformat(), "day", about, part)


def _interval(first: date | None, last: date | None, grain: Grain) -> Value | None:
    return None if first is None or last is None else Value(f"{first.isoformat()}/{last.isoformat()}", grain)


def _week(today: date, weeks: int) -> Value | None:
    monday = _shift(today, 7 * weeks - today.weekday())
    return None if monday is None else _interval(monday, _shift(monday, 6), "week")


def _weekend(today: date, weeks: int) -> Value | None:
    saturday = _shift(today, 7 * weeks - today.weekday() + 5)
    return None if saturday is None else _interval(saturday, _shift(saturday, 1), "weekend")


def _months(today: date, months: int, *, about: bool = False) -> Value | None:
    found = _month(today, months)
    return None if found is None else Value(f"{found[0]:04}-{found[1]:02}", "month", about)


def _quarter(today: date, quarters: int) -> Value | None:
    first = _month(today, 3 * quarters - (today.month - 1) % 3)
    if first is None:
        return None
    year, month = first
    return _interval(date(year, month, 1), date(year, month + 2, calendar.monthrange(year, month + 2)[1]), "quarter")


def _year(today: date, years: int, *, about: bool = False) -> Value | None:
    year = today.year + years
    return Value(f"{year:04}", "year", about) if 1 <= year <= 9999 and abs(years) <= _REACH else None


def _nearest(today: date, weekday: int, direction: int) -> date | None:
    """The nearest such weekday strictly before (-1) or after (1) a day."""
    if direction < 0:
        return _shift(today, -((today.weekday() - weekday - 1) % 7 + 1))
    return _shift(today, (weekday - today.weekday() - 1) % 7 + 1)


def _in_week(today: date, weekday: int, weeks: int) -> date | None:
    return _shift(today, 7 * weeks - today.weekday() + weekday)


# --- words to values


def _number(words: str) -> int:
    words = " ".join(words.lower().replace("-", " ").split())
    return int(words) if words.isdigit() else _WORDS[words]


def _is_vague(words: str) -> bool:
    return " ".join(words.lower().split()) in _VAGUE


def _weekday(word: str) -> int | None:
    """0 for Monday; None for a short form that may be another word ("sat", "sun", "wed") and is not capitalised."""
    low = word.lower()
    if low.endswith("day"):
        return _DAYS.index(low)
    return (
        next(n for n, d in enumerate(_DAYS) if d.startswith(low[:3]))
        if word[0].isupper() or low[:3] not in _WORDS_TOO
        else None
    )


_SHORTENED: Final = {
    **{"wk": "week", "wkend": "weekend", "wknd": "weekend", "mth": "month", "mo": "month"},
    **{"qtr": "quarter", "yr": "year", "night": "day"},
}
_WORDS_TOO: Final = ("wed", "sat", "sun")


def _unit(word: str) -> str:
    low = word.lower().removesuffix("s").replace("-", "")
    return _SHORTENED.get(low, low)


def _direction(words: str) -> int:
    """-1, 0 or 1 for last, this and next, in any of their words."""
    last = words.lower().split()[-1]
    return -1 if last in ("last", "past", "previous") else 0 if last in ("this", "current") else 1


def _moved(today: date, unit: str, n: int, *, about: bool) -> Value | None:
    """``n`` units from a day: in days and weeks a day, else a month or a year, a quarter, a weekend."""
    match unit:
        case "day":
            return _day(_shift(today, n), about=about)
        case "week" | "fortnight":
            return _day(_shift(today, n * (7 if unit == "week" else 14)), about=about)
        case "weekend":
            return None if about else _weekend(today, n)
        case "month":
            return _months(today, n, about=about)
        case "quarter":
            return None if about else _quarter(today, n)
        case "year":
            return _year(today, n, about=about)
        case _:
            return _year(today, 10 * n, about=True)


def _same_day(today: date, unit: str, n: int) -> Value | None:
    """The very day ``n`` units from a day ("a year ago today")."""
    if unit in ("day", "week", "fortnight"):
        return _moved(today, unit, n, about=False)
    months = {"month": 1, "quarter": 3, "year": 12, "decade": 120}.get(unit)
    found = None if months is None else _month(today, n * months)
    return None if found is None else _day(_day_of_month(*found, today.day))


# --- rules


def _nothing(match: re.Match[str], place: PhraseContext) -> Value | None:
    """The phrase is taken, and means nothing that can be resolved."""
    return None


def _named_day(match: re.Match[str], place: PhraseContext) -> Value | None:
    word = match["day"].lower()
    shift = -1 if word[0] == "y" else 0 if word == "today" or word[1:].lstrip("o").startswith("ni") else 1
    part = "night" if not shift and word != "today" else _part(match)
    return _day(_shift(place.today, shift), part)


def _part(match: re.Match[str]) -> str:
    """The part of the day that a phrase names, in its usual spelling."""
    return (match["part"] or "").lower().replace("nite", "night")


def _two_days(match: re.Match[str], place: PhraseContext) -> Value | None:
    return _day(_shift(place.today, 2 if match["after"] else -2))


def _this_part(match: re.Match[str], place: PhraseContext) -> Value | None:
    part = _part(match) or "night"
    if (match["when"] or "last").lower() == "last":
        if _OWNED.search(place.before()) or re.match(r"\s(?:of|in\s(?:the|town))\b", place.after()):
            return None
        return _day(_shift(place.today, -1), part)
    return None if part == "night" else _day(place.today, part)


def _before_last(match: re.Match[str], place: PhraseContext) -> Value | None:
    unit, n = match["unit"].lower().replace("-", ""), 2 if match["way"].lower().startswith("after") else -2
    match unit:
        case "night":
            return _day(_shift(place.today, -2), "night") if n < 0 else None
        case "week":
            return _week(place.today, n)
        case "weekend":
            return _weekend(place.today, n)
        case "month":
            return _months(place.today, n)
        case "quarter":
            return _quarter(place.today, n)
        case "year":
            return _year(place.today, n)
        case _:
            last = _nearest(place.today, _DAYS.index(unit), -1)
            return _day(_shift(last, -7)) if n < 0 and last else None


def _this_time(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "This time last week": the day a week before; "this time next year": that month of the next year."""
    n = _direction(match["when"])
    if match["unit"].lower() == "week":
        return _day(_shift(place.today, 7 * n))
    return _months(place.today, 12 * n, about=True)


def _back_in(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "Back in March": the nearest one that is over."""
    month, here = _MONTHS.index(match["month"].lower()) + 1, place.today.month
    sentence = re.split(r"[.!?\n]", place.before(160))[-1] + re.split(r"[.!?\n]", place.after())[0]
    if (
        month == here
        or _HABIT.search(sentence)
        or place.text[place.start : place.end].endswith("s")
        or place.tense() == "future"
        or re.match(r",?\s(?:of\b|['’]?\d)|['’]\d", place.after())
    ):
        return None
    year = place.today.year - (month > here)
    return Value(f"{year:04}-{month:02}", "month") if year else None


def _of_the_unit(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "By the end of the month", "earlier in the week": of this one, where the verb speaks of what is to come or just was."""
    sentence = re.split(r"[.!?\n]", place.before(160))[-1] + re.split(r"[.!?\n]", place.after())[0]
    if _HABIT.search(sentence) or re.match(r"\s(?:of|in|that|when|before|after)\b", place.after()):
        return None
    past = (match["side"] or "").lower() == "earlier"
    if place.tense() != ("past" if past else "future"):
        return None
    return _unit_at(place.today, (match["unit"] or match["unit2"]).lower(), 0)


def _ordinal_weekday(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "The second Monday of last month"."""
    found = _month(place.today, _direction(match["when"]))
    word = match["which"].lower()
    nth = next((n for n, names in enumerate(_NTH) if word in names), None)
    if found is None or nth is None:
        return None
    weekday, (year, month) = _DAYS.index(match["weekday"].lower()), found
    days = [d for d in calendar.Calendar().itermonthdates(year, month) if d.month == month and d.weekday() == weekday]
    return _day(days[nth - 1 if nth else -1]) if nth <= len(days) else None


def _day_in_month(match: re.Match[str], place: PhraseContext) -> Value | None:
    found = _month(place.today, _direction(match["when"]))
    return None if found is None else _day(_day_of_month(*found, int(match["number"])))


def _days_in_month(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "From the 3rd to the 9th of next month"; "the 3rd and the 9th" are two days, not the days between."""
    found = _month(place.today, _direction(match["when"]))
    low = match[0].lower()
    if found is None or (re.search(r"\sand\s", low) and not low.startswith("between")):
        return None
    first, last = (_day_of_month(*found, int(match[k])) for k in ("first", "second"))
    return _interval(first, last, "range") if first and last and first < last else None


def _weekday_of_week(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "Monday of next week", "last week on Friday"."""
    if _of_something(place) or re.search(r"\b(?:an?|every|each|one)\s$", place.before()):
        return None
    if re.search(r"\sthe\s(?:last|next|past|previous|following)\s", match[0].lower()) and _narrated("last", place):
        return None
    weekday = _DAYS.index(match["weekday"].lower())
    return _day(_in_week(place.today, weekday, _direction(match["when"])), _part(match))


def _weekday_range(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "From Monday to Wednesday"."""
    first, last = (_DAYS.index(match[k].lower()) for k in ("first", "second"))
    if match["when"]:
        weeks = _direction(match["when"])
        return (
            _interval(_in_week(place.today, first, weeks), _in_week(place.today, last, weeks), "range")
            if first < last
            else None
        )
    match place.tense():
        case "past":
            end = _nearest(place.today, last, -1)
            return _interval(_nearest(end, first, -1) if end else None, end, "range")
        case "future":
            start = _nearest(place.today, first, 1)
            return _interval(start, _nearest(start, last, 1) if start else None, "range")
        case _:
            return None


def _from(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "Two weeks from Monday", "three days after tomorrow", "10 days from now"."""
    base = match["base"].lower().split()
    n = _number(match["n"]) * (-1 if match["way"].lower() == "before" else 1)
    about = _is_vague(match["n"]) or bool(_MODIFIED.search(place.before()))
    unit = _unit(match["unit"])
    if _ALTERNATIVE.search(place.before()) or (_COMPARED.search(place.before()) and not about):
        return None
    if unit in _DAYS:
        day = _nearest(place.today, _DAYS.index(unit), 1) if base[-1] == "now" and n > 0 and not about else None
        return None if day is None else _day(_shift(day, 7 * (n - 1)))
    if base[-1] == "now":
        return _moved(place.today, unit, n, about=about) if n > 0 else None
    if base[-1] in ("today", "tomorrow", "yesterday"):
        shift = ("yesterday", "today", "tomorrow").index(base[-1]) - 1
        day = _shift(place.today, shift)
        if day is None:
            return None
        return _moved(day, unit, n, about=True) if about else _same_day(day, unit, n)
    weekday = _DAYS.index(base[-1])
    if len(base) == 1:
        day = _nearest(place.today, weekday, 1) if match["way"].lower() == "from" and place.tense() != "past" else None
    else:
        day = _relative_weekday(" ".join(base[:-1]).removeprefix("the "), weekday, place)
    if day is None or about:
        return None
    return _same_day(day, unit, n)


def _week_on(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "A week on Monday", as the British say: the Monday after the next one."""
    if place.tense() != "future" or _is_vague(match["n"]):
        return None
    day = _nearest(place.today, _DAYS.index(match["weekday"].lower()), 1)
    return day and _day(_shift(day, 7 * _number(match["n"])))


def _ago(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "Three days ago", "a year and a half ago", "two Fridays ago", "a week ago today"."""
    half, unit_word = bool(match["half"] or match["halves"]), match["unit"]
    about = bool(_is_vague(match["n"]) or _MODIFIED.search(place.before()) or match["so"])
    if _ALTERNATIVE.search(place.before()) or _COMPARED.search(place.before()):
        return None
    if match["way"].lower() == "back" and not re.match(
        r"\s*(?:[.,;:!?)]|$|(?:and|when|i|we|he|she|they|my|our|his|her|the)\s)", place.after()
    ):
        return None
    n = _number(match["n"])
    if not n:
        return None
    if unit_word.lower().rstrip("s") in _DAYS:
        day = None if half or about else _nearest(place.today, _DAYS.index(unit_word.lower().rstrip("s")), -1)
        return None if day is None else _day(_shift(day, -7 * (n - 1)))
    unit, then = _unit(unit_word), (match["then"] or "").lower().split()
    if half:
        return _months(place.today, -12 * n - 6, about=True) if unit == "year" and not then else None
    if not then:
        return _moved(place.today, unit, -n, about=about)
    if then[-1] in ("today", "yesterday", "tomorrow"):
        day = _shift(place.today, ("yesterday", "today", "tomorrow").index(then[-1]) - 1)
        return None if day is None or about else _same_day(day, unit, -n)
    if then[-1] in _DAYS and unit == "week" and not about:
        near = _nearest(place.today, _DAYS.index(then[-1]), -1)
        one, other = _in_week(place.today, _DAYS.index(then[-1]), -n), near and _shift(near, -7 * n)
        return _day(one) if one == other else None  # the Friday of that week, or that many weeks before the last Friday
    return None


def _half_year_ago(match: re.Match[str], place: PhraseContext) -> Value | None:
    return _months(place.today, -6, about=True)


def _in(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "In three weeks", where it is when something will be, not how long it takes."""
    words, before = match["n"], place.before(80)
    before = re.split(r"[.!?;\n]", before)[-1]
    if _WITHIN.search(before) or re.match(
        r"\s*(?:or\b|of\b|to\b|-|–|’|'|before|after|later|earlier|that|which|an?\sweek|an?\smonth|an?\syear|per\b|each\b)",
        place.after(),
    ):
        return None
    n, unit, tense = _number(words), _unit(match["unit"]), place.tense()
    if unit == "weekend" or tense == "past" or not n:
        return None
    if tense == "unclear" and (not _PLEDGED.search(before) or _TELIC.search(before)):
        return None
    if _KEPT.search(before) or (
        tense == "none" and (_TELIC.search(before) or not (_IS.search(before) or _VISITS.search(before)))
    ):
        return None
    if (
        tense == "none" and n == 1 and _CLAUSE.search(before) and place.after().strip(" .!")
    ):  # "in a year trees grow a lot"
        return None
    if n == 1 and _TELIC.search(before):
        return None
    return _moved(place.today, unit, n, about=bool(_is_vague(words) or match["about"]))


def _some(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "The last three days": whole units, without the one that is under way."""
    n, unit, sign = _number(match["n"]), _unit(match["unit"]), _direction(match["when"])
    if _is_vague(match["n"]) or n < 2 or re.match(r"\s(?:of|in|before|at|left)\b", place.after()):
        return None
    if not match["the"] and not re.search(r"\b(?:in|over|during|for|within|past)\s$|^\s*$", place.before()):
        return None
    if (
        re.search(r"\b(?:first|once|twice|only|best|worst)\s(?:\w+\s){0,3}(?:in|of|over)\s$", place.before())
        and sign > 0
    ):
        return None
    if re.search(r"\bfor\s$", place.before()) and place.tense() == "none":  # "logs are kept for the last 30 days"
        return None
    ends = (-n, -1) if sign < 0 else (1, n)
    match unit:
        case "day":
            return _interval(_shift(place.today, ends[0]), _shift(place.today, ends[1]), "range")
        case "week" | "quarter":
            one = _week if unit == "week" else _quarter
            first, last = one(place.today, ends[0]), one(place.today, ends[1])
            return first and last and Value(f"{first.iso[:10]}/{last.iso[-10:]}", "range")
        case "month" | "year":
            one = _months if unit == "month" else _year
            first, last = one(place.today, ends[0]), one(place.today, ends[1])
            return first and last and Value(f"{first.iso}/{last.iso}", "range")
        case _:
            return None


def _relative_weekday(when: str, weekday: int, place: PhraseContext) -> date | None:
    words = when.lower().split()
    if len(words) == 2:  # this past, this coming
        return _nearest(place.today, weekday, _direction(when))
    match words[0]:
        case "last" | "past" | "previous":
            return _nearest(place.today, weekday, -1)
        case "coming" | "upcoming":
            return _nearest(place.today, weekday, 1)
        case "next" | "following":
            return _in_week(place.today, weekday, 1)
        case _:
            here = _in_week(place.today, weekday, 0)
            tense = place.tense() if here != place.today else "none"
            if here and ((tense == "past" and here > place.today) or (tense == "future" and here < place.today)):
                return _nearest(place.today, weekday, -1 if tense == "past" else 1)
            return here


def _weekday_beside(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "Last Friday", "this coming Tuesday evening"."""
    weekday, when = _weekday(match["weekday"]), match["when"].lower()
    if weekday is None or _narrated(when, place) or _of_something(place):
        return None
    return _day(_relative_weekday(when, weekday, place), _part(match))


def _unit_beside(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "Last week", "this month", "next year"."""
    unit, when = _unit(match["unit"]), match["when"].lower()
    n = _direction(when)
    if _of_something(place) or (_narrated(when, place) and (when, unit) != ("past", "weekend")):
        return None
    # "this past week" may be seven days or the week before; a weekend is no matter of taste
    if " " in when or when == "past":
        if unit != "weekend":
            return None if n < 0 or when == "past" else _unit_at(place.today, unit, n)
        return _weekend(place.today, -1 if n < 0 else 0 if place.today.weekday() < 5 else 1)
    if unit == "weekend" and when == "this":
        past = place.today.weekday() < 4 and place.tense() == "past"
        return _weekend(place.today, -1 if past else 0)
    if unit == "weekend" and when in ("coming", "upcoming"):
        return _weekend(place.today, 0 if place.today.weekday() < 5 else 1)
    return _unit_at(place.today, unit, n)


def _unit_at(today: date, unit: str, n: int) -> Value | None:
    match unit:
        case "week":
            return _week(today, n)
        case "weekend":
            return _weekend(today, n)
        case "month":
            return _months(today, n)
        case "quarter":
            return _quarter(today, n)
        case _:
            return _year(today, n)


def _month_beside(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "Last December": only where every reading is the same month."""
    when, month = match["when"].lower(), _MONTHS.index(match["month"].lower()) + 1
    if not match["month"][0].isupper() or _narrated(when, place) or re.match(r"\s(?:\d|of\b)", place.after()):
        return None
    year, n, here = place.today.year, _direction(when), place.today.month
    if n == 0:
        return Value(f"{year:04}-{month:02}", "month")
    back, ahead = year - (month >= here), year + (month <= here)
    chosen = back if n < 0 else ahead
    if " " not in when and chosen == year:  # "last March", said in April, may be the one a year before
        return None
    return Value(f"{chosen:04}-{month:02}", "month") if 1 <= chosen <= 9999 else None


def _bare_weekday(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "On Monday we met", "by Friday": only where the verb or the preposition tells which one."""
    before, after = place.before(), place.after()
    if _HABIT.search(re.split(r"[.!?\n]", place.before(160))[-1]) or _HABIT.search(re.split(r"[.!?\n]", after)[0]):
        return None
    if re.match(r"s\b|\s(?:school|best|roast|week|club|market)s?\b", after):
        return None
    led = re.search(r"(?:^|[\s(])(on|by|since|until|till|before|after|from|for|this)\s(?:early\s|late\s)?$", before)
    if not led and not (match["part"] and not _NO_PART.search(before)) and not _LOOSE_END.match(after):
        return None
    near = place.text[max(0, place.start - 2) : place.start]
    opens = bool(match["part"]) and (not near or near[-1] == "\n" or near in (". ", "! ", "? "))
    if not led and not match["weekday"][0].isupper():
        return None
    if not led and not opens and (not re.search(r"[a-z]\s$", near) or _NO_LOOSE.search(before)):
        return None
    tense, word = place.tense(), led[1] if led else ""
    if word == "since":
        tense = "past"
    elif re.search(
        r"\b(?:is|are|'s|be|due|starts|begins|leaves|arrives|opens|ends|closes|expires|departs|free|available)\s(?:on|for|by)\s$",
        before,
    ):
        tense = "future" if tense in ("none", "future") else "unclear"
    elif tense == "none" and (word in ("by", "until", "till") or _BOOKED.search(before)):
        tense = "future"
    elif word in ("for", "from", "before", "after") and tense != "future":
        return None
    if tense not in ("past", "future") or (tense == "future" and not (led or match["part"] or _SOON.search(before))):
        return None
    weekday = _DAYS.index(match["weekday"].lower())
    return _day(_nearest(place.today, weekday, -1 if tense == "past" else 1), _part(match))


def _the_weekend(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "Over the weekend", said on a working day."""
    if place.today.weekday() > 4 or re.match(r"\s(?:of|before|after)\b", place.after()):
        return None
    tense = place.tense()
    return _weekend(place.today, -1 if tense == "past" else 0) if tense in ("past", "future") else None


_OWNED: Final = re.compile(
    r"(?:\b(?:the|an?|my|his|their|our|your|its|every|each|that|very|one|no|any|second|third)"
    r"|\b(?:in|during|on|of|since|is|was|it's|for)\sher|^her|[.!?]\sher|\b(?!(?:it|he|she|that|what|who|there|here|where|how|when)['’])[a-z]+['’]s)\s$"
)
"""Words that make a "last week" one of a story, not of the day it is recorded."""
_STORY: Final = re.compile(
    r"\b(?:the|an?|my|his|her|their|our|your|its|every|each|that|very|one|no|any|in\sthe|by\sthe)\s$"
)


def _narrated(when: str, place: PhraseContext) -> bool:
    """Whether "the next week" and its like are those of a story."""
    before = place.before()
    if when == "current" and re.search(r"\bthe\s$", before):  # as manuals speak
        return True
    if when in ("coming", "upcoming", "current"):
        return bool(re.search(rf"\b(?:my|his|her|their|our|your|its|every|each|any|no|{_N})\s$", before))
    if when in ("previous", "following", "past"):
        return bool(_STORY.search(before))
    return not when.startswith("this") and bool(_OWNED.search(before))


def _of_something(place: PhraseContext) -> bool:
    """ "Last week of March", "next year of school"; "last year in June" is in that year."""
    if re.match(rf"\sin\s{_M_LOW}\b", place.after()) and re.search(
        r"(?:year|yr)$", place.text[place.start : place.end].lower()
    ):
        return False
    return bool(
        re.match(
            rf"\s(?:of\s(?:{_M_LOW}|\d{{4}}|school|college|university|work|summer|winter|spring|autumn|fall|pregnancy|(?:the|my|our|his|her|their|each|every"
            rf"|last|this|next)\s(?:\w+\s)?(?:week|month|quarter|year|semester|term|season|school|college|course|trip|summer|winter|spring|autumn"
            rf"|fall|holidays?|vacation|stay|decade|century|contract|project))\b|in\s{_M_LOW}\b|before\slast|after\snext|in\sa\srow|in\s(?:\d{{4}})\b)",
            place.after(),
        )
    )


_WITHIN: Final = re.compile(
    r"\b(?:how\s(?:many|much|long)|first|once|twice|times?|best|worst|biggest|most|only|longest|record|not|never|no|nobody|none|per|average|every|each|"
    r"haven't|hasn't|hadn't|didn't|isn't|don't|can|could|able|times|more|less|the\s\w+est|within|all)\b(?:\s\w+){0,6}\s$|n't\s(?:\w+\s){0,6}$"
)
_PLEDGED: Final = re.compile(r"(?<!was\s)(?<!were\s)\b(?:promised|scheduled|booked|arranged|agreed|expected|decided)\b")
_VISITS: Final = re.compile(
    r"\b(?:is|are|visits?|comes?|sends?|goes|travels|fl(?:y|ies)|returns?|retires?|moves|joins|meets|graduates?|reopens?|resumes?)(?:\s\w+){0,5}\s$"
)
_TELIC: Final = re.compile(
    r"\b(?:(?:finish|complet|learn|read|build|los|writ|memoriz|memoris|master|gain|earn|sav|deliver|mak|cook|grow|chang|doubl|achiev|solv|fix|"
    r"recover|heal|pay|tak|ship)(?:e|es|s|ing|ed|d)?|do|does|done|made)\b"
)
_IS: Final = re.compile(
    r"(?:\b(?:is|are|be|due|back|home|again|starts|begins|leaves|ends|closes|opens|departs|arrives|lands|expires|you|here|there|starting|leaving)"
    r"|['’]s|(?:^|[,:]|\b(?:and|but|so))|\bexactly|\bjust)\s?$"
)
_CLAUSE: Final = re.compile(r"(?:^|[,:]|\b(?:and|but|so))\s?$")
_KEPT: Final = re.compile(
    r"\b(?:(?<!my\s)(?<!our\s)(?<!his\s)(?<!her\s)(?<!your\s)(?<!their\s)(?!visa|passport)\w+\s(?:will\s)?expires?)\s$"
)
_NO_PART: Final = re.compile(
    r"\b(?:every|each|an?|the|any|all|most|some|usual|typical|lazy|quiet|rainy|sunny|on\s\w+)\s$"
)
_LOOSE_END: Final = re.compile(r"\s*(?:[.!?;)]|,\s|$)|\s(?:at\s\d|and\s(?:i|we|he|she|they|my|our|it)\b)")
_NO_LOOSE: Final = re.compile(
    r"(?:\b(?:every|each|an?|the|any|all|most|some|is|was|be|it's|that's|than|like|love|loves|hate|hates|called|named|and|or|of|to|next|watch|"
    r"watched|watching|read|saw|see|with|my|our|her|his|your|their|but|about|as)|['’]s)\s$"
)
_HABIT: Final = re.compile(
    r"\b(?:when\s(?:i|he|she|we|they)\swas|when\swe\swere|as\sa\s(?:child|kid|boy|girl)|back\sthen|used\sto|every|each|usually|always|often|sometimes|"
    r"normally|typically|generally|weekly|week\s(?:start|end|begin)s|childhood|in\s(?:19|20)\d\d)\b"
)
"""Nobody means one certain Sunday in such company."""
_BOOKED: Final = re.compile(
    r"\b(?:have|has|got|['’]ve\sgot)\s(?:an?|my|the|our|his|her)\s(?:[\w'’-]+\s){0,3}"
    r"(?:appointment|meeting|interview|exam|test|flight|date|party|call|wedding|concert|deadline|presentation|surgery)\son\s$"
)
_SOON: Final = re.compile(r"\b(?:see\s(?:you|ya|u)|arrives|leaves|starts|begins|due)\s$")
_NTH: Final = (("last",), ("first", "1st"), ("second", "2nd"), ("third", "3rd"), ("fourth", "4th"), ("fifth", "5th"))


def _rule(name: str, pattern: str, resolve: _Resolve) -> Rule:
    return Rule(name, re.compile(pattern, re.IGNORECASE), resolve)


_BASE = rf"now|today|tomorrow|yesterday|(?:(?:the{_S})?{_REL}{_S})?{_W}"
_AFTERWARDS = (
    rf"(?:{_S}(?P<then>today|yesterday|tomorrow|(?:on{_S}|last{_S}|this{_S}|next{_S})?{_W}|(?:last|this|next){_S}\w+))?"
)
RULES: Final[Sequence[Rule]] = (
    _rule(
        "day before yesterday",
        rf"(?:the{_S})?day{_S}(?:(?:before|b4){_S}{_YESTERDAY}|(?P<after>after{_S}{_TOMORROW}))\b",
        _two_days,
    ),
    _rule(
        "week before last",
        rf"(?:the{_S})?(?P<unit>night|week-?end|week|month|quarter|year|{_W}){_S}(?P<way>before{_S}last|after{_S}next)\b"
        rf"(?!{_S}(?:{_ONE}|{_W}|{_PART})\b)",
        _before_last,
    ),
    _rule(
        "this time last week",
        rf"(?:about{_S})?(?:this|(?:the{_S})?same){_S}time{_S}(?P<when>last|next){_S}(?P<unit>week|year)\b",
        _this_time,
    ),
    _rule("this time last year", rf"(?:this|same|that){_S}(?:time|day|week|month){_S}(?:last|next){_S}\w+", _nothing),
    _rule("a week last Monday", rf"(?P<n>{_N}){_S}weeks?{_S}(?P<when>last|next|this){_S}{_W}\b", _nothing),
    _rule(
        "back in March",
        rf"back{_S}in{_S}(?:early{_S}|mid[\s-]|late{_S})?(?P<month>{_M})\b",
        _back_in,
    ),
    _rule(
        "the end of the month",
        rf"(?:the{_S})?end{_S}of{_S}the{_S}(?P<unit>week|month|quarter|year)\b|(?P<side>earlier|later|sometime)"
        rf"{_S}(?:on{_S})?in{_S}the{_S}(?P<unit2>week|month|year)\b",
        _of_the_unit,
    ),
    _rule(
        "first Monday of the month",
        rf"(?:the{_S})?(?P<which>first|second|third|fourth|fifth|last|1st|2nd|3rd|4th|5th){_S}(?P<weekday>{_W}){_S}(?:of|in){_S}"
        rf"(?:the{_S})?(?P<when>{_REL}){_S}month\b",
        _ordinal_weekday,
    ),
    _rule(
        "3rd to 9th of next month",
        rf"(?:(?:from|between){_S})?(?:the{_S})?(?P<first>[0-3]?\d)(?:st|nd|rd|th)?\s?(?:to|through|until|till|and|-|–)\s?(?:the{_S})?"
        rf"(?P<second>[0-3]?\d)(?:st|nd|rd|th)?{_S}of{_S}(?:the{_S})?(?P<when>{_REL}){_S}month\b",
        _days_in_month,
    ),
    _rule(
        "5th of last month",
        rf"(?:the{_S})?(?P<number>[0-3]?\d)(?:st|nd|rd|th)?(?:{_S}day)?{_S}of{_S}(?:the{_S})?(?P<when>{_REL}){_S}month\b",
        _day_in_month,
    ),
    _rule(
        "Monday of last week",
        rf"(?P<weekday>{_W}){_PARTS}(?:{_S}(?:of|in|from))?(?:{_S}the)?{_S}(?P<when>{_REL}){_S}week\b(?!-?end)",
        _weekday_of_week,
    ),
    _rule(
        "Monday of last week",
        rf"(?P<when>{_REL}){_S}week(?:['’]s)?,?{_S}(?:on{_S})?(?P<weekday>{_W})\b{_PARTS}(?!{_S}(?:to|and|or|through)\b|s\b)",
        _weekday_of_week,
    ),
    _rule(
        "from Monday to Wednesday",
        rf"(?:from|between){_S}(?P<first>{_W}){_S}(?:to|through|thru|until|till|and){_S}(?P<second>{_W})\b"
        rf"(?:{_S}(?:of{_S})?(?P<when>last|this|next){_S}week\b)?",
        _weekday_range,
    ),
    _rule(
        "Monday to Friday",
        rf"(?:{_W}|{_SHORT})s?\s?(?:to|through|thru|until|till|-|–|/|,|,?\sand|,?\sor|&)\s?(?:{_W}|{_SHORT})s?\b",
        _nothing,
    ),
    _rule(
        "two weeks from Monday",
        rf"(?P<n>{_N}){_S}(?P<unit>{_U}|{_W}s?){_S}(?P<way>from|after|before){_S}(?:right{_S})?(?P<base>{_BASE})\b",
        _from,
    ),
    _rule("hence", rf"(?P<n>{_N}){_S}(?P<unit>{_U}){_S}(?P<way>hence)(?P<base>)\b", lambda m, p: _hence(m, p)),
    _rule("a week on Monday", rf"(?P<n>{_N}){_S}weeks?{_S}on{_S}(?P<weekday>{_W})\b", _week_on),
    _rule("tomorrow week", rf"(?:today|tomorrow|{_W}){_S}(?:week|fortnight)\b", _nothing),
    _rule("half a year ago", rf"half{_S}an?{_S}year{_S}ago\b", _half_year_ago),
    _rule("ago with half a unit", rf"half{_S}an?{_S}{_U}{_S}ago\b", _nothing),
    _rule(
        "N units ago",
        rf"(?P<n>{_N})(?P<half>{_S}and{_S}a{_S}half)?{_S}(?P<unit>{_U}|{_W}s?)(?P<halves>{_S}and{_S}a{_S}half)?(?P<so>{_S}or{_S}so)?"
        rf"{_S}(?P<way>ago|back)\b{_AFTERWARDS}",
        _ago,
    ),
    _rule(
        "in N units",
        rf"in{_S}(?P<about>(?:about|around|roughly|approximately|just|another){_S})?(?P<n>{_N}){_S}(?:more{_S})?(?P<unit>{_U})\b"
        rf"(?:['’]?s?['’]?{_S}time\b)?(?!{_S}(?:ago|back)\b)",
        _in,
    ),
    _rule(
        "the last N units",
        rf"(?P<the>(?:the|these){_S})?(?P<when>last|past|previous|next|following|coming){_S}(?P<n>{_N}|several|many){_S}(?:\w+{_S}){{0,1}}?(?P<unit>{_U})\b",
        lambda m, p: (
            None
            if m["n"].lower() in ("several", "many") or len(m[0].split()) > len(m["n"].split()) + 2 + bool(m["the"])
            else _some(m, p)
        ),
    ),
    _rule(
        "last night",
        rf"(?P<when>last|this){_S}(?:early{_S}|late{_S}|very{_S})?(?P<part>{_PART})\b|lastni(?:ght|te)\b",
        _this_part,
    ),
    _rule(
        "last Friday",
        rf"(?P<when>{_REL}){_S}(?P<weekday>{_W}|{_SHORT}){_PARTS}(?![\w])",
        _weekday_beside,
    ),
    _rule("last week", rf"(?P<when>{_REL}){_S}(?P<unit>{_ONE})\b", _unit_beside),
    _rule("last March", rf"(?P<when>{_REL}){_S}(?P<month>{_M})\b", _month_beside),
    _rule("yesterday", rf"(?P<day>{_YESTERDAY}|today|{_TOMORROW}|{_TONIGHT})\b{_PARTS}", _named_day),
    _rule("over the weekend", rf"(?:over|during|at|on){_S}the{_S}week-?end\b", _the_weekend),
    _rule("on Monday", rf"(?P<weekday>{_W})\b{_PARTS}", _bare_weekday),
)


def _hence(match: re.Match[str], place: PhraseContext) -> Value | None:
    about = _is_vague(match["n"])
    return _moved(place.today, _unit(match["unit"]), _number(match["n"]), about=about)


_ANY: Final = re.compile(
    r"(?<!\w)(?:"
    + "|".join(f"(?P<r{n}>{re.sub(r'[(][?]P<[a-z]+>', '(?:', rule.pattern.pattern)})" for n, rule in enumerate(RULES))
    + ")",
    re.IGNORECASE,
)
HINT: Final = (
    r"(?i)\b(?:yest[a-z]{3,5}|yeterday|today|(?:to|2)m[a-z]{3,6}|tmr{0,2}w?|(?:to|2)ni(?:ght|te)|lastni(?:ght|te)|back\sin\s|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|week-?ends?|wk-?e?nd"
    r"|(?:last|this|next|past|previous|current|following|coming|upcoming)\s|(?:day|night|week|wk|fortnight|month|mth|mo|quarter|qtr|year|yr|decade)s?)\b"
)
"""Without a match of this there is no phrase; RE2 and Python read it alike."""
