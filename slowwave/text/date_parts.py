"""Rules for dates in a part of a unit or a season.

Examples: "mid-March", "the end of next quarter", "last summer", "on Christmas Eve".
"""

from __future__ import annotations

import calendar
import re
from datetime import date, timedelta
from typing import Final

from slowwave.text.date_context import HABIT, PhraseContext, narrated, of_something
from slowwave.text.date_values import (
    MONTHS,
    Value,
    day_of_month,
    day_value,
    direction_of,
    interval,
    is_vague,
    month_after,
    number_of,
    shifted,
    unit_at,
)

# Parts of units: "earlier this month", "the end of next quarter", "late last year", "mid-March", "in June", "on the 9th".
#
# A phrase that is not one day becomes an interval: a third of a month, a month of a quarter, the first or last month of a year.

_Side = tuple[date, date]


def side_of_this(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "earlier this month" (up to today), "later this week" (from today on), "earlier today"."""
    if not match["unit"]:
        return day_value(place.today)
    whole = _whole(place.today, match["unit"].lower(), 0)
    if whole is None:
        return None
    first, last = whole
    return interval(*((first, place.today) if match["side"].lower() == "earlier" else (place.today, last)), "range")


def side_of_unit(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "the end of next quarter", "early next week", "late last year"."""
    when = match["when"].lower()
    if when in ("previous", "following") or of_something(place):
        return None
    return _side(place.today, match["unit"].lower(), direction_of(when), match["side"].lower())


def side_of_month(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "mid-March", "in late June" to the nearest one in the direction of the verb."""
    found = _nearest_month(match, place, same=True)
    if found is None:
        return None
    first, last = _third(*found, re.sub(r"^the\s|\sof$", "", match["side"].lower()))
    past = place.tense() == "past"
    if (past and first > place.today) or (not past and last < place.today):  # the current month
        first, last = _third(found[0] - 1 if past else found[0] + 1, found[1], match["side"].lower())
    return interval(first, last, "range")


def week_of_month(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "in the first week of February" to the first or last seven days of the month.

    The month is the nearest one in the direction of the verb.
    """
    found, which = _nearest_month(match, place, same=True), match["which"].lower()
    if found is None or which not in ("first", "1st", "last") or not _AT_A_TIME.search(place.before()):
        return None
    last = calendar.monthrange(*found)[1]
    one, other = (date(*found, day) for day in ((last - 6, last) if which == "last" else (1, 7)))
    over = other < place.today if place.tense() == "past" else one > place.today
    return interval(one, other, "range") if over else None


def half_of_year(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "in the second half of the year".

    If the phrase does not name another year, the current one is meant; then the verb must be in the past tense for a half that has begun,
    else in the future tense.
    """
    second, tense = match["which"].lower() == "second", place.tense()
    n = direction_of(match["when"]) if match["when"] else 0
    begun = not second or place.today.month > 6
    if HABIT.search(_sentence(place)) or (not match["when"] and tense != ("past" if begun else "future")):
        return None
    year = place.today.year + n
    return Value(f"{year:04}-{'07' if second else '01'}/{year:04}-{'12' if second else '06'}", "range")


def bare_month(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "in June", "since November" to the nearest one in the direction of the verb, but never the current month."""
    found = _nearest_month(match, place, same=False)
    return None if found is None else Value(f"{found[0]:04}-{found[1]:02}", "month")


def day_of_the_month(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "on the 9th" to the nearest one in the direction of the verb."""
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
    """Return whether a day with that number is at most 7 days away on the other side: "on the 8th", said on the 9th.

    Such a day may be the one that is meant.
    """
    found = (shifted(today, step * days) for days in range(1, _NEAR + 1))
    return any(day is not None and day.day == number for day in found)


def by_rule(place: PhraseContext) -> bool:
    """Return whether the sentence states a rule and not an event: "logs are kept for the past 7 days"."""
    return bool(_KEEPS.search(re.split(r"[.!?\n]", place.before(160))[-1]))


def lately(place: PhraseContext, unit: str) -> Value | None:
    """Resolve "the past week", "this past month": a period of that length that ends yesterday."""
    if by_rule(place):
        return None
    return interval(_back(place.today, unit, -1), shifted(place.today, -1), "range")


def soon(place: PhraseContext, unit: str) -> Value | None:
    """Resolve "within the next week": a period of that length that begins tomorrow."""
    last = _back(place.today, unit, 1)
    return interval(shifted(place.today, 1), last, "range")


def few(place: PhraseContext, unit: str, sign: int) -> Value | None:
    """Resolve "the last few days", "the next few weeks": about three."""
    days = {"day": 3, "week": 21}.get(unit)
    if days is None:
        return None
    first, last = (-days, -1) if sign < 0 else (1, days)
    found = interval(shifted(place.today, first), shifted(place.today, last), "range")
    return found and found._replace(about=True)


def _back(today: date, unit: str, n: int) -> date | None:
    """Return the day ``n`` weeks, months or years away."""
    if unit == "week":
        return shifted(today, 7 * n)
    found = month_after(today, n * (12 if unit == "year" else 1))
    return found and date(*found, min(today.day, calendar.monthrange(*found)[1]))


def _nearest_month(match: re.Match[str], place: PhraseContext, *, same: bool) -> tuple[int, int] | None:
    """Return year and month of the nearest such month; ``same`` allows the current month."""
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
    """Return the first and last day of a third of a month."""
    if side in ("early", "start", "beginning"):
        return date(year, month, 1), date(year, month, 10)
    if side in ("mid", "middle"):
        return date(year, month, 11), date(year, month, 20)
    return date(year, month, 21), date(year, month, calendar.monthrange(year, month)[1])


def past_led(place: PhraseContext) -> bool:
    """Return whether "the past week" is relative to today: it follows "over", "in", "for" or a similar word."""
    return bool(_DURING.search(place.before()))


def next_led(place: PhraseContext) -> bool:
    """Return whether "the next week" means the coming days: it follows "within", "over" or "during"."""
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


# Seasons and feasts: "last summer", "in the spring of 2021", "on Christmas Eve" and "two winters ago" on a given day.
#
# A season is the three meteorological months of the northern hemisphere (summer is June to August), as an interval of months; winter
# belongs to the year in which it begins. Feasts are those of the Western calendar, Thanksgiving that of the United States. If two years
# are about equally likely ("next summer", said in April), there is no value.

SEASON: Final = r"(?:summer|autumn|fall|winter|spring)"
FEAST: Final = (
    r"(?:christmas(?:\s(?:eve|day))?|new\syear['’]?s\s(?:eve|day)|easter(?:\s(?:sunday|monday))?|good\sfriday|thanksgiving(?:\sday)?|halloween"
    r"|valentine['’]?s\sday|boxing\sday|black\sfriday|(?:the\s)?holidays)"
)

_FIRST: Final = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_FAR_ENOUGH: Final = 21
"""Number of days to a feast from which on "last" and "next" mean the nearest one."""

_AROUND: Final = 60
"""Number of days around a feast within which an activity for it shows which one is meant."""


def season_of_year(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "the spring of 2021", "fall 2022"."""
    return _season(match["season"].lower(), int(match["year"]))


def season_beside(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "last summer", "this winter", "this past spring"."""
    when, season = match["when"].lower(), match["season"].lower()
    if narrated(when, place) or of_something(place) or _NOUN_AFTER.match(place.after()):
        return None
    since, until = _months_since(season, place.today), _months_until(season, place.today)
    n, nearest_one = direction_of(when), " " in when or when in ("past", "coming", "upcoming")
    if n < 0:
        return _moved(season, place.today, -since) if nearest_one or since >= (1 if season == "winter" else 2) else None
    if n > 0:
        return _moved(season, place.today, until) if nearest_one or until >= 4 else None
    if _within(season, place.today):
        return _moved(season, place.today, 0)
    match place.tense():  # in March "this winter" may be either
        case "past":
            return _moved(season, place.today, -since) if since <= _LATELY else None
        case "future":
            return _moved(season, place.today, until) if until <= _SOON else None
        case _:
            return None


def in_the_season(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "over the summer" to the last one in a past sentence, "in the fall" to the next one in a future sentence."""
    season, led = match["season"].lower(), match["led"].lower()
    if _within(season, place.today) or HABIT.search(_sentence(place)) or _NOUN_AFTER.match(place.after()):
        return None
    tense = "past" if led == "since" else place.tense()
    if tense == "past" and led != "in":  # "in the spring" may be relative to a story
        return _moved(season, place.today, -_months_since(season, place.today))
    return _moved(season, place.today, _months_until(season, place.today)) if tense == "future" else None


def seasons_ago(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "two summers ago"; the last summer is one summer ago."""
    season, n = match["season"].lower(), number_of(match["n"])
    if is_vague(match["n"]) or not n or _within(season, place.today):
        return None
    return _moved(season, place.today, -_months_since(season, place.today) - 12 * (n - 1))


def feast(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "last Christmas", "on New Year's Eve", "over Easter", "for Halloween this year"."""
    name = re.sub(r"^the\s", "", " ".join(match["feast"].lower().replace("’", "'").replace("'", "").split()))
    led = _LED.search(place.before()) or _SPENT.search(place.before())
    when, year = (match["when"] or "").lower(), (match["year"] or "").lower()
    is_topic = bool(_OPENS_DATE_SEASONS.search(place.before())) and bool(_TOLD_OF.match(place.after()))
    if not (led or when or year or is_topic) or not (
        is_topic or _FEAST_ENDS.match(place.text[place.end : place.end + 24])
    ):
        return None
    if HABIT.search(_sentence(place)) or (when and narrated(when, place)):
        return None
    whole = bool(led and led[1] in ("over", "during") and name in ("christmas", "easter"))
    if year:
        return _feast_value(name, place.today.year + direction_of(year.split()[0]), match, whole)
    if name == "holidays" and not (led and led[1] == "over"):
        return None
    years = range(place.today.year - 2, place.today.year + 3)
    days = [(y, found[0]) for y in years if (found := _feast_days(name, y))]
    back = [(y, d) for y, d in days if d < place.today]
    ahead = [(y, d) for y, d in days if d > place.today]
    n, tense = (direction_of(when), "none") if when else (0, place.tense())
    if when and not n:
        n = -1 if place.tense() == "past" else 1
    elif when and " " not in when:
        near = back[-1] if n < 0 else ahead[0]
        if abs((place.today - near[1]).days) < _FAR_ENOUGH:
            return None
    elif not when:
        n = {"past": -1, "future": 1}.get(tense, 0)
        if n < 0 and (is_topic or (led and led[1] == "spent")) and (place.today - back[-1][1]).days > _AROUND:
            return None
        if led and led[1] == "for" and n < 0:  # "I bought a coat for Christmas": a past one, or the next one
            since, until = (abs((place.today - d).days) for d in (back[-1][1], ahead[0][1]))
            n = 0 if min(since, until) > _AROUND else -1 if since < until else 1
    if not n:
        return None
    return _feast_value(name, (back[-1] if n < 0 else ahead[0])[0], match, whole)


def _feast_value(name: str, year: int, match: re.Match[str], whole: bool) -> Value | None:
    first, last = _feast_days(name, year, whole=whole)
    part = (match["part"] or "").lower()
    return day_value(first, part) if first == last else interval(first, last, "range")


def _feast_days(name: str, year: int, *, whole: bool = False) -> tuple[date, date]:
    """Return the first and last day of a feast in a year.

    ``whole`` selects the holidays of Easter or Christmas instead of the single day.
    """
    easter = _easter(year)
    thanksgiving = date(year, 11, 1) + timedelta(days=(3 - date(year, 11, 1).weekday()) % 7 + 21)
    if whole:
        if name == "easter":
            return easter - timedelta(days=2), easter + timedelta(days=1)
        return date(year, 12, 24), date(year, 12, 26)
    match name:
        case "holidays":
            return date(year, 12, 24), date(year + 1, 1, 1)
        case "christmas" | "christmas day":
            day = date(year, 12, 25)
        case "christmas eve":
            day = date(year, 12, 24)
        case "boxing day":
            day = date(year, 12, 26)
        case "new years eve":
            day = date(year, 12, 31)
        case "new years day":
            day = date(year, 1, 1)
        case "valentines day":
            day = date(year, 2, 14)
        case "halloween":
            day = date(year, 10, 31)
        case "good friday":
            day = easter - timedelta(days=2)
        case "easter monday":
            day = easter + timedelta(days=1)
        case "thanksgiving" | "thanksgiving day":
            day = thanksgiving
        case "black friday":
            day = thanksgiving + timedelta(days=1)
        case _:
            day = easter
    return day, day


def _easter(year: int) -> date:
    """Return Easter Sunday in the Gregorian calendar (Meeus's algorithm)."""
    a, (b, c) = year % 19, divmod(year, 100)
    d, e = divmod(b, 4)
    h = (19 * a + b - d - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    i, k = divmod(c, 4)
    rest = (32 + 2 * e + 2 * i - h - k) % 7
    m = (a + 11 * h + 22 * rest) // 451
    month, day = divmod(h + rest - 7 * m + 114, 31)
    return date(year, month, day + 1)


def _season(season: str, year: int) -> Value | None:
    return _moved(season, date(year, _FIRST[season], 1), 0) if 1 <= year < 9999 else None


def _within(season: str, today: date) -> bool:
    return (today.month - _FIRST[season]) % 12 < 3


def _months_since(season: str, today: date) -> int:
    """Return the months since the end of the last such season; within a season, since the season a year before."""
    since = (today.month - _FIRST[season] - 2) % 12
    return since or 12


def _months_until(season: str, today: date) -> int:
    """Return the months until the next such season that has not begun."""
    return (_FIRST[season] - today.month) % 12 or 12


def _moved(season: str, today: date, months: int) -> Value | None:
    """Return the season that ended or begins ``months`` away, or the current one for 0.

    A negative number counts back to the end of the season, a positive number counts ahead to its start.
    """
    if months > 0:
        first = month_after(today, months)
    elif months < 0:
        first = month_after(today, months - 2)
    else:
        first = month_after(today, -((today.month - _FIRST[season]) % 12))
    last = None if first is None else month_after(date(*first, 1), 2)
    if first is None or last is None:
        return None
    return Value(f"{first[0]:04}-{first[1]:02}/{last[0]:04}-{last[1]:02}", "range")


_LATELY: Final = 7
_SOON: Final = 9
"""Maximum number of months that "this summer" may be in the past or future."""

_LED: Final = re.compile(r"\b(on|at|over|during|since|until|till|by|before|after|for|around|last|this)\s(?:the\s)?$")
_SPENT: Final = re.compile(r"\b(spent|spend(?:ing)?|celebrated?|celebrating|hosted|hosting)\s(?:the\s)?$")
_OPENS_DATE_SEASONS: Final = re.compile(r"(?:^|[.!?;:\n]|\b(?:and|but|so))\s*$")
_TOLD_OF: Final = re.compile(
    r"\s(?:(?:will\s(?:not\s)?be|is\sgoing\sto\sbe|went\s(?:well|fine|great|badly|wrong|smoothly|by)|turned\sout)\b(?!\s(?:an?\s\w+\s(?:day|holiday|feast)|always|forever)\b)"
    r"|was\s(?!(?:an?|the|my|his|her|our|their|originally|first|once|never|always|called|named|invented|banned|introduced|created|about|for|to|when|why)\b)"
    r"|was\san?\s(?:\w+\s)?(?:disaster|blast|mess|success|joy|nightmare|delight|washout|hit|flop)\b)"
)
"""Statements about one particular feast: "Halloween was fun", "Thanksgiving will be at her house"."""

_FEAST_ENDS: Final = re.compile(
    r"\s*(?:[.,;:!?)]|$)|\s(?:is|was|will|falls|i|he|she|we|they|it|you|the|an?|her|his|my|our|their|with|at|in|and|but|because|when|somebody|nobody|everybody|"
    r"(?-i:(?!Island|Carol|Market|Tree|Story|Party|Song|Sale|Parade)[A-Z][a-z]+))\b",
    re.IGNORECASE,
)
_NOUN_AFTER: Final = re.compile(
    r"\s(?:school|camp|solstice|equinox|term|semester|break|holidays?|sale|collection|olympics|garden|house|job|internship|clothes|coat|vacation|"
    r"season|festival|breeze|rain|heat|time|cleaning|line|of\s(?:his|her|my|their|our|life|love))\b"
)
