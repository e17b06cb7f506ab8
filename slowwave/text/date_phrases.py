"""The English grammar of relative dates: the phrases, and the ISO value of each in its context on a given day."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import Final, NamedTuple

from slowwave.text.date_context import (
    ALTERNATIVE,
    BOOKED,
    CLAUSE,
    COMES_ONCE,
    COMPARED,
    GIVEN_UP,
    HABIT,
    IS,
    KEPT,
    KEPT_HOURS,
    LETS,
    LOOSE_END,
    MODIFIED,
    NO_LOOSE,
    NO_PART,
    ONE_DAY_IS,
    OPENS,
    OWN_VERB,
    OWNED,
    PLEDGED,
    PUT_OFF,
    SETS_OUT,
    SOON,
    TAKES_PLACE,
    TELIC,
    TO_COME,
    VISITS,
    WEEKLY,
    WITHIN,
    PhraseContext,
    narrated,
    of_something,
)
from slowwave.text.date_parts import (
    FEAST,
    SEASON,
    bare_month,
    by_rule,
    day_of_the_month,
    feast,
    few,
    half_of_year,
    in_the_season,
    lately,
    next_led,
    past_led,
    season_beside,
    season_of_year,
    seasons_ago,
    side_of_month,
    side_of_this,
    side_of_unit,
    soon,
    week_of_month,
)
from slowwave.text.date_values import (
    DAYS,
    MONTHS,
    ONE,
    PART,
    PARTS,
    REL,
    SHORT,
    TOMORROW,
    TONIGHT,
    YESTERDAY,
    M,
    N,
    S,
    U,
    Value,
    W,
    day_of_month,
    day_value,
    direction_of,
    in_week,
    interval,
    is_vague,
    month_after,
    month_value,
    moved,
    nearest,
    number_of,
    quarter_value,
    same_day,
    shifted,
    unit_at,
    unit_of,
    week_value,
    weekday_of,
    weekend_value,
    year_value,
)

# Resolvers: the value of a match of each date phrase in its context; None if it is ambiguous. The patterns are at the end of this module.

_THE: Final = re.compile(r"\bthe\s$")
_WEEKDAY: Final = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_BESIDE_ANOTHER: Final = re.compile(
    rf"\b{_WEEKDAY}\s(?:for|from|to|until|till|before|after|not|instead\sof|rather\sthan)\s$"
)
_ANOTHER_BESIDE: Final = re.compile(
    rf"\s(?:for|from|to|until|till|before|after|not|instead\sof|rather\sthan)\s(?:on\s|the\s)?{_WEEKDAY}\b"
)
"""Two weekdays that are related, as in a rule: "order them by Tuesday for Friday"."""

_ORDER: Final = re.compile(
    r"\W*(?:please\s)?(?:call|send|buy|pick|book|check|pay|order|water|meet|email|submit|finish|prepare|review|schedule|bring|take|return|renew|"
    r"cancel|collect|drop|feed|move|print|write|register|ask|tell|give|get|fix|deploy|update|visit|remind|cook|clean|attend|start|file|sign|"
    r"post|reply|ship|deliver|upload|phone|text|invite|pack|set|make|do)\s(?:the|a|an|my|his|her|our|their|up|off|out|back|in|him|them|me|[a-z]+)\s"
)
_DIARY: Final = re.compile(
    r"\W*(?:[\w'-]+\s){0,4}?(?:appointment|meeting|interview|exam|flight|check-?up|concert|demo|presentation|deadline|delivery|viewing|lesson)\s"
    r"(?:with\s(?:\w+\s){1,3}|at\sthe\s\w+\s)?on\s$"
)
_WHOLE_UNITS: Final = ("week", "month", "quarter", "year")
_NTH: Final = (("last",), ("first", "1st"), ("second", "2nd"), ("third", "3rd"), ("fourth", "4th"), ("fifth", "5th"))


def nothing(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Match a phrase that has no resolvable meaning, so that no other rule takes it."""
    return None


def named_day(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "yesterday", "tomorrow evening", "tonight"."""
    word = match["day"].lower()
    shift = -1 if word[0] == "y" else 0 if word == "today" or word[1:].lstrip("o").startswith("ni") else 1
    part = "night" if not shift and word != "today" else _part(match)
    return day_value(shifted(place.today, shift), part)


def _part(match: re.Match[str]) -> str:
    """Return the part of the day that a phrase names, in its usual spelling."""
    return (match["part"] or "").lower().replace("nite", "night")


def two_days(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "the day before yesterday", "the day after tomorrow"."""
    return day_value(shifted(place.today, 2 if match["after"] else -2))


def this_part(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "last night", "this morning"; "this night" is ambiguous and not resolved."""
    part = _part(match) or "night"
    if (match["when"] or "last").lower() == "last":
        if OWNED.search(place.before()) or re.match(r"\s(?:of|in\s(?:the|town))\b", place.after()):
            return None
        return day_value(shifted(place.today, -1), part)
    return None if part == "night" else day_value(place.today, part)


def before_last(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "the week before last", "the night before last", "the month after next"."""
    unit, n = match["unit"].lower().replace("-", ""), 2 if match["way"].lower().startswith("after") else -2
    match unit:
        case "night":
            return day_value(shifted(place.today, -2), "night") if n < 0 else None
        case "week":
            return week_value(place.today, n)
        case "weekend":
            return weekend_value(place.today, n)
        case "month":
            return month_value(place.today, n)
        case "quarter":
            return quarter_value(place.today, n)
        case "year":
            return year_value(place.today, n)
        case _:
            last = nearest(place.today, DAYS.index(unit), -1)
            return day_value(shifted(last, -7)) if n < 0 and last else None


def this_time(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "this time last week", "this time next year".

    For a week the value is the day a week away, for a year the month a year away.
    """
    n = direction_of(match["when"])
    if match["unit"].lower() == "week":
        return day_value(shifted(place.today, 7 * n))
    return month_value(place.today, 12 * n, about=True)


def of_the_unit(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "by the end of the month", "earlier in the week" to the current unit if the tense agrees."""
    sentence = re.split(r"[.!?\n]", place.before(160))[-1] + re.split(r"[.!?\n]", place.after())[0]
    if HABIT.search(sentence) or re.match(r"\s(?:of|in|that|when|before|after)\b", place.after()):
        return None
    past = (match["side"] or "").lower() == "earlier"
    if place.tense() != ("past" if past else "future"):
        return None
    return unit_at(place.today, (match["unit"] or match["unit2"]).lower(), 0)


def ordinal_weekday(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "the second Monday of last month"."""
    found = month_after(place.today, direction_of(match["when"]))
    word = match["which"].lower()
    nth = next((n for n, names in enumerate(_NTH) if word in names), None)
    if found is None or nth is None:
        return None
    weekday, (year, month) = DAYS.index(match["weekday"].lower()), found
    days = [d for d in calendar.Calendar().itermonthdates(year, month) if d.month == month and d.weekday() == weekday]
    return day_value(days[nth - 1 if nth else -1]) if nth <= len(days) else None


def day_in_month(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "the 5th of last month"."""
    found = month_after(place.today, direction_of(match["when"]))
    return None if found is None else day_value(day_of_month(*found, int(match["number"])))


def weekday_of_week(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "Monday of next week", "last week on Friday"."""
    if of_something(place) or re.search(r"\b(?:an?|every|each|one)\s$", place.before()):
        return None
    if re.search(r"\sthe\s(?:last|next|past|previous|following)\s", match[0].lower()) and narrated("last", place):
        return None
    weekday = DAYS.index(match["weekday"].lower())
    return day_value(in_week(place.today, weekday, direction_of(match["when"])), _part(match))


def relative_weekday(when: str, weekday: int, place: PhraseContext) -> date | None:
    """Return the day of a weekday (0 for Monday) after a word such as "last", "this coming" or "next"."""
    words = when.lower().split()
    if len(words) == 2:  # this past, this coming
        return nearest(place.today, weekday, direction_of(when))
    match words[0]:
        case "last" | "past" | "previous":
            return nearest(place.today, weekday, -1)
        case "coming" | "upcoming":
            return nearest(place.today, weekday, 1)
        case "next" | "following":
            after = in_week(place.today, weekday, 1)  # on a Monday "next Saturday" may be that of the same week
            return after if after == nearest(place.today, weekday, 1) else None
        case _:
            here = in_week(place.today, weekday, 0)
            tense = place.tense() if here != place.today else "none"
            if here and ((tense == "past" and here > place.today) or (tense == "future" and here < place.today)):
                return nearest(place.today, weekday, -1 if tense == "past" else 1)
            if here and here < place.today and tense != "past":  # "this Monday", said on a Tuesday, may be either
                return None
            return here


def weekday_beside(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "last Friday", "this coming Tuesday evening"."""
    weekday, when = weekday_of(match["weekday"]), match["when"].lower()
    if weekday is None or narrated(when, place) or of_something(place):
        return None
    return day_value(relative_weekday(when, weekday, place), _part(match))


def unit_beside(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "last week", "this month", "next year"."""
    unit, when = unit_of(match["unit"]), match["when"].lower()
    n = direction_of(when)
    if of_something(place):
        return None
    if unit in ("week", "month", "year"):
        if n < 0 and (
            when == "this past" or (when in ("past", "last") and past_led(place) and _THE.search(place.before()))
        ):
            return lately(place, unit)
        if when in ("next", "coming") and next_led(place):
            return soon(place, unit)
    if narrated(when, place) and (when, unit) != ("past", "weekend"):
        return None
    if " " in when or when == "past":
        if unit != "weekend":
            return None if n < 0 or when == "past" else unit_at(place.today, unit, n)
        return weekend_value(place.today, -1 if n < 0 else 0 if place.today.weekday() < 5 else 1)
    if unit == "weekend" and when == "this":
        if place.today.weekday() > 3:
            return weekend_value(place.today, 0)
        tense = place.tense()  # on a Monday "this weekend" may be either
        return weekend_value(place.today, -1 if tense == "past" else 0) if tense in ("past", "future") else None
    if n == 0 and _is_at_its_end(unit, place):
        return None
    if unit == "weekend" and when in ("coming", "upcoming"):
        return weekend_value(place.today, 0 if place.today.weekday() < 5 else 1)
    return unit_at(place.today, unit, n)


def _is_at_its_end(unit: str, place: PhraseContext) -> bool:
    """Return whether too little of the current unit is left, or has passed, for the sentence to mean it.

    Example: "I'll start this week", said on a Sunday.
    """
    tense, here = place.tense(), unit_at(place.today, unit, 0)
    if tense not in ("past", "future") or here is None or unit not in _WHOLE_UNITS:
        return False
    beyond = shifted(place.today, 1 if tense == "future" else -1)
    return beyond is None or unit_at(beyond, unit, 0) != here


def month_beside(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "last December" if every interpretation is the same month."""
    when, month = match["when"].lower(), MONTHS.index(match["month"].lower()) + 1
    if not match["month"][0].isupper() or narrated(when, place) or re.match(r"\s(?:\d|of\b)", place.after()):
        return None
    year, n, here = place.today.year, direction_of(when), place.today.month
    if n == 0:
        return Value(f"{year:04}-{month:02}", "month")
    back, ahead = year - (month >= here), year + (month <= here)
    chosen = back if n < 0 else ahead
    if " " not in when and chosen == year:  # "last March", said in April, may be the one a year before
        return None
    return Value(f"{chosen:04}-{month:02}", "month") if 1 <= chosen <= 9999 else None


def bare_weekday(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "on Monday we met", "by Friday" if the verb or the preposition determines which one."""
    before, after = place.before(), place.after()
    if HABIT.search(re.split(r"[.!?\n]", place.before(160))[-1]) or HABIT.search(re.split(r"[.!?\n]", after)[0]):
        return None
    if place.text[place.end - 2 : place.end] in ("'s", "’s"):
        return _weekdays_own(match, place)
    if match["weekday"][0].isupper() and OPENS.search(before) and ONE_DAY_IS.match(after):
        return day_value(nearest(place.today, DAYS.index(match["weekday"].lower()), 1))
    if re.match(r"s\b|\s(?:school|best|roast|week|club|market)s?\b|\s(?:morning|afternoon|evening|night)s\b", after):
        return None
    if KEPT_HOURS.search(before) or re.match(
        r"\s(?:and|or|to|through)\s(?:mon|tues|wednes|thurs|fri|satur|sun)day", after
    ):
        return None
    if _BESIDE_ANOTHER.search(before) or _ANOTHER_BESIDE.match(after):
        return None
    once = TAKES_PLACE.search(before)
    if WEEKLY.search(before) and not once:
        return None
    takes_place = bool(once) and place.tense() in ("none", "future")
    led = re.search(r"(?:^|[\s(])(on|by|since|until|till|before|after|from|for|this)\s(?:early\s|late\s)?$", before)
    if (
        not led
        and not takes_place
        and not (match["part"] and not NO_PART.search(before))
        and not LOOSE_END.match(after)
    ):
        return None
    near = place.text[max(0, place.start - 2) : place.start]
    opens = bool(match["part"]) and (not near or near[-1] == "\n" or near in (". ", "! ", "? "))
    if not led and not match["weekday"][0].isupper():
        return None
    if not (led or opens or takes_place) and (not re.search(r"[a-z]\s$", near) or NO_LOOSE.search(before)):
        return None
    tense, word = place.tense(), led[1] if led else ""
    if tense == "unclear" and GIVEN_UP.match(place.after(80)):
        tense = "past"
    if tense == "none" and (word in ("on", "by", "before") or match["part"]) and _to_be_done(place):
        tense = "future"
    if tense == "past" and word == "by" and _to_be_done(place):  # "Send Rosa the signed contract by Friday"
        tense = "future"
    if tense == "none" and word == "on" and (COMES_ONCE.search(before) or SETS_OUT.match(after)):
        tense = "future"
    if word == "since":
        tense = "past"
    elif takes_place:
        tense = "future"
    elif re.search(
        r"\b(?:is|are|'s|be|due|starts|begins|leaves|arrives|opens|ends|closes|expires|departs|free|available)\s(?:on|for|by)\s$",
        before,
    ):
        tense = "future" if tense in ("none", "future") else "unclear"
    elif tense == "none" and (word in ("by", "until", "till") or BOOKED.search(before)):
        tense = "future"
    elif word in ("for", "from", "before", "after") and tense != "future":
        return None
    if tense not in ("past", "future") or (
        tense == "future" and not (led or takes_place or match["part"] or SOON.search(before) or LETS.search(before))
    ):
        return None
    weekday = DAYS.index(match["weekday"].lower())
    return day_value(nearest(place.today, weekday, -1 if tense == "past" else 1), _part(match))


def _weekdays_own(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "Monday's release was rolled back", "since Tuesday's outage".

    The possessive must be the subject of a verb with a tense, or follow "after", "since", "during" or "in" in a past sentence.
    """
    tense, after = place.tense(), place.after(80)
    if not match["weekday"][0].isupper() or not re.match(r"\s[a-z]", place.text[place.end :]) or PUT_OFF.match(after):
        return None
    if OPENS.search(place.before()):
        verb = OWN_VERB.match(after)
        tense = "none" if verb is None else "past" if verb["was"] else "future"
    elif not (tense == "past" and re.search(r"\b(?:after|since|during|in)\s$", place.before())):
        return None
    if tense not in ("past", "future"):
        return None
    return day_value(nearest(place.today, DAYS.index(match["weekday"].lower()), -1 if tense == "past" else 1))


def _to_be_done(place: PhraseContext) -> bool:
    """Return whether the sentence is a task ("Call the plumber on …") or a diary entry ("Dentist appointment on … at 9")."""
    sentence = re.split(r"[.!?;\n]\s?", place.before(160))[-1]
    return bool(_ORDER.match(sentence)) or (
        bool(_DIARY.match(sentence)) and bool(re.match(r"\s(?:at\s\d|\d)|[.,]|$", place.after()))
    )


def the_weekend(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "over the weekend", usually said on a working day."""
    if re.match(r"\s(?:of|before|after)\b", place.after()):
        return None
    tense, weekday = place.tense(), place.today.weekday()
    if weekday > 4:  # on a Saturday, the last one may be meant
        return weekend_value(place.today, 0) if (tense, weekday) in (("past", 6), ("future", 5)) else None
    return weekend_value(place.today, -1 if tense == "past" else 0) if tense in ("past", "future") else None


# Resolvers of counted phrases: "three days ago", "in two weeks" or "two weeks from Monday"; None as above.


def counted_from(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "two weeks from Monday", "three days after tomorrow", "10 days from now"."""
    base = match["base"].lower().split()
    n = number_of(match["n"]) * (-1 if match["way"].lower() == "before" else 1)
    about = is_vague(match["n"]) or bool(MODIFIED.search(place.before()))
    unit = unit_of(match["unit"])
    if ALTERNATIVE.search(place.before()) or (COMPARED.search(place.before()) and not about):
        return None
    if unit in DAYS:
        day = nearest(place.today, DAYS.index(unit), 1) if base[-1] == "now" and n > 0 and not about else None
        return None if day is None else day_value(shifted(day, 7 * (n - 1)))
    if base[-1] == "now":
        return moved(place.today, unit, n, about=about) if n > 0 else None
    if base[-1] in ("today", "tomorrow", "yesterday"):
        shift = ("yesterday", "today", "tomorrow").index(base[-1]) - 1
        day = shifted(place.today, shift)
        if day is None:
            return None
        return moved(day, unit, n, about=True) if about else same_day(day, unit, n)
    weekday = DAYS.index(base[-1])
    if len(base) == 1:
        day = nearest(place.today, weekday, 1) if match["way"].lower() == "from" and place.tense() != "past" else None
    else:
        day = relative_weekday(" ".join(base[:-1]).removeprefix("the "), weekday, place)
    if day is None or about:
        return None
    return same_day(day, unit, n)


def hence(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "two weeks hence"."""
    about = is_vague(match["n"])
    return moved(place.today, unit_of(match["unit"]), number_of(match["n"]), about=about)


def ago(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "three days ago", "a year and a half ago", "two Fridays ago", "a week ago today"."""
    half, unit_word = bool(match["half"] or match["halves"]), match["unit"]
    about = bool(is_vague(match["n"]) or MODIFIED.search(place.before()) or match["so"])
    if ALTERNATIVE.search(place.before()) or COMPARED.search(place.before()):
        return None
    if match["way"].lower() == "back" and not re.match(
        r"\s*(?:[.,;:!?)]|$|(?:and|when|i|we|he|she|they|my|our|his|her|the)\s)", place.after()
    ):
        return None
    n = number_of(match["n"])
    if not n:
        return None
    if unit_word.lower().rstrip("s") in DAYS:
        day = None if half or about else nearest(place.today, DAYS.index(unit_word.lower().rstrip("s")), -1)
        return None if day is None else day_value(shifted(day, -7 * (n - 1)))
    unit, then = unit_of(unit_word), (match["then"] or "").lower().split()
    if half:
        return month_value(place.today, -12 * n - 6, about=True) if unit == "year" and not then else None
    if not then:
        return moved(place.today, unit, -n, about=about)
    if then[-1] in ("today", "yesterday", "tomorrow"):
        day = shifted(place.today, ("yesterday", "today", "tomorrow").index(then[-1]) - 1)
        return None if day is None or about else same_day(day, unit, -n)
    if then[-1] in DAYS and unit == "week" and not about:
        near = nearest(place.today, DAYS.index(then[-1]), -1)
        one, other = in_week(place.today, DAYS.index(then[-1]), -n), near and shifted(near, -7 * n)
        return (
            day_value(one) if one == other else None
        )  # the Friday of that week, or that many weeks before the last Friday
    return None


def in_units(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "in three weeks" if it is a point in time and not a duration."""
    words, before = match["n"], place.before(80)
    before = re.split(r"[.!?;\n]", before)[-1]
    if WITHIN.search(before) or re.match(
        r"\s*(?:or\b|of\b|to\b|-|–|’|'|before|after|later|earlier|that|which|an?\sweek|an?\smonth|an?\syear|per\b|each\b)",
        place.after(),
    ):
        return None
    n, unit, tense = number_of(words), unit_of(match["unit"]), place.tense()
    if unit == "weekend" or tense == "past" or not n:
        return None
    if tense == "unclear" and (not PLEDGED.search(before) or TELIC.search(before)):
        return None
    if KEPT.search(before) or (
        tense == "none"
        and (TELIC.search(before) or not (IS.search(before) or VISITS.search(before) or TO_COME.search(before)))
    ):
        return None
    if (
        tense == "none" and n == 1 and CLAUSE.search(before) and place.after().strip(" .!")
    ):  # "in a year trees grow a lot"
        return None
    if n == 1 and TELIC.search(before):
        return None
    return moved(place.today, unit, n, about=bool(is_vague(words) or match["about"]))


def whole_units(match: re.Match[str], place: PhraseContext) -> Value | None:
    """Resolve "the last three days": whole units, without the current one."""
    n, unit, sign = number_of(match["n"]), unit_of(match["unit"]), direction_of(match["when"])
    if n < 2 or re.match(r"\s(?:of|in|before|at|left)\b", place.after()):
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
    if by_rule(place):
        return None
    if is_vague(match["n"]):
        return few(place, unit, sign)
    ends = (-n, -1) if sign < 0 else (1, n)
    match unit:
        case "day":
            return interval(shifted(place.today, ends[0]), shifted(place.today, ends[1]), "range")
        case "week" | "quarter":
            one = week_value if unit == "week" else quarter_value
            first, last = one(place.today, ends[0]), one(place.today, ends[1])
            return first and last and Value(f"{first.iso[:10]}/{last.iso[-10:]}", "range")
        case "month" | "year":
            one = month_value if unit == "month" else year_value
            first, last = one(place.today, ends[0]), one(place.today, ends[1])
            return first and last and Value(f"{first.iso}/{last.iso}", "range")
        case _:
            return None


# Date phrases: the English grammar of relative dates, and the ISO value of each phrase on a given day.
#
# A rule is a pattern and a function of its match. A rule without a value still takes its phrase, so that no part of it is parsed as
# another phrase ("last Friday of March" is no "last Friday"). The resolvers are above and in ``slowwave.text.date_parts``.
# ``slowwave.text.dates`` decides whether a phrase is resolved at all.
#
# Conventions. Weeks run from Monday to Sunday. "Last Friday" is the nearest Friday before the day, "this Friday" that of the same week,
# "next Friday" that of the week after (as in duckling and Recognizers-Text), without a value if another Friday comes first. "N weeks ago"
# is a day, "N months ago" a month, "N years ago" a year; "last week" is the week before, as an interval that includes both ends. "A
# couple" is two, "a few" are about three. A date more than 150 years away, or outside the years 1 to 9999, has no value.
#
# The grammar is our own: on the 210 relative dates of duckling's English corpus it has .68 right and .00 wrong; Recognizers-Text .69 and
# .16, parsedatetime .30 and .40, recurrent .28 and .50, dateparser .22 and .45 (``benchmarks.dates``). The others parse phrases, not
# sentences.

_Resolve = Callable[["re.Match[str]", PhraseContext], Value | None]


class Rule(NamedTuple):
    """A kind of phrase: its ``name`` in reports, its pattern, and the function that resolves a match.

    The function returns None for a phrase that cannot be resolved.
    """

    name: str
    pattern: re.Pattern[str]
    resolve: _Resolve


def _rule(name: str, pattern: str, resolve: _Resolve) -> Rule:
    return Rule(name, re.compile(pattern, re.IGNORECASE), resolve)


_BASE: Final = rf"now|today|tomorrow|yesterday|(?:(?:the{S})?{REL}{S})?{W}"
_AFTERWARDS: Final = (
    rf"(?:{S}(?P<then>today|yesterday|tomorrow|(?:on{S}|last{S}|this{S}|next{S})?{W}|(?:last|this|next){S}\w+))?"
)
RULES: Final[Sequence[Rule]] = (
    _rule(
        "day before yesterday",
        rf"(?:the{S})?day{S}(?:(?:before|b4){S}{YESTERDAY}|(?P<after>after{S}{TOMORROW}))\b",
        two_days,
    ),
    _rule(
        "week before last",
        rf"(?:the{S})?(?P<unit>night|week-?end|week|month|quarter|year|{W}){S}(?P<way>before{S}last|after{S}next)\b"
        rf"(?!{S}(?:{ONE}|{W}|{PART})\b)",
        before_last,
    ),
    _rule(
        "this time last week",
        rf"(?:about{S})?(?:this|(?:the{S})?same){S}time{S}(?P<when>last|next){S}(?P<unit>week|year)\b",
        this_time,
    ),
    _rule("this time last year", rf"(?:this|same|that){S}(?:time|day|week|month){S}(?:last|next){S}\w+", nothing),
    _rule("a week last Monday", rf"{N}{S}weeks?{S}(?:on|last|next|this){S}{W}\b", nothing),
    _rule(
        "earlier this month",
        rf"(?P<side>earlier|later){S}(?:in{S}|on{S})?(?:this{S}(?P<unit>week|month|quarter|year)|today)\b",
        side_of_this,
    ),
    _rule(
        "the end of next month",
        rf"(?:the{S})?(?P<side>end|start|beginning|middle){S}of{S}(?:the{S})?(?P<when>{REL}){S}(?P<unit>week|month|quarter|year)\b(?!-?end)",
        side_of_unit,
    ),
    _rule(
        "late last year",
        rf"(?P<side>early|late){S}(?P<when>last|this|next){S}(?P<unit>week|month|quarter|year)\b(?!-?end)",
        side_of_unit,
    ),
    _rule(
        "the first week of March",
        rf"(?:the{S})?(?P<which>first|second|third|fourth|last|1st|2nd|3rd|4th){S}week{S}(?:of|in){S}(?P<month>{M})\b",
        week_of_month,
    ),
    _rule(
        "the second half of the year",
        rf"(?:the{S})?(?P<which>first|second){S}half{S}of{S}(?:the{S}year|(?P<when>last|this|next){S}year)\b",
        half_of_year,
    ),
    _rule("mid-March", rf"(?P<side>early|mid|late)(?:{S}|-)(?P<month>{M})\b", side_of_month),
    _rule(
        "spring of 2021",
        rf"(?:the{S})?(?P<season>{SEASON}){S}(?:of{S})?(?P<year>(?:19|20)\d\d)\b",
        season_of_year,
    ),
    _rule("two summers ago", rf"(?P<n>{N}){S}(?P<season>{SEASON})s{S}ago\b", seasons_ago),
    _rule("last summer", rf"(?P<when>{REL}){S}(?P<season>{SEASON})\b", season_beside),
    _rule(
        "over the summer",
        rf"(?P<led>over|during|since|in){S}the{S}(?P<season>{SEASON})\b(?!{S}(?:of{S})?\d{{4}})",
        in_the_season,
    ),
    _rule(
        "last Christmas",
        rf"(?:(?P<when>{REL}){S})?(?P<feast>{FEAST})\b(?:{S}(?P<part>{PART})\b)?(?:{S}(?P<year>(?:this|last|next){S}year)\b)?",
        feast,
    ),
    _rule(
        "in June",
        rf"(?:(?<=\bin\s)|(?<=\bsince\s)|(?<=\bby\s)|(?<=\buntil\s))(?P<month>{M})\b",
        bare_month,
    ),
    _rule(
        "the end of the month",
        rf"(?:the{S})?end{S}of{S}the{S}(?P<unit>week|month|quarter|year)\b|(?P<side>earlier|later|sometime)"
        rf"{S}(?:on{S})?in{S}the{S}(?P<unit2>week|month|year)\b",
        of_the_unit,
    ),
    _rule(
        "first Monday of the month",
        rf"(?:the{S})?(?P<which>first|second|third|fourth|fifth|last|1st|2nd|3rd|4th|5th){S}(?P<weekday>{W}){S}(?:of|in){S}"
        rf"(?:the{S})?(?P<when>{REL}){S}month\b",
        ordinal_weekday,
    ),
    _rule(
        "3rd to 9th of next month",
        rf"(?:(?:from|between){S})?(?:the{S})?(?P<first>[0-3]?\d)(?:st|nd|rd|th)?\s?(?:to|through|until|till|and|-|–)\s?(?:the{S})?"
        rf"(?P<second>[0-3]?\d)(?:st|nd|rd|th)?{S}of{S}(?:the{S})?(?P<when>{REL}){S}month\b",
        nothing,
    ),
    _rule(
        "5th of last month",
        rf"(?:the{S})?(?P<number>[0-3]?\d)(?:st|nd|rd|th)?(?:{S}day)?{S}of{S}(?:the{S})?(?P<when>{REL}){S}month\b",
        day_in_month,
    ),
    _rule(
        "Monday of last week",
        rf"(?P<weekday>{W}){PARTS}(?:{S}(?:of|in|from))?(?:{S}the)?{S}(?P<when>{REL}){S}week\b(?!-?end)",
        weekday_of_week,
    ),
    _rule(
        "Monday of last week",
        rf"(?P<when>{REL}){S}week(?:['’]s)?,?{S}(?:on{S})?(?P<weekday>{W})\b{PARTS}(?!{S}(?:to|and|or|through)\b|s\b)",
        weekday_of_week,
    ),
    _rule(
        "Monday to Friday",
        rf"(?:{W}|{SHORT})s?\s?(?:to|through|thru|until|till|-|–|/|,|,?\sand|,?\sor|&)\s?(?:{W}|{SHORT})s?\b",
        nothing,
    ),
    _rule(
        "two weeks from Monday",
        rf"(?P<n>{N}){S}(?P<unit>{U}|{W}s?){S}(?P<way>from|after|before){S}(?:right{S})?(?P<base>{_BASE})\b",
        counted_from,
    ),
    _rule("hence", rf"(?P<n>{N}){S}(?P<unit>{U}){S}(?P<way>hence)(?P<base>)\b", hence),
    _rule("tomorrow week", rf"(?:today|tomorrow|{W}){S}(?:week|fortnight)\b", nothing),
    _rule("ago with half a unit", rf"half{S}an?{S}{U}{S}ago\b", nothing),
    _rule(
        "N units ago",
        rf"(?P<n>{N})(?P<half>{S}and{S}a{S}half)?{S}(?P<unit>{U}|{W}s?)(?P<halves>{S}and{S}a{S}half)?(?P<so>{S}or{S}so)?"
        rf"{S}(?P<way>ago|back)\b{_AFTERWARDS}",
        ago,
    ),
    _rule(
        "in N units",
        rf"in{S}(?P<about>(?:about|around|roughly|approximately|just|another){S})?(?P<n>{N}){S}(?:more{S})?(?P<unit>{U})\b"
        rf"(?:['’]?s?['’]?{S}time\b)?(?!{S}(?:ago|back)\b)",
        in_units,
    ),
    _rule(
        "the last N units",
        rf"(?P<the>(?:the|these){S})?(?P<when>last|past|previous|next|following|coming){S}(?P<n>{N}|several|many){S}(?:\w+{S}){{0,1}}?(?P<unit>{U})\b",
        lambda m, p: (
            None
            if m["n"].lower() in ("several", "many") or len(m[0].split()) > len(m["n"].split()) + 2 + bool(m["the"])
            else whole_units(m, p)
        ),
    ),
    _rule(
        "last night",
        rf"(?P<when>last|this){S}(?:early{S}|late{S}|very{S})?(?P<part>{PART})\b|lastni(?:ght|te)\b",
        this_part,
    ),
    _rule(
        "last Friday",
        rf"(?P<when>{REL}){S}(?P<weekday>{W}|{SHORT}){PARTS}(?![\w])",
        weekday_beside,
    ),
    _rule("last week", rf"(?P<when>{REL}){S}(?P<unit>{ONE})\b", unit_beside),
    _rule("last March", rf"(?P<when>{REL}){S}(?P<month>{M})\b", month_beside),
    _rule("yesterday", rf"(?P<day>{YESTERDAY}|today|{TOMORROW}|{TONIGHT})\b{PARTS}", named_day),
    _rule("over the weekend", rf"(?:over|during|at|on){S}the{S}week-?end\b", the_weekend),
    _rule("on the 9th", r"(?<=\bon\s)the\s(?P<number>[0-3]?\d)(?:st|nd|rd|th)\b", day_of_the_month),
    _rule("on Monday", rf"(?P<weekday>{W})\b{PARTS}", bare_weekday),
)


def _any(rules: Iterable[int]) -> re.Pattern[str]:
    """Combine some rules into one pattern; the name of the matching group identifies the rule."""
    parts = (f"(?P<r{n}>{re.sub(r'[(][?]P<[a-z]+>', '(?:', RULES[n].pattern.pattern)})" for n in rules)
    return re.compile(rf"(?<!\w)(?:{'|'.join(parts)})", re.IGNORECASE)


_SELDOM: Final = (
    *("earlier this month", "the end of next month", "late last year", "mid-March"),
    *("spring of 2021", "two summers ago", "last summer", "over the summer", "last Christmas"),
    *("in June", "on the 9th", "the first week of March", "the second half of the year"),
)
_SELDOM_HINT: Final = re.compile(
    r"\b(?:summer|autumn|fall|winter|spring|christmas|easter|thanksgiving|halloween|holidays|boxing|valentine|new\syear|earl|late|mid\b"
    r"|(?:black|good)\sfriday|(?:end|start|beginning|middle|half)\s|week\s(?:of|in)\s|on\sthe\s\d|(?:in|since|by|until)\s(?:jan|feb|mar|apr|may|ju|aug|sep|oct|nov|dec))",
    re.IGNORECASE,
)
"""Every match of a rule in ``_SELDOM`` contains a match of it. Without those rules, the others take half of the time."""

_ANY: Final = _any(range(len(RULES)))
_OFTEN: Final = _any(n for n, rule in enumerate(RULES) if rule.name not in _SELDOM)
HINT: Final = (
    r"(?i)\b(?:yest[a-z]{3,5}|yeterday|today|(?:to|2)m[a-z]{3,6}|tmr{0,2}w?|(?:to|2)ni(?:ght|te)|lastni(?:ght|te)|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|week-?ends?|wk-?e?nd"
    r"|(?:last|this|next|past|previous|current|following|coming|upcoming|earlier|later)\s|christmas(?:es)?|easters?|thanksgivings?|halloweens?"
    r"|boxing\sday|black\sfriday|good\sfriday|holidays|valentine['’]?s|new\syear['’]?s|(?:over|during|since|in)\s{1,2}the\s{1,2}(?:summer|autumn|fall|winter|spring)"
    r"|(?:summer|autumn|fall|winter|spring)s?\s{1,2}(?:of\s{1,2})?(?:ago|(?:19|20)\d\d)|on\sthe\s[0-3]?\d(?:st|nd|rd|th)"
    r"|(?:early|mid|late|in|since|by|until)[\s-]{1,2}(?:january|february|march|april|may|june|july|august|september|october|november|december)"
    r"|(?:day|night|week|wk|fortnight|month|mth|mo|quarter|qtr|year|yr|decade)s?)\b"
)
"""Every phrase contains a match of it; equally valid in RE2 and Python."""


def find(text: str) -> list[tuple[Rule, re.Match[str]]]:
    """Find the phrases of a text, from left to right and without overlap. Time: linear in the text."""
    found: list[tuple[Rule, re.Match[str]]] = []
    for match in (_ANY if _SELDOM_HINT.search(text) else _OFTEN).finditer(text):
        rule = RULES[int(str(match.lastgroup)[1:])]
        own = rule.pattern.match(text, match.start())
        if own is not None:
            found.append((rule, own))
    return found
