"""Figures: quantities, dates and codes in texts, and the relation between two of them.

``read`` extracts them from a text as normalised strings. ``relate`` returns whether two figures are the same, fit each other (one is more
specific), are rivals, or are unrelated. Words belong to ``slowwave.text.specifics``. All patterns are bounded or anchored at word starts,
so the time is linear in the text's length.
"""

from __future__ import annotations

import re
from calendar import month_name
from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

from slowwave.text.words import MEASURES

Kinds = defaultdict[str, set[str]]
"""Kind of figure (numbers, dates, versions, identifiers, ordinals) → normalised strings."""

_SHORT: Final = 64  # maximum length in characters of figures that are cached

Relation = Literal["same", "fits", "rivals", "apart"]


def read(text: str, found: Kinds) -> None:
    """Collect every figure of a text with ASCII digits: addresses first, then dates and times, bare numbers last."""
    rest = text
    if "@" in rest:
        rest = _take(found["identifiers"], _EMAIL, lambda m: m[0].casefold(), rest)
    if "://" in rest or "www." in rest.casefold():
        rest = _take(found["identifiers"], _URL, lambda m: _url(m[0]), rest)
    if not _DIGIT.search(rest):
        return
    if _MAYBE_DATE.search(rest):
        for pattern, value in _DATES:
            rest = _take(found["dates"], pattern, value, rest)
    rest = _take(found["ordinals"], _ORDINAL, lambda m: ordinal(int(m[1])), rest)
    rest = _take(found["versions"], _VERSION, lambda m: m[1].lower(), rest)
    rest = _take(
        found["numbers"], _MONEY, lambda m: " ".join(p for p in (number(m[2]), _scale(m[3]), unit(m[1])) if p), rest
    )
    rest = _take(found["numbers"], _QUANTITY, lambda m: f"{number(m[1])} {unit(m[2] or m[3])}", rest)
    rest = _take(found["identifiers"], _TOKEN, lambda m: _code(m[0]), rest)
    rest = _take(found["versions"], _DOTTED, lambda m: m[0], rest)
    found["identifiers"].update(_LONG.findall(rest))
    found["numbers"].update(number(n) for n in _AMOUNTS.findall(rest))


def date_places(text: str) -> list[tuple[int, int, str]]:
    """Return start, end and normalised value of each date and time that ``read`` finds in a text, in order."""
    places: list[tuple[int, int, str]] = []
    for pattern, value in _DATES if _MAYBE_DATE.search(text) else ():

        def one(match: re.Match[str], value: Callable[[re.Match[str]], str | None] = value) -> str:
            if (found := value(match)) is None:
                return match[0]
            places.append((*match.span(), found))
            return " " * len(match[0])

        text = pattern.sub(one, text)
    return sorted(places)


def join_thousands(text: str) -> str:
    """Return a text without the spaces between the groups of three digits of its numbers: "5 000" becomes "5000"."""
    return _SPACED.sub(lambda m: _SPACES.sub("", m[0]), text)


def _take(values: set[str], pattern: re.Pattern[str], value: Callable[[re.Match[str]], str | None], text: str) -> str:
    """Collect the matches of ``pattern`` and return the text without them, so that no later pattern matches them again."""

    def one(match: re.Match[str]) -> str:
        found = value(match)
        if found is None:
            return match[0]
        values.add(found)
        return " "

    return pattern.sub(one, text)


def number(text: str) -> str:
    """Normalise a number such as "1,000" or "0.5": without separators and leading zeros."""
    sign = "-" if text[0] in "-−" else ""
    whole, dot, fraction = text.lstrip("-−").replace(",", "").partition(".")
    return f"{sign}{whole.lstrip('0') or '0'}{dot}{fraction}"


def unit(text: str) -> str:
    """Return the short name of a unit in any spelling."""
    low = text.casefold().strip("- ")
    return _UNITS.get(low) or _UNITS.get(low.rstrip("s")) or "inch"


def is_unit(word: str) -> bool:
    """Return whether a folded word of three letters or more is a unit ("minutes", "million")."""
    return len(word) > 2 and (word in _UNITS or word.rstrip("s") in _UNITS)


def ordinal(value: int) -> str:
    """Format an ordinal: "2nd" for 2."""
    tail = "th" if value % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    return f"{value}{tail}"


class Figure(NamedTuple):
    """A parsed figure.

    ``sort`` is number, ordinal, date or time; ``measure`` is the unit of a number ("" if there is none); ``raw`` is the plain digits.
    """

    sort: str
    measure: str
    value: tuple[Any, ...]
    raw: str


def relate(a: str, b: str) -> Relation:
    """Compare two quantities, versions, ordinals or dates, as ``read`` writes them.

    - ``same``: "5.0" and "5", "500 g" and "0.5 kg".
    - ``fits``: "3" and "3.11", "46" and "46 inch", "2024" and "2024-05-06", a day that may be of either month.
    - ``rivals``: different values of one measure.
    - ``apart``: a length and a weight.
    """
    if a == b:
        return "same"
    x, y = parse(a), parse(b)
    if x.sort == y.sort == "date":
        return _relate_days(x.value, y.value)
    if x.sort != y.sort:
        return "fits" if x.raw and x.raw == y.raw else "apart"
    if x.value == y.value and x.measure == y.measure:
        return "same"
    if x.sort != "number" or (x.measure == y.measure and x.measure):
        return "rivals"
    if not x.measure and not y.measure:
        shorter = min(len(x.value), len(y.value))
        return "fits" if x.value[:shorter] == y.value[:shorter] else "rivals"
    if "scale" in (x.measure, y.measure):
        plain = not x.measure or not y.measure
        if _amount(x) == _amount(y):
            return "same" if plain else "fits"
        return "fits" if x.raw == y.raw else "rivals" if plain else "apart"
    if x.raw == y.raw:
        return "rivals" if x.measure and y.measure else "fits"
    return "apart"


def parse(text: str) -> Figure:
    """Parse a string from ``read`` into its parts."""
    return _parse_short(text) if len(text) <= _SHORT else _parse(text)


@lru_cache(maxsize=65_536)
def _parse_short(text: str) -> Figure:
    return _parse(text)


def _parse(text: str) -> Figure:
    if text[-2:] in ("st", "nd", "rd", "th") and text[:-2].isdigit():
        return Figure("ordinal", "", (int(text[:-2]),), text[:-2])
    if text[2:3] == ":":
        return Figure("time", "", (text,), "")
    if text[2:3] == "/":
        first, second, year = text.split("/")
        return Figure("date", "", ((year, second, first), (year, first, second)), "")
    if text.startswith("--"):
        month, _, day = text[2:].partition("-")
        return Figure("date", "", ((None, month, day or None),), "")
    if _ISO.fullmatch(text):
        year, month, day = [*text.split("-"), None, None][:3]
        return Figure("date", "", ((year, month, day),), "" if month else text)
    amount, *units = text.split(" ")
    if not units:
        parts = amount.split(".")
        while len(parts) > 1 and not parts[-1].strip("0"):
            parts.pop()
        return Figure("number", "", tuple(parts), amount)
    measure = MEASURES[units[-1]]
    value = _decimal(amount) * Decimal(measure.factor) * Decimal(_POWERS[units[0]] if len(units) > 1 else 1)
    return Figure("number", measure.dimension, (value.normalize(),), amount)


def _relate_days(a: tuple[Any, ...], b: tuple[Any, ...]) -> Relation:
    """Compare two dates, each with its possible (year, month, day) readings.

    They fit if one pair of readings has no contradiction.
    """
    readings = [[(p, q) for p, q in zip(x, y, strict=True) if p and q] for x in a for y in b]
    if any(shared and all(p == q for p, q in shared) for shared in readings):
        return "fits"
    return "rivals" if all(readings) else "apart"


def _amount(figure: Figure) -> object:
    return figure.value[0] if figure.measure else _decimal(figure.raw)


def _decimal(text: str) -> Decimal:
    """Parse a decimal; zero if the text is not a plain number, such as a version of three parts."""
    try:
        return Decimal(text).normalize()
    except InvalidOperation:
        return Decimal(0)


def is_whole(figure: str) -> bool:
    """Return whether a figure is a bare whole number and not a year: two of them are either the same or rivals."""
    return figure.isdigit() and not _ISO.fullmatch(figure)


def relate_identifiers(a: str, b: str) -> Relation:
    """Compare two identifiers.

    - ``same``: equal, or one misspells the other.
    - ``fits``: one of six characters or more is at either end of the other ("SD1100" and "SD1100IS").
    - ``rivals``: both are addresses of one sort, or codes of one system, that is of one shape or with the same leading letters.
    - ``apart``: a model number and a bar code.
    """
    if a == b or misspells(a, b):
        return "same"
    kind = _system(a)[0]
    if kind != _system(b)[0]:
        return "apart"
    if kind in ("mail", "long"):
        return "rivals"
    short, long = sorted((a, b), key=len)
    if len(short) >= 6 and (long.startswith(short) or (kind == "code" and long.endswith(short))):
        return "fits"
    if kind == "address" or _system(a)[1] == _system(b)[1]:
        return "rivals"
    front = _system(a)[2]
    return "rivals" if len(front) > 1 and front == _system(b)[2] else "apart"


def _system(identifier: str) -> tuple[str, str, str]:
    """Return sort, shape (runs of letters and digits) and leading letters of an identifier."""
    if "@" in identifier:
        return ("mail", "", "")
    if identifier.isdigit():
        return ("long", "", "")
    if "." in identifier or "/" in identifier:
        return ("address", "", "")
    front = _LETTERS.match(identifier)
    return ("code", _RUN.sub(lambda m: "9" if m[0][0].isdigit() else "a", identifier), front[0] if front else "")


def is_strong(identifier: str) -> bool:
    """Return whether two texts that share an identifier are about the same entity.

    This is so for an address, or a code of six characters or more.
    """
    return len(identifier) >= 6


def parts_of(code: str) -> tuple[str, str] | None:
    """Return letters and digits of a code with one run of each ("gpt4"), else None."""
    match = _TWO_PARTS.fullmatch(code)
    if match is None:
        return None
    return (match[1], number(match[2])) if match[1] else (match[4], number(match[3]))


def misspells(code: str, other: str) -> bool:
    """Return whether a code is a word with one inner letter mistyped as a digit ("smi5hers").

    The other must be that word, or the word with a typing error at another position.
    """
    if len(code) != len(other) or not _SLIP.fullmatch(code) or not (other.isalpha() or _SLIP.fullmatch(other)):
        return False
    return all(c == d or c.isdigit() != d.isdigit() for c, d in zip(code, other, strict=True))


def _code(token: str) -> str | None:
    """Remove the separators from a token of letters and digits.

    Returns None for any other token; "10-year" counts years and is not a code.
    """
    digits = any(map(str.isdigit, token))
    if not digits or not any(map(str.isalpha, token)) or _COUNTED.fullmatch(token):
        return None
    return _JOINT.sub("", token.casefold())


def _scale(text: str | None) -> str:
    return _SCALES[text.casefold()] if text else ""


def _url(text: str) -> str:
    return re.sub(r"^(?:https?://)?(?:www\.)?", "", text.casefold()).rstrip("/.,;:!?")


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE | re.ASCII)


def _date(year: str | None, month: int, day: str | None) -> str | None:
    if not 1 <= month <= 12 or (day is not None and not 1 <= int(day) <= 31):
        return None
    tail = f"{month:02d}" + (f"-{int(day):02d}" if day is not None else "")
    return f"{year}-{tail}" if year else f"--{tail}"


def in_words(term: str) -> str:
    """Return a specific of a text for people: a date without a year is "4 May" or "May", any other term is unchanged."""
    found = re.fullmatch(r"--(\d\d)(?:-(\d\d))?", term)
    if found is None or not 1 <= int(found[1]) <= 12:
        return term
    month = month_name[int(found[1])]
    return f"{int(found[2])} {month}" if found[2] else month


def _either_way(first: int, second: int, year: str) -> str | None:
    """Return the readings of a date with day and month in unknown order.

    There is one reading if one of the numbers must be the day, or if both are equal.
    """
    if first > 12 or first == second:
        return _date(year, second, str(first))
    if second > 12:
        return _date(year, first, str(second))
    return f"{first:02d}/{second:02d}/{year}" if first and second else None


def _clock(match: re.Match[str]) -> str | None:
    hour, minute, half = int(match[1]), match[2] or "00", (match[3] or "").lower()
    if hour > 24 or (half and not 1 <= hour <= 12):
        return None
    hour = hour % 12 + 12 * (half[:1] == "p") if half else hour
    return f"{hour:02d}:{minute}"


MONTHS: Final = {
    name: value
    for value, names in enumerate(
        (
            *("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul"),
            *("august aug", "september sept sep", "october oct", "november nov", "december dec"),
        ),
        1,
    )
    for name in names.split()
}
_MONTH: Final = "(" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b\.?"
_DAY: Final = r"(\d{1,2})(?:st|nd|rd|th)?\b"
_COMMA: Final = r"(?: ?, ?| )"

_DATES: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str | None]], ...]] = (
    (_pattern(r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)"), lambda m: _date(m[1], int(m[2]), m[3])),
    (
        _pattern(r"(?<!\d)(\d{1,2})([-/.])(\d{1,2})\2(\d{4})(?!\d)"),
        lambda m: _either_way(int(m[1]), int(m[3]), m[4]),
    ),
    (_pattern(rf"\b{_DAY} (?:of )?{_MONTH}{_COMMA}(\d{{4}})\b"), lambda m: _date(m[3], MONTHS[m[2].lower()], m[1])),
    (_pattern(rf"\b{_MONTH} {_DAY}{_COMMA}(\d{{4}})\b"), lambda m: _date(m[3], MONTHS[m[1].lower()], m[2])),
    (_pattern(rf"\b{_MONTH}{_COMMA}(?:of )?(\d{{4}})\b"), lambda m: _date(m[2], MONTHS[m[1].lower()], None)),
    (_pattern(rf"\b{_DAY} (?:of )?{_MONTH}(?!\w)"), lambda m: _date(None, MONTHS[m[2].lower()], m[1])),
    (_pattern(rf"\b{_MONTH} {_DAY}(?![.,]?\d)"), lambda m: _date(None, MONTHS[m[1].lower()], m[2])),
    (_pattern(r"(?<!\d)(\d{4})-(\d{2})(?![\d-])"), lambda m: _date(m[1], int(m[2]), None)),
    (_pattern(r"(?<![\d:])(\d{1,2}):(\d{2})(?::\d{2})? ?([ap]\.?m\b)?(?![\d:])"), _clock),
    (_pattern(r"(?<![\w.])(\d{1,2})() ?([ap]\.?m)\b"), _clock),
    (_pattern(r"(?<![\w.,$€£¥])(?<![$€£¥] )(1[5-9]\d{2}|20\d{2}|21\d{2})(?!\w|[.,]\d)"), lambda m: m[1]),
)
_MAYBE_DATE: Final = _pattern(rf"(?<!\d)\d{{4}}(?!\d)|\d[-/.:]\d|\d ?[ap]\.?m\b|\b{_MONTH}")
_ISO: Final = re.compile(r"\d{4}(?:-\d{2}){1,2}|1[5-9]\d{2}|2[01]\d{2}")

_UNITS: Final = {spelling: name for name, measure in MEASURES.items() for spelling in (name, *measure.spellings)}
_UNIT: Final = "|".join(re.escape(u) for u in sorted(_UNITS, key=len, reverse=True) if u != "p")
_AMOUNT: Final = r"((?:(?<![\w)])[-−])?(?:\d{1,3}(?:,\d{3})++(?!\d)|\d++)(?:\.\d++)?+)"
_QUANTITY: Final = re.compile(
    rf"""(?<![\w.,]){_AMOUNT}(?:[ -]?({_UNIT})s?(?![\w°])|(p(?!\w)|-?in(?![\w-])|["”″]|''|′′))""", re.IGNORECASE
)
_SCALES: Final = {
    spelling: short
    for short, spellings in {"k": "k thousand", "m": "m mn million", "bn": "b bn billion", "tn": "tn trillion"}.items()
    for spelling in spellings.split()
}
_POWERS: Final = {"k": "1e3", "m": "1e6", "bn": "1e9", "tn": "1e12"}
_MONEY: Final = re.compile(
    rf"([$€£¥]|(?<![\w.,])(?<!\d )(?:eur|usd|gbp|jpy)\b) ?{_AMOUNT}(?: ?({'|'.join(_SCALES)})\b)?", re.IGNORECASE
)
"""Matches "€5,000" and "EUR 5,000"; not the "EUR 6" of "5 EUR 6 times"."""

_SPACED: Final = re.compile(
    r"(?<![\w.,:/+−-])(?<!\d[ \u00a0\u202f])[1-9]\d{0,2}(?:[ \u00a0\u202f]\d{3})+"
    r"(?![\w:/-]|,\d|[ \u00a0\u202f]?(?:\d|[kmgt]i?b\b))",
    re.IGNORECASE,
)
"""Matches "5 000" and "1 250 000"; not "555 0178", "5 000 12" or "iPhone 12 128 GB"."""

_SPACES: Final = re.compile(r"[ \u00a0\u202f]")
_AMOUNTS: Final = re.compile(_AMOUNT)
_DIGIT: Final = re.compile(r"\d")
_EMAIL: Final = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_URL: Final = re.compile(r"(?<!\w)(?:[a-z][a-z+.-]{1,15}://|www\.)[^\s<>\"'()\[\]{}]{1,2000}", re.IGNORECASE)
_ORDINAL: Final = _pattern(r"(?<!\w)(\d{1,6})(?:st|nd|rd|th)\b")
_VERSION: Final = _pattern(
    r"\b(?:version |ver\.? ?|v\.? ?)(\d{1,9}(?:\.\d{1,9}){0,5}(?:-?(?:alpha|beta|rc)\.?\d{0,3})?)\b"
)
_DOTTED: Final = _pattern(r"(?<![\d.])\d{1,9}(?:\.\d{1,9}){2,5}(?![\d.]*\d)")
_LONG: Final = re.compile(r"(?<!\w)\d{7,40}(?!\w)")
_TOKEN: Final = re.compile(r"(?<![\w-])\w+(?:[-_/.]\w+)*")
_COUNTED: Final = re.compile(r"\d+(?:-[a-z]+)+")
_JOINT: Final = re.compile(r"[-_/.]")
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_SLIP: Final = re.compile(r"(?=.{5})[^\W\d_]+\d[^\W\d_]+")
_RUN: Final = re.compile(r"\d+|\D+")
_TWO_PARTS: Final = re.compile(r"(?:([^\W\d_]+)(\d+)|(\d+)([^\W\d_]+))")
