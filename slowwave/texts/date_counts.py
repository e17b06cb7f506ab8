"""Counted readings: what a match of "three days ago", "in two weeks" or "two weeks from Monday" means at its place; None as in
``slowwave.texts.date_readings``.
"""

from __future__ import annotations

import re

from slowwave.texts.calendar_values import (
    Value,
    day_value,
    in_week,
    interval,
    month_value,
    moved,
    nearest,
    quarter_value,
    same_day,
    shifted,
    week_value,
    year_value,
)
from slowwave.texts.date_context import (
    ALTERNATIVE,
    CLAUSE,
    COMPARED,
    IS,
    KEPT,
    MODIFIED,
    PLEDGED,
    TELIC,
    TO_COME,
    VISITS,
    WITHIN,
    PhraseContext,
)
from slowwave.texts.date_parts import by_rule, few
from slowwave.texts.date_readings import relative_weekday
from slowwave.texts.date_words import DAYS, direction_of, is_vague, number_of, unit_of


def counted_from(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "Two weeks from Monday", "three days after tomorrow", "10 days from now"."""
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
    """ "Two weeks hence"."""
    about = is_vague(match["n"])
    return moved(place.today, unit_of(match["unit"]), number_of(match["n"]), about=about)


def week_on(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "A week on Monday", as the British say: the Monday after the next one."""
    if place.tense() != "future" or is_vague(match["n"]):
        return None
    day = nearest(place.today, DAYS.index(match["weekday"].lower()), 1)
    return day and day_value(shifted(day, 7 * number_of(match["n"])))


def ago(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "Three days ago", "a year and a half ago", "two Fridays ago", "a week ago today"."""
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


def half_year_ago(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "Half a year ago": about six months."""
    return month_value(place.today, -6, about=True)


def in_units(match: re.Match[str], place: PhraseContext) -> Value | None:
    """ "In three weeks", where it is when something will be, not how long it takes."""
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
    """ "The last three days": whole units, without the one that is under way."""
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
