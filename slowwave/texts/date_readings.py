"""Readings: what a match of each date phrase means at its place; None where that is undecidable.

Which patterns there are belongs to ``slowwave.texts.date_phrases``.
"""

from __future__ import annotations

import calendar
import re
from datetime import date
from typing import Final

from slowwave.texts.calendar_values import (
    Value,
    day_of_month,
    day_value,
    in_week,
    interval,
    month_after,
    month_value,
    nearest,
    quarter_value,
    shifted,
    unit_at,
    week_value,
    weekend_value,
    year_value,
)
from slowwave.texts.date_context import (
    BOOKED,
    COMES_ONCE,
    GIVEN_UP,
    HABIT,
    KEPT_HOURS,
    LETS,
    LOOSE_END,
    NO_LOOSE,
    NO_PART,
    ONE_DAY_IS,
    OPENS,
    OWN_VERB,
    OWNED,
    PUT_OFF,
    SETS_OUT,
    SOON,
    TAKES_PLACE,
    WEEKLY,
    PhraseContext,
    narrated,
    of_something,
)
from slowwave.texts.date_parts import lately, next_led, past_led, soon
from slowwave.texts.date_words import DAYS, MONTHS, direction_of, unit_of, weekday_of

_THE: Final = re.compile(r"\bthe\s$")
_WEEKDAY: Final = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_BESIDE_ANOTHER: Final = re.compile(
    rf"\b{_WEEKDAY}\s(?:for|from|to|until|till|before|after|not|instead\sof|rather\sthan)\s$"
)
_ANOTHER_BESIDE: Final = re.compile(
    rf"\s(?:for|from|to|until|till|before|after|not|instead\sof|rather\sthan)\s(?:on\s|the\s)?{_WEEKDAY}\b"
)
"""Two weekdays that belong together, as in a rule: "order them by Tuesday for Friday"."""

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
    """The phrase is taken, and means nothing that can be resolved."""
    return None


def named_day(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "Yesterday", "tomorrow evening", "tonight"."""
    word = match["day"].lower()
    shift = -1 if word[0] == "y" else 0 if word == "today" or word[1:].lstrip("o").startswith("ni") else 1
    part = "night" if not shift and word != "today" else _part(match)
    return day_value(shifted(place.today, shift), part)


def _part(match: re.Match[str]) -> str:
    """The part of the day that a phrase names, in its usual spelling."""
    return (match["part"] or "").lower().replace("nite", "night")


def two_days(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "The day before yesterday", "the day after tomorrow"."""
    return day_value(shifted(place.today, 2 if match["after"] else -2))


def this_part(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "Last night", "this morning"; what "tonight" may mean at night cannot be resolved."""
    part = _part(match) or "night"
    if (match["when"] or "last").lower() == "last":
        if OWNED.search(place.before()) or re.match(r"\s(?:of|in\s(?:the|town))\b", place.after()):
            return None
        return day_value(shifted(place.today, -1), part)
    return None if part == "night" else day_value(place.today, part)


def before_last(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "The week before last", "the night before last", "the month after next"."""
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
    """ "This time last week": the day a week before; "this time next year": that month of the next year."""
    n = direction_of(match["when"])
    if match["unit"].lower() == "week":
        return day_value(shifted(place.today, 7 * n))
    return month_value(place.today, 12 * n, about=True)


def back_in(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "Back in March": the nearest one that is over."""
    month, here = MONTHS.index(match["month"].lower()) + 1, place.today.month
    sentence = re.split(r"[.!?\n]", place.before(160))[-1] + re.split(r"[.!?\n]", place.after())[0]
    if (
        month == here
        or HABIT.search(sentence)
        or place.text[place.start : place.end].endswith("s")
        or place.tense() == "future"
        or re.match(r",?\s(?:of\b|['’]?\d)|['’]\d", place.after())
    ):
        return None
    year = place.today.year - (month > here)
    return Value(f"{year:04}-{month:02}", "month") if year else None


def of_the_unit(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "By the end of the month", "earlier in the week": of this one, where the verb speaks of what is to come or just was."""
    sentence = re.split(r"[.!?\n]", place.before(160))[-1] + re.split(r"[.!?\n]", place.after())[0]
    if HABIT.search(sentence) or re.match(r"\s(?:of|in|that|when|before|after)\b", place.after()):
        return None
    past = (match["side"] or "").lower() == "earlier"
    if place.tense() != ("past" if past else "future"):
        return None
    return unit_at(place.today, (match["unit"] or match["unit2"]).lower(), 0)


def ordinal_weekday(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "The second Monday of last month"."""
    found = month_after(place.today, direction_of(match["when"]))
    word = match["which"].lower()
    nth = next((n for n, names in enumerate(_NTH) if word in names), None)
    if found is None or nth is None:
        return None
    weekday, (year, month) = DAYS.index(match["weekday"].lower()), found
    days = [d for d in calendar.Calendar().itermonthdates(year, month) if d.month == month and d.weekday() == weekday]
    return day_value(days[nth - 1 if nth else -1]) if nth <= len(days) else None


def day_in_month(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "The 5th of last month"."""
    found = month_after(place.today, direction_of(match["when"]))
    return None if found is None else day_value(day_of_month(*found, int(match["number"])))


def days_in_month(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "From the 3rd to the 9th of next month"; "the 3rd and the 9th" are two days, not the days between."""
    found = month_after(place.today, direction_of(match["when"]))
    low = match[0].lower()
    if found is None or (re.search(r"\sand\s", low) and not low.startswith("between")):
        return None
    first, last = (day_of_month(*found, int(match[k])) for k in ("first", "second"))
    return interval(first, last, "range") if first and last and first < last else None


def weekday_of_week(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "Monday of next week", "last week on Friday"."""
    if of_something(place) or re.search(r"\b(?:an?|every|each|one)\s$", place.before()):
        return None
    if re.search(r"\sthe\s(?:last|next|past|previous|following)\s", match[0].lower()) and narrated("last", place):
        return None
    weekday = DAYS.index(match["weekday"].lower())
    return day_value(in_week(place.today, weekday, direction_of(match["when"])), _part(match))


def weekday_range(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "From Monday to Wednesday"."""
    first, last = (DAYS.index(match[k].lower()) for k in ("first", "second"))
    if match["when"]:
        weeks = direction_of(match["when"])
        return (
            interval(in_week(place.today, first, weeks), in_week(place.today, last, weeks), "range")
            if first < last
            else None
        )
    match place.tense():
        case "past":
            end = nearest(place.today, last, -1)
            return interval(nearest(end, first, -1) if end else None, end, "range")
        case "future":
            start = nearest(place.today, first, 1)
            return interval(start, nearest(start, last, 1) if start else None, "range")
        case _:
            return None


def relative_weekday(when: str, weekday: int, place: PhraseContext) -> date | None:
    """The weekday (0 for Monday) that "last", "this coming", "next" before it mean at a place."""
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
    """ "Last Friday", "this coming Tuesday evening"."""
    weekday, when = weekday_of(match["weekday"]), match["when"].lower()
    if weekday is None or narrated(when, place) or of_something(place):
        return None
    return day_value(relative_weekday(when, weekday, place), _part(match))


def unit_beside(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "Last week", "this month", "next year"."""
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
    """Whether of the unit under way too little is left, or has passed, for what is told: "I'll start this week", said on a Sunday."""
    tense, here = place.tense(), unit_at(place.today, unit, 0)
    if tense not in ("past", "future") or here is None or unit not in _WHOLE_UNITS:
        return False
    beyond = shifted(place.today, 1 if tense == "future" else -1)
    return beyond is None or unit_at(beyond, unit, 0) != here


def month_beside(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "Last December": only where every reading is the same month."""
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
    """ "On Monday we met", "by Friday": only where the verb or the preposition tells which one."""
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
    """ "Monday's release was rolled back", "since Tuesday's outage": of which something is told, or after which something was."""
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
    """Whether the sentence is something to do ("Call the plumber on …") or a date in a diary ("Dentist appointment on … at 9")."""
    sentence = re.split(r"[.!?;\n]\s?", place.before(160))[-1]
    return bool(_ORDER.match(sentence)) or (
        bool(_DIARY.match(sentence)) and bool(re.match(r"\s(?:at\s\d|\d)|[.,]|$", place.after()))
    )


def the_weekend(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "Over the weekend", said on a working day."""
    if re.match(r"\s(?:of|before|after)\b", place.after()):
        return None
    tense, weekday = place.tense(), place.today.weekday()
    if weekday > 4:  # on a Saturday the last one may be meant
        return weekend_value(place.today, 0) if (tense, weekday) in (("past", 6), ("future", 5)) else None
    return weekend_value(place.today, -1 if tense == "past" else 0) if tense in ("past", "future") else None
