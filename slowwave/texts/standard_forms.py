"""Standard forms: what is written in several ways, written in one: contractions, clock times, dates, counts, units and currencies.

"It doesn't start before 6:40 pm on the 3rd of May" is "It does not start before 18:40 on 3 May"; "twelve mins" is "12 minutes". A bare
"one" stays, as it is a pronoun too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from slowwave.texts.figures import MONTHS
from slowwave.texts.vocabulary import CARDINALS, TENS

_READ: Final = 16_384


@lru_cache(_READ)
def standard_form(text: str) -> str:
    """The text in its standard form. Time: linear, some 10 µs for a sentence."""
    text = text.replace("’", "'")
    if "'" in text or "annot" in text or "ANNOT" in text:
        for pattern, full in _CONTRACTIONS:
            text = pattern.sub(full, text)
    text = _COUNT.sub(_counted, text)
    if not _DIGIT.search(text):
        return text
    text = _DAY_FIRST.sub(lambda m: _day(m[0], m[1], MONTHS[m[2].lower()], m[3]), text)
    text = _MONTH_FIRST.sub(lambda m: _day(m[0], m[2], MONTHS[m[1].lower()], m[3]), text)
    text = _CLOCK.sub(_clock, text)
    text = _THOUSANDS.sub("", text)
    text = _MONEY.sub(lambda m: f"{_CURRENCIES[m[2].lower()]}{m[1]}", text)
    text = _UNIT.sub(lambda m: f"{m[1]} {_UNITS[m[2].lower()]}", text)
    return _PER.sub(lambda m: f" per {_PERIODS.get(m[1].lower(), m[1])}", text)


def figures_of(text: str) -> str:
    """The whole numbers of a text, whatever their form, sorted: texts that differ in them do not say the same. Time: linear, some µs."""
    found: list[str] = []
    for match in _FIGURE.finditer(_THOUSANDS.sub("", text) if "," in text else text):
        hour, minute, half, digits, month, *words = match.groups()
        if hour:
            found += (str(int(hour) % 12 + 12 * (half in "pP")), str(int(minute or 0)))
        elif digits:
            found.append(digits.lstrip("0") or "0")
        elif month:
            found.append(str(MONTHS[month.lower()]))
        else:
            found.append(str(_value(words)))
    return " ".join(sorted(f for f in found if f != "0"))


def _value(words: Iterable[str | None]) -> int:
    return sum(_VALUES[word.lower()] for word in words if word)


def _counted(match: re.Match[str]) -> str:
    return "2 times" if match[0].lower() == "twice" else str(_value(match.groups()))


def _day(written: str, day: str, month: int, year: str | None) -> str:
    if not 1 <= int(day) <= 31:
        return written
    return f"{year}-{month:02d}-{int(day):02d}" if year else f"{int(day)} {_NAMES[month]}"


def _clock(match: re.Match[str]) -> str:
    hour = int(match[1])
    return f"{hour % 12 + 12 * (match[3] in 'pP'):02d}:{match[2] or '00'}" if 1 <= hour <= 12 else match[0]


_CONTRACTIONS: Final = tuple(
    (re.compile(rf"\b{short}\b", re.IGNORECASE), full)
    for short, full in (
        ("cannot|can't", "can not"),
        ("won't", "will not"),
        ("shan't", "shall not"),
        (
            "(is|are|was|were|do|does|did|has|have|had|could|would|should|might|must|need)n't",
            r"\1 not",
        ),
        (
            "(it|he|she|that|there|what|who|where)'s(?= (?:not|a|an|the|my|your|his|her|our|their|in|on|at|too|very)\\b)",
            r"\1 is",
        ),
        ("(you|we|they)'re", r"\1 are"),
        ("(i)'m", r"\1 am"),
        ("(i|you|we|they)'ve", r"\1 have"),
        ("(i|you|he|she|it|we|they)'ll", r"\1 will"),
    )
)
_COUNTS: Final = {word: n for word, n in CARDINALS.items() if n > 1} | {"twice": 2}
_VALUES: Final = CARDINALS | TENS | _COUNTS
_ONES: Final = "|".join(word for word, n in CARDINALS.items() if 0 < n < 10)
_NUMBER: Final = rf"\b(?:({'|'.join(TENS)})(?:[ -]({_ONES})(?!\w))?|({'|'.join(_COUNTS)}))\b"
_DIGIT: Final = re.compile(r"\d")
_NAMES: Final = {n: name.capitalize() for name, n in reversed(MONTHS.items())}
_MONTH: Final = "(" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b\.?"
_DAY_FIRST: Final = re.compile(
    rf"(?<![\w.:/-])(?:the )?(\d{{1,2}})(?:st|nd|rd|th)? (?:of )?{_MONTH}(?:,? (\d{{4}})\b)?", re.IGNORECASE
)
_MONTH_FIRST: Final = re.compile(
    rf"\b{_MONTH} (\d{{1,2}})(?:st|nd|rd|th)?\b(?![.:,/-]?\d)(?:,? (\d{{4}})\b)?", re.IGNORECASE
)
_CLOCK: Final = re.compile(r"(?<![\w.:])(\d{1,2})(?::(\d{2}))? ?([ap])(?:m\b|\.m\.)", re.IGNORECASE)
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_CURRENCIES: Final = {"€": "€", "eur": "€", "euro": "€", "euros": "€", "$": "$", "usd": "$", "£": "£", "gbp": "£"}
_MONEY: Final = re.compile(
    r"(?<![\w.,$€£-])(\d+(?:\.\d+)?) ?(€|\$|£|eur|euros?|usd|gbp)(?![\w'-])",
    re.IGNORECASE,
)
_UNITS: Final = {
    spelling: name
    for name, spellings in {
        "minutes": "min mins minute minutes",
        "seconds": "sec secs second seconds",
        "hours": "hr hrs hour hours",
        "km": "km kilometre kilometres kilometer kilometers",
        "kg": "kg kilogram kilograms kilogramme kilogrammes",
        "g": "g gram grams gramme grammes",
        "mg": "mg milligram milligrams",
        "ml": "ml millilitre millilitres milliliter milliliters",
        "cm": "cm centimetre centimetres centimeter centimeters",
    }.items()
    for spelling in spellings.split()
}
_UNIT: Final = re.compile(
    rf"(?<![\w.,-])(\d+(?:\.\d+)?) ?({'|'.join(sorted(map(re.escape, _UNITS), key=len, reverse=True))})(?![\w'-])",
    re.IGNORECASE,
)
_PERIODS: Final = {"sec": "second", "min": "minute", "hr": "hour"}
_PER: Final = re.compile(r" ?/ ?(second|sec|minute|min|hour|hr|day|week|month|year)\b", re.IGNORECASE)
_COUNT: Final = re.compile(_NUMBER, re.IGNORECASE)
_CAPITALS: Final = "|".join(sorted((m.capitalize() for m in MONTHS), key=len, reverse=True))
_FIRST: Final = "".join(
    sorted({letter for word in _VALUES for letter in (word[0], word[0].upper())} | {m[0].upper() for m in MONTHS})
)
_FIGURE: Final = re.compile(  # most places are passed by after one letter
    rf"(?=[0-9{_FIRST}])"
    rf"(?:(\d{{1,2}})(?::(\d\d))? ?([apAP])(?:m\b|\.m\.)|([0-9]+)|\b({_CAPITALS})\b|(?i:{_NUMBER}))"
)
