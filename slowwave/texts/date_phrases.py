"""Date phrases: the English grammar of relative dates, and the ISO value that each has on a given day.

A rule is a pattern and a function of its match; a rule that gives nothing still takes its phrase, so that no part of it is read as
another one ("last Friday of March" is no "last Friday"). What a match means belongs to ``slowwave.texts.date_readings`` and
``date_counts``; where a phrase may be read at all is decided by ``slowwave.texts.dates``.

Conventions. Weeks run from Monday to Sunday. "Last Friday" is the nearest Friday before the day, "this Friday" that of the same week,
"next Friday" that of the week after (so duckling and Recognizers-Text), without a value if another Friday comes first. "N weeks ago" is a
day, "N months ago" a month, "N years ago" a year; "last week" is the week before, as an interval with both ends in it. "A couple" is two,
"a few" are about three. A date further away than 150 years, or outside the years 1 to 9999, has no value.

The grammar is our own: on the 210 relative dates of duckling's English corpus it has .68 right and .00 wrong; Recognizers-Text .69 and
.16, parsedatetime .30 and .40, recurrent .28 and .50, dateparser .22 and .45 (``benchmarks.dates``). They read phrases, not sentences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from slowwave.texts.calendar_values import Value
from slowwave.texts.date_context import PhraseContext
from slowwave.texts.date_counts import ago, counted_from, half_year_ago, hence, in_units, week_on, whole_units
from slowwave.texts.date_parts import (
    bare_month,
    day_of_the_month,
    half_of_year,
    side_of_month,
    side_of_this,
    side_of_unit,
    start_of_the_unit,
    week_of_month,
)
from slowwave.texts.date_readings import (
    back_in,
    bare_weekday,
    before_last,
    day_in_month,
    days_in_month,
    month_beside,
    named_day,
    nothing,
    of_the_unit,
    ordinal_weekday,
    the_weekend,
    this_part,
    this_time,
    two_days,
    unit_beside,
    weekday_beside,
    weekday_of_week,
    weekday_range,
)
from slowwave.texts.date_seasons import (
    FEAST,
    FEASTS_AGO,
    SEASON,
    feast,
    feasts_ago,
    in_the_season,
    season_beside,
    season_of_year,
    seasons_ago,
)
from slowwave.texts.date_words import ONE, PART, PARTS, REL, SHORT, TOMORROW, TONIGHT, YESTERDAY, M, N, S, U, W

_Resolve = Callable[["re.Match[str]", PhraseContext], Value | None]


class Rule(NamedTuple):
    """A kind of phrase: its ``name`` in reports, its pattern and what its match means; None for nothing that can be resolved."""

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
    _rule("a week last Monday", rf"(?P<n>{N}){S}weeks?{S}(?P<when>last|next|this){S}{W}\b", nothing),
    _rule(
        "back in March",
        rf"back{S}in{S}(?:early{S}|mid[\s-]|late{S})?(?P<month>{M})\b",
        back_in,
    ),
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
        "the beginning of the year",
        rf"(?:the{S})?(?P<side>start|beginning){S}of{S}the{S}(?P<unit>week|month|quarter|year)\b(?!-?end)",
        start_of_the_unit,
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
    _rule("two Christmases ago", rf"(?P<n>{N}){S}(?P<feast>{FEASTS_AGO}){S}ago\b", feasts_ago),
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
        days_in_month,
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
        "from Monday to Wednesday",
        rf"(?:from|between){S}(?P<first>{W}){S}(?:to|through|thru|until|till|and){S}(?P<second>{W})\b"
        rf"(?:{S}(?:of{S})?(?P<when>last|this|next){S}week\b)?",
        weekday_range,
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
    _rule("a week on Monday", rf"(?P<n>{N}){S}weeks?{S}on{S}(?P<weekday>{W})\b", week_on),
    _rule("tomorrow week", rf"(?:today|tomorrow|{W}){S}(?:week|fortnight)\b", nothing),
    _rule("half a year ago", rf"half{S}an?{S}year{S}ago\b", half_year_ago),
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
    """Some rules in one pattern; the group's name tells which one matched."""
    parts = (f"(?P<r{n}>{re.sub(r'[(][?]P<[a-z]+>', '(?:', RULES[n].pattern.pattern)})" for n in rules)
    return re.compile(rf"(?<!\w)(?:{'|'.join(parts)})", re.IGNORECASE)


_SELDOM: Final = (
    *("earlier this month", "the end of next month", "late last year", "the beginning of the year", "mid-March"),
    *("spring of 2021", "two summers ago", "last summer", "over the summer", "two Christmases ago", "last Christmas"),
    *("in June", "on the 9th", "the first week of March", "the second half of the year"),
)
_SELDOM_HINT: Final = re.compile(
    r"\b(?:summer|autumn|fall|winter|spring|christmas|easter|thanksgiving|halloween|holidays|boxing|valentine|new\syear|earl|late|mid\b"
    r"|(?:black|good)\sfriday|(?:end|start|beginning|middle|half)\s|week\s(?:of|in)\s|on\sthe\s\d|(?:in|since|by|until)\s(?:jan|feb|mar|apr|may|ju|aug|sep|oct|nov|dec))",
    re.IGNORECASE,
)
"""Without a match of it no rule of ``_SELDOM`` matches, and the others are tried in half of the time."""

_ANY: Final = _any(range(len(RULES)))
_OFTEN: Final = _any(n for n, rule in enumerate(RULES) if rule.name not in _SELDOM)
HINT: Final = (
    r"(?i)\b(?:yest[a-z]{3,5}|yeterday|today|(?:to|2)m[a-z]{3,6}|tmr{0,2}w?|(?:to|2)ni(?:ght|te)|lastni(?:ght|te)|back\sin\s|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|week-?ends?|wk-?e?nd"
    r"|(?:last|this|next|past|previous|current|following|coming|upcoming|earlier|later)\s|christmas(?:es)?|easters?|thanksgivings?|halloweens?"
    r"|boxing\sday|black\sfriday|good\sfriday|holidays|valentine['’]?s|new\syear['’]?s|(?:over|during|since|in)\s{1,2}the\s{1,2}(?:summer|autumn|fall|winter|spring)"
    r"|(?:summer|autumn|fall|winter|spring)s?\s{1,2}(?:of\s{1,2})?(?:ago|(?:19|20)\d\d)|on\sthe\s[0-3]?\d(?:st|nd|rd|th)"
    r"|(?:early|mid|late|in|since|by|until)[\s-]{1,2}(?:january|february|march|april|may|june|july|august|september|october|november|december)"
    r"|(?:day|night|week|wk|fortnight|month|mth|mo|quarter|qtr|year|yr|decade)s?)\b"
)
"""Without a match of this there is no phrase; RE2 and Python read it alike."""


def find(text: str) -> list[tuple[Rule, re.Match[str]]]:
    """Phrases of a text, from left to right and apart from each other. Time: linear in the text."""
    found: list[tuple[Rule, re.Match[str]]] = []
    for match in (_ANY if _SELDOM_HINT.search(text) else _OFTEN).finditer(text):
        rule = RULES[int(str(match.lastgroup)[1:])]
        own = rule.pattern.match(text, match.start())
        if own is not None:
            found.append((rule, own))
    return found
