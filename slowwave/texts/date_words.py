"""Date words: what numbers, units, days and months are called in English, as pieces of patterns and as values.

Pieces stand in the patterns of ``slowwave.texts.date_phrases``; they hold no group but ``part``.
"""

from __future__ import annotations

import calendar
from typing import Final

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
    """What a number says, in digits or words that ``N`` matches."""
    words = " ".join(words.lower().replace("-", " ").split())
    return int(words) if words.isdigit() else _WORDS[words]


def is_vague(words: str) -> bool:
    """Whether a number is meant as about that many."""
    return " ".join(words.lower().split()) in _VAGUE


def weekday_of(word: str) -> int | None:
    """0 for Monday; None for a short form that may be another word ("sat", "sun", "wed") and is not capitalised."""
    low = word.lower()
    if low.endswith("day"):
        return DAYS.index(low)
    return (
        next(n for n, d in enumerate(DAYS) if d.startswith(low[:3]))
        if word[0].isupper() or low[:3] not in _WORDS_TOO
        else None
    )


def unit_of(word: str) -> str:
    """The usual name of a unit, in the singular."""
    low = word.lower().removesuffix("s").replace("-", "")
    return _SHORTENED.get(low, low)


def direction_of(words: str) -> int:
    """-1, 0 or 1 for last, this and next, in any of their words."""
    last = words.lower().split()[-1]
    return -1 if last in ("last", "past", "previous") else 0 if last in ("this", "current") else 1
